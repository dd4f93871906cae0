// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/attend.h"

#include <algorithm>
#include <exception>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/attention/attend_compute.h"
#include "engine/attention/list.h"
#include "engine/pattern/compile_plan.h"
#include "engine/safetensors/safetensors.h"

namespace attnscope {
namespace {

Status all_finite(const AttendRequest& request, std::string_view name,
                  std::span<const float> values) {
  const auto found = std::ranges::find_if(values, [](float x) { return !std::isfinite(x); });
  if (found == values.end()) return {};
  return fail("{}: tensor '{}' holds {} as value {}: attention needs finite inputs", request.in,
              name, *found, found - values.begin());
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

Result<std::optional<Window>> window_of(const AttendRequest& request) {
  if (request.window.empty()) return std::optional<Window>();
  return parse_window(request.window).map([](Window window) { return std::optional(window); });
}

Status write_result(const AttendRequest& request, const AttendInputs& inputs,
                    const AttendResult& result) {
  const std::vector<std::int64_t> shape{inputs.tokens, inputs.heads, inputs.head_dim};
  std::vector<NamedTensor> tensors{{"o", shape, result.o}};
  if (!result.lse.empty()) tensors.push_back({"lse", {inputs.tokens, inputs.heads}, result.lse});
  if (request.backward) {
    tensors.push_back({"grad_q", shape, result.grad_q});
    tensors.push_back({"grad_k", shape, result.grad_k});
    tensors.push_back({"grad_v", shape, result.grad_v});
  }
  return write_safetensors(request.out, tensors);
}

/// Libraries' messages span lines; the first says what happened.
std::string first_line(std::string_view text) {
  return std::string(text.substr(0, text.find('\n')));
}

Result<AttendOutcome> attend_unguarded(const AttendRequest& request) {
  if (request.threads < 1) return fail("threads is {}; at least 1 is needed", request.threads);
  const auto implementation = implementation_named(request.implementation);
  if (!implementation) return tl::unexpected(implementation.error());
  const auto pattern = parse_pattern(request.pattern_json, "pattern");
  if (!pattern) return tl::unexpected(pattern.error());
  const auto window = window_of(request);
  if (!window) return tl::unexpected(window.error());
  const auto layout = parse_layout(request.layout_json, request.layout_source);
  if (!layout) return tl::unexpected(layout.error());
  const auto dtype = parse_dtype(request.dtype);
  if (!dtype) return tl::unexpected(dtype.error());
  const auto device = parse_device(request.device);
  if (!device) return tl::unexpected(device.error());
  const auto file = SafetensorsFile::open(request.in);
  if (!file) return tl::unexpected(file.error());
  const auto inputs = read_inputs(request, *file, *layout);
  if (!inputs) return tl::unexpected(inputs.error());
  const auto plan =
      compile_plan(*pattern, *window, *layout, static_cast<std::int32_t>(inputs->heads));
  if (!plan) return tl::unexpected(plan.error());

  const Problem problem{
      .pattern = *pattern,
      .window = *window,
      .layout = *layout,
      .plan = *plan,
      .head_dim = inputs->head_dim,
      .dtype = *dtype,
      .memory_order = MemoryOrder::token_major,
      .device = *device,
      .direction = request.backward ? Direction::forward_backward : Direction::forward,
      .scale = scale_of(Operation::attention, inputs->head_dim),
      .threads = request.threads};
  if (const Status ok = (*implementation)->supports(problem); !ok) {
    return fail("{} cannot compute this: {}", request.implementation, ok.error().message);
  }
  const auto computed = compute_attend(**implementation, problem, *inputs);
  if (!computed) return tl::unexpected(computed.error());
  if (Status ok = write_result(request, *inputs, *computed); !ok) {
    return tl::unexpected(ok.error());
  }
  return AttendOutcome{.tokens = inputs->tokens,
                       .heads = inputs->heads,
                       .head_dim = inputs->head_dim,
                       .relative_error = computed->error.error,
                       .error_bound = computed->error.bound,
                       .lse_written = !computed->lse.empty()};
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
