// SPDX-License-Identifier: Apache-2.0
#include "engine/report/answer.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "engine/report/axes_in_words.h"
#include "engine/report/memory_growth.h"
#include "engine/report/places.h"

namespace attnscope::report {
namespace {

constexpr statistics::Ratio itself{.ratio = 1, .low = 1, .high = 1, .paired = true};

HeatPoint without_x(HeatPoint point, XAxis x) {
  if (x == XAxis::length) point.sequence_tokens = 0;
  return point;
}

double time_per_document(const Row& row) {
  return row.cell.summary.median_ns / documents_of(row);
}

/// The rows of one place; the fastest first, those without a time last.
Ranking ranking_of(std::string place, std::vector<const Row*> rows) {
  std::ranges::stable_sort(rows, [](const Row* a, const Row* b) {
    const bool timed_a = is_measured(*a), timed_b = is_measured(*b);
    return timed_a && timed_b ? time_per_document(*a) < time_per_document(*b) : timed_a && !timed_b;
  });
  Ranking ranking{std::move(place), {}};
  for (const Row* row : rows) {
    Ranked ranked{*row, std::nullopt};
    ranked.row.cell.cell.samples.clear();  // an answer outlives them without need
    if (is_measured(*row)) {
      ranked.to_fastest = row == rows.front() ? itself : ratio_between(*row, *rows.front());
    }
    ranking.contenders.push_back(std::move(ranked));
  }
  return ranking;
}

/// Ids without their windows, each with all its windows' ids.
std::map<std::string, std::vector<std::string>> windows_of(const Table& table) {
  std::map<std::string, std::vector<std::string>> ids;
  for (const Row& row : table.rows) {
    const Contender& contender = row.cell.cell.contender;
    if (!contender.window || row.cell.damaged) continue;
    std::vector<std::string>& own = ids[contender_along(contender, XAxis::window)];
    if (std::ranges::find(own, contender.id()) == own.end()) own.push_back(contender.id());
  }
  return ids;
}

/// The id without window that `text` names, when it names all windows of one contender.
std::optional<std::string> windowed_baseline(const Table& table, std::string_view text) {
  for (const Row& row : table.rows) {
    const Contender& contender = row.cell.cell.contender;
    const std::string id = contender_along(contender, XAxis::window);
    if (contender.window && (id == text || base_name(contender) == text)) return id;
  }
  return std::nullopt;
}

/// Each row against the baseline of the same heat and the same window.
void set_window_by_window(Table& table, const Table& all, const std::string& baseline) {
  const auto key = [](const Row& row) {
    return std::tuple(row.cell.heat_number, point_key(row.cell.point),
                      row.cell.cell.contender.window->text());
  };
  std::map<std::tuple<std::int64_t, std::string, std::string>, const Row*> places;
  for (const Row& row : all.rows) {
    const Contender& contender = row.cell.cell.contender;
    if (contender.window && contender_along(contender, XAxis::window) == baseline) {
      places.emplace(key(row), &row);
    }
  }
  for (Row& row : table.rows) {
    if (!row.cell.cell.contender.window) continue;
    const auto place = places.find(key(row));
    if (place != places.end()) row.ratio = ratio_between(row, *place->second);
  }
  table.baseline = baseline;
}

/// The sweep's first contender that has a time; along windows without its window.
std::optional<std::string> first_measured(const Table& table, XAxis x) {
  const Row* first = nullptr;
  for (const Row& row : table.rows) {
    if (is_measured(row) && (first == nullptr || row.cell.cell_number < first->cell.cell_number)) {
      first = &row;
    }
  }
  if (first == nullptr) return std::nullopt;
  return contender_along(first->cell.cell.contender, x);
}

}  // namespace

std::vector<std::vector<const Row*>> rows_by_setting(const Table& table, XAxis x) {
  std::vector<std::vector<const Row*>> settings;
  std::map<std::string, std::size_t> known;
  for (const Row& row : table.rows) {
    const auto [place, is_new] =
        known.emplace(point_key(without_x(row.cell.point, x)), settings.size());
    if (is_new) settings.emplace_back();
    settings[place->second].push_back(&row);
  }
  return settings;
}

std::vector<Ranking> rank(const std::vector<const Row*>& rows, XAxis x) {
  const Places places(rows, x);
  std::map<double, std::vector<const Row*>> by_place;
  for (const Row* row : rows) {
    if (x == XAxis::length || row->cell.cell.contender.window) {
      by_place[places.of(*row)].push_back(row);
    }
  }
  std::vector<Ranking> rankings;
  for (auto& [place, own] : by_place) {
    for (const Row* row : rows) {
      // What has no window stands beside every window.
      if (x == XAxis::window && !row->cell.cell.contender.window) own.push_back(row);
    }
    rankings.push_back(ranking_of(places.words(place), own));
  }
  return rankings;
}

Result<Table> make_answer_table(const Store& store, const RunInfo& run,
                                std::optional<std::string_view> baseline, const OnlyFilter& filter,
                                XAxis x) {
  if (!baseline || x == XAxis::window) {
    Result<Table> all = make_table(store, run, std::nullopt, {});
    if (!all) return all;
    const std::optional<std::string> text =
        baseline ? std::optional(std::string(*baseline)) : first_measured(*all, x);
    if (!text) return make_table(store, run, std::nullopt, filter);
    if (x == XAxis::length) return make_table(store, run, *text, filter);
    const std::optional<std::string> windowed = windowed_baseline(*all, *text);
    if (windowed && windows_of(*all)[*windowed].size() > 1) {
      Result<Table> table = make_table(store, run, std::nullopt, filter);
      if (table) set_window_by_window(*table, *all, *windowed);
      return table;
    }
    return make_table(store, run, *text, filter);
  }
  return make_table(store, run, baseline, filter);
}

Answer make_answer(const Table& table, XAxis x) {
  Answer answer{
      .run = table.run, .x = x, .baseline = table.baseline, .shared_words = {}, .settings = {}};
  if (table.rows.empty()) return answer;
  std::vector<bool> varying = varying_axes(table.rows);
  if (x == XAxis::length) varying[length_axis] = true;
  answer.shared_words = words_of(table.rows.front().cell.point, varying, false);
  if (x == XAxis::length) varying[length_axis] = false;  // x itself is said at every place
  for (const std::vector<const Row*>& rows : rows_by_setting(table, x)) {
    const HeatPoint& point = rows.front()->cell.point;
    AnswerOfSetting setting{.words = words_of(point, varying, true),
                            .rankings = rank(rows, x),
                            .crossovers = {},
                            .fits = {}};
    if (table.baseline) setting.crossovers = find_crossover_answers(rows, x, *table.baseline);
    if (x == XAxis::length)
      setting.fits = find_fits(rows, free_bytes_at_start(table.run, point.device));
    answer.settings.push_back(std::move(setting));
  }
  return answer;
}

}  // namespace attnscope::report
