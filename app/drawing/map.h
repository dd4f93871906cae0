#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Axes, colours and labels of maps of tokens x tokens, whose rows attend to their columns: masks
// and attention weights.
//
// MapAxis has the positions of an item's tokens along one side of a map. A mask's tokens are in
// blocks with a gap between them: [CLS], the query, every document.
//
// A mask has the colours of the paper's Fig. 1 (Schlatt et al., ECIR 2024): black [CLS], blue
// query, yellow document, red sentence starts in the margins; green cells inside. The ramps of
// attention weights change evenly in lightness (in OKLab, Ottosson 2020) and encode values only by
// blue against yellow or orange, which all common kinds of colour blindness preserve: weights run
// from the background's lightness to its opposite, differences from blue over the background to
// orange.

#include <QColor>
#include <QImage>
#include <QRectF>
#include <QRgb>
#include <QString>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "app/drawing/chart_style.h"
#include "engine/inspect/head_summary.h"
#include "engine/pattern/attention_pattern.h"
#include "kernels/plan/attention_plan.h"

namespace attnscope::charts {

/// A position among the tokens, independent of scale: a block and tokens from its begin, fractions
/// included; in the gap after a block, units beyond its end.
struct AxisPlace {
  std::size_t block = 0;
  double tokens = 0;
  double beyond = 0;
  friend bool operator==(const AxisPlace&, const AxisPlace&) = default;
};

/// The visible part of a map, independent of the map's size.
struct MapFocus {
  double tokens = 0;      // from edge to edge; 0: all tokens
  AxisPlace row, column;  // at the centre
  friend bool operator==(const MapFocus&, const MapFocus&) = default;
};

struct MapBlock {
  TokenGroup group = TokenGroup::cls;
  int document = -1;  // index among the documents
  TokenRange tokens;
  double begin = 0;  // page units from the axis' start, unscrolled
  double units_per_token = 0;
  [[nodiscard]] double end() const {
    return begin + units_per_token * static_cast<double>(tokens.size());
  }
};

class MapAxis {
 public:
  MapAxis() = default;
  /// Lays the blocks along `length` page units.
  MapAxis(std::vector<MapBlock> blocks, double length, double gap, const MapFocus& focus);

  [[nodiscard]] const std::vector<MapBlock>& blocks() const { return blocks_; }
  [[nodiscard]] std::int64_t tokens() const { return blocks_.back().tokens.end; }
  [[nodiscard]] double length() const { return length_; }   // of the page
  [[nodiscard]] double total() const { return total_; }     // of all tokens; > length when zoomed
  [[nodiscard]] double row_scroll() const { return row_; }  // limited to the map
  [[nodiscard]] double column_scroll() const { return column_; }
  /// The default focus (all tokens) if not zoomed.
  [[nodiscard]] MapFocus focus() const;
  /// focus() after scrolling by these units, or after zooming about a point of the page.
  [[nodiscard]] MapFocus moved(double down, double right) const;
  [[nodiscard]] MapFocus enlarged(double units_per_token, double y, double x) const;

  /// The token at `position`, in unscrolled units; nothing in gaps and beyond the ends.
  [[nodiscard]] std::optional<std::int64_t> token_at(double position) const;
  /// Start of the token in unscrolled units, and its extent.
  [[nodiscard]] double begin_of(std::int64_t token) const;
  [[nodiscard]] double extent_of(std::int64_t token) const;
  [[nodiscard]] const MapBlock& block_of(std::int64_t token) const;
  /// The place at `position` (unscrolled units), and the inverse.
  [[nodiscard]] AxisPlace place_at(double position) const;
  [[nodiscard]] double position_of(const AxisPlace& place) const;

 private:
  std::vector<MapBlock> blocks_;
  double length_ = 0;
  double total_ = 0;
  double gap_ = 0;  // between blocks; smaller if there are many
  double row_ = 0;
  double column_ = 0;
};

/// The square of a page that a map fills; rows and columns use one axis.
struct MapSquare {
  QRectF rect;
  MapAxis axis;

  /// Start of a token on the page.
  [[nodiscard]] double row_begin(std::int64_t token) const {
    return rect.top() + axis.begin_of(token) - axis.row_scroll();
  }
  [[nodiscard]] double column_begin(std::int64_t token) const {
    return rect.left() + axis.begin_of(token) - axis.column_scroll();
  }
  [[nodiscard]] QRectF cell(std::int64_t row, std::int64_t column) const {
    return {column_begin(column), row_begin(row), axis.extent_of(column), axis.extent_of(row)};
  }
  /// (row, column); nothing outside the square or in gaps.
  [[nodiscard]] std::optional<std::pair<qint64, qint64>> pair_at(QPointF position) const;
};

/// An allowed pair: the hue depends on the attending group, the lightness on the attended group.
[[nodiscard]] QColor pair_color(TokenGroup from, TokenGroup to, ChartTheme theme);
/// A pair that is not allowed.
[[nodiscard]] QColor ground_color(ChartTheme theme);
/// A token in the margin.
[[nodiscard]] QColor margin_color(TokenGroup group, ChartTheme theme);
/// "[CLS]", "query", "document", "sentence start".
[[nodiscard]] QString group_title(TokenGroup group);

inline constexpr int heat_steps = 256;
using HeatRamp = std::array<QRgb, heat_steps>;

[[nodiscard]] const HeatRamp& weight_ramp(ChartTheme theme);
/// Step 0 is the most negative value; the middle is 0.
[[nodiscard]] const HeatRamp& difference_ramp(ChartTheme theme);
/// Colour of pairs that the pattern does not allow.
[[nodiscard]] QColor not_allowed_color(ChartTheme theme);

/// Maps weights to steps of the ramp.
struct HeatScale {
  bool logarithmic = false;
  bool difference = false;  // values have either sign
  double largest = 1;       // magnitude at the ramp's end
  /// Range of a logarithmic scale in decades; smaller weights are drawn as the smallest.
  static constexpr double decades = 4;

  /// Position along the ramp, in [0, 1].
  [[nodiscard]] double position(double value) const;
  /// Inverse of position().
  [[nodiscard]] double value(double position) const;
  friend bool operator==(const HeatScale&, const HeatScale&) = default;
};

/// The ramp's colour for a value.
[[nodiscard]] QColor heat_color(double value, const HeatScale& scale, ChartTheme theme);

/// Renders weights as an image, one pixel per cell.
[[nodiscard]] QImage heat_image(const PooledMap& map, const HeatScale& scale, ChartTheme theme);

}  // namespace attnscope::charts
