// SPDX-License-Identifier: Apache-2.0
#include <exception>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/sentences.h"
#include "engine/attention/cuda_runtime.h"
#include "engine/attention/list.h"
#include "engine/pattern/compile_plan.h"

namespace attnscope {
namespace {

/// Limits common to all implementations.
Status within_common_limits(const Implementation& implementation, const Problem& problem) {
  if (problem.device == DeviceKind::cuda && !cuda::usable()) return cuda::usable();
  if (problem.operation == Operation::model) {
    return fail("{} computes attention; operation model needs a family of models",
                implementation.id);
  }
  if (problem.operation == Operation::windowed_matmul && implementation.is_fused) {
    return fail("{} is fused: it has no separate products for windowed-matmul", implementation.id);
  }
  return {};
}

Implementation within_limits(Implementation own) {
  Implementation checked = own;
  checked.supports = [own](const Problem& problem) -> Status {
    if (Status ok = within_common_limits(own, problem); !ok) return ok;
    const bool apart = problem.device == DeviceKind::cuda && own.on_cuda.has_value();
    const Supports& supports = apart ? own.on_cuda->supports : own.supports;
    return supports ? supports(problem) : Status();
  };
  checked.prepare = [own = std::move(own), supports = checked.supports](
                        const Problem& problem) -> Result<std::unique_ptr<PreparedAttention>> {
    if (const Status ok = supports(problem); !ok) return tl::unexpected(ok.error());
    const bool apart = problem.device == DeviceKind::cuda && own.on_cuda.has_value();
    return apart ? own.on_cuda->prepare(problem) : own.prepare(problem);
  };
  return checked;
}

constexpr std::int64_t most_heads = 512;  // as in compile_plan
constexpr std::int64_t most_head_dim = 65536;

/// Messages of libraries have several lines, of which the first states the error.
std::string first_line(std::string_view text) {
  return std::string(text.substr(0, text.find('\n')));
}

ImplementationCost cost_of(const Implementation& implementation, const Problem& problem) {
  ImplementationCost cost{.id = std::string(implementation.id), .reason = {}};
  try {
    if (const Status able = implementation.supports(problem); !able) {
      cost.reason = able.error().message;
      return cost;
    }
    const auto prepared = implementation.prepare(problem);
    if (!prepared) {
      cost.reason = prepared.error().message;
      return cost;
    }
    const std::int64_t peak = (*prepared)->predicted_peak_bytes();
    if (!implementation.is_served || peak > 0) cost.peak_bytes = peak;
    if (implementation.is_served) return cost;
    const ExecutedWork work = (*prepared)->executed();
    cost.executed_flop = work.flop;
    cost.executed_bytes = work.bytes;
  } catch (const std::bad_alloc&) {
    cost.reason = "not enough memory to prepare it at this length";
  } catch (const std::exception& error) {
    cost.reason = first_line(error.what());
  }
  return cost;
}

}  // namespace

void ImplementationList::add(std::vector<Implementation> of_folder) {
  for (Implementation& implementation : of_folder) {
    kept_.push_back(
        std::make_unique<const Implementation>(within_limits(std::move(implementation))));
    all_.push_back(kept_.back().get());
  }
}

#define IMPLEMENTATION(folder) std::vector<Implementation> folder##_implementations();
#include "engine/attention/list.inc"
#undef IMPLEMENTATION

ImplementationList listed_implementations() {
  ImplementationList list;
#define IMPLEMENTATION(folder) list.add(folder##_implementations());
#include "engine/attention/list.inc"
#undef IMPLEMENTATION
  return list;
}

const Implementation* find_implementation(std::string_view id) {
  for (const Implementation* implementation : implementations()) {
    if (implementation->id == id) return implementation;
  }
  return nullptr;
}

Result<const Implementation*> implementation_named(std::string_view id) {
  if (const Implementation* found = find_implementation(id)) return found;
  std::vector<std::string_view> known;
  for (const Implementation* implementation : implementations()) {
    known.push_back(implementation->id);
  }
  return fail("there is no implementation '{}'; {}", id, suggest(id, known));
}

Result<std::vector<ImplementationCost>> implementation_costs(const CostRequest& request) {
  if (request.heads < 1 || request.heads > most_heads) {
    return fail("heads is {}; it must be 1 to {}", request.heads, most_heads);
  }
  if (request.head_dim < 1 || request.head_dim > most_head_dim) {
    return fail("the head dimension is {}; it must be 1 to {}", request.head_dim, most_head_dim);
  }
  const auto layout = parse_layout(request.layout_json, request.layout_source);
  if (!layout) return tl::unexpected(layout.error());
  const auto plan = compile_plan(request.pattern, request.window, *layout,
                                 static_cast<std::int32_t>(request.heads));
  if (!plan) return tl::unexpected(plan.error());

  const Problem problem{
      .pattern = request.pattern,
      .window = request.window,
      .layout = *layout,
      .plan = *plan,
      .head_dim = request.head_dim,
      .dtype = request.dtype,
      .memory_order = layout->is_uniform() ? MemoryOrder::head_major : MemoryOrder::token_major,
      .device = request.device,
      .operation = request.operation,
      .direction = request.direction,
      .scale = scale_of(request.operation, request.head_dim),
      .threads = request.threads};
  std::vector<ImplementationCost> costs;
  costs.reserve(implementations().size());
  for (const Implementation* implementation : implementations()) {
    costs.push_back(cost_of(*implementation, problem));
  }
  return costs;
}

}  // namespace attnscope
