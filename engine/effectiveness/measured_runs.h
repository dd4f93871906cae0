#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What a sweep's contenders are worth: the TREC runs that they have made, evaluated when the sweep
// is run and kept with it query by query, so that means and tests need no file afterwards.
//
//   Result<MeasuredRuns> measured = evaluate({.qrels = "qrels.txt", .runs = {{"full.trec",
//                                            {"full/dense", "full/sdpa"}}}});
//   store(to_json(*measured));

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "engine/effectiveness/measures.h"
#include "kernels/base/result.h"

namespace attnscope::effectiveness {

/// How runs are set against each other.
struct RunsQuestion {
  Measure measure{.cutoff = 10};  // nDCG@10
  std::string baseline = {};      // a contender's id; empty: none
  double margin = 0.02;           // within it two means are equivalent
  double alpha = 0.05;
  bool complete = false;  // judged queries that a run lacks, and another has, count 0
};

/// What is to be evaluated.
struct RunsToEvaluate {
  RunsQuestion question{};
  std::filesystem::path qrels{};
  struct Run {
    std::filesystem::path file;
    std::vector<std::string> contenders;  // ids
  };
  std::vector<Run> runs{};            // each file once
  std::filesystem::path folder = {};  // of the sweep, from which its files were named
};

struct MeasuredRuns {
  RunsQuestion question{};
  std::string folder{}, qrels{}, qrels_sum{};  // whole paths; a sum is of the file's lines
  std::vector<std::string> queries{};          // judged ones, sorted
  struct Run {
    std::string file, sum;
    std::vector<std::string> contenders;
    std::vector<double> values;  // one for each query; NaN: the run lacks it
  };
  std::vector<Run> runs{};
  std::vector<std::string> notes{};  // sentences; not kept

  /// The contender's run; null: it has none.
  [[nodiscard]] const Run* find(std::string_view contender) const;
};

/// Errors name the file and its line: what TrecRun and Qrels refuse, runs without a judged query.
[[nodiscard]] Result<MeasuredRuns> evaluate(const RunsToEvaluate& wanted);

[[nodiscard]] nlohmann::json to_json(const MeasuredRuns& runs);
/// Of what to_json made; an error names what does not fit.
[[nodiscard]] Result<MeasuredRuns> read_measured_runs(const nlohmann::json& json);

}  // namespace attnscope::effectiveness
