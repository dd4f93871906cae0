// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/costs.h"

#include <exception>
#include <optional>
#include <string_view>

#include "engine/attention/list.h"
#include "engine/pattern/compile_plan.h"

namespace attnscope {
namespace {

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
