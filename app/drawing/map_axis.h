#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// MapAxis: the positions of an item's tokens along one side of a map, whose rows attend to its
// columns. A mask's tokens are in blocks with a gap between them: [CLS], the query, every document.

#include <QRectF>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

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

}  // namespace attnscope::charts
