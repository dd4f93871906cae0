#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Which keys a row sees, the numbers an attention is given, and what it makes of them in float64.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/pattern/sequence_layout.h"
#include "engine/pattern/window.h"
#include "kernels/plan/attention_plan.h"
#include "tests/kernels/packed.h"

namespace attnscope::testing {

/// Ascending keys of (token, head).
using KeysOf = std::function<std::vector<std::int64_t>(std::int64_t token, std::int32_t head)>;

/// Pair by pair.
[[nodiscard]] KeysOf keys_from_oracle(const std::string& pattern, std::optional<Window> window,
                                      const SequenceLayout& layout);
/// By the plan's own intervals, where there is only a plan, or too many pairs. `plan` must outlive
/// the result.
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

/// All that a backward pass is given: the inputs, what the forward pass left, the gradient of o.
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

/// Operands in float64, where they can be moved by less than a float32 shows.
struct ExactCase {
  Values q, k, v, o, grad_o;
};
/// `o` rounded as the problem holds it.
[[nodiscard]] ExactCase exact(const BackwardCase& problem);
/// `o` in float64 from q, k and v.
[[nodiscard]] ExactCase exact(const KeysOf& keys, const Inputs& inputs, const Packed& grad_o);

/// A row's weights: softmax(scale * q . k), or scale * q . k alone, which makes the paper's two
/// products.
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
/// Of the inputs as rounded.
[[nodiscard]] Reference reference(const KeysOf& keys, const Inputs& inputs);

/// Pair by pair as kernels/plan/tensor.h defines them, with D_i = grad_o_i . o_i from the o that
/// the problem holds.
struct ReferenceGradients {
  Values q, k, v;
};
[[nodiscard]] ReferenceGradients reference_gradients(const KeysOf& keys, const ExactCase& problem,
                                                     const Formula& formula);
[[nodiscard]] ReferenceGradients reference_gradients(const KeysOf& keys, const ExactCase& problem);

/// No element of a row of `tokens` is farther from its expectation than `bound`; all rows without.
void expect_near(const Packed& actual, const Values& expected, double bound,
                 const std::string& what);
/// As near as the type and float32 sums allow. An element that is exactly 0 in the reference's sums
/// because no pair adds to it is 0.
void expect_near(const Outputs& outputs, const Reference& expected, const std::string& what);
void expect_near(const Gradients& gradients, const ReferenceGradients& expected,
                 const std::string& what);

/// The gradients of rows that see nothing and of keys that nobody sees are 0, whatever the bound.
void expect_unseen_zero(const Gradients& gradients, const KeysOf& keys, const std::string& what);

}  // namespace attnscope::testing
