// SPDX-License-Identifier: Apache-2.0
#include "engine/report/axes_in_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace attnscope::report {
namespace {

/// Replaces "{}" by the value and "(s)" by the plural ending.
std::string filled(std::string_view words, std::string_view value) {
  const std::size_t place = words.find("{}");
  if (place == std::string_view::npos) return std::string(words);
  std::string_view after = words.substr(place + 2);
  const bool has_plural = after.ends_with("(s)");
  if (has_plural) after.remove_suffix(3);
  return fmt::format("{}{}{}{}", words.substr(0, place), value, after,
                     has_plural && value != "1" ? "s" : "");
}

bool is_obvious(const Axis& axis, const HeatPoint& point) {
  return !axis.belongs_to(point) ||
         (axis.at_default != Axis::Default::counts && axis.is_at_default(point));
}

}  // namespace

std::vector<AxisValue> axes_of(const HeatPoint& point) {
  std::vector<AxisValue> all;
  for (const Axis& axis : heat_axes) {
    std::string value = text_of(axis, point);
    std::string words = is_obvious(axis, point) ? std::string() : filled(axis.in_titles, value);
    all.push_back({axis.key, std::move(value), std::move(words)});
  }
  return all;
}

std::string words_next_to_title(const Axis& axis, const std::string& value) {
  if (axis.kind == Axis::Kind::truth)
    return std::string(axis.alongside_truths[value == "true" ? 1 : 0]);
  return filled(axis.next_to_title, value);
}

bool comes_before(const HeatPoint& a, const HeatPoint& b) {
  for (const std::size_t place : nesting_order()) {
    const Axis& axis = heat_axes[place];
    if (axis.get(a) != axis.get(b)) return axis.get(a) < axis.get(b);
  }
  return false;
}

std::vector<bool> varying_axes(const std::vector<Row>& rows) {
  return varying_axes(all_rows(rows));
}

std::vector<bool> varying_axes(const std::vector<const Row*>& rows) {
  std::vector<bool> varying(axes_of({}).size(), false);
  if (rows.empty()) return varying;
  const HeatPoint& of_first = rows.front()->cell.point;
  const std::vector<AxisValue> first = axes_of(of_first);
  for (const Row* row : rows) {
    if (row->cell.point == of_first) continue;
    const std::vector<AxisValue> axes = axes_of(row->cell.point);
    for (std::size_t i = 0; i < axes.size(); ++i) {
      if (axes[i].value != first[i].value) varying[i] = true;
    }
  }
  return varying;
}

bool length_identifies_documents(const std::vector<const Row*>& rows) {
  std::map<std::int64_t, LengthDistribution> known;
  return std::ranges::all_of(rows, [&](const Row* row) {
    const HeatPoint& point = row->cell.point;
    const LengthDistribution& lengths = point.document_lengths;
    const LengthDistribution& first = rows.front()->cell.point.document_lengths;
    if (lengths.median != first.median || lengths.p90 != first.p90) return false;
    return known.emplace(point.sequence_tokens, point.document_lengths).first->second ==
           point.document_lengths;
  });
}

std::string words_of(const AxisValue& axis) {
  return axis.words.empty() ? fmt::format("{} {}", axis.key, axis.value) : axis.words;
}

std::string words_of(const HeatPoint& point, const std::vector<bool>& varying, bool wanted) {
  std::string text;
  const std::vector<AxisValue> axes = axes_of(point);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (varying[i] != wanted) continue;
    // An axis that varies is always named, even if its value is a default.
    const std::string words = wanted ? words_of(axes[i]) : axes[i].words;
    if (words.empty()) continue;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", words);
  }
  return text;
}

}  // namespace attnscope::report
