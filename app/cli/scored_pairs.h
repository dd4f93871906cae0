#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The pairs that `score` and `rerank` score, as token ids, read as they are needed: texts of both
// parts, queries beside documents of a cache by their ids, or each query beside all documents of
// it.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <unordered_map>

#include "app/cli/cut_texts.h"
#include "engine/documents/document_cache.h"
#include "engine/documents/document_numbers.h"
#include "engine/effectiveness/trec_files.h"
#include "engine/scoring/score_lines.h"
#include "engine/scoring/scoring_model.h"
#include "engine/text/pair_reader.h"
#include "engine/text/tokenizer.h"
#include "kernels/base/result.h"

namespace attnscope::cli {

struct ScoredPair {
  TokenPair tokens;  // without a document where it is in the cache
  std::int64_t cached = 0;
  PairIds ids;
  std::int64_t line = 0;  // of the file
};

/// Pairs to be scored, one after the other.
class PairSource {
 public:
  PairSource() = default;
  PairSource(const PairSource&) = delete;
  PairSource& operator=(const PairSource&) = delete;
  PairSource(PairSource&&) = default;
  PairSource& operator=(PairSource&&) = default;
  virtual ~PairSource() = default;

  /// The next pair, nothing at the end. Errors name file and line.
  [[nodiscard]] virtual Result<std::optional<ScoredPair>> next() = 0;
  /// "pairs.tsv, line 7", of a pair's line.
  [[nodiscard]] virtual std::string place(std::int64_t line) const = 0;
  /// Of what is to be read, from 0 to 1; absent where nobody knows its size.
  [[nodiscard]] virtual std::optional<double> progress() const = 0;
};

/// Of texts, or of a cache.
class ScoredPairs : public PairSource {
 public:
  /// Of texts.
  ScoredPairs(const ScoringModel& model, PairReader reader);
  /// Beside documents of a cache, which lives at least as long and is called `name` in messages:
  /// each line names one, or, with `all`, stands for all of them; then no query comes twice.
  ScoredPairs(const ScoringModel& model, PairReader reader, const DocumentCache& cache,
              std::string name, bool all);

  /// Queries that `qrels` do not judge are passed over, and documents with a query's own id, as in
  /// BEIR; it lives at least as long.
  void keep_judged(const effectiveness::Qrels& qrels) { judged_ = &qrels; }

  /// Documents that are not in the cache are named together, those of some lines behind the first
  /// with it.
  [[nodiscard]] Result<std::optional<ScoredPair>> next() override;
  [[nodiscard]] std::string place(std::int64_t line) const override { return reader_.place(line); }
  [[nodiscard]] std::optional<double> progress() const override;
  [[nodiscard]] std::string notes() const { return reader_.notes(); }
  /// Of what was read so far.
  [[nodiscard]] std::string cut_in_words() const { return cut_.in_words(model_.limits); }

 private:
  [[nodiscard]] Result<std::optional<ScoredPair>> next_line();
  /// The next query of those that are scored beside all documents; none at the end.
  [[nodiscard]] Status next_query();
  [[nodiscard]] tl::unexpected<Error> not_in_cache(const TextPair& first);

  const ScoringModel& model_;
  PairReader reader_;
  const effectiveness::Qrels* judged_ = nullptr;
  const DocumentCache* cache_ = nullptr;
  std::string name_;
  std::optional<DocumentNumbers> numbers_;  // absent: each line stands for all documents
  // Of the line that is being given beside all documents.
  std::optional<ScoredPair> query_;
  std::unordered_map<std::string, std::int64_t> lines_of_queries_;
  std::int64_t next_document_ = 0;
  double before_query_ = 0;
  CutTexts cut_;
};

}  // namespace attnscope::cli
