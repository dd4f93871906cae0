// SPDX-License-Identifier: Apache-2.0
//
// The calls: what they are given is checked, then their launches are queued.
#include <initializer_list>
#include <limits>
#include <string_view>

#include "kernels/cuda/windowed.h"
#include "kernels/cuda/windowed/arguments.h"
#include "kernels/cuda/windowed/lists.h"

namespace attnscope::cuda {
namespace windowed {
namespace {

constexpr double log2_e = 1.44269504088896340736;

using Launch = Status (*)(const ProductArguments&, std::int64_t, Stream);
struct Products {
  Launch scores, values, keys;
};

template <DType type, int dim>
constexpr Products products_of_class{launch_scores<type, dim>, launch_values<type, dim>,
                                     launch_keys<type, dim>};

template <DType type>
constexpr Products products_of_halves{launch_scores<type, 256>, launch_values<type, 128>,
                                      launch_keys<type, 128>};

template <DType type>
const Products& products_of(std::int64_t head_dim) {
  if (head_dim <= 16) return products_of_class<type, 16>;
  if (head_dim <= 32) return products_of_class<type, 32>;
  if (head_dim <= 64) return products_of_class<type, 64>;
  if (head_dim <= 128) return products_of_class<type, 128>;
  return products_of_halves<type>;
}

const Products& products_of(DType dtype, std::int64_t head_dim) {
  switch (dtype) {
    case DType::float32:
      return products_of<DType::float32>(head_dim);
    case DType::float16:
      return products_of<DType::float16>(head_dim);
    case DType::bfloat16:
      break;
  }
  return products_of<DType::bfloat16>(head_dim);
}

struct NamedTensor {
  std::string_view name;
  ConstTensor tensor;
};
struct NamedFloats {
  std::string_view name;
  const float* floats;
};

Status check_tensor(std::string_view operation, const NamedTensor& given, const Lists& lists) {
  const auto& [name, tensor] = given;
  if (tensor.dtype != lists.dtype) {
    return fail("{}: {} is of another type than the work list was made for", operation, name);
  }
  if (tensor.head_dim != lists.head_dim) {
    return fail(
        "{}: {} has head dimension {}, the work list {}; give tensors of one head dimension",
        operation, name, tensor.head_dim, lists.head_dim);
  }
  if (tensor.data == nullptr && lists.tokens > 0) {
    return fail("{}: {} has no data for its {} tokens; hand in its memory", operation, name,
                lists.tokens);
  }
  return {};
}

Status check_memory(std::string_view operation, const WindowedWork& work,
                    const WindowedMemory& memory, Passes passes) {
  const Lists& lists = work.lists();
  if (passes == Passes::forward_backward && lists.passes == Passes::forward) {
    return fail("{}: the work list was made for the forward pass alone; make it for both",
                operation);
  }
  if (lists.tokens == 0) return {};
  if (memory.list == nullptr) {
    return fail("{}: the work list is not on the device; copy list() there", operation);
  }
  if (memory.workspace == nullptr && work.workspace_bytes() > 0) {
    return fail("{}: the call needs a workspace of {} bytes (workspace_bytes)", operation,
                work.workspace_bytes());
  }
  return {};
}

View view_of(const ConstTensor& tensor, std::int64_t tokens) {
  // One item is one strided run.
  const bool items = tensor.item_tokens != 0 && tensor.item_tokens < tokens;
  const std::int64_t piece = 16 / size_of(tensor.dtype);
  const bool aligned = reinterpret_cast<std::uintptr_t>(tensor.data) % 16 == 0 &&
                       tensor.token_stride % piece == 0 && tensor.head_stride % piece == 0 &&
                       (!items || tensor.item_stride % piece == 0) && tensor.head_dim % piece == 0;
  return {.data = const_cast<std::byte*>(tensor.data),
          .token_stride = tensor.token_stride,
          .head_stride = tensor.head_stride,
          .item_stride = tensor.item_stride,
          .item_tokens = items ? static_cast<std::int32_t>(tensor.item_tokens) : 0,
          .aligned = aligned ? 1 : 0};
}

/// The launches of one call.
class Call {
 public:
  Call(std::string_view operation, const WindowedWork& work, const WindowedMemory& memory,
       Stream stream)
      : operation_(operation),
        work_(work),
        lists_(work.lists()),
        memory_(memory),
        device_(on_device(lists_, memory.list)),
        stream_(stream) {}

