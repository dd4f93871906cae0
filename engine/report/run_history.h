#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Runs of one sweep on one kind of machine, over time and commits: the time of each cell in each
// run, and where it changed. A change is reported only if compare_runs has a verdict: the interval
// of the two runs' ratio, widened by what may have changed between the runs, excludes 1.
//
//   auto histories = make_histories({{&store_a, &table_a}, {&store_b, &table_b}});
//   for (const RunHistory& history : *histories) print(history_in_words(history));

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/report/sheet.h"
#include "engine/report/table.h"
#include "engine/store/store.h"

namespace attnscope::report {

/// A run as read by make_table, and the store that has its samples.
struct StoredTable {
  const Store* store;
  const Table* table;
};

/// A cell became faster or slower after run `from` and at the latest with run `to`: indices in
/// RunHistory::runs.
struct HistoryChange {
  std::size_t from = 0, to = 0;
  statistics::Ratio ratio;  // time of `to` divided by that of `from`, per item
};

struct HistoryCell {
  std::vector<const Row*> rows;  // one for each run, in the tables; null: the run has no such cell
  std::vector<HistoryChange> changes;
};

struct HistoryRun {
  RunInfo run;
  std::string commit;  // "0123456789", "0123456789 (modified)"; empty: unknown
};

struct RunHistory {
  std::vector<HistoryRun> runs;    // the oldest first
  std::vector<HistoryCell> cells;  // cells timed by two runs or more, in table order
};

/// One history for each sweep and device with at least two runs. The tables must outlive the
/// result. Errors are the store's.
[[nodiscard]] Result<std::vector<RunHistory>> make_histories(std::span<const StoredTable> tables);

/// "run 3 (commit 0123456789, 2026-01-31 13:05 UTC)"
[[nodiscard]] std::string name_of(const HistoryRun& run);
/// The number of changed cells and of runs.
[[nodiscard]] std::string history_in_words(const RunHistory& history);
/// One block for each pair of runs with changes in between; its title states how the runs differ.
[[nodiscard]] Sheet changes_sheet(const RunHistory& history);
/// Time per document, one column per run.
[[nodiscard]] Sheet history_sheet(const RunHistory& history);
/// "512 tokens, batch 4" for each cell, in order: what distinguishes its point from others.
[[nodiscard]] std::vector<std::string> history_points(const RunHistory& history);

}  // namespace attnscope::report
