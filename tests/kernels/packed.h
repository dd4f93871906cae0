#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Tensors in the memory orders and number formats that kernels take, surrounded by NaN.

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/plan/tensor.h"

namespace attnscope::testing {

enum class Order { token_major, head_major, head_major_items };

[[nodiscard]] std::string name_of(Order order);

/// Largest relative error of rounding to nearest.
[[nodiscard]] double unit_roundoff(DType dtype);

/// One number of a tensor; writing rounds it to the tensor's type.
class Element {
 public:
  Element(std::byte* data, DType dtype, std::int64_t index)
      : data_(data), dtype_(dtype), index_(index) {}
  Element(const Element&) = default;
  operator float() const;  // NOLINT: stands for the number
  Element& operator=(float value);
  Element& operator=(const Element& other) { return *this = static_cast<float>(other); }
  Element& operator*=(float factor) { return *this = static_cast<float>(*this) * factor; }

 private:
  std::byte* data_;
  DType dtype_;
  std::int64_t index_;
};

/// A packed tensor in one memory order. Token-major rows stand apart, the numbers between them are
/// NaN; the memory ends with the last element, where sanitizers watch.
struct Packed {
  std::vector<std::byte> data;
  std::int64_t tokens = 0, heads = 0, head_dim = 0, item_tokens = 0;
  Order order = Order::token_major;
  DType dtype = DType::float32;

  Packed(std::int64_t tokens, std::int64_t heads, std::int64_t head_dim, Order order,
         std::int64_t item_tokens, float value, DType dtype = DType::float32);
  [[nodiscard]] Tensor tensor();
  [[nodiscard]] ConstTensor view() const;
  [[nodiscard]] Element at(std::int64_t token, std::int64_t head, std::int64_t x);
  [[nodiscard]] float at(std::int64_t token, std::int64_t head, std::int64_t x) const;
};

/// A tensor of the same shape, all elements `value`.
[[nodiscard]] Packed like(const Packed& shape, float value);

/// Whether the numbers between the elements still are the NaN that Packed put there.
[[nodiscard]] bool gaps_are_untouched(const Packed& packed);

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

}  // namespace attnscope::testing
