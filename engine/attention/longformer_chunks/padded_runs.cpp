// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/longformer_chunks/padded_runs.h"

#include <algorithm>
#include <utility>

#include "engine/attention/prepared_blocks.h"

namespace attnscope {
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
