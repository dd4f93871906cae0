#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Runs the grid of a kernel on the host. Blocks run one after the other in random order. The
// threads of a block are fibres, which run one at a time from collective to collective (barriers,
// shuffles, votes, matrix products: operations for which a warp or a block waits), in a new random
// order after each. A correct kernel gives the same bits for all seeds.
//
// Undefined behaviour ends the launch, and its Status names the kernel, the block, the thread and
// the mistake: lanes of one warp at different collectives, a matrix product after a branch with
// accesses to memory that not all lanes took, a barrier that not all threads reach, and every
// access that memory_watch.h does not allow. Branches without such accesses are not seen.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace attnscope::on_host {

inline constexpr int warp_lanes = 32;
inline constexpr int most_threads = 1024;
/// What every GPU gives a block without being asked for more.
inline constexpr std::int64_t most_shared_bytes = 48 * 1024;

struct Device {
  std::string name = "the emulated GPU";
  int blocks = 0x7fffffff, threads = most_threads, shared_bytes = most_shared_bytes;
  int processors = 132;
};

/// The state of the emulated CUDA runtime.
struct Runtime {
  std::vector<Device> devices{Device()};
  int device = 0;  // the current one
  bool is_capturing = false;
  bool kernels_fail = false;  // returned by the next synchronisation, as the error of a kernel
  int synchronisations = 0;
  std::function<void(const char* kernel)> after_launch;  // called on the host after each grid
};
[[nodiscard]] Runtime& runtime();

struct Index {
  unsigned x;
};

// Constant while a fibre runs, so calls may be merged.
[[nodiscard]] __attribute__((const)) Index thread_index();
[[nodiscard]] __attribute__((const)) Index block_index();
[[nodiscard]] __attribute__((const)) Index block_size();
[[nodiscard]] __attribute__((const)) Index grid_size();

[[nodiscard]] __attribute__((const)) std::byte* shared_memory();

/// An operation of all 32 lanes of a warp, each with its own data; `act` runs once for all lanes.
struct Collective {
  const char* name;
  void (*act)(void* const (&given)[warp_lanes]);
  // Requires converged lanes (PTX: `.aligned`): a branch that not all of them take ends with
  // another collective before it, such as __syncwarp.
  bool aligned = false;
};

/// Called by each lane; returns after all lanes have called it and `act` has run.
void meet(const Collective& collective, void* given);

void synchronise_warp();
void synchronise_block();

/// Ends the launch because of undefined behaviour of the calling thread. Objects on its stack are
/// not destroyed.
[[noreturn]] void misuse(std::string what);

/// Seeds the order of blocks and threads.
void set_seed(std::uint64_t seed);

struct Totals {
  std::int64_t kernels = 0;  // different ones
  std::int64_t shapes = 0;   // different grids, blocks and shared memories of a kernel
  std::int64_t launches = 0;
  std::int64_t blocks = 0;
  std::int64_t collectives = 0;
  std::int64_t accesses = 0;  // to global and shared memory, each checked
};
/// The counts of this process.
[[nodiscard]] Totals totals();

using Body = void (*)(const void* parameters);

struct Kernel {
  const char* name;
  const void* address;  // distinguishes instantiations with one name
};

[[nodiscard]] Status run_grid(const Kernel& kernel, Body body, const void* parameters,
                              std::size_t parameter_bytes, std::int64_t blocks, int threads,
                              std::int64_t shared_bytes);

template <typename Callable>
[[nodiscard]] Status run(const Kernel& kernel, const Callable& callable, std::int64_t blocks,
                         int threads, std::int64_t shared_bytes) {
  return run_grid(
      kernel, [](const void* parameters) { (*static_cast<const Callable*>(parameters))(); },
      &callable, sizeof(Callable), blocks, threads, shared_bytes);
}

}  // namespace attnscope::on_host
