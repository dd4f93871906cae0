// SPDX-License-Identifier: Apache-2.0
//
// The tensors of a call, moment by moment, as prepared_chunks.cpp and dense_rows.cpp make them.

#include <algorithm>

#include "engine/attention/longformer_chunks/chunk_work.h"
#include "engine/attention/longformer_chunks/token_set.h"
#include "engine/attention/prepared_blocks.h"

namespace attnscope {
namespace {

constexpr auto float_bytes = static_cast<std::int64_t>(sizeof(float));

class PeakOfRuns {
 public:
  PeakOfRuns(const Problem& problem, const PaddedRuns& padded)
      : padded_(padded),
        shape_(padded.shape),
        element_(size_of(problem.dtype)),
        is_16_bit_(problem.dtype != DType::float32) {}

  /// Kept from a forward to its backward.
  [[nodiscard]] std::int64_t weights() const {
    return shape_.matrices * shape_.tokens * shape_.columns() * float_bytes;
  }

  [[nodiscard]] std::int64_t forward() const {
    const std::int64_t out = padded_.direct ? 0 : rows();
    return std::max(2 * matrices() + scores(), weights() + out + values());
  }

  /// Beside the weights and the sums for keys and values.
  [[nodiscard]] std::int64_t backward() const {
    const std::int64_t arriving = rows();
    return std::max({arriving + transposed(), arriving + matrices() + scores(),
                     weights() + rows() + values(), weights() + matrices() + transposed()});
  }

 private:
  [[nodiscard]] std::int64_t rows() const { return padded_.elements() * element_; }
  /// A factor of the scores.
  [[nodiscard]] std::int64_t matrices() const { return padded_.direct ? 0 : rows(); }
  [[nodiscard]] std::int64_t of_globals() const {
    return shape_.matrices * shape_.globals * padded_.head_dim * element_;
  }
  [[nodiscard]] std::int64_t gathered() const { return padded_.gathers_globals ? of_globals() : 0; }
  /// Weights of global keys, rounded for a product.
  [[nodiscard]] std::int64_t rounded() const {
    return is_16_bit_ ? padded_.global_scores() * element_ : 0;
  }
  [[nodiscard]] std::int64_t scores() const {
    const bool copies = !shape_.across_matrices() && shape_.chunks() > 1;
    const std::int64_t chunk_rows =
        copies ? 2 * shape_.chunk_products() * 2 * shape_.window * padded_.head_dim : 0;
    return weights() + std::max((shape_.chunk_elements() + chunk_rows) * element_,
                                padded_.global_scores() * element_ + gathered());
  }
  [[nodiscard]] std::int64_t values() const {
    return std::max(
        (shape_.block_elements() + shape_.rows_with_ends() * padded_.head_dim) * element_,
        rounded() + gathered());
  }
  [[nodiscard]] std::int64_t transposed() const {
    const std::int64_t sum = padded_.elements() * float_bytes;
    // An index adds values of its target's type.
    const std::int64_t converted =
        is_16_bit_ && padded_.gathers_globals ? of_globals() / element_ * float_bytes : 0;
    return shape_.block_elements() * element_ + sum +
           std::max(3 * rows(), of_globals() + std::max(rounded(), converted));
  }

  const PaddedRuns& padded_;
  const BandShape& shape_;
  std::int64_t element_;
  bool is_16_bit_;
};

struct RowBytes {
  std::int64_t kept = 0, forward = 0, backward = 0;
};

RowBytes bytes_of(const Problem& problem, const Block& block, const DenseRows& dense) {
  const std::int64_t matrices = block.batch * problem.plan.heads;
  const std::int64_t element = size_of(problem.dtype);
  const std::int64_t row_bytes = matrices * size_of(dense.rows) * problem.head_dim * element;
  const std::int64_t key_bytes = matrices * size_of(dense.keys) * problem.head_dim * element;
  const std::int64_t scores = matrices * size_of(dense.rows) * size_of(dense.keys);
  const bool strided =
      problem.memory_order != MemoryOrder::head_major && block.batch > 1 && problem.plan.heads > 1;
  const std::int64_t row_copy = strided || dense.rows.size() > 1 ? row_bytes : 0;
  const std::int64_t key_copy = strided || dense.keys.size() > 1 ? key_bytes : 0;
  const std::int64_t rounded = problem.dtype == DType::float32 ? 0 : scores * element;
  const std::int64_t kept = scores * float_bytes;
  const std::int64_t given =
      key_bytes + (dense.keys.size() > 1 && rounded > 0 ? key_bytes / element * float_bytes : 0);
  return {.kept = kept,
          .forward = row_copy + 2 * key_copy + kept + rounded + row_bytes,
          .backward = row_copy + std::max({rounded + given, key_copy + kept + rounded,
                                           kept + rounded + key_copy + row_bytes,
                                           kept + rounded + row_copy + given})};
}

std::int64_t list_bytes(const ChunkStructure& structure, const PaddedRuns& padded) {
  const BandShape& shape = padded.shape;
  std::int64_t bytes = padded.slots * (shape.tokens + 2 * shape.window + shape.globals);
  for (const ChunkedItem& item : structure.items) {
    for (const ChunkedRun& run : item.runs) {
      const std::int64_t first = run.tokens.begin;
      bytes +=
          index_bytes(run.globals) + index_bytes(without({first, first + shape.tokens}, run.rows));
    }
    for (const DenseRows& dense : item.dense) {
      bytes += index_bytes(dense.rows) + index_bytes(dense.keys);
    }
  }
  return bytes;
}

}  // namespace

std::int64_t peak_bytes_of_chunks(const Problem& problem, const ChunkStructure& structure) {
  const PaddedRuns padded(problem, structure);
  const PeakOfRuns of_runs(problem, padded);
  const bool with_gradients = problem.direction == Direction::forward_backward;
  std::int64_t kept = with_gradients ? of_runs.weights() : 0;
  std::int64_t peak = of_runs.forward();
  std::int64_t backward = of_runs.backward();
  for (const ChunkedItem& item : structure.items) {
    for (const DenseRows& dense : item.dense) {
      const RowBytes bytes = bytes_of(problem, item.block, dense);
      peak = std::max(peak, kept + bytes.forward);
      if (with_gradients) kept += bytes.kept;
      backward = std::max(backward, bytes.backward);
    }
  }
  if (with_gradients) {
    const std::int64_t sums =
        2 * problem.plan.tokens * problem.plan.heads * problem.head_dim * float_bytes;
    peak = std::max(peak, kept + sums + backward);
  }
  const bool is_16_bit = problem.dtype != DType::float32;
  return list_bytes(structure, padded) + peak +
         (is_16_bit && problem.device == DeviceKind::cpu
              ? problem.threads * product_blocks_of_a_thread
              : 0);
}

}  // namespace attnscope
