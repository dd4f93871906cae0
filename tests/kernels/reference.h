#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The keys of a row, the inputs of an attention, and its results in float64.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/pattern/axes.h"
#include "engine/pattern/sequence_layout.h"
#include "kernels/plan/attention_plan.h"
#include "tests/kernels/packed.h"

namespace attnscope::testing {

/// Ascending keys of (token, head).
using KeysOf = std::function<std::vector<std::int64_t>(std::int64_t token, std::int32_t head)>;

/// The keys by the oracle, pair by pair.
[[nodiscard]] KeysOf keys_from_oracle(const std::string& pattern, std::optional<Window> window,
                                      const SequenceLayout& layout);
/// The keys by the intervals of the plan, if there is only a plan or too many pairs. `plan` must
/// outlive the result.
[[nodiscard]] KeysOf keys_from_plan(const AttentionPlan& plan);

struct Inputs {
  Packed q, k, v;
};

/// Normal random numbers that are the same for all memory orders, rounded to the dtype.
[[nodiscard]] Inputs random_inputs(std::int64_t tokens, std::int64_t heads, std::int64_t head_dim,
                                   Order order, std::int64_t item_tokens, unsigned seed,
                                   DType dtype = DType::float32);
/// The same for one tensor of the shape of `shape`.
[[nodiscard]] Packed random_like(const Packed& shape, unsigned seed);

[[nodiscard]] float scale_of(std::int64_t head_dim);

struct Outputs {
  Packed o;
  std::vector<float> lse;       // [tokens, heads], or none
  std::vector<float> scores{};  // of kernels that keep them for the backward pass
};

/// The operands of a backward pass: the inputs, the results of the forward pass, the gradient of o.
struct BackwardCase {
  Inputs in;
  Outputs forward;
  Packed grad_o;
};

struct Gradients {
  Packed q, k, v;
};

[[nodiscard]] bool same_bits(const Outputs& a, const Outputs& b);
[[nodiscard]] bool same_bits(const Gradients& a, const Gradients& b);

/// Operands in float64, which can change by less than the precision of float32.
struct ExactCase {
  Values q, k, v, o, grad_o;
};
/// `o` is the rounded one of the problem.
[[nodiscard]] ExactCase exact(const BackwardCase& problem);
/// `o` is computed in float64 from q, k and v.
[[nodiscard]] ExactCase exact(const KeysOf& keys, const Inputs& inputs, const Packed& grad_o);

/// The weights of a row: softmax(scale * q . k), or scale * q . k for the two products of the
/// paper.
struct Formula {
  double scale;
  bool softmax = true;
};
[[nodiscard]] Formula softmax_of(std::int64_t head_dim);

struct Reference {
  Values o;
  std::vector<double> lse;  // [tokens, heads]
  double largest_value = 0;
};
[[nodiscard]] Reference reference(const KeysOf& keys, const ExactCase& problem,
                                  const Formula& formula);
/// The results for the rounded inputs.
[[nodiscard]] Reference reference(const KeysOf& keys, const Inputs& inputs);

/// Pair by pair as kernels/plan/tensor.h defines them, with D_i = grad_o_i . o_i from the `o` of
/// the problem.
struct ReferenceGradients {
  Values q, k, v;
};
[[nodiscard]] ReferenceGradients reference_gradients(const KeysOf& keys, const ExactCase& problem,
                                                     const Formula& formula);
[[nodiscard]] ReferenceGradients reference_gradients(const KeysOf& keys, const ExactCase& problem);

/// Expects every element of the rows of `tokens` (default: all rows) to be within `bound` of the
/// reference.
void expect_near(const Packed& actual, const Values& expected, double bound,
                 const std::string& what);
/// Expects results within the errors of the type and of float32 sums. An element to which no pair
/// contributes must be exactly 0.
void expect_near(const Outputs& outputs, const Reference& expected, const std::string& what);
void expect_near(const Gradients& gradients, const ReferenceGradients& expected,
                 const std::string& what);

/// Expects gradients of rows without keys, and of keys that no row sees, to be exactly 0.
void expect_unseen_zero(const Gradients& gradients, const KeysOf& keys, const std::string& what);

}  // namespace attnscope::testing
