// SPDX-License-Identifier: Apache-2.0
#include "engine/report/length_curve.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/report/provenance.h"
#include "engine/report/row.h"
#include "engine/statistics/crossover.h"

namespace attnscope::report {

namespace {

/// Linear interpolation in logarithms. Neighbouring lengths are measured independently: the
/// half-widths of their intervals are added in quadrature, as for crossovers.
Estimate carried(const Estimate& from, const Estimate& to, double part) {
  const double value = std::exp((1 - part) * std::log(from.value) + part * std::log(to.value));
  const auto half = [part](double a, double b) {
    return std::hypot((1 - part) * std::log(a), part * std::log(b));
  };
  return {value, value * std::exp(-half(from.value / from.low, to.value / to.low)),
          value * std::exp(half(from.high / from.value, to.high / to.value))};
}

Estimate time_of(const Row& row) {
  const statistics::Summary& summary = row.cell.summary;
  const double documents = documents_of(row);
  return {summary.median_ns / documents, summary.low_ns / documents, summary.high_ns / documents};
}

double carried(double from, double to, double part) {
  if (!(from > 0) || !(to > 0)) return (1 - part) * from + part * to;
  return std::exp((1 - part) * std::log(from) + part * std::log(to));
}

}  // namespace

double tokens_of(const Row* row) {
  return static_cast<double>(row->cell.point.sequence_tokens);
}

Need need_of(const Row& row) {
  const double items = items_of(row);
  // A model reads token ids and returns scores: its peak is all it needs besides its weights.
  const bool of_model = row.cell.point.operation == Operation::model;
  return {static_cast<double>(row.cell.point.sequence_tokens),
          static_cast<double>(peak_bytes(row.cell.cell.memory)) / items,
          of_model ? 0 : std::max(0.0, row.cell.cell.work.least_bytes) / items};
}

namespace {

/// Beyond `longest`, the peak grows with the power of the length given by the two longest cells (at
/// most quadratically, which is the most attention needs), and the tensors grow linearly.
Need need_at(double tokens, const Need& before, const Need& longest) {
  double power = 1;
  if (before.peak > 0 && longest.peak > 0 && longest.tokens > before.tokens) {
    power = std::log(longest.peak / before.peak) / std::log(longest.tokens / before.tokens);
  }
  power = std::clamp(power, 0.0, 2.0);
  const double times = tokens / longest.tokens;
  return {tokens, longest.peak * std::pow(times, power), longest.tensors * times};
}

}  // namespace

double longest_within(double available, const Need& before, const Need& longest) {
  double fits = longest.tokens, not_any_more = longest.tokens * farthest_prediction;
  if (need_at(not_any_more, before, longest).bytes() <= available) return not_any_more;
  while (not_any_more - fits > 0.5) {
    const double middle = (fits + not_any_more) / 2;
    (need_at(middle, before, longest).bytes() <= available ? fits : not_any_more) = middle;
  }
  return std::floor(fits);
}

std::int64_t two_digits(double value) {
  const double unit = std::pow(10.0, std::max(0.0, std::floor(std::log10(value)) - 1));
  return static_cast<std::int64_t>(std::floor(value / unit) * unit);
}

std::optional<double> free_bytes_at_start(const RunInfo& run, DeviceKind device) {
  if (device != DeviceKind::cpu) return std::nullopt;
  const auto bytes = provenance_at(provenance_of(run), "/device/available_bytes");
  return bytes.is_number() ? std::optional(bytes.get<double>()) : std::nullopt;
}

statistics::Verdict verdict_of(double low, double high) {
  if (high < 1) return statistics::Verdict::faster;
  if (low > 1) return statistics::Verdict::slower;
  return statistics::Verdict::no_difference_shown;
}

LengthCurve::LengthCurve(std::vector<const Row*> rows) : rows_(std::move(rows)) {
  std::ranges::stable_sort(rows_, {}, tokens_of);
  std::ranges::copy_if(rows_, std::back_inserter(measured_),
                       [](const Row* row) { return has_time(*row); });
}

bool LengthCurve::Place::is_rough() const {
  return reach == Reach::between && tokens_of(after) > statistics::widest_gap * tokens_of(before);
}

LengthCurve::Place LengthCurve::place(double tokens) const {
  if (measured_.empty()) return {};
  const auto after = std::ranges::lower_bound(measured_, tokens, {}, tokens_of);
  if (after == measured_.end()) return {.reach = Reach::longer};
  if (tokens_of(*after) == tokens) return {Reach::measured, *after, *after, 0};
  if (after == measured_.begin()) return {Reach::shorter, *after, *after, 0};
  const auto lies_between = [&](const Row* row) {
    return tokens_of(row) > tokens_of(*std::prev(after)) && tokens_of(row) < tokens_of(*after);
  };
  if (std::ranges::any_of(rows_, lies_between)) return {.reach = Reach::broken};
  const Row* const before = *std::prev(after);
  const double part =
      std::log(tokens / tokens_of(before)) / std::log(tokens_of(*after) / tokens_of(before));
  return {Reach::between, before, *after, part};
}

Estimate LengthCurve::time_ns(const Place& place) {
  const Estimate before = time_of(*place.before);
  return place.before == place.after ? before : carried(before, time_of(*place.after), place.part);
}

std::optional<statistics::Ratio> LengthCurve::ratio(const Place& place) {
  if (!place.before->ratio || !place.after->ratio) return std::nullopt;
  if (place.before == place.after) return place.before->ratio;
  const statistics::Ratio &a = *place.before->ratio, &b = *place.after->ratio;
  const Estimate between = carried({a.ratio, a.low, a.high}, {b.ratio, b.low, b.high}, place.part);
  return statistics::Ratio{.ratio = between.value,
                           .low = between.low,
                           .high = between.high,
                           .paired = a.paired && b.paired,
                           .verdict = verdict_of(between.low, between.high)};
}

Need LengthCurve::need(double tokens, const Place& place) {
  const Need before = need_of(*place.before);
  if (place.before == place.after) return before;
  const Need after = need_of(*place.after);
  return {tokens, carried(before.peak, after.peak, place.part),
          carried(before.tensors, after.tensors, place.part)};
}

std::optional<Need> LengthCurve::predicted_need(double tokens) const {
  if (before_longest() == nullptr || tokens > tokens_of(longest()) * farthest_prediction) {
    return std::nullopt;
  }
  return need_at(tokens, need_of(*before_longest()), need_of(*longest()));
}

const Row* LengthCurve::shortest() const {
  return measured_.empty() ? nullptr : measured_.front();
}

const Row* LengthCurve::longest() const {
  return measured_.empty() ? nullptr : measured_.back();
}

const Row* LengthCurve::before_longest() const {
  return measured_.size() < 2 ? nullptr : measured_[measured_.size() - 2];
}

const Row* LengthCurve::next() const {
  for (const Row* row : rows_) {
    const bool is_beyond = measured_.empty() || tokens_of(row) > tokens_of(measured_.back());
    if (is_beyond && !row->cell.damaged) return row;
  }
  return nullptr;
}

std::vector<std::vector<const Row*>> by_contender(const std::vector<const Row*>& rows) {
  return grouped(rows, [](const Row& row) { return row.cell.cell.contender.id(); });
}

// Measured values are stated as measured; interpolated ones with "about" and their interval.

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

/// "not distinguishable at 64, 128, and interval too wide at 256": the stretches without a
/// verdict.
std::string open_in_words(const std::vector<Stretch>& open, const Places& places) {
  std::vector<Stretch> alike, unknown;
  for (const Stretch& stretch : open) (stretch.too_few ? unknown : alike).push_back(stretch);
  std::vector<std::string> parts;
  if (!alike.empty()) {
    parts.push_back(fmt::format("not distinguishable at {}", all_of(alike, places)));
  }
  if (!unknown.empty()) {
    parts.push_back(fmt::format("interval too wide for a verdict at {}", all_of(unknown, places)));
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

namespace {

std::string name_along(const Contender& contender, XAxis x) {
  return x == XAxis::window ? base_name(contender) : contender.name;
}

}  // namespace

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
