#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// CellRaster renders a mask's cells into an image, one pixel row after the other, from key
// intervals. A token of a pixel or more is drawn crisply: a pixel belongs to the token under its
// centre. Smaller tokens share pixels, which then show the share of their pairs that is allowed.

#include <QImage>
#include <array>
#include <utility>
#include <vector>

#include "app/gui/charts/chart_theme.h"
#include "app/gui/charts/mask_axis.h"
#include "app/gui/charts/mask_problem.h"

namespace attnscope::charts {

class CellRaster {
 public:
  CellRaster(const MaskProblem& problem, const MaskAxis& axis, int pixels, double pixels_per_unit,
             ChartTheme theme);

  [[nodiscard]] QImage render();
  [[nodiscard]] qint64 rows_sampled() const { return rows_sampled_; }

 private:
  /// Coverage of pixels by intervals: partial ends in `part`, whole stretches as steps in `step`.
  struct Cover {
    std::vector<float> part;
    std::vector<float> step;
    bool touched = false;
  };

  void add_interval(Cover& cover, const MaskBlock& block, TokenRange keys, float weight) const;
  void add_row(std::int64_t query, float weight);
  void add_rows(const MaskBlock& block, std::int64_t begin, std::int64_t end);
  /// `count` of the tokens in [begin, end) that are or are not sentence starts, evenly spread.
  void add_samples(std::int64_t begin, std::int64_t end, bool sentences, std::int64_t there,
                   std::int64_t most);
  void resolve(QRgb* line);
  [[nodiscard]] std::vector<float> summed(const Cover& cover) const;
  [[nodiscard]] Cover& cover_of(TokenGroup from, std::size_t to);
  [[nodiscard]] bool is_crisp(const MaskBlock& block) const {
    return block.units_per_token * scale_ >= 1;
  }

  const MaskProblem& problem_;
  const MaskAxis& axis_;
  int pixels_;
  double scale_;
  ChartTheme theme_;
  std::int64_t samples_per_pixel_ = 1;
  qint64 rows_sampled_ = 0;
  // By attending and attended group; the last column is document tokens and sentence starts mixed.
  static constexpr std::size_t mixed = token_group_count;
  static constexpr std::size_t columns = token_group_count + 1;
  std::array<Cover, token_group_count * columns> covers_;
  std::vector<TokenRange> intervals_;  // of one row
  std::vector<float> available_;       // how much of a pixel column lies in blocks
  std::vector<float> sentence_share_;  // how much of it is sentence starts, where tokens share it
};

}  // namespace attnscope::charts
