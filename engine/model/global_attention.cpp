// SPDX-License-Identifier: Apache-2.0
#include "engine/model/global_attention.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/tensor.h>

#include <algorithm>

namespace attnscope {
namespace {

/// [items, heads, rows, dim] of the rows from `first` on.
at::Tensor frame(const at::Tensor& packed, std::int64_t first, std::int64_t items,
                 std::int64_t rows) {
  return packed.narrow(0, first, items * rows).unflatten(0, {items, rows}).transpose(1, 2);
}

}  // namespace

GlobalRows::GlobalRows(const SequenceLayout& layout, std::vector<std::int64_t> rows,
                       at::Device device)
    : index_(at::tensor(rows, at::kLong).to(device)) {
  std::int64_t first_row = 0;
  const auto count = static_cast<std::int64_t>(rows.size());
  for (std::int64_t i = 0; i < layout.item_count(); ++i) {
    const TokenRange tokens = layout.item_tokens(i);
    std::int64_t end = first_row;
    while (end < count && rows[static_cast<std::size_t>(end)] < tokens.end) ++end;
    const std::int64_t own = end - first_row;
    Stretch* last = stretches_.empty() ? nullptr : &stretches_.back();
    if (last != nullptr && last->rows == own && last->tokens == tokens.size()) {
      ++last->items;
    } else {
      stretches_.push_back({1, first_row, own, tokens.begin, tokens.size()});
    }
    first_row = end;
  }
}

at::Tensor GlobalRows::attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                              double scale) const {
  at::Tensor o = at::empty(q.sizes(), q.options());
  for (const Stretch& one : stretches_) {
    if (one.rows == 0) continue;
    const at::Tensor rows = frame(q, one.first_row, one.items, one.rows) * scale;
    const at::Tensor keys = frame(k, one.first_token, one.items, one.tokens);
    const at::Tensor weights = at::softmax(at::matmul(rows, keys.transpose(2, 3)), -1);
    frame(o, one.first_row, one.items, one.rows)
        .copy_(at::matmul(weights, frame(v, one.first_token, one.items, one.tokens)));
  }
  return o;
}

std::int64_t GlobalRows::peak_bytes(std::int64_t heads, std::int64_t head_dim,
                                    std::int64_t element_bytes) const {
  std::int64_t most = 0;
  for (const Stretch& one : stretches_) {
    const std::int64_t scores = one.items * heads * one.rows * one.tokens;
    // Keys or values of strided heads are copied for the product.
    const std::int64_t copies = one.items * heads * head_dim * (one.tokens + 2 * one.rows);
    most = std::max(most, (2 * scores + copies) * element_bytes);
  }
  return most + count() * heads * head_dim * element_bytes;
}

}  // namespace attnscope
