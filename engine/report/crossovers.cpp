// SPDX-License-Identifier: Apache-2.0
//
// Measured values are stated as measured; interpolated ones with "about" and their interval.
#include "engine/report/crossovers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace attnscope::report {
namespace {

HeatPoint without_x(HeatPoint point, XAxis x) {
  if (x == XAxis::length) point.sequence_tokens = 0;
  if (x == XAxis::candidates) point.candidates = 0;
  return point;
}

double keys_of(std::int64_t window) {
  return 2 * static_cast<double>(window) + 1;
}

double document_keys(const Row& row) {
  const auto documents = static_cast<double>(std::max<std::int64_t>(row.cell.point.documents, 1));
  const auto tokens =
      static_cast<double>(row.cell.cell.document_tokens > 0 ? row.cell.cell.document_tokens
                                                            : row.cell.point.sequence_tokens);
  return std::ceil(tokens / documents);
}

using statistics::Crossing;
using statistics::Crossovers;
using statistics::Stretch;
using statistics::Verdict;
using Round = Places::Round;

/// "at about 96 tokens (95 %: 90 to 103)" or "somewhere between 64 and 1024
/// tokens".
std::string where(const Crossing& crossing, const Places& places) {
  const bool windows = places.x() == XAxis::window;
  const char* const before = windows ? "w = " : "";
  const std::string after = places.unit();
  if (!crossing.at) {
    return fmt::format("somewhere between {}{} and {}{}", before, places.number(crossing.after),
                       places.number(crossing.before), after);
  }
  return fmt::format("at about {}{}{} (95 %: {} to {})", before, places.number(*crossing.at), after,
                     places.number(crossing.low, Round::down),
                     places.number(crossing.high, Round::up));
}

bool is_shown(const Stretch& stretch) {
  return stretch.verdict != Verdict::no_difference_shown;
}

std::string all_of(const std::vector<Stretch>& stretches, const Places& places) {
  std::vector<std::string> parts;
  parts.reserve(stretches.size());
  for (const Stretch& stretch : stretches)
    parts.push_back(places.words(stretch.first, stretch.last));
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// "not distinguishable at 64, 128, and too few samples at 256": the stretches without a
/// verdict.
std::string open_in_words(const std::vector<Stretch>& open, const Places& places) {
  std::vector<Stretch> alike, unknown;
  for (const Stretch& stretch : open) (stretch.too_few ? unknown : alike).push_back(stretch);
  std::vector<std::string> parts;
  if (!alike.empty()) {
    parts.push_back(fmt::format("not distinguishable at {}", all_of(alike, places)));
  }
  if (!unknown.empty()) {
    parts.push_back(fmt::format("too few samples for a verdict at {}", all_of(unknown, places)));
  }
  return fmt::format("{}", fmt::join(parts, ", and "));
}

/// Stretches without a verdict before the first or after the last one with a verdict; between them
/// they belong to a crossing or are noise near it.
std::vector<Stretch> open_ends(const Crossovers& found) {
  std::vector<Stretch> open;
  const auto first = std::ranges::find_if(found.stretches, is_shown);
  const auto last = std::find_if(found.stretches.rbegin(), found.stretches.rend(), is_shown).base();
  open.insert(open.end(), found.stretches.begin(), first);
  open.insert(open.end(), last, found.stretches.end());
  return open;
}

std::string without_crossing(const std::string& a, const std::string& b, const Crossovers& found,
                             const Places& places) {
  const double first = found.stretches.front().first, last = found.stretches.back().last;
  const auto everywhere = [&](std::string_view each) {
    const std::string where = places.words(first, last);
    return first == last ? "at " + where
                         : fmt::format("at {} measured {} ({})", each, places.noun(), where);
  };
  std::vector<Stretch> shown, open;
  for (const Stretch& stretch : found.stretches)
    (is_shown(stretch) ? shown : open).push_back(stretch);
  if (shown.empty() && std::ranges::any_of(open, &Stretch::too_few)) {
    return fmt::format("{} and {}: {}.", a, b, open_in_words(open, places));
  }
  if (shown.empty()) {
    return fmt::format("No difference between {} and {} is shown {}.", a, b, everywhere("any"));
  }
  const std::string_view verdict = name_of(shown.front().verdict);
  if (open.empty()) {
    return fmt::format("{} is {} than {} {}.", a, verdict, b, everywhere("every"));
  }
  return fmt::format("{} is {} than {} at {}; {}; no crossover can be given.", a, verdict, b,
                     all_of(shown, places), open_in_words(open, places));
}

std::string in_words(const std::string& a, const std::string& b, const Crossovers& found,
                     const Places& places) {
  if (found.stretches.empty()) {
    return fmt::format("{} and {} have no {} at which both were measured.", a, b, places.noun());
  }
  if (found.crossings.empty()) return without_crossing(a, b, found, places);
  std::string text;
  if (found.crossings.size() == 1) {
    const Crossing& only = found.crossings.front();
    text = only.a_overtakes ? fmt::format("{} overtakes {} {}: slower before, faster after", a, b,
                                          where(only, places))
                            : fmt::format("{} falls behind {} {}: faster before, slower after", a,
                                          b, where(only, places));
  } else {
    std::vector<std::string> parts;
    for (const Crossing& crossing : found.crossings) {
      parts.push_back(fmt::format("{} {}", crossing.a_overtakes ? "overtakes" : "falls behind",
                                  where(crossing, places)));
    }
    text = fmt::format("{} and {} cross more than once: {} {}", a, b, a, fmt::join(parts, ", "));
  }
  const std::vector<Stretch> open = open_ends(found);
  if (!open.empty()) text += "; " + open_in_words(open, places);
  return text + ".";
}

}  // namespace

Places::Places(const std::vector<const Row*>& rows, XAxis x) : x_(x) {
  for (const Row* row : rows) {
    const auto& window = row->cell.cell.contender.window;
    if (!window) continue;
    infinite_ = std::max(
        infinite_, window->is_infinite() ? document_keys(*row) : keys_of(window->tokens()) + 1);
  }
}

double Places::of(const Row& row) const {
  if (x_ == XAxis::length) return static_cast<double>(row.cell.point.sequence_tokens);
  if (x_ == XAxis::candidates) return candidates_of(row);
  const auto& window = row.cell.cell.contender.window;
  return !window || window->is_infinite() ? infinite_ : keys_of(window->tokens());
}

std::string Places::number(double place, Round round) const {
  if (x_ == XAxis::window && place >= infinite_) return "inf";
  const double bare = x_ == XAxis::window ? (place - 1) / 2 : place;
  switch (round) {
    case Round::down:
      return fmt::format("{:.0f}", std::floor(bare));
    case Round::up:
      return fmt::format("{:.0f}", std::ceil(bare));
    case Round::nearest:
      break;
  }
  return fmt::format("{:.0f}", std::round(bare));
}

std::string Places::words(double place) const {
  return fmt::format("{}{}{}", x_ == XAxis::window ? "w = " : "", number(place), unit());
}

std::string Places::words(double first, double last) const {
  if (first == last) return words(first);
  return fmt::format("{}{} to {}{}", x_ == XAxis::window ? "w = " : "", number(first), number(last),
                     unit());
}

std::string_view Places::noun() const {
  return x_ == XAxis::candidates ? "number of candidates" : name_of(x_);
}

std::string Places::unit() const {
  if (x_ == XAxis::window) return {};
  return x_ == XAxis::length ? " tokens" : " candidates";
}

std::string contender_along(const Contender& contender, XAxis x) {
  return x == XAxis::window ? contender.id_without_window() : contender.id();
}

std::string name_along(const Contender& contender, XAxis x) {
  return x == XAxis::window ? base_name(contender) : contender.name;
}

std::vector<std::vector<const Row*>> rows_by_setting(const Table& table, XAxis x) {
  return grouped(all_rows(table.rows),
                 [x](const Row& row) { return point_key(without_x(row.cell.point, x)); });
}

std::vector<CrossoverAnswer> find_crossover_answers(const std::vector<const Row*>& rows, XAxis x,
                                                    const std::string& baseline) {
  const Places places(rows, x);
  std::string baseline_name = baseline;
  std::vector<CrossoverAnswer> answers;
  std::vector<std::vector<statistics::RatioAt>> ratios;
  for (const Row* row : rows) {
    const Contender& contender = row->cell.cell.contender;
    const std::string id = contender_along(contender, x);
    if (contender.id() == baseline || id == baseline) {
      baseline_name = id == baseline ? name_along(contender, x) : contender.name;
      continue;
    }
    if (x == XAxis::window && !contender.window) continue;  // it does not depend on the window
    auto known = std::ranges::find(answers, id, &CrossoverAnswer::contender);
    if (known == answers.end()) {
      known = answers.insert(known, CrossoverAnswer());
      known->contender = id;
      known->name = name_along(contender, x);
      ratios.emplace_back();
    }
    if (row->ratio) {
      ratios[static_cast<std::size_t>(known - answers.begin())].push_back(
          {places.of(*row), *row->ratio});
    }
  }
  for (std::size_t i = 0; i < answers.size(); ++i) {
    answers[i].baseline = baseline_name;
    answers[i].found = statistics::find_crossovers(std::move(ratios[i]));
    answers[i].sentence = in_words(answers[i].name, baseline_name, answers[i].found, places);
  }
  return answers;
}

}  // namespace attnscope::report
