// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/longformer_banded/band_on_cuda.h"

#include <limits>

namespace attnscope::longformer_banded {
namespace {

constexpr float log2_e = 1.4426950408889634F;

}  // namespace

Result<BandOnCuda> BandOnCuda::make(const AttentionPlan& plan, std::int64_t head_dim,
                                    Passes passes) {
  auto lists = DeviceLists::make(plan, head_dim, passes);
  if (!lists) return tl::unexpected(lists.error());
  return BandOnCuda(plan, std::move(*lists), passes);
}

std::int64_t BandOnCuda::workspace_floats() const {
  return lists_.score_count() + (passes_ == Passes::forward ? 0 : lists_.row_count());
}

View BandOnCuda::view(const ConstTensor& tensor) const {
  const std::int64_t piece = 16 / size_of(tensor.dtype);
  const bool one_run = tensor.item_tokens == 0 || tensor.item_tokens >= tokens_;
  const bool aligned = reinterpret_cast<std::uintptr_t>(tensor.data) % 16 == 0 &&
                       tensor.token_stride % piece == 0 && tensor.head_stride % piece == 0 &&
                       (one_run || tensor.item_stride % piece == 0) && tensor.head_dim % piece == 0;
  return {.data = const_cast<std::byte*>(tensor.data),
          .token_stride = tensor.token_stride,
          .head_stride = tensor.head_stride,
          .item_stride = tensor.item_stride,
          .item_tokens = one_run ? 0 : static_cast<std::int32_t>(tensor.item_tokens),
          .aligned = aligned ? 1 : 0};
}

BandArguments BandOnCuda::arguments(const DeviceCall& call, const ConstTensor& like) const {
  BandArguments a;
  a.lists = lists_.at(call.list);
  a.dtype = like.dtype;
  a.scores = call.workspace;
  a.head_dim = static_cast<std::int32_t>(like.head_dim);
  a.heads = heads_;
  return a;
}

Status BandOnCuda::forward(const DeviceCall& call, const ConstTensor& q, const ConstTensor& k,
                           const ConstTensor& v, const Tensor& o, float* lse) const {
  const bool softmax = call.weighting == Weighting::softmax;
  const Blocks& blocks = lists_.blocks();
  BandArguments a = arguments(call, q);
  a.x = view(q);
  a.y = view(k);
  a.scale = softmax ? call.scale * log2_e : call.scale;
  a.outside = softmax ? -std::numeric_limits<float>::infinity() : 0.0F;
  if (Status s = launch_cells(a, blocks.cells, call.stream); !s) return s;
  a.lse = lse;
  if (softmax) {
    if (Status s = launch_softmax(a, blocks.rows, call.stream); !s) return s;
  }
  a.scale = 1.0F;
  a.y = view(v);
  a.out = view(o);
  return launch_row_sums(a, blocks.row_sums, call.stream);
}

Status BandOnCuda::backward(const DeviceCall& call, const GradientTensors& t) const {
  const Blocks& blocks = lists_.blocks();
  BandArguments a = arguments(call, t.q);
  a.x = view(t.grad_o);
  a.out = view(t.grad_v);
  if (Status s = launch_key_sums(a, blocks.key_sums, call.stream); !s) return s;
  if (call.weighting == Weighting::softmax) {
    a.row_dots = row_dots(call);
    a.y = view(t.o);
    if (Status s = launch_row_dots(a, blocks.rows, call.stream); !s) return s;
  }
  a.y = view(t.v);
  if (Status s = launch_cell_gradients(a, blocks.cells, call.stream); !s) return s;
  a.scale = call.scale;
  a.y = view(t.k);
  a.out = view(t.grad_q);
  if (Status s = launch_row_sums(a, blocks.row_sums, call.stream); !s) return s;
  a.x = view(t.q);
  a.out = view(t.grad_k);
  return launch_key_sums(a, blocks.key_sums, call.stream);
}

}  // namespace attnscope::longformer_banded
