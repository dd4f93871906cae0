#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// MaskProblem: one item of a pattern as a mask shows it, with its plan and its oracle. In the
// schematic style it is a small stand-in (1 + 6 + 24 tokens, a window that fits them). Also the
// difference between two problems with the same tokens, and the cells of both as images.
//
// Images are rendered pixel row by pixel row from key intervals. A token at least one pixel wide is
// drawn crisply: a pixel belongs to the token at its centre. Smaller tokens share pixels, and a
// pixel then shows the fraction of its pairs that are allowed. With a second mask of the same
// tokens the image shows the difference of the two masks. Before that, the keys of a row are split
// into runs of one colour: at the ends of subsequences and at sentence starts among other tokens.

#include <QImage>
#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "app/drawing/chart_style.h"
#include "app/drawing/map.h"
#include "engine/pattern/attention_pattern.h"
#include "engine/pattern/oracle.h"
#include "engine/pattern/sequence_layout.h"
#include "kernels/plan/attention_plan.h"

namespace attnscope::charts {

/// A pattern with its window, if it has one.
struct MaskSource {
  AttentionPattern pattern;
  std::optional<Window> window;
};

enum class MaskStyle { schematic, true_scale };
/// "schematic", "true"; an error lists them and the nearest match.
[[nodiscard]] Result<MaskStyle> parse_mask_style(std::string_view text);
[[nodiscard]] std::string_view name_of(MaskStyle style);

class MaskProblem {
 public:
  static constexpr std::int64_t largest = 1'000'000;  // tokens

  [[nodiscard]] static Result<std::shared_ptr<const MaskProblem>> make(const MaskSource& source,
                                                                       const LayoutItem& item,
                                                                       MaskStyle style);
  MaskProblem(const MaskProblem&) = delete;  // the oracle points into it
  MaskProblem& operator=(const MaskProblem&) = delete;

  /// The drawn pattern, and the requested one, which the schematic style may narrow.
  [[nodiscard]] const AttentionPattern& pattern() const { return pattern_; }
  [[nodiscard]] const AttentionPattern& requested() const { return requested_; }
  [[nodiscard]] std::optional<Window> window() const { return window_; }
  [[nodiscard]] const SequenceLayout& layout() const { return layout_; }
  [[nodiscard]] const Oracle& oracle() const { return *oracle_; }
  [[nodiscard]] std::int64_t tokens() const { return layout_.tokens(); }
  [[nodiscard]] TokenGroup group_of(std::int64_t token) const {
    return groups_[static_cast<std::size_t>(token)];
  }
  /// Replaces `intervals` by the keys that `query` may attend to: disjoint, ascending within each
  /// segment of the plan. The caller keeps the vector: a row may have thousands of intervals, and
  /// a picture hundreds of rows.
  void keys_of(std::int64_t query, std::vector<TokenRange>& intervals) const;
  /// Sentence starts that take part, ascending; empty for patterns without sentences.
  [[nodiscard]] const std::vector<std::int64_t>& sentence_tokens() const { return sentences_; }
  /// The first sentence start after `token`; tokens() without one.
  [[nodiscard]] std::int64_t next_sentence(std::int64_t token) const;
  /// True if the sizes or the window are the schematic's, not the true ones.
  [[nodiscard]] bool is_stand_in() const { return stand_in_; }
  /// The requested window, which the schematic style may narrow.
  [[nodiscard]] std::optional<Window> true_window() const { return true_window_; }

 private:
  MaskProblem() = default;
  void index_tokens();

  AttentionPattern pattern_, requested_;
  std::optional<Window> window_;
  std::optional<Window> true_window_;
  SequenceLayout layout_;
  AttentionPlan plan_;
  std::unique_ptr<Oracle> oracle_;
  std::vector<TokenGroup> groups_;
  std::vector<std::int32_t> task_of_;  // -1: the token attends to nothing
  std::vector<std::int64_t> sentences_;
  bool stand_in_ = false;
};

/// What is drawn: a mask, or the difference of two masks with the same tokens.
struct DrawnMasks {
  std::shared_ptr<const MaskProblem> a, b;  // b is null without a difference
};
[[nodiscard]] Result<DrawnMasks> make_masks(const MaskSource& a, const std::optional<MaskSource>& b,
                                            const LayoutItem& item, MaskStyle style);

/// Pairs that only A allows, only B, and both; computed row by row from the intervals of both.
enum class DifferencePart { only_a, only_b, both };
inline constexpr std::size_t difference_part_count = 3;

/// A pair in the difference of two masks. It is also hatched (hatch_of), so that A and B are not
/// distinguished by colour alone.
[[nodiscard]] QColor difference_color(DifferencePart part, ChartTheme theme);
/// The lines of the hatching.
[[nodiscard]] QColor hatch_color(DifferencePart part, ChartTheme theme);
/// Slope of the hatching: 1 like "/", -1 like "\\", 0 none.
[[nodiscard]] int hatch_of(DifferencePart part);
/// One row's keys, each list ascending and disjoint. The caller reuses it for many rows.
class DifferenceRow {
 public:
  /// `a` and `b` have the same tokens.
  void split(const MaskProblem& a, const MaskProblem& b, std::int64_t query);
  [[nodiscard]] const std::vector<TokenRange>& keys(DifferencePart part) const {
    return parts_[static_cast<std::size_t>(part)];
  }

 private:
  void add(bool in_a, bool in_b, TokenRange keys);

  std::array<std::vector<TokenRange>, difference_part_count> parts_;
  std::vector<TokenRange> a_, b_;
};

/// Pairs of the whole mask in each part, in DifferencePart's order. Nothing if there are too many
/// intervals to process in a few seconds, or if `superseded` returns true during the count.
using DifferenceCounts = std::array<std::int64_t, difference_part_count>;
[[nodiscard]] std::optional<DifferenceCounts> count_difference(
    const MaskProblem& a, const MaskProblem& b, const std::function<bool()>& superseded);

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
