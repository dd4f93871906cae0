#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Checks every memory access of a kernel: the kernels are compiled with -fsanitize=thread, which
// calls a function of instrumented_accesses.cpp before each load and store. An access is misuse if
//
//   - it is outside the device allocations of the launch, the shared memory of the block and the
//     stack of the thread (program constants and the parameters of the kernel may be read),
//   - it reads unwritten bytes,
//   - another thread accesses the same bytes, one of the two accesses is a write, and nothing
//   orders
//     them: no barrier of the block, no __syncwarp of their warp and, between blocks, no
//     __threadfence before and after an atomic operation,
//   - it is not aligned to its size, or its index is beyond an array of known size.
//
// Memory is checked in units of two bytes.

#include <cstddef>
#include <cstdint>

#include "tests/cuda_on_host/device_memory.h"

namespace attnscope::on_host {

enum class Access : std::uint8_t { read, write, atomic };

/// An access of the running thread, also outside device and shared memory.
void check_access(const void* address, std::size_t bytes, Access access);

/// __ldg: nothing in the launch may have written it.
void check_read_only(const void* address, std::size_t bytes);

/// An atomic operation on a counter, and __threadfence.
void check_atomic(const void* address, std::size_t bytes);
void fence_of_thread();

/// A load or store through a pointer that is not aligned for its type.
void misaligned(const void* address, const char* file, unsigned line);
/// An index beyond an array of known size, which may be in registers.
void out_of_array(std::int64_t index, const char* file, unsigned line);

[[nodiscard]] std::int64_t accesses_checked();

void begin_launch_in_watch();
void begin_block_in_watch();

}  // namespace attnscope::on_host
