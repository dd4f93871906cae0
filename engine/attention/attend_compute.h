#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// One attention on plain float32 values, forward or forward and backward, and its check against the
// float64 reference: what stands between the files of `attend`.

#include <cstdint>
#include <span>
#include <vector>

#include "engine/attention/implementation.h"
#include "engine/attention/reference.h"

namespace attnscope {

/// [tokens, heads, head_dim] each; grad_o is empty for a problem of direction forward.
struct AttendInputs {
  std::int64_t tokens = 0, heads = 0, head_dim = 0;
  std::span<const float> q{}, k{}, v{}, grad_o{};
};

struct AttendResult {
  std::vector<float> o;                       // [tokens, heads, head_dim]
  std::vector<float> lse;                     // [tokens, heads]; empty if there is none
  std::vector<float> grad_q, grad_k, grad_v;  // as o; empty for direction forward
  WorstError error;
};

/// Computes in the problem's dtype, token-major. A result that fails its check on sampled rows is
/// an error. A gradient that arrives everywhere gives sums over all rows, too many for a reference
/// in float64: keys' gradients are checked in a call of their own before, with one that arrives in
/// the sampled rows alone.
[[nodiscard]] Result<AttendResult> compute_attend(const Implementation& implementation,
                                                  const Problem& problem,
                                                  const AttendInputs& inputs);

}  // namespace attnscope
