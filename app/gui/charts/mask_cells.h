#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The keys one query sees, cut where a subsequence ends and where sentence starts lie among other
// tokens: runs of one colour.

#include <algorithm>

#include "app/gui/charts/mask_axis.h"
#include "app/gui/charts/mask_problem.h"

namespace attnscope::charts {

/// The part of `keys`, from its begin on, that is of one token group. `keys` lies in `block`.
[[nodiscard]] inline TokenRange same_group_run(const MaskProblem& problem, const MaskBlock& block,
                                               TokenRange keys) {
  if (block.group != TokenGroup::document || problem.sentence_tokens().empty()) return keys;
  const bool sentence = problem.group_of(keys.begin) == TokenGroup::sentence;
  const std::int64_t end = sentence ? keys.begin + 1 : problem.next_sentence(keys.begin);
  return {keys.begin, std::min(keys.end, end)};
}

/// Calls visit(block, TokenGroup to, TokenRange keys) for every run, ascending.
template <typename Visit>
void visit_runs(const MaskProblem& problem, const MaskAxis& axis, std::int64_t query,
                const Visit& visit) {
  std::size_t b = 0;
  const std::vector<MaskBlock>& blocks = axis.blocks();
  for (const TokenRange& keys : problem.keys_of(query)) {
    for (std::int64_t begin = keys.begin; begin < keys.end;) {
      while (blocks[b].tokens.end <= begin) ++b;
      const TokenRange run =
          same_group_run(problem, blocks[b], {begin, std::min(keys.end, blocks[b].tokens.end)});
      visit(blocks[b], problem.group_of(begin), run);
      begin = run.end;
    }
  }
}

}  // namespace attnscope::charts
