#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The tensors and the device memory of a call: their form as kernel arguments, by value, checks
// that they match the call's work list, and the error messages of calls. The messages are outside
// the .cu files, because nvcc cannot compile fmt's checked format strings in C++20.
//
//   const Operands operands(dtype, head_dim, tokens, {{"q", q}});  // of the work list
//   if (!operands.status()) return operands.status();
//   arguments.q = operands.on_device(q);

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/result.h"
#include "kernels/plan/tensor.h"

namespace attnscope::cuda {

/// Division of token numbers below 2^31 by an item's tokens, as a multiplication and a shift
/// (Granlund and Montgomery, 1994). A 64-bit division would cost more than a row's products.
struct ItemDivision {
  std::uint32_t tokens = 0;  // 0: the token axis is not split into items
  std::uint32_t multiplier = 0;
  std::uint32_t shift = 0;
};

/// StridedTensor for kernels; strides in bytes.
template <typename Byte>
struct DeviceTensor {
  Byte* data = nullptr;
  std::int64_t token_stride = 0;
  std::int64_t head_stride = 0;
  std::int64_t item_stride = 0;
};

using Input = DeviceTensor<const std::byte>;
using Output = DeviceTensor<std::byte>;

struct NamedTensor {
  std::string_view name;
  ConstTensor tensor;
};
/// The inputs and outputs of a backward call; `o` is the last.
[[nodiscard]] std::vector<NamedTensor> named(const GradientTensors& tensors);

/// The tensors of a call, and the common properties of their memory.
class Operands {
 public:
  Operands(DType dtype, std::int64_t head_dim, std::int64_t tokens,
           const std::vector<NamedTensor>& tensors);

  [[nodiscard]] const Status& status() const { return status_; }
  /// Whether all rows begin and end at multiples of 16 bytes.
  [[nodiscard]] bool in_pieces() const { return in_pieces_; }
  /// Whether strides of tokens are below 2^31 bytes.
  [[nodiscard]] bool short_strides() const { return short_strides_; }
  [[nodiscard]] ItemDivision items() const;

  template <typename Byte>
  [[nodiscard]] DeviceTensor<Byte> on_device(const StridedTensor<Byte>& tensor) const {
    const std::int64_t size = size_of(dtype_);
    const bool split = is_split(tensor.item_tokens);
    return {
        .data = tensor.data,
        .token_stride = tensor.token_stride * size,
        .head_stride = tensor.head_stride * size,
        .item_stride = (split ? tensor.item_stride : item_tokens_ * tensor.token_stride) * size};
  }

 private:
  [[nodiscard]] Status check(const NamedTensor& named) const;
  /// If all tokens are in one item, no division is needed.
  [[nodiscard]] bool is_split(std::int64_t item_tokens) const {
    return item_tokens > 0 && item_tokens < tokens_;
  }

  DType dtype_;
  std::int64_t head_dim_, tokens_;
  Status status_;
  bool in_pieces_ = true;
  bool short_strides_ = true;
  std::int64_t item_tokens_ = 0;
};

/// Checks that `operation` has its work list and a workspace of that size.
[[nodiscard]] Status check_memory(std::string_view operation, const std::byte* list,
                                  std::size_t list_bytes, const std::byte* workspace,
                                  std::int64_t workspace_bytes);

/// The error of a backward call with a work list of Passes::forward.
[[nodiscard]] Status made_for_forward_only(std::string_view operation);

[[nodiscard]] Status no_memory_for(std::string_view operation, std::string_view what,
                                   std::int64_t floats);

/// The environment's ATTNSCOPE_CUDA_SYNC, read once; tests set it.
[[nodiscard]] std::atomic<bool>& synchronises_launches();

/// `text` and `name` are those of the error. If it may be that of a kernel queued earlier, the
/// message names the switch that finds the launch.
[[nodiscard]] Status failed_call(const char* call, const char* file, int line, const char* text,
                                 const char* name);
/// The part of that message which names the switch; empty for other errors, and if it is set.
[[nodiscard]] std::string_view how_to_find_the_launch(std::string_view name);

/// The error of `what`, which synchronises or allocates, on a stream that is being captured.
[[nodiscard]] Status refused_capture(const char* what);

/// The error of a launch that needs more than the device has.
[[nodiscard]] Status too_large_launch(const char* name, std::int64_t needed, std::string_view what,
                                      std::string_view device, std::int64_t most);

/// Calls visit() with the type as a constant, so that code that depends on it is selected once.
template <typename Visit>
[[nodiscard]] auto with_type(DType dtype, const Visit& visit) {
  if (dtype == DType::float32) return visit(std::integral_constant<DType, DType::float32>{});
  if (dtype == DType::float16) return visit(std::integral_constant<DType, DType::float16>{});
  return visit(std::integral_constant<DType, DType::bfloat16>{});
}

}  // namespace attnscope::cuda
