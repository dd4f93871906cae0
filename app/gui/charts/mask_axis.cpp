// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/charts/mask_axis.h"

#include <algorithm>
#include <cmath>

namespace attnscope::charts {
namespace {

constexpr double least_share = 0.12;     // of the axis for a group in style equal-groups
constexpr double most_gap_share = 0.15;  // of the axis for all gaps, of many documents

std::vector<MaskBlock> blocks_of(const SequenceLayout& layout) {
  std::vector<MaskBlock> blocks;
  const auto add = [&](TokenGroup group, int document, TokenRange tokens) {
    if (!tokens.empty()) blocks.push_back({group, document, tokens, 0, 0});
  };
  add(TokenGroup::cls, -1, layout.cls(0));
  add(TokenGroup::query, -1, layout.query(0));
  for (std::int64_t d = 0; d < layout.document_count(0); ++d) {
    add(TokenGroup::document, static_cast<int>(d), layout.document(0, d));
  }
  return blocks;
}

// [CLS], a single token, has the least; the query and each document have as much as one another,
// but the query never less than the least, however many documents there are.
double equal_share(const MaskBlock& block, const std::vector<MaskBlock>& blocks, double least) {
  const auto count_of = [&](TokenGroup group) {
    return static_cast<double>(std::ranges::count(blocks, group, &MaskBlock::group));
  };
  const double documents = count_of(TokenGroup::document);
  const bool has_query = count_of(TokenGroup::query) > 0;
  const bool has_others = has_query || documents > 0;
  const double cls = has_others ? least * count_of(TokenGroup::cls) : 1;
  if (block.group == TokenGroup::cls) return cls;
  const double query = has_query ? std::max(least, (1 - cls) / (documents + 1)) : 0;
  if (block.group == TokenGroup::query) return documents > 0 ? query : 1 - cls;
  return (1 - cls - query) / documents;
}

}  // namespace

MaskAxis::MaskAxis(const MaskProblem& problem, MaskStyle style, double length, double gap,
                   const MaskViewport& viewport)
    : blocks_(blocks_of(problem.layout())), length_(length) {
  const auto between = static_cast<double>(blocks_.size() - 1);
  if (between > 0) gap = std::min(gap, most_gap_share * length / between);
  gap_ = gap;
  const double gaps = gap * between;
  const double free = std::max(1.0, length - gaps);
  const double fit = free / static_cast<double>(problem.tokens());
  double position = 0;
  for (MaskBlock& block : blocks_) {
    block.begin = position;
    if (style == MaskStyle::equal_groups) {
      block.units_per_token = free * equal_share(block, blocks_, least_share * length / free) /
                              static_cast<double>(block.tokens.size());
    } else {
      const bool zoomed = style == MaskStyle::true_scale && viewport.scale > fit;
      block.units_per_token = zoomed ? viewport.scale : fit;
    }
    position = block.end() + gap;
  }
  total_ = position - gap;
  const double most = std::max(0.0, total_ - length_);
  const bool scrolls = style == MaskStyle::true_scale;
  row_ = scrolls ? std::clamp(viewport.row, 0.0, most) : 0;
  column_ = scrolls ? std::clamp(viewport.column, 0.0, most) : 0;
}

std::optional<std::int64_t> MaskAxis::token_at(double position) const {
  for (const MaskBlock& block : blocks_) {
    if (position < block.begin || position >= block.end()) continue;
    const auto index = static_cast<std::int64_t>((position - block.begin) / block.units_per_token);
    return block.tokens.begin + std::min(index, block.tokens.size() - 1);
  }
  return std::nullopt;
}

const MaskBlock& MaskAxis::block_of(std::int64_t token) const {
  const auto it = std::ranges::find_if(
      blocks_, [token](const MaskBlock& block) { return token < block.tokens.end; });
  return it == blocks_.end() ? blocks_.back() : *it;
}

double MaskAxis::begin_of(std::int64_t token) const {
  const MaskBlock& block = block_of(token);
  return block.begin + block.units_per_token * static_cast<double>(token - block.tokens.begin);
}

double MaskAxis::extent_of(std::int64_t token) const {
  return block_of(token).units_per_token;
}

AxisPlace MaskAxis::place_at(double position) const {
  std::size_t b = 0;
  while (b + 1 < blocks_.size() && position >= blocks_[b + 1].begin) ++b;
  const double tokens = (position - blocks_[b].begin) / blocks_[b].units_per_token;
  return {b, std::clamp(tokens, 0.0, static_cast<double>(blocks_[b].tokens.size()))};
}

double MaskAxis::position_of(const AxisPlace& place) const {
  const MaskBlock& block = blocks_[std::min(place.block, blocks_.size() - 1)];
  return block.begin + place.tokens * block.units_per_token;
}

}  // namespace attnscope::charts
