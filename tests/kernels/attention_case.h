#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// One attention on random numbers, run by a CPU kernel and computed in float64 from the oracle.

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/pattern/compile_plan.h"
#include "kernels/cpu/instruction_set.h"
#include "kernels/plan/tensor.h"
#include "tests/kernels/packed.h"
#include "tests/kernels/seen_keys.h"

namespace attnscope::testing {

struct AttentionCase {
  std::string pattern = "sparse";
  std::optional<Window> window = Window::of(4);
  SequenceLayout layout;
  std::int32_t heads = 2;
  std::int64_t head_dim = 32;
  Order order = Order::token_major;
  DType dtype = DType::float32;

  [[nodiscard]] std::string text() const;
  [[nodiscard]] AttentionPlan plan() const;
  [[nodiscard]] KeysOf keys() const;  // from the oracle
};

inline constexpr std::array built_in_patterns{"full", "sparse", "sparse-without-independent-query",
                                              "longformer", "qds"};

[[nodiscard]] SequenceLayout layout_of(std::vector<LayoutItem> items,
                                       std::int64_t shared_query = 0);

/// The name of a suite's instance for a dtype.
[[nodiscard]] std::string name_of_parameter(const ::testing::TestParamInfo<DType>& parameter);

struct Inputs {
  Packed q, k, v;
};

struct Outputs {
  Packed o;
  std::vector<float> lse;  // [tokens, heads]
};

/// Normal random numbers that are the same for all memory orders, rounded to the dtype.
[[nodiscard]] Inputs random_inputs(const AttentionCase& problem, unsigned seed = 1);
[[nodiscard]] Inputs random_inputs(std::int64_t tokens, std::int64_t heads, std::int64_t head_dim,
                                   Order order, std::int64_t item_tokens, unsigned seed,
                                   DType dtype = DType::float32);
/// The same for one tensor of the shape of `shape`.
[[nodiscard]] Packed random_like(const Packed& shape, unsigned seed);

[[nodiscard]] float scale_of(std::int64_t head_dim);

enum class Kernel { segment, windowed };

[[nodiscard]] std::string name_of(Kernel kernel);

/// Runs a kernel on outputs filled with NaN and a workspace of exactly the size asked for, full of
/// NaN, with guards around it. Test failures tell of errors, of touched guards and of writes
/// between the outputs' rows.
[[nodiscard]] Outputs run(Kernel kernel, const AttentionPlan& plan, const Inputs& inputs,
                          int threads = 1);

/// The float64 reference on the inputs as rounded.
struct Reference {
  std::vector<double> o;    // [tokens, heads, head_dim]
  std::vector<double> lse;  // [tokens, heads]
  double largest_value = 0;
};
[[nodiscard]] Reference reference(const KeysOf& keys, const Inputs& inputs);
/// Pair by pair from the oracle.
[[nodiscard]] Reference reference(const AttentionCase& problem, const Inputs& inputs);

/// The reference of one row; `keys` are all that it sees.
void reference_row(const Inputs& inputs, std::int64_t token, std::int64_t head,
                   const std::vector<std::int64_t>& keys, double* o, double& lse);

void expect_near(const Outputs& outputs, const Reference& expected, std::int64_t head_dim,
                 const std::string& what);

/// Runs the kernels on every instruction set and compares with the reference.
void expect_right(const AttentionCase& problem);
/// The same for a plan that no pattern gives, against its own intervals.
void expect_plan_right(const AttentionPlan& plan, std::int64_t head_dim,
                       std::initializer_list<Kernel> kernels = {Kernel::segment, Kernel::windowed},
                       DType dtype = DType::float32);

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
