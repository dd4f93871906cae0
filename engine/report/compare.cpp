// SPDX-License-Identifier: Apache-2.0
#include "engine/report/compare.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "engine/report/number_text.h"
#include "engine/report/provenance.h"
#include "engine/report/row.h"
#include "engine/report/row_values.h"
#include "engine/report/run_figures.h"
#include "engine/report/slice.h"
#include "engine/statistics/interval.h"

namespace attnscope::report {
namespace {

using nlohmann::ordered_json;
using ComparedTexts = std::array<std::string, ComparedLine::texts_count>;

std::string cell_key(const StoredCell& cell) {
  return point_key(cell.point) + " " + cell.cell.contender.id();
}

/// The time of B over that of A, per item.
statistics::Ratio ratio_of(const ComparedCell& cell, const statistics::BetweenRuns& between) {
  return statistics::unpaired_ratio(per_item(cell.b.cell), per_item(cell.a.cell), between,
                                    cell.b.cell.basis, cell.a.cell.basis);
}

std::string row_time_in_words(const Row& row) {
  if (!is_measured(row)) return outcome_of(row).status;
  return format_time(ns_per_document(row)) + (is_disturbed(row) ? " !" : "");
}

ComparedTexts line_of(const ComparedCell& cell) {
  ComparedTexts line{cell.a.cell.cell.contender.name, row_time_in_words(cell.a),
                     row_time_in_words(cell.b), "", ""};
  if (cell.ratio) {
    line[3] = difference_in_words(*cell.ratio);
    line[4] = interval_in_words(*cell.ratio);
  }
  return line;
}

std::vector<const Row*> rows_of(const Comparison& comparison, Row ComparedCell::*side) {
  std::vector<const Row*> rows;
  rows.reserve(comparison.cells.size());
  for (const ComparedCell& cell : comparison.cells) rows.push_back(&(cell.*side));
  return rows;
}

std::string counts_of(const Comparison& comparison) {
  std::map<std::string_view, int> counts;
  for (const ComparedCell& cell : comparison.cells) {
    if (cell.ratio) ++counts[verdict_in_words(*cell.ratio)];
  }
  const int unknown = counts[interval_too_wide];
  return fmt::format(
      "B against A, unpaired: faster in {}, slower in {}, no difference shown in {}{} of {} shared "
      "cells; {} only in A, {} only in B",
      counts[name_of(statistics::Verdict::faster)], counts[name_of(statistics::Verdict::slower)],
      counts[name_of(statistics::Verdict::no_difference_shown)],
      unknown > 0 ? fmt::format(", {} in {}", interval_too_wide, unknown) : "",
      comparison.cells.size(), comparison.only_in_a, comparison.only_in_b);
}

/// How much the machine's rates changed between the runs, as the logarithm of a ratio. For each
/// device and number of threads it is the median over multiply-adds, exponentials and copies beyond
/// the caches, since any single measurement may have been disturbed; the largest of these medians
/// is returned, or nothing if the runs share no ceilings.
std::optional<double> machine_moved(const std::vector<Ceilings>& all) {
  std::map<std::pair<DeviceKind, int>, std::vector<const Ceilings*>> alike;
  for (const Ceilings& measurement : all)
    alike[{measurement.device, measurement.threads}].push_back(&measurement);
  std::optional<double> most;
  for (const auto& [what, ceilings] : alike) {
    if (ceilings.size() < 2) continue;
    std::vector<double> moves;
    for (const auto rate :
         {+[](const Ceilings& c) { return c.flop_per_second; },
          +[](const Ceilings& c) { return c.exponentials_per_second; },
          +[](const Ceilings& c) { return c.copy.empty() ? 0 : c.copy.back().bytes_per_second; }}) {
      std::vector<double> rates;
      for (const Ceilings* measurement : ceilings) {
        if (rate(*measurement) > 0) rates.push_back(rate(*measurement));
      }
      if (rates.size() < 2) continue;
      const auto [least, largest] = std::ranges::minmax(rates);
      moves.push_back(std::log(largest / least));
    }
    if (!moves.empty()) most = std::max(most.value_or(0), statistics::median_of(std::move(moves)));
  }
  return most;
}

/// Widens every interval by the change between the runs, as estimated from all cells and the
/// machine.
void widen(Comparison& comparison) {
  std::vector<statistics::Ratio> ratios;
  for (const ComparedCell& cell : comparison.cells) {
    if (cell.ratio) ratios.push_back(*cell.ratio);
  }
  comparison.between = statistics::between_runs(ratios, comparison.machine_moved.value_or(0));
  for (ComparedCell& cell : comparison.cells) {
    if (!cell.ratio) continue;
    cell.ratio = ratio_of(cell, comparison.between);
  }
}

std::string between_in_words(const Comparison& comparison) {
  const statistics::BetweenRuns& between = comparison.between;
  std::string text = fmt::format(
      "up to {:.1f} % of a common shift of all cells, and a further {:.1f} % of each cell's, may "
      "come from the machine; the intervals include both",
      100 * std::expm1(between.shift), 100 * std::expm1(between.spread));
  if (comparison.machine_moved) {
    text += fmt::format(" (its ceilings changed by {:.1f} %)",
                        100 * std::expm1(*comparison.machine_moved));
  }
  return text;
}

/// The axes, and the contenders, of which the two runs share no value, with the values of each run.
std::vector<std::string> axes_without_shared_values(const std::vector<StoredCell>& a,
                                                    const std::vector<StoredCell>& b) {
  const auto values_of = [](const std::vector<StoredCell>& cells) {
    std::vector<std::pair<std::string, std::set<std::string>>> all;
    for (const StoredCell& cell : cells) {
      std::vector<AxisValue> axes = axes_of(cell.point);
      all.resize(axes.size() + 1);
      for (std::size_t i = 0; i < axes.size(); ++i) {
        all[i].first = axis_name(axes[i].key);
        all[i].second.insert(axes[i].value);
      }
      all.back().first = "contenders";
      all.back().second.insert(cell.cell.contender.id());
    }
    return all;
  };
  const auto of_a = values_of(a), of_b = values_of(b);
  std::vector<std::string> apart;
  for (std::size_t i = 0; i < of_a.size() && i < of_b.size(); ++i) {
    const auto& [name, in_a] = of_a[i];
    const std::set<std::string>& in_b = of_b[i].second;
    if (std::ranges::any_of(in_a, [&](const std::string& value) { return in_b.contains(value); }))
      continue;
    apart.push_back(
        fmt::format("{}: {} in A, {} in B", name, fmt::join(in_a, ", "), fmt::join(in_b, ", ")));
  }
  return apart;
}

ordered_json side_of(const Row& row) {
  const StoredCell& cell = row.cell;
  ordered_json side = {{"status", cell.damaged ? damaged_status : name_of(cell.cell.status)},
                       {"batch", cell.cell.batch},
                       {"ms_per_document", nullptr}};
  if (is_measured(row)) side["ms_per_document"] = cell.summary.median_ns / 1e6 / documents_of(row);
  side["disturbed"] = is_disturbed(row);
  return side;
}

ordered_json json_of(const ComparedCell& compared) {
  const StoredCell& cell = compared.a.cell;
  ordered_json row = {{"contender", cell.cell.contender.id()}, {"name", cell.cell.contender.name}};
  for (const AxisValue& axis : axes_of(cell.point)) row[std::string(axis.key)] = axis.value;
  row["sequence_tokens"] = cell.point.sequence_tokens;
  row["a"] = side_of(compared.a);
  row["b"] = side_of(compared.b);
  for (const char* key : {"ratio", "ratio_low", "ratio_high", "verdict"}) row[key] = nullptr;
  if (compared.ratio) {
    row["ratio"] = compared.ratio->ratio;
    row["ratio_low"] = compared.ratio->low;
    row["ratio_high"] = compared.ratio->high;
    row["verdict"] = verdict_in_words(*compared.ratio);
  }
  return row;
}

Value ms_of(const Row& row) {
  return is_measured(row) ? nine_digits(row.cell.summary.median_ns / 1e6 / documents_of(row))
                          : Value();
}

Sheet sheet_for_programs(const Comparison& comparison) {
  Sheet sheet{.columns = {{"setting", ""},
                          {"contender", ""},
                          {"a_ms", ""},
                          {"b_ms", ""},
                          {"ratio", ""},
                          {"ratio_low", ""},
                          {"ratio_high", ""},
                          {"verdict", ""},
                          {"run_a", ""},
                          {"run_b", ""}}};
  const std::vector<ComparedLine> lines = comparison_lines(comparison);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const ComparedCell& cell = comparison.cells[i];
    const auto of_ratio = [&](double statistics::Ratio::*part) {
      return cell.ratio ? nine_digits((*cell.ratio).*part) : Value();
    };
    sheet.add({lines[i].setting, cell.a.cell.cell.contender.id(), ms_of(cell.a), ms_of(cell.b),
               of_ratio(&statistics::Ratio::ratio), of_ratio(&statistics::Ratio::low),
               of_ratio(&statistics::Ratio::high),
               cell.ratio ? Value(std::string(verdict_in_words(*cell.ratio))) : Value(),
               comparison.run_a.id.uuid, comparison.run_b.id.uuid});
  }
  return sheet;
}

Sheet sheet_for_people(const Comparison& comparison, TableFormat format) {
  const std::array<std::string, 2> runs{"A: " + provenance_line(comparison.run_a),
                                        "B: " + provenance_line(comparison.run_b)};
  std::vector<std::string> notes = comparison_notes(comparison);
  Sheet sheet;
  if (format == TableFormat::text) {
    sheet.above.assign(runs.begin(), runs.end());
    // The last two notes are about the cells and follow them.
    sheet.above.insert(sheet.above.end(), notes.begin(), notes.end() - 2);
    sheet.below.assign(notes.end() - 2, notes.end());
  } else {
    if (format != TableFormat::latex) sheet.notes = std::move(notes);
    sheet.below.assign(runs.begin(), runs.end());
  }
  const SheetColumn setting{"", "setting", false};
  const bool in_column = format == TableFormat::latex;
  if (in_column) sheet.columns.push_back({"", "Setting", false});
  if (!in_column) sheet.block_column = setting;
  const ComparedTexts& headings = comparison_headings();
  for (std::size_t i = 0; i < headings.size(); ++i)
    sheet.columns.push_back({"", headings[i], i > 0});
  for (ComparedLine& line : comparison_lines(comparison)) {
    if (!in_column && (sheet.blocks.empty() || sheet.blocks.back().title != line.setting))
      sheet.blocks.push_back({.title = line.setting, .rows = {}});
    std::vector<SheetCell> cells;
    if (in_column) cells.emplace_back(std::move(line.setting));
    for (std::string& text : line.texts) cells.emplace_back(std::move(text));
    sheet.add(std::move(cells));
  }
  return sheet;
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
  std::vector<std::string> apart = axes_without_shared_values(*cells_a, *cells_b);
  std::ranges::stable_sort(*cells_a, comes_before, &StoredCell::point);
  std::map<std::string, StoredCell*> of_b;
  for (StoredCell& cell : *cells_b) of_b.emplace(cell_key(cell), &cell);
  for (StoredCell& cell : *cells_a) {
    const auto match = of_b.find(cell_key(cell));
    if (match == of_b.end()) {
      ++comparison.only_in_a;
      continue;
    }
    ComparedCell compared{
        .a = {.cell = std::move(cell)}, .b = {.cell = std::move(*match->second)}, .ratio = {}};
    of_b.erase(match);
    if (is_measured(compared.a) && is_measured(compared.b)) {
      const statistics::Ratio ratio = ratio_of(compared, {});
      if (std::isfinite(ratio.ratio)) compared.ratio = ratio;
    }
    comparison.cells.push_back(std::move(compared));
  }
  comparison.only_in_b = static_cast<int>(of_b.size());
  if (comparison.cells.empty()) comparison.apart = std::move(apart);
  widen(comparison);
  return comparison;
}

Result<Figure> comparison_figure(const Comparison& comparison) {
  Table table{.run = comparison.run_b, .rows = {}, .baseline = "A"};
  for (const ComparedCell& cell : comparison.cells) {
    Row row = cell.b;
    row.ratio = cell.ratio;
    row.cell.cell.samples.clear();
    add_once(table.contenders, row.cell.cell.contender.id());
    table.rows.push_back(std::move(row));
  }
  const std::array<std::string_view, 1> drawn{"sequence_tokens"};
  const Slice slice = find_slice(table, drawn, {});
  std::erase_if(table.rows, [&](const Row& row) { return !is_in(slice, row); });
  Result<Figure> figure = make_figure(table, XAxis::length, YAxis::ratio);
  if (!figure) return figure;
  const bool has_values = std::ranges::any_of(
      figure->series, [](const Series& series) { return !series.points.empty(); });
  if (!has_values) return fail("no cell has a time in both runs");
  figure->y_label = "Time of B over time of A";
  figure->title =
      fmt::format("B: {} {}, A: {} {}; {}", comparison.run_b.number, title_of(comparison.run_b),
                  comparison.run_a.number, title_of(comparison.run_a), figure->title);
  figure->provenance = fmt::format("B: {} A: {}", provenance_line(comparison.run_b),
                                   provenance_line(comparison.run_a));
  return figure;
}

const ComparedTexts& comparison_headings() {
  static const ComparedTexts headings{"contender", "A, per doc", "B, per doc", "B vs A",
                                      "95 % interval"};
  return headings;
}

std::vector<ComparedLine> comparison_lines(const Comparison& comparison) {
  std::vector<bool> varying = varying_axes(rows_of(comparison, &ComparedCell::a));
  varying[length_axis] = true;
  std::vector<ComparedLine> lines;
  lines.reserve(comparison.cells.size());
  for (const ComparedCell& cell : comparison.cells) {
    lines.push_back(
        {.setting = words_of(cell.a.cell.point, varying, true), .texts = line_of(cell)});
  }
  return lines;
}

namespace {

/// Adds a note for each run with disturbed cells.
void add_disturbed(const Comparison& comparison, Remedy remedy, std::vector<std::string>& notes) {
  for (const auto& [name, run, side] : {std::tuple("A", &comparison.run_a, &ComparedCell::a),
                                        {"B", &comparison.run_b, &ComparedCell::b}}) {
    if (const std::string disturbed =
            disturbed_cells_in_words(*run, rows_of(comparison, side), remedy);
        !disturbed.empty())
      notes.push_back(fmt::format("compared cells of {}: {}", name, disturbed));
  }
}

}  // namespace

std::vector<std::string> comparison_notes(const Comparison& comparison, Remedy remedy) {
  std::vector<std::string> notes;
  if (comparison.run_a.id == comparison.run_b.id) notes.emplace_back("A and B are the same run");
  for (const std::string& difference : differences(comparison.run_a, comparison.run_b)) {
    // Modified sources may be the same ones.
    const bool is_unknown = difference.ends_with(no_commit_identifies);
    notes.push_back((is_unknown ? "may differ: " : "different: ") + difference);
  }
  for (const std::string& setting : comparison.apart) notes.push_back("different: " + setting);
  add_disturbed(comparison, remedy, notes);
  if (comparison.cells.empty()) {
    notes.insert(notes.begin(), "the runs have no cell with the same settings");
  } else {
    notes.push_back(counts_of(comparison));
    notes.push_back(between_in_words(comparison));
  }
  return notes;
}

namespace {

std::string written_json(const Comparison& comparison) {
  ordered_json cells = ordered_json::array();
  for (const ComparedCell& cell : comparison.cells) cells.push_back(json_of(cell));
  const ordered_json whole = {
      {"a", comparison.run_a.id.uuid},
      {"b", comparison.run_b.id.uuid},
      {"not_alike", differences(comparison.run_a, comparison.run_b)},
      {"machine_moved",
       comparison.machine_moved ? ordered_json(*comparison.machine_moved) : nullptr},
      {"shift_between", comparison.between.shift},
      {"spread_between", comparison.between.spread},
      {"only_in_a", comparison.only_in_a},
      {"only_in_b", comparison.only_in_b},
      {"cells", std::move(cells)}};
  // Infinite ends of an interval are null in JSON.
  return whole.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string write_comparison(const Comparison& comparison, TableFormat format) {
  if (format == TableFormat::json) return written_json(comparison);
  return write_sheet(format == TableFormat::csv ? sheet_for_programs(comparison)
                                                : sheet_for_people(comparison, format),
                     format);
}

}  // namespace attnscope::report
