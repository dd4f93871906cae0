#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// One attention on random numbers, run by a CPU kernel and computed in float64 from the oracle.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/pattern/compile_plan.h"
#include "kernels/cpu/instruction_set.h"
#include "kernels/plan/tensor.h"

namespace attnscope::testing {

enum class Order { token_major, head_major, head_major_items };

/// A packed tensor in one memory order. Every float that is no element of it is NaN.
struct Packed {
  std::vector<float> data;
  std::int64_t tokens = 0, heads = 0, head_dim = 0, item_tokens = 0;
  Order order = Order::token_major;

  Packed(std::int64_t tokens, std::int64_t heads, std::int64_t head_dim, Order order,
         std::int64_t item_tokens, float value);
  [[nodiscard]] Tensor tensor();
  [[nodiscard]] ConstTensor view() const;
  [[nodiscard]] float& at(std::int64_t token, std::int64_t head, std::int64_t x);
  [[nodiscard]] float at(std::int64_t token, std::int64_t head, std::int64_t x) const;
};

struct AttentionCase {
  std::string pattern = "sparse";
  std::optional<Window> window = Window::of(4);
  SequenceLayout layout;
  std::int32_t heads = 2;
  std::int64_t head_dim = 32;
  Order order = Order::token_major;

  [[nodiscard]] std::string text() const;
  [[nodiscard]] AttentionPlan plan() const;
};

struct Inputs {
  Packed q, k, v;
};

struct Outputs {
  Packed o;
  std::vector<float> lse;  // [tokens, heads]
};

/// Normal random numbers that are the same for all memory orders.
[[nodiscard]] Inputs random_inputs(const AttentionCase& problem, unsigned seed = 1);
[[nodiscard]] Inputs random_inputs(std::int64_t tokens, std::int64_t heads, std::int64_t head_dim,
                                   Order order, std::int64_t item_tokens, unsigned seed);

[[nodiscard]] float scale_of(std::int64_t head_dim);

enum class Kernel { segment, windowed };

/// Runs a kernel on outputs filled with NaN and a workspace of exactly the size asked for, with a
/// guard behind it. Test failures tell of errors and of a touched guard.
[[nodiscard]] Outputs run(Kernel kernel, const AttentionPlan& plan, const Inputs& inputs,
                          int threads = 2);

/// The float64 reference, pair by pair from the oracle.
struct Reference {
  std::vector<double> o;    // [tokens, heads, head_dim]
  std::vector<double> lse;  // [tokens, heads]
  double largest_value = 0;
};
[[nodiscard]] Reference reference(const AttentionCase& problem, const Inputs& inputs);

/// The reference of one row; `keys` are all that it sees.
void reference_row(const Inputs& inputs, std::int64_t token, std::int64_t head,
                   const std::vector<std::int64_t>& keys, double* o, double& lse);

void expect_near(const Outputs& outputs, const Reference& expected, std::int64_t head_dim,
                 const std::string& what);

/// Runs both kernels on every instruction set and compares with the reference.
void expect_right(const AttentionCase& problem);

/// Calls `body` with every available instruction set selected, then restores the default.
template <typename Body>
void for_each_instruction_set(const Body& body) {
  for (const cpu::InstructionSet set : cpu::available_sets()) {
    (void)cpu::select(set);
    body(set);
  }
  (void)cpu::select(std::nullopt);
}

}  // namespace attnscope::testing
