#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The multiply-add rate of one core, measured alongside the kernels: clocks change with load and
// with the width of the vectors, so a share of this rate is more informative than a time.

#include <cstdint>

#include "kernels/cpu/instruction_set.h"

namespace attnscope::cpu {

/// FLOP a cycle that a core with two multiply-add units reaches (baseline: one multiplication and
/// one addition).
[[nodiscard]] double flop_per_cycle(InstructionSet set);

/// Runs `passes` rounds of independent multiply-adds and returns the FLOP done.
double burn_multiply_adds(InstructionSet set, std::int64_t passes);

}  // namespace attnscope::cpu
