#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A file of tests/golden: the inputs of an attention, the outputs of the authors' code and the
// problem. See tests/golden/README.md.

#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/attention/implementation.h"
#include "engine/safetensors/safetensors.h"

namespace attnscope::tests {

/// The value. Throws the error's message: reading a fixture may not fail.
template <typename T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

class Fixture {
 public:
  /// "longformer-4": tests/golden/longformer-4.safetensors. Throws on any error.
  explicit Fixture(std::string_view name);
  Fixture(const Fixture&) = delete;
  Fixture& operator=(const Fixture&) = delete;

  /// float32 on the CPU.
  [[nodiscard]] Problem problem(MemoryOrder order, Direction direction) const;
  /// q, k, v, grad_o, o, grad_q, grad_k or grad_v: [tokens, heads, head_dim].
  [[nodiscard]] std::span<const float> values(std::string_view tensor) const;
  [[nodiscard]] const SequenceLayout& layout() const { return layout_; }
  [[nodiscard]] const AttentionPlan& plan() const { return plan_; }

 private:
  AttentionPlan plan_of_blocks(std::int64_t block_length) const;

  SafetensorsFile file_;
  std::int64_t heads_ = 0, head_dim_ = 0;
  AttentionPattern pattern_;
  std::optional<Window> window_;
  SequenceLayout layout_;
  AttentionPlan plan_;
};

}  // namespace attnscope::tests
