// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/packed.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/base/number_formats.h"

namespace attnscope::testing {
namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN();
/// Token-major rows stand this many numbers apart beyond their heads, to catch packed assumptions.
constexpr std::int64_t token_gap = 3;

std::size_t index(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

template <typename Byte>
StridedTensor<Byte> strided(const Packed& p, Byte* data) {
  StridedTensor<Byte> t{data, p.dtype, p.head_dim, p.head_dim, p.tokens * p.head_dim, 0, 0};
  if (p.order == Order::token_major) {
    t.token_stride = p.heads * p.head_dim + token_gap;
    t.head_stride = p.head_dim;
  } else if (p.order == Order::head_major_items) {
    t.head_stride = p.item_tokens * p.head_dim;
    t.item_tokens = p.item_tokens;
    t.item_stride = p.heads * p.item_tokens * p.head_dim;
  }
  return t;
}

std::int64_t extent(const Packed& p) {
  const std::int64_t elements = p.tokens * p.heads * p.head_dim;
  return p.order == Order::token_major
             ? elements + std::max<std::int64_t>(p.tokens - 1, 0) * token_gap
             : elements;
}

}  // namespace

std::string name_of(Order order) {
  switch (order) {
    case Order::token_major:
      return "token-major";
    case Order::head_major:
      return "head-major";
    case Order::head_major_items:
      return "head-major items";
  }
  return "";
}

double unit_roundoff(DType dtype) {
  switch (dtype) {
    case DType::float32:
      return 0x1p-24;
    case DType::float16:
      return 0x1p-11;
    case DType::bfloat16:
      return 0x1p-8;
  }
  return 0;
}

Element::operator float() const {
  return read_value(data_, dtype_, index_);
}
Element& Element::operator=(float value) {
  write_value(data_, dtype_, index_, value);
  return *this;
}

Packed::Packed(std::int64_t tokens_in, std::int64_t heads_in, std::int64_t head_dim_in,
               Order order_in, std::int64_t item_tokens_in, float value, DType dtype_in)
    : tokens(tokens_in),
      heads(heads_in),
      head_dim(head_dim_in),
      item_tokens(item_tokens_in),
      order(order_in),
      dtype(dtype_in) {
  const std::int64_t count = extent(*this);
  data.resize(index(count * size_of(dtype)));
  for (std::int64_t i = 0; i < count; ++i) write_value(data.data(), dtype, i, nan);
  for (std::int64_t t = 0; t < tokens; ++t) {
    for (std::int64_t h = 0; h < heads; ++h) {
      for (std::int64_t x = 0; x < head_dim; ++x) at(t, h, x) = value;
    }
  }
}

Tensor Packed::tensor() {
  return strided(*this, data.data());
}
ConstTensor Packed::view() const {
  return strided(*this, data.data());
}
Element Packed::at(std::int64_t token, std::int64_t head, std::int64_t x) {
  return {data.data(), dtype, view().offset(token, head) + x};
}
float Packed::at(std::int64_t token, std::int64_t head, std::int64_t x) const {
  return read_value(data.data(), dtype, view().offset(token, head) + x);
}

Packed like(const Packed& shape, float value) {
  return {shape.tokens,      shape.heads, shape.head_dim, shape.order,
          shape.item_tokens, value,       shape.dtype};
}

bool gaps_are_untouched(const Packed& packed) {
  Packed expected = like(packed, nan);
  const std::int64_t size = size_of(packed.dtype);
  for (std::int64_t t = 0; t < packed.tokens; ++t) {
    for (std::int64_t h = 0; h < packed.heads; ++h) {
      const std::size_t at = index(packed.view().offset(t, h) * size);
      std::memcpy(expected.data.data() + at, packed.data.data() + at,
                  index(packed.head_dim * size));
    }
  }
  return expected.data == packed.data;
}

Values::Values(std::int64_t tokens_in, std::int64_t heads_in, std::int64_t head_dim_in)
    : tokens(tokens_in),
      heads(heads_in),
      head_dim(head_dim_in),
      data(index(tokens_in * heads_in * head_dim_in)) {}

Values::Values(const Packed& packed) : Values(packed.tokens, packed.heads, packed.head_dim) {
  for (std::int64_t t = 0; t < tokens; ++t) {
    for (std::int64_t h = 0; h < heads; ++h) {
      for (std::int64_t x = 0; x < head_dim; ++x) row(t, h)[x] = double{packed.at(t, h, x)};
    }
  }
}

double* Values::row(std::int64_t token, std::int64_t head) {
  return data.data() + (token * heads + head) * head_dim;
}
const double* Values::row(std::int64_t token, std::int64_t head) const {
  return data.data() + (token * heads + head) * head_dim;
}

double Values::largest() const {
  double largest = 0;
  for (const double x : data) {
    if (std::isfinite(x)) largest = std::max(largest, std::abs(x));
  }
  return largest;
}

}  // namespace attnscope::testing
