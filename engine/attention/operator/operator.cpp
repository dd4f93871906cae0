// SPDX-License-Identifier: Apache-2.0
//
// torch.ops.attnscope.segment_attention: our fused attention as a PyTorch operator that Python's
// torch loads (python/attnscope/torch). All of it is implemented here, including shape inference,
// gradients and autocast, so that a call executes no Python.
//
// `pattern` is a built-in's name or a pattern's JSON, `layout` a layout's JSON
// (engine/pattern/sequence_layout.h), `window` "4", "inf" or "" for none, `scale` 1/sqrt(head_dim)
// by default. Invalid arguments are a ValueError with one sentence.

#include <ATen/autocast_mode.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <c10/util/Exception.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <list>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/result.h"
#include "engine/attention/torch_function.h"
#include "engine/pattern/attention_pattern.h"
#include "engine/pattern/axes.h"
#include "engine/pattern/compile_plan.h"
#include "engine/pattern/sequence_layout.h"
#include "kernels/plan/key_runs.h"

namespace attnscope {
namespace {

// -- float64 --------------------------------------------------------------------------------------

// Attention in float64, row by row on one CPU thread: for gradcheck, which no kernel supports, and
// as a reference for the kernels' float32. Slow.

using Values = at::TensorAccessor<double, 3>;

void check(const AttentionPlan& plan, std::string_view name, const at::Tensor& tensor,
           const at::Tensor& q) {
  if (!tensor.device().is_cpu()) {
    throw std::invalid_argument(fmt::format(
        "segment_attention computes float64, which is for gradcheck, only on the CPU, and "
        "{} is on {}; pass float32, float16 or bfloat16 there",
        name, tensor.device().str()));
  }
  if (tensor.scalar_type() != at::kDouble) {
    throw std::invalid_argument(
        fmt::format("segment_attention: {} is {}, and q is Double; all tensors must have one dtype",
                    name, toString(tensor.scalar_type())));
  }
  if (tensor.dim() != 3 || tensor.size(0) != plan.tokens || tensor.size(1) != plan.heads ||
      tensor.size(2) != q.size(2)) {
    throw std::invalid_argument(
        fmt::format("segment_attention: {} has shape [{}]; the layout and q need [{}, {}, {}]",
                    name, fmt::join(tensor.sizes(), ", "), plan.tokens, plan.heads, q.size(-1)));
  }
}

void check_all(const AttentionPlan& plan, const at::Tensor& q, const at::Tensor& k,
               const at::Tensor& v) {
  check(plan, "q", q, q);
  check(plan, "k", k, q);
  check(plan, "v", v, q);
}

Values values(const at::Tensor& tensor) {
  return tensor.accessor<double, 3>();
}

double dot(const at::TensorAccessor<double, 1>& a, const at::TensorAccessor<double, 1>& b) {
  double sum = 0;
  for (std::int64_t i = 0; i < a.size(0); ++i) sum += a[i] * b[i];
  return sum;
}

/// target += factor * of
void add(at::TensorAccessor<double, 1> target, double factor,
         const at::TensorAccessor<double, 1>& of) {
  for (std::int64_t i = 0; i < target.size(0); ++i) target[i] += factor * of[i];
}

/// Calls visit(query token, head, its key tokens) for every row.
template <typename Visit>
void for_each_row(const AttentionPlan& plan, const Visit& visit) {
  std::vector<std::int64_t> keys;
  for (const Task& task : plan.tasks) {
    for (std::int64_t at = 0; at < task.queries.size(); ++at) {
      const std::int64_t query = plan.token_at(task.queries, at);
      keys.clear();
      for (const TokenRange& run : key_intervals(plan, task, query)) {
        for (std::int64_t key = run.begin; key < run.end; ++key) keys.push_back(key);
      }
      for (std::int32_t head = task.heads.begin; head < task.heads.end; ++head) {
        visit(query, head, keys);
      }
    }
  }
}

/// Like segment_attention_forward, but all in float64. Any strides. Throws std::invalid_argument
/// with one sentence for invalid arguments or another device.
Attended float64_attention(const AttentionPlan& plan, const at::Tensor& q, const at::Tensor& k,
                           const at::Tensor& v, double scale) {
  check_all(plan, q, k, v);
  Attended attended{.o = at::zeros(q.sizes(), q.options()),
                    .lse = at::empty({plan.tokens, plan.heads}, q.options())};
  const Values queries = values(q);
  const Values keys = values(k);
  const Values contents = values(v);
  Values outputs = values(attended.o);
  auto sums = attended.lse.accessor<double, 2>();
  std::vector<double> weights;
  for_each_row(plan,
               [&](std::int64_t query, std::int32_t head, const std::vector<std::int64_t>& seen) {
                 sums[query][head] = -std::numeric_limits<double>::infinity();
                 if (seen.empty()) return;
                 weights.clear();
                 for (const std::int64_t key : seen) {
                   weights.push_back(scale * dot(queries[query][head], keys[key][head]));
                 }
                 const double largest = *std::ranges::max_element(weights);
                 double sum = 0;
                 for (double& weight : weights) sum += weight = std::exp(weight - largest);
                 for (std::size_t j = 0; j < seen.size(); ++j) {
                   add(outputs[query][head], weights[j] / sum, contents[seen[j]][head]);
                 }
                 sums[query][head] = largest + std::log(sum);
               });
  return attended;
}

/// Like segment_attention_backward.
InputGradients float64_gradients(const AttentionPlan& plan, const at::Tensor& grad_o,
                                 const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                 const Attended& attended, double scale) {
  check_all(plan, q, k, v);
  check(plan, "grad_o", grad_o, q);
  check(plan, "o", attended.o, q);
  if (attended.lse.dim() != 2 || attended.lse.size(0) != plan.tokens ||
      attended.lse.size(1) != plan.heads || attended.lse.scalar_type() != at::kDouble ||
      !attended.lse.device().is_cpu()) {
    throw std::invalid_argument(
        fmt::format("segment_attention: lse is not the float64 tensor [{}, {}] that the forward "
                    "call returned",
                    plan.tokens, plan.heads));
  }
  InputGradients gradients{.q = at::zeros(q.sizes(), q.options()),
                           .k = at::zeros(q.sizes(), q.options()),
                           .v = at::zeros(q.sizes(), q.options())};
  const Values queries = values(q);
  const Values keys = values(k);
  const Values contents = values(v);
  const Values outputs = values(attended.o);
  const Values arriving = values(grad_o);
  const auto sums = attended.lse.accessor<double, 2>();
  Values of_queries = values(gradients.q);
  Values of_keys = values(gradients.k);
  Values of_contents = values(gradients.v);
  for_each_row(plan, [&](std::int64_t query, std::int32_t head,
                         const std::vector<std::int64_t>& seen) {
    const auto row = queries[query][head];
    const auto grad = arriving[query][head];
    const double along_output = dot(grad, outputs[query][head]);
    for (const std::int64_t key : seen) {
      const double weight = std::exp(scale * dot(row, keys[key][head]) - sums[query][head]);
      const double grad_score = scale * weight * (dot(grad, contents[key][head]) - along_output);
      add(of_queries[query][head], grad_score, keys[key][head]);
      add(of_keys[key][head], grad_score, row);
      add(of_contents[key][head], weight, grad);
    }
  });
  return gradients;
}

// -- the operator ---------------------------------------------------------------------------------

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using SharedPlan = std::shared_ptr<const AttentionPlan>;

template <typename T>
T value_or_throw(Result<T> result) {
  if (!result) throw std::invalid_argument(result.error().message);
  return std::move(*result);
}

/// Converts exceptions of the engine to those that Python raises.
template <typename Call>
auto with_value_errors(const Call& call) {
  try {
    return call();
  } catch (const std::invalid_argument& exception) {
    C10_THROW_ERROR(ValueError, exception.what());
  }
}

SequenceLayout read_layout(std::string_view json) {
  // A batch without items is valid here, while files of layouts need an item.
  const auto parsed = nlohmann::json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (parsed == nlohmann::json::object({{"items", nlohmann::json::array()}})) return {};
  return value_or_throw(parse_layout(json, "layout"));
}

AttentionPattern read_pattern(std::string_view text) {
  const bool is_json = text.find('{') != std::string_view::npos;
  return value_or_throw(is_json ? parse_pattern(text, "pattern") : find_pattern(text));
}

/// The arguments of a call that determine its plan.
struct PlanKey {
  std::string_view pattern, layout, window;
  std::int64_t heads = 0;
};

SharedPlan compile(const PlanKey& key) {
  const AttentionPattern pattern = read_pattern(key.pattern);
  const SequenceLayout layout = read_layout(key.layout);
  const std::optional<Window> window = value_or_throw(parse_optional_window(key.window));
  if (key.heads > std::numeric_limits<std::int32_t>::max()) {
    throw std::invalid_argument(fmt::format("segment_attention: {} heads are too many", key.heads));
  }
  return std::make_shared<const AttentionPlan>(
      value_or_throw(compile_plan(pattern, window, layout, static_cast<std::int32_t>(key.heads))));
}

/// The plans of the last calls, each compiled once: all layers of a model, and all batches of one
/// layout, share theirs. Threads that need a plan that is being compiled wait for it.
class PlanCache {
 public:
  SharedPlan of(const PlanKey& key) {
    const std::lock_guard lock(mutex_);
    for (auto kept = kept_.begin(); kept != kept_.end(); ++kept) {
      if (kept->heads != key.heads || kept->layout != key.layout || kept->pattern != key.pattern ||
          kept->window != key.window) {
        continue;
      }
      kept_.splice(kept_.begin(), kept_, kept);
      return kept->plan;
    }
    kept_.push_front({.pattern = std::string(key.pattern),
                      .layout = std::string(key.layout),
                      .window = std::string(key.window),
                      .heads = key.heads,
                      .plan = compile(key)});
    if (kept_.size() > most) kept_.pop_back();
    return kept_.front().plan;
  }

