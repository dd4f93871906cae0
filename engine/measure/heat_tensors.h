#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The tensors of a heat's attention calls, placement by placement. Their values depend on the seed
// and on (token, head, dim) alone, not on memory order, placement or process: one reference serves
// a whole heat.
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

/// Bytes of all tensors (and the log-sum-exps, with gradients) together with the room for their
/// shifts; absent when they cannot be counted in 63 bits.
[[nodiscard]] std::optional<std::int64_t> buffer_bytes(const CallShape& shape);

class HeatTensors {
 public:
  /// `shared`: where another process can map them.
  HeatTensors(HeatDevice& device, const CallShape& shape, std::uint64_t seed, bool shared = false)
      : memory_(device.memory()), seed_(seed), shared_(shared), tensors_(shape, device.kind()) {}

  /// Gives the last placement's memory back and takes the next one's: each tensor starts at a
  /// multiple of 64 bytes (512 on a device) that the placement's number decides (up to 4 KiB, large
  /// tensors up to 1 MiB, into its block, with at least such a step of room on both sides), behind
  /// a spacer: other addresses, other cache sets. Outputs are NaN; grad_o is random everywhere.
  void place(int placement);
  void give_back();

  [[nodiscard]] const CallTensors& get() const { return tensors_; }
  /// Fills grad_o with its random values: everywhere, or in these rows alone and 0 elsewhere.
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
  bool host_is_filled_ = false;  // of a device with memory of its own, whose host's values stay
};

}  // namespace attnscope::measure
