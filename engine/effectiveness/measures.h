#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Measures of a ranking, equal to trec_eval's to the last digit (version 9, as in the wheel
// pytrec-eval-terrier), under their ir-measures names: nDCG@10, nDCG(dcg='exp-log2')@10, RR@10,
// RR(rel=2), AP, AP@100, P@5, R@100, Rprec, Success@5, ERR@10, Bpref, SetP, SetR, SetF, SetAP,
// Judged@10. trec_eval's own names are accepted too: ndcg_cut_10.
//
//   Result<std::vector<Measure>> measures = parse_measures("nDCG@10,RR(rel=2)@10");
//   Evaluation evaluation = evaluate(run, qrels, *measures, {.complete = true});
//   evaluation.mean(0)   // of nDCG@10
//
// Documents are ranked by score as float32, ties by descending id. Gains are the relevance, or
// 2^relevance - 1; discounts are log2(rank + 1); the ideal ranking contains all judged documents of
// the query. Documents that are not judged, or judged below 0, are not relevant.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/effectiveness/trec_files.h"

namespace attnscope::effectiveness {

enum class MeasureKind : std::uint8_t {
  ndcg,
  rr,
  ap,
  p,
  r,
  judged,
  rprec,
  success,
  err,
  bpref,
  set_p,
  set_r,
  set_f,
  set_ap
};

/// The largest relevance that ERR maps to a probability, as in TREC's gdeval.
inline constexpr int err_scale = 4;

struct Measure {
  MeasureKind kind = MeasureKind::ndcg;
  std::int64_t cutoff = 0;  // ranks; 0: all
  int relevant_from = 1;    // the least relevance that counts as relevant
  bool is_exponential = false;
  bool judged_only = false;

  /// The ir-measures name: "RR(rel=2)@10".
  [[nodiscard]] std::string name() const;
  /// How it is computed, for people: "gain 2^relevance - 1, discount log2(rank + 1), ...".
  [[nodiscard]] std::string definition() const;
};

/// Parses one name; an error lists the known names.
[[nodiscard]] Result<Measure> parse_measure(std::string_view text);
/// Parses comma-separated names, each allowed once.
[[nodiscard]] Result<std::vector<Measure>> parse_measures(std::string_view text);

/// Errors: a relevance that a measure does not support, above 4 for ERR.
[[nodiscard]] Status check_grades(const std::vector<Measure>& measures, const Qrels& qrels);

/// The rule for ties, printed with every table.
inline constexpr std::string_view tie_rule =
    "Documents are ranked by score as float32, of tied ones the greater document id first, as in "
    "trec_eval.";

/// The value of one query.
[[nodiscard]] double value_of(const Measure& measure, const std::vector<RankedDocument>& documents,
                              const Qrels::Judgements& judgements);

struct EvaluationOptions {
  bool complete = false;     // trec_eval's -c: judged queries that the run lacks count as 0
  bool judged_only = false;  // -J: unjudged documents are removed before ranking
};

struct Evaluation {
  std::vector<Measure> measures;
  std::map<std::string, std::vector<double>> queries;  // one value per measure

  /// The mean over the queries in the order of their ids, as trec_eval sums; 0 without queries.
  [[nodiscard]] double mean(std::size_t measure) const;
};
[[nodiscard]] Evaluation evaluate(const TrecRun& run, const Qrels& qrels,
                                  std::vector<Measure> measures, const EvaluationOptions& options);

// The differences between two rankings of one query.
//
//   RankAgreement agreement = compare_rankings(full.queries.at("q1"), sparse.queries.at("q1"));
//   agreement.moves.front()   // the document that moved most

struct RankAgreement {
  /// Rank-biased overlap, extrapolated beyond the ends of the lists (Webber, Moffat and Zobel 2010,
  /// equation 32): 1 for equal rankings, 0 for rankings without a common document. With p = 0.9 the
  /// first ten ranks have 86% of the weight.
  double rbo = 0;
  /// Kendall's tau over the documents in both rankings; there are no ties, because ranks are
  /// distinct. Empty for fewer than two documents.
  std::optional<double> tau;
  struct Move {
    std::string id;
    std::int64_t from = 0, to = 0;  // ranks from 1; 0: the document is not in that ranking
  };
  /// Documents whose rank changed, sorted by the change of their discount, largest first: a move at
  /// the top counts more than one by as many ranks further down. A missing document counts as
  /// ranked one after the last.
  std::vector<Move> moves;
};

inline constexpr double rbo_persistence = 0.9;

/// Precondition: both rankings are sorted best first.
[[nodiscard]] RankAgreement compare_rankings(const std::vector<RankedDocument>& from,
                                             const std::vector<RankedDocument>& to,
                                             double persistence = rbo_persistence);

}  // namespace attnscope::effectiveness
