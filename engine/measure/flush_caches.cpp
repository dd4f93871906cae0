// SPDX-License-Identifier: Apache-2.0
#include "engine/measure/flush_caches.h"

#include <cstdint>

#ifdef __x86_64__
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace attnscope::measure {

#ifdef __x86_64__
namespace {

constexpr std::int64_t part_lines = 4096;  // lines per thread and step: 256 KiB

using FlushLines = void (*)(const std::byte* first, std::int64_t lines);

/// Flushes lines unordered and in parallel: 60 times as fast as clflush, which is serialised.
__attribute__((target("clflushopt"))) void flush_in_any_order(const std::byte* first,
                                                              std::int64_t lines) {
  for (std::int64_t i = 0; i < lines; ++i) {
    _mm_clflushopt(const_cast<std::byte*>(first + i * cache_line));
  }
  _mm_sfence();
}

void flush_in_order(const std::byte* first, std::int64_t lines) {
  for (std::int64_t i = 0; i < lines; ++i) _mm_clflush(first + i * cache_line);
  _mm_mfence();
}

FlushLines fastest() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  const bool any_order = __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & bit_CLFLUSHOPT) != 0;
  return any_order ? flush_in_any_order : flush_in_order;
}

}  // namespace

bool can_flush_caches() {
  return true;  // clflush is part of x86-64
}

void flush_from_caches(std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  static const FlushLines flush = fastest();
  const auto lead =
      static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(bytes.data()) % cache_line);
  const std::byte* const first = bytes.data() - lead;
  const std::int64_t lines =
      (lead + static_cast<std::int64_t>(bytes.size()) + cache_line - 1) / cache_line;
  const std::int64_t parts = (lines + part_lines - 1) / part_lines;
#pragma omp parallel for schedule(static) if (parts > 1)
  for (std::int64_t part = 0; part < parts; ++part) {
    const std::int64_t begin = part * part_lines;
    flush(first + begin * cache_line, lines - begin < part_lines ? lines - begin : part_lines);
  }
}
#else
bool can_flush_caches() {
  return false;
}

void flush_from_caches(std::span<const std::byte>) {}
#endif

}  // namespace attnscope::measure
