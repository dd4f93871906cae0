#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A plan in the form of Longformer's sliding chunks: runs of tokens with one window on themselves
// and the same global keys for every row, and rows that attend only to whole keys.
//
//   Result<ChunkStructure> structure = chunk_structure(problem);
//   structure->items[0].runs[0].tokens;    // padded and cut into chunks of 2w
//   structure->items[0].dense[0].rows;     // computed densely and written over

#include <cstdint>
#include <vector>

#include "engine/attention/blocks.h"
#include "engine/attention/implementation.h"

namespace attnscope {

/// Ascending, disjoint, not adjacent.
using TokenRanges = std::vector<TokenRange>;

[[nodiscard]] std::int64_t size_of(const TokenRanges& ranges);
/// The tokens of `range` that are not in `ranges`.
[[nodiscard]] TokenRanges without(TokenRange range, const TokenRanges& ranges);

struct ChunkedRun {
  TokenRange tokens{};      // tokens cut into chunks
  TokenRanges rows{};       // tokens with the window; the others are computed densely
  TokenRanges band_keys{};  // tokens inside some window
  TokenRanges globals{};    // attended to by each of `rows` at any position; never in band_keys
  friend bool operator==(const ChunkedRun&, const ChunkedRun&) = default;
};

/// Rows that attend to all of the same keys.
struct DenseRows {
  TokenRanges rows{};
  TokenRanges keys{};  // empty: the output is 0
  friend bool operator==(const DenseRows&, const DenseRows&) = default;
};

struct ChunkedItem {
  Block block{};  // for a uniform batch, item 0 describes all items
  std::vector<ChunkedRun> runs{};
  std::vector<DenseRows> dense{};
};

struct ChunkStructure {
  std::int64_t window = 0;  // w >= 1, equal for all runs
  std::vector<ChunkedItem> items{};
};

/// An item with one run is chunked from its first token to its last, global tokens included, as in
/// Longformer; the documents of a list-wise item are chunked separately, so that no window crosses
/// a document border. A document shorter than its window (whole in a plan) is chunked, too. Errors
/// name what sliding chunks cannot express.
[[nodiscard]] Result<ChunkStructure> chunk_structure(const Problem& problem);

}  // namespace attnscope
