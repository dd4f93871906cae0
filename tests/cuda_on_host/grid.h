#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The running launch, which the parts of the emulator share.

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tests/cuda_on_host/emulator.h"

namespace attnscope::on_host {

/// A thread of a block: a suspended flow of control with its own stack on the one host thread. A
/// switch costs a few nanoseconds, so that the lanes of a warp can wait for each other at every
/// matrix product. Objects on the stack of a fibre that is never resumed are not destroyed.
struct Fibre {
  void* stack_pointer = nullptr;
  std::span<std::byte> stack;      // empty for the host's own flow
  void* sanitizer_data = nullptr;  // AddressSanitizer's, of a suspended fibre

  /// `entry` must never return.
  void start(std::span<std::byte> memory, void (*entry)());
};

/// Suspends `from`, the running flow, and resumes `to`. With `leaving`, `from` has ended.
void switch_fibre(Fibre& from, Fibre& to, bool leaving = false);

/// An entry must call this first.
void entered_fibre(Fibre& self);

/// Random numbers that are the same on every machine (xorshift64*).
class RandomOrder {
 public:
  explicit RandomOrder(std::uint64_t seed) : state_(seed * 2 + 1) {}
  [[nodiscard]] std::uint32_t next() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return static_cast<std::uint32_t>(state_ * 0x2545f4914f6cdd1dULL >> 32);
  }
  [[nodiscard]] std::uint32_t below(std::uint32_t count) {
    return static_cast<std::uint32_t>(std::uint64_t{next()} * count >> 32);
  }

 private:
  std::uint64_t state_;
};

struct Warp {
  std::array<const Collective*, warp_lanes> met = {};
  std::array<void*, warp_lanes> given = {};
  std::array<std::uint32_t, warp_lanes> accesses = {};  // of each lane since the last collective
  // Lane turn(i) is the i-th to run; a step odd modulo 32 visits every lane.
  std::uint32_t first = 0, step = 1;
  int arrived = 0;
  bool at_barrier = false;
  bool done = false;
  std::uint32_t epoch = 0;  // counts __syncwarp

  [[nodiscard]] int turn(int i) const {
    return static_cast<int>((first + step * static_cast<std::uint32_t>(i)) % warp_lanes);
  }
};

struct Grid {
  const char* name = nullptr;
  Body body = nullptr;
  std::span<const std::byte> parameters;
  std::uint32_t blocks = 0;
  int threads = 0;
  std::int64_t shared_bytes = 0;

  std::uint32_t block = 0;
  int thread = 0;           // runs now
  bool on_device = false;   // kernel code runs, not the emulator or the host
  std::uint32_t epoch = 1;  // counts barriers and the beginnings of blocks, over all launches
  std::uint32_t first_epoch_of_block = 1;
  std::uint32_t first_epoch_of_launch = 1;
  std::vector<Warp> warps;
  std::vector<Fibre> fibres;
  Fibre host;
  RandomOrder random{1};
  std::string failure;
};

/// Only one launch runs at a time. Instrumented code calls this for each access, also before
/// main(), when `on_device` is false because static memory is zero.
extern Grid running_grid;
[[nodiscard]] inline Grid& grid() {
  return running_grid;
}

/// Marks accesses of the emulator, which are not those of a kernel.
class OnHost {
 public:
  OnHost() : was_(grid().on_device) { grid().on_device = false; }
  ~OnHost() { grid().on_device = was_; }
  OnHost(const OnHost&) = delete;
  OnHost& operator=(const OnHost&) = delete;

 private:
  bool was_;
};

}  // namespace attnscope::on_host
