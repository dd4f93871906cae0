#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Turns a recognised structure into padded matrices, and counts the work and the memory of their
// products.

#include "engine/attention/implementation.h"
#include "engine/attention/longformer_chunks/chunk_products.h"
#include "engine/attention/longformer_chunks/chunk_structure.h"

namespace attnscope {

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
  /// Rows in which some run masks a key: padding, its ends, and keys outside band_keys.
  TokenRanges masked_rows{};
  /// Values of one tensor of padded rows, and of all rows' scores of global keys.
  [[nodiscard]] std::int64_t elements() const { return shape.matrices * shape.tokens * head_dim; }
  [[nodiscard]] std::int64_t global_scores() const {
    return shape.matrices * shape.tokens * shape.globals;
  }

 private:
  void find_masked_rows(const ChunkStructure& structure);
};

[[nodiscard]] ExecutedWork executed_by_chunks(const Problem& problem,
                                              const ChunkStructure& structure);

/// Upper bound, lists of the layout included.
[[nodiscard]] std::int64_t peak_bytes_of_chunks(const Problem& problem,
                                                const ChunkStructure& structure);

}  // namespace attnscope
