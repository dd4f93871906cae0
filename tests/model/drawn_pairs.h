#pragma once
// Pairs of random token ids, a small model, and a batch that looks at them.

#include <cstdint>
#include <random>
#include <vector>

#include "engine/model/family.h"

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

/// Of BERT's family; `with`: the options whose weights it has.
inline ModelConfig small_config(const ModelOptions& with = {}, ModelShape shape = small_shape()) {
  const FamilyDescription& bert = *family_descriptions().front();
  ModelRow row = *bert.row("full", {});
  row.options = with;
  return bert.config_for(shape, {&row, 1});
}

/// Words and a [SEP], as many as `tokens`.
inline std::vector<std::int32_t> drawn_ids(std::int64_t tokens, std::uint32_t seed) {
  std::mt19937 draw(seed);
  std::uniform_int_distribution<std::int32_t> word(110, 199);
  std::vector<std::int32_t> ids;
  for (std::int64_t i = 0; i + 1 < tokens; ++i) ids.push_back(word(draw));
  ids.push_back(102);
  return ids;
}

/// Pairs with queries and documents of their own.
class DrawnPairs {
 public:
  DrawnPairs(std::vector<std::int64_t> queries, std::vector<std::int64_t> documents) {
    for (std::size_t i = 0; i < queries.size(); ++i) {
      const auto seed = static_cast<std::uint32_t>(i);
      queries_.push_back(drawn_ids(queries[i], 2 * seed));
      documents_.push_back(drawn_ids(documents[i], 2 * seed + 1));
    }
  }
  /// The first query beside every document.
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

}  // namespace attnscope::test
