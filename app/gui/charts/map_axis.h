#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// MapAxis: where the tokens of an item lie along one side of a map, whose rows attend to its
// columns. A mask's tokens lie in blocks with a gap between them: [CLS], the query, every document.

#include <QRectF>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "engine/pattern/attention_pattern.h"
#include "kernels/plan/attention_plan.h"

namespace attnscope::charts {

/// A place among the tokens, whatever their scale: a block and tokens from its begin, fractions
/// included; in the gap after a block, units beyond its end.
struct AxisPlace {
  std::size_t block = 0;
  double tokens = 0;
  double beyond = 0;
  friend bool operator==(const AxisPlace&, const AxisPlace&) = default;
};

/// Where a map looks, so that a map of another size can look there too.
struct MapFocus {
  double tokens = 0;      // from edge to edge; 0: all of them
  AxisPlace row, column;  // in the middle
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
  [[nodiscard]] double row_scroll() const { return row_; }  // kept inside the map
  [[nodiscard]] double column_scroll() const { return column_; }
  /// All tokens where nothing is zoomed.
  [[nodiscard]] MapFocus focus() const;
  /// As focus(), scrolled by so many units and then enlarged about a point of the page.
  [[nodiscard]] MapFocus moved(double down, double right) const;
  [[nodiscard]] MapFocus enlarged(double units_per_token, double y, double x) const;

  /// The token at `position`, in unscrolled units; nothing in gaps and beyond the ends.
  [[nodiscard]] std::optional<std::int64_t> token_at(double position) const;
  /// Start of the token in unscrolled units, and its extent.
  [[nodiscard]] double begin_of(std::int64_t token) const;
  [[nodiscard]] double extent_of(std::int64_t token) const;
  [[nodiscard]] const MapBlock& block_of(std::int64_t token) const;
  /// What lies at `position` (unscrolled units), and back.
  [[nodiscard]] AxisPlace place_at(double position) const;
  [[nodiscard]] double position_of(const AxisPlace& place) const;

 private:
  std::vector<MapBlock> blocks_;
  double length_ = 0;
  double total_ = 0;
  double gap_ = 0;  // between blocks; smaller where they are many
  double row_ = 0;
  double column_ = 0;
};

/// The square of a page that a map fills, rows and columns along one axis.
struct MapSquare {
  QRectF rect;
  MapAxis axis;

  /// A token's start on the page.
  [[nodiscard]] double row_begin(std::int64_t token) const {
    return rect.top() + axis.begin_of(token) - axis.row_scroll();
  }
  [[nodiscard]] double column_begin(std::int64_t token) const {
    return rect.left() + axis.begin_of(token) - axis.column_scroll();
  }
  [[nodiscard]] QRectF cell(std::int64_t row, std::int64_t column) const {
    return {column_begin(column), row_begin(row), axis.extent_of(column), axis.extent_of(row)};
  }
  /// (row, column); nothing outside the square and in gaps.
  [[nodiscard]] std::optional<std::pair<qint64, qint64>> pair_at(QPointF position) const;
};

}  // namespace attnscope::charts
