// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/drawing/map_axis.h"

#include <algorithm>

namespace attnscope::charts {
namespace {

constexpr double most_gap_share = 0.15;  // of the axis, for all gaps of many documents

}  // namespace

MapAxis::MapAxis(std::vector<MapBlock> blocks, double length, double gap, const MapFocus& focus)
    : blocks_(std::move(blocks)), length_(length), gap_(gap) {
  const auto between = static_cast<double>(blocks_.size() - 1);
  if (between > 0) gap_ = std::min(gap, most_gap_share * length / between);
  const double free = std::max(1.0, length - gap_ * between);
  const double fit = free / static_cast<double>(tokens());
  const double wanted = focus.tokens > 0 ? length / focus.tokens : 0;
  double position = 0;
  for (MapBlock& block : blocks_) {
    block.begin = position;
    block.units_per_token = std::max(fit, wanted);
    position = block.end() + gap_;
  }
  total_ = position - gap_;
  const double most = std::max(0.0, total_ - length_);
  if (most == 0 || focus.tokens <= 0) return;
  row_ = std::clamp(position_of(focus.row) - length_ / 2, 0.0, most);
  column_ = std::clamp(position_of(focus.column) - length_ / 2, 0.0, most);
}

MapFocus MapAxis::focus() const {
  return moved(0, 0);
}

MapFocus MapAxis::moved(double down, double right) const {
  if (total_ <= length_ * (1 + 1e-9)) return {};
  const double most = total_ - length_;
  const auto middle = [&](double scroll) {
    return place_at(std::clamp(scroll, 0.0, most) + length_ / 2);
  };
  return {.tokens = length_ / blocks_.front().units_per_token,
          .row = middle(row_ + down),
          .column = middle(column_ + right)};
}

MapFocus MapAxis::enlarged(double units_per_token, double y, double x) const {
  MapFocus next = {.tokens = length_ / units_per_token, .row = {}, .column = {}};
  const MapAxis zoomed(blocks_, length_, gap_, next);
  const auto middle = [&](double scroll, double at) {
    return zoomed.place_at(zoomed.position_of(place_at(scroll + at)) - at + length_ / 2);
  };
  next.row = middle(row_, y);
  next.column = middle(column_, x);
  return MapAxis(blocks_, length_, gap_, next).focus();
}

std::optional<std::int64_t> MapAxis::token_at(double position) const {
  for (const MapBlock& block : blocks_) {
    if (position < block.begin || position >= block.end()) continue;
    const auto index = static_cast<std::int64_t>((position - block.begin) / block.units_per_token);
    return block.tokens.begin + std::min(index, block.tokens.size() - 1);
  }
  return std::nullopt;
}

const MapBlock& MapAxis::block_of(std::int64_t token) const {
  const auto it = std::ranges::find_if(
      blocks_, [token](const MapBlock& block) { return token < block.tokens.end; });
  return it == blocks_.end() ? blocks_.back() : *it;
}

double MapAxis::begin_of(std::int64_t token) const {
  const MapBlock& block = block_of(token);
  return block.begin + block.units_per_token * static_cast<double>(token - block.tokens.begin);
}

double MapAxis::extent_of(std::int64_t token) const {
  return block_of(token).units_per_token;
}

AxisPlace MapAxis::place_at(double position) const {
  std::size_t b = 0;
  while (b + 1 < blocks_.size() && position >= blocks_[b + 1].begin) ++b;
  const double tokens = (position - blocks_[b].begin) / blocks_[b].units_per_token;
  return {b, std::clamp(tokens, 0.0, static_cast<double>(blocks_[b].tokens.size())),
          std::max(0.0, position - blocks_[b].end())};
}

double MapAxis::position_of(const AxisPlace& place) const {
  const MapBlock& block = blocks_[std::min(place.block, blocks_.size() - 1)];
  return block.begin + place.tokens * block.units_per_token + place.beyond;
}

std::optional<std::pair<qint64, qint64>> MapSquare::pair_at(QPointF position) const {
  if (!rect.contains(position)) return std::nullopt;
  const auto row = axis.token_at(position.y() - rect.top() + axis.row_scroll());
  const auto column = axis.token_at(position.x() - rect.left() + axis.column_scroll());
  if (!row || !column) return std::nullopt;
  return std::pair<qint64, qint64>(*row, *column);
}

}  // namespace attnscope::charts
