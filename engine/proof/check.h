#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Conformance of every listed implementation on this machine: each implementation x every built-in
// pattern x odd shapes against the float64 reference. `attnscope check` and tests/conformance use
// it.

#include <functional>
#include <span>
#include <string>

#include "engine/attention/implementation.h"

namespace attnscope {

struct CheckRow {
  std::string implementation, pattern, window, shape;  // "1+11+500 x 3, 2 heads x 32, head-major"
  DType dtype = DType::float32;
  enum class Outcome : std::uint8_t { ok, declined, wrong } outcome = Outcome::ok;
  std::string reason;                          // declined: why; wrong: what differs
  double relative_error = 0, error_bound = 0;  // of the tensor closest to its bound
};

/// Checks these implementations, which need not be listed. Outputs and workspaces are filled with
/// NaN and placed between guard zones; every row is compared, twice, and inputs must not change.
int check_implementations(std::span<const Implementation* const> checked, DeviceKind device,
                          int threads, const std::function<void(const CheckRow&)>& on_row);

/// Calls `on_row` for each combination; returns the number of wrong ones.
int check_all(DeviceKind device, int threads, const std::function<void(const CheckRow&)>& on_row);

}  // namespace attnscope
