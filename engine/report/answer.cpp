// SPDX-License-Identifier: Apache-2.0
#include "engine/report/answer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <tuple>
#include <utility>

#include "base/sentences.h"
#include "engine/report/length_curve.h"
#include "engine/report/number_text.h"
#include "engine/report/published.h"
#include "engine/report/row.h"
#include "engine/report/row_values.h"

namespace attnscope::report {
namespace {

constexpr statistics::Ratio itself{.ratio = 1, .low = 1, .high = 1, .paired = true};

using statistics::Verdict;

Candidate candidate_of(const Ranked& ranked) {
  const Contender& contender = ranked.row.cell.cell.contender;
  return {contender.name, contender.id(), ranked.row.effectiveness.get(), &ranked.published,
          &ranked.row.ratio};
}

/// The leaders at one x; rows with a time come first, sorted by time.
Leaders leaders_of(const std::vector<Ranked>& contenders, const std::vector<const Row*>& rows,
                   EffectivenessFrom from) {
  std::vector<std::size_t> all, equivalent;
  for (std::size_t i = 0; i < contenders.size() && contenders[i].to_fastest; ++i) {
    all.push_back(i);
    if (is_shown_equivalent(from, candidate_of(contenders[i]))) equivalent.push_back(i);
  }
  return {.of_all = leader_of(all, [&](std::size_t i) { return contenders[i].to_fastest; }),
          .of_equivalent = leader_of(equivalent, [&](std::size_t i) {
            return equivalent.front() == 0 ? contenders[i].to_fastest
                                           : ratio_between(*rows[i], *rows[equivalent.front()]);
          })};
}

/// The rows at one x: the fastest first, those without a time last.
Ranking ranking_of(std::string place, std::vector<const Row*> rows, EffectivenessFrom from) {
  std::ranges::stable_sort(rows, [](const Row* a, const Row* b) {
    const bool timed_a = has_time(*a), timed_b = has_time(*b);
    return timed_a && timed_b ? ns_per_document(*a) < ns_per_document(*b) : timed_a && !timed_b;
  });
  Ranking ranking{.place = std::move(place), .contenders = {}, .leaders = {}};
  for (const Row* row : rows) {
    Ranked ranked{.row = *row, .to_fastest = {}, .published = {}};
    if (!row->effectiveness)
      ranked.published = published_ndcg(row->cell.cell.contender, row->cell.point.sequence_tokens);
    if (is_implausible(*row)) {
      ranked.row.cell.cell.status = CellStatus::wrong;
      ranked.row.cell.cell.reason = why_implausible(*row);
    }
    ranked.row.cell.cell.samples.clear();  // an answer does not need them
    if (has_time(*row)) {
      ranked.to_fastest = row == rows.front() ? itself : ratio_between(*row, *rows.front());
    }
    ranking.contenders.push_back(std::move(ranked));
  }
  ranking.leaders = leaders_of(ranking.contenders, rows, from);
  return ranking;
}

/// Contender ids without window, each with the ids of all its windows.
std::map<std::string, std::vector<std::string>> windows_of(const Table& table) {
  std::map<std::string, std::vector<std::string>> ids;
  for (const Row& row : table.rows) {
    const Contender& contender = row.cell.cell.contender;
    if (!contender.window || row.cell.damaged) continue;
    add_once(ids[contender_along(contender, XAxis::window)], contender.id());
  }
  return ids;
}

/// The id without window if `text` names all windows of one contender.
std::optional<std::string> windowed_baseline(const Table& table, std::string_view text) {
  for (const Row& row : table.rows) {
    const Contender& contender = row.cell.cell.contender;
    const std::string id = contender_along(contender, XAxis::window);
    if (contender.window && (id == text || base_name(contender) == text)) return id;
  }
  return std::nullopt;
}

/// Compares each row with the baseline of the same heat and the same window.
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

/// The sweep's first contender with a time; for x = window without its window.
std::optional<std::string> first_measured(const Table& table, XAxis x) {
  const Row* first = nullptr;
  for (const Row& row : table.rows) {
    if (has_time(row) && (first == nullptr || row.cell.cell_number < first->cell.cell_number)) {
      first = &row;
    }
  }
  if (first == nullptr) return std::nullopt;
  return contender_along(first->cell.cell.contender, x);
}

std::vector<Ranking> rank(const std::vector<const Row*>& rows, XAxis x, EffectivenessFrom from) {
  const Places places(rows, x);
  std::map<double, std::vector<const Row*>> by_place;
  for (const Row* row : rows) {
    if (x != XAxis::window || row->cell.cell.contender.window) {
      by_place[places.of(*row)].push_back(row);
    }
  }
  std::vector<Ranking> rankings;
  for (auto& [place, own] : by_place) {
    for (const Row* row : rows) {
      // Contenders without a window are compared at every window.
      if (x == XAxis::window && !row->cell.cell.contender.window) own.push_back(row);
    }
    // If lengths are drawn, a time does not belong to a single length.
    const LengthDistribution& lengths = own.front()->cell.point.document_lengths;
    const std::string words = x == XAxis::length && lengths.is_drawn()
                                  ? fmt::format("Documents of {} words", text_of(lengths))
                                  : places.words(place);
    rankings.push_back(ranking_of(words, own, from));
  }
  return rankings;
}

// The longest lengths that fit.

std::string reason_in_words(const FitAnswer& fit) {
  return fit.next_reason.empty() ? std::string(name_of(fit.next_status))
                                 : fmt::format("{}: {}", name_of(fit.next_status), fit.next_reason);
}

std::string sentence_of(const FitAnswer& fit) {
  if (!fit.longest) {
    return fmt::format("{} has no time at any measured length ({}).", fit.name,
                       without_stop(reason_in_words(fit)));
  }
  std::string text = fmt::format("{} fits {} tokens", fit.name, *fit.longest);
  if (fit.next) {
    text += fmt::format(", not {} ({})", *fit.next, without_stop(reason_in_words(fit)));
  } else {
    text += ", the longest measured";
  }
  if (fit.bytes_per_document) {
    text += fmt::format("; {} per document at that length", format_bytes(*fit.bytes_per_document));
  }
  if (fit.predicted) {
    text += fmt::format("; predicted from the growth of its memory: {} {} tokens",
                        fit.predicted_is_least ? "more than" : "up to about", *fit.predicted);
  }
  return text + ".";
}

/// The baseline's name as in the legend.
std::string baseline_name(const Answer& answer) {
  for (const Ranking& ranking : answer.rankings) {
    for (const auto& ranked : ranking.contenders) {
      const Contender& contender = ranked.row.cell.cell.contender;
      if (contender.id() == *answer.baseline) return contender.name;
    }
  }
  return *answer.baseline;
}

}  // namespace

void predict(FitAnswer& fit, const Row* before, const Row& longest, double available) {
  if (before == nullptr) return;
  const double tokens = longest_within(available, need_of(*before), need_of(longest));
  fit.predicted_is_least = tokens >= farthest_prediction * static_cast<double>(*fit.longest);
  fit.predicted = std::max(*fit.longest, fit.predicted_is_least ? static_cast<std::int64_t>(tokens)
                                                                : two_digits(tokens));
  if (fit.next && fit.next_status == CellStatus::oom && *fit.predicted >= *fit.next) {
    // The measurement takes precedence: this length did not fit.
    fit.predicted.reset();
    fit.predicted_is_least = false;
  }
}

FitAnswer fit_of(const std::vector<const Row*>& own, std::optional<double> available_bytes) {
  const LengthCurve curve(own);
  const Contender& contender = own.front()->cell.cell.contender;
  FitAnswer fit;
  fit.contender = contender.id();
  fit.name = contender.name;
  if (const Row* next = curve.next()) {
    fit.next = next->cell.point.sequence_tokens;
    fit.next_status = next->cell.cell.status;
    fit.next_reason = next->cell.cell.reason;
  }
  if (const Row* longest = curve.longest()) {
    fit.longest = longest->cell.point.sequence_tokens;
    fit.bytes_per_document = bytes_per_document(*longest);
    if (available_bytes) predict(fit, curve.before_longest(), *longest, *available_bytes);
  }
  fit.sentence = sentence_of(fit);
  return fit;
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
    if (x != XAxis::window) return make_table(store, run, *text, filter);
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

std::vector<Answer> make_answers(const Table& table, XAxis x) {
  std::vector<Answer> answers;
  if (table.rows.empty()) return answers;
  std::vector<bool> varying = varying_axes(table.rows);
  // x itself is stated with every ranking.
  std::vector<bool> reported = varying;
  if (x != XAxis::window) {
    const std::size_t along = place_of_axis(key_along(x));
    varying[along] = true;
    reported[along] = false;
  }
  const std::string shared = words_of(table.rows.front().cell.point, varying, false);
  for (const std::vector<const Row*>& rows : rows_by_setting(table, x)) {
    Answer& answer = answers.emplace_back();
    answer.run = table.run;
    answer.x = x;
    answer.baseline = table.baseline;
    answer.shared = shared;
    answer.point = rows.front()->cell.point;
    answer.setting = words_of(answer.point, reported, true);
    answer.effectiveness = effectiveness_known_of(rows);
    answer.rankings = rank(rows, x, answer.effectiveness);
    const bool of_a_length = x != XAxis::length || std::ranges::none_of(rows, [](const Row* row) {
                               return row->cell.point.document_lengths.is_drawn();
                             });
    if (table.baseline && of_a_length)
      answer.crossovers = find_crossover_answers(rows, x, *table.baseline);
    if (x == XAxis::length && of_a_length)
      answer.fits = find_fits(rows, free_bytes_at_start(table.run, answer.point.device));
    if (!of_a_length) answer.notes.emplace_back(no_answer_to_one_length);
    std::ranges::move(doubts_about(table.run, rows), std::back_inserter(answer.notes));
  }
  return answers;
}

std::vector<FitAnswer> find_fits(const std::vector<const Row*>& rows,
                                 std::optional<double> available_bytes) {
  std::vector<FitAnswer> fits;
  for (const std::vector<const Row*>& own : by_contender(rows))
    fits.push_back(fit_of(own, available_bytes));
  return fits;
}

Headline headline_of(const Answer& answer) {
  Contest contest{.places = {},
                  .effectiveness = answer.effectiveness,
                  .is_drawn = answer.point.document_lengths.is_drawn(),
                  .baseline = answer.baseline ? baseline_name(answer) : ""};
  for (const Ranking& ranking : answer.rankings) {
    Place& place = contest.places.emplace_back(Place{ranking.place, {}, &ranking.leaders});
    for (const Ranked& ranked : ranking.contenders)
      place.candidates.push_back(candidate_of(ranked));
  }
  return headline_of(contest);
}

std::string sentence_of(const Ranking& ranking) {
  if (ranking.contenders.empty() || !ranking.contenders.front().to_fastest)
    return fmt::format("{}: nothing was measured.", ranking.place);
  // Contenders that are not shown to be slower.
  std::vector<std::string> equal, unknown;
  for (const Ranked& ranked : std::span(ranking.contenders).subspan(1)) {
    if (!ranked.to_fastest || ranked.to_fastest->verdict == Verdict::slower) continue;
    (is_known(*ranked.to_fastest) ? equal : unknown).push_back(ranked.row.cell.cell.contender.name);
  }
  const std::string& first = ranking.contenders.front().row.cell.cell.contender.name;
  std::string text =
      ranking.leaders.of_all && ranking.leaders.of_all->is_clear()
          ? fmt::format("{}: {} is fastest", ranking.place, first)
          : fmt::format("{}: no clear winner; lowest median: {}", ranking.place, first);
  if (!equal.empty()) text += fmt::format(", not distinguishable from {}", fmt::join(equal, "; "));
  if (!unknown.empty())
    text += fmt::format(", {} to compare it with {}", too_few_samples, fmt::join(unknown, "; "));
  return text + ".";
}

std::string nothing_measured(const std::vector<const Row*>& rows) {
  std::map<std::string_view, int> counts;
  for (const Row* row : rows) {
    if (is_measured(*row)) return {};
    ++counts[row->cell.damaged ? damaged_status : name_of(row->cell.cell.status)];
  }
  std::vector<std::string> parts;
  parts.reserve(counts.size());
  for (const auto& [status, count] : counts)
    parts.push_back(fmt::format("{} {} {}", count, count == 1 ? "cell" : "cells", status));
  return parts.empty() ? "" : fmt::format("Nothing could be measured: {}.", fmt::join(parts, ", "));
}

}  // namespace attnscope::report