  /// Whether it was given what it needs.
  [[nodiscard]] Status check(Passes passes, std::initializer_list<NamedTensor> tensors,
                             std::initializer_list<NamedFloats> all_floats) const {
    if (Status s = check_memory(operation_, work_, memory_, passes); !s) return s;
    for (const NamedTensor& tensor : tensors) {
      if (Status s = check_tensor(operation_, tensor, lists_); !s) return s;
    }
    for (const auto& [name, floats] : all_floats) {
      if (floats != nullptr || work_.score_elements() == 0) continue;
      return fail("{}: {} has no memory for its {} floats", operation_, name,
                  work_.score_elements());
    }
    return {};
  }

  [[nodiscard]] Status scores(const ConstTensor& x, const ConstTensor& y, float scale,
                              float outside, float* scores) const {
    ProductArguments a = product();
    a.x = view_of(x, lists_.tokens);
    a.y = view_of(y, lists_.tokens);
    a.scores = scores;
    a.scale = scale;
    a.outside = outside;
    return products_of(lists_.dtype, lists_.head_dim).scores(a, blocks_of_rows(), stream_);
  }

  [[nodiscard]] Status values(const float* weights, const ConstTensor& y, float scale,
                              const Tensor& out) const {
    ProductArguments a = product();
    a.y = view_of(y, lists_.tokens);
    a.out = view_of(as_const(out), lists_.tokens);
    a.weights = weights;
    a.scale = scale;
    Status done = products_of(lists_.dtype, lists_.head_dim)
                      .values(a, blocks_of_rows() * a.column_parts, stream_);
    if (!done) return done;
    return merge(device_.row_merges, lists_.row_merges.size(), a);
  }

  [[nodiscard]] Status keys(const float* weights, const ConstTensor& x, float scale,
                            const Tensor& out) const {
    ProductArguments a = product();
    a.x = view_of(x, lists_.tokens);
    a.out = view_of(as_const(out), lists_.tokens);
    a.weights = weights;
    a.scale = scale;
    Status done = products_of(lists_.dtype, lists_.head_dim)
                      .keys(a, blocks(lists_.key_units.size()) * a.column_parts, stream_);
    if (!done) return done;
    return merge(device_.key_merges, lists_.key_merges.size(), a);
  }

  [[nodiscard]] Status softmax(float* scores, float* lse) const {
    RowArguments a = rows();
    a.scores = scores;
    a.lse = lse;
    return launch_softmax(a, blocks_of_rows(), stream_);
  }

  [[nodiscard]] Status score_gradients(const float* weights, float* gradients) const {
    RowArguments a = rows();
    a.scores = gradients;
    a.weights = weights;
    return launch_score_gradients(a, blocks_of_rows(), stream_);
  }

 private:
  [[nodiscard]] std::int64_t blocks(std::size_t units) const {
    return static_cast<std::int64_t>(units) * lists_.heads_per_unit;
  }
  [[nodiscard]] std::int64_t blocks_of_rows() const { return blocks(lists_.row_units.size()); }

  [[nodiscard]] ProductArguments product() const {
    ProductArguments a;
    a.lists = device_;
    a.partials = reinterpret_cast<float*>(memory_.workspace);
    a.head_dim = static_cast<std::int32_t>(lists_.head_dim);
    a.heads_per_unit = lists_.heads_per_unit;
    a.column_parts = lists_.head_dim <= 128 ? 1 : 2;
    return a;
  }

  [[nodiscard]] RowArguments rows() const {
    RowArguments a;
    a.units = device_.row_units;
    a.indices = device_.indices;
    a.heads = lists_.heads;
    a.heads_per_unit = lists_.heads_per_unit;
    return a;
  }

  [[nodiscard]] Status merge(const Merge* merges, std::size_t count,
                             const ProductArguments& product) const {
    MergeArguments a;
    a.merges = merges;
    a.indices = device_.indices;
    a.partials = product.partials;
    a.out = product.out;
    a.dtype = lists_.dtype;
    a.scale = product.scale;
    a.head_dim = product.head_dim;
    a.heads_per_unit = lists_.heads_per_unit;
    return launch_merges(a, blocks(count), stream_);
  }

