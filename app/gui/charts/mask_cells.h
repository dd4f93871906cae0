#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The keys one query sees, cut where a subsequence ends and where sentence starts lie among other
// tokens: runs of one colour.

#include <algorithm>
#include <vector>

#include "app/gui/charts/map_axis.h"
#include "app/gui/charts/mask_problem.h"

namespace attnscope::charts {

/// The part of `keys`, from its begin on, that is of one token group. `keys` lies in `block`.
[[nodiscard]] inline TokenRange same_group_run(const MaskProblem& problem, const MapBlock& block,
                                               TokenRange keys) {
  if (block.group != TokenGroup::document || problem.sentence_tokens().empty()) return keys;
  const bool sentence = problem.group_of(keys.begin) == TokenGroup::sentence;
  const std::int64_t end = sentence ? keys.begin + 1 : problem.next_sentence(keys.begin);
  return {keys.begin, std::min(keys.end, end)};
}

/// Calls visit(block, TokenRange keys) for every stretch of `intervals` inside one block.
template <typename Visit>
void visit_blocks(const MapAxis& axis, const std::vector<TokenRange>& intervals,
                  const Visit& visit) {
  const std::vector<MapBlock>& blocks = axis.blocks();
  std::size_t b = 0;
  for (const TokenRange& keys : intervals) {
    if (keys.begin < blocks[b].tokens.begin) b = 0;  // the next segment of the plan
    for (std::int64_t begin = keys.begin; begin < keys.end;) {
      while (blocks[b].tokens.end <= begin) ++b;
      const std::int64_t end = std::min(keys.end, blocks[b].tokens.end);
      visit(blocks[b], TokenRange{begin, end});
      begin = end;
    }
  }
}

/// Calls visit(TokenGroup to, TokenRange keys) for every run of one token group in `keys`.
template <typename Visit>
void visit_runs(const MaskProblem& problem, const MapBlock& block, TokenRange keys,
                const Visit& visit) {
  while (!keys.empty()) {
    const TokenRange run = same_group_run(problem, block, keys);
    visit(problem.group_of(run.begin), run);
    keys.begin = run.end;
  }
}

}  // namespace attnscope::charts
