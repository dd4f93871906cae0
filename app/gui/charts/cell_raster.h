#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// CellRaster renders a mask's cells into an image, pixel row by pixel row, from key intervals. A
// token at least one pixel wide is drawn crisply: a pixel belongs to the token at its centre.
// Smaller tokens share pixels, and a pixel then shows the fraction of its pairs that are allowed.
// With a second mask of the same tokens it renders the difference of the two masks.
// Before that, the keys of a row are split into runs of one colour: at the ends of subsequences and
// at sentence starts among other tokens.

#include <QImage>
#include <algorithm>
#include <array>
#include <functional>
#include <utility>
#include <vector>

#include "app/gui/charts/chart_theme.h"
#include "app/gui/charts/map_axis.h"
#include "app/gui/charts/mask_problem.h"

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
  const MaskProblem& problem;
  const MaskProblem* other = nullptr;  // set: the difference is drawn; has the same tokens
  MapAxis axis;
  int pixels = 1;              // per side
  double pixels_per_unit = 1;  // of the axis
  double hatch_pixels = 6;     // distance between two hatching lines of the difference
  ChartTheme theme = ChartTheme::light;
  std::int64_t most_samples = 64;  // rows sampled for a pixel that holds more
};

class CellRaster {
 public:
  explicit CellRaster(const CellPicture& picture);

  /// Null if `superseded` returned true during rendering.
  [[nodiscard]] QImage render(const std::function<bool()>& superseded = {});
  [[nodiscard]] qint64 rows_sampled() const { return rows_sampled_; }
  /// Approximate number of intervals that render() processes.
  [[nodiscard]] static double intervals_of(const CellPicture& picture);

 private:
  /// Coverage of pixels by intervals: partial ends in `part`, whole stretches as steps in `step`.
  struct Cover {
    std::vector<float> part;
    std::vector<float> step;
    bool touched = false;
  };

  void add_interval(Cover& cover, const MapBlock& block, TokenRange keys, float weight) const;
  void add_row(std::int64_t query, float weight);
  void add_difference_row(std::int64_t query, float weight);
  void add_rows(const MapBlock& block, std::int64_t begin, std::int64_t end);
  /// Adds at most `most` of the `there` tokens in [begin, end) that are (`sentences`) or are not
  /// sentence starts, evenly spaced.
  void add_samples(std::int64_t begin, std::int64_t end, bool sentences, std::int64_t there,
                   std::int64_t most);
  void resolve(QRgb* line, int y);
  void blend_groups();
  void blend_parts(int y);
  void blend(std::size_t x, float share, const QColor& color);
  [[nodiscard]] std::vector<float> summed(const Cover& cover) const;
  [[nodiscard]] Cover& cover_of(std::size_t channel);
  [[nodiscard]] std::int64_t next_special(std::int64_t token) const;
  [[nodiscard]] bool is_crisp(const MapBlock& block) const {
    return block.units_per_token * picture_.pixels_per_unit >= 1;
  }

  CellPicture picture_;
  std::int64_t samples_per_pixel_ = 1;
  qint64 rows_sampled_ = 0;
  // Sentence starts of either mask, ascending. Their rows differ from their neighbours, so they are
  // sampled separately.
  std::vector<std::int64_t> special_;
  // Indexed by attending and attended group; the last column is a mix of document tokens and
  // sentence starts. A difference uses the first three for its parts.
  static constexpr std::size_t mixed = token_group_count;
  static constexpr std::size_t columns = token_group_count + 1;
  std::array<Cover, token_group_count * columns> covers_;
  std::vector<TokenRange> intervals_;  // of one row
  DifferenceRow row_;
  struct Rgb {
    float r = 0, g = 0, b = 0;
  };
  std::vector<Rgb> color_;             // of one line of pixels, not yet divided by total_
  std::vector<float> total_;           // fraction of the line's pairs that is drawn
  std::vector<float> available_;       // fraction of a pixel column that is inside blocks
  std::vector<float> sentence_share_;  // fraction of sentence starts in a shared pixel
};

}  // namespace attnscope::charts
