// SPDX-License-Identifier: Apache-2.0
#include "engine/report/roofline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "engine/report/number_text.h"
#include "engine/statistics/placements.h"

namespace attnscope::report {
namespace {

constexpr double giga = 1e9;

/// The median, or 0 if nothing was measured.
double median(std::vector<double> values) {
  return values.empty() ? 0 : statistics::median_of(std::move(values));
}

/// The largest rate: lower ones were reduced by other programs during the measurement.
double best(const std::vector<double>& rates) {
  return rates.empty() ? 0 : std::ranges::max(rates);
}

/// "64 KiB", "1 GiB": working sets are powers of two.
std::string size_text(std::int64_t bytes) {
  constexpr std::int64_t step = 1024;
  double value = static_cast<double>(bytes);
  std::string_view unit = "B";
  for (const std::string_view next : {"KiB", "MiB", "GiB"}) {
    if (value < static_cast<double>(step)) break;
    value /= static_cast<double>(step);
    unit = next;
  }
  return fmt::format("{} {}", three_digits(value), unit);
}

/// Useful FLOP per exponential: equal for all cells of a head dimension and direction.
double flop_per_exponential(const Table& table) {
  std::vector<double> ratios;
  for (const Row& row : table.rows) {
    const CellWork& work = row.cell.cell.work;
    if (!row.cell.damaged && work.exponentials > 0 && work.useful_flop > 0) {
      ratios.push_back(work.useful_flop / work.exponentials);
    }
  }
  return median(std::move(ratios));
}

using CopyRates = std::map<std::int64_t, std::vector<double>>;  // by working set

/// Working sets of the same rate share a line: "62 GB/s up to 64 MiB", "38 GB/s beyond 64 MiB".
void add_bandwidths(const CopyRates& copies, std::vector<Ceiling>& all) {
  constexpr double alike = 0.1;
  struct Level {
    std::vector<double> rates;
    std::int64_t bytes = 0;  // the largest working set
  };
  std::vector<Level> levels;
  for (const auto& [bytes, rates] : copies) {
    const double rate = best(rates) / giga;
    if (!(rate > 0)) continue;
    const bool same = !levels.empty() && std::abs(rate / median(levels.back().rates) - 1) <= alike;
    if (!same) levels.emplace_back();
    levels.back().rates.push_back(rate);
    levels.back().bytes = bytes;
  }
  for (std::size_t i = 0; i < levels.size(); ++i) {
    const double rate = median(levels[i].rates);
    const bool last = i + 1 == levels.size() && i > 0;
    all.push_back({fmt::format("{} GB/s {} {}", three_digits(rate), last ? "beyond" : "up to",
                               size_text(levels[last ? i - 1 : i].bytes)),
                   rate, true});
  }
}

}  // namespace

std::optional<double> work_per_byte(const Row& row) {
  const CellWork& work = row.cell.cell.work;
  if (row.cell.damaged || !(work.useful_flop > 0) || !(work.least_bytes > 0)) return std::nullopt;
  const double ratio = work.useful_flop / work.least_bytes;
  return std::isfinite(ratio) ? std::optional(ratio) : std::nullopt;
}

std::vector<Ceiling> ceilings_of(const Table& table) {
  if (table.rows.empty()) return {};
  const HeatPoint& point = table.rows.front().cell.point;  // equal in all rows of one setting
  std::vector<double> flop, exponentials;
  CopyRates copies;
  for (const Ceilings& measurement : table.ceilings) {
    if (!are_ceilings_of(measurement, point)) continue;
    const bool tensor = point.dtype != DType::float32 && measurement.tensor_flop_per_second > 0;
    flop.push_back(tensor ? measurement.tensor_flop_per_second : measurement.flop_per_second);
    exponentials.push_back(measurement.exponentials_per_second);
    for (const Ceilings::Copy& copy : measurement.copy) {
      copies[copy.working_set_bytes].push_back(copy.bytes_per_second);
    }
  }
  // Cold inputs come from memory, so cache rates are not their ceilings.
  if (point.cache == CacheState::cold && !copies.empty())
    copies.erase(copies.begin(), std::prev(copies.end()));

  std::vector<Ceiling> all;
  const double products = best(flop) / giga;
  if (products > 0) all.push_back({fmt::format("{} GFLOP/s", three_digits(products)), products});
  const double softmax = best(exponentials) * flop_per_exponential(table) / giga;
  if (softmax > 0 && (products == 0 || softmax < products)) {
    all.push_back({fmt::format("exponentials: {} GFLOP/s", three_digits(softmax)), softmax});
  }
  add_bandwidths(copies, all);
  return all;
}

}  // namespace attnscope::report
