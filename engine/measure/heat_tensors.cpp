// SPDX-License-Identifier: Apache-2.0
#include "engine/measure/heat_tensors.h"

#include <limits>
#include <memory>

#include "engine/measure/heat_device.h"
#include "engine/measure/random.h"
#include "kernels/plan/number_formats.h"

namespace attnscope::measure {
namespace {

constexpr std::int64_t small_shift = 4096;
constexpr std::int64_t large_shift = std::int64_t{1} << 20;
constexpr std::int64_t large_buffer = std::int64_t{2} << 20;
constexpr std::int64_t spacer_steps = 64;  // in steps of small_shift bytes
// Alignment of LibTorch's allocator: all users' tensors have it.
constexpr std::int64_t device_step = 512;
constexpr std::uint64_t grad_o_tensor = 4;

/// Blocks of this scope are shared, if requested.
class SharedScope {
 public:
  SharedScope(HeatMemory& memory, bool shared) : memory_(memory) { memory.set_shared(shared); }
  SharedScope(const SharedScope&) = delete;
  SharedScope& operator=(const SharedScope&) = delete;
  ~SharedScope() { memory_.set_shared(false); }

 private:
  HeatMemory& memory_;
};

std::int64_t shift_room(std::int64_t bytes) {
  return bytes >= large_buffer ? large_shift : small_shift;
}

void fill_row(const Tensor& tensor, std::int64_t heads, const RowId& row, std::uint64_t seed) {
  const std::int64_t offset = tensor.offset(row.token, row.head);
  const std::int64_t first = (row.token * heads + row.head) * tensor.head_dim;
  for (std::int64_t d = 0; d < tensor.head_dim; ++d) {
    write_value(tensor.data, tensor.dtype, offset + d,
                random_normal(seed, static_cast<std::uint64_t>(first + d)));
  }
}

}  // namespace

std::optional<std::int64_t> buffer_bytes(const CallShape& shape) {
  const auto tensor = shape.tensor_bytes();
  if (!tensor) return std::nullopt;
  const std::int64_t lse = shape.lse_bytes();  // at most the bytes of two tensors
  return shape.tensors() * (*tensor + shift_room(*tensor)) + (lse > 0 ? lse + shift_room(lse) : 0) +
         (spacer_steps + 1) * small_shift;
}

Room HeatTensors::room_at(std::uint64_t place, std::uint64_t index, std::int64_t bytes) const {
  const std::int64_t step = tensors_.has_host_copy() ? device_step : cache_line;
  const std::int64_t room = shift_room(bytes);
  const auto steps = static_cast<std::uint64_t>(room / step) - 1;
  const auto shift = static_cast<std::size_t>(
      static_cast<std::int64_t>(1 + random_bits(place, index) % steps) * step);
  auto block = std::make_shared<Buffer>(memory_, bytes + room);
  const std::span<std::byte> whole = block->bytes();
  return {.block = std::move(block),
          .before = whole.first(shift),
          .values = whole.subspan(shift, static_cast<std::size_t>(bytes)),
          .after = whole.subspan(shift + static_cast<std::size_t>(bytes))};
}

void HeatTensors::release() {
  tensors_.release();
  spacer_ = Buffer();
}

void HeatTensors::place(int placement) {
  release();
  memory_.empty_cache_of_movable();
  if (!tensors_.shape().tensor_bytes())
    throw OutOfMemory(std::numeric_limits<std::int64_t>::max(), memory_.free_bytes());
  const std::uint64_t place = random_bits(seed_, static_cast<std::uint64_t>(placement));
  spacer_ = Buffer(memory_, static_cast<std::int64_t>(1 + place % spacer_steps) * small_shift);
  std::uint64_t index = 0;
  {
    const SharedScope scope(memory_, shared_);
    tensors_.place([&](std::int64_t bytes) { return room_at(place, index++, bytes); });
  }
  if (!tensors_.has_host_copy() || !host_is_filled_) {
    const CallView host = tensors_.on_host();
    fill(host.q, 0);
    fill(host.k, 1);
    fill(host.v, 2);
    if (tensors_.shape().has_gradients()) fill(host.grad_o, grad_o_tensor);
    host_is_filled_ = true;
  }
  tensors_.send_inputs();
  tensors_.poison(Pass::both);
}

void HeatTensors::fill(const Tensor& tensor, std::uint64_t which) const {
  const CallShape& shape = tensors_.shape();
  const std::uint64_t seed = random_bits(~seed_, which);
#pragma omp parallel for schedule(static)
  for (std::int64_t token = 0; token < shape.layout.tokens(); ++token) {
    for (std::int32_t head = 0; head < shape.heads; ++head)
      fill_row(tensor, shape.heads, {token, head}, seed);
  }
}

void HeatTensors::fill_grad_o() const {
  fill(tensors_.on_host().grad_o, grad_o_tensor);
  tensors_.send_inputs();
}

void HeatTensors::fill_grad_o(std::span<const RowId> rows) const {
  const Tensor grad_o = tensors_.on_host().grad_o;
  const CallShape& shape = tensors_.shape();
  std::fill_n(grad_o.data, shape.tensor_bytes().value(), std::byte{0});
  for (const RowId& row : rows)
    fill_row(grad_o, shape.heads, row, random_bits(~seed_, grad_o_tensor));
  tensors_.send_inputs();
}

}  // namespace attnscope::measure
