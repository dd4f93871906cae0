#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The interface of every attention implementation. To add one, create a folder
// engine/attention/<name>/ and add one line to list.inc; conformance tests, command line, sweep and
// window find it there (list.h).
//
//   const Implementation& segment = *find_implementation("segment");
//   if (Status ok = segment.supports(problem); !ok) report(ok.error().message);
//   auto prepared = segment.prepare(problem);          // derive tiles from the plan, once
//   workspace.resize((*prepared)->workspace_bytes());
//   (*prepared)->forward({q, k, v, o, lse, workspace});
//   (*prepared)->backward({gradients, workspace});     // a problem of direction forward-backward

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "engine/pattern/attention_pattern.h"
#include "engine/pattern/axes.h"
#include "engine/pattern/sequence_layout.h"
#include "kernels/plan/attention_plan.h"
#include "kernels/plan/counts.h"
#include "kernels/plan/tensor.h"

namespace attnscope {

/// Everything fixed before the first call. References must outlive what is prepared from them.
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
  float scale = 1.0F;  // scale_of() the operation
  int threads = 1;
};

/// The factor of the scores: 1/sqrt(head_dim) for attention, 1 for only the products.
[[nodiscard]] inline float scale_of(Operation operation, std::int64_t head_dim) {
  if (operation == Operation::windowed_matmul) return 1.0F;
  return 1.0F / std::sqrt(static_cast<float>(head_dim));
}

/// The direction as the plan's counts name it.
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

/// Inputs and outputs of the preceding forward call, and the gradients to write.
struct BackwardCall {
  GradientTensors tensors;
  std::span<std::byte> workspace;  // the forward call's, unchanged in between
};

/// Work that an implementation executes in one call (forward, or forward and backward together, by
/// the problem's direction), in contrast to the plan's useful work.
struct ExecutedWork {
  double flop = 0;
  double bytes = 0;
};

/// An implementation bound to one problem. Not thread-safe; forward may be called many times.
class PreparedAttention {
 public:
  virtual ~PreparedAttention() = default;
  /// Size of the workspace passed by the caller; library-internal allocations come on top (counting
  /// allocator).
  [[nodiscard]] virtual std::int64_t workspace_bytes() const = 0;
  [[nodiscard]] virtual ExecutedWork executed() const = 0;
  /// Upper bound of the bytes that a call allocates itself, in addition to inputs, outputs and
  /// workspace; 0 for a call that allocates nothing.
  [[nodiscard]] virtual std::int64_t allocated_bytes() const { return 0; }
  /// Peak bytes that a call needs beyond inputs and outputs: the prediction by which a cell becomes
  /// `oom` before the machine swaps. Negative if they exceed 63 bits.
  [[nodiscard]] std::int64_t predicted_peak_bytes() const {
    const std::int64_t workspace = workspace_bytes(), allocated = allocated_bytes();
    std::int64_t peak = 0;
    const bool counted =
        workspace >= 0 && allocated >= 0 && !__builtin_add_overflow(workspace, allocated, &peak);
    return counted ? peak : -1;
  }
  [[nodiscard]] virtual Status forward(const ForwardCall& call) = 0;
  /// Gradients of the preceding forward call, with the same q, k, v. Only for problems of direction
  /// forward-backward, in which every forward is followed by one backward, and `lse` is always
  /// passed.
  [[nodiscard]] virtual Status backward(const BackwardCall& call) = 0;
  /// For calls that another process computes. True: outputs may stay in that process, so that no
  /// call's time includes their transfer; false, the default: every call transfers its outputs, and
  /// those of the last call are fetched.
  [[nodiscard]] virtual Status keep_outputs(bool /*keeps*/) { return {}; }
  /// Makes that process read its inputs after this one has changed them, so that they are in its
  /// caches as after a call.
  [[nodiscard]] virtual Status touch_inputs() { return {}; }
  /// Stops that process from computing until its next call.
  virtual void stop() {}
  /// Largest growth of that process in bytes during its first call; this is the call's memory.
  [[nodiscard]] virtual std::optional<std::int64_t> own_peak_bytes() const { return std::nullopt; }
  /// What the calls so far selected by timing, which may differ between processes, as a sentence
  /// for the results; empty: nothing.
  [[nodiscard]] virtual std::string selected() const { return {}; }
  /// Whether forward fills `lse` if it is passed.
  [[nodiscard]] virtual bool writes_lse() const = 0;
};

using Supports = std::function<Status(const Problem&)>;
using Prepare = std::function<Result<std::unique_ptr<PreparedAttention>>(const Problem&)>;

/// An implementation's own kernels for CUDA, in addition to those for the CPU.
struct CudaVariant {
  Supports supports;  // none: every problem passed to it
  Prepare prepare;
};

/// The variant in builds that compute on CUDA; others omit files named *on_cuda.cpp, and the list
/// declines every problem of device cuda (cuda::usable() returns why).
#ifdef ATTNSCOPE_COMPUTES_ON_CUDA
#define ATTNSCOPE_ON_CUDA(variant) (variant)
#else
#define ATTNSCOPE_ON_CUDA(variant) std::nullopt
#endif

/// A way to compute attention, as its folder defines it:
///
///   std::vector<Implementation> segment_implementations() {
///     return {{.id = "segment", .summary = "...", .supports = supports, .prepare = prepare}};
///   }
///
/// The list first checks the common limits: the device is usable, the operation is one attention,
/// and a fused implementation is not requested for only the products. `prepare` is called only for
/// problems that `supports` accepts.
struct Implementation {
  std::string_view id;
  std::string_view summary;  // one line: what it is and what its timing includes
  bool is_fused = false;     // declines windowed_matmul
  bool is_served = false;    // computed in another process, in memory that both have mapped
  Supports supports = {};    // ok, or the reason shown to the user; none: supports everything
  Prepare prepare;
  std::optional<CudaVariant> on_cuda = std::nullopt;  // none: the same for both devices
};

/// An implementation that derives a structure from the problem, once, and declines a problem that
/// has none: `derive` is a function Problem -> Result<Structure>, `Prepared` is constructed from
/// both.
template <typename Prepared, auto derive>
Implementation on_structure(std::string_view id, std::string_view summary) {
  return {.id = id,
          .summary = summary,
          .supports =
              [](const Problem& problem) {
                const auto structure = derive(problem);
                return structure ? Status() : tl::unexpected(structure.error());
              },
          .prepare = [](const Problem& problem) -> Result<std::unique_ptr<PreparedAttention>> {
            auto structure = derive(problem);
            if (!structure) return tl::unexpected(structure.error());
            return std::make_unique<Prepared>(problem, std::move(*structure));
          }};
}

}  // namespace attnscope
