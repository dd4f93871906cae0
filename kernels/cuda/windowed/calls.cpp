// SPDX-License-Identifier: Apache-2.0
//
// The calls: what they are given is checked, then their launches are queued.
#include <initializer_list>
#include <limits>
#include <string_view>
#include <utility>

#include "kernels/cuda/windowed.h"
#include "kernels/cuda/windowed/arguments.h"

namespace attnscope::cuda {
namespace windowed {
namespace {

constexpr double log2_e = 1.44269504088896340736;

struct Products {
  Launch scores, values, keys;
};

/// Rows of 256 numbers are summed in halves.
template <DType type, int dim>
constexpr Products products_of_class{launch_scores<type, dim>,
                                     launch_values<type, dim <= 128 ? dim : 128>,
                                     launch_keys<type, dim <= 128 ? dim : 128>};

Products products_of(DType dtype, std::int64_t head_dim) {
  return with_type(dtype, [&](auto type) {
    if (head_dim <= 16) return products_of_class<type(), 16>;
    if (head_dim <= 32) return products_of_class<type(), 32>;
    if (head_dim <= 64) return products_of_class<type(), 64>;
    if (head_dim <= 128) return products_of_class<type(), 128>;
    return products_of_class<type(), 256>;
  });
}

struct NamedTensor {
  std::string_view name;
  ConstTensor tensor;
};
struct NamedFloats {
  std::string_view name;
  const float* floats;
};

/// The launches of one call. Where something is wrong nothing more is queued, and status() tells.
class Call {
 public:
  Call(std::string_view operation, const WindowedWork& work, const WindowedMemory& memory,
       Passes passes, std::initializer_list<NamedTensor> tensors,
       std::initializer_list<NamedFloats> all_floats, Stream stream)
      : lists_(work.lists()),
        operands_(lists_.dtype, lists_.head_dim, lists_.tokens),
        products_(products_of(lists_.dtype, lists_.head_dim)),
        stream_(stream) {
    for (const auto& [name, tensor] : tensors) operands_.add(name, tensor);
    status_ = check_memory(operation, memory.list, work.list().size(), memory.workspace,
                           work.workspace_bytes());
    if (passes == Passes::forward_backward && lists_.passes == Passes::forward) {
      status_ = made_for_forward_alone(operation);
    }
    if (!operands_.status()) status_ = operands_.status();
    for (const auto& [name, floats] : all_floats) {
      if (!status_ || floats != nullptr || work.score_elements() == 0) continue;
      status_ =
          fail("{}: {} has no memory for its {} floats", operation, name, work.score_elements());
    }
    given_.lists = on_device(lists_, memory.list);
    given_.items = operands_.items();
    given_.partials = reinterpret_cast<float*>(memory.workspace);
    given_.head_dim = static_cast<std::int32_t>(lists_.head_dim);
    given_.heads = lists_.heads;
    given_.heads_per_unit = lists_.heads_per_unit;
    given_.column_parts = lists_.head_dim <= 128 ? 1 : 2;
    given_.dtype = lists_.dtype;
    given_.vector = operands_.in_pieces();
  }

  [[nodiscard]] const Status& status() const { return status_; }

  void scores(const ConstTensor& x, const ConstTensor& y, float scale, float outside,
              float* scores) {
    Arguments a = given_;
    a.x = operands_.on_device(x);
    a.y = operands_.on_device(y);
    a.scores = scores;
    a.scale = scale;
    a.outside = outside;
    queue(products_.scores, a, lists_.row_units.size());
  }

  void values(const float* weights, const ConstTensor& y, float scale, const Tensor& out) {
    Arguments a = given_;
    a.y = operands_.on_device(y);
    a.out = operands_.on_device(out);
    a.weights = weights;
    a.scale = scale;
    queue(products_.values, a, lists_.row_units.size() * column_parts());
    a.merges = given_.lists.row_merges;
    queue(launch_merges, a, lists_.row_merges.size());
  }

  void keys(const float* weights, const ConstTensor& x, float scale, const Tensor& out) {
    Arguments a = given_;
    a.x = operands_.on_device(x);
    a.out = operands_.on_device(out);
    a.weights = weights;
    a.scale = scale;
    queue(products_.keys, a, lists_.key_units.size() * column_parts());
    a.merges = given_.lists.key_merges;
    queue(launch_merges, a, lists_.key_merges.size());
  }

  void softmax(float* scores, float* lse) {
    Arguments a = given_;
    a.scores = scores;
    a.lse = lse;
    queue(launch_softmax, a, lists_.row_units.size());
  }

