#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Threads of a block as fibres: stacks of their own on one host thread, switched by hand. A switch
// costs a few nanoseconds, so that a kernel may meet at every matrix product.
//
//   Fibre host, lane;
//   lane.start(stack, [] { ...; switch_fibre(lane, host); });
//   switch_fibre(host, lane);

#include <cstddef>
#include <span>

namespace attnscope::on_host {

/// Where a flow of control is resumed. A fibre that is never resumed is simply forgotten: nothing
/// on its stack is destroyed.
struct Fibre {
  void* stack_pointer = nullptr;
  std::span<std::byte> stack;      // empty for the host's own flow
  void* sanitizer_data = nullptr;  // AddressSanitizer's, of a suspended fibre

  /// `entry` must never return.
  void start(std::span<std::byte> memory, void (*entry)());
};

/// Suspends `from`, the flow that runs, and resumes `to`. With `leaving`, `from` is done for good.
void switch_fibre(Fibre& from, Fibre& to, bool leaving = false);

/// To be called first in an entry.
void entered_fibre(Fibre& self);

}  // namespace attnscope::on_host
