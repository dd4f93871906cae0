// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/instruction_set.h"

#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>

namespace attnscope::cpu {
namespace {

constexpr std::array all_sets{InstructionSet::baseline,    InstructionSet::avx2,
                              InstructionSet::avx512,      InstructionSet::avx512_vnni,
                              InstructionSet::avx512_bf16, InstructionSet::amx};

bool has_avx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("f16c");
}

bool has_avx512() {
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq");
}

bool has_avx512_vnni() {
  return has_avx512() && __builtin_cpu_supports("avx512vnni");
}

bool has_avx512_bf16() {
  return has_avx512_vnni() && __builtin_cpu_supports("avx512bf16");
}

/// Linux grants the tile registers to processes that request them.
bool may_use_tiles() {
  constexpr long request_permission = 0x1023,
                 tile_data = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  static const bool may = syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
  return may;
}

bool has_amx() {
  return has_avx512_bf16() && __builtin_cpu_supports("amx-int8") &&
         __builtin_cpu_supports("amx-bf16") && __builtin_cpu_supports("amx-tile") &&
         may_use_tiles();
}

bool is_available(InstructionSet set) {
  __builtin_cpu_init();
  switch (set) {
    case InstructionSet::baseline:
      return true;
    case InstructionSet::avx2:
      return has_avx2();
    case InstructionSet::avx512:
      return has_avx512();
    case InstructionSet::avx512_vnni:
      return has_avx512_vnni();
    case InstructionSet::avx512_bf16:
      return has_avx512_bf16();
    case InstructionSet::amx:
      return has_amx();
  }
  return false;
}

std::string names_of(std::span<const InstructionSet> sets) {
  std::vector<std::string_view> names;
  for (const InstructionSet set : sets) names.push_back(name_of(set));
  return fmt::format("{}", fmt::join(names, ", "));
}

/// The set given to select(), or -1. Atomic because kernels on any thread read it.
std::atomic<int> chosen{-1};

}  // namespace

std::string_view name_of(InstructionSet set) {
  switch (set) {
    case InstructionSet::baseline:
      return "baseline";
    case InstructionSet::avx2:
      return "avx2";
    case InstructionSet::avx512:
      return "avx512";
    case InstructionSet::avx512_vnni:
      return "avx512-vnni";
    case InstructionSet::avx512_bf16:
      return "avx512-bf16";
    case InstructionSet::amx:
      return "amx";
  }
  return "";
}

std::vector<InstructionSet> available_sets() {
  std::vector<InstructionSet> sets;
  for (const InstructionSet set : all_sets) {
    if (is_available(set)) sets.push_back(set);
  }
  return sets;
}

Result<InstructionSet> choose_set(std::string_view requested,
                                  std::span<const InstructionSet> available) {
  if (requested.empty()) return available.back();
  for (const InstructionSet set : all_sets) {
    if (name_of(set) != requested) continue;
    if (std::ranges::find(available, set) != available.end()) return set;
    return fail(
        "ATTNSCOPE_ISA requests '{}', which this processor does not support; it supports {}",
        requested, names_of(available));
  }
  return fail("ATTNSCOPE_ISA is '{}', which is not an instruction set; use one of {}", requested,
              names_of(available));
}

Result<InstructionSet> selected_set() {
  if (const int set = chosen.load(); set >= 0) return static_cast<InstructionSet>(set);
  const char* requested = std::getenv("ATTNSCOPE_ISA");
  return choose_set(requested == nullptr ? "" : requested, available_sets());
}

Status select(std::optional<InstructionSet> set) {
  if (!set) {
    chosen = -1;
    return {};
  }
  if (!is_available(*set)) {
    return fail("This processor does not support the instruction set '{}'; it supports {}",
                name_of(*set), names_of(available_sets()));
  }
  chosen = static_cast<int>(*set);
  return {};
}

}  // namespace attnscope::cpu
