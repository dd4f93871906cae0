#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The gradients of one attention: by segment_backward, and in float64 pair by pair as
// kernels/plan/gradients.h defines them.

#include <string>

#include "tests/kernels/attention_case.h"

namespace attnscope::testing {

/// All that a backward pass is given: the inputs, what the forward pass left, the gradient of o.
struct BackwardCase {
  Inputs in;
  Outputs forward;
  Packed grad_o;
};

/// `forward` is what segment_forward wrote.
[[nodiscard]] BackwardCase backward_case(const AttentionPlan& plan, Inputs inputs,
                                         unsigned seed = 7);

struct Gradients {
  Packed q, k, v;
};

[[nodiscard]] bool same_bits(const Gradients& a, const Gradients& b);

/// Runs segment_backward on gradients filled with NaN and a workspace of exactly the size asked
/// for, full of NaN, with guards around it. Test failures tell of errors, of touched guards and of
/// writes between the gradients' rows.
[[nodiscard]] Gradients run_backward(const AttentionPlan& plan, const BackwardCase& problem,
                                     int threads = 1);

struct ReferenceGradients {
  Values q, k, v;
};

/// Operands in float64, where they can be moved by less than a float32 shows.
struct ExactCase {
  Values q, k, v, o, grad_o;
};
[[nodiscard]] ExactCase exact(const BackwardCase& problem);

/// o in float64 from q, k and v.
[[nodiscard]] Values reference_output(const KeysOf& keys, const ExactCase& problem);

/// With D_i = grad_o_i . o_i from the o that the problem holds, rounded as it may be.
[[nodiscard]] ReferenceGradients reference_gradients(const KeysOf& keys, const ExactCase& problem);

/// Every element is as near as its type and float32 sums allow, relative to the gradient's largest.
void expect_near(const Gradients& gradients, const ReferenceGradients& expected,
                 const std::string& what);

/// segment_backward on every instruction set against the reference.
void expect_gradients_right(const AttentionCase& problem);
void expect_gradients_right(const AttentionPlan& plan, const Inputs& inputs, const KeysOf& keys,
                            const std::string& what);

}  // namespace attnscope::testing
