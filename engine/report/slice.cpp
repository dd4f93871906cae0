// SPDX-License-Identifier: Apache-2.0
#include "engine/report/slice.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <tuple>

#include "engine/heat/axes.h"
#include "engine/report/number_text.h"
#include "engine/report/row_values.h"

namespace attnscope::report {
namespace {

struct Name {
  std::string_view key, name;
};
constexpr std::array<Name, 5> names_of_contenders{{
    {window_key, "Window"},
    {"contender", "Contender"},
    {"model", "Model"},
    {"pattern", "Pattern"},
    {"implementation", "Implementation"},
}};

/// The value as shown next to its axis' name.
std::string short_words(std::string_view key, const std::string& value) {
  if (key == window_key) return "w = " + value;
  const Axis* const axis = find_axis(key);
  return axis == nullptr ? value : words_next_to_title(*axis, value);
}

std::optional<double> number_of(std::string_view text) {
  if (text == "none") return -1;
  if (text == "inf") return std::numeric_limits<double>::infinity();
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

bool contains(std::span<const std::string_view> keys, std::string_view key) {
  return std::ranges::find(keys, key) != keys.end();
}

/// One distinct setting of the table: for each axis of the slice, the index of its value.
using Setting = std::vector<std::size_t>;

struct Axes {
  std::vector<std::size_t> places;  // indices in axes_of
  std::vector<std::vector<std::string>> values;
  std::set<Setting> settings;
  std::vector<Setting> in_order;
};

Axes axes_in(const Table& table, std::span<const std::string_view> drawn) {
  Axes axes;
  const std::vector<bool> varying = varying_axes(table.rows);
  const std::vector<AxisValue> all = axes_of({});
  const bool with_length =
      contains(drawn, all[length_axis].key) && length_identifies_documents(all_rows(table.rows));
  for (std::size_t i = 0; i < varying.size(); ++i) {
    if (with_length && i == document_lengths_axis) continue;
    if (varying[i] && !contains(drawn, all[i].key)) axes.places.push_back(i);
  }
  axes.values.resize(axes.places.size());
  std::vector<std::vector<std::string>> settings;
  const HeatPoint* before = nullptr;
  for (const Row& row : table.rows) {
    // The rows of a heat are contiguous.
    if (before != nullptr && row.cell.point == *before) continue;
    before = &row.cell.point;
    const std::vector<AxisValue> point = axes_of(row.cell.point);
    std::vector<std::string>& setting = settings.emplace_back();
    for (std::size_t a = 0; a < axes.places.size(); ++a) {
      setting.push_back(point[axes.places[a]].value);
      add_once(axes.values[a], setting.back());
    }
  }
  for (auto& values : axes.values) order_values(values);
  for (const std::vector<std::string>& setting : settings) {
    Setting places;
    for (std::size_t a = 0; a < setting.size(); ++a) {
      const auto at = std::ranges::find(axes.values[a], setting[a]);
      places.push_back(static_cast<std::size_t>(at - axes.values[a].begin()));
    }
    if (axes.settings.insert(places).second) axes.in_order.push_back(std::move(places));
  }
  return axes;
}

/// The index of the wished value on each axis; empty if there is no wish or the table lacks the
/// value.
std::vector<std::optional<std::size_t>> wished_places(const Axes& axes, const SliceWish& wish,
                                                      const std::vector<AxisValue>& all) {
  std::vector<std::optional<std::size_t>> places(axes.places.size());
  for (std::size_t a = 0; a < places.size(); ++a) {
    const auto wished = wish.values.find(all[axes.places[a]].key);
    if (wished == wish.values.end()) continue;
    const auto at = std::ranges::find(axes.values[a], wished->second);
    if (at != axes.values[a].end()) {
      places[a] = static_cast<std::size_t>(at - axes.values[a].begin());
    }
  }
  return places;
}

Setting nearest(const Axes& axes, const std::vector<std::optional<std::size_t>>& wished,
                std::optional<std::size_t> first) {
  const auto distance = [&](const Setting& setting) {
    std::size_t differing = 0, steps = 0;
    for (std::size_t a = 0; a < setting.size(); ++a) {
      if (!wished[a] || *wished[a] == setting[a]) continue;
      ++differing;
      steps += std::max(*wished[a], setting[a]) - std::min(*wished[a], setting[a]);
    }
    const bool lost_first = first && wished[*first] && *wished[*first] != setting[*first];
    return std::tuple(lost_first, differing, steps);
  };
  return *std::ranges::min_element(axes.in_order, {}, distance);
}

std::string moved_sentence(const Axes& axes, const Setting& chosen,
                           const std::vector<std::optional<std::size_t>>& wished,
                           std::optional<std::size_t> first, const std::vector<AxisValue>& all) {
  const auto words = [&](std::size_t a, std::size_t place) {
    const std::string_view key = all[axes.places[a]].key;
    return fmt::format("{} {}", axis_name(key), short_words(key, axes.values[a][place]));
  };
  std::string lost, taken;
  for (std::size_t a = 0; a < chosen.size(); ++a) {
    if (!wished[a] || *wished[a] == chosen[a]) continue;
    lost += (lost.empty() ? "" : ", ") + words(a, *wished[a]);
    taken += (taken.empty() ? "" : ", ") + words(a, chosen[a]);
  }
  if (lost.empty()) return {};
  const std::string with = first ? " with " + words(*first, chosen[*first]) : " together";
  return fmt::format("{} was not measured{}: showing {}.", lost, with, taken);
}

std::vector<std::string> all_windows_of(const Table& table) {
  std::vector<std::string> windows;
  for (const Row& row : table.rows) {
    if (const auto& window = row.cell.cell.contender.window) add_once(windows, window->text());
  }
  order_values(windows);
  return windows;
}

/// Adds the windows available in the slice, after all other axes are chosen.
void add_windows(Slice& slice, const Table& table, const SliceWish& wish) {
  const std::vector<std::string> windows = all_windows_of(table);
  if (windows.size() < 2) return;
  std::vector<std::string> here;
  for (const Row& row : table.rows) {
    const auto& window = row.cell.cell.contender.window;
    if (window && is_in(slice, row)) add_once(here, window->text());
  }
  SliceAxis axis{.key = std::string(window_key),
                 .name = axis_name(window_key),
                 .values = {{.value = "", .words = "all"}},
                 .chosen = 0};
  const auto wished = wish.values.find(window_key);
  for (const std::string& window : windows) {
    const bool together = std::ranges::find(here, window) != here.end();
    if (wished != wish.values.end() && wished->second == window) {
      if (together) {
        axis.chosen = axis.values.size();
      } else {
        slice.moved += fmt::format("{}{} was not measured there: showing all windows.",
                                   slice.moved.empty() ? "" : " ", short_words(window_key, window));
      }
    }
    axis.values.push_back({window, short_words(window_key, window), together});
  }
  slice.axes.push_back(std::move(axis));
}

}  // namespace

std::string axis_name(std::string_view key) {
  if (const Axis* const axis = find_axis(key)) return std::string(axis->title);
  const auto found = std::ranges::find(names_of_contenders, key, &Name::key);
  return std::string(found == names_of_contenders.end() ? key : found->name);
}

void order_values(std::vector<std::string>& values) {
  const auto is_number = [](const std::string& value) { return number_of(value).has_value(); };
  if (!std::ranges::all_of(values, is_number)) return;
  std::ranges::sort(values, {}, [](const std::string& value) { return *number_of(value); });
}

Slice find_slice(const Table& table, std::span<const std::string_view> drawn,
                 const SliceWish& wish) {
  Slice slice;
  if (table.rows.empty()) return slice;
  const Axes axes = axes_in(table, drawn);
  const std::vector<AxisValue> all = axes_of({});
  const auto wished = wished_places(axes, wish, all);
  std::optional<std::size_t> first;
  for (std::size_t a = 0; a < axes.places.size(); ++a) {
    if (all[axes.places[a]].key == wish.first && wished[a]) first = a;
  }
  const Setting chosen = nearest(axes, wished, first);
  slice.moved = moved_sentence(axes, chosen, wished, first, all);
  for (std::size_t a = 0; a < chosen.size(); ++a) {
    const std::string key(all[axes.places[a]].key);
    SliceAxis axis{.key = key, .name = axis_name(key), .values = {}, .chosen = chosen[a]};
    for (std::size_t v = 0; v < axes.values[a].size(); ++v) {
      Setting other = chosen;
      other[a] = v;
      axis.values.push_back(
          {axes.values[a][v], short_words(key, axes.values[a][v]), axes.settings.contains(other)});
    }
    slice.axes.push_back(std::move(axis));
  }
  if (!contains(drawn, window_key)) add_windows(slice, table, wish);
  return slice;
}

bool is_in(const Slice& slice, const Row& row, std::span<const std::string_view> free) {
  if (slice.axes.empty()) return true;
  const std::vector<AxisValue> point = axes_of(row.cell.point);
  return std::ranges::all_of(slice.axes, [&](const SliceAxis& axis) {
    if (contains(free, axis.key)) return true;
    const std::string& wanted = axis.values[axis.chosen].value;
    if (axis.key == window_key) {
      const auto& window = row.cell.cell.contender.window;
      return wanted.empty() || !window || window->text() == wanted;
    }
    const auto at = std::ranges::find(point, axis.key, &AxisValue::key);
    return at != point.end() && at->value == wanted;
  });
}

std::vector<std::string> varying_keys(const Table& table) {
  std::vector<std::string> keys;
  const std::vector<bool> varying = varying_axes(table.rows);
  const std::vector<AxisValue> all = axes_of({});
  for (std::size_t i = 0; i < varying.size(); ++i) {
    if (varying[i]) keys.emplace_back(all[i].key);
  }
  if (all_windows_of(table).size() > 1) keys.emplace_back(window_key);
  for (const std::string_view key : {"model", "pattern", "implementation"}) {
    const bool varies = std::ranges::any_of(table.rows, [&](const Row& row) {
      return filter_words(row, key) != filter_words(table.rows.front(), key);
    });
    if (varies) keys.emplace_back(key);
  }
  return keys;
}

}  // namespace attnscope::report
