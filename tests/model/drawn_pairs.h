#pragma once
// Pairs of random token ids, a small model, and its errors.

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "engine/model/family.h"
#include "engine/model/model_weights.h"

namespace attnscope::test {

inline ModelShape small_shape() {
  return {.layers = 3,
          .hidden = 48,
          .heads = 3,
          .feed_forward = 96,
          .vocabulary = 200,
          .positions = 300,
          .types = 2,
          .first_position = 0,
          .norm_epsilon = 1e-12};
}

/// A config of BERT's family with the weights that the options `with` need.
inline ModelConfig small_config(const ModelOptions& with = {}, ModelShape shape = small_shape()) {
  const FamilyDescription& bert = *family_descriptions().front();
  ModelRow row = *bert.row("full", {});
  row.options = with;
  return bert.config_for(shape, {&row, 1});
}

/// Random weights of small_config with global projections.
inline std::shared_ptr<const ModelWeights> drawn_weights() {
  static const auto drawn =
      ModelWeights::random(small_config({"global-projections"}), {.seed = 7, .deviation = 0.1});
  return drawn;
}

/// A row of BERT's family, with an implementation that supports its pattern.
struct BertRow {
  const char* pattern;
  const char* implementation;
  std::optional<Window> window{};
  ModelOptions options{};
  friend void PrintTo(const BertRow& row, std::ostream* out) {
    *out << row.pattern << " by " << row.implementation;
  }
};

inline ModelVariant variant_of(const BertRow& row) {
  return {.pattern = *find_pattern(row.pattern),
          .window = row.window,
          .options = row.options,
          .threads = 2};
}

/// `tokens` ids: words and a [SEP].
inline std::vector<std::int32_t> drawn_ids(std::int64_t tokens, std::uint32_t seed) {
  std::mt19937 draw(seed);
  std::uniform_int_distribution<std::int32_t> word(110, 199);
  std::vector<std::int32_t> ids;
  for (std::int64_t i = 0; i + 1 < tokens; ++i) ids.push_back(word(draw));
  ids.push_back(102);
  return ids;
}

/// Pairs of different queries and documents.
class DrawnPairs {
 public:
  DrawnPairs(std::vector<std::int64_t> queries, std::vector<std::int64_t> documents) {
    for (std::size_t i = 0; i < queries.size(); ++i) {
      const auto seed = static_cast<std::uint32_t>(i);
      queries_.push_back(drawn_ids(queries[i], 2 * seed));
      documents_.push_back(drawn_ids(documents[i], 2 * seed + 1));
    }
  }
  /// The first query with every document.
  static DrawnPairs with_one_query(std::int64_t query, std::vector<std::int64_t> documents) {
    DrawnPairs pairs(std::vector<std::int64_t>(documents.size(), query), documents);
    for (auto& ids : pairs.queries_) ids = pairs.queries_.front();
    pairs.one_query_ = true;
    return pairs;
  }

  [[nodiscard]] PairBatch batch() const {
    PairBatch batch{.items = {}, .cls = 101, .one_query = one_query_};
    for (std::size_t i = 0; i < queries_.size(); ++i) {
      batch.items.push_back({queries_[i], documents_[i]});
    }
    return batch;
  }
  [[nodiscard]] PairBatch::Item item(std::size_t i) const { return {queries_[i], documents_[i]}; }
  [[nodiscard]] std::size_t size() const { return queries_.size(); }

 private:
  std::vector<std::vector<std::int32_t>> queries_, documents_;
  bool one_query_ = false;
};

/// The largest difference of an item's state and, with `with_score`, of its score from the
/// reference, over the largest absolute value of the reference's state.
inline double error_of(const ModelOutput& output, std::size_t item,
                       const ReferenceOutput& reference, bool with_score = true) {
  const std::size_t width = output.states.size() / output.scores.size();
  EXPECT_LE(reference.state.size(), width);
  double largest = 0;
  double error =
      with_score ? std::abs(static_cast<double>(output.scores[item]) - reference.score) : 0;
  for (std::size_t i = 0; i < reference.state.size(); ++i) {
    const double difference =
        std::abs(static_cast<double>(output.states[item * width + i]) - reference.state[i]);
    error = std::isnan(difference) ? INFINITY : std::max(error, difference);
    largest = std::max(largest, std::abs(reference.state[i]));
  }
  return largest > 0 ? error / largest : error;
}

/// The error's message; empty without an error.
template <typename T>
std::string message_of(const Result<T>& result) {
  return result ? std::string() : result.error().message;
}

/// A text as the name of a parameterized test.
inline std::string identifier(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return text;
}

inline std::string bert_row_name(const testing::TestParamInfo<BertRow>& row) {
  const auto& [pattern, implementation, window, options] = row.param;
  return identifier(fmt::format("{}_{}_{}{}", pattern, implementation,
                                window ? window->text() : "none",
                                options.empty() ? "" : "_global"));
}

}  // namespace attnscope::test
