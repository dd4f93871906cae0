#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The tensors of a heat, placement by placement: where the contenders find them, and where the host
// sees them. On the processor both are the same. For a device the host's are made once, since the
// values are the same at every placement, and copied to where the device has them.
//
//   HeatTensors tensors(device, shape, seed);
//   tensors.place(0);
//   tensors.poison_outputs();
//   call(tensors.on_device());
//   tensors.fetch_outputs();             // waits for the call
//   judge(reference, tensors.on_host());

#include <cstdint>
#include <optional>
#include <span>

#include "engine/measure/heat_device.h"
#include "engine/measure/inputs.h"

namespace attnscope::measure {

class HeatTensors {
 public:
  HeatTensors(HeatDevice& device, const InputShape& shape, std::uint64_t seed)
      : device_(device), shape_(shape), seed_(seed) {}

  /// Gives the last placement's memory back and takes the next one's.
  void place(int placement);

  /// After place().
  [[nodiscard]] const PlacedTensors& on_device() const {
    return mirror_ ? *mirror_ : static_cast<const PlacedTensors&>(*host_);
  }
  [[nodiscard]] const PlacementBuffers& on_host() const { return *host_; }

  /// Fills grad_o with its random values: everywhere, or in these rows alone and 0 elsewhere.
  void fill_grad_o() const;
  void fill_grad_o(std::span<const RowId> rows) const;
  /// NaN in everything that a call writes.
  void poison_outputs() const;
  /// A number that changes when a value of q, k, v or grad_o does.
  [[nodiscard]] std::uint64_t input_print() const;
  /// What the calls so far wrote becomes visible on_host(); errors of the device surface here.
  void fetch_outputs() const;

 private:
  [[nodiscard]] bool is_apart() const { return device_.kind() != DeviceKind::cpu; }
  void send_grad_o() const;

  HeatDevice& device_;
  InputShape shape_;
  std::uint64_t seed_;
  std::optional<PlacementBuffers> host_;
  std::optional<PlacedTensors> mirror_;  // of a device with memory of its own
};

}  // namespace attnscope::measure
