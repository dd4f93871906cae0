#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A plan as Longformer's sliding chunks see it: runs of tokens with one window on themselves and
// the same global keys for every row, and beside them rows that see whole keys alone.
//
//   Result<ChunkStructure> structure = chunk_structure(problem);
//   structure->items[0].runs[0].tokens;    // padded and cut into chunks of 2w
//   structure->items[0].dense[0].rows;     // computed densely and written over

#include <cstdint>
#include <vector>

#include "engine/attention/blocks.h"
#include "engine/attention/implementation.h"

namespace attnscope {

/// Ascending, disjoint, not touching.
using TokenRanges = std::vector<TokenRange>;

[[nodiscard]] std::int64_t size_of(const TokenRanges& ranges);
/// The tokens of `range` that are not in `ranges`.
[[nodiscard]] TokenRanges without(TokenRange range, const TokenRanges& ranges);

struct ChunkedRun {
  TokenRange tokens{};      // what is cut into chunks
  TokenRanges rows{};       // those of them that see the window; the others are computed densely
  TokenRanges band_keys{};  // those of them that a window may show
  TokenRanges globals{};    // seen by each of `rows`, wherever it stands; never in band_keys
  friend bool operator==(const ChunkedRun&, const ChunkedRun&) = default;
};

/// Rows that see the same keys, all of them.
struct DenseRows {
  TokenRanges rows{};
  TokenRanges keys{};  // empty: the output is 0
  friend bool operator==(const DenseRows&, const DenseRows&) = default;
};

struct ChunkedItem {
  Block block{};  // what it says of item 0 of a uniform batch holds for all of them
  std::vector<ChunkedRun> runs{};
  std::vector<DenseRows> dense{};
};

struct ChunkStructure {
  std::int64_t window = 0;  // w >= 1, the same for all runs
  std::vector<ChunkedItem> items{};
};

/// An item with one run is chunked from its first token to its last, global tokens included, as
/// Longformer does it; the documents of a list-wise item are chunked each for itself, so that no
/// window reaches across. A document inside its window (which a plan calls whole) is chunked, too.
/// Errors name what sliding chunks cannot express.
[[nodiscard]] Result<ChunkStructure> chunk_structure(const Problem& problem);

}  // namespace attnscope
