// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/bigbird/predicted_bytes.h"

#include <algorithm>
#include <vector>

#include "engine/attention/bigbird/block_parts.h"
#include "engine/attention/prepared_blocks.h"

namespace attnscope {
namespace {

/// A part of a group, or a run of full attention.
struct Piece {
  PartShape shape;
  bool gathers = false;  // its columns are a copy

  [[nodiscard]] std::int64_t row_values(const Problem& problem) const {
    return shape.products * shape.rows * problem.head_dim;
  }
  [[nodiscard]] std::int64_t column_values(const Problem& problem) const {
    return shape.products * shape.columns * problem.head_dim;
  }
};

bool with_gradients(const Problem& problem) {
  return problem.direction == Direction::forward_backward;
}

std::vector<Piece> pieces_of(const Problem& problem, const BlockGroup& group) {
  const std::int64_t heads = problem.plan.heads;
  std::vector<Piece> pieces;
  if (group.blocks > 0) {
    for (const BlockPart part : block_parts) {
      pieces.push_back({BlockParts::shape(group, heads, part), part != BlockPart::outer});
    }
    return pieces;
  }
  for (const ItemRun& run : group.runs) {
    const bool views = run.count == 1 || problem.memory_order == MemoryOrder::head_major;
    pieces.push_back({{run.count * heads, run.first.size(), run.first.size()}, !views});
  }
  return pieces;
}

/// Values of a tensor of all of a group's blocks, padding included.
std::int64_t block_values(const Problem& problem, const BlockGroup& group) {
  return group.items() * problem.plan.heads * group.blocks * group.length * problem.head_dim;
}

/// Whether a tensor of blocks is a copy: the layout's own is not head-major, or has no padding.
bool copies_blocks(const Problem& problem, const BlockGroup& group) {
  if (group.blocks == 0) return false;
  return problem.memory_order != MemoryOrder::head_major || !problem.layout.is_uniform() ||
         group.last_block_tokens(group.runs.front()) != group.length;
}

/// From a group's forward to its backward, and on top of it at its worst moment in either.
struct GroupBytes {
  std::int64_t kept = 0;
  std::int64_t forward = 0;
  std::int64_t backward = 0;
};

GroupBytes bytes_of(const Problem& problem, const BlockGroup& group) {
  const std::int64_t element = size_of(problem.dtype);
  const std::int64_t padded = copies_blocks(problem, group) ? block_values(problem, group) : 0;
  GroupBytes bytes;
  for (const Piece& piece : pieces_of(problem, group)) {
    const std::int64_t scores = piece.shape.scores();
    const std::int64_t rows = piece.row_values(problem);
    const std::int64_t columns = piece.column_values(problem);
    const std::int64_t gathered = piece.gathers ? columns : 0;
    if (!with_gradients(problem)) {
      bytes.forward =
          std::max(bytes.forward, element * (3 * padded + scores + gathered + 2 * rows));
      continue;
    }
    bytes.kept += element * (scores + 2 * gathered + 2 * rows);
    bytes.forward = std::max(bytes.forward, element * (padded + scores));
    // The gradients of weights and scores beside that of the values; then those of both factors,
    // one of them twice as it is scaled, or as it is summed in float32.
    const std::int64_t summed = group.blocks > 0 ? gathered * (4 / element) : 0;
    const std::int64_t products = std::max(2 * scores + columns, 3 * columns + rows + summed);
    bytes.backward = std::max(bytes.backward, element * (products + rows + padded));
  }
  if (with_gradients(problem)) {
    bytes.kept += element * 2 * padded;  // keys and values
    if (group.blocks > 0) bytes.backward += 2 * 4 * block_values(problem, group);  // the sums
  }
  return bytes;
}

}  // namespace

ExecutedWork bigbird_work(const Problem& problem, const BlockStructure& structure) {
  ExecutedWork work;
  const auto element = static_cast<double>(size_of(problem.dtype));
  const bool softmax = problem.operation == Operation::attention;
  const bool both = with_gradients(problem);
  for (const BlockGroup& group : structure.groups) {
    const auto blocks = static_cast<double>(block_values(problem, group));
    for (const Piece& piece : pieces_of(problem, group)) {
      const auto scores = static_cast<double>(piece.shape.scores());
      const auto rows = static_cast<double>(piece.row_values(problem));
      const auto columns = static_cast<double>(piece.column_values(problem));
      // Two products forward; backward the gradients of both factors of each.
      work.flop += (both ? 6.0 : 2.0) * 2 * scores * static_cast<double>(problem.head_dim);
      // Scores are written by one product and read by the other, a softmax reads and writes.
      double of_scores = softmax ? 4 : 2;
      // Rows are copied out of and into their places; gathered columns are read, written and read.
      double of_rows = 6;
      double of_columns = piece.gathers ? 6 : 2;
      if (both) {
        // Weights are read once more and their gradient is written and read twice; the softmax
        // reads both and writes another.
        of_scores += 4.0 + (softmax ? 3 : 0);
        // q again; grad_o copied and read twice; grad_q written, scaled and copied into place.
        of_rows += 1 + 4 + 5;
        // k and v again; their gradients written, one scaled, and both read by the sums.
        of_columns += 2 + 2 + 2 + 2;
      }
      work.bytes += element * (of_scores * scores + of_rows * rows + of_columns * columns);
    }
    if (copies_blocks(problem, group)) work.bytes += (both ? 4 : 3) * 2 * element * blocks;
    if (both) work.bytes += 2 * (2 * 4 + element) * blocks;  // sums: cleared, read, copied out
  }
  return work;
}

std::int64_t bigbird_peak_bytes(const Problem& problem, const BlockStructure& structure) {
  std::int64_t live = 0;
  std::int64_t peak = 0;
  std::int64_t lists = 0;
  for (const BlockGroup& group : structure.groups) {
    const GroupBytes bytes = bytes_of(problem, group);
    if (group.blocks > 0) lists += BlockParts::index_bytes(group, problem.plan.heads);
    live += bytes.kept;
    peak = std::max(peak, live + bytes.forward);
  }
  // Graphs are taken down in the order in which they were made.
  for (const BlockGroup& group : structure.groups) {
    const GroupBytes bytes = bytes_of(problem, group);
    peak = std::max(peak, live + bytes.backward);
    live -= bytes.kept;
  }
  const bool library = problem.dtype != DType::float32 && !structure.groups.empty();
  return lists + peak + (library ? problem.threads * product_blocks_of_a_thread : 0);
}

}  // namespace attnscope
