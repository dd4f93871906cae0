#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The cells of a mask as an image, rendered pixel row by pixel row from key intervals. A token at
// least one pixel wide is drawn crisply: a pixel belongs to the token at its centre. Smaller tokens
// share pixels, and a pixel then shows the fraction of its pairs that are allowed. With a second
// mask of the same tokens the image shows the difference of the two masks.
// Before that, the keys of a row are split into runs of one colour: at the ends of subsequences and
// at sentence starts among other tokens.

#include <QImage>
#include <algorithm>
#include <functional>
#include <vector>

#include "app/drawing/chart_theme.h"
#include "app/drawing/map_axis.h"
#include "app/drawing/mask_problem.h"

namespace attnscope::charts {

/// The longest prefix of `keys` within one token group. Precondition: `keys` is within `block`.
[[nodiscard]] inline TokenRange same_group_run(const MaskProblem& problem, const MapBlock& block,
                                               TokenRange keys) {
  if (block.group != TokenGroup::document || problem.sentence_tokens().empty()) return keys;
  const bool sentence = problem.group_of(keys.begin) == TokenGroup::sentence;
  const std::int64_t end = sentence ? keys.begin + 1 : problem.next_sentence(keys.begin);
  return {keys.begin, std::min(keys.end, end)};
}

/// Calls visit(block, TokenRange keys) for the part of `intervals` in each block.
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

/// The masks to render, and the size of the image.
struct CellPicture {
  DrawnMasks masks;
  MapAxis axis;
  int pixels = 1;              // per side
  double pixels_per_unit = 1;  // of the axis
  double hatch_pixels = 6;     // distance between two hatching lines of the difference
  ChartTheme theme = ChartTheme::light;
  std::int64_t most_samples = 64;  // rows sampled for a pixel that holds more
};

/// Null if `superseded` returned true during rendering. `rows_sampled`: the number of query rows
/// that were processed.
[[nodiscard]] QImage render_cells(const CellPicture& picture,
                                  const std::function<bool()>& superseded = {},
                                  qint64* rows_sampled = nullptr);
/// Approximate number of intervals that render_cells() processes.
[[nodiscard]] double intervals_of(const CellPicture& picture);

}  // namespace attnscope::charts
