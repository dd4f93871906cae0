// SPDX-License-Identifier: Apache-2.0

#include <ATen/ops/_flash_attention_backward.h>
#include <ATen/ops/_flash_attention_forward.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <optional>
#include <tuple>

#include "engine/attention/flash_window/assembled_attention.h"
#include "engine/attention/implementation.h"

namespace attnscope {
namespace {

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
        part.longest_rows, part.longest_keys, /*dropout_p=*/0.0, /*is_causal=*/false,
        /*return_debug_mask=*/false, part.scale, side(part.window), side(part.window));
    return {.o = std::get<0>(result), .lse = std::get<1>(result)};
  }

  PartGradients backward(const PartOperands& part, const at::Tensor& grad_o,
                         const PartResult& whole) const override {
    // Without dropout no random state is read.
    const at::Tensor state = at::empty({2}, part.q.options().dtype(at::kUInt64));
    auto [q, k, v] = at::_flash_attention_backward(
        grad_o, part.q, part.k, part.v, whole.o, whole.lse, part.row_borders, part.key_borders,
        part.longest_rows, part.longest_keys, /*dropout_p=*/0.0, /*is_causal=*/false, state, state,
        part.scale, side(part.window), side(part.window));
    return {.q = q, .k = k, .v = v};
  }
};

}  // namespace

Status flash_window_supports(const Problem& problem, const SdpaDevice& device) {
  if (problem.device == DeviceKind::cpu) {
    return fail(
        "flash-window uses LibTorch's flash kernel for CUDA; LibTorch's kernel for the CPU has no "
        "window");
  }
  if (Status ok = flash_supports_on_cuda("flash-window", problem, device); !ok) return ok;
  // mha_fwd and mha_varlen_fwd in aten/src/ATen/native/transformers/cuda/flash_attn/flash_api.cpp.
  if (problem.head_dim % 8 != 0) {
    return fail("flash-window supports head dimensions that are multiples of 8, not {}",
                problem.head_dim);
  }
  const auto groups = parts_of(problem);
  if (!groups) return tl::unexpected(groups.error());
  constexpr std::size_t most_sequences = 65535;  // limit of a grid's second dimension
  for (const RowGroup& group : *groups) {
    if (group.queries.size() > most_sequences) {
      return fail("flash-window supports at most {} sequences in one call, not {}", most_sequences,
                  group.queries.size());
    }
  }
  return {};
}

std::vector<Implementation> flash_window_implementations() {
  return {
      {.id = "flash-window",
       .summary =
           "LibTorch's flash kernel for CUDA with its window over the document and one further "
           "call per global part, merged by log-sum-exp; one call per batch; items of one length "
           "are read in place, others gathered without padding in every call, which is timed; "
           "backward part by part",
       .is_fused = true,
       .supports =
           [](const Problem& problem) {
             return flash_window_supports(problem, current_sdpa_device());
           },
       .prepare = [](const Problem& problem) -> Result<std::unique_ptr<PreparedAttention>> {
         auto groups = parts_of(problem);
         if (!groups) return tl::unexpected(groups.error());
         static const FlashPartKernel kernel;
         return prepare_assembled(problem, std::move(*groups), kernel);
       }}};
}

}  // namespace attnscope
