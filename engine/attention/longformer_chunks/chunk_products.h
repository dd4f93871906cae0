#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Longformer's sliding chunks (Beltagy et al., 2020, appendix A) as LibTorch products. A matrix is
// one head of one padded run: n tokens, a multiple of 2w. Its band is [n, 2w+1]: column u of row i
// is key i + u - w, and the band follows the columns of the global keys in the scores.
//
//   scores     chunks of 2w rows x 2w keys, overlapping by w: 4w keys per row for 2w+1 useful ones
//   values     blocks of w rows x the 3w keys around them, zero outside the band
//
// Skewing is a view: in a contiguous chunk [2w, 2w] the diagonals are lines of stride 2w+1, so the
// band is copied out of the chunks once without padding.

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "engine/attention/implementation.h"
#include "engine/attention/longformer_chunks/chunk_structure.h"

namespace attnscope {

struct BandShape {
  std::int64_t matrices = 0;
  std::int64_t tokens = 0;   // n
  std::int64_t window = 0;   // w
  std::int64_t globals = 0;  // columns before the band in a row of scores
  [[nodiscard]] std::int64_t width() const { return 2 * window + 1; }
  [[nodiscard]] std::int64_t columns() const { return globals + width(); }
  [[nodiscard]] std::int64_t blocks() const { return tokens / window; }
  /// Chunks of one matrix.
  [[nodiscard]] std::int64_t chunks() const { return blocks() - 1; }
  /// Whether chunks extend across the borders of matrices: this costs one product per matrix, whose
  /// result is discarded, instead of a copy of every chunk.
  [[nodiscard]] bool across_matrices() const { return blocks() >= 16; }
  /// Number of products of 2w x 2w.
  [[nodiscard]] std::int64_t chunk_products() const {
    return across_matrices() ? matrices * blocks() - 1 : matrices * chunks();
  }
  /// Values of all chunks, with space for the diagonals that extend beyond the first and the last.
  [[nodiscard]] std::int64_t chunk_elements() const {
    return chunk_products() * 4 * window * window + 2 * window;
  }
  /// Values of all unskewed blocks.
  [[nodiscard]] std::int64_t block_elements() const {
    return matrices * blocks() * window * 3 * window;
  }
  /// Rows of the operand of apply_band: the matrices one after the other, and w more at each end.
  [[nodiscard]] std::int64_t rows_with_ends() const { return matrices * tokens + 2 * window; }
};

/// Writes scale * rows keys^T to the band's columns of `scores` [matrices, n, columns]; values
/// beyond a matrix are undefined and must be masked. `rows`, `keys` contiguous [matrices, n, dim].
void write_band(const BandShape& shape, const at::Tensor& rows, const at::Tensor& keys,
                double scale, const at::Tensor& scores);

/// The band's columns of `scores` as blocks [matrices * n/w, w, 3w], in `dtype`, zero elsewhere.
[[nodiscard]] at::Tensor unskewed(const BandShape& shape, const at::Tensor& scores,
                                  at::ScalarType dtype);

/// out [matrices, n, dim] = scale * band * values, with `values` [rows_with_ends(), dim]. Weights
/// beyond a matrix must be 0, and the values there finite.
void apply_band(const BandShape& shape, const at::Tensor& blocks, const at::Tensor& values,
                double scale, const at::Tensor& out);

/// scale * band^T * rows as float32 [matrices, n, dim], of contiguous `rows` [matrices, n, dim].
[[nodiscard]] at::Tensor apply_transposed_band(const BandShape& shape, const at::Tensor& blocks,
                                               const at::Tensor& rows, double scale);

// The rows that Longformer computes separately and overwrites: global tokens, against all keys they
// attend to. One product, one softmax in float32 and one product for each set of rows with the same
// keys.

/// Some tokens of a frame [batch, heads, tokens, dim], read and written with LibTorch: a view if
/// they are one range, an index otherwise.
///
///   const TokenSet globals({{0, 12}, {42, 43}}, /*frame_begin=*/0, device);
///   at::Tensor keys = globals.of(frame);     // [batch, heads, 13, dim]
class TokenSet {
 public:
  TokenSet() = default;
  /// `ranges` in tokens of the batch; the frame starts at token `frame_begin`.
  TokenSet(const TokenRanges& ranges, std::int64_t frame_begin, at::Device device);

  [[nodiscard]] std::int64_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  /// A view for one range, a copy otherwise.
  [[nodiscard]] at::Tensor of(const at::Tensor& frame) const;
  /// Writes `values` of any dtype.
  void write(const at::Tensor& frame, const at::Tensor& values) const;
  void add(const at::Tensor& frame, const at::Tensor& values) const;
  void zero(const at::Tensor& frame) const;

 private:
  std::int64_t begin_ = 0;
  std::int64_t size_ = 0;
  at::Tensor index_;  // undefined if the tokens are one range
};

/// Tensors [batch, heads, tokens, dim] of one block.
struct Frames {
  at::Tensor q, k, v, o;
};

/// Gradients of one backward pass. grad_k and grad_v are float32, and all rows add to them.
struct GradientFrames {
  at::Tensor grad_o, grad_q, grad_k, grad_v;
};

class DenseRowSet {
 public:
  DenseRowSet(const DenseRows& rows, std::int64_t frame_begin, double scale, at::Device device)
      : rows_(rows.rows, frame_begin, device),
        keys_(rows.keys, frame_begin, device),
        scale_(scale) {}

  /// Writes the rows of o; returns the weights [batch * heads, rows, keys] in float32.
  [[nodiscard]] at::Tensor forward(const Frames& frames) const;
  /// Writes the rows of grad_q and adds to the keys of grad_k and grad_v.
  void backward(const Frames& frames, const GradientFrames& gradients,
                const at::Tensor& weights) const;

 private:
  TokenSet rows_, keys_;
  double scale_;
};

// Turns a recognised structure into padded matrices, and counts the work and the memory of their
// products.

/// All runs of a batch, padded to the longest: slot by slot, and in a slot head by head.
struct PaddedRuns {
  PaddedRuns(const Problem& problem, const ChunkStructure& structure);
  BandShape shape;
  std::int64_t slots = 0;  // runs x items of a uniform batch
  std::int64_t heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t runs = 0;
  /// Whether the caller's tensors already have this form.
  bool direct = false;
  /// Whether the global tokens of all runs are copied to form matrices.
  bool gathers_globals = false;
  /// Rows in which at least one run masks a key: in padding, beyond the run's ends or outside
  /// band_keys.
  TokenRanges masked_rows{};
  /// Number of values in one tensor of padded rows, and number of all rows' scores of global keys.
  [[nodiscard]] std::int64_t elements() const { return shape.matrices * shape.tokens * head_dim; }
  [[nodiscard]] std::int64_t global_scores() const {
    return shape.matrices * shape.tokens * shape.globals;
  }

 private:
  void find_masked_rows(const ChunkStructure& structure);
};

[[nodiscard]] ExecutedWork executed_by_chunks(const Problem& problem,
                                              const ChunkStructure& structure);

/// Upper bound in bytes, including the lists of the layout.
[[nodiscard]] std::int64_t peak_bytes_of_chunks(const Problem& problem,
                                                const ChunkStructure& structure);

}  // namespace attnscope
