// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/packed.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/plan/number_formats.h"

namespace attnscope::testing {
namespace {

/// Numbers between tokens, and before the first row.
std::int64_t gap(Order order) {
  return order == Order::token_major_apart ? 3 : 0;
}
std::int64_t lead(Order order) {
  return order == Order::off_its_boundary ? 1 : 0;
}

template <typename Byte>
StridedTensor<Byte> strided(const Packed& p, Byte* data) {
  const std::int64_t d = p.head_dim;
  StridedTensor<Byte> t{data + lead(p.order) * size_of(p.dtype), p.dtype, d, d, p.tokens * d, 0, 0};
  if (p.order == Order::token_major || p.order == Order::token_major_apart) {
    t.token_stride = p.heads * d + gap(p.order);
    t.head_stride = d;
  } else if (p.order == Order::head_major_items) {
    t.head_stride = p.item_tokens * d;
    t.item_tokens = p.item_tokens;
    t.item_stride = p.heads * p.item_tokens * d;
  }
  return t;
}

std::int64_t extent(const Packed& p) {
  return p.tokens * p.heads * p.head_dim + lead(p.order) +
         std::max<std::int64_t>(p.tokens - 1, 0) * gap(p.order);
}

}  // namespace

std::string name_of(Order order) {
  constexpr std::array names{"token-major", "token-major, rows apart", "head-major",
                             "head-major items", "head-major, off its boundary"};
  return names.at(static_cast<std::size_t>(order));
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
  return {data.data(), dtype, lead(order) + view().offset(token, head) + x};
}
float Packed::at(std::int64_t token, std::int64_t head, std::int64_t x) const {
  return read_value(data.data(), dtype, lead(order) + view().offset(token, head) + x);
}
std::int64_t Packed::row(std::int64_t token, std::int64_t head) const {
  return (lead(order) + view().offset(token, head)) * size_of(dtype);
}

Packed like(const Packed& shape, float value) {
  return {shape.tokens,      shape.heads, shape.head_dim, shape.order,
          shape.item_tokens, value,       shape.dtype};
}

bool gaps_are_untouched(const Packed& packed) {
  Packed expected = like(packed, nan);
  for (std::int64_t t = 0; t < packed.tokens; ++t) {
    for (std::int64_t h = 0; h < packed.heads; ++h) {
      const std::int64_t at = packed.row(t, h);
      std::memcpy(expected.data.data() + at, packed.data.data() + at, index(packed.row_bytes()));
    }
  }
  return expected.data == packed.data;
}

bool same_row(const Packed& a, const Packed& b, std::int64_t token, std::int64_t head) {
  return std::memcmp(a.data.data() + a.row(token, head), b.data.data() + b.row(token, head),
                     index(a.row_bytes())) == 0;
}

bool is_finite(const Packed& packed, std::int64_t token, std::int64_t head) {
  for (std::int64_t x = 0; x < packed.head_dim; ++x) {
    if (!std::isfinite(packed.at(token, head, x))) return false;
  }
  return true;
}

Values::Values(std::int64_t tokens_in, std::int64_t heads_in, std::int64_t head_dim_in)
    : tokens(tokens_in),
      heads(heads_in),
      head_dim(head_dim_in),
      data(index(tokens_in * heads_in * head_dim_in)) {}

Values::Values(const Packed& packed) : Values(packed.tokens, packed.heads, packed.head_dim) {
  for (std::int64_t t = 0; t < tokens; ++t) {
    for (std::int64_t h = 0; h < heads; ++h) {
      const std::byte* from = packed.data.data() + packed.row(t, h);
      for (std::int64_t x = 0; x < head_dim; ++x) {
        row(t, h)[x] = double{read_value(from, packed.dtype, x)};
      }
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
