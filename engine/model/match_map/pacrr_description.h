#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The descriptions of PACRR and CO-PACRR, which differ in the features of a match map (cosines of
// query and document words) that they use.

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "engine/model/words/words_description.h"

namespace attnscope {

namespace pacrr {
inline constexpr std::int64_t query_words = 30, document_words = 200;  // of every map
inline constexpr std::int64_t channels = 32, longest_gram = 3;
inline constexpr std::int64_t best = 5;  // largest values taken from a row

/// Convolution over `words` x `words` cosines: weight [32, 1, words, words], bias.
[[nodiscard]] inline std::string convolution(std::int64_t words) {
  return fmt::format("convolutions.{}.1", words - 2);
}

/// Features of each row of a map: for each view, the `best` largest values among the first so many
/// document words and, with `context`, the similarity to the query around each of their positions.
struct RowFeatures {
  std::span<const std::int64_t> views;  // ascending, the last is the whole document
  bool context = false;
  [[nodiscard]] constexpr std::int64_t of_row() const {
    return static_cast<std::int64_t>(views.size()) * best * (context ? 2 : 1);
  }
  [[nodiscard]] constexpr std::int64_t features() const {
    return query_words * longest_gram * of_row();
  }
};
inline constexpr std::array<std::int64_t, 1> whole_document{200};
inline constexpr std::array<std::int64_t, 4> quarters{50, 100, 150, 200};
inline constexpr RowFeatures pacrr_features{whole_document, false},
    co_pacrr_features{quarters, true};
}  // namespace pacrr

class PacrrDescription final : public WordsDescription {
 public:
  PacrrDescription(std::string_view id, std::string_view summary, pacrr::RowFeatures taken)
      : id_(id), summary_(summary), taken_(taken) {}
  [[nodiscard]] std::string_view id() const override { return id_; }

 protected:
  [[nodiscard]] std::vector<NamedRow> named_rows() const override;
  [[nodiscard]] std::int64_t most_document_words() const override { return pacrr::document_words; }
  void read_own(const JsonField& config, ModelConfig& model) const override;
  void append_own(const ModelConfig& config, std::vector<TensorSpec>& specs) const override;

 private:
  std::string_view id_, summary_;
  pacrr::RowFeatures taken_;
};

}  // namespace attnscope
