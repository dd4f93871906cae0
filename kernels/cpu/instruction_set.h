#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The inner loops are built once per instruction set from one source; this selects among them at
// run time. The widest set of the processor is used unless ATTNSCOPE_ISA names another:
//
//   for (InstructionSet set : available_sets()) {
//     select(set);                 // e.g. in tests; select(std::nullopt) restores the default
//     segment_forward(...);
//   }

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace attnscope::cpu {

/// avx512_vnni and amx affect only linear layers with narrow products; everything else uses the
/// kernels of the preceding set.
enum class InstructionSet : std::uint8_t { baseline, avx2, avx512, avx512_vnni, avx512_bf16, amx };

/// "baseline", "avx2", "avx512", "avx512-vnni", "avx512-bf16" or "amx".
[[nodiscard]] std::string_view name_of(InstructionSet set);

/// The sets this processor supports, narrowest first; `baseline` (x86-64 with SSE2) is always one.
[[nodiscard]] std::vector<InstructionSet> available_sets();

/// The set in use: the one given to select(), else ATTNSCOPE_ISA, else the widest available.
/// Returns an error if ATTNSCOPE_ISA is unknown or not supported by this processor.
[[nodiscard]] Result<InstructionSet> selected_set();

/// The set named `requested` (empty: the widest) out of `available`: the meaning of ATTNSCOPE_ISA
/// on a processor with these sets. Returns an error if it is unknown or not among them.
[[nodiscard]] Result<InstructionSet> choose_set(std::string_view requested,
                                                std::span<const InstructionSet> available);

/// Selects `set` for all threads, or with nullopt the default. Must not be called while a kernel
/// runs.
[[nodiscard]] Status select(std::optional<InstructionSet> set);

}  // namespace attnscope::cpu
