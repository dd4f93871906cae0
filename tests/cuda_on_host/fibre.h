#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Threads of a block as fibres: separate stacks on one host thread. A switch costs a few
// nanoseconds, so that the lanes of a warp can wait for each other at every matrix product.
//
//   Fibre host, lane;
//   lane.start(stack, [] { ...; switch_fibre(lane, host); });
//   switch_fibre(host, lane);

#include <cstddef>
#include <span>

namespace attnscope::on_host {

/// A suspended flow of control. Objects on the stack of a fibre that is never resumed are not
/// destroyed.
struct Fibre {
  void* stack_pointer = nullptr;
  std::span<std::byte> stack;      // empty for the host's own flow
  void* sanitizer_data = nullptr;  // AddressSanitizer's, of a suspended fibre

  /// `entry` must never return.
  void start(std::span<std::byte> memory, void (*entry)());
};

/// Suspends `from`, the running flow, and resumes `to`. With `leaving`, `from` has ended.
void switch_fibre(Fibre& from, Fibre& to, bool leaving = false);

/// To be called first in an entry.
void entered_fibre(Fibre& self);

}  // namespace attnscope::on_host
