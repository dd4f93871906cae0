#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// MaskProblem: one item of a pattern as a mask shows it, with its plan and its oracle. In the
// schematic style it is a small stand-in (1 + 6 + 24 tokens, a window that fits them). Also the
// differences between two problems with the same tokens.

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

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

}  // namespace attnscope::charts
