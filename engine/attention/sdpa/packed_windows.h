#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// TKL's chunks as its authors' PyTorch code computes them (Hofstätter et al., SIGIR 2020): each
// chunk with its overlap is a separate window, packed and padded where it extends beyond its
// document; one attention over [windows, heads, window, dim] masks the padding, and the windows'
// centres are the result.
//
//   Result<PackedWindows> windows = packed_windows(problem);   // 40+5: windows of 50
//   windows->count();                                          // over the whole batch

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/attention/implementation.h"

namespace attnscope {

/// Rows that attend to whole runs of keys and so need no window: [CLS] and the query.
struct WholeRows {
  TokenRange rows;
  std::vector<TokenRange> keys;  // ascending; none: the rows attend to nothing
};

/// Token ranges are those of a frame: of a uniform batch's first item, which represents all
/// `items`, or of all tokens of any other batch.
struct PackedWindows {
  ChunkRule chunk;
  std::int64_t items = 1;
  TokenRange frame;
  std::vector<TokenRange> documents;  // none empty
  std::vector<WholeRows> whole;

  /// Tokens of a window.
  [[nodiscard]] std::int64_t window() const { return chunk.tokens + 2 * chunk.overlap; }
  [[nodiscard]] std::int64_t chunks_of(TokenRange document) const {
    return (document.size() + chunk.tokens - 1) / chunk.tokens;
  }
  /// Windows of all items.
  [[nodiscard]] std::int64_t count() const;
};

/// The windows, or one sentence why the problem's pattern cannot be expressed in them: documents
/// must attend only to their own chunks, and [CLS] and the query to whole groups.
[[nodiscard]] Result<PackedWindows> packed_windows(const Problem& problem);

[[nodiscard]] std::unique_ptr<PreparedAttention> prepare_packed_windows(const Problem& problem,
                                                                        PackedWindows windows);

}  // namespace attnscope
