// SPDX-License-Identifier: Apache-2.0
//
// The calls: what they are given is checked, then their launches are queued.
#include <initializer_list>
#include <iterator>
#include <limits>
#include <string_view>
#include <utility>

#include "kernels/cuda/windowed.h"
#include "kernels/cuda/windowed/arguments.h"

namespace attnscope::cuda {
namespace windowed {
namespace {

constexpr float log2_e = 1.4426950408889634f;

template <typename T>
using Named = std::initializer_list<std::pair<std::string_view, T>>;

/// The launches of one call. Where something is wrong nothing more is queued, and status() tells.
class Call {
 public:
  Call(std::string_view operation, const WindowedWork& work, const std::byte* list, Passes passes,
       Named<ConstTensor> tensors, Named<const float*> all_floats, Stream stream)
      : lists_(work.lists()),
        operands_(lists_.dtype, lists_.head_dim, lists_.tokens),
        stream_(stream),
        list_(list) {
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
  }

  [[nodiscard]] const Status& status() const { return status_; }

  [[nodiscard]] Input in(const ConstTensor& tensor) const { return operands_.on_device(tensor); }
  [[nodiscard]] Output out(const Tensor& tensor) const { return operands_.on_device(tensor); }

  /// Queues the step, whose own arguments are given: for units by which much passes, then the rest.
  void queue(Step step, Arguments a) {
    const bool keys = step == Step::keys;
    const std::int64_t units = std::ssize(keys ? lists_.key_units : lists_.row_units);
    const std::int64_t much = keys ? lists_.much_by_keys : lists_.much_by_rows;
    a.lists = on_device(lists_, list_);
    a.items = operands_.items();
    a.head_dim = static_cast<std::int32_t>(lists_.head_dim);
    a.heads = lists_.heads;
    a.heads_per_unit = lists_.heads_per_unit;
    a.vector = operands_.in_pieces();
    a.units = keys ? a.lists.key_units : a.lists.row_units;
    if (status_) status_ = launch_step(step, lists_.dtype, a, much, many_warps, stream_);
    a.units += much;
    if (status_) status_ = launch_step(step, lists_.dtype, a, units - much, few_warps, stream_);
  }

 private:
  const Lists& lists_;
  Operands operands_;
  Stream stream_;
  const std::byte* list_;
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
  call.queue(Step::scores, {.x = call.in(q), .y = call.in(k), .scores = band, .scale = scale});
  return call.status();
}

Status windowed_pv(const WindowedWork& work, const std::byte* list, const float* band,
                   const ConstTensor& v, const Tensor& o, Stream stream) {
  Call call("windowed_pv", work, list, Passes::forward, {{"v", v}, {"o", as_const(o)}},
            {{"the band", band}}, stream);
  call.queue(Step::values, {.y = call.in(v), .out = call.out(o), .weights = band});
  return call.status();
}

Status windowed_qk_backward(const WindowedWork& work, const std::byte* list, const float* grad_band,
                            const ConstTensor& q, const ConstTensor& k, float scale,
                            const Tensor& grad_q, const Tensor& grad_k, Stream stream) {
  Call call("windowed_qk_backward", work, list, Passes::forward_backward,
            {{"q", q}, {"k", k}, {"grad_q", as_const(grad_q)}, {"grad_k", as_const(grad_k)}},
            {{"the band's gradient", grad_band}}, stream);
  call.queue(Step::values,
             {.y = call.in(k), .out = call.out(grad_q), .weights = grad_band, .scale = scale});
  call.queue(Step::keys,
             {.y = call.in(q), .out = call.out(grad_k), .weights = grad_band, .scale = scale});
  return call.status();
}

Status windowed_pv_backward(const WindowedWork& work, const std::byte* list, const float* band,
                            const ConstTensor& v, const ConstTensor& grad_o, float* grad_band,
                            const Tensor& grad_v, Stream stream) {
  Call call("windowed_pv_backward", work, list, Passes::forward_backward,
            {{"v", v}, {"grad_o", grad_o}, {"grad_v", as_const(grad_v)}},
            {{"the band", band}, {"the band's gradient", grad_band}}, stream);
  call.queue(Step::scores, {.x = call.in(grad_o), .y = call.in(v), .scores = grad_band});
  call.queue(Step::keys, {.y = call.in(grad_o), .out = call.out(grad_v), .weights = band});
  return call.status();
}

Status windowed_forward(const WindowedWork& work, const std::byte* list, const ConstTensor& q,
                        const ConstTensor& k, const ConstTensor& v, float scale, const Tensor& o,
                        float* lse, float* scores, Stream stream) {
  Call call("windowed_forward", work, list, Passes::forward,
            {{"q", q}, {"k", k}, {"v", v}, {"o", as_const(o)}}, {{"the scores", scores}}, stream);
  call.queue(Step::scores, {.x = call.in(q),
                            .y = call.in(k),
                            .scores = scores,
                            .scale = scale * windowed::log2_e,
                            .outside = -std::numeric_limits<float>::infinity()});
  call.queue(Step::softmax, {.scores = scores, .lse = lse});
  call.queue(Step::values, {.y = call.in(v), .out = call.out(o), .weights = scores});
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
  call.queue(Step::scores, {.x = call.in(t.grad_o), .y = call.in(t.v), .scores = grad_scores});
  call.queue(Step::score_gradients, {.scores = grad_scores, .weights = weights});
  call.queue(
      Step::values,
      {.y = call.in(t.k), .out = call.out(t.grad_q), .weights = grad_scores, .scale = scale});
  call.queue(Step::keys, {.y = call.in(t.grad_o), .out = call.out(t.grad_v), .weights = weights});
  call.queue(
      Step::keys,
      {.y = call.in(t.q), .out = call.out(t.grad_k), .weights = grad_scores, .scale = scale});
  return call.status();
}

}  // namespace attnscope::cuda
