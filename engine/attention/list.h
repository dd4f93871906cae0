#pragma once
// SPDX-License-Identifier: Apache-2.0

#include <memory>
#include <span>
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

}  // namespace attnscope
