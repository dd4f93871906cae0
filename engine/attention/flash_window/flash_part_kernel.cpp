// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/flash_window/flash_part_kernel.h"

#include <ATen/ops/_flash_attention_backward.h>
#include <ATen/ops/_flash_attention_forward.h>
#include <ATen/ops/empty.h>

#include <optional>
#include <tuple>

namespace attnscope {
namespace {

constexpr double no_dropout = 0.0;
constexpr bool not_causal = false;

std::optional<at::Tensor> borders(const at::Tensor& tensor) {
  return tensor.defined() ? std::optional(tensor) : std::nullopt;
}

std::optional<std::int64_t> side(std::int64_t window) {
  return window < 0 ? std::nullopt : std::optional(window);
}

class FlashPartKernel final : public PartKernel {
 public:
  PartResult forward(const PartOperands& part) const override {
    const auto result = at::_flash_attention_forward(
        part.q, part.k, part.v, borders(part.row_borders), borders(part.key_borders),
        part.longest_rows, part.longest_keys, no_dropout, not_causal, /*return_debug_mask=*/false,
        part.scale, side(part.window), side(part.window));
    return {.o = std::get<0>(result), .lse = std::get<1>(result)};
  }

  PartGradients backward(const PartOperands& part, const at::Tensor& grad_o,
                         const PartResult& whole) const override {
    // Without dropout no random state is read.
    const at::Tensor state = at::empty({2}, part.q.options().dtype(at::kUInt64));
    auto [q, k, v] = at::_flash_attention_backward(
        grad_o, part.q, part.k, part.v, whole.o, whole.lse, part.row_borders, part.key_borders,
        part.longest_rows, part.longest_keys, no_dropout, not_causal, state, state, part.scale,
        side(part.window), side(part.window));
    return {.q = q, .k = k, .v = v};
  }
};

}  // namespace

const PartKernel& flash_part_kernel() {
  static const FlashPartKernel kernel;
  return kernel;
}

}  // namespace attnscope
