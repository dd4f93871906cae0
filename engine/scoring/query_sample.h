#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Some queries of a file of pairs, each with as many documents as a re-ranker may be given: its own
// ones, and others' where it has too few.
//
//   QuerySample sample(50);
//   while (sample.add(next_pair())) {}
//   for (const PairView& pair : sample.ranking(0, 100)) ...   // the first query's 100 documents

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/text/pair_reader.h"

namespace attnscope {

/// Of a sample, which lives longer.
struct PairView {
  std::string_view query, document;
  std::int64_t line = 0;  // where the query first stands
};

class QuerySample {
 public:
  /// More documents a query than this nobody re-ranks.
  static constexpr std::int64_t most_documents = 4096;

  /// The first so many queries of a file.
  explicit QuerySample(std::int64_t most_queries) : most_queries_(most_queries) {}
  QuerySample(const QuerySample&) = delete;
  QuerySample& operator=(const QuerySample&) = delete;
  QuerySample(QuerySample&&) = default;
  QuerySample& operator=(QuerySample&&) = default;
  ~QuerySample() = default;

  /// A pair, in the file's order; queries are told apart by their ids, else by their texts. Whether
  /// another one is wanted: until one query more has come and there are most_documents.
  [[nodiscard]] bool add(TextPair pair);

  [[nodiscard]] std::size_t queries() const { return queries_.size(); }
  /// How many documents a query can be given: different texts of the file, most_documents at most.
  [[nodiscard]] std::int64_t documents() const;
  /// The query's own documents first, in the file's order, then those that follow its first one
  /// there, and from the file's beginning; none twice. Preconditions: a query, and top_k at most
  /// documents().
  [[nodiscard]] std::vector<PairView> ranking(std::size_t query, std::int64_t top_k) const;

  /// What rankings of top_k have of other queries.
  struct Borrowed {
    std::int64_t queries = 0, documents = 0;
  };
  [[nodiscard]] Borrowed borrowed(std::int64_t top_k) const;

 private:
  struct Query {
    std::string text;
    std::int64_t line = 0;
    std::vector<std::size_t> own{};  // places in documents_
  };
  /// The document's place in documents_.
  std::size_t place_of(std::string document);

  std::int64_t most_queries_;
  bool is_past_ = false;  // a pair of another query has come
  std::vector<Query> queries_;
  std::unordered_map<std::string, std::size_t> query_numbers_;
  std::unordered_map<std::string, std::size_t> document_places_;
  std::vector<std::string_view> documents_;  // the keys there, in the file's order
};

}  // namespace attnscope
