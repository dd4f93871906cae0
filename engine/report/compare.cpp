// SPDX-License-Identifier: Apache-2.0
#include "engine/report/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "engine/report/axes_in_words.h"
#include "engine/report/number_text.h"
#include "engine/report/run_differences.h"
#include "engine/report/writers.h"
#include "engine/statistics/placements.h"

namespace attnscope::report {
namespace {

using Line = std::array<std::string, ComparedLine::texts_count>;

std::string cell_key(const StoredCell& cell) {
  return point_key(cell.point) + " " + cell.cell.contender.id();
}

Row row_of(const StoredCell& cell) {
  return {.cell = cell, .limit_ms = {}, .share_of_limit = {}, .ratio = {}};
}

std::string time_of(const StoredCell& cell) {
  const Row row = row_of(cell);
  if (!is_measured(row)) return outcome_of(row).status;
  return format_time(cell.summary.median_ns /
                     static_cast<double>(std::max<std::int64_t>(cell.cell.batch, 1)));
}

Line line_of(const ComparedCell& cell) {
  Line line{cell.a.cell.contender.name, time_of(cell.a), time_of(cell.b), "", "", ""};
  if (cell.ratio) {
    line[3] = format_relative(cell.ratio->ratio);
    if (std::isfinite(cell.ratio->low) && std::isfinite(cell.ratio->high)) {
      line[4] = fmt::format("{} to {}", format_relative(cell.ratio->low),
                            format_relative(cell.ratio->high));
    }
    line[5] = name_of(cell.ratio->verdict);
  }
  return line;
}

std::string counts_of(const Comparison& comparison) {
  std::map<statistics::Verdict, int> counts;
  for (const ComparedCell& cell : comparison.cells) {
    if (cell.ratio) ++counts[cell.ratio->verdict];
  }
  return fmt::format(
      "B against A, unpaired: faster in {}, slower in {}, no difference shown in {} of {} shared "
      "cells; {} only in A, {} only in B",
      counts[statistics::Verdict::faster], counts[statistics::Verdict::slower],
      counts[statistics::Verdict::no_difference_shown], comparison.cells.size(),
      comparison.only_in_a, comparison.only_in_b);
}

/// By how much the machine's rates differ over all ceilings of both runs, as a logarithm: of
/// multiply-adds, exponentials and copies beyond the caches the median, since any one of them may
/// have been disturbed while it was measured.
std::optional<double> machine_moved(const std::vector<Ceilings>& all) {
  std::map<std::pair<DeviceKind, int>, std::vector<const Ceilings*>> alike;
  for (const Ceilings& one : all) alike[{one.device, one.threads}].push_back(&one);
  std::optional<double> most;
  for (const auto& [what, ceilings] : alike) {
    if (ceilings.size() < 2) continue;
    std::vector<double> moves;
    for (const auto rate :
         {+[](const Ceilings& c) { return c.flop_per_second; },
          +[](const Ceilings& c) { return c.exponentials_per_second; },
          +[](const Ceilings& c) { return c.copy.empty() ? 0 : c.copy.back().bytes_per_second; }}) {
      std::vector<double> rates;
      for (const Ceilings* one : ceilings) {
        if (rate(*one) > 0) rates.push_back(rate(*one));
      }
      if (rates.size() < 2) continue;
      const auto [least, largest] = std::ranges::minmax(rates);
      moves.push_back(std::log(largest / least));
    }
    if (!moves.empty()) most = std::max(most.value_or(0), statistics::median_of(std::move(moves)));
  }
  return most;
}

/// Every interval gets what the cells together and the machine say of the time between the runs.
void widen(Comparison& comparison) {
  std::vector<statistics::Ratio> ratios;
  for (const ComparedCell& cell : comparison.cells) {
    if (cell.ratio) ratios.push_back(*cell.ratio);
  }
  comparison.between = statistics::between_runs(ratios, comparison.machine_moved.value_or(0));
  for (ComparedCell& cell : comparison.cells) {
    if (!cell.ratio) continue;
    cell.ratio = statistics::unpaired_ratio(per_item(cell.b.cell), per_item(cell.a.cell),
                                            comparison.between);
  }
}

std::string between_in_words(const Comparison& comparison) {
  const statistics::BetweenRuns& between = comparison.between;
  std::string text = fmt::format(
      "of what changed between the runs, {:.1f} % are taken to be the machine's, since all cells "
      "share them, and {:.1f} % a spread of single cells; both are in the intervals",
      100 * std::expm1(between.shift), 100 * std::expm1(between.spread));
  if (comparison.machine_moved) {
    text += fmt::format(" (the machine's own rates moved by {:.1f} %)",
                        100 * std::expm1(*comparison.machine_moved));
  }
  return text;
}

}  // namespace

Result<Comparison> compare_runs(const Store& store_a, const RunInfo& a, const Store& store_b,
                                const RunInfo& b) {
  Result<std::vector<StoredCell>> cells_a = store_a.cells(a.id, true);
  if (!cells_a) return tl::unexpected(cells_a.error());
  Result<std::vector<StoredCell>> cells_b = store_b.cells(b.id, true);
  if (!cells_b) return tl::unexpected(cells_b.error());

  Result<std::vector<Ceilings>> ceilings = store_a.ceilings(a.id);
  if (!ceilings) return tl::unexpected(ceilings.error());
  const Result<std::vector<Ceilings>> ceilings_b = store_b.ceilings(b.id);
  if (!ceilings_b) return tl::unexpected(ceilings_b.error());
  ceilings->insert(ceilings->end(), ceilings_b->begin(), ceilings_b->end());

  Comparison comparison{.run_a = a, .run_b = b, .cells = {}, .only_in_a = 0, .only_in_b = 0};
  comparison.machine_moved = machine_moved(*ceilings);
  std::ranges::stable_sort(*cells_a, comes_before, &StoredCell::point);
  std::map<std::string, const StoredCell*> of_b;
  for (const StoredCell& cell : *cells_b) of_b.emplace(cell_key(cell), &cell);
  for (StoredCell& cell : *cells_a) {
    const auto match = of_b.find(cell_key(cell));
    if (match == of_b.end()) {
      ++comparison.only_in_a;
      continue;
    }
    ComparedCell compared{.a = std::move(cell), .b = *match->second, .ratio = {}};
    of_b.erase(match);
    if (is_measured(row_of(compared.a)) && is_measured(row_of(compared.b))) {
      const statistics::Ratio ratio =
          statistics::unpaired_ratio(per_item(compared.b.cell), per_item(compared.a.cell));
      if (std::isfinite(ratio.ratio)) compared.ratio = ratio;
    }
    comparison.cells.push_back(std::move(compared));
  }
  comparison.only_in_b = static_cast<int>(of_b.size());
  widen(comparison);
  return comparison;
}

const Line& comparison_headings() {
  static const Line headings{"contender", "A, per doc", "B, per doc",
                             "B vs A",    "95 % of it", "verdict"};
  return headings;
}

std::vector<ComparedLine> comparison_lines(const Comparison& comparison) {
  std::vector<Row> rows;
  rows.reserve(comparison.cells.size());
  for (const ComparedCell& cell : comparison.cells) rows.push_back(row_of(cell.a));
  std::vector<bool> varying = varying_axes(rows);
  varying[length_axis] = true;
  std::vector<ComparedLine> lines;
  lines.reserve(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    lines.push_back({.setting = words_of(rows[i].cell.point, varying, true),
                     .texts = line_of(comparison.cells[i])});
  }
  return lines;
}

std::vector<std::string> comparison_notes(const Comparison& comparison) {
  std::vector<std::string> notes;
  for (const std::string& difference : differences(comparison.run_a, comparison.run_b)) {
    notes.push_back("not alike: " + difference);
  }
  notes.push_back(counts_of(comparison));
  notes.push_back(between_in_words(comparison));
  return notes;
}

}  // namespace attnscope::report
