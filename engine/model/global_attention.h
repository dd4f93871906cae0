#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Longformer's global rows: each attends to all tokens of its item, through projections of their
// own (Beltagy et al., 2020, Sec. 3.1), as its authors' PyTorch code computes them: gathered rows,
// one dense product for scores and one for values. For engine/model alone: LibTorch inside.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "engine/pattern/sequence_layout.h"

namespace attnscope {

/// The global rows of a batch and the items they belong to.
class GlobalRows {
 public:
  /// `rows` ascending. The layout shares no query.
  GlobalRows(const SequenceLayout& layout, std::vector<std::int64_t> rows, at::Device device);

  [[nodiscard]] const at::Tensor& index() const { return index_; }  // int64 [rows]
  [[nodiscard]] std::int64_t count() const { return index_.size(0); }

  /// q [rows, heads, dim] of the global rows; k, v [tokens, heads, dim] of all. [rows, heads, dim].
  [[nodiscard]] at::Tensor attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                  double scale) const;

  /// Bytes of `attend` at its worst moment.
  [[nodiscard]] std::int64_t peak_bytes(std::int64_t heads, std::int64_t head_dim,
                                        std::int64_t element_bytes) const;

 private:
  /// Items of one size one after the other: one product for all of them.
  struct Stretch {
    std::int64_t items = 0;
    std::int64_t first_row = 0, rows = 0;      // of each item
    std::int64_t first_token = 0, tokens = 0;  // of each item
  };
  std::vector<Stretch> stretches_;
  at::Tensor index_;
};

}  // namespace attnscope
