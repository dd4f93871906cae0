// SPDX-License-Identifier: Apache-2.0
#include "engine/heat/axes.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

namespace attnscope {

const Axis* find_axis(std::string_view key) {
  const auto* const found = std::ranges::find(heat_axes, key, &Axis::key);
  return found == heat_axes.end() ? nullptr : found;
}

const std::array<std::size_t, heat_axes.size()>& nesting_order() {
  static const std::array<std::size_t, heat_axes.size()> order = [] {
    std::array<std::size_t, heat_axes.size()> places{};
    std::iota(places.begin(), places.end(), std::size_t{0});
    std::ranges::stable_sort(places, {},
                             [](std::size_t place) { return heat_axes[place].nesting; });
    return places;
  }();
  return order;
}

std::string text_of(const Axis& axis, std::int64_t value) {
  if (axis.kind == Axis::Kind::truth) return value != 0 ? "true" : "false";
  if (axis.kind == Axis::Kind::word) return std::string(axis.word(value));
  if (axis.kind == Axis::Kind::lengths) return text_of(LengthDistribution::unpacked(value));
  return std::to_string(value);
}

std::string text_of(const Axis& axis, const HeatPoint& point) {
  return text_of(axis, axis.get(point));
}

std::vector<std::string_view> words_of(const Axis& axis) {
  std::vector<std::string_view> words;
  for (std::int64_t value = 0; value < axis.words; ++value) words.push_back(axis.word(value));
  return words;
}

std::optional<std::int64_t> value_of_text(const Axis& axis, std::string_view name) {
  if (axis.kind == Axis::Kind::lengths) {
    const auto lengths = parse_lengths(name);
    return lengths ? std::optional(lengths->packed()) : std::nullopt;
  }
  for (std::int64_t value = 0; value < axis.words; ++value) {
    if (axis.word(value) == name) return value;
  }
  return std::nullopt;
}

nlohmann::json json_of(const Axis& axis, const HeatPoint& point) {
  const std::int64_t value = axis.get(point);
  if (axis.kind == Axis::Kind::number) return value;
  if (axis.kind == Axis::Kind::truth) return value != 0;
  if (axis.kind == Axis::Kind::lengths) return json_of(LengthDistribution::unpacked(value));
  return text_of(axis, value);
}

std::int64_t read_value(const Axis& axis, const JsonField& field) {
  if (axis.kind == Axis::Kind::number) return field.whole(axis.least, axis.most);
  if (axis.kind == Axis::Kind::truth) return field.truth() ? 1 : 0;
  if (axis.kind == Axis::Kind::lengths) return read_lengths(field).packed();
  return static_cast<std::int64_t>(field.one_of(words_of(axis), axis.key));
}

std::string point_key(const HeatPoint& point) {
  std::string key;
  for (const Axis& axis : heat_axes) {
    if (!axis.adds_to(point)) continue;
    key += fmt::format("{}{}={}", key.empty() ? "" : ",", axis.key, text_of(axis, point));
  }
  return key;
}

}  // namespace attnscope
