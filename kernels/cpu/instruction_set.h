#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The inner loops are built once per instruction set from one source; this chooses among them at
// run time. The widest set of the processor is taken unless ATTNSCOPE_ISA names another:
//
//   for (InstructionSet set : available_sets()) {
//     select(set);                 // e.g. in tests; select(std::nullopt) restores the default
//     segment_forward(...);
//   }

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/base/result.h"

namespace attnscope::cpu {

/// avx512_vnni and amx are of use to linear layers whose products are narrow; all else is that of
/// the set before.
enum class InstructionSet : std::uint8_t { baseline, avx2, avx512, avx512_vnni, avx512_bf16, amx };

/// "baseline", "avx2", "avx512", "avx512-vnni", "avx512-bf16" or "amx".
[[nodiscard]] std::string_view name_of(InstructionSet set);

/// What this processor can run, narrowest first; `baseline` (x86-64 with SSE2) always can.
[[nodiscard]] std::vector<InstructionSet> available_sets();

/// The set in use: the one given to select(), else ATTNSCOPE_ISA, else the widest available.
/// A value of ATTNSCOPE_ISA that is unknown, or that this processor lacks, is an error.
[[nodiscard]] Result<InstructionSet> selected_set();

/// The set that `wanted` names (empty: the widest), out of `available`; what ATTNSCOPE_ISA means on
/// a processor with these sets. An error where it is unknown or not among them.
[[nodiscard]] Result<InstructionSet> choose_set(std::string_view wanted,
                                                std::span<const InstructionSet> available);

/// Takes `set` from now on for all threads, or with nullopt the default again. Not to be called
/// while a kernel runs.
[[nodiscard]] Status select(std::optional<InstructionSet> set);

}  // namespace attnscope::cpu
