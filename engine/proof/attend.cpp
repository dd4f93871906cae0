// SPDX-License-Identifier: Apache-2.0
#include "engine/proof/attend.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/attention/list.h"
#include "engine/attention/packed_tensor.h"
#include "engine/pattern/compile_plan.h"
#include "engine/proof/call.h"
#include "engine/safetensors/safetensors.h"

namespace attnscope {
namespace {

constexpr std::int64_t compared_rows = 512;

/// [tokens, heads, head_dim] each; grad_o is empty without gradients.
struct AttendInputs {
  std::int64_t tokens = 0, heads = 0, head_dim = 0;
  std::span<const float> q{}, k{}, v{}, grad_o{};
};

Status all_finite(const AttendRequest& request, std::string_view name,
                  std::span<const float> values) {
  const auto found = std::ranges::find_if(values, [](float x) { return !std::isfinite(x); });
  if (found == values.end()) return {};
  return fail("{}: tensor '{}' has {} as value {}; attention needs finite inputs", request.in, name,
              *found, found - values.begin());
}

Result<AttendInputs> read_inputs(const AttendRequest& request, const SafetensorsFile& file,
                                 const SequenceLayout& layout) {
  const auto view = file.tensor("q");
  if (!view) return tl::unexpected(view.error());
  const std::vector<std::int64_t>& shape = view->shape;
  const bool usable = shape.size() == 3 && std::ranges::all_of(shape, [](std::int64_t size) {
                        return size > 0 && size <= std::numeric_limits<std::int32_t>::max();
                      });
  if (!usable) {
    return fail("{}: tensor 'q' has shape [{}]; [tokens, heads, head_dim] is needed", request.in,
                fmt::join(shape, ", "));
  }
  if (shape[0] != layout.tokens()) {
    return fail("{}: tensor 'q' has {} tokens, and {} describes {}", request.in, shape[0],
                request.layout_source, layout.tokens());
  }
  AttendInputs inputs{.tokens = shape[0], .heads = shape[1], .head_dim = shape[2]};
  std::vector<std::pair<const char*, std::span<const float>*>> wanted{
      {"q", &inputs.q}, {"k", &inputs.k}, {"v", &inputs.v}};
  if (request.backward) wanted.emplace_back("grad_o", &inputs.grad_o);
  for (const auto& [name, values] : wanted) {
    const auto found = file.floats(name, shape);
    if (!found) return tl::unexpected(found.error());
    if (Status ok = all_finite(request, name, *found); !ok) return tl::unexpected(ok.error());
    *values = *found;
  }
  return inputs;
}

/// `values` in `rows`, 0 elsewhere.
std::vector<float> only_in(std::span<const RowId> rows, const AttendInputs& inputs,
                           std::span<const float> values) {
  std::vector<float> result(values.size());
  for (const RowId& row : rows) {
    const std::int64_t first = (row.token * inputs.heads + row.head) * inputs.head_dim;
    std::copy_n(values.begin() + first, inputs.head_dim, result.begin() + first);
  }
  return result;
}

/// Computes in the problem's dtype, token-major, and checks the result on sampled rows. With an
/// incoming gradient in all rows, the gradients are sums over all rows, too many for a float64
/// reference: the gradients of keys are therefore checked in a separate call before, with an
/// incoming gradient in the sampled rows only.
class Attend {
 public:
  Attend(PreparedAttention& prepared, const Problem& problem, const AttendInputs& inputs)
      : prepared_(prepared),
        problem_(problem),
        inputs_(inputs),
        rows_(sample_rows(problem.layout, problem.plan.heads, compared_rows, /*seed=*/1)),
        tensors_(shape_of(problem), problem.device),
        workspace_(guarded_room(problem.device, prepared.workspace_bytes())) {
    tensors_.place([&](std::int64_t bytes) { return guarded_room(problem.device, bytes); });
    const CallView host = tensors_.on_host();
    pack(inputs.q, inputs.tokens, inputs.heads, host.q);
    pack(inputs.k, inputs.tokens, inputs.heads, host.k);
    pack(inputs.v, inputs.tokens, inputs.heads, host.v);
  }

  /// A description of the error in the result, "" if there is none; or the call's error.
  Result<std::string> run() {
    const bool with_gradients = !inputs_.grad_o.empty();
    const bool all_rows = static_cast<std::int64_t>(rows_.size()) == inputs_.tokens * inputs_.heads;
    const bool in_two_calls = with_gradients && !all_rows;
    if (with_gradients) set_incoming_gradient(inputs_.grad_o);
    if (in_two_calls) set_incoming_gradient(only_in(rows_, inputs_, inputs_.grad_o));
    const Reference reference = reference_of(problem_, rows_, tensors_);
    const auto wrong = call_and_judge(reference);
    if (!in_two_calls || !wrong || !wrong->empty()) return wrong;
    set_incoming_gradient(inputs_.grad_o);
    const Reference output{.rows = reference.rows, .gradients = {}};
    return call_and_judge(output).map([&](const std::string& wrong_output) {
      const RowWatch rows(DeviceKind::cpu, reference, rows_.size());
      return wrong_output.empty() ? record(rows.judge(tensors_.on_host())) : wrong_output;
    });
  }

