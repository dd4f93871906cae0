// SPDX-License-Identifier: Apache-2.0
#include "engine/statistics/crossover.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <tuple>

namespace attnscope::statistics {
namespace {

/// A point in logarithms; `below` and `above` are the interval's halves, infinite when unknown.
struct LogPlace {
  double x = 0, ratio = 0, below = 0, above = 0;
};

double half_width(double wide) {
  return std::isfinite(wide) ? std::max(wide, 0.0) : std::numeric_limits<double>::infinity();
}

LogPlace in_logarithms(const RatioAt& place) {
  const double ratio = std::log(place.ratio.ratio);
  return {std::log(place.x), ratio, half_width(ratio - std::log(place.ratio.low)),
          half_width(std::log(place.ratio.high) - ratio)};
}

/// Mirrored, so that code for a ratio that falls through 1 also handles a rising one.
LogPlace mirrored(const LogPlace& place) {
  return {place.x, -place.ratio, place.above, place.below};
}

/// Interpolates the ends of the ratio's interval between two points.
struct Between {
  const LogPlace &from, &to;

  [[nodiscard]] double lower(double t) const {
    return ratio(t) - std::hypot(part(1 - t, from.below), part(t, to.below));
  }
  [[nodiscard]] double upper(double t) const {
    return ratio(t) + std::hypot(part(1 - t, from.above), part(t, to.above));
  }

 private:
  [[nodiscard]] double ratio(double t) const { return (1 - t) * from.ratio + t * to.ratio; }
  /// Avoids 0 times infinity, which is NaN.
  static double part(double share, double half) { return share == 0 ? 0 : share * half; }
};

/// The x between two points at which `end` falls to 0: above 0 at the first, not at the second.
template <typename End>
double falls_to_zero(const Between& between, End end) {
  double above = 0, below = 1;
  for (int step = 0; step < 60; ++step) {
    const double middle = (above + below) / 2;
    (end(middle) > 0 ? above : below) = middle;
  }
  return between.from.x + above * (between.to.x - between.from.x);
}

/// The zero of a straight line from a positive to a non-positive ratio.
double zero_between(const LogPlace& from, const LogPlace& to) {
  return from.x + (to.x - from.x) * from.ratio / (from.ratio - to.ratio);
}

/// The zero between `from` and `to` of the parabola through three points, in Newton's form.
double zero_of_parabola(const LogPlace& from, const LogPlace& to, const LogPlace& third) {
  const double slope = (to.ratio - from.ratio) / (to.x - from.x);
  const double next_slope = (third.ratio - to.ratio) / (third.x - to.x);
  const double bend = (next_slope - slope) / (third.x - from.x);
  double above = from.x, below = to.x;
  for (int step = 0; step < 60; ++step) {
    const double x = (above + below) / 2;
    const double value = from.ratio + (x - from.x) * (slope + bend * (x - to.x));
    (value > 0 ? above : below) = x;
  }
  return above;
}

/// All values are logarithms of x.
struct LogCrossing {
  std::optional<double> at;
  double low = 0, high = 0;
};

/// `places` are all points; the ratio is shown above 1 at `first` and below 1 at `last`.
LogCrossing falling_crossing(std::span<const LogPlace> places, std::size_t first,
                             std::size_t last) {
  // Points in between may be on either side of 1 by chance: the middle crossing is used.
  std::vector<std::size_t> falls;
  for (std::size_t i = first; i < last; ++i) {
    if (places[i].ratio > 0 && places[i + 1].ratio <= 0) falls.push_back(i);
  }
  assert(!falls.empty());
  const std::size_t here = falls[falls.size() / 2];
  LogCrossing crossing{std::nullopt, places[first].x, places[last].x};
  if (places[here + 1].x - places[here].x > std::log(widest_gap) * (1 + 1e-9)) return crossing;
  const double at = zero_between(places[here], places[here + 1]);
  crossing.at = at;

  for (std::size_t i = first; i < last; ++i) {
    const Between between{places[i], places[i + 1]};
    if (between.lower(1) > 0) continue;
    crossing.low = falls_to_zero(between, [&](double t) { return between.lower(t); });
    break;
  }
  for (std::size_t i = last; i > first; --i) {
    const Between between{places[i - 1], places[i]};
    if (!(between.upper(0) > 0)) continue;
    crossing.high = falls_to_zero(between, [&](double t) { return between.upper(t); });
    break;
  }

  double earliest = at, latest = at;
  const auto consider = [&](const LogPlace& third) {
    const double zero = zero_of_parabola(places[here], places[here + 1], third);
    earliest = std::min(earliest, zero);
    latest = std::max(latest, zero);
  };
  if (here > 0) consider(places[here - 1]);
  if (here + 2 < places.size()) consider(places[here + 2]);
  crossing.low = std::max(places[first].x, std::min(crossing.low, at) - (at - earliest));
  crossing.high = std::min(places[last].x, std::max(crossing.high, at) + (latest - at));
  return crossing;
}

Crossing crossing_between(std::span<const LogPlace> places, std::size_t first, std::size_t last,
                          bool a_overtakes) {
  std::vector<LogPlace> falling(places.begin(), places.end());
  if (!a_overtakes) std::ranges::transform(falling, falling.begin(), mirrored);
  const LogCrossing found = falling_crossing(falling, first, last);
  Crossing crossing{.a_overtakes = a_overtakes,
                    .after = std::exp(places[first].x),
                    .before = std::exp(places[last].x),
                    .at = std::nullopt,
                    .low = std::exp(found.low),
                    .high = std::exp(found.high)};
  if (found.at) crossing.at = std::exp(*found.at);
  return crossing;
}

}  // namespace

Crossovers find_crossovers(std::vector<RatioAt> places) {
  std::erase_if(places, [](const RatioAt& place) {
    return !(place.x > 0) || !std::isfinite(place.x) || !(place.ratio.ratio > 0) ||
           !std::isfinite(place.ratio.ratio);
  });
  std::ranges::stable_sort(places, {}, &RatioAt::x);
  assert(std::ranges::adjacent_find(places, {}, &RatioAt::x) == places.end());
  std::vector<LogPlace> logarithms;
  logarithms.reserve(places.size());
  for (const RatioAt& place : places) logarithms.push_back(in_logarithms(place));

  Crossovers result;
  std::optional<std::size_t> shown;  // the last point with a verdict
  for (std::size_t i = 0; i < places.size(); ++i) {
    const Verdict verdict = places[i].ratio.verdict;
    const bool too_few = verdict == Verdict::no_difference_shown && !is_known(places[i].ratio);
    if (result.stretches.empty() || result.stretches.back().verdict != verdict ||
        result.stretches.back().too_few != too_few) {
      result.stretches.push_back({verdict, places[i].x, places[i].x, too_few});
    }
    result.stretches.back().last = places[i].x;
    if (verdict == Verdict::no_difference_shown) continue;
    if (shown && places[*shown].ratio.verdict != verdict) {
      Crossing crossing = crossing_between(logarithms, *shown, i, verdict == Verdict::faster);
      crossing.after = places[*shown].x;  // exact, without rounding by the logarithm
      crossing.before = places[i].x;
      if (!crossing.at) std::tie(crossing.low, crossing.high) = {crossing.after, crossing.before};
      result.crossings.push_back(crossing);
    }
    shown = i;
  }
  return result;
}

}  // namespace attnscope::statistics
