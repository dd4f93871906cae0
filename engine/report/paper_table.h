#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A run of whole models in the form of a paper's table, with the paper's numbers next to ours. The
// paper's numbers come from another machine, so no ratio between the two is formed.
//
//   fmt::print("{}", *write_beside(table, "ecir24-table3", TableFormat::text));

#include <string>
#include <string_view>

#include "engine/report/table.h"

namespace attnscope::report {

/// `published` is the table's id (published.h):
///
/// - ecir24-table3: time and memory per document in its units, each relative to the task's
///   baseline: the table's own, else the first measured contender, in the run's order, that is the
///   paper's baseline (passages: full, documents: longformer, w = 64).
/// - mixencoder-table6: a query's time (stage online) for each number of candidates, the bytes kept
///   of these, a document's time offline, and the speed-up per candidate over the table's baseline,
///   else over Cross-BERT.
/// - tkl-table1: documents per millisecond with their interval, for documents that are encoded with
///   the query (stage whole) and before it (online), with the paper's rate and nDCG@10.
///
/// An error names the available tables, or the sweep that measures what the run lacks.
[[nodiscard]] Result<std::string> write_paper_table(const Table& table, std::string_view published,
                                                    TableFormat format);

}  // namespace attnscope::report
