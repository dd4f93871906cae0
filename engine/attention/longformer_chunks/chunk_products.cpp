// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/longformer_chunks/chunk_products.h"

#include <ATen/ops/_softmax.h>
#include <ATen/ops/_softmax_backward_data.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <utility>

#include "engine/attention/prepared_blocks.h"
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

namespace {

/// Few passes over slightly more cost less than one for each masked key.
TokenRanges joined(TokenRanges ranges) {
  constexpr std::int64_t near = 256;
  std::sort(ranges.begin(), ranges.end(),
            [](TokenRange a, TokenRange b) { return a.begin < b.begin; });
  TokenRanges result;
  for (const TokenRange& range : ranges) {
    if (range.empty()) continue;
    if (!result.empty() && range.begin <= result.back().end + near) {
      result.back().end = std::max(result.back().end, range.end);
    } else {
      result.push_back(range);
    }
  }
  return result;
}

double real(std::int64_t count) {
  return static_cast<double>(count);
}

/// Multiply-adds and memory traffic of the chunked part.
ExecutedWork work_of_runs(const Problem& problem, const PaddedRuns& padded) {
  const BandShape& shape = padded.shape;
  const bool backward = problem.direction == Direction::forward_backward;
  const bool softmax = problem.operation == Operation::attention;
  const auto element = real(size_of(problem.dtype));
  constexpr double float_bytes = sizeof(float);
  const double dim = real(problem.head_dim);
  const double rows = real(padded.elements());
  const double chunk_scores = real(shape.chunk_products() * 4 * shape.window * shape.window);
  const double chunk_rows = real(shape.chunk_products() * 2 * shape.window) * dim;
  const double blocks = real(shape.block_elements());
  const double globals = real(padded.global_scores());
  const double global_rows = real(shape.matrices * shape.globals) * dim;
  const double band = real(shape.matrices * shape.tokens * shape.width());
  const double scores = band + globals;

  // A product reads both operands and writes its result; a copy reads and writes.
  const double padding = padded.direct ? 0 : 2 * rows * element;
  const bool copies_chunks = !shape.across_matrices() && shape.chunks() > 1;
  const double of_scores = element * (2 * chunk_rows * (copies_chunks ? 3 : 1) + chunk_scores) +
                           band * (element + float_bytes) + element * (rows + global_rows) +
                           globals * (2 * element + float_bytes);
  double masked_rows = 0;
  for (const TokenRange& range : padded.masked_rows) masked_rows += real(range.size());
  const double mask = masked_rows / real(shape.tokens) * band * 2 * float_bytes;
  const double unskewing = band * (float_bytes + element) + blocks * element;
  const double of_values = element * (blocks + 3 * rows + rows + 2 * rows) + unskewing +
                           globals * float_bytes + element * (global_rows + 2 * rows);
  ExecutedWork work;
  const double score_flop = 2 * dim * (chunk_scores + globals);
  const double value_flop = 2 * dim * (blocks + globals);
  work.flop = score_flop + value_flop;
  work.bytes = 2 * padding + of_scores + mask + (softmax ? 2 * scores * float_bytes : 0) +
               of_values + padding;
  if (!backward) return work;
  // The gradient of the weights is a product like the scores; grad_q, grad_k and grad_v are
  // products like the values, the transposed ones written in three parts and summed.
  const double of_sums = 3 * rows * 2 * element + 3 * rows * float_bytes;
  work.flop += score_flop + 3 * value_flop;
  work.bytes += of_scores + (softmax ? 3 * scores * float_bytes : mask) + 3 * of_values +
                2 * of_sums + 4 * rows * element;
  return work;
}

ExecutedWork work_of_rows(const Problem& problem, const Block& block, const DenseRows& dense) {
  const bool backward = problem.direction == Direction::forward_backward;
  const auto element = real(size_of(problem.dtype));
  const double matrices = real(block.batch * problem.plan.heads);
  const double rows = real(size_of(dense.rows));
  const double keys = real(size_of(dense.keys));
  const double dim = real(problem.head_dim);
  const double scores = matrices * rows * keys;
  // Scores are written, read and written by the softmax, and read; backward the weights are read
  // twice more, their gradient is written, read and written, and read twice.
  return {.flop = 2.0 * (backward ? 2 + 4 : 2) * scores * dim,
          .bytes = scores * sizeof(float) * (backward ? 4 + 7 : 4) +
                   element * matrices * dim * (rows + keys) * (backward ? 2 + 6 : 2)};
}

}  // namespace

