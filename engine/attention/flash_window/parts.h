#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A plan as calls of a kernel that supports only a whole rectangle or a band on the diagonal, such
// as FlashAttention with its left and right window. The calls of one group share their rows; their
// results are merged by log-sum-exp.
//
// The paper's sparse pattern on any batch becomes
//
//   [CLS] rows      x  all tokens of the item
//   query rows      x  the query
//   document rows   x  [CLS] and query;  x  the document, window w
//
// each of them one call for the whole batch, with one sequence per item.

#include <cstdint>
#include <vector>

#include "engine/attention/implementation.h"

namespace attnscope {

/// One call: the rows of sequence s of its group attend to keys[s], all of them or a window.
struct AttentionPart {
  static constexpr std::int64_t no_window = -1;
  std::vector<TokenRange> keys;  // none is empty; with a window they are the rows themselves
  std::int64_t window = no_window;
};

struct RowGroup {
  std::vector<TokenRange> queries;   // one per sequence; none is empty
  std::vector<AttentionPart> parts;  // none: the rows attend to nothing
};

/// Every row of the plan in one group, or a sentence why the plan cannot be expressed in such
/// calls.
[[nodiscard]] Result<std::vector<RowGroup>> parts_of(const Problem& problem);

}  // namespace attnscope
