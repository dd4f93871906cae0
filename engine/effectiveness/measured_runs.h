#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The effectiveness of a sweep's contenders: their TREC runs, evaluated when the sweep is run and
// stored with it per query, so that means and tests need no file afterwards.
//
//   Result<MeasuredRuns> measured = evaluate({.qrels = "qrels.txt", .runs = {{"full.trec",
//                                            {"full/dense", "full/sdpa"}}}});
//   store(to_json(*measured));

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/effectiveness/measures.h"

namespace attnscope::effectiveness {

/// How runs are compared.
struct RunsQuestion {
  Measure measure{.cutoff = 10};  // nDCG@10
  std::string baseline = {};      // a contender's id; empty: none
  double margin = 0.02;           // two means are equivalent within it
  double alpha = 0.05;
  bool complete = false;  // judged queries that a run lacks, but another has, count as 0
};

/// The input of `evaluate`.
struct RunsToEvaluate {
  RunsQuestion question{};
  std::filesystem::path qrels{};
  struct Run {
    std::filesystem::path file;
    std::vector<std::string> contenders;  // ids
  };
  std::vector<Run> runs{};            // each file occurs once
  std::filesystem::path folder = {};  // the sweep's folder, which file names are relative to
};

struct MeasuredRuns {
  RunsQuestion question{};
  std::string folder{}, qrels{}, qrels_sum{};  // absolute paths; a sum covers the file's lines
  std::vector<std::string> queries{};          // judged queries, sorted
  struct Run {
    std::string file, sum;
    std::vector<std::string> contenders;
    std::vector<double> values;  // one for each query; NaN: the run lacks it
  };
  std::vector<Run> runs{};
  std::vector<std::string> notes{};  // sentences; not stored

  /// The contender's run; null if it has none.
  [[nodiscard]] const Run* find(std::string_view contender) const;
};

/// Errors name the file and its line: errors of TrecRun and Qrels, runs without a judged query.
[[nodiscard]] Result<MeasuredRuns> evaluate(const RunsToEvaluate& wanted);

[[nodiscard]] nlohmann::json to_json(const MeasuredRuns& runs);
/// Parses the output of to_json; an error names the invalid field.
[[nodiscard]] Result<MeasuredRuns> read_measured_runs(const nlohmann::json& json);

}  // namespace attnscope::effectiveness
