// SPDX-License-Identifier: Apache-2.0
//
// The functions that code compiled with -fsanitize=thread, alignment and bounds calls. They replace
// the runtimes of these sanitizers. Host code of such files, and inline functions that the linker
// uses from them, call these functions too; such calls are ignored.

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tests/cuda_on_host/grid.h"
#include "tests/cuda_on_host/memory_watch.h"

using namespace attnscope::on_host;

namespace {

void passes(const void* address, std::size_t bytes, Access access) {
  if (!grid().on_device) return;
  const OnHost on_host;
  check_access(address, bytes, access);
}

/// GCC calls the function of a size only if the type has that alignment.
template <std::size_t bytes>
void passes_aligned(const void* address, Access access) {
  if (!grid().on_device) return;
  const OnHost on_host;
  if (reinterpret_cast<std::uintptr_t>(address) % bytes != 0) {
    misuse("accesses memory at an address that is not a multiple of its size");
  }
  check_access(address, bytes, access);
}

}  // namespace

extern "C" {

void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit(void*) {}
void __tsan_vptr_update(void**, void*) {}

#define ATTNSCOPE_ACCESSES(bytes)                \
  void __tsan_read##bytes(void* at) {            \
    passes_aligned<bytes>(at, Access::read);     \
  }                                              \
  void __tsan_write##bytes(void* at) {           \
    passes_aligned<bytes>(at, Access::write);    \
  }                                              \
  void __tsan_unaligned_read##bytes(void* at) {  \
    passes(at, bytes, Access::read);             \
  }                                              \
  void __tsan_unaligned_write##bytes(void* at) { \
    passes(at, bytes, Access::write);            \
  }                                              \
  void __tsan_volatile_read##bytes(void* at) {   \
    passes_aligned<bytes>(at, Access::read);     \
  }                                              \
  void __tsan_volatile_write##bytes(void* at) {  \
    passes_aligned<bytes>(at, Access::write);    \
  }

ATTNSCOPE_ACCESSES(1)
ATTNSCOPE_ACCESSES(2)
ATTNSCOPE_ACCESSES(4)
ATTNSCOPE_ACCESSES(8)
ATTNSCOPE_ACCESSES(16)
#undef ATTNSCOPE_ACCESSES

void __tsan_read_range(void* at, std::size_t bytes) {
  passes(at, bytes, Access::read);
}
void __tsan_write_range(void* at, std::size_t bytes) {
  passes(at, bytes, Access::write);
}

// Atomic operations of host code (shared_ptr counts its owners with them); kernels only have those
// of cuda_on_host.h. Only one thread runs, so plain operations suffice.
#define ATTNSCOPE_ATOMICS(bits)                                                                 \
  std::uint##bits##_t __tsan_atomic##bits##_load(const volatile std::uint##bits##_t* at, int) { \
    return *at;                                                                                 \
  }                                                                                             \
  void __tsan_atomic##bits##_store(volatile std::uint##bits##_t* at, std::uint##bits##_t value, \
                                   int) {                                                       \
    *at = value;                                                                                \
  }                                                                                             \
  std::uint##bits##_t __tsan_atomic##bits##_fetch_add(volatile std::uint##bits##_t* at,         \
                                                      std::uint##bits##_t value, int) {         \
    const std::uint##bits##_t before = *at;                                                     \
    *at = static_cast<std::uint##bits##_t>(before + value);                                     \
    return before;                                                                              \
  }                                                                                             \
  std::uint##bits##_t __tsan_atomic##bits##_fetch_sub(volatile std::uint##bits##_t* at,         \
                                                      std::uint##bits##_t value, int) {         \
    const std::uint##bits##_t before = *at;                                                     \
    *at = static_cast<std::uint##bits##_t>(before - value);                                     \
    return before;                                                                              \
  }                                                                                             \
  bool __tsan_atomic##bits##_compare_exchange_strong(volatile std::uint##bits##_t* at,          \
                                                     std::uint##bits##_t* expected,             \
                                                     std::uint##bits##_t value, int, int) {     \
    const bool same = *at == *expected;                                                         \
    if (same) {                                                                                 \
      *at = value;                                                                              \
    } else {                                                                                    \
      *expected = *at;                                                                          \
    }                                                                                           \
    return same;                                                                                \
  }

ATTNSCOPE_ATOMICS(8)
ATTNSCOPE_ATOMICS(32)
ATTNSCOPE_ATOMICS(64)
#undef ATTNSCOPE_ATOMICS

void* __real_memcpy(void* to, const void* from, std::size_t bytes);
void* __real_memmove(void* to, const void* from, std::size_t bytes);
void* __real_memset(void* to, int value, std::size_t bytes);

void* __wrap_memcpy(void* to, const void* from, std::size_t bytes) {
  passes(from, bytes, Access::read);
  passes(to, bytes, Access::write);
  return __real_memcpy(to, from, bytes);
}
void* __wrap_memmove(void* to, const void* from, std::size_t bytes) {
  passes(from, bytes, Access::read);
  passes(to, bytes, Access::write);
  return __real_memmove(to, from, bytes);
}
void* __wrap_memset(void* to, int value, std::size_t bytes) {
  passes(to, bytes, Access::write);
  return __real_memset(to, value, bytes);
}

/// The descriptions of locations and types in libubsan of GCC 12.
struct TypeMismatch {
  const char* file;
  std::uint32_t line, column;
  const void* type;
  unsigned char log2_alignment, kind;
};
void __ubsan_handle_type_mismatch_v1(TypeMismatch* where, void* address) {
  if (!grid().on_device) return;
  const OnHost on_host;
  misaligned(address, where->file, where->line);
}

struct OutOfBounds {
  const char* file;
  std::uint32_t line, column;
  const void* array_type;
  const void* index_type;
};
void __ubsan_handle_out_of_bounds(OutOfBounds* where, void* index) {
  if (!grid().on_device) return;
  const OnHost on_host;
  out_of_array(static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(index)), where->file,
               where->line);
}

}  // extern "C"