  /// The error of the tensor closest to its bound.
  [[nodiscard]] const WorstError& error() const { return worst_; }

  [[nodiscard]] Status write(const std::string& path) const {
    const CallView host = tensors_.on_host();
    const std::vector<std::int64_t> shape{inputs_.tokens, inputs_.heads, inputs_.head_dim};
    std::vector<std::pair<const char*, Tensor>> parts{{"o", host.o}};
    if (!inputs_.grad_o.empty()) {
      parts.insert(parts.end(),
                   {{"grad_q", host.grad_q}, {"grad_k", host.grad_k}, {"grad_v", host.grad_v}});
    }
    std::vector<std::vector<float>> values;
    std::vector<NamedTensor> named;
    values.reserve(parts.size());
    for (const auto& [name, tensor] : parts) {
      unpack(attnscope::as_const(tensor), inputs_.tokens, inputs_.heads,
             values.emplace_back(inputs_.q.size()));
      named.push_back({name, shape, values.back()});
    }
    if (prepared_.writes_lse()) named.push_back({"lse", {shape[0], shape[1]}, host.lse});
    return write_safetensors(path, named);
  }

 private:
  void set_incoming_gradient(std::span<const float> grad_o) {
    pack(grad_o, inputs_.tokens, inputs_.heads, tensors_.on_host().grad_o);
  }

  Result<std::string> call_and_judge(const Reference& reference) {
    tensors_.send_inputs();
    const auto wrong = watched_call(tensors_, workspace_, Pass::both, [&] {
      return call(prepared_, tensors_.on_device(), workspace_.values, Pass::both);
    });
    if (!wrong || !wrong->empty()) return wrong;
    return record(judge(reference, tensors_, Pass::both, prepared_.writes_lse()));
  }

  std::string record(const Verdict& verdict) {
    worst_.update(verdict.error.error, verdict.error.bound, verdict.error.tensor);
    return verdict.wrong;
  }

  PreparedAttention& prepared_;
  const Problem& problem_;
  const AttendInputs& inputs_;
  std::vector<RowId> rows_;
  CallTensors tensors_;
  Room workspace_;
  WorstError worst_;
};

/// Libraries' messages span lines; the first states the error.
std::string first_line(std::string_view text) {
  return std::string(text.substr(0, text.find('\n')));
}

Result<AttendOutcome> attend_unguarded(const AttendRequest& request) {
  if (request.threads < 1) return fail("threads is {}; at least 1 is needed", request.threads);
  const auto implementation = implementation_named(request.implementation);
  if (!implementation) return tl::unexpected(implementation.error());
  const auto layout = parse_layout(request.layout_json, request.layout_source);
  if (!layout) return tl::unexpected(layout.error());
  const auto file = SafetensorsFile::open(request.in);
  if (!file) return tl::unexpected(file.error());
  const auto inputs = read_inputs(request, *file, *layout);
  if (!inputs) return tl::unexpected(inputs.error());
  const auto plan = compile_plan(request.pattern, request.window, *layout,
                                 static_cast<std::int32_t>(inputs->heads));
  if (!plan) return tl::unexpected(plan.error());

  const Problem problem{
      .pattern = request.pattern,
      .window = request.window,
      .layout = *layout,
      .plan = *plan,
      .head_dim = inputs->head_dim,
      .dtype = request.dtype,
      .memory_order = MemoryOrder::token_major,
      .device = request.device,
      .direction = request.backward ? Direction::forward_backward : Direction::forward,
      .scale = scale_of(Operation::attention, inputs->head_dim),
      .threads = request.threads};
  if (const Status ok = (*implementation)->supports(problem); !ok) {
    return fail("{} cannot compute this: {}", request.implementation, ok.error().message);
  }
  const auto prepared = (*implementation)->prepare(problem);
  if (!prepared) return tl::unexpected(prepared.error());
  Attend computed(**prepared, problem, *inputs);
  const auto wrong = computed.run();
  if (!wrong) return tl::unexpected(wrong.error());
  if (!wrong->empty())
    return fail("{} is wrong here: {}; nothing was written", request.implementation, *wrong);
  if (Status ok = computed.write(request.out); !ok) return tl::unexpected(ok.error());
  return AttendOutcome{.tokens = inputs->tokens,
                       .heads = inputs->heads,
                       .head_dim = inputs->head_dim,
                       .relative_error = computed.error().error,
                       .error_bound = computed.error().bound,
                       .lse_written = (*prepared)->writes_lse()};
}

}  // namespace

Result<AttendOutcome> attend(const AttendRequest& request) {
  try {
    return attend_unguarded(request);
  } catch (const std::bad_alloc&) {
    return fail("{}: not enough memory for {} on this input", request.in, request.implementation);
  } catch (const std::exception& exception) {
    return fail("{}: {} failed: {}", request.in, request.implementation,
                first_line(exception.what()));
  }
}

}  // namespace attnscope
