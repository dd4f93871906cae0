#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The interface every attention implementation stands behind. Adding one is a folder
// engine/attention/<name>/ and one line in list.inc; conformance tests, command line, sweep and
// window find it there.
//
//   const Implementation& segment = *find_implementation("segment");
//   if (Status ok = segment.supports(problem); !ok) report(ok.error().message);
//   auto prepared = segment.prepare(problem);          // derive tiles from the plan, once
//   workspace.resize((*prepared)->workspace_bytes());
//   (*prepared)->forward({q, k, v, o, lse, workspace});
//   (*prepared)->backward({gradients, workspace});     // a problem of direction forward-backward

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "engine/pattern/attention_pattern.h"
#include "engine/pattern/axes.h"
#include "engine/pattern/sequence_layout.h"
#include "kernels/base/result.h"
#include "kernels/plan/attention_plan.h"
#include "kernels/plan/counts.h"
#include "kernels/plan/gradients.h"
#include "kernels/plan/tensor.h"

namespace attnscope {

/// Everything fixed before the first call. References must outlive what is prepared from it.
struct Problem {
  const AttentionPattern& pattern;
  std::optional<Window> window;
  const SequenceLayout& layout;
  const AttentionPlan& plan;
  std::int64_t head_dim = 0;
  DType dtype = DType::float32;
  MemoryOrder memory_order = MemoryOrder::head_major;
  DeviceKind device = DeviceKind::cpu;
  Operation operation = Operation::attention;
  Direction direction = Direction::forward;
  float scale = 1.0F;  // 1/sqrt(head_dim) for attention, 1 for windowed_matmul
  int threads = 1;
};

/// The direction in the words of the plan's counts.
[[nodiscard]] constexpr Passes passes_of(Direction direction) {
  return direction == Direction::forward ? Passes::forward : Passes::forward_backward;
}

/// q, k, v, o are packed over the layout in the problem's memory order and dtype.
struct ForwardCall {
  ConstTensor q, k, v;
  Tensor o;
  std::span<float> lse;            // [tokens, heads] or empty; natural logarithm, -inf for no key
  std::span<std::byte> workspace;  // at least workspace_bytes()
};

/// What the forward call before was given and left, and what its gradients are written to.
struct BackwardCall {
  GradientTensors tensors;
  std::span<std::byte> workspace;  // the forward call's, untouched in between
};

/// What an implementation really executes in one call (forward, or forward and backward together,
/// as the problem's direction says), beside the plan's useful work.
struct ExecutedWork {
  double flop = 0;
  double bytes = 0;
};

/// An implementation bound to one problem. Not thread-safe; forward may be called many times.
class PreparedAttention {
 public:
  virtual ~PreparedAttention() = default;
  /// Workspace the caller hands in; library-internal allocations come on top (counting allocator).
  [[nodiscard]] virtual std::int64_t workspace_bytes() const = 0;
  [[nodiscard]] virtual ExecutedWork executed() const = 0;
  /// Bytes this call will need beyond inputs and outputs, at its peak: the prediction by which a
  /// cell becomes `oom` before the machine swaps.
  [[nodiscard]] virtual std::int64_t predicted_peak_bytes() const = 0;
  [[nodiscard]] virtual Status forward(const ForwardCall& call) = 0;
  /// Gradients of the forward call just before, with the same q, k, v. Only for problems of
  /// direction forward-backward, in which every forward is followed by one backward, and `lse` is
  /// always given.
  [[nodiscard]] virtual Status backward(const BackwardCall& call) = 0;
  /// Whether forward fills `lse` when it is given.
  [[nodiscard]] virtual bool writes_lse() const = 0;
};

class Implementation {
 public:
  virtual ~Implementation() = default;
  [[nodiscard]] virtual std::string_view id() const = 0;
  /// One line: what it is and what a timing of it contains.
  [[nodiscard]] virtual std::string_view summary() const = 0;
  /// Ok, or the reason shown to the user for what it cannot do.
  [[nodiscard]] virtual Status supports(const Problem& problem) const = 0;
  [[nodiscard]] virtual Result<std::unique_ptr<PreparedAttention>> prepare(
      const Problem& problem) const = 0;
};

}  // namespace attnscope
