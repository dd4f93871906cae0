#pragma once
// A small cross-encoder with random weights, and variants to train.

#include <memory>
#include <optional>
#include <ostream>

#include "engine/train/trained_cross_encoder.h"
#include "tests/model/drawn_pairs.h"

namespace attnscope::test {

inline std::shared_ptr<const ModelWeights> drawn_weights() {
  static const auto drawn =
      ModelWeights::random(small_config({"global-projections"}), {.seed = 7, .deviation = 0.1});
  return drawn;
}

struct TrainedRow {
  const char* pattern;
  const char* implementation;
  std::optional<Window> window{};
  ModelOptions options{};
  friend void PrintTo(const TrainedRow& row, std::ostream* out) {
    *out << row.pattern << " by " << row.implementation;
  }
};

inline ModelVariant variant_of(const TrainedRow& row) {
  return {.pattern = *find_pattern(row.pattern),
          .window = row.window,
          .options = row.options,
          .threads = 2};
}

}  // namespace attnscope::test
