#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Units in the making: each with its own spans and rules, its parts numbered by the rows they
// belong to, before all of it is laid out in the tables of a WorkList.

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/cuda/work/token_runs.h"
#include "kernels/cuda/work_list.h"

namespace attnscope::cuda {

inline constexpr std::int32_t most_extras = 3;

struct DraftStrip {
  WorkRun run;
  std::vector<WorkRule> rules;  // one for each span of the unit
  std::int32_t split = -1;      // -1: the unit alone computes these rows; else Draft::splits[split]
  std::int32_t part = 0;
};

struct DraftUnit {
  std::int64_t item = -1;
  DraftStrip tile;
  std::vector<WorkSpan> spans;
  std::vector<DraftStrip> extras;
};

/// Rows that several strips or tiles compute parts of.
struct SplitRows {
  WorkRun run;
  std::int32_t parts = 0;
};

struct Draft {
  UnitKind kind = UnitKind::rows;
  std::vector<DraftUnit> units;
  std::vector<SplitRows> splits;
};

[[nodiscard]] std::int32_t slots_of(std::span<const WorkSpan> spans);

/// A part of one of several spans.
struct SpanPart {
  std::size_t span = 0;
  WorkRun run;
};

/// What lies in slots [first, last) of several spans, which stand one after the other.
[[nodiscard]] std::vector<SpanPart> parts_within(std::span<const WorkSpan> spans,
                                                 std::int32_t first, std::int32_t last);

/// Lays out the units, in order of their first tokens, in the list's tables; partial rows start at
/// `list.partial_rows`.
[[nodiscard]] std::vector<WorkUnit> lay_out(const Draft& draft, WorkList& list);

}  // namespace attnscope::cuda
