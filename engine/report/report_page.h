#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Runs as one page to share: for each run the output of `answer`, then charts, the table, missing
// cells with reasons, where it was measured and how to repeat it; for several runs of a sweep also
// the changes between them. The page is a single file that loads nothing and is readable without
// scripts.
//
//   Result<ReportedRun> run = read_for_report(store, info, "full/sdpa", {});
//   write_file("report.html", write_report({&*run, 1}, {}));

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/report/answer.h"
#include "engine/report/run_description.h"
#include "engine/report/run_history.h"
#include "engine/report/table.h"

namespace attnscope::report {

struct ReportedRun {
  Table table;
  std::vector<Answer> answers;
  RunDescription description;
};

/// The default baseline is that of `answer`. Errors are those of make_table.
[[nodiscard]] Result<ReportedRun> read_for_report(const Store& store, const RunInfo& run,
                                                  std::optional<std::string_view> baseline,
                                                  const OnlyFilter& filter);

/// HTML, in the order of the runs.
[[nodiscard]] std::string write_report(std::span<const ReportedRun> runs,
                                       std::span<const RunHistory> histories);

}  // namespace attnscope::report
