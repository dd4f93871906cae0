#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// One attention in device memory, forward and backward, and its comparison with the float64
// reference.

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <vector>

#include "kernels/plan/gradients.h"
#include "tests/cuda/device_memory.h"
#include "tests/kernels/attention_case.h"
#include "tests/kernels/gradient_case.h"

namespace attnscope::testing {

[[nodiscard]] inline ConstTensor moved(ConstTensor tensor, const DeviceMemory& memory) {
  tensor.data = memory.data();
  return tensor;
}
[[nodiscard]] inline Tensor moved(Tensor tensor, const DeviceMemory& memory) {
  tensor.data = memory.data();
  return tensor;
}

/// Inputs and results of one attention in device memory; results are NaN at first.
struct OnDevice {
  Packed shape, result;
  DeviceMemory q, k, v, grad_o, o, grad_q, grad_k, grad_v, lse;
  std::int64_t rows;

  OnDevice(const Inputs& in, const Packed& gradient)
      : shape(in.q),
        result(like(in.q, std::numeric_limits<float>::quiet_NaN())),
        q(in.q.data),
        k(in.k.data),
        v(in.v.data),
        grad_o(gradient.data),
        o(result.data),
        grad_q(result.data),
        grad_k(result.data),
        grad_v(result.data),
        lse(in.q.tokens * in.q.heads * std::int64_t{sizeof(float)}),
        rows(in.q.tokens * in.q.heads) {}

  [[nodiscard]] ConstTensor in(const DeviceMemory& memory) const {
    return moved(shape.view(), memory);
  }
  [[nodiscard]] Tensor out(const DeviceMemory& memory) { return moved(result.tensor(), memory); }
  [[nodiscard]] float* logarithms() const { return reinterpret_cast<float*>(lse.data()); }
  [[nodiscard]] Packed read(const DeviceMemory& memory) const {
    Packed packed = result;
    packed.data = memory.read();
    return packed;
  }
  [[nodiscard]] Outputs outputs() const {
    Outputs outputs{read(o), std::vector<float>(static_cast<std::size_t>(rows))};
    const std::vector<std::byte> bytes = lse.read();
    std::memcpy(outputs.lse.data(), bytes.data(), bytes.size());
    return outputs;
  }
  [[nodiscard]] GradientTensors gradients() {
    return {.q = in(q),
            .k = in(k),
            .v = in(v),
            .o = in(o),
            .lse = {logarithms(), static_cast<std::size_t>(rows)},
            .grad_o = in(grad_o),
            .grad_q = out(grad_q),
            .grad_k = out(grad_k),
            .grad_v = out(grad_v)};
  }
};

/// Runs a forward and a backward call.
using Kernels = void (*)(const AttentionPlan& plan, OnDevice& device);

inline void expect_right_on_device(const AttentionCase& problem, Kernels run) {
  SCOPED_TRACE(problem.text());
  const AttentionPlan plan = problem.plan();
  const Inputs inputs = random_inputs(problem);
  const Packed grad_o = random_like(inputs.q, 7);
  OnDevice device(inputs, grad_o);
  run(plan, device);
  if (::testing::Test::HasFatalFailure()) return;
  const Outputs outputs = device.outputs();
  expect_near(outputs, reference(problem, inputs), problem.head_dim, "forward");
  EXPECT_TRUE(gaps_are_untouched(outputs.o));

  const BackwardCase backward{inputs, outputs, grad_o};
  const Gradients gradients{device.read(device.grad_q), device.read(device.grad_k),
                            device.read(device.grad_v)};
  expect_near(gradients, reference_gradients(problem.keys(), exact(backward)), "backward");
  EXPECT_TRUE(gaps_are_untouched(gradients.q));
}

}  // namespace attnscope::testing
