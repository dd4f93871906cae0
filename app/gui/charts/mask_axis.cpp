// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/charts/mask_axis.h"

#include <algorithm>
#include <cmath>

namespace attnscope::charts {
namespace {

constexpr double cls_share = 0.12;  // of the axis in style equal-groups

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

}  // namespace

MaskAxis::MaskAxis(const MaskProblem& problem, MaskStyle style, double length, double gap,
                   const MaskViewport& viewport)
    : blocks_(blocks_of(problem.layout())), length_(length) {
  const double gaps = gap * static_cast<double>(blocks_.size() - 1);
  const double free = std::max(1.0, length - gaps);
  const double fit = free / static_cast<double>(problem.tokens());
  const bool has_cls = blocks_.front().group == TokenGroup::cls && blocks_.size() > 1;
  const auto others = static_cast<double>(blocks_.size() - (has_cls ? 1 : 0));
  double position = 0;
  for (MaskBlock& block : blocks_) {
    block.begin = position;
    if (style == MaskStyle::equal_groups) {
      const bool is_cls = has_cls && block.group == TokenGroup::cls;
      const double extent =
          is_cls ? free * cls_share : free * (1 - (has_cls ? cls_share : 0)) / others;
      block.units_per_token = extent / static_cast<double>(block.tokens.size());
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

}  // namespace attnscope::charts
