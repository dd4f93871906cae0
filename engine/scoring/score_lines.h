#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Scores as lines of text, in the order of the pairs.
//
//   tsv    SCORE, or QID <tab> DOCID <tab> SCORE where the pairs have ids
//   jsonl  {"qid": "1", "docno": "a", "score": 2.5}
//   trec   QID Q0 DOCID RANK SCORE TAG, a query's documents ranked once its last one has come
//
//   ScoreLines lines(ScoreFormat::tsv, "minilm");
//   Result<std::string> text = lines.add({.query_id = "1", .document_id = "a"}, 2.5F);
//   write(*text + lines.finish());

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "kernels/base/result.h"

namespace attnscope {

enum class ScoreFormat : std::uint8_t { tsv, trec, jsonl };
/// Errors name the formats.
[[nodiscard]] Result<ScoreFormat> parse_score_format(std::string_view text);

struct PairIds {
  std::string query_id, document_id;  // empty where the pair has none
  std::size_t query = 0;              // a hash of the query's text, where it is known
};

struct LineOptions {
  /// Scores of one document that come one after the other are its passages': the best is its score.
  /// Only `trec` has passages.
  bool best_of_passages = false;
  /// Documents of each query that are written, the best first; 0: all.
  std::int64_t top = 0;
  /// A sigmoid of each score is written; raw scores decide about ranks.
  bool applies_sigmoid = false;
  /// No document stands twice under a query, which else is an error of rankings.
  bool documents_differ = false;
};

class ScoreLines {
 public:
  /// `tag`: what a TREC run is called.
  ScoreLines(ScoreFormat format, std::string tag, LineOptions options = {})
      : format_(format), options_(options), tag_(std::move(tag)) {}

  /// What can be written now, possibly nothing. Errors: ids that `visible` (kernels/base) would
  /// change, but of jsonl, which escapes them; of `trec` pairs without ids or with blanks in them;
  /// of `trec` and of the best, a query whose documents do not stand together, an id of two
  /// queries.
  [[nodiscard]] Result<std::string> add(const PairIds& ids, float score);
  /// Whether add takes a document's id.
  [[nodiscard]] Status check_document_id(std::string_view id) const;
  /// The rest.
  [[nodiscard]] std::string finish();
  /// Scores in all lines so far.
  [[nodiscard]] std::int64_t count() const { return count_; }

 private:
  struct Ranked {
    std::string document_id;
    float score;
  };
  [[nodiscard]] Status check_id(std::string_view id, std::string_view whose) const;
  [[nodiscard]] Result<std::string> add_ranked(const PairIds& ids, float score);
  [[nodiscard]] float written(float score) const;
  [[nodiscard]] std::string line_of(const PairIds& ids, float raw) const;
  void sort();
  [[nodiscard]] std::size_t best_count() const { return static_cast<std::size_t>(options_.top); }

  ScoreFormat format_;
  LineOptions options_;
  std::string tag_;
  std::int64_t count_ = 0;
  std::string query_id_;                            // whose documents are gathered
  std::size_t query_ = 0;                           // of its text
  std::vector<Ranked> documents_;                   // of that query
  std::unordered_set<std::size_t> seen_;            // hashes of queries that are written
  std::unordered_set<std::size_t> seen_documents_;  // of that query
};

/// Counts pairs of documents of one query that share a score: what scores of few bits make of
/// documents that are nearly alike. It takes four bytes for each document.
class ScoreTies {
 public:
  /// Pairs in any order. Scores of one document that come one after the other are its passages':
  /// the best is its score.
  void add(const std::string& query, const std::string& document, float score);
  /// "3 pairs of documents share a score, in 2 of 40 queries"; "" without any.
  [[nodiscard]] std::string in_words() const;

 private:
  std::unordered_map<std::string, std::vector<float>> queries_;
  std::string last_query_, last_document_;
};

}  // namespace attnscope