  std::string_view operation_;
  const WindowedWork& work_;
  const Lists& lists_;
  WindowedMemory memory_;
  DeviceLists device_;
  Stream stream_;
};

}  // namespace
}  // namespace windowed

using windowed::Call;

Status windowed_qk(const WindowedWork& work, const WindowedMemory& memory, const ConstTensor& q,
                   const ConstTensor& k, float scale, float* band, Stream stream) {
  const Call call("windowed_qk", work, memory, stream);
  if (Status s = call.check(Passes::forward, {{"q", q}, {"k", k}}, {{"the band", band}}); !s) {
    return s;
  }
  return call.scores(q, k, scale, 0.0f, band);
}

Status windowed_pv(const WindowedWork& work, const WindowedMemory& memory, const float* band,
                   const ConstTensor& v, const Tensor& o, Stream stream) {
  const Call call("windowed_pv", work, memory, stream);
  if (Status s = call.check(Passes::forward, {{"v", v}, {"o", as_const(o)}}, {{"the band", band}});
      !s) {
    return s;
  }
  return call.values(band, v, 1.0f, o);
}

Status windowed_qk_backward(const WindowedWork& work, const WindowedMemory& memory,
                            const float* grad_band, const ConstTensor& q, const ConstTensor& k,
                            float scale, const Tensor& grad_q, const Tensor& grad_k,
                            Stream stream) {
  const Call call("windowed_qk_backward", work, memory, stream);
  if (Status s = call.check(
          Passes::forward_backward,
          {{"q", q}, {"k", k}, {"grad_q", as_const(grad_q)}, {"grad_k", as_const(grad_k)}},
          {{"the band's gradient", grad_band}});
      !s) {
    return s;
  }
  if (Status s = call.values(grad_band, k, scale, grad_q); !s) return s;
  return call.keys(grad_band, q, scale, grad_k);
}

Status windowed_pv_backward(const WindowedWork& work, const WindowedMemory& memory,
                            const float* band, const ConstTensor& v, const ConstTensor& grad_o,
                            float* grad_band, const Tensor& grad_v, Stream stream) {
  const Call call("windowed_pv_backward", work, memory, stream);
  if (Status s = call.check(Passes::forward_backward,
                            {{"v", v}, {"grad_o", grad_o}, {"grad_v", as_const(grad_v)}},
                            {{"the band", band}, {"the band's gradient", grad_band}});
      !s) {
    return s;
  }
  if (Status s = call.scores(grad_o, v, 1.0f, 0.0f, grad_band); !s) return s;
  return call.keys(band, grad_o, 1.0f, grad_v);
}

Status windowed_forward(const WindowedWork& work, const WindowedMemory& memory,
                        const ConstTensor& q, const ConstTensor& k, const ConstTensor& v,
                        float scale, const Tensor& o, float* lse, float* scores, Stream stream) {
  const Call call("windowed_forward", work, memory, stream);
  if (Status s = call.check(Passes::forward, {{"q", q}, {"k", k}, {"v", v}, {"o", as_const(o)}},
                            {{"the scores", scores}});
      !s) {
    return s;
  }
  const float log2_scale = scale * static_cast<float>(windowed::log2_e);
  constexpr float none = -std::numeric_limits<float>::infinity();
  if (Status s = call.scores(q, k, log2_scale, none, scores); !s) return s;
  if (Status s = call.softmax(scores, lse); !s) return s;
  return call.values(scores, v, 1.0f, o);
}

Status windowed_backward(const WindowedWork& work, const WindowedMemory& memory,
                         const GradientTensors& t, float scale, const float* weights,
                         float* grad_scores, Stream stream) {
  const Call call("windowed_backward", work, memory, stream);
  if (Status s = call.check(Passes::forward_backward,
                            {{"q", t.q},
                             {"k", t.k},
                             {"v", t.v},
                             {"grad_o", t.grad_o},
                             {"grad_q", as_const(t.grad_q)},
                             {"grad_k", as_const(t.grad_k)},
                             {"grad_v", as_const(t.grad_v)}},
                            {{"the weights", weights}, {"the scores' gradient", grad_scores}});
      !s) {
    return s;
  }
  if (Status s = call.scores(t.grad_o, t.v, 1.0f, 0.0f, grad_scores); !s) return s;
  if (Status s = call.score_gradients(weights, grad_scores); !s) return s;
  if (Status s = call.values(grad_scores, t.k, scale, t.grad_q); !s) return s;
  if (Status s = call.keys(weights, t.grad_o, 1.0f, t.grad_v); !s) return s;
  return call.keys(grad_scores, t.q, scale, t.grad_k);
}

}  // namespace attnscope::cuda
