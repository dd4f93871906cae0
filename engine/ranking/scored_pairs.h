#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The pairs that `score` and `rerank` score, as token ids, read on demand: both texts of a pair, a
// query with cached documents by their ids, or each query with all documents of a cache.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/result.h"
#include "engine/documents/document_cache.h"
#include "engine/effectiveness/trec_files.h"
#include "engine/ranking/score_lines.h"
#include "engine/ranking/scoring_model.h"
#include "engine/ranking/truncated_texts.h"
#include "engine/text/pair_reader.h"
#include "engine/text/tokenizer.h"

namespace attnscope {

struct ScoredPair {
  TokenPair tokens;  // without a document if it is in the cache
  std::int64_t cached = 0;
  PairIds ids;
  std::int64_t line = 0;         // line number in the file
  std::optional<float> score{};  // once the worker has computed it
};

/// A sequence of pairs to score.
class PairSource {
 public:
  PairSource() = default;
  PairSource(const PairSource&) = delete;
  PairSource& operator=(const PairSource&) = delete;
  PairSource(PairSource&&) = default;
  PairSource& operator=(PairSource&&) = default;
  virtual ~PairSource() = default;

  /// The next pair, or nothing at the end. Errors name file and line.
  [[nodiscard]] virtual Result<std::optional<ScoredPair>> next() = 0;
  /// "pairs.tsv, line 7", of a pair's line.
  [[nodiscard]] virtual std::string place(std::int64_t line) const = 0;
  /// Fraction of the input that was read, from 0 to 1; absent if the size is unknown.
  [[nodiscard]] virtual std::optional<double> progress() const = 0;
};

/// Pairs of texts, or of queries and the documents of a cache.
class ScoredPairs : public PairSource {
 public:
  /// Pairs of texts.
  ScoredPairs(const ScoringModel& model, PairReader reader);
  /// Pairs with documents of a cache, which must outlive the object and is called `name` in
  /// messages. Each line names one document, or, with `all`, is paired with every document; then a
  /// query must not occur twice.
  ScoredPairs(const ScoringModel& model, PairReader reader, const DocumentCache& cache,
              std::string name, bool all);

  /// Skips queries without judgements in `qrels`, and documents with the query's own id, as BEIR
  /// does; `qrels` must outlive the object.
  void keep_judged(const effectiveness::Qrels& qrels) { judged_ = &qrels; }

  /// An error lists documents that are missing from the cache: that of the first such line and
  /// those of some lines after it.
  [[nodiscard]] Result<std::optional<ScoredPair>> next() override;
  [[nodiscard]] std::string place(std::int64_t line) const override { return reader_.place(line); }
  [[nodiscard]] std::optional<double> progress() const override;
  [[nodiscard]] std::string notes() const { return reader_.notes(); }
  /// The counts of truncated texts so far, as a sentence.
  [[nodiscard]] std::string cut_in_words() const { return cut_.in_words(model_.limits); }

 private:
  [[nodiscard]] Result<std::optional<ScoredPair>> next_line();
  /// Reads the next query to pair with all documents; sets none at the end.
  [[nodiscard]] Status next_query();
  [[nodiscard]] tl::unexpected<Error> not_in_cache(const TextPair& first);

  const ScoringModel& model_;
  PairReader reader_;
  const effectiveness::Qrels* judged_ = nullptr;
  const DocumentCache* cache_ = nullptr;
  std::string name_;
  std::optional<DocumentNumbers> numbers_;  // absent: each line is paired with all documents
  // The query line that is being paired with all documents.
  std::optional<ScoredPair> query_;
  std::unordered_map<std::string, std::int64_t> lines_of_queries_;
  std::int64_t next_document_ = 0;
  double before_query_ = 0;
  TruncatedTexts cut_;
};

}  // namespace attnscope
