#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The work that every implementation would execute for a pattern on a layout, as the implementation
// itself counts it, without running it: `attnscope costs` and the window's page Patterns show it
// next to the useful work.
//
//   auto costs = implementation_costs({.pattern = pattern, .window = Window::of(4),
//                                      .layout_json = layout});
//   for (const ImplementationCost& cost : *costs) print(cost.id, *cost.executed_flop, cost.reason);

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/pattern/attention_pattern.h"
#include "engine/pattern/axes.h"

namespace attnscope {

struct CostRequest {
  AttentionPattern pattern{};
  std::optional<Window> window{};
  std::string layout_json;
  std::string layout_source = "layout";  // file name, for messages
  std::int64_t heads = 12, head_dim = 32;
  DType dtype = DType::float32;
  DeviceKind device = DeviceKind::cpu;
  Direction direction = Direction::forward;
  Operation operation = Operation::attention;
  int threads = 1;
};

/// Costs of one call over the whole layout.
struct ImplementationCost {
  std::string id;
  std::string reason;  // why it does not support the problem; empty if it does
  // Absent if they are not counted: the implementation is an external program.
  std::optional<double> executed_flop{}, executed_bytes{};
  std::optional<std::int64_t> peak_bytes{};  // beyond inputs and outputs
};

/// The costs of all implementations in display order. Errors: input that no implementation supports
/// (an invalid layout, a missing window).
[[nodiscard]] Result<std::vector<ImplementationCost>> implementation_costs(
    const CostRequest& request);

}  // namespace attnscope
