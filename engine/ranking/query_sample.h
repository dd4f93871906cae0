#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A sample of queries from a file of pairs, each with a given number of documents: its own, and
// other queries' if it has too few.
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

/// A pair of a sample, which must outlive it.
struct PairView {
  std::string_view query, document;
  std::int64_t line = 0;  // first line of the query
};

class QuerySample {
 public:
  /// The maximum number of documents per query.
  static constexpr std::int64_t most_documents = 4096;

  /// Takes the first `most_queries` queries of a file.
  explicit QuerySample(std::int64_t most_queries) : most_queries_(most_queries) {}
  QuerySample(const QuerySample&) = delete;
  QuerySample& operator=(const QuerySample&) = delete;
  QuerySample(QuerySample&&) = default;
  QuerySample& operator=(QuerySample&&) = default;
  ~QuerySample() = default;

  /// Adds a pair, in file order; queries are distinguished by their ids, else by their texts.
  /// Returns whether another pair is needed: until one query more has come and there are
  /// most_documents.
  [[nodiscard]] bool add(TextPair pair);

  [[nodiscard]] std::size_t queries() const { return queries_.size(); }
  /// The number of documents available for a query: different texts of the file, at most
  /// most_documents.
  [[nodiscard]] std::int64_t documents() const;
  /// The query's own documents first, in file order, then those that follow its first document in
  /// the file, then from the beginning of the file; without duplicates. Preconditions: `query` <
  /// queries(), and top_k at most documents().
  [[nodiscard]] std::vector<PairView> ranking(std::size_t query, std::int64_t top_k) const;

  /// Documents in rankings of top_k that belong to other queries.
  struct Borrowed {
    std::int64_t queries = 0, documents = 0;
  };
  [[nodiscard]] Borrowed borrowed(std::int64_t top_k) const;

 private:
  struct Query {
    std::string text;
    std::int64_t line = 0;
    std::vector<std::size_t> own{};  // indices in documents_
  };
  /// The document's index in documents_.
  std::size_t place_of(std::string document);

  std::int64_t most_queries_;
  bool is_past_ = false;  // a pair of a query beyond the sample was added
  std::vector<Query> queries_;
  std::unordered_map<std::string, std::size_t> query_numbers_;
  std::unordered_map<std::string, std::size_t> document_places_;
  std::vector<std::string_view> documents_;  // the keys of document_places_, in file order
};

}  // namespace attnscope
