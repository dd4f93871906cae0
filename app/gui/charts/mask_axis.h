#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// MaskAxis: where the tokens of an item lie along one side of a mask. Each subsequence ([CLS], the
// query, every document) is a block with a scale of its own, with a gap between blocks.

#include <optional>
#include <vector>

#include "app/gui/charts/mask_problem.h"

namespace attnscope::charts {

/// What style true shows: all tokens (scale 0) or a part.
struct MaskViewport {
  double scale = 0;   // page units per token; 0: what makes all tokens fit
  double row = 0;     // units scrolled away at the top ...
  double column = 0;  // ... and at the left
};

struct MaskBlock {
  TokenGroup group = TokenGroup::cls;
  int document = -1;  // index among the documents
  TokenRange tokens;
  double begin = 0;  // page units from the axis' start, unscrolled
  double units_per_token = 0;
  [[nodiscard]] double end() const {
    return begin + units_per_token * static_cast<double>(tokens.size());
  }
};

/// A place among the tokens, whatever their scale: a block and tokens from its begin, fractions
/// included.
struct AxisPlace {
  std::size_t block = 0;
  double tokens = 0;
};

class MaskAxis {
 public:
  MaskAxis() = default;
  /// Lays the problem's blocks along `length` page units.
  MaskAxis(const MaskProblem& problem, MaskStyle style, double length, double gap,
           const MaskViewport& viewport);

  [[nodiscard]] const std::vector<MaskBlock>& blocks() const { return blocks_; }
  [[nodiscard]] double length() const { return length_; }  // of the page
  [[nodiscard]] double total() const { return total_; }    // of all tokens; > length when zoomed
  [[nodiscard]] double gap() const { return gap_; }  // between blocks; smaller where they are many
  [[nodiscard]] double row_scroll() const { return row_; }  // kept inside the mask
  [[nodiscard]] double column_scroll() const { return column_; }

  /// The token at `position`, in unscrolled units; nothing in gaps and beyond the ends.
  [[nodiscard]] std::optional<std::int64_t> token_at(double position) const;
  /// Start of the token in unscrolled units, and its extent.
  [[nodiscard]] double begin_of(std::int64_t token) const;
  [[nodiscard]] double extent_of(std::int64_t token) const;
  [[nodiscard]] const MaskBlock& block_of(std::int64_t token) const;
  /// What lies at `position` (unscrolled units; a gap belongs to the block before it), and back.
  [[nodiscard]] AxisPlace place_at(double position) const;
  [[nodiscard]] double position_of(const AxisPlace& place) const;

 private:
  std::vector<MaskBlock> blocks_;
  double length_ = 0;
  double total_ = 0;
  double gap_ = 0;
  double row_ = 0;
  double column_ = 0;
};

}  // namespace attnscope::charts
