#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Walks a work list as its header (kernels/cuda/work_list.h) says a kernel does, and counts what is
// computed and written. It shares no code with what makes the lists.

#include <cstdint>
#include <functional>
#include <span>

#include "kernels/cuda/work_list.h"

namespace attnscope::testing {

/// The tile or an extra strip of a unit.
struct WalkedRows {
  const cuda::WorkUnit* unit = nullptr;
  cuda::WorkRun run;
  std::int32_t first_rule = 0;
  cuda::WorkPart part;
};

/// Calls `visit` for the tile and each extra strip of a unit.
void for_each_rows(const cuda::WorkList& list, const cuda::WorkUnit& unit,
                   const std::function<void(const WalkedRows&)>& visit);

/// Token `position` of a run.
[[nodiscard]] std::int32_t token_of(const cuda::WorkList& list, const cuda::WorkRun& run,
                                    std::int32_t position);

/// Whether stationary token `t` sees streamed token `token` by `rule`; the span's left-out tokens
/// aside.
[[nodiscard]] bool sees(const cuda::WorkRule& rule, std::int64_t t, std::int64_t token);

/// Whether the span's bitmap marks the token.
[[nodiscard]] bool is_left_out(const cuda::WorkList& list, const cuda::WorkSpan& span,
                               std::int32_t token);

/// Calls `visit(stationary token, streamed token)` for every pair the rows compute.
void for_each_pair(const cuda::WorkList& list, const WalkedRows& rows,
                   const std::function<void(std::int32_t, std::int32_t)>& visit);

/// The units of segment_forward, and those of segment_backward.
[[nodiscard]] std::span<const cuda::WorkUnit> forward_units(const cuda::WorkList& list);
[[nodiscard]] std::span<const cuda::WorkUnit> backward_units(const cuda::WorkList& list);

}  // namespace attnscope::testing
