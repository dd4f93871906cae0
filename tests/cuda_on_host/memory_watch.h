#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Every access of a kernel to memory passes here: the kernels are compiled with -fsanitize=thread,
// which calls a function before each load and store, and instrumented_accesses.cpp is what it
// calls. An access is misuse when
//
//   - it lies outside the launch's device allocations, the block's shared memory and the thread's
//     own stack (program constants and the kernel's parameters may be read),
//   - it reads bytes that nothing has written,
//   - it meets another thread's access to the same bytes, one of the two a write, and neither a
//     barrier of the block, nor __syncwarp of their warp, nor - between blocks - __threadfence
//     before and behind an atomic operation orders the two,
//   - it is not aligned to its size, or its index is beyond an array of known size.
//
// Memory is watched in units of two bytes.

#include <cstddef>
#include <cstdint>

#include "tests/cuda_on_host/device_memory.h"

namespace attnscope::on_host {

enum class Access : std::uint8_t { read, write, atomic };

/// Of the running thread. Reads and writes outside the device's and the block's memory are checked
/// too.
void check_access(const void* address, std::size_t bytes, Access access);

/// __ldg: nothing in the launch may have written it.
void check_read_only(const void* address, std::size_t bytes);

/// An atomic operation on a counter, and __threadfence.
void check_atomic(const void* address, std::size_t bytes);
void fence_of_thread();

/// A load or store through a pointer that is not aligned for its type.
void misaligned(const void* address, const char* file, unsigned line);
/// An index beyond an array of known size: of registers, where there is no memory to watch.
void out_of_array(std::int64_t index, const char* file, unsigned line);

[[nodiscard]] std::int64_t accesses_checked();

void begin_launch_in_watch();
void begin_block_in_watch();

}  // namespace attnscope::on_host
