// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/sentences.h"
#include "engine/report/axes_in_words.h"
#include "engine/report/conditions.h"
#include "engine/report/figure.h"
#include "engine/report/row_values.h"
#include "engine/report/slice.h"

namespace attnscope::report {
namespace {

constexpr std::size_t most_panels = 24;

std::string value_of(const Row& row, std::string_view key) {
  return filter_words(row, key).front();
}

/// Whether the row belongs to every panel, because it has no window that would assign it to one.
bool is_in_all(const Row& row, std::string_view key) {
  return key == window_key && !row.cell.cell.contender.window;
}

/// Whether the views are effectiveness over time, at one length.
bool is_over_time(const std::vector<YAxis>& ys) {
  return std::ranges::all_of(ys, [](YAxis y) { return y == YAxis::effectiveness; });
}

Status check_key(std::string_view key, XAxis x, const std::vector<YAxis>& ys) {
  if (key.empty()) return {};
  if (is_over_time(ys)) x = XAxis::window;
  if (std::ranges::find(filter_keys(), key) == filter_keys().end()) {
    return fail("--facet: there is no key '{}'; {}", key, suggest(key, filter_keys()));
  }
  const bool along_x = key == key_along(x) || (x == XAxis::length && key == "document_tokens");
  if (along_x) {
    return fail("--facet: '{}' runs along x already; name another key, or another --x", key);
  }
  return {};
}

std::vector<std::string> values_of(const Table& table, std::string_view key) {
  std::vector<std::string> values;
  if (key.empty() && !table.rows.empty()) values.emplace_back();
  if (key.empty()) return values;
  for (const Row& row : table.rows) {
    std::string value = value_of(row, key);
    const bool known = std::ranges::find(values, value) != values.end();
    if (!known && !is_in_all(row, key)) values.push_back(std::move(value));
  }
  if (key == window_key) order_values(values);
  return values;
}

std::string panel_title(const Row& row, std::string_view key) {
  const std::string value = value_of(row, key);
  if (key == window_key) return "w = " + value;
  for (const AxisValue& axis : axes_of(row.cell.point)) {
    if (axis.key == key) return words_of(axis);
  }
  // Values of contender keys are self-explanatory; numbers need their key, as in "batch 16".
  const bool number = !value.empty() && value.find_first_not_of("0123456789") == std::string::npos;
  return number ? fmt::format("{} {}", key, value) : value;
}

/// A contender is one line of the legend; its window is in each panel's title.
Row without_window(Row row) {
  Contender& contender = row.cell.cell.contender;
  contender.name = base_name(contender);
  contender.window.reset();
  return row;
}

std::string shared_title(const Table& table, XAxis x) {
  std::vector<bool> left_out = varying_axes(table.rows);
  left_out[length_axis] = left_out[length_axis] || x == XAxis::length;
  left_out[candidates_axis] = left_out[candidates_axis] || x == XAxis::candidates;
  return words_of(table.rows.front().cell.point, left_out, false);
}

/// The rows of one value; `first` is a row that belongs only to this value.
Table rows_with(const Table& table, std::string_view key, const std::string& value,
                const Row*& first) {
  Table part = without_rows(table);
  for (const Row& row : table.rows) {
    if (key.empty() || is_in_all(row, key)) {
      part.rows.push_back(row);
    } else if (value_of(row, key) == value) {
      if (first == nullptr) first = &row;
      part.rows.push_back(key == window_key ? without_window(row) : row);
    }
  }
  return part;
}

/// The legend of a panel's marks, without the number of disturbed cells, which is stated for all
/// panels together.
std::string legend_of(const Figure& panel, const Table& part) {
  std::string legend = panel.warning;
  const std::string own = disturbed_share(all_rows(part.rows));
  if (legend.ends_with(own)) legend.resize(legend.size() - own.size());
  if (!legend.empty() && !legend.ends_with(' ')) legend += ' ';
  return legend;
}

}  // namespace

Result<Facets> make_facets(const Table& table, XAxis x, const std::vector<YAxis>& ys,
                           std::string_view key, bool crossovers) {
  if (Status known = check_key(key, x, ys); !known) return tl::unexpected(known.error());
  Facets facets{.title = table.rows.empty() ? "" : shared_title(table, x),
                .panels = {},
                .columns = ys.size() > 1 ? static_cast<int>(ys.size()) : 0,
                .provenance = provenance_line(table)};
  if (std::ranges::any_of(ys, rests_on_times))
    facets.warning = disturbed_share(all_rows(table.rows));
  const std::vector<std::string> values = values_of(table, key);
  if (values.size() * ys.size() > most_panels) {
    return fail(
        "--facet: '{}' has {} values, and a figure has at most {} panels; choose with --only", key,
        values.size(), most_panels / ys.size());
  }
  std::string legend;
  for (const std::string& value : values) {
    const Row* first = nullptr;
    const Table part = rows_with(table, key, value, first);
    for (const YAxis y : ys) {
      Result<Figure> panel = make_figure(part, x, y);
      if (!panel) return tl::unexpected(panel.error());
      // Panels may have parts of the same legend: the longest is used.
      if (std::string own = legend_of(*panel, part);
          y == YAxis::effectiveness && own.size() > legend.size())
        legend = std::move(own);
      if (crossovers) mark_crossovers(*panel, part, x, y);
      panel->title = first == nullptr ? "" : panel_title(*first, key);
      facets.panels.push_back(std::move(*panel));
    }
  }
  facets.warning.insert(0, legend);
  return facets;
}

}  // namespace attnscope::report
