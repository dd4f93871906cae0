// SPDX-License-Identifier: Apache-2.0
#include "engine/report/scatter_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "engine/report/number_text.h"
#include "engine/statistics/interval.h"

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

namespace {

struct Placed {
  const TimedEffectiveness* of = nullptr;
  double x = 0, y = 0;
  bool is_measured = false;
  [[nodiscard]] bool is_equivalent() const {
    return is_measured ? of->measured->is_equivalent() : of->published->is_equivalent;
  }
};

/// Contenders with a time and a value; measured values come first.
std::vector<Placed> placed(const std::vector<TimedEffectiveness>& contenders, double unit_ns) {
  std::vector<Placed> all;
  for (const TimedEffectiveness& timed : contenders) {
    if (!timed.measured && !timed.published) continue;
    all.push_back({.of = &timed,
                   .x = timed.time_ns / unit_ns,
                   .y = timed.measured ? timed.measured->mean : timed.published->ndcg10,
                   .is_measured = timed.measured.has_value()});
  }
  return all;
}

/// The Pareto front, ascending in both values.
std::vector<Point> front_of(std::vector<Placed> all, bool of_measured) {
  std::erase_if(all, [&](const Placed& placed) { return placed.is_measured != of_measured; });
  std::ranges::sort(
      all, [](const Placed& a, const Placed& b) { return a.x != b.x ? a.x < b.x : a.y > b.y; });
  std::vector<Point> front;
  for (const Placed& placement : all) {
    if (front.empty() || placement.y > front.back().y) {
      front.push_back(
          {.x = placement.x, .y = placement.y, .low = placement.y, .high = placement.y});
    }
  }
  return front;
}

std::string label_of(const Placed& placed, const std::vector<Point>& front) {
  std::string text = placed.of->remark;
  const auto add = [&](std::string_view words) {
    text.append(text.empty() ? "" : ", ").append(words);
  };
  add(placed.is_measured ? measured_label : published_label);
  if (placed.is_measured && placed.of->measured->tests) {
    const MeasuredEffectiveness& own = *placed.of->measured;
    add(fmt::format("{}equivalent within {}: {}", own.is_equivalent() ? "" : "not shown ",
                    own.margin, test_in_words(*own.tests)));
  } else if (placed.is_equivalent()) {
    add(placed.is_measured ? "the baseline" : "equivalent, as the paper tested");
  }
  const auto is_here = [&](const Point& point) {
    return point.x == placed.x && point.y == placed.y;
  };
  if (std::ranges::any_of(front, is_here)) add("on the Pareto front");
  return text;
}

/// The legend, as sentences.
std::string legend_of(const std::vector<Placed>& all, bool has_front) {
  std::string text;
  const auto add = [&](const std::string& sentence) {
    text.append(text.empty() ? "" : " ").append(sentence);
  };
  const auto measured = std::ranges::find(all, true, &Placed::is_measured);
  const auto published = std::ranges::find(all, false, &Placed::is_measured);
  if (measured != all.end()) {
    const MeasuredEffectiveness& own = *measured->of->measured;
    add(fmt::format("{} measured here, by {}.", own.measure, own.qrels));
    if (!own.baseline.empty()) {
      add(fmt::format("† equivalent to {} within {} (paired TOST, p < {}).", own.baseline,
                      own.margin, own.alpha));
    }
    if (published != all.end()) {
      add(fmt::format("publ.: {}, on another collection ({}).", published_label,
                      published->of->published->source));
    }
  } else if (published != all.end()) {
    add(fmt::format("nDCG@10 {} ({}). † as the paper tested.", published_label,
                    published->of->published->source));
  }
  if (has_front) add("Line: Pareto front.");
  return text;
}

}  // namespace

Figure effectiveness_figure(const std::vector<TimedEffectiveness>& contenders,
                            std::string_view of) {
  constexpr double ms = 1e6, second = 1e9, seconds_from = 1e4 * ms;
  double longest = 0;
  for (const Placed& placement : placed(contenders, 1)) longest = std::max(longest, placement.x);
  const bool in_seconds = longest >= seconds_from;
  const std::vector<Placed> all = placed(contenders, in_seconds ? second : ms);
  Figure figure;
  figure.x_label = fmt::format("{} {}", in_seconds ? "s" : "ms", of);
  figure.x_scale = Scale::log10;
  figure.y_scale = Scale::linear;
  figure.along_x = false;
  if (all.empty()) return figure;
  const auto measured = std::ranges::find(all, true, &Placed::is_measured);
  const bool any_measured = measured != all.end();
  const bool any_published =
      std::ranges::any_of(all, [](const Placed& p) { return !p.is_measured; });
  figure.y_label =
      any_measured
          ? fmt::format("{} ({}{})", measured->of->measured->measure, measured_label,
                        any_published ? "; publ.: published, not measured" : "")
          : fmt::format("nDCG@10 over {} ({})", all.front().of->published->task, published_label);
  figure.front = front_of(all, any_measured);
  if (figure.front.size() < 2) figure.front.clear();
  for (const Placed& placed : all) {
    std::string mark = placed.is_equivalent() ? "†" : "";
    if (any_measured && !placed.is_measured) mark += mark.empty() ? "publ." : " publ.";
    figure.series.push_back({.name = placed.of->name,
                             .style_key = placed.of->contender,
                             .points = {{.x = placed.x,
                                         .y = placed.y,
                                         .low = placed.y,
                                         .high = placed.y,
                                         .label = label_of(placed, figure.front),
                                         .cell = placed.of->cell,
                                         .mark = std::move(mark)}}});
  }
  figure.warning = legend_of(all, !figure.front.empty());
  return figure;
}

std::optional<ReadableRange> readable_range(std::span<const Figure> figures) {
  constexpr double least_span = 0.04;
  std::vector<double> values;
  for (const Figure& figure : figures) {
    for (const Series& series : figure.series) {
      for (const Point& point : series.points) values.push_back(point.y);
    }
  }
  if (values.empty()) return std::nullopt;
  const auto [low, high] = std::ranges::minmax(values);
  const double middle = (low + high) / 2;
  const double span = std::max(least_span, 1.4 * (high - low));
  return ReadableRange{std::max(0.0, middle - span / 2), middle + span / 2};
}

}  // namespace attnscope::report