PaddedRuns::PaddedRuns(const Problem& problem, const ChunkStructure& structure)
    : heads(problem.plan.heads), head_dim(problem.head_dim) {
  std::int64_t longest = 0;
  bool whole_items = true;
  bool listed = false;
  bool repeated = false;
  for (const ChunkedItem& item : structure.items) {
    for (const ChunkedRun& run : item.runs) {
      slots += item.block.batch;
      ++runs;
      longest = std::max(longest, run.tokens.size());
      shape.globals = std::max(shape.globals, size_of(run.globals));
      whole_items = whole_items && run.tokens == item.block.queries;
      listed = listed || run.globals.size() > 1;
      repeated = repeated || item.block.batch > 1;
    }
  }
  const std::int64_t chunk = 2 * structure.window;
  shape.window = structure.window;
  shape.tokens = (longest + chunk - 1) / chunk * chunk;
  shape.matrices = slots * heads;
  const bool head_major = problem.memory_order == MemoryOrder::head_major || heads == 1;
  direct = whole_items && runs == 1 && structure.items.size() == 1 && longest == shape.tokens &&
           head_major;
  gathers_globals = runs > 1 || listed || (repeated && !head_major);
  find_masked_rows(structure);
}

void PaddedRuns::find_masked_rows(const ChunkStructure& structure) {
  const std::int64_t w = shape.window;
  for (const ChunkedItem& item : structure.items) {
    for (const ChunkedRun& run : item.runs) {
      const std::int64_t first = run.tokens.begin;
      for (const TokenRange& hidden :
           without({first - w, first + shape.tokens + w}, run.band_keys)) {
        masked_rows.push_back({std::max<std::int64_t>(hidden.begin - w - first, 0),
                               std::min(hidden.end + w - first, shape.tokens)});
      }
    }
  }
  masked_rows = joined(std::move(masked_rows));
}

ExecutedWork executed_by_chunks(const Problem& problem, const ChunkStructure& structure) {
  ExecutedWork work = work_of_runs(problem, PaddedRuns(problem, structure));
  for (const ChunkedItem& item : structure.items) {
    for (const DenseRows& dense : item.dense) {
      const ExecutedWork of_rows = work_of_rows(problem, item.block, dense);
      work.flop += of_rows.flop;
      work.bytes += of_rows.bytes;
    }
  }
  return work;
}

std::int64_t peak_bytes_of_chunks(const Problem& problem, const ChunkStructure& structure) {
  const PaddedRuns padded(problem, structure);
  const BandShape& shape = padded.shape;
  const bool backward = problem.direction == Direction::forward_backward;
  const std::int64_t element = size_of(problem.dtype);
  constexpr auto float_bytes = static_cast<std::int64_t>(sizeof(float));
  constexpr auto index_bytes = static_cast<std::int64_t>(sizeof(std::int64_t));

  const std::int64_t weights = shape.matrices * shape.tokens * shape.columns() * float_bytes;
  const std::int64_t rows = padded.elements() * element;
  // One operand of the scores with its chunks, or the unskewed band with the values.
  const std::int64_t chunks =
      shape.chunk_elements() + (shape.across_matrices() ? 0 : 4 * padded.elements());
  const std::int64_t blocks = shape.block_elements() + shape.rows_with_ends() * padded.head_dim;
  const std::int64_t globals = shape.matrices * shape.globals * padded.head_dim;
  std::int64_t working = weights + (padded.direct ? 0 : 2 * rows) +
                         element * (std::max(chunks, blocks) + padded.global_scores() + globals);
  // The backward through the band has three products, and their sum in float32.
  if (backward) working += rows + 3 * rows + (padded.elements() + globals) * float_bytes;

  std::int64_t kept = backward ? weights : 0;
  kept += padded.slots * (shape.tokens + 2 * shape.window + shape.globals);  // masks
  for (const ChunkedItem& item : structure.items) {
    for (const ChunkedRun& run : item.runs) {
      kept += index_bytes * (shape.tokens + size_of(run.globals));
    }
    for (const DenseRows& dense : item.dense) {
      const std::int64_t matrices = item.block.batch * problem.plan.heads;
      const std::int64_t of_rows = matrices * size_of(dense.rows) * problem.head_dim;
      const std::int64_t of_keys = matrices * size_of(dense.keys) * problem.head_dim;
      const std::int64_t scores = matrices * size_of(dense.rows) * size_of(dense.keys);
      kept += index_bytes * (size_of(dense.rows) + size_of(dense.keys));
      if (backward) kept += scores * float_bytes;
      working = std::max(working, scores * (float_bytes + element) +
                                      2 * (of_rows + of_keys) * element + of_keys * float_bytes);
    }
  }
  if (backward) {
    kept += 2 * problem.plan.tokens * problem.plan.heads * problem.head_dim * float_bytes;
  }
  const bool packs = problem.dtype != DType::float32 && problem.device == DeviceKind::cpu;
  return kept + working + (packs ? problem.threads * product_blocks_of_a_thread : 0);
}

}  // namespace attnscope
