#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The cases that every implementation is tested with: patterns, windows, layouts, lengths, head
// dimensions and memory orders, all in each number format.

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/pattern/axes.h"
#include "tests/kernels/reference.h"

namespace attnscope::testing {

/// One attention on random numbers.
struct AttentionCase {
  std::string pattern = "sparse";
  std::optional<Window> window = Window::of(4);
  SequenceLayout layout;
  std::int32_t heads = 2;
  std::int64_t head_dim = 32;
  Order order = Order::token_major_apart;
  DType dtype = DType::float32;
  bool emulated = false;  // small enough to be run in the emulation

  [[nodiscard]] std::string text() const;
  [[nodiscard]] AttentionPlan plan() const;
  [[nodiscard]] KeysOf keys() const;  // from the oracle
  [[nodiscard]] Inputs inputs(unsigned seed = 1) const;
};

inline constexpr std::array patterns{"sparse",     "full", "sparse-without-independent-query",
                                     "longformer", "qds",  "listwise"};
inline constexpr std::array dtypes{DType::float32, DType::float16, DType::bfloat16};
/// Names tests by their type.
inline std::string name_of_dtype(const ::testing::TestParamInfo<DType>& parameter) {
  return std::string(attnscope::name_of(parameter.param));
}

[[nodiscard]] SequenceLayout layout_of(std::vector<LayoutItem> items,
                                       std::int64_t shared_query = 0);
/// Two items of 76 and 28 tokens with sentences.
[[nodiscard]] SequenceLayout two_items();

[[nodiscard]] std::vector<AttentionCase> cases_of_windows(DType dtype);
[[nodiscard]] std::vector<AttentionCase> cases_of_lengths(DType dtype);
/// Windows of up to 16 tokens with few globals, for which CUDA has a separate kernel.
[[nodiscard]] std::vector<AttentionCase> cases_of_narrow_windows(DType dtype);
[[nodiscard]] std::vector<AttentionCase> cases_of_head_dims(DType dtype);
[[nodiscard]] std::vector<AttentionCase> cases_of_layouts(DType dtype);
[[nodiscard]] std::vector<AttentionCase> cases_of_long_documents(DType dtype);
/// Every document of up to 24 tokens with every window that is not wider.
[[nodiscard]] std::vector<AttentionCase> cases_of_short_documents();

}  // namespace attnscope::testing
