// SPDX-License-Identifier: Apache-2.0
#include "engine/measure/inputs.h"

#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include <atomic>
#include <cmath>
#include <limits>

#include "engine/measure/random.h"

namespace attnscope::measure {
namespace {

constexpr std::int64_t line = 64;
constexpr std::int64_t small_shift = 4096;
constexpr std::int64_t large_shift = std::int64_t{1} << 20;
constexpr std::int64_t large_buffer = std::int64_t{2} << 20;
constexpr std::int64_t spacer_steps = 64;  // of small_shift bytes

std::int64_t shift_room(std::int64_t bytes) {
  return bytes >= large_buffer ? large_shift : small_shift;
}

std::optional<std::int64_t> tensor_bytes(const InputShape& shape) {
  std::int64_t bytes = size_of(shape.dtype);
  for (const std::int64_t factor : {shape.tokens, shape.heads, shape.head_dim})
    if (__builtin_mul_overflow(bytes, factor, &bytes)) return std::nullopt;
  if (bytes > std::numeric_limits<std::int64_t>::max() / 8) return std::nullopt;
  return bytes;
}

template <typename Visit>
void for_each_row(const InputShape& shape, const Visit& visit) {
#pragma omp parallel for schedule(static)
  for (std::int64_t token = 0; token < shape.tokens; ++token)
    for (std::int64_t head = 0; head < shape.heads; ++head) visit(token, head);
}

template <typename T>
void fill(const InputShape& shape, const Tensor& tensor, std::uint64_t seed) {
  for_each_row(shape, [&](std::int64_t token, std::int64_t head) {
    T* row = tensor.at<T>(token, head);
    const std::int64_t first = (token * shape.heads + head) * shape.head_dim;
    for (std::int64_t d = 0; d < shape.head_dim; ++d)
      row[d] = static_cast<T>(random_normal(seed, static_cast<std::uint64_t>(first + d)));
  });
}

template <typename T>
void fill_with_nan(const InputShape& shape, const Tensor& tensor) {
  for_each_row(shape, [&](std::int64_t token, std::int64_t head) {
    T* row = tensor.at<T>(token, head);
    for (std::int64_t d = 0; d < shape.head_dim; ++d)
      row[d] = static_cast<T>(std::numeric_limits<float>::quiet_NaN());
  });
}

template <typename T>
bool is_finite(const InputShape& shape, const Tensor& tensor) {
  std::atomic<bool> finite = true;
  for_each_row(shape, [&](std::int64_t token, std::int64_t head) {
    const T* row = tensor.at<T>(token, head);
    for (std::int64_t d = 0; d < shape.head_dim; ++d)
      if (!std::isfinite(static_cast<float>(row[d]))) finite = false;
  });
  return finite;
}

/// Calls visit(T{}) with the C++ type of the dtype.
template <typename Visit>
auto with_type(DType dtype, const Visit& visit) {
  switch (dtype) {
    case DType::float16:
      return visit(c10::Half{});
    case DType::bfloat16:
      return visit(c10::BFloat16{});
    case DType::float32:
      break;
  }
  return visit(float{});
}

}  // namespace

std::optional<std::int64_t> buffer_bytes(const InputShape& shape) {
  const auto one = tensor_bytes(shape);
  if (!one) return std::nullopt;
  return 4 * (*one + shift_room(*one)) + (spacer_steps + 1) * small_shift;
}

Tensor tensor_of(const InputShape& shape, std::byte* data) {
  Tensor tensor{.data = data, .dtype = shape.dtype, .head_dim = shape.head_dim};
  if (shape.memory_order == MemoryOrder::token_major) {
    tensor.token_stride = shape.heads * shape.head_dim;
    tensor.head_stride = shape.head_dim;
    return tensor;
  }
  const std::int64_t item_tokens = shape.items > 0 ? shape.tokens / shape.items : 0;
  tensor.token_stride = shape.head_dim;
  tensor.head_stride = item_tokens * shape.head_dim;
  tensor.item_tokens = item_tokens;
  tensor.item_stride = shape.heads * item_tokens * shape.head_dim;
  return tensor;
}

PlacementBuffers::PlacementBuffers(BlockCache& memory, const InputShape& shape, std::uint64_t seed,
                                   int placement)
    : shape_(shape) {
  const auto bytes = tensor_bytes(shape);
  if (!bytes) throw OutOfMemory(std::numeric_limits<std::int64_t>::max(), memory.free_bytes());
  const std::uint64_t place = random_bits(seed, static_cast<std::uint64_t>(placement));
  spacer_ = Buffer(memory, static_cast<std::int64_t>(1 + place % spacer_steps) * small_shift);
  for (unsigned which = 0; which < 4; ++which) {
    const std::int64_t room = shift_room(*bytes);
    const auto steps = static_cast<std::uint64_t>(room / line);
    const auto shift = static_cast<std::int64_t>(random_bits(place, which) % steps) * line;
    blocks_[which] = Buffer(memory, *bytes + room);
    data_[which] = blocks_[which].bytes().data() + shift;
  }
  with_type(shape.dtype, [&](auto zero) {
    for (unsigned which = 0; which < 3; ++which)
      fill<decltype(zero)>(shape_, tensor(static_cast<int>(which)), random_bits(~seed, which));
  });
  poison_output();
}

void PlacementBuffers::poison_output() const {
  with_type(shape_.dtype, [&](auto zero) { fill_with_nan<decltype(zero)>(shape_, o()); });
}

bool PlacementBuffers::output_is_finite() const {
  return with_type(shape_.dtype, [&](auto zero) { return is_finite<decltype(zero)>(shape_, o()); });
}

}  // namespace attnscope::measure
