#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The fused kernels, run in the emulation: operands are copied to device memory of exactly their
// size, what lies between their rows is memory that nothing has written, and results come back with
// a look at what was written and what was not.

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "kernels/cuda/segment.h"
#include "kernels/cuda/work_list.h"
#include "tests/cuda_on_host/device_memory.h"
#include "tests/kernels/attention_case.h"
#include "tests/kernels/gradient_case.h"

namespace attnscope::testing {

/// How tensors lie in device memory.
enum class Place {
  token_major,        // rows side by side: loads of 16 bytes where the head dimension allows
  token_major_apart,  // 3 numbers between tokens: no such loads
  head_major,
  head_major_items,  // the items' tokens apart: [items, heads, tokens, dim]
  off_its_boundary,  // head-major, one number behind the boundary
};

inline constexpr std::array places{Place::token_major, Place::token_major_apart, Place::head_major,
                                   Place::off_its_boundary};

[[nodiscard]] std::string name_of(Place place);

/// A packed tensor in device memory.
class WatchedTensor {
 public:
  enum class Content { given, unwritten };

  /// Of the shape of `packed`, and with its numbers or without.
  WatchedTensor(const std::string& name, const Packed& packed, Place place, Content content);

  [[nodiscard]] Tensor tensor() const;
  [[nodiscard]] ConstTensor view() const { return attnscope::as_const(tensor()); }
  /// A copy; test failures tell of numbers that nothing wrote, and of writes between the rows.
  [[nodiscard]] Packed read_back() const;

 private:
  std::string name_;
  Packed shape_;
  Place place_;
  on_host::DeviceArray<std::byte> memory_;
};

/// A plan cut for the device, its list and workspace there, which calls share as on a stream.
class SegmentOnHost {
 public:
  SegmentOnHost(const AttentionPlan& plan, std::int64_t head_dim, DType dtype, Passes passes);
  /// A work list that no plan gives.
  SegmentOnHost(const cuda::WorkList& list, std::int64_t head_dim, DType dtype);

  [[nodiscard]] const cuda::SegmentWork& work() const { return *work_; }
  [[nodiscard]] cuda::SegmentMemory memory() const { return {list_->data(), workspace_->data()}; }

  /// Status and results of a call whose operands lie as `place` says.
  [[nodiscard]] Result<Outputs> try_forward(const Inputs& inputs, Place place) const;
  [[nodiscard]] Result<Gradients> try_backward(const BackwardCase& problem, Place place) const;

  /// The same; test failures tell of errors.
  [[nodiscard]] Outputs forward(const Inputs& inputs, Place place) const;
  [[nodiscard]] Gradients backward(const BackwardCase& problem, Place place) const;

 private:
  void start();
  void expect_counters_at_zero() const;

  std::unique_ptr<cuda::SegmentWork> work_;
  std::unique_ptr<on_host::DeviceArray<std::byte>> list_, workspace_;
};

/// Forward, and backward of what that left, against the float64 reference.
void expect_cuda_segment_right(const AttentionPlan& plan, const Inputs& inputs, const KeysOf& keys,
                               Place place, const std::string& what);
void expect_cuda_segment_right(const AttentionCase& problem, Place place);

}  // namespace attnscope::testing
