// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/longformer_chunks/chunk_products.h"

#include <ATen/ops/_softmax.h>
#include <ATen/ops/_softmax_backward_data.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include "engine/attention/torch_tensors.h"

namespace attnscope {
namespace {

/// [chunk_products(), 2w, dim]: chunks of 2w tokens at distances of w.
at::Tensor chunks_of(const BandShape& shape, const at::Tensor& matrices) {
  const std::int64_t w = shape.window;
  const std::int64_t dim = matrices.size(2);
  if (shape.across_matrices()) {
    return matrices.as_strided({shape.chunk_products(), 2 * w, dim}, {w * dim, dim, 1});
  }
  return matrices
      .as_strided({shape.matrices, shape.chunks(), 2 * w, dim},
                  {shape.tokens * dim, w * dim, dim, 1})
      .reshape({shape.chunk_products(), 2 * w, dim});
}

}  // namespace

void write_band(const BandShape& shape, const at::Tensor& rows, const at::Tensor& keys,
                double scale, const at::Tensor& scores) {
  const std::int64_t w = shape.window;
  const std::int64_t chunk = 4 * w * w;
  const std::int64_t products = shape.chunk_products() * chunk;
  const at::Tensor buffer = at::empty({shape.chunk_elements()}, rows.options());
  buffer.narrow(0, 0, w).zero_();
  buffer.narrow(0, w + products, w).zero_();
  scaled_product_into(buffer.narrow(0, w, products).view({-1, 2 * w, 2 * w}),
                      chunks_of(shape, rows), chunks_of(shape, keys).transpose(1, 2), scale);

  // Row w+r of chunk c is row r of block c+1. Counted from the start of the memory, where chunk 0
  // begins at w, the key w tokens before row r of chunk 0 is value r(2w+1).
  const std::int64_t matrix = (shape.across_matrices() ? shape.blocks() : shape.chunks()) * chunk;
  const std::int64_t diagonal = 2 * w + 1;
  const std::int64_t last = shape.chunks() - 1;
  const std::int64_t lower_half = 2 * w * w;
  const at::Tensor band = scores.narrow(2, shape.globals, shape.width())
                              .unflatten(1, {shape.blocks(), w});  // [matrices, blocks, w, 2w+1]
  const at::Tensor before = band.narrow(3, 0, w);
  const at::Tensor from_here = band.narrow(3, w, w + 1);
  before.select(1, 0).copy_(buffer.as_strided({shape.matrices, w, w}, {matrix, diagonal, 1}, 0));
  before.narrow(1, 1, shape.chunks())
      .copy_(buffer.as_strided({shape.matrices, shape.chunks(), w, w}, {matrix, chunk, diagonal, 1},
                               w + lower_half));
  from_here.narrow(1, 0, shape.chunks())
      .copy_(buffer.as_strided({shape.matrices, shape.chunks(), w, w + 1},
                               {matrix, chunk, diagonal, 1}, w));
  from_here.select(1, shape.chunks())
      .copy_(buffer.as_strided({shape.matrices, w, w + 1}, {matrix, diagonal, 1},
                               w + last * chunk + lower_half + w));
}

at::Tensor unskewed(const BandShape& shape, const at::Tensor& scores, at::ScalarType dtype) {
  const std::int64_t w = shape.window;
  const std::int64_t blocks = shape.matrices * shape.blocks();
  at::Tensor result = at::zeros({blocks, w, 3 * w}, scores.options().dtype(dtype));
  result
      .as_strided({shape.matrices, shape.blocks(), w, shape.width()},
                  {shape.blocks() * 3 * w * w, 3 * w * w, 3 * w + 1, 1})
      .copy_(scores.narrow(2, shape.globals, shape.width()).unflatten(1, {shape.blocks(), w}));
  return result;
}

void apply_band(const BandShape& shape, const at::Tensor& blocks, const at::Tensor& values,
                double scale, const at::Tensor& out) {
  const std::int64_t w = shape.window;
  const std::int64_t dim = values.size(1);
  scaled_product_into(out.view({blocks.size(0), w, dim}), blocks,
                      values.as_strided({blocks.size(0), 3 * w, dim}, {w * dim, dim, 1}), scale);
}

at::Tensor apply_transposed_band(const BandShape& shape, const at::Tensor& blocks,
                                 const at::Tensor& rows, double scale) {
  const std::int64_t w = shape.window;
  const std::int64_t dim = rows.size(2);
  const std::int64_t count = shape.blocks();
  // Contributions of each block of rows to the w tokens before it, to its own and to those after
  // it.
  const at::Tensor given = at::empty({blocks.size(0), 3 * w, dim}, rows.options());
  scaled_product_into(given, blocks.transpose(1, 2), rows.view({blocks.size(0), w, dim}), scale);
  const at::Tensor parts = given.view({shape.matrices, count, 3, w, dim});
  at::Tensor sum = at::empty({shape.matrices, count, w, dim}, rows.options().dtype(at::kFloat));
  sum.copy_(parts.select(2, 1));
  sum.narrow(1, 0, count - 1).add_(parts.select(2, 0).narrow(1, 1, count - 1));
  sum.narrow(1, 1, count - 1).add_(parts.select(2, 2).narrow(1, 0, count - 1));
  return sum.view({shape.matrices, shape.tokens, dim});
}

TokenSet::TokenSet(const TokenRanges& ranges, std::int64_t frame_begin, at::Device device)
    : begin_(ranges.empty() ? 0 : ranges.front().begin - frame_begin), size_(size_of(ranges)) {
  if (ranges.size() < 2) return;
  index_ = at::empty({size_}, at::TensorOptions().dtype(at::kLong));
  auto* next = index_.data_ptr<std::int64_t>();
  for (const TokenRange& range : ranges) {
    for (std::int64_t token = range.begin; token < range.end; ++token) {
      *next++ = token - frame_begin;
    }
  }
  if (!device.is_cpu()) index_ = index_.to(device);
}

at::Tensor TokenSet::of(const at::Tensor& frame) const {
  return index_.defined() ? frame.index_select(2, index_) : frame.narrow(2, begin_, size_);
}

void TokenSet::write(const at::Tensor& frame, const at::Tensor& values) const {
  if (index_.defined()) {
    frame.index_copy_(2, index_, values.to(frame.scalar_type()));
  } else {
    frame.narrow(2, begin_, size_).copy_(values);
  }
}

void TokenSet::add(const at::Tensor& frame, const at::Tensor& values) const {
  if (index_.defined()) {
    frame.index_add_(2, index_, values.to(frame.scalar_type()));
  } else {
    frame.narrow(2, begin_, size_).add_(values);
  }
}

void TokenSet::zero(const at::Tensor& frame) const {
  if (index_.defined()) {
    frame.index_fill_(2, index_, 0);
  } else {
    frame.narrow(2, begin_, size_).zero_();
  }
}

namespace {

/// The inverse, for values with as many rows as `frame` has batches and heads.
at::Tensor as_frame(const at::Tensor& matrices, const at::Tensor& frame) {
  return matrices.view({frame.size(0), frame.size(1), matrices.size(1), matrices.size(2)});
}

}  // namespace

at::Tensor DenseRowSet::forward(const Frames& frames) const {
  if (keys_.empty()) {
    rows_.zero(frames.o);
    return {};
  }
  const at::Tensor q = as_matrices(rows_.of(frames.q));
  const at::Tensor k = as_matrices(keys_.of(frames.k));
  const at::Tensor v = as_matrices(keys_.of(frames.v));
  at::Tensor weights = scaled_product(q, k.transpose(1, 2), scale_).to(at::kFloat);
  at::_softmax_out(weights, weights, -1, /*half_to_float=*/false);
  rows_.write(frames.o, as_frame(at::bmm(weights.to(v.scalar_type()), v), frames.o));
  return weights;
}

void DenseRowSet::backward(const Frames& frames, const GradientFrames& gradients,
                           const at::Tensor& weights) const {
  if (keys_.empty()) {
    rows_.zero(gradients.grad_q);
    return;
  }
  const at::Tensor grad_o = as_matrices(rows_.of(gradients.grad_o));
  const at::ScalarType dtype = grad_o.scalar_type();
  keys_.add(gradients.grad_v,
            as_frame(at::bmm(weights.to(dtype).transpose(1, 2), grad_o), gradients.grad_v));
  at::Tensor arriving =
      at::bmm(grad_o, as_matrices(keys_.of(frames.v)).transpose(1, 2)).to(at::kFloat);
  at::_softmax_backward_data_out(arriving, arriving, weights, -1, at::kFloat);
  const at::Tensor of_scores = arriving.to(dtype);
  rows_.write(
      gradients.grad_q,
      as_frame(scaled_product(of_scores, as_matrices(keys_.of(frames.k)), scale_), frames.q));
  keys_.add(gradients.grad_k, as_frame(scaled_product(of_scores.transpose(1, 2),
                                                      as_matrices(rows_.of(frames.q)), scale_),
                                       gradients.grad_k));
}

}  // namespace attnscope
