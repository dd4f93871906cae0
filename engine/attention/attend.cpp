// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/attend.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <exception>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/attention/list.h"
#include "engine/attention/packed_tensor.h"
#include "engine/attention/reference.h"
#include "engine/pattern/compile_plan.h"
#include "engine/pattern/nearest_name.h"
#include "engine/safetensors/safetensors.h"

namespace attnscope {
namespace {

constexpr std::int64_t compared_rows = 512;

/// q, k and v as the file holds them.
struct Inputs {
  std::int64_t tokens = 0, heads = 0, head_dim = 0;
  std::span<const float> q{}, k{}, v{};
};

Status all_finite(const AttendRequest& request, std::string_view name,
                  std::span<const float> values) {
  const auto found = std::ranges::find_if(values, [](float x) { return !std::isfinite(x); });
  if (found == values.end()) return {};
  return fail("{}: tensor '{}' holds {} as value {}: attention needs finite inputs", request.in,
              name, *found, found - values.begin());
}

Result<Inputs> read_inputs(const AttendRequest& request, const SafetensorsFile& file,
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
  Inputs inputs{.tokens = shape[0], .heads = shape[1], .head_dim = shape[2]};
  const std::array<std::pair<const char*, std::span<const float>*>, 3> wanted{
      {{"q", &inputs.q}, {"k", &inputs.k}, {"v", &inputs.v}}};
  for (const auto& [name, values] : wanted) {
    const auto found = file.floats(name, shape);
    if (!found) return tl::unexpected(found.error());
    if (Status ok = all_finite(request, name, *found); !ok) return tl::unexpected(ok.error());
    *values = *found;
  }
  return inputs;
}

/// Token-major memory in the computation's dtype.
struct PackedMemory {
  PackedMemory(const SequenceLayout& layout, const Inputs& inputs, DType dtype)
      : bytes(static_cast<std::size_t>(packed_bytes(layout, inputs.heads, inputs.head_dim, dtype)),
              std::byte{0xFF}),  // NaN, until written
        tensor(packed_tensor(layout, inputs.heads, inputs.head_dim, dtype, MemoryOrder::token_major,
                             bytes.data())) {}
  PackedMemory(const PackedMemory&) = delete;
  PackedMemory& operator=(const PackedMemory&) = delete;
  std::vector<std::byte> bytes;
  Tensor tensor;  // on bytes
};

struct Computed {
  std::vector<float> o;    // [tokens, heads, head_dim]
  std::vector<float> lse;  // [tokens, heads], or empty
  double relative_error = 0;
};

Status check_result(const AttendRequest& request, const ReferenceRows& reference, const Tensor& o,
                    Computed& computed, const Inputs& inputs) {
  computed.relative_error = relative_error(reference, o);
  const double bound = error_bound(o.dtype);
  if (!(computed.relative_error <= bound)) {
    return fail(
        "{} is wrong here: its output differs from the float64 reference by {:.2g} of the "
        "largest value, and {:.2g} is allowed; nothing was written",
        request.implementation, computed.relative_error, bound);
  }
  if (computed.lse.empty()) return {};
  const double lse_error = log_sum_exp_error(reference, computed.lse, inputs.heads);
  if (!(lse_error <= bound)) {
    return fail(
        "{} is wrong here: its log-sum-exp differs from the float64 reference by {:.2g}, and "
        "{:.2g} is allowed; nothing was written",
        request.implementation, lse_error, bound);
  }
  return {};
}

Result<Computed> compute(const AttendRequest& request, const Implementation& implementation,
                         const Problem& problem, const Inputs& inputs) {
  PackedMemory q(problem.layout, inputs, problem.dtype);
  PackedMemory k(problem.layout, inputs, problem.dtype);
  PackedMemory v(problem.layout, inputs, problem.dtype);
  PackedMemory o(problem.layout, inputs, problem.dtype);
  pack(inputs.q, inputs.tokens, inputs.heads, q.tensor);
  pack(inputs.k, inputs.tokens, inputs.heads, k.tensor);
  pack(inputs.v, inputs.tokens, inputs.heads, v.tensor);

  auto prepared = implementation.prepare(problem);
  if (!prepared) return tl::unexpected(prepared.error());
  Computed computed;
  if ((*prepared)->writes_lse()) {
    computed.lse.resize(static_cast<std::size_t>(inputs.tokens * inputs.heads));
  }
  std::vector<std::byte> workspace(static_cast<std::size_t>((*prepared)->workspace_bytes()));
  const Status done = (*prepared)->forward({.q = attnscope::as_const(q.tensor),
                                            .k = attnscope::as_const(k.tensor),
                                            .v = attnscope::as_const(v.tensor),
                                            .o = o.tensor,
                                            .lse = computed.lse,
                                            .workspace = workspace});
  if (!done) return tl::unexpected(done.error());

  const auto rows = sample_rows(problem.layout, problem.plan.heads, compared_rows, /*seed=*/1);
  const ReferenceRows reference =
      compute_reference(problem, rows, attnscope::as_const(q.tensor), attnscope::as_const(k.tensor),
                        attnscope::as_const(v.tensor));
  if (Status ok = check_result(request, reference, o.tensor, computed, inputs); !ok) {
    return tl::unexpected(ok.error());
  }
  computed.o.resize(inputs.q.size());
  unpack(attnscope::as_const(o.tensor), inputs.tokens, inputs.heads, computed.o);
  return computed;
}

Result<const Implementation*> implementation_of(const AttendRequest& request) {
  if (const Implementation* found = find_implementation(request.implementation)) return found;
  std::vector<std::string_view> known;
  for (const Implementation* implementation : implementations()) {
    known.push_back(implementation->id());
  }
  return fail("unknown implementation '{}': {}", request.implementation,
              suggest(request.implementation, known));
}

Result<std::optional<Window>> window_of(const AttendRequest& request) {
  if (request.window.empty()) return std::optional<Window>();
  return parse_window(request.window).map([](Window window) { return std::optional(window); });
}

Status write_result(const AttendRequest& request, const Inputs& inputs, const Computed& computed) {
  std::vector<NamedTensor> tensors{
      {"o", {inputs.tokens, inputs.heads, inputs.head_dim}, computed.o}};
  if (!computed.lse.empty()) {
    tensors.push_back({"lse", {inputs.tokens, inputs.heads}, computed.lse});
  }
  return write_safetensors(request.out, tensors);
}

/// Libraries' messages span lines; the first says what happened.
std::string first_line(std::string_view text) {
  return std::string(text.substr(0, text.find('\n')));
}

Result<AttendOutcome> attend_unguarded(const AttendRequest& request) {
  if (request.threads < 1) return fail("threads is {}; at least 1 is needed", request.threads);
  const auto implementation = implementation_of(request);
  if (!implementation) return tl::unexpected(implementation.error());
  const auto pattern = parse_pattern(request.pattern_json, "pattern");
  if (!pattern) return tl::unexpected(pattern.error());
  const auto window = window_of(request);
  if (!window) return tl::unexpected(window.error());
  const auto layout = parse_layout(request.layout_json, request.layout_source);
  if (!layout) return tl::unexpected(layout.error());
  const auto dtype = parse_dtype(request.dtype);
  if (!dtype) return tl::unexpected(dtype.error());
  const auto file = SafetensorsFile::open(request.in);
  if (!file) return tl::unexpected(file.error());
  const auto inputs = read_inputs(request, *file, *layout);
  if (!inputs) return tl::unexpected(inputs.error());
  const auto plan =
      compile_plan(*pattern, *window, *layout, static_cast<std::int32_t>(inputs->heads));
  if (!plan) return tl::unexpected(plan.error());

  const Problem problem{.pattern = *pattern,
                        .window = *window,
                        .layout = *layout,
                        .plan = *plan,
                        .head_dim = inputs->head_dim,
                        .dtype = *dtype,
                        .memory_order = MemoryOrder::token_major,
                        .scale = 1.0F / std::sqrt(static_cast<float>(inputs->head_dim)),
                        .threads = request.threads};
  if (const Status ok = (*implementation)->supports(problem); !ok) {
    return fail("{} cannot compute this: {}", request.implementation, ok.error().message);
  }
  const auto computed = compute(request, **implementation, problem, *inputs);
  if (!computed) return tl::unexpected(computed.error());
  if (Status ok = write_result(request, *inputs, *computed); !ok) {
    return tl::unexpected(ok.error());
  }
  return AttendOutcome{.tokens = inputs->tokens,
                       .heads = inputs->heads,
                       .head_dim = inputs->head_dim,
                       .relative_error = computed->relative_error,
                       .error_bound = error_bound(*dtype),
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
