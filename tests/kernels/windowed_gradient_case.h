#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The gradients of one attention by the unfused passes.

#include <string>

#include "tests/kernels/gradient_case.h"

namespace attnscope::testing {

/// Runs windowed_forward, then windowed_backward on the weights it left, on gradients filled with
/// NaN and a workspace of exactly the size asked for, full of NaN, with guards around it. Test
/// failures tell of errors, of touched guards and weights, and of writes between the rows.
[[nodiscard]] Gradients run_windowed_backward(const AttentionPlan& plan, const Inputs& inputs,
                                              const Packed& grad_o, int threads = 1);

/// windowed_backward on every instruction set against the float64 reference.
void expect_windowed_gradients_right(const AttentionCase& problem);
void expect_windowed_gradients_right(const AttentionPlan& plan, const Inputs& inputs,
                                     const KeysOf& keys, const std::string& what);

}  // namespace attnscope::testing
