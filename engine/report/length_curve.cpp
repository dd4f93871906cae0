// SPDX-License-Identifier: Apache-2.0
#include "engine/report/length_curve.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/report/conditions.h"
#include "engine/report/provenance.h"
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

Need need_at(double tokens, const Need& before, const Need& longest) {
  double power = 1;
  if (before.peak > 0 && longest.peak > 0 && longest.tokens > before.tokens) {
    power = std::log(longest.peak / before.peak) / std::log(longest.tokens / before.tokens);
  }
  power = std::clamp(power, 0.0, 2.0);
  const double times = tokens / longest.tokens;
  return {tokens, longest.peak * std::pow(times, power), longest.tensors * times};
}

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

}  // namespace attnscope::report
