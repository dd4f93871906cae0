#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What the tests of single CPU kernels share: every instruction set in turn, drawn numbers, and
// the message of a refused call.

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "base/result.h"
#include "kernels/cpu/instruction_set.h"
#include "tests/kernels/packed.h"

namespace attnscope::testing {

/// Calls `body` with every available instruction set selected, then restores the default. Failures
/// name the set. Attention is the same in some of them: see for_each_instruction_set.
template <typename Body>
void by_every_set(const Body& body) {
  for (const cpu::InstructionSet set : cpu::available_sets()) {
    ASSERT_TRUE(cpu::select(set));
    const ::testing::ScopedTrace trace(__FILE__, __LINE__, std::string(cpu::name_of(set)));
    body();
  }
  ASSERT_TRUE(cpu::select(std::nullopt));
}

/// Normally distributed.
inline std::vector<float> drawn(std::int64_t count, std::uint32_t seed) {
  std::mt19937 draw(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(index(count));
  for (float& value : values) value = normal(draw);
  return values;
}

/// Floats that a kernel has not written yet.
inline std::vector<float> unwritten(std::int64_t floats) {
  return std::vector<float>(index(floats), nan);
}

/// A sum in float64, and the bound of float32's rounding over the sum of all magnitudes.
struct ExactSum {
  double value = 0, bound = 0;

  void add(double term) {
    value += term;
    bound += 1e-6 * std::abs(term);
  }
  /// How far a result is beyond the bound: at most 0 if it is within.
  [[nodiscard]] double beyond(double found) const {
    const double error = std::abs(found - value);
    return std::isnan(error) ? INFINITY : error - bound;
  }
};

inline std::string error_of(const Status& status) {
  return status ? "none" : status.error().message;
}

}  // namespace attnscope::testing
