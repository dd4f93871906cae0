#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The implementations of this program, and the work that each would execute for a pattern on a
// layout, as the implementation itself counts it, without running it: `attnscope costs` and the
// window's page Patterns show it next to the useful work.
//
//   auto costs = implementation_costs({.pattern = pattern, .window = Window::of(4),
//                                      .layout_json = layout});
//   for (const ImplementationCost& cost : *costs) print(cost.id, *cost.executed_flop, cost.reason);

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/attention/implementation.h"

namespace attnscope {

/// Implementations wrapped in the common limits. Each declines a problem by these first, then by
/// its own; `supports` and `prepare` can always be called.
class ImplementationList {
 public:
  void add(std::vector<Implementation> of_folder);
  [[nodiscard]] std::span<const Implementation* const> all() const { return all_; }

 private:
  std::vector<std::unique_ptr<const Implementation>> kept_;
  std::vector<const Implementation*> all_;
};

/// The implementations of list.inc, in display order.
[[nodiscard]] ImplementationList listed_implementations();

/// Every implementation of this program.
[[nodiscard]] std::span<const Implementation* const> implementations();

/// nullptr for an unknown id.
[[nodiscard]] const Implementation* find_implementation(std::string_view id);

/// The same, or an error that names the nearest id.
[[nodiscard]] Result<const Implementation*> implementation_named(std::string_view id);

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
