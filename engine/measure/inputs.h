#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// q, k, v and o of one placement. The values depend on the seed and on (token, head, dim) alone,
// not on memory order, placement or process: one reference serves a whole heat.
//
//   PlacementBuffers buffers(memory, shape, /*seed=*/1, /*placement=*/0);
//   prepared->forward({buffers.q(), buffers.k(), buffers.v(), buffers.o(), {}, workspace});

#include <cstdint>
#include <optional>

#include "engine/measure/block_cache.h"
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
};

/// Bytes of q, k, v and o together with the room for their shifts; absent when they cannot be
/// counted in 63 bits.
[[nodiscard]] std::optional<std::int64_t> buffer_bytes(const InputShape& shape);

/// Strides of a tensor of that shape at `data`.
[[nodiscard]] Tensor tensor_of(const InputShape& shape, std::byte* data);

class PlacementBuffers {
 public:
  /// Each buffer starts at a multiple of 64 bytes that the placement's number decides (up to 4 KiB,
  /// large buffers up to 1 MiB, into the block), behind a spacer: other addresses, other cache
  /// sets.
  PlacementBuffers(BlockCache& memory, const InputShape& shape, std::uint64_t seed, int placement);

  [[nodiscard]] ConstTensor q() const { return attnscope::as_const(tensor(0)); }
  [[nodiscard]] ConstTensor k() const { return attnscope::as_const(tensor(1)); }
  [[nodiscard]] ConstTensor v() const { return attnscope::as_const(tensor(2)); }
  [[nodiscard]] Tensor o() const { return tensor(3); }

  /// Fills o with NaN, so that a row nobody writes is seen.
  void poison_output() const;
  /// Whether every value of o is a finite number.
  [[nodiscard]] bool output_is_finite() const;

 private:
  [[nodiscard]] Tensor tensor(int which) const { return tensor_of(shape_, data_[which]); }

  InputShape shape_;
  Buffer spacer_;
  Buffer blocks_[4];
  std::byte* data_[4] = {};
};

}  // namespace attnscope::measure
