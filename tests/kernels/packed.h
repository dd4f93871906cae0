#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Tensors in the memory orders and number formats that kernels support, surrounded by NaN; the same
// numbers in float64; workspaces between guards.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "kernels/plan/tensor.h"

namespace attnscope::testing {

inline constexpr float nan = std::numeric_limits<float>::quiet_NaN();
inline constexpr float inf = std::numeric_limits<float>::infinity();

constexpr std::size_t index(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

/// The memory order of a tensor.
enum class Order {
  token_major,        // adjacent rows; CUDA uses 16-byte loads if the head dimension allows it
  token_major_apart,  // 3 numbers between tokens: no such loads; detects code that assumes no gaps
  head_major,
  head_major_items,  // [items, heads, tokens, dim]
  off_its_boundary,  // head-major, one number after the boundary
};

/// The orders that every batch can have.
inline constexpr std::array orders{Order::token_major_apart, Order::head_major, Order::token_major,
                                   Order::off_its_boundary};

[[nodiscard]] std::string name_of(Order order);

/// Largest relative error of rounding to nearest.
[[nodiscard]] double unit_roundoff(DType dtype);

/// One number of a tensor; writing rounds it to the tensor's type.
class Element {
 public:
  Element(std::byte* data, DType dtype, std::int64_t index)
      : data_(data), dtype_(dtype), index_(index) {}
  Element(const Element&) = default;
  operator float() const;  // NOLINT: implicit like a float
  Element& operator=(float value);
  Element& operator=(const Element& other) { return *this = static_cast<float>(other); }
  Element& operator*=(float factor) { return *this = static_cast<float>(*this) * factor; }

 private:
  std::byte* data_;
  DType dtype_;
  std::int64_t index_;
};

/// A packed tensor in one memory order. Gaps between rows are NaN. The memory ends with the last
/// element, so that sanitizers find accesses beyond it.
struct Packed {
  std::vector<std::byte> data;
  std::int64_t tokens = 0, heads = 0, head_dim = 0, item_tokens = 0;
  Order order = Order::token_major;
  DType dtype = DType::float32;

  Packed(std::int64_t tokens, std::int64_t heads, std::int64_t head_dim, Order order,
         std::int64_t item_tokens, float value, DType dtype = DType::float32);
  [[nodiscard]] Tensor tensor();
  [[nodiscard]] ConstTensor view() const;
  /// Bytes from `data` to row (token, head).
  [[nodiscard]] std::int64_t row(std::int64_t token, std::int64_t head) const;
  [[nodiscard]] std::int64_t row_bytes() const { return head_dim * size_of(dtype); }
  [[nodiscard]] Element at(std::int64_t token, std::int64_t head, std::int64_t x);
  [[nodiscard]] float at(std::int64_t token, std::int64_t head, std::int64_t x) const;
};

/// A tensor of the same shape, all elements `value`.
[[nodiscard]] Packed like(const Packed& shape, float value);

/// Whether the gaps still have the NaN that Packed wrote.
[[nodiscard]] bool gaps_are_untouched(const Packed& packed);

[[nodiscard]] bool same_row(const Packed& a, const Packed& b, std::int64_t token,
                            std::int64_t head);
[[nodiscard]] bool is_finite(const Packed& packed, std::int64_t token, std::int64_t head);

/// A packed tensor as float64 [tokens, heads, head_dim].
struct Values {
  std::int64_t tokens = 0, heads = 0, head_dim = 0;
  std::vector<double> data;

  Values() = default;
  Values(std::int64_t tokens, std::int64_t heads, std::int64_t head_dim);
  explicit Values(const Packed& packed);
  [[nodiscard]] double* row(std::int64_t token, std::int64_t head);
  [[nodiscard]] const double* row(std::int64_t token, std::int64_t head) const;
  [[nodiscard]] double largest() const;  // magnitude of the finite ones
};

inline double dot(const double* a, const double* b, std::int64_t n) {
  double sum = 0;
  for (std::int64_t x = 0; x < n; ++x) sum += a[x] * b[x];
  return sum;
}

/// to += factor * from.
inline void add(double factor, const double* from, std::int64_t n, double* to) {
  for (std::int64_t x = 0; x < n; ++x) to[x] += factor * from[x];
}

/// A workspace of exactly the requested size, full of NaN and between guards.
class GuardedWorkspace {
 public:
  explicit GuardedWorkspace(std::int64_t bytes)
      : memory_(static_cast<std::size_t>(bytes + 2 * guard_bytes), guard) {
    std::ranges::fill(this->bytes(), std::byte{0xff});  // as float32 a NaN
  }
  [[nodiscard]] std::span<std::byte> bytes() {
    return std::span(memory_).subspan(guard_bytes, memory_.size() - 2 * guard_bytes);
  }
  [[nodiscard]] std::span<float> floats() {
    return {reinterpret_cast<float*>(bytes().data()), bytes().size() / sizeof(float)};
  }
  [[nodiscard]] bool guards_are_intact() const {
    const auto is_guard = [](std::byte b) { return b == guard; };
    return std::all_of(memory_.begin(), memory_.begin() + guard_bytes, is_guard) &&
           std::all_of(memory_.end() - guard_bytes, memory_.end(), is_guard);
  }

 private:
  /// No multiple of a cache line, so that the workspace begins unaligned.
  static constexpr std::int64_t guard_bytes = 272;
  static constexpr std::byte guard{0xa5};
  std::vector<std::byte> memory_;
};

}  // namespace attnscope::testing