  void score_gradients(const float* weights, float* gradients) {
    Arguments a = given_;
    a.scores = gradients;
    a.weights = weights;
    queue(launch_score_gradients, a, lists_.row_units.size());
  }

 private:
  void queue(Launch launch, const Arguments& arguments, std::size_t units) {
    if (!status_) return;
    status_ = launch(arguments, static_cast<std::int64_t>(units) * lists_.heads_per_unit, stream_);
  }
  [[nodiscard]] std::size_t column_parts() const {
    return static_cast<std::size_t>(given_.column_parts);
  }

  const Lists& lists_;
  Operands operands_;
  Products products_;
  Stream stream_;
  Arguments given_;
  Status status_;
};

}  // namespace
}  // namespace windowed

using windowed::Call;

Status windowed_qk(const WindowedWork& work, const WindowedMemory& memory, const ConstTensor& q,
                   const ConstTensor& k, float scale, float* band, Stream stream) {
  Call call("windowed_qk", work, memory, Passes::forward, {{"q", q}, {"k", k}},
            {{"the band", band}}, stream);
  call.scores(q, k, scale, 0.0f, band);
  return call.status();
}

Status windowed_pv(const WindowedWork& work, const WindowedMemory& memory, const float* band,
                   const ConstTensor& v, const Tensor& o, Stream stream) {
  Call call("windowed_pv", work, memory, Passes::forward, {{"v", v}, {"o", as_const(o)}},
            {{"the band", band}}, stream);
  call.values(band, v, 1.0f, o);
  return call.status();
}

Status windowed_qk_backward(const WindowedWork& work, const WindowedMemory& memory,
                            const float* grad_band, const ConstTensor& q, const ConstTensor& k,
                            float scale, const Tensor& grad_q, const Tensor& grad_k,
                            Stream stream) {
  Call call("windowed_qk_backward", work, memory, Passes::forward_backward,
            {{"q", q}, {"k", k}, {"grad_q", as_const(grad_q)}, {"grad_k", as_const(grad_k)}},
            {{"the band's gradient", grad_band}}, stream);
  call.values(grad_band, k, scale, grad_q);
  call.keys(grad_band, q, scale, grad_k);
  return call.status();
}

Status windowed_pv_backward(const WindowedWork& work, const WindowedMemory& memory,
                            const float* band, const ConstTensor& v, const ConstTensor& grad_o,
                            float* grad_band, const Tensor& grad_v, Stream stream) {
  Call call("windowed_pv_backward", work, memory, Passes::forward_backward,
            {{"v", v}, {"grad_o", grad_o}, {"grad_v", as_const(grad_v)}},
            {{"the band", band}, {"the band's gradient", grad_band}}, stream);
  call.scores(grad_o, v, 1.0f, 0.0f, grad_band);
  call.keys(band, grad_o, 1.0f, grad_v);
  return call.status();
}

Status windowed_forward(const WindowedWork& work, const WindowedMemory& memory,
                        const ConstTensor& q, const ConstTensor& k, const ConstTensor& v,
                        float scale, const Tensor& o, float* lse, float* scores, Stream stream) {
  Call call("windowed_forward", work, memory, Passes::forward,
            {{"q", q}, {"k", k}, {"v", v}, {"o", as_const(o)}}, {{"the scores", scores}}, stream);
  call.scores(q, k, scale * static_cast<float>(windowed::log2_e),
              -std::numeric_limits<float>::infinity(), scores);
  call.softmax(scores, lse);
  call.values(scores, v, 1.0f, o);
  return call.status();
}

Status windowed_backward(const WindowedWork& work, const WindowedMemory& memory,
                         const GradientTensors& t, float scale, const float* weights,
                         float* grad_scores, Stream stream) {
  Call call("windowed_backward", work, memory, Passes::forward_backward,
            {{"q", t.q},
             {"k", t.k},
             {"v", t.v},
             {"grad_o", t.grad_o},
             {"grad_q", as_const(t.grad_q)},
             {"grad_k", as_const(t.grad_k)},
             {"grad_v", as_const(t.grad_v)}},
            {{"the weights", weights}, {"the scores' gradient", grad_scores}}, stream);
  call.scores(t.grad_o, t.v, 1.0f, 0.0f, grad_scores);
  call.score_gradients(weights, grad_scores);
  call.values(grad_scores, t.k, scale, t.grad_q);
  call.keys(weights, t.grad_o, 1.0f, t.grad_v);
  call.keys(grad_scores, t.q, scale, t.grad_k);
  return call.status();
}

}  // namespace attnscope::cuda
