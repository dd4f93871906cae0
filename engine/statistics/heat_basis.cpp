// SPDX-License-Identifier: Apache-2.0
#include "engine/statistics/heat_basis.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <set>

#include "engine/statistics/interval.h"
#include "engine/statistics/placements.h"

namespace attnscope::statistics {
namespace {

// Others' placements count as at most this many, independent of the number of contenders, and as at
// most twice the contender's own placements after its first.
constexpr int most_units = 4;
constexpr double least_inflation = 1;  // a spread below the presumed one is attributed to chance

bool enough(int undisturbed, int rounds) {
  return undisturbed >= std::min(rounds, std::max(2, (rounds + 3) / 4));
}

/// Placements in which every contender has enough undisturbed rounds, and all placements.
struct Usable {
  std::vector<int> enough;
  std::size_t all = 0;
  bool some_disturbed = false;
};

Usable usable_placements(std::span<const std::vector<Observation>> contenders) {
  std::set<int> all, too_few;
  Usable usable;
  for (const std::vector<Observation>& contender : contenders) {
    struct Rounds {
      int all = 0, undisturbed = 0;
    };
    std::map<int, Rounds> rounds;
    for (const Observation& o : contender) {
      Rounds& of = rounds[o.placement];
      ++of.all;
      of.undisturbed += o.disturbed ? 0 : 1;
      usable.some_disturbed = usable.some_disturbed || o.disturbed;
    }
    for (const auto& [placement, count] : rounds) {
      all.insert(placement);
      if (!enough(count.undisturbed, count.all)) too_few.insert(placement);
    }
  }
  usable.all = all.size();
  std::ranges::set_difference(all, too_few, std::back_inserter(usable.enough));
  return usable;
}

/// Median of a chi-squared variable divided by its degrees of freedom.
double median_share(std::size_t degrees) {
  constexpr std::array<double, 4> few{0.455, 0.693, 0.789, 0.839};
  if (degrees <= few.size()) return few.at(degrees - 1);
  const auto d = static_cast<double>(degrees);
  return std::pow(1 - 2 / (9 * d), 3);  // Wilson and Hilferty 1931
}

/// A contender's placements, or their differences from another's.
struct Spread {
  std::vector<double> values;
  double squared_error = 0;  // mean squared error of a placement's median
};

/// Disturbances of one contender's placements say little about another's: short calls fit into gaps
/// that long ones do not. In disturbed heats, others' placements therefore only replace missing own
/// ones.
PooledSpread pooled(const std::vector<Spread>& spreads, bool is_disturbed) {
  PooledSpread pooled;
  if (is_disturbed) pooled.presumed = presumed_disturbed_spread;
  std::vector<double> shares;
  std::size_t most_placements = 0;
  for (const Spread& spread : spreads) {
    if (spread.values.size() < 2) continue;
    most_placements = std::max(most_placements, spread.values.size());
    const std::size_t degrees = spread.values.size() - 1;
    const double presumed = pooled.presumed * pooled.presumed + spread.squared_error;
    shares.push_back(squares_around(spread.values, mean_of(spread.values)) /
                     static_cast<double>(degrees) / presumed / median_share(degrees));
  }
  // A single contender has no others to pool with.
  if (shares.size() < 2) return pooled;
  const int degrees = static_cast<int>(most_placements) - 1;
  const int most = is_disturbed ? std::max(most_units - degrees, 0) : most_units;
  pooled.units = std::min({most, static_cast<int>(shares.size()) - 1, 2 * degrees});
  pooled.inflation = std::max(median_of(std::move(shares)), least_inflation);
  return pooled;
}

Spread spread_of(const std::vector<Unit>& units) {
  Spread spread;
  for (const Unit& unit : units) {
    spread.values.push_back(unit.value);
    spread.squared_error += unit.squared_error / static_cast<double>(units.size());
  }
  return spread;
}

/// The residuals of the contenders' placements after removing the common part of most contenders
/// there, scaled to the spread of the difference of two contenders.
std::vector<Spread> spreads_apart(const std::vector<std::vector<Unit>>& contenders) {
  std::vector<Spread> spreads;
  if (contenders.size() < 3) return spreads;  // with two, each one's residual depends on the other
  std::map<int, std::vector<double>> together;
  for (const std::vector<Unit>& contender : contenders) {
    for (const Unit& unit : contender) together[unit.number].push_back(unit.value);
  }
  for (const std::vector<Unit>& contender : contenders) {
    Spread& spread = spreads.emplace_back(spread_of(contender));
    for (std::size_t i = 0; i < contender.size(); ++i) {
      const double common = median_of(together[contender[i].number]);
      spread.values[i] = std::sqrt(2.0) * (spread.values[i] - common);
    }
    spread.squared_error *= 2;
  }
  return spreads;
}

}  // namespace

HeatBasis basis_of(std::span<const std::vector<Observation>> contenders) {
  HeatBasis basis;
  Usable usable = usable_placements(contenders);
  const std::size_t needed = std::min(usable.all, std::max<std::size_t>(2, (usable.all + 1) / 2));
  if (usable.some_disturbed) {
    basis.without_disturbed = usable.enough.size() >= needed;
    basis.is_disturbed = !basis.without_disturbed;
    if (basis.without_disturbed) basis.placements = std::move(usable.enough);
  }
  std::vector<std::vector<Unit>> counted;
  for (const std::vector<Observation>& contender : contenders) {
    counted.push_back(units_of(by_placement(counted_logarithms(contender, basis)), basis));
    if (counted.back().empty()) counted.pop_back();
  }
  std::vector<Spread> times;
  times.reserve(counted.size());
  for (const std::vector<Unit>& contender : counted) times.push_back(spread_of(contender));
  basis.times = pooled(times, basis.is_disturbed);
  basis.ratios = pooled(spreads_apart(counted), basis.is_disturbed);
  return basis;
}

}  // namespace attnscope::statistics
