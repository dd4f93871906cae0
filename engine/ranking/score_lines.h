#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Scores as lines of text, in the order of the pairs.
//
//   tsv    SCORE, or QID <tab> DOCID <tab> SCORE if the pairs have ids
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

#include "base/result.h"

namespace attnscope {

enum class ScoreFormat : std::uint8_t { tsv, trec, jsonl };
/// Errors name the formats.
[[nodiscard]] Result<ScoreFormat> parse_score_format(std::string_view text);

struct PairIds {
  std::string query_id, document_id;  // empty if the pair has none
  std::size_t query = 0;              // a hash of the query's text, if known
};

struct LineOptions {
  /// Consecutive scores of one document belong to its passages: the best is its score. Only `trec`
  /// has passages.
  bool best_of_passages = false;
  /// The number of documents written per query, the best first; 0: all.
  std::int64_t top = 0;
  /// Writes the sigmoid of each score; ranks are based on raw scores.
  bool applies_sigmoid = false;
  /// The caller guarantees that documents are distinct within a query; otherwise rankings report
  /// duplicates as errors.
  bool documents_differ = false;
};

class ScoreLines {
 public:
  /// `tag`: the name of a TREC run.
  ScoreLines(ScoreFormat format, std::string tag, LineOptions options = {})
      : format_(format), options_(options), tag_(std::move(tag)) {}

  /// Adds a score and returns the lines that are complete, possibly none. Errors: ids that
  /// `visible` (base/sentences.h) would change, except for jsonl, which escapes them; for `trec`,
  /// pairs without ids or with blanks in them; for `trec` and `top`, a query whose documents are
  /// not contiguous, an id of two queries.
  [[nodiscard]] Result<std::string> add(const PairIds& ids, float score);
  /// Whether add accepts a document's id.
  [[nodiscard]] Status check_document_id(std::string_view id) const;
  /// The remaining lines.
  [[nodiscard]] std::string finish();
  /// The number of scores in all lines so far.
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
  std::string query_id_;                            // query whose documents are collected
  std::size_t query_ = 0;                           // hash of its text
  std::vector<Ranked> documents_;                   // of that query
  std::unordered_set<std::size_t> seen_;            // hashes of the queries already written
  std::unordered_set<std::size_t> seen_documents_;  // of that query
};

/// Counts pairs of documents of one query that share a score, as low-precision scores cause for
/// nearly equal documents. It uses four bytes per document.
class ScoreTies {
 public:
  /// Pairs in any order. Consecutive scores of one document belong to its passages: the best is its
  /// score.
  void add(const std::string& query, const std::string& document, float score);
  /// "3 pairs of documents share a score, in 2 of 40 queries"; "" if there are none.
  [[nodiscard]] std::string in_words() const;

 private:
  std::unordered_map<std::string, std::vector<float>> queries_;
  std::string last_query_, last_document_;
};

}  // namespace attnscope
