// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/drawing/mask_problem.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "base/sentences.h"
#include "engine/pattern/compile_plan.h"
#include "kernels/plan/key_runs.h"

namespace attnscope::charts {
namespace {

constexpr std::array<std::pair<std::string_view, MaskStyle>, 2> styles{{
    {"schematic", MaskStyle::schematic},
    {"true", MaskStyle::true_scale},
}};

constexpr std::int64_t schematic_query = 6;
constexpr std::int64_t schematic_document = 24;
constexpr std::int64_t schematic_sentence = 8;
// A window over 24 tokens is recognizable only if most of the document is outside it.
constexpr std::int64_t schematic_window = 5;
// Four visibly overlapping chunks in 24 tokens.
constexpr ChunkRule schematic_chunk{.tokens = 6, .overlap = 2};
// Blocks of 2 tokens and 3 random ones: 31 tokens are more than BigBird's fallback of 11 blocks.
constexpr std::int64_t schematic_block = 2;
constexpr std::int64_t schematic_random = 3;

constexpr double most_intervals = 5e8;  // a few seconds' work
constexpr std::int64_t rows_between_looks = 1024;
constexpr std::int64_t beyond = std::numeric_limits<std::int64_t>::max();

std::int64_t stand_in_window(std::int64_t window) {
  return std::min(window, schematic_window);
}

// The schematic's sizes: groups that the item lacks stay absent; several documents share the 24
// tokens.
LayoutItem stand_in(const LayoutItem& item, bool with_sentences) {
  LayoutItem small;
  small.cls = item.cls > 0 ? 1 : 0;
  small.query = item.query > 0 ? schematic_query : 0;
  std::int64_t documents = 0;
  for (const std::int64_t document : item.documents) documents += document > 0 ? 1 : 0;
  documents = std::min<std::int64_t>(documents, 4);
  for (std::int64_t d = 0; d < documents; ++d) {
    small.documents.push_back(schematic_document / documents);
  }
  if (with_sentences) {
    small.sentences_given = true;
    const std::int64_t tokens = documents > 0 ? schematic_document / documents * documents : 0;
    for (std::int64_t token = 0; token < tokens; token += schematic_sentence) {
      small.sentences.push_back(token);
    }
  }
  return small;
}

ChunkRule stand_in(const ChunkRule& rule) {
  return {.tokens = std::min(rule.tokens, schematic_chunk.tokens),
          .overlap = std::min(rule.overlap, schematic_chunk.overlap)};
}

AttentionPattern stand_in(AttentionPattern pattern) {
  for (auto& row : pattern.attends) {
    for (GroupRule& rule : row) {
      if (rule.fixed_window) rule.fixed_window = stand_in_window(*rule.fixed_window);
      if (rule.kind == GroupRule::Kind::chunks) rule.chunk = stand_in(rule.chunk);
    }
  }
  if (pattern.blocks) {
    pattern.blocks->length = std::min(pattern.blocks->length, schematic_block);
    pattern.blocks->random = std::min(pattern.blocks->random, schematic_random);
  }
  return pattern;
}

}  // namespace

Result<MaskStyle> parse_mask_style(std::string_view text) {
  const auto it = std::ranges::find(styles, text, &std::pair<std::string_view, MaskStyle>::first);
  if (it != styles.end()) return it->second;
  std::array<std::string_view, styles.size()> names;
  std::ranges::transform(styles, names.begin(), [](const auto& entry) { return entry.first; });
  return fail("unknown mask style '{}'; {}", text, suggest(text, names));
}

std::string_view name_of(MaskStyle style) {
  return std::ranges::find(styles, style, &std::pair<std::string_view, MaskStyle>::second)->first;
}

Result<std::shared_ptr<const MaskProblem>> MaskProblem::make(const MaskSource& source,
                                                             const LayoutItem& item,
                                                             MaskStyle style) {
  const auto& [pattern, window] = source;
  std::shared_ptr<MaskProblem> problem(new MaskProblem);
  problem->pattern_ = problem->requested_ = pattern;
  problem->window_ = window;
  problem->true_window_ = window;
  LayoutItem shown = item;
  // Checks the true sizes too, so that no style hides an error.
  Result<SequenceLayout> layout = SequenceLayout::make({item});
  if (!layout) return tl::unexpected(layout.error());
  if (style == MaskStyle::schematic) {
    shown = stand_in(item, pattern.has_sentences());
    problem->pattern_ = stand_in(pattern);
    if (window && !window->is_infinite()) {
      problem->window_ = Window::of(stand_in_window(window->tokens()));
    }
    layout = SequenceLayout::make({shown});
    if (!layout) return tl::unexpected(layout.error());
    problem->stand_in_ = shown.query != item.query || shown.documents != item.documents ||
                         problem->window_ != window || !(problem->pattern_ == pattern);
  }
  problem->layout_ = *std::move(layout);
  if (problem->tokens() == 0) return fail("a mask needs at least one token");
  if (problem->tokens() > largest) {
    return fail("a mask shows at most {} tokens, not {}; choose a smaller document", largest,
                problem->tokens());
  }
  Result<AttentionPlan> plan =
      compile_plan(problem->pattern_, problem->window_, problem->layout_, /*heads=*/1);
  if (!plan) return tl::unexpected(plan.error());
  problem->plan_ = *std::move(plan);
  problem->oracle_ =
      std::make_unique<Oracle>(problem->pattern_, problem->window_, problem->layout_);
  problem->index_tokens();
  return problem;
}

Result<DrawnMasks> make_masks(const MaskSource& a, const std::optional<MaskSource>& b,
                              const LayoutItem& item, MaskStyle style) {
  auto first = MaskProblem::make(a, item, style);
  if (!first) return tl::unexpected(first.error());
  if (!b) return DrawnMasks{*std::move(first), nullptr};
  auto second = MaskProblem::make(*b, item, style);
  if (!second) return tl::unexpected(second.error());
  return DrawnMasks{*std::move(first), *std::move(second)};
}

void MaskProblem::index_tokens() {
  const auto count = static_cast<std::size_t>(tokens());
  groups_.resize(count);
  for (std::size_t token = 0; token < count; ++token) {
    groups_[token] = oracle_->place_of(static_cast<std::int64_t>(token)).group;
    if (groups_[token] == TokenGroup::sentence)
      sentences_.push_back(static_cast<std::int64_t>(token));
  }
  task_of_.assign(count, -1);
  for (std::size_t t = 0; t < plan_.tasks.size(); ++t) {
    const TokenRun& queries = plan_.tasks[t].queries;
    for (std::int64_t i = 0; i < queries.size(); ++i) {
      const std::int64_t token = plan_.token_at(queries, i);
      task_of_[static_cast<std::size_t>(token)] = static_cast<std::int32_t>(t);
    }
  }
}

std::int64_t MaskProblem::next_sentence(std::int64_t token) const {
  const auto it = std::ranges::upper_bound(sentences_, token);
  return it == sentences_.end() ? tokens() : *it;
}

void MaskProblem::keys_of(std::int64_t query, std::vector<TokenRange>& intervals) const {
  intervals.clear();
  const std::int32_t task = task_of_[static_cast<std::size_t>(query)];
  if (task < 0) return;
  for (const Segment& segment : plan_.segments_of(plan_.tasks[static_cast<std::size_t>(task)])) {
    append_key_intervals(plan_, segment, query, intervals);
  }
}

void DifferenceRow::add(bool in_a, bool in_b, TokenRange keys) {
  if (keys.empty() || (!in_a && !in_b)) return;
  const DifferencePart part = in_a && in_b ? DifferencePart::both
                              : in_a       ? DifferencePart::only_a
                                           : DifferencePart::only_b;
  std::vector<TokenRange>& list = parts_[static_cast<std::size_t>(part)];
  if (!list.empty() && list.back().end == keys.begin) {
    list.back().end = keys.end;
  } else {
    list.push_back(keys);
  }
}

void DifferenceRow::split(const MaskProblem& a, const MaskProblem& b, std::int64_t query) {
  for (std::vector<TokenRange>& list : parts_) list.clear();
  a.keys_of(query, a_);
  b.keys_of(query, b_);
  merge_intervals(a_);
  merge_intervals(b_);
  std::size_t i = 0;
  std::size_t j = 0;
  std::int64_t at = 0;
  // From boundary to boundary: between two of them, membership is constant.
  while (i < a_.size() || j < b_.size()) {
    const bool in_a = i < a_.size() && a_[i].begin <= at;
    const bool in_b = j < b_.size() && b_[j].begin <= at;
    const auto border = [at](const std::vector<TokenRange>& list, std::size_t k, bool inside) {
      if (k == list.size()) return beyond;
      return inside ? list[k].end : std::max(list[k].begin, at);
    };
    const std::int64_t next = std::min(border(a_, i, in_a), border(b_, j, in_b));
    add(in_a, in_b, {at, next});
    at = next;
    if (i < a_.size() && a_[i].end <= at) ++i;
    if (j < b_.size() && b_[j].end <= at) ++j;
  }
}

std::optional<DifferenceCounts> count_difference(const MaskProblem& a, const MaskProblem& b,
                                                 const std::function<bool()>& superseded) {
  const auto intervals =
      static_cast<double>(8 + a.sentence_tokens().size() + b.sentence_tokens().size());
  if (intervals * static_cast<double>(a.tokens()) > most_intervals) return std::nullopt;
  DifferenceCounts counts{};
  DifferenceRow row;
  for (std::int64_t query = 0; query < a.tokens(); ++query) {
    if (query % rows_between_looks == 0 && superseded()) return std::nullopt;
    row.split(a, b, query);
    for (std::size_t part = 0; part < difference_part_count; ++part) {
      for (const TokenRange& keys : row.keys(static_cast<DifferencePart>(part))) {
        counts[part] += keys.size();
      }
    }
  }
  return counts;
}

}  // namespace attnscope::charts
