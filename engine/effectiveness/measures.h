#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Measures of a ranking, equal to trec_eval's to the last digit (version 9, as the wheel
// pytrec-eval-terrier has it), under the names that ir-measures gives them: nDCG@10,
// nDCG(dcg='exp-log2')@10, RR@10, RR(rel=2), AP, AP@100, P@5, R@100, Rprec, Success@5, ERR@10,
// Bpref, SetP, SetR, SetF, SetAP, Judged@10. trec_eval's own names are read, too: ndcg_cut_10.
//
//   Result<std::vector<Measure>> measures = parse_measures("nDCG@10,RR(rel=2)@10");
//   Evaluation evaluation = evaluate(run, qrels, *measures, {.complete = true});
//   evaluation.mean(0)   // of nDCG@10
//
// A rank is of the documents by score as float32, of tied ones the greater id first. Gains are the
// relevance, or 2^relevance - 1; discounts log2(rank + 1); the ideal is of all judged documents of
// the query. Documents that are not judged, or below 0, are not relevant.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/effectiveness/trec_files.h"
#include "kernels/base/result.h"

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

/// The largest relevance that ERR has a chance for, as TREC's gdeval.
inline constexpr int err_scale = 4;

struct Measure {
  MeasureKind kind = MeasureKind::ndcg;
  std::int64_t cutoff = 0;  // ranks; 0: all
  int relevant_from = 1;    // of what is relevant or not
  bool is_exponential = false;
  bool judged_only = false;

  /// As ir-measures writes it: "RR(rel=2)@10".
  [[nodiscard]] std::string name() const;
  /// How it is computed, for whoever reads its number: "gain 2^relevance - 1, discount
  /// log2(rank + 1), ...".
  [[nodiscard]] std::string definition() const;
};

/// One name; an error names what is known.
[[nodiscard]] Result<Measure> parse_measure(std::string_view text);
/// Names with commas between, each once.
[[nodiscard]] Result<std::vector<Measure>> parse_measures(std::string_view text);

/// Errors: a relevance that a measure has no value for, above 4 for ERR.
[[nodiscard]] Status check_grades(const std::vector<Measure>& measures, const Qrels& qrels);

/// The rule of ties, a sentence for every table.
inline constexpr std::string_view tie_rule =
    "Documents are ranked by score as float32, of tied ones the greater document id first, as in "
    "trec_eval.";

/// One query's value.
[[nodiscard]] double value_of(const Measure& measure, const std::vector<RankedDocument>& documents,
                              const Qrels::Judgements& judgements);

struct EvaluationOptions {
  bool complete = false;  // trec_eval's -c: judged queries that the run lacks count 0
  bool judged_only =
      false;  // -J: documents that are not judged are left out before ranks are given
};

struct Evaluation {
  std::vector<Measure> measures;
  std::map<std::string, std::vector<double>> queries;  // a value per measure

  /// Over the queries in the order of their ids, as trec_eval sums; 0 without any.
  [[nodiscard]] double mean(std::size_t measure) const;
};
[[nodiscard]] Evaluation evaluate(const TrecRun& run, const Qrels& qrels,
                                  std::vector<Measure> measures, const EvaluationOptions& options);

}  // namespace attnscope::effectiveness
