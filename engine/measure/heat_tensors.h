#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The tensors of a heat's attention calls, allocated again for each placement. Their values depend
// only on the seed and on (token, head, dim), not on memory order, placement or process, so that
// one reference serves a whole heat.
//
//   HeatTensors tensors(device, shape, seed);
//   tensors.place(0);
//   call(*prepared, tensors.get().on_device(), workspace, Pass::both);

#include <cstdint>
#include <optional>
#include <span>

#include "engine/measure/heat_device.h"
#include "engine/proof/call.h"

namespace attnscope::measure {

/// Bytes of all tensors (and, with gradients, the log-sum-exps) including the room for their
/// shifts; absent when the sum overflows 63 bits.
[[nodiscard]] std::optional<std::int64_t> buffer_bytes(const CallShape& shape);

class HeatTensors {
 public:
  /// `shared`: allocated where another process can map them.
  HeatTensors(HeatDevice& device, const CallShape& shape, std::uint64_t seed, bool shared = false)
      : memory_(device.memory()), seed_(seed), shared_(shared), tensors_(shape, device.kind()) {}

  /// Frees the last placement's memory and allocates the next one's. Each tensor starts at a
  /// multiple of 64 bytes (512 on a device) that depends on the placement's number: up to 4 KiB,
  /// for large tensors up to 1 MiB, into its block, with at least one such step of room on both
  /// sides, and after a spacer. Addresses and cache sets therefore differ. Outputs are NaN; grad_o
  /// is random everywhere.
  void place(int placement);
  void release();

  [[nodiscard]] const CallTensors& get() const { return tensors_; }
  /// Fills grad_o with its random values: everywhere, or only in these rows with 0 elsewhere.
  void fill_grad_o() const;
  void fill_grad_o(std::span<const RowId> rows) const;

 private:
  [[nodiscard]] Room room_at(std::uint64_t place, std::uint64_t index, std::int64_t bytes) const;
  void fill(const Tensor& tensor, std::uint64_t which) const;

  HeatMemory& memory_;
  std::uint64_t seed_;
  bool shared_;
  Buffer spacer_;
  CallTensors tensors_;
  bool host_is_filled_ = false;  // for a device with its own memory; the host values remain valid
};

}  // namespace attnscope::measure
