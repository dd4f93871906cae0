// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/longformer_chunks/band_chunks.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include "engine/attention/torch_products.h"

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
  const at::Tensor room = at::empty({shape.chunk_elements()}, rows.options());
  room.narrow(0, 0, w).zero_();
  room.narrow(0, w + products, w).zero_();
  scaled_product_into(room.narrow(0, w, products).view({-1, 2 * w, 2 * w}), chunks_of(shape, rows),
                      chunks_of(shape, keys).transpose(1, 2), scale);

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
  before.select(1, 0).copy_(room.as_strided({shape.matrices, w, w}, {matrix, diagonal, 1}, 0));
  before.narrow(1, 1, shape.chunks())
      .copy_(room.as_strided({shape.matrices, shape.chunks(), w, w}, {matrix, chunk, diagonal, 1},
                             w + lower_half));
  from_here.narrow(1, 0, shape.chunks())
      .copy_(room.as_strided({shape.matrices, shape.chunks(), w, w + 1},
                             {matrix, chunk, diagonal, 1}, w));
  from_here.select(1, shape.chunks())
      .copy_(room.as_strided({shape.matrices, w, w + 1}, {matrix, diagonal, 1},
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

}  // namespace attnscope
