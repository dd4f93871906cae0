#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The pairs that `score` and `rerank` score, as token ids, read on demand. For `score`: both texts
// of a pair, a query with cached documents by their ids, or each query with all documents of a
// cache. For `rerank` and the validation of `train`: the candidates of a run, with the metadata of
// a re-ranked run as engine/effectiveness/trec_files.h writes them.

#include <chrono>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "engine/documents/document_cache.h"
#include "engine/effectiveness/energy.h"
#include "engine/effectiveness/trec_files.h"
#include "engine/ranking/passages.h"
#include "engine/ranking/score_lines.h"
#include "engine/ranking/scoring_model.h"
#include "engine/text/pair_reader.h"
#include "engine/text/text_collection.h"
#include "engine/text/tokenizer.h"
#include "engine/worker/machine_messages.h"

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

struct RunFacts {
  std::string command_line, tag, implementation;
  std::string first_stage, first_tag;  // the run that is re-ranked
  std::string queries, documents;      // files
  std::int64_t depth = 0;
  LongDocuments long_documents = LongDocuments::first_p;
};

/// The known metadata of all six parts; `hello` is the worker's greeting.
[[nodiscard]] nlohmann::ordered_json run_metadata(const RunFacts& facts,
                                                  const ModelQuestion& requested,
                                                  const ScoringModel& model,
                                                  const protocol::Hello& hello);
[[nodiscard]] nlohmann::ordered_json run_resources(std::chrono::steady_clock::duration time,
                                                   const effectiveness::Energy& energy);

}  // namespace attnscope
