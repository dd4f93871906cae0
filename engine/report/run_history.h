#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Runs of one sweep on one kind of machine, over time and commits: what each cell took in each of
// them, and where it changed. A change is told only where compare_runs has a verdict: where the
// interval of two runs' ratio, with what may have moved between runs in it, excludes 1.
//
//   auto histories = make_histories({{&store_a, &table_a}, {&store_b, &table_b}});
//   for (const RunHistory& one : *histories) print(history_in_words(one));

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "engine/report/sheet.h"
#include "engine/report/table.h"
#include "engine/store/store.h"
#include "kernels/base/result.h"

namespace attnscope::report {

/// A run as make_table read it, and the store that has its samples.
struct StoredTable {
  const Store* store;
  const Table* table;
};

/// A cell got faster or slower behind run `from` and not later than with run `to`: places in
/// RunHistory::runs.
struct HistoryChange {
  std::size_t from = 0, to = 0;
  statistics::Ratio ratio;  // of `to` over `from`, per item
};

struct HistoryCell {
  std::vector<const Row*> rows;  // one for each run, of the tables; null: it has no such cell
  std::vector<HistoryChange> changes;
};

struct HistoryRun {
  RunInfo run;
  std::string commit;  // "0123456789", "0123456789 (modified)"; empty: not known
};

struct RunHistory {
  std::vector<HistoryRun> runs;    // the oldest first
  std::vector<HistoryCell> cells;  // ordered as a table's rows; those that at least two runs timed
};

/// One for each sweep and device of which there are at least two runs. The tables must outlive
/// them. Errors are the store's.
[[nodiscard]] Result<std::vector<RunHistory>> make_histories(std::span<const StoredTable> tables);

/// "run 3 (commit 0123456789, 2026-01-31 13:05 UTC)"
[[nodiscard]] std::string name_of(const HistoryRun& run);
/// How many cells changed over how many runs.
[[nodiscard]] std::string history_in_words(const RunHistory& history);
/// A block for each two runs that cells changed between; its title says what tells the runs apart.
[[nodiscard]] Sheet changes_sheet(const RunHistory& history);
/// Time per document, a column a run.
[[nodiscard]] Sheet history_sheet(const RunHistory& history);
/// "512 tokens, batch 4" for each cell, in order: what tells its point from others.
[[nodiscard]] std::vector<std::string> history_points(const RunHistory& history);

}  // namespace attnscope::report
