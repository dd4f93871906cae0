#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// One implementation called on one problem, in memory that shows every liberty it takes: outputs,
// gradients and workspace full of NaN and between guard zones, inputs compared afterwards. On CUDA
// all of it, guard zones included, is copied to the device and back around each call.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "engine/attention/implementation.h"
#include "engine/attention/reference.h"
#include "engine/attention/reference_gradients.h"

namespace attnscope {

/// Packed in the problem's memory order and dtype; grad_o is empty for direction forward.
struct CheckInputs {
  std::vector<std::byte> q, k, v, grad_o;
  friend bool operator==(const CheckInputs&, const CheckInputs&) = default;
};

struct CheckReference {
  ReferenceRows rows;                           // all of them
  std::optional<ReferenceGradients> gradients;  // of direction forward-backward
};

/// What is wrong, or nothing; `worst` meets all errors but the log-sum-exp's. Everything is called
/// twice: the second call finds what the first left in the prepared object.
[[nodiscard]] std::string check_calls(PreparedAttention& prepared, const Problem& problem,
                                      CheckInputs& inputs, const CheckReference& reference,
                                      WorstError& worst);

}  // namespace attnscope
