#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Attention put together from calls of a part kernel: partial outputs o_p with their log-sum-exps
// l_p are merged exactly,
//
//   l = log sum_p exp(l_p)          o = sum_p exp(l_p - l) o_p
//
// and the backward calls the kernel with o and l of the whole, which makes each part's gradients
// its own share: grad_q is their sum over parts, grad_k and grad_v over all parts that see a key.

#include <memory>
#include <vector>

#include "engine/attention/flash_window/part_kernel.h"
#include "engine/attention/flash_window/parts.h"
#include "engine/attention/implementation.h"

namespace attnscope {

/// `groups` as parts_of(problem) gives them; the kernel must outlive what is prepared.
[[nodiscard]] std::unique_ptr<PreparedAttention> prepare_assembled(const Problem& problem,
                                                                   std::vector<RowGroup> groups,
                                                                   const PartKernel& kernel);

}  // namespace attnscope
