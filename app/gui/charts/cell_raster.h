#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// CellRaster renders a mask's cells into an image, one pixel row after the other, from key
// intervals. A token of a pixel or more is drawn crisply: a pixel belongs to the token under its
// centre. Smaller tokens share pixels, which then show the share of their pairs that is allowed.
// With a second mask of the same tokens it renders what the two have in common and what not.
// Before that, the keys of a row are cut where a subsequence ends and where sentence starts lie
// among other tokens: runs of one colour.

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

/// What is rendered, and how large.
struct CellPicture {
  const MaskProblem& problem;
  const MaskProblem* other = nullptr;  // set: the difference of the two, which have equal tokens
  MapAxis axis;
  int pixels = 1;              // of each side
  double pixels_per_unit = 1;  // of the axis
  double hatch_pixels = 6;     // between two lines of the difference's hatching
  ChartTheme theme = ChartTheme::light;
  std::int64_t most_samples = 64;  // rows looked at for a pixel that holds more
};

class CellRaster {
 public:
  explicit CellRaster(const CellPicture& picture);

  /// Null when `superseded` said so meanwhile.
  [[nodiscard]] QImage render(const std::function<bool()>& superseded = {});
  [[nodiscard]] qint64 rows_sampled() const { return rows_sampled_; }
  /// About how many intervals render() will look at.
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
  /// `count` of the tokens in [begin, end) that are or are not sentence starts, evenly spread.
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
  // Sentence starts of either mask, ascending: rows unlike their neighbours, sampled apart.
  std::vector<std::int64_t> special_;
  // By attending and attended group; the last column is document tokens and sentence starts mixed.
  // A difference takes the first three for its parts.
  static constexpr std::size_t mixed = token_group_count;
  static constexpr std::size_t columns = token_group_count + 1;
  std::array<Cover, token_group_count * columns> covers_;
  std::vector<TokenRange> intervals_;  // of one row
  DifferenceRow row_;
  struct Rgb {
    float r = 0, g = 0, b = 0;
  };
  std::vector<Rgb> color_;             // of one line of pixels, not yet divided by total_
  std::vector<float> total_;           // share of the line's pairs that is drawn
  std::vector<float> available_;       // how much of a pixel column lies in blocks
  std::vector<float> sentence_share_;  // how much of it is sentence starts, where tokens share it
};

}  // namespace attnscope::charts