 private:
  static constexpr std::size_t most = 64;
  struct Kept {
    std::string pattern, layout, window;
    std::int64_t heads = 0;
    SharedPlan plan;
  };
  std::mutex mutex_;
  std::list<Kept> kept_;  // most recently used first
};

void check_rank(const at::Tensor& tensor, std::string_view name) {
  TORCH_CHECK_VALUE(tensor.dim() == 3, "segment_attention: ", name, " has ", tensor.dim(),
                    " dimensions; the shape must be [tokens, heads, head_dim], with all items one "
                    "after another");
}

SharedPlan plan_of(const at::Tensor& q, std::string_view pattern, std::string_view layout,
                   std::string_view window) {
  static PlanCache cache;
  check_rank(q, "q");
  SharedPlan plan =
      cache.of({.pattern = pattern, .layout = layout, .window = window, .heads = q.size(1)});
  if (q.size(0) != plan->tokens) {
    throw std::invalid_argument(
        fmt::format("segment_attention: the layout's items have {} tokens in total, and q has {}; "
                    "pass the layout of this batch",
                    plan->tokens, q.size(0)));
  }
  return plan;
}

double scale_of(std::optional<double> scale, const at::Tensor& q) {
  return scale.value_or(1.0 / std::sqrt(static_cast<double>(q.size(2))));
}

at::ScalarType sum_type(const at::Tensor& q) {
  return q.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

using Outputs = std::tuple<at::Tensor, at::Tensor>;
using Gradients = std::tuple<at::Tensor, at::Tensor, at::Tensor>;

at::Tensor like(const at::Tensor& q) {
  return at::empty_symint(q.sym_sizes(), q.options());
}

Outputs empty_outputs(const at::Tensor& q) {
  return {like(q),
          at::empty_symint({q.sym_size(0), q.sym_size(1)}, q.options().dtype(sum_type(q)))};
}

Outputs forward(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                std::string_view pattern, std::string_view layout, std::string_view window,
                std::optional<double> scale) {
  return with_value_errors([&]() -> Outputs {
    const SharedPlan plan = plan_of(q, pattern, layout, window);
    const double factor = scale_of(scale, q);
    Attended attended;
    if (q.scalar_type() == at::kDouble) {
      attended = float64_attention(*plan, q, k, v, factor);
    } else {
      attended = segment_attention_forward(plan, q, k, v, static_cast<float>(factor));
    }
    return {attended.o, attended.lse};
  });
}

Gradients backward(const at::Tensor& grad_o, const at::Tensor& q, const at::Tensor& k,
                   const at::Tensor& v, const at::Tensor& o, const at::Tensor& lse,
                   std::string_view pattern, std::string_view layout, std::string_view window,
                   std::optional<double> scale) {
  return with_value_errors([&]() -> Gradients {
    const SharedPlan plan = plan_of(q, pattern, layout, window);
    const double factor = scale_of(scale, q);
    const Attended attended{.o = o, .lse = lse};
    InputGradients gradients;
    if (q.scalar_type() == at::kDouble) {
      gradients = float64_gradients(*plan, grad_o, q, k, v, attended, factor);
    } else {
      gradients =
          segment_attention_backward(plan, grad_o, q, k, v, attended, static_cast<float>(factor));
    }
    return {gradients.q, gradients.k, gradients.v};
  });
}

Outputs forward_shapes(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                       std::string_view /*pattern*/, std::string_view /*layout*/,
                       std::string_view /*window*/, std::optional<double> /*scale*/) {
  for (const auto& [tensor, name] : {std::pair{&q, "q"}, {&k, "k"}, {&v, "v"}}) {
    check_rank(*tensor, name);
    TORCH_CHECK_VALUE(tensor->device() == q.device(), "segment_attention: ", name, " is on ",
                      tensor->device().str(), ", and q is on ", q.device().str(),
                      "; all tensors must be on one device");
  }
  return empty_outputs(q);
}

Gradients backward_shapes(const at::Tensor& /*grad_o*/, const at::Tensor& q,
                          const at::Tensor& /*k*/, const at::Tensor& /*v*/, const at::Tensor& /*o*/,
                          const at::Tensor& /*lse*/, std::string_view /*pattern*/,
                          std::string_view /*layout*/, std::string_view /*window*/,
                          std::optional<double> /*scale*/) {
  return {like(q), like(q), like(q)};
}

/// The operators as registered with the dispatcher.
const auto& forward_operator() {
  static const auto found = c10::Dispatcher::singleton()
                                .findSchemaOrThrow("attnscope::segment_attention", "")
                                .typed<decltype(forward)>();
  return found;
}

const auto& backward_operator() {
  static const auto found = c10::Dispatcher::singleton()
                                .findSchemaOrThrow("attnscope::segment_attention_backward", "")
                                .typed<decltype(backward)>();
  return found;
}

class SegmentFunction : public torch::autograd::Function<SegmentFunction> {
 public:
  static variable_list forward(AutogradContext* context, const at::Tensor& q, const at::Tensor& k,
                               const at::Tensor& v, std::string_view pattern,
                               std::string_view layout, std::string_view window,
                               std::optional<double> scale) {
    const at::AutoDispatchBelowADInplaceOrView below;
    const auto [o, lse] = forward_operator().call(q, k, v, pattern, layout, window, scale);
    context->set_materialize_grads(false);
    context->mark_non_differentiable({lse});
    context->save_for_backward({q, k, v, o, lse});
    context->saved_data["pattern"] = std::string(pattern);
    context->saved_data["layout"] = std::string(layout);
    context->saved_data["window"] = std::string(window);
    context->saved_data["scale"] = scale;
    return {o, lse};
  }

  static variable_list backward(AutogradContext* context, const variable_list& arriving) {
    variable_list gradients(7);
    if (!arriving[0].defined()) return gradients;
    const variable_list saved = context->get_saved_variables();
    const auto& data = context->saved_data;
    std::tie(gradients[0], gradients[1], gradients[2]) = backward_operator().call(
        arriving[0], saved[0], saved[1], saved[2], saved[3], saved[4],
        data.at("pattern").toStringView(), data.at("layout").toStringView(),
        data.at("window").toStringView(), data.at("scale").toOptional<double>());
    return gradients;
  }
};

/// Whether a gradient is requested: backward or (rejected by SegmentFunction) forward mode.
bool is_followed(const at::Tensor& tensor) {
  return (at::GradMode::is_enabled() && tensor.requires_grad()) ||
         tensor._fw_grad(/*level=*/0).defined();
}

Outputs forward_with_graph(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                           std::string_view pattern, std::string_view layout,
                           std::string_view window, std::optional<double> scale) {
  if (!is_followed(q) && !is_followed(k) && !is_followed(v)) {
    const at::AutoDispatchBelowADInplaceOrView below;
    return forward_operator().call(q, k, v, pattern, layout, window, scale);
  }
  const variable_list outputs = SegmentFunction::apply(q, k, v, pattern, layout, window, scale);
  return {outputs[0], outputs[1]};
}

Gradients backward_without_graph(const at::Tensor& grad_o, const at::Tensor& q, const at::Tensor& k,
                                 const at::Tensor& v, const at::Tensor& o, const at::Tensor& lse,
                                 std::string_view pattern, std::string_view layout,
                                 std::string_view window, std::optional<double> scale) {
  const bool wanted =
      grad_o.requires_grad() || q.requires_grad() || k.requires_grad() || v.requires_grad();
  TORCH_CHECK_VALUE(!at::GradMode::is_enabled() || !wanted,
                    "segment_attention has no second derivative; do not set create_graph");
  const at::AutoDispatchBelowADInplaceOrView below;
  return backward_operator().call(grad_o, q, k, v, o, lse, pattern, layout, window, scale);
}

/// Like scaled_dot_product_attention: in autocast's type. float64 is not changed.
template <c10::DeviceType device, c10::DispatchKey key>
Outputs forward_cast(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                     std::string_view pattern, std::string_view layout, std::string_view window,
                     std::optional<double> scale) {
  const c10::impl::ExcludeDispatchKeyGuard below(key);
  const at::ScalarType type = at::autocast::get_autocast_dtype(device);
  const auto cast = [&](const at::Tensor& t) { return at::autocast::cached_cast(type, t, device); };
  return forward_operator().call(cast(q), cast(k), cast(v), pattern, layout, window, scale);
}

}  // namespace
}  // namespace attnscope

TORCH_LIBRARY(attnscope, library) {
  library.def(
      "segment_attention(Tensor q, Tensor k, Tensor v, str pattern, str layout, str window, "
      "float? scale=None) -> (Tensor o, Tensor lse)",
      {at::Tag::pt2_compliant_tag});
  library.def(
      "segment_attention_backward(Tensor grad_o, Tensor q, Tensor k, Tensor v, Tensor o, "
      "Tensor lse, str pattern, str layout, str window, float? scale=None) -> (Tensor grad_q, "
      "Tensor grad_k, Tensor grad_v)",
      {at::Tag::pt2_compliant_tag});
}

// The same code for both devices: a build without CUDA reports that it lacks it.
TORCH_LIBRARY_IMPL(attnscope, CPU, library) {
  library.impl("segment_attention", attnscope::forward);
  library.impl("segment_attention_backward", attnscope::backward);
}

TORCH_LIBRARY_IMPL(attnscope, CUDA, library) {
  library.impl("segment_attention", attnscope::forward);
  library.impl("segment_attention_backward", attnscope::backward);
}

TORCH_LIBRARY_IMPL(attnscope, Meta, library) {
  library.impl("segment_attention", attnscope::forward_shapes);
  library.impl("segment_attention_backward", attnscope::backward_shapes);
}

TORCH_LIBRARY_IMPL(attnscope, Autograd, library) {
  library.impl("segment_attention", attnscope::forward_with_graph);
  library.impl("segment_attention_backward", attnscope::backward_without_graph);
}

TORCH_LIBRARY_IMPL(attnscope, AutocastCPU, library) {
  library.impl("segment_attention",
               attnscope::forward_cast<c10::DeviceType::CPU, c10::DispatchKey::AutocastCPU>);
}

// CUDA's dispatch key is the one without a device name.
TORCH_LIBRARY_IMPL(attnscope, Autocast, library) {
  library.impl("segment_attention",
               attnscope::forward_cast<c10::DeviceType::CUDA, c10::DispatchKey::Autocast>);
}
