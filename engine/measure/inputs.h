#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// q, k, v and o of one placement, and the gradients of a heat that goes back as well. The values
// depend on the seed and on (token, head, dim) alone, not on memory order, placement or process:
// one reference serves a whole heat.
//
//   PlacementBuffers buffers(memory, shape, /*seed=*/1, /*placement=*/0);
//   prepared->forward({buffers.q(), buffers.k(), buffers.v(), buffers.o(), {}, workspace});

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/attention/reference.h"
#include "engine/measure/guard_zones.h"
#include "engine/measure/heat_memory.h"
#include "engine/pattern/axes.h"
#include "engine/pattern/sequence_layout.h"
#include "kernels/plan/tensor.h"

namespace attnscope::measure {

struct InputShape {
  std::int64_t tokens = 0;  // over the whole batch
  std::int64_t items = 1;   // of equal length when memory_order is head-major
  std::int64_t heads = 0;
  std::int64_t head_dim = 0;
  DType dtype = DType::float32;
  MemoryOrder memory_order = MemoryOrder::head_major;
  Direction direction = Direction::forward;
  /// q, k, v, o; with gradients grad_o, grad_q, grad_k, grad_v, too.
  [[nodiscard]] int tensors() const { return direction == Direction::forward ? 4 : 8; }
};

/// Bytes of all tensors (and the log-sum-exps, with gradients) together with the room for their
/// shifts; absent when they cannot be counted in 63 bits.
[[nodiscard]] std::optional<std::int64_t> buffer_bytes(const InputShape& shape);

/// Strides of a tensor of that shape at `data`.
[[nodiscard]] Tensor tensor_of(const InputShape& shape, std::byte* data);

/// Memory for the tensors of one placement, of any device; nothing is written to it.
class PlacedTensors {
 public:
  /// Each tensor starts at a multiple of `step` bytes that the placement's number decides (up to
  /// 4 KiB, large tensors up to 1 MiB, into its block, with at least a step of room on both sides),
  /// behind a spacer: other addresses, other cache sets.
  PlacedTensors(HeatMemory& memory, const InputShape& shape, std::uint64_t seed, int placement,
                std::int64_t step);

  [[nodiscard]] ConstTensor q() const { return attnscope::as_const(tensor(0)); }
  [[nodiscard]] ConstTensor k() const { return attnscope::as_const(tensor(1)); }
  [[nodiscard]] ConstTensor v() const { return attnscope::as_const(tensor(2)); }
  [[nodiscard]] Tensor o() const { return tensor(3); }

  /// For shapes with gradients: what arrives, and what leaves. [tokens, heads]; empty without.
  [[nodiscard]] std::span<float> lse() const;
  [[nodiscard]] ConstTensor grad_o() const { return attnscope::as_const(tensor(4)); }
  [[nodiscard]] Tensor grad_q() const { return tensor(5); }
  [[nodiscard]] Tensor grad_k() const { return tensor(6); }
  [[nodiscard]] Tensor grad_v() const { return tensor(7); }

  [[nodiscard]] int tensors() const { return static_cast<int>(data_.size()); }
  /// All values of a tensor, 0 ... tensors().
  [[nodiscard]] std::span<std::byte> bytes_of(int which) const;
  /// The nearest of the room on both sides of what a call writes.
  void watched_by(GuardZones& guards) const;

 protected:
  [[nodiscard]] Tensor tensor(std::size_t which) const { return tensor_of(shape_, data_[which]); }
  InputShape shape_;

 private:
  [[nodiscard]] std::byte* allocate(HeatMemory& memory, std::int64_t bytes, std::uint64_t place);

  std::int64_t step_;
  Buffer spacer_;
  std::vector<Buffer> blocks_;
  std::vector<std::byte*> data_;  // of each tensor
  float* lse_ = nullptr;
};

/// Which of the tensors a call reads and which it writes.
[[nodiscard]] constexpr bool is_output(int tensor) {
  return tensor == 3 || tensor > 4;
}

/// Tensors in the host's memory with values in them; at multiples of 64 bytes.
class PlacementBuffers : public PlacedTensors {
 public:
  PlacementBuffers(HeatMemory& memory, const InputShape& shape, std::uint64_t seed, int placement);

  /// Fills grad_o with its random values, as it is when constructed.
  void fill_grad_o() const;
  /// The same in these rows, and 0 in all others.
  void fill_grad_o(std::span<const RowId> rows) const;

  /// Fills what a call writes with NaN, so that a row nobody writes is seen.
  void poison_outputs() const;
  /// The first of "output", "grad_q", "grad_k", "grad_v" that holds a value that is no finite
  /// number; nullptr when there is none.
  [[nodiscard]] const char* not_finite() const;

 private:
  std::uint64_t seed_;
};

}  // namespace attnscope::measure
