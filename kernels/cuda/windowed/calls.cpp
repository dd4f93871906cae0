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
  Call(std::string_view operation, const WindowedWork& work, const std::byte* list, Passes passes,
       std::initializer_list<NamedTensor> tensors, std::initializer_list<NamedFloats> all_floats,
       Stream stream)
      : lists_(work.lists()),
        operands_(lists_.dtype, lists_.head_dim, lists_.tokens),
        stream_(stream) {
    for (const auto& [name, tensor] : tensors) operands_.add(name, tensor);
    status_ = check_memory(operation, list, work.list().size(), nullptr, 0);
    if (passes == Passes::forward_backward && lists_.passes == Passes::forward) {
      status_ = made_for_forward_alone(operation);
    }
    if (!operands_.status()) status_ = operands_.status();
    for (const auto& [name, floats] : all_floats) {
      if (!status_ || floats != nullptr || work.score_elements() == 0) continue;
      status_ =
          fail("{}: {} has no memory for its {} floats", operation, name, work.score_elements());
    }
    given_.lists = on_device(lists_, list);
    given_.items = operands_.items();
    given_.head_dim = static_cast<std::int32_t>(lists_.head_dim);
    given_.heads = lists_.heads;
    given_.heads_per_unit = lists_.heads_per_unit;
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
    queue(Step::scores, a);
  }

  /// Step::values or Step::keys.
  void sums(Step step, const float* weights, const ConstTensor& y, float scale, const Tensor& out) {
    Arguments a = given_;
    a.y = operands_.on_device(y);
    a.out = operands_.on_device(out);
    a.weights = weights;
    a.scale = scale;
    queue(step, a);
  }

  void softmax(float* scores, float* lse) {
    Arguments a = given_;
    a.scores = scores;
    a.lse = lse;
    queue(Step::softmax, a);
  }

  void score_gradients(const float* weights, float* gradients) {
    Arguments a = given_;
    a.scores = gradients;
    a.weights = weights;
    queue(Step::score_gradients, a);
  }

 private:
  /// Units that are shared, then the others.
  void queue(Step step, Arguments a) {
    const bool keys = step == Step::keys;
    const auto all = static_cast<std::int64_t>((keys ? lists_.key_units : lists_.row_units).size());
    const std::int64_t shared = keys ? lists_.shared_key_units : lists_.shared_row_units;
    for (const bool is_shared : {true, false}) {
      a.shared = is_shared;
      a.units = (keys ? a.lists.key_units : a.lists.row_units) + (is_shared ? 0 : shared);
      a.unit_count = static_cast<std::int32_t>(is_shared ? shared : all - shared);
      if (status_) status_ = launch_step(step, lists_.dtype, a, stream_);
    }
  }

  const Lists& lists_;
  Operands operands_;
  Stream stream_;
  Arguments given_;
  Status status_;
};

}  // namespace
}  // namespace windowed

using windowed::Call;
using windowed::Step;

Status windowed_qk(const WindowedWork& work, const std::byte* list, const ConstTensor& q,
                   const ConstTensor& k, float scale, float* band, Stream stream) {
  Call call("windowed_qk", work, list, Passes::forward, {{"q", q}, {"k", k}}, {{"the band", band}},
            stream);
  call.scores(q, k, scale, 0.0f, band);
  return call.status();
}

Status windowed_pv(const WindowedWork& work, const std::byte* list, const float* band,
                   const ConstTensor& v, const Tensor& o, Stream stream) {
  Call call("windowed_pv", work, list, Passes::forward, {{"v", v}, {"o", as_const(o)}},
            {{"the band", band}}, stream);
  call.sums(Step::values, band, v, 1.0f, o);
  return call.status();
}

Status windowed_qk_backward(const WindowedWork& work, const std::byte* list, const float* grad_band,
                            const ConstTensor& q, const ConstTensor& k, float scale,
                            const Tensor& grad_q, const Tensor& grad_k, Stream stream) {
  Call call("windowed_qk_backward", work, list, Passes::forward_backward,
            {{"q", q}, {"k", k}, {"grad_q", as_const(grad_q)}, {"grad_k", as_const(grad_k)}},
            {{"the band's gradient", grad_band}}, stream);
  call.sums(Step::values, grad_band, k, scale, grad_q);
  call.sums(Step::keys, grad_band, q, scale, grad_k);
  return call.status();
}

Status windowed_pv_backward(const WindowedWork& work, const std::byte* list, const float* band,
                            const ConstTensor& v, const ConstTensor& grad_o, float* grad_band,
                            const Tensor& grad_v, Stream stream) {
  Call call("windowed_pv_backward", work, list, Passes::forward_backward,
            {{"v", v}, {"grad_o", grad_o}, {"grad_v", as_const(grad_v)}},
            {{"the band", band}, {"the band's gradient", grad_band}}, stream);
  call.scores(grad_o, v, 1.0f, 0.0f, grad_band);
  call.sums(Step::keys, band, grad_o, 1.0f, grad_v);
  return call.status();
}

Status windowed_forward(const WindowedWork& work, const std::byte* list, const ConstTensor& q,
                        const ConstTensor& k, const ConstTensor& v, float scale, const Tensor& o,
                        float* lse, float* scores, Stream stream) {
  Call call("windowed_forward", work, list, Passes::forward,
            {{"q", q}, {"k", k}, {"v", v}, {"o", as_const(o)}}, {{"the scores", scores}}, stream);
  call.scores(q, k, scale * static_cast<float>(windowed::log2_e),
              -std::numeric_limits<float>::infinity(), scores);
  call.softmax(scores, lse);
  call.sums(Step::values, scores, v, 1.0f, o);
  return call.status();
}

Status windowed_backward(const WindowedWork& work, const std::byte* list, const GradientTensors& t,
                         float scale, const float* weights, float* grad_scores, Stream stream) {
  Call call("windowed_backward", work, list, Passes::forward_backward,
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
  call.sums(Step::values, grad_scores, t.k, scale, t.grad_q);
  call.sums(Step::keys, weights, t.grad_o, 1.0f, t.grad_v);
  call.sums(Step::keys, grad_scores, t.q, scale, t.grad_k);
  return call.status();
}

}  // namespace attnscope::cuda
