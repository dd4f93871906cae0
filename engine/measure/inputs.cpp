// SPDX-License-Identifier: Apache-2.0
#include "engine/measure/inputs.h"

#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include <algorithm>
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

constexpr std::size_t grad_o_tensor = 4;

/// What a call writes; the gradients only where there are any.
struct Output {
  std::size_t tensor;
  const char* name;
};
constexpr Output outputs[] = {{3, "output"}, {5, "grad_q"}, {6, "grad_k"}, {7, "grad_v"}};

std::int64_t shift_room(std::int64_t bytes) {
  return bytes >= large_buffer ? large_shift : small_shift;
}

std::optional<std::int64_t> tensor_bytes(const InputShape& shape) {
  std::int64_t bytes = size_of(shape.dtype);
  for (const std::int64_t factor : {shape.tokens, shape.heads, shape.head_dim})
    if (__builtin_mul_overflow(bytes, factor, &bytes)) return std::nullopt;
  // Eight tensors, their shifts and the log-sum-exps together.
  if (bytes > std::numeric_limits<std::int64_t>::max() / 16) return std::nullopt;
  return bytes;
}

/// Not above two of the tensors'.
std::int64_t lse_bytes(const InputShape& shape) {
  if (shape.direction == Direction::forward) return 0;
  return shape.tokens * shape.heads * static_cast<std::int64_t>(sizeof(float));
}

template <typename Visit>
void for_each_row(const InputShape& shape, const Visit& visit) {
#pragma omp parallel for schedule(static)
  for (std::int64_t token = 0; token < shape.tokens; ++token)
    for (std::int64_t head = 0; head < shape.heads; ++head) visit(token, head);
}

template <typename T>
void fill_row(const InputShape& shape, const Tensor& tensor, std::int64_t token, std::int64_t head,
              std::uint64_t seed) {
  T* row = tensor.at<T>(token, head);
  const std::int64_t first = (token * shape.heads + head) * shape.head_dim;
  for (std::int64_t d = 0; d < shape.head_dim; ++d)
    row[d] = static_cast<T>(random_normal(seed, static_cast<std::uint64_t>(first + d)));
}

template <typename T>
void fill(const InputShape& shape, const Tensor& tensor, std::uint64_t seed) {
  for_each_row(shape, [&](std::int64_t token, std::int64_t head) {
    fill_row<T>(shape, tensor, token, head, seed);
  });
}

template <typename T>
void fill_with(const InputShape& shape, const Tensor& tensor, float value) {
  for_each_row(shape, [&](std::int64_t token, std::int64_t head) {
    T* row = tensor.at<T>(token, head);
    for (std::int64_t d = 0; d < shape.head_dim; ++d) row[d] = static_cast<T>(value);
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
  const std::int64_t lse = lse_bytes(shape);
  return shape.tensors() * (*one + shift_room(*one)) + (lse > 0 ? lse + shift_room(lse) : 0) +
         (spacer_steps + 1) * small_shift;
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

PlacedTensors::PlacedTensors(HeatMemory& memory, const InputShape& shape, std::uint64_t seed,
                             int placement, std::int64_t step)
    : shape_(shape), step_(step) {
  const auto bytes = tensor_bytes(shape);
  if (!bytes) throw OutOfMemory(std::numeric_limits<std::int64_t>::max(), memory.free_bytes());
  const std::uint64_t place = random_bits(seed, static_cast<std::uint64_t>(placement));
  spacer_ = Buffer(memory, static_cast<std::int64_t>(1 + place % spacer_steps) * small_shift);
  for (int which = 0; which < shape.tensors(); ++which)
    data_.push_back(allocate(memory, *bytes, place));
  if (const std::int64_t lse = lse_bytes(shape); lse > 0)
    lse_ = reinterpret_cast<float*>(allocate(memory, lse, place));
}

std::byte* PlacedTensors::allocate(HeatMemory& memory, std::int64_t bytes, std::uint64_t place) {
  const std::int64_t room = shift_room(bytes);
  const auto steps = static_cast<std::uint64_t>(room / step_) - 1;
  const auto shift =
      static_cast<std::int64_t>(1 + random_bits(place, blocks_.size()) % steps) * step_;
  blocks_.emplace_back(memory, bytes + room);
  return blocks_.back().bytes().data() + shift;
}

std::span<float> PlacedTensors::lse() const {
  if (lse_ == nullptr) return {};
  return {lse_, static_cast<std::size_t>(shape_.tokens * shape_.heads)};
}

std::span<std::byte> PlacedTensors::bytes_of(int which) const {
  return {data_[static_cast<std::size_t>(which)],
          static_cast<std::size_t>(tensor_bytes(shape_).value_or(0))};
}

void PlacedTensors::watched_by(GuardZones& guards) const {
  const auto watch = [&](const char* name, const Buffer& block, std::span<std::byte> values) {
    constexpr std::size_t nearest = 4096;
    const std::span<std::byte> whole = block.bytes();
    const auto before = static_cast<std::size_t>(values.data() - whole.data());
    const std::span<std::byte> behind = whole.subspan(before + values.size());
    guards.watch(name, whole.first(before).last(std::min(before, nearest)));
    guards.watch(name, behind.first(std::min(behind.size(), nearest)));
  };
  for (const Output& output : outputs) {
    if (output.tensor >= data_.size()) continue;
    watch(output.name, blocks_[output.tensor], bytes_of(static_cast<int>(output.tensor)));
  }
  if (lse_ != nullptr) watch("log-sum-exp", blocks_.back(), std::as_writable_bytes(lse()));
}

PlacementBuffers::PlacementBuffers(HeatMemory& memory, const InputShape& shape, std::uint64_t seed,
                                   int placement)
    : PlacedTensors(memory, shape, seed, placement, line), seed_(seed) {
  with_type(shape.dtype, [&](auto zero) {
    for (std::size_t which = 0; which < 3; ++which)
      fill<decltype(zero)>(shape_, tensor(which), random_bits(~seed, which));
  });
  if (shape.direction != Direction::forward) fill_grad_o();
  poison_outputs();
}

void PlacementBuffers::fill_grad_o() const {
  with_type(shape_.dtype, [&](auto zero) {
    fill<decltype(zero)>(shape_, tensor(grad_o_tensor), random_bits(~seed_, grad_o_tensor));
  });
}

void PlacementBuffers::fill_grad_o(std::span<const RowId> rows) const {
  with_type(shape_.dtype, [&](auto zero) {
    fill_with<decltype(zero)>(shape_, tensor(grad_o_tensor), 0.0F);
    for (const RowId& row : rows)
      fill_row<decltype(zero)>(shape_, tensor(grad_o_tensor), row.token, row.head,
                               random_bits(~seed_, grad_o_tensor));
  });
}

void PlacementBuffers::poison_outputs() const {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  with_type(shape_.dtype, [&](auto zero) {
    for (const Output& output : outputs)
      if (output.tensor < static_cast<std::size_t>(tensors()))
        fill_with<decltype(zero)>(shape_, tensor(output.tensor), nan);
  });
  std::ranges::fill(lse(), nan);
}

const char* PlacementBuffers::not_finite() const {
  return with_type(shape_.dtype, [&](auto zero) -> const char* {
    for (const Output& output : outputs)
      if (output.tensor < static_cast<std::size_t>(tensors()) &&
          !is_finite<decltype(zero)>(shape_, tensor(output.tensor)))
        return output.name;
    return nullptr;
  });
}

}  // namespace attnscope::measure
