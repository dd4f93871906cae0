#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A packed tensor in what stands for a GPU's memory, of exactly its size.
//
//   DeviceTensor q(inputs.q), o(like(inputs.q, nan));
//   ... kernel(q.view(), o.tensor()) ...
//   check(o.packed());

#include <span>

#include "tests/cuda_on_host/device_memory.h"
#include "tests/kernels/packed.h"

namespace attnscope::testing {

class DeviceTensor {
 public:
  explicit DeviceTensor(const Packed& packed)
      : packed_(packed), memory_("tensor", std::span<const std::byte>(packed.data)) {}

  [[nodiscard]] Tensor tensor() {
    Tensor t = packed_.tensor();
    t.data = memory_.data();
    return t;
  }
  [[nodiscard]] ConstTensor view() { return attnscope::as_const(tensor()); }
  /// As it is now.
  [[nodiscard]] const Packed& packed() {
    packed_.data = memory_.values();
    return packed_;
  }

 private:
  Packed packed_;
  on_host::DeviceArray<std::byte> memory_;
};

}  // namespace attnscope::testing
