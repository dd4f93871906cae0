#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A run of whole models in the form of a paper's table, with the paper's numbers beside ours. The
// paper's are of another machine, so nothing of ours is set in relation to them.
//
//   fmt::print("{}", *write_beside(table, "ecir24-table3", TableFormat::text));

#include <string>
#include <string_view>

#include "engine/report/table.h"

namespace attnscope::report {

/// `published` is the table's id (published.h):
///
/// - ecir24-table3: time and memory per document in its units, each against the task's baseline,
///   which is the paper's (passages: full, documents: longformer, w = 64), in the run's order the
///   first contender that was measured, unless the table has one.
/// - mixencoder-table6: a query's time (stage online) for each number of candidates, what is kept
///   of these, a document's time offline, and the speed-up per candidate over the table's baseline,
///   else over Cross-BERT.
/// - tkl-table1: documents per millisecond with their interval, for documents that are encoded with
///   the query (stage whole) and before it (online), with the paper's and its nDCG@10.
///
/// An error names the tables there are, or the sweep that measures what the run lacks.
[[nodiscard]] Result<std::string> write_beside(const Table& table, std::string_view published,
                                               TableFormat format);

}  // namespace attnscope::report
