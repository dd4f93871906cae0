#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A run's candidates as pairs to score: the input of `rerank` and of the validation in `train`.

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "engine/documents/document_cache.h"
#include "engine/effectiveness/trec_files.h"
#include "engine/ranking/passages.h"
#include "engine/ranking/scored_pairs.h"
#include "engine/ranking/scoring_model.h"
#include "engine/ranking/truncated_texts.h"
#include "engine/text/text_collection.h"

namespace attnscope {

/// The texts of the query and document ids of a run or of triples.
struct RerankedTexts {
  TextCollection queries, documents;
};

/// The candidates of a run, query by query. The arguments must outlive the object.
class RunCandidates : public PairSource {
 public:
  RunCandidates(const ScoringModel& model, const effectiveness::TrecRun& run, std::int64_t depth)
      : model_(model), run_(run), depth_(depth), at_(run.queries.begin()) {}

  /// Ok, or an error that names the queries and documents of the run, up to the depth, that are
  /// missing. Call it before any computation.
  [[nodiscard]] virtual Status check() = 0;
  [[nodiscard]] Result<std::optional<ScoredPair>> next() override;
  [[nodiscard]] std::string place(std::int64_t line) const override;
  [[nodiscard]] std::optional<double> progress() const override {
    return static_cast<double>(done_) / static_cast<double>(run_.queries.size());
  }
  /// Counts of truncated queries and of documents whose end is in no pair.
  [[nodiscard]] const TruncatedTexts& cut() const { return cut_; }

 protected:
  /// Loads the pairs of one query.
  [[nodiscard]] virtual Status load_query(
      const std::string& id, std::span<const effectiveness::RankedDocument> documents) = 0;

  const ScoringModel& model_;
  const effectiveness::TrecRun& run_;
  std::int64_t depth_;
  std::deque<ScoredPair> pairs_;  // of the query before at_
  TruncatedTexts cut_;

 private:
  std::map<std::string, std::vector<effectiveness::RankedDocument>>::const_iterator at_;
  std::int64_t done_ = 0;
};

/// Candidates by their texts, each as one pair or as one pair per passage.
class RerankedPairs final : public RunCandidates {
 public:
  RerankedPairs(const ScoringModel& model, const effectiveness::TrecRun& run, std::int64_t depth,
                RerankedTexts& texts, LongDocuments how)
      : RunCandidates(model, run, depth), texts_(texts), how_(how) {}

  [[nodiscard]] Status check() override;

 private:
  [[nodiscard]] Status load_query(
      const std::string& id, std::span<const effectiveness::RankedDocument> documents) override;
  [[nodiscard]] Status add_passages(const std::string& id,
                                    const effectiveness::RankedDocument& document,
                                    const TokenPair& whole, std::int64_t longest);

  RerankedTexts& texts_;
  LongDocuments how_;
};

/// Candidates by their numbers in a cache.
class CachedCandidates final : public RunCandidates {
 public:
  CachedCandidates(const ScoringModel& model, const effectiveness::TrecRun& run, std::int64_t depth,
                   TextCollection& queries, const DocumentCache& cache, std::string name)
      : RunCandidates(model, run, depth),
        queries_(queries),
        cache_(cache),
        name_(std::move(name)),
        numbers_(cache) {}

  [[nodiscard]] Status check() override;

 private:
  [[nodiscard]] Status load_query(
      const std::string& id, std::span<const effectiveness::RankedDocument> documents) override;

  TextCollection& queries_;
  const DocumentCache& cache_;
  std::string name_;
  DocumentNumbers numbers_;
};

/// Ok, or an error that names queries and documents of the run, up to the depth, without a text.
[[nodiscard]] Status find_texts(const effectiveness::TrecRun& run, std::int64_t depth,
                                RerankedTexts& texts);

/// Keeps in the run what BEIR evaluates: judged queries, without a document that has the query's
/// own id. Returns a sentence for each kind of omitted entry. An error if nothing is left.
[[nodiscard]] Result<std::vector<std::string>> keep_judged(effectiveness::TrecRun& run,
                                                           const effectiveness::Qrels& qrels);

}  // namespace attnscope
