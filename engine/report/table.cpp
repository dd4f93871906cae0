// SPDX-License-Identifier: Apache-2.0
#include "engine/report/table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "base/sentences.h"
#include "engine/heat/model_row.h"
#include "engine/report/measured_effectiveness.h"
#include "engine/report/provenance.h"
#include "engine/report/row.h"
#include "engine/report/row_values.h"
#include "engine/statistics/interval.h"

namespace attnscope::report {
namespace {

/// The ids that match `text`, in the run's order: by id, display name, or either without window.
std::vector<std::string> ids_named(const std::vector<StoredCell>& cells, std::string_view text,
                                   bool damaged = false) {
  std::vector<std::string> exact, loose;
  for (const StoredCell& cell : cells) {
    const Contender& contender = cell.cell.contender;
    if (cell.damaged != damaged) continue;
    if (contender.id() == text || contender.name == text) add_once(exact, contender.id());
    if (contender.id_without_window() == text || base_name(contender) == text)
      add_once(loose, contender.id());
  }
  return exact.empty() ? loose : exact;
}

Result<std::string> find_baseline(const std::vector<StoredCell>& cells, const RunInfo& run,
                                  std::string_view text) {
  const std::vector<std::string> named = ids_named(cells, text);
  if (named.size() == 1) return named.front();
  if (named.size() > 1) {
    return fail("--baseline: '{}' is several contenders of run {}; name one of {}", text,
                run.number, fmt::join(named, ", "));
  }
  if (!ids_named(cells, text, true).empty()) {
    return fail(
        "--baseline: every cell of '{}' in run {} is damaged, so the others cannot be "
        "compared with it; name another contender",
        text, run.number);
  }
  std::vector<std::string> ids;
  for (const StoredCell& cell : cells) add_once(ids, cell.cell.contender.id());
  if (ids.empty()) {
    return fail("--baseline: run {} has no finished heats, so there is no '{}' to compare with",
                run.number, text);
  }
  const std::vector<std::string_view> known(ids.begin(), ids.end());
  return fail("--baseline: run {} has no contender '{}'; {}", run.number, text,
              suggest(text, known));
}

/// The smallest limit over the ceilings measured on the cell's device; the smallest is used because
/// other programs may have slowed down a ceiling's measurement.
std::optional<double> limit_ms(const StoredCell& cell, const std::vector<Ceilings>& ceilings) {
  if (cell.damaged || has_narrow_products(cell.cell.contender.model)) return std::nullopt;
  std::vector<double> limits;
  for (const Ceilings& measurement : ceilings) {
    if (!are_ceilings_of(measurement, cell.point)) continue;
    const double limit = limit_ns(cell.cell.work, measurement, cell.point.cache, cell.point.dtype);
    if (std::isfinite(limit) && limit > 0) limits.push_back(limit / 1e6);
  }
  if (limits.empty()) return std::nullopt;
  return std::ranges::min(limits);
}

void add_ratios(std::vector<Row>& rows, const std::string& baseline) {
  std::map<std::pair<std::int64_t, std::string>, std::size_t> places;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].cell.cell.contender.id() != baseline) continue;
    places.emplace(std::pair(rows[i].cell.heat_number, point_key(rows[i].cell.point)), i);
  }
  for (Row& row : rows) {
    const auto place = places.find(std::pair(row.cell.heat_number, point_key(row.cell.point)));
    if (place != places.end()) row.ratio = ratio_between(row, rows[place->second]);
  }
}

/// The row of the same heat that drift is compared with.
const Row* alongside(const std::vector<Row>& rows, const Row& row,
                     const std::optional<std::string>& baseline) {
  const Row* first = nullptr;
  for (const Row& other : rows) {
    if (&other == &row || other.cell.heat_number != row.cell.heat_number || !is_measured(other) ||
        !(other.cell.point == row.cell.point)) {
      continue;
    }
    if (other.cell.cell.contender.id() == baseline) return &other;
    if (first == nullptr) first = &other;
  }
  return first;
}

void add_drift(std::vector<Row>& rows, const std::optional<std::string>& baseline) {
  for (Row& row : rows) {
    if (!is_measured(row)) continue;
    const auto ours = per_item(row.cell);
    row.drift = statistics::drift_of(ours);
    if (!row.drift.is_flagged) continue;
    if (const Row* other = alongside(rows, row, baseline)) {
      row.ratio_drifted = statistics::drift_of_ratio(ours, per_item(other->cell)).is_flagged;
    }
  }
}

bool matches(const Row& row, const std::map<std::string, std::set<std::string>>& wanted) {
  return std::ranges::all_of(wanted, [&](const auto& term) {
    const Axis* const axis = find_axis(term.first);
    if (axis != nullptr && axis->is_of_every_value(row.cell.point)) return true;
    return std::ranges::any_of(filter_words(row, term.first),
                               [&](const std::string& word) { return term.second.contains(word); });
  });
}

Status apply(const OnlyFilter& filter, const RunInfo& run, std::vector<Row>& rows) {
  std::map<std::string, std::set<std::string>> wanted;  // keys are joined by "and", values by "or"
  for (const auto& [key, value] : filter.terms) {
    if (std::ranges::find(filter_keys(), key) == filter_keys().end()) {
      return fail("--only: a table has no column '{}' to choose by; {}", key,
                  suggest(key, filter_keys()));
    }
    wanted[key].insert(value);
  }
  if (wanted.empty()) return {};
  std::vector<Row> kept;
  std::ranges::copy_if(rows, std::back_inserter(kept),
                       [&](const Row& row) { return matches(row, wanted); });
  if (kept.empty()) {
    std::string there_are;
    for (const auto& [key, values] : wanted) {
      std::vector<std::string> present;
      for (const Row& row : rows) add_once(present, filter_words(row, key).front());
      there_are +=
          fmt::format("{}{}: {}", there_are.empty() ? "" : "; ", key, fmt::join(present, ", "));
    }
    return fail("--only leaves no row of run {}, which has {}", run.number, there_are);
  }
  rows = std::move(kept);
  return {};
}

/// The key of rows on one line: one contender, all axes equal except the length.
std::string line_of(const Row& row) {
  HeatPoint point = row.cell.point;
  point.sequence_tokens = 0;
  return point_key(point) + " " + row.cell.cell.contender.id();
}

std::vector<statistics::Observation> per_token(const Row& row) {
  std::vector<statistics::Observation> observations = per_item(row.cell);
  for (statistics::Observation& observation : observations) {
    observation.time_ns /= static_cast<double>(row.cell.point.sequence_tokens);
  }
  return observations;
}

}  // namespace

Result<Table> make_table(const Store& store, const RunInfo& run,
                         std::optional<std::string_view> baseline, const OnlyFilter& filter) {
  Result<std::vector<StoredCell>> cells = store.cells(run.id, true);
  if (!cells) return tl::unexpected(cells.error());
  Result<std::vector<Ceilings>> ceilings = store.ceilings(run.id);
  if (!ceilings) return tl::unexpected(ceilings.error());
  Result<RunInfo> known_run = with_machines(store, run);
  if (!known_run) return tl::unexpected(known_run.error());
  // Ceilings are not stored per machine.
  if (are_unlike(machines_in(*known_run))) ceilings->clear();

  // Names come from user input; restrict them to one line.
  for (StoredCell& cell : *cells) {
    Contender& contender = cell.cell.contender;
    for (std::string* name :
         {&contender.pattern, &contender.implementation, &contender.name, &contender.model})
      *name = one_line(std::move(*name));
  }

  Table table{.run = std::move(*known_run), .rows = {}, .baseline = std::nullopt};
  if (baseline) {
    Result<std::string> id = find_baseline(*cells, run, *baseline);
    if (!id) return tl::unexpected(id.error());
    table.baseline = std::move(*id);
  }
  std::ranges::stable_sort(*cells, comes_before, &StoredCell::point);
  const RunEffectiveness effectiveness(run);
  std::map<std::string, std::shared_ptr<const MeasuredEffectiveness>> known;
  const auto effectiveness_of = [&](const std::string& id) {
    const auto [place, is_new] = known.try_emplace(id);
    if (!is_new) return place->second;
    if (auto own = effectiveness.of(id))
      place->second = std::make_shared<const MeasuredEffectiveness>(std::move(*own));
    return place->second;
  };
  for (StoredCell& cell : *cells) {
    Row row{.cell = std::move(cell)};
    row.limit_ms = limit_ms(row.cell, *ceilings);
    const double median_ms = row.cell.summary.median_ns / 1e6;
    if (row.limit_ms && is_measured(row) && median_ms > 0) {
      row.share_of_limit = *row.limit_ms / median_ms;
    }
    row.effectiveness = effectiveness_of(row.cell.cell.contender.id());
    table.rows.push_back(std::move(row));
  }
  table.ceilings = std::move(*ceilings);
  for (const Row& row : table.rows) add_once(table.contenders, row.cell.cell.contender.id());
  if (table.baseline) add_ratios(table.rows, *table.baseline);
  add_drift(table.rows, table.baseline);
  if (Status applied = apply(filter, run, table.rows); !applied) {
    return tl::unexpected(applied.error());
  }
  return table;
}

void add_growth(Table& table) {
  std::map<std::string, const Row*> shortest;
  for (const Row& row : table.rows) {
    if (!is_measured(row)) continue;
    const Row*& known = shortest[line_of(row)];
    if (known == nullptr || row.cell.point.sequence_tokens < known->cell.point.sequence_tokens) {
      known = &row;
    }
  }
  for (Row& row : table.rows) {
    row.growth.reset();
    if (!is_measured(row) || row.cell.point.document_lengths.is_drawn()) continue;
    const Row* const from = shortest.at(line_of(row));
    if (from == &row) {
      row.growth = statistics::Ratio{.ratio = 1, .low = 1, .high = 1};
      continue;
    }
    const statistics::Ratio ratio = statistics::unpaired_ratio(per_token(row), per_token(*from), {},
                                                               row.cell.basis, from->cell.basis);
    if (std::isfinite(ratio.ratio)) row.growth = ratio;
  }
  table.has_growth = true;
}

// A table as a Sheet: for people one block for each length, with the columns that any row fills;
// for programs every column of the contract; for LaTeX the form of the ECIR 2024 paper's Table 3,
// with contenders as columns, their window beneath, and one line each for time and memory per
// document.

namespace {

std::string joined(const std::string& a, const std::string& b) {
  return a.empty() || b.empty() ? a + b : fmt::format("{}; {}", a, b);
}

/// "-0.4/+0.5 %"
std::string ends_of(const statistics::Ratio& ratio) {
  return fmt::format("{:+.1f}/{:+.1f} %", (ratio.low - 1) * 100, (ratio.high - 1) * 100);
}

/// Both ends of an interval relative to its own value, in percent: "-0.4/+0.5 %".
std::string ends_in_percent(const statistics::Ratio& ratio) {
  if (!is_known(ratio)) return std::string(interval_too_wide);
  return ratio.low == ratio.high ? std::string() : ends_of(ratio);
}

std::string time_interval(const Row& row) {
  const statistics::Summary& time = row.cell.summary;
  if (!is_measured(row) || !(time.median_ns > 0)) return {};
  return ends_in_percent(relative_interval(time));
}

/// The interval of a ratio as a difference: it contains 0 if no difference is shown. Empty for a
/// row compared with itself.
std::string difference_interval(const std::optional<statistics::Ratio>& ratio) {
  if (!ratio || ratio->low == ratio->high) return {};
  return interval_in_words(*ratio);
}

std::string ratio_interval(const Row& row) {
  const std::string ends = difference_interval(row.ratio);
  return ends.empty() || row.ratio->paired ? ends : ends + " (unpaired)";
}

struct Field {
  std::string_view title;
  bool is_number;
  std::string (*text)(const Row& row);
};

constexpr std::array<Field, 13> fields{{
    {"contender", false, [](const Row& r) { return r.cell.cell.contender.name; }},
    {"batch", true,
     [](const Row& r) {
       return r.cell.cell.batch > 1 ? fmt::format("{}", r.cell.cell.batch) : std::string();
     }},
    {"time/doc", true,
     [](const Row& r) {
       return is_measured(r) ? format_time(ns_per_document(r)) : outcome_of(r).status;
     }},
    {"95 %", true, time_interval},
    {"", false, marks_of},
    {"mem/doc", true,
     [](const Row& r) {
       return is_measured(r) ? format_bytes(bytes_per_document(r)) : std::string();
     }},
    {"of limit", true,
     [](const Row& r) {
       if (!r.share_of_limit) return std::string();
       const std::string share = fmt::format("{} %", three_digits(100 * *r.share_of_limit));
       return is_implausible(r) && is_beyond_limit(r) ? "> limit: " + share : share;
     }},
    {"executed", true,
     [](const Row& r) {
       const std::optional<double> ratio = executed_ratio(r);
       return ratio ? format_times(*ratio) : std::string();
     }},
    {"vs base", true, against_baseline},
    {"95 % interval", true, ratio_interval},
    {"per 1k tokens", true,
     [](const Row& r) {
       const auto tokens = static_cast<double>(r.cell.point.sequence_tokens);
       return r.growth ? format_time(r.cell.summary.median_ns / items_of(r) / tokens * 1000)
                       : std::string();
     }},
    {"growth", true,
     [](const Row& r) { return r.growth ? format_relative(r.growth->ratio) : std::string(); }},
    {"95 % of growth", true, [](const Row& r) { return difference_interval(r.growth); }},
}};

constexpr std::size_t batch_field = 1;
constexpr std::size_t executed_field = 7;
static_assert(fields[batch_field].title == "batch" && fields[executed_field].title == "executed");

struct Line {
  const Row* row;
  std::array<std::string, fields.size()> text;
};

/// The lines of one point. A batch shared by all is only in the heading.
struct Block {
  std::string head;
  std::vector<Line> lines;
};

/// The rows of one point, starting at `begin`.
std::span<const Row> rows_of_point(std::span<const Row> rows, std::size_t begin) {
  std::size_t end = begin;
  while (end < rows.size() && rows[end].cell.point == rows[begin].cell.point) ++end;
  return rows.subspan(begin, end - begin);
}

Block block_of(std::span<const Row> rows, const std::vector<bool>& varying) {
  const StoredCell& first = rows.front().cell;
  Block block{words_of(first.point, varying, true), {}};
  for (const Row& row : rows) {
    Line& line = block.lines.emplace_back(Line{&row, {}});
    for (std::size_t f = 0; f < fields.size(); ++f) line.text[f] = fields[f].text(row);
  }
  const bool shared = std::ranges::all_of(rows, [&](const Row& row) {
    return row.cell.cell.batch == first.cell.batch || !is_measured(row);
  });
  if (shared) {
    if (first.cell.batch > 0) block.head += fmt::format(", batch {}", first.cell.batch);
    for (Line& line : block.lines) line.text[batch_field].clear();
  }
  return block;
}

std::string cell_in_words(const Row& row) {
  return fmt::format("{}, {} tokens", row.cell.cell.contender.name, row.cell.point.sequence_tokens);
}

/// A note and the rows it applies to.
struct Known {
  std::string sentence;
  std::vector<std::string> names;
};

/// ": drifted by +5.1 % over its heat"
std::string own_note(const Row& row, std::string_view word) {
  if (word.empty()) return {};
  for (const std::string& note : notes_on(row)) {
    if (note.find(word) != std::string::npos) return ": " + note;
  }
  return {};
}

struct Kind {
  bool (*holds)(const Row& row);
  std::string_view sentence;
  std::string_view word;  // in the row's own note, which follows its name if there are few rows
};
constexpr std::array<Kind, 7> kinds{{
    {[](const Row& r) { return is_measured(r) && r.drift.is_flagged; },
     "~: times that drifted during their heat", "drifted"},
    {is_disturbed,
     "!: disturbed, by other processes or by many outliers: close other programs and measure again",
     "disturbed"},
    {[](const Row& r) { return is_measured(r) && throttled_samples(r) > 0; },
     "partly throttled for heat or power", "throttled"},
    {[](const Row& r) { return is_measured(r) && has_unseen_memory(r.cell.cell.memory); },
     "memory outside the counted allocators", "its process grew"},
    {[](const Row& r) {
       return is_measured(r) && has_narrow_products(r.cell.cell.contender.model);
     },
     "no limit is given for products in fewer bits, whose ceilings are not measured", ""},
    {is_implausible,
     "?: implausible, and never the fastest of an answer: far shorter than the measured ceilings "
     "allow, or with far more processor time than its threads have",
     "processor time of"},
    {is_beyond_limit,
     "above 100 % of the limit: shorter than the measured ceilings allow, so the ceilings or the "
     "times are disturbed",
     ""},
}};

/// The references of the relative columns.
std::string relations_line(const Table& table) {
  return joined(table.baseline ? fmt::format("base: {}, per document", *table.baseline) : "",
                table.has_growth ? "growth: time per token against the shortest length" : "");
}

std::vector<bool> varying_besides_length(const Table& table) {
  std::vector<bool> varying = varying_axes(table.rows);
  varying[length_axis] = true;
  return varying;
}

std::string machine_of(const std::vector<Machine>& machines, const Row& row) {
  const auto found = std::ranges::find_if(machines, [&](const Machine& machine) {
    return machine.heats.contains(row.cell.heat_number);
  });
  return found == machines.end() ? "" : found->name;
}

Sheet sheet_for_programs(const Table& table) {
  Sheet sheet;
  const std::vector<Column> all = columns(table);
  for (const Column& column : all) sheet.columns.push_back({std::string(column.key), ""});
  const std::vector<Machine> machines = machines_in(table.run);
  if (!machines.empty()) sheet.columns.push_back({"machine", ""});
  sheet.columns.push_back({"run", ""});
  sheet.columns.push_back({"provenance", ""});
  const std::string provenance = provenance_line(table);
  for (const Row& row : table.rows) {
    std::vector<SheetCell> cells;
    cells.reserve(sheet.columns.size());
    for (const Column& column : all) cells.emplace_back(column.value(row));
    if (!machines.empty()) cells.emplace_back(machine_of(machines, row));
    cells.emplace_back(table.run.id.uuid);
    cells.emplace_back(provenance);
    sheet.add(std::move(cells));
  }
  return sheet;
}

/// Every contender once, in the order of the rows.
std::vector<const Contender*> contenders_of(const Table& table) {
  std::vector<const Contender*> contenders;
  for (const Row& row : table.rows) {
    const Contender& contender = row.cell.cell.contender;
    const auto is_it = [&](const Contender* known) { return known->id() == contender.id(); };
    if (std::ranges::none_of(contenders, is_it)) contenders.push_back(&contender);
  }
  return contenders;
}

/// All times of a table have one unit.
bool are_in_ms(const Table& table) {
  double least = std::numeric_limits<double>::infinity();
  for (const Row& row : table.rows)
    if (is_measured(row)) least = std::min(least, ns_per_document(row));
  return least >= 1e6 && std::isfinite(least);
}

/// A line of one point: the unit, then each contender's number or its status.
std::vector<SheetCell> paper_line(const Table& table, std::span<const Row> rows,
                                  const std::vector<const Contender*>& contenders, bool is_time,
                                  bool in_ms) {
  const auto value = is_time ? ns_per_document : bytes_per_document;
  const Row* baseline = nullptr;
  for (const Row& row : rows) {
    if (is_measured(row) && row.cell.cell.contender.id() == table.baseline) baseline = &row;
  }
  const double unit = is_time && !in_ms ? 1e3 : 1e6;
  std::vector<SheetCell> cells{is_time ? (in_ms ? "ms" : "µs") : "MB"};
  for (const Contender* contender : contenders) {
    SheetCell& cell = cells.emplace_back();
    const auto row = std::ranges::find(
        rows, contender->id(), [](const Row& listed) { return listed.cell.cell.contender.id(); });
    if (row == rows.end()) continue;
    if (!is_measured(*row)) {
      if (is_time) cell = outcome_of(*row).status;
      continue;
    }
    cell = three_digits(value(*row) / unit);
    if (is_time) cell.marks = marks_of(*row);
    cell.is_baseline = &*row == baseline;
    if (cell.is_baseline) continue;
    if (is_time) cell.difference = against_baseline(*row);
    if (!is_time && baseline != nullptr && bytes_per_document(*baseline) > 0)
      cell.difference = format_relative(bytes_per_document(*row) / bytes_per_document(*baseline));
  }
  return cells;
}

Sheet sheet_for_paper(const Table& table) {
  const std::vector<bool> varying = varying_besides_length(table);
  const std::string fixed =
      table.rows.empty() ? "" : words_of(table.rows.front().cell.point, varying, false);
  Sheet sheet{.frame = SheetFrame::floating,
              .above = {"Time and memory per document" + (fixed.empty() ? "" : " (" + fixed + ")") +
                        (table.baseline ? ". Relative differences to the baseline (underlined) are "
                                          "given in parentheses."
                                        : ".")},
              .columns = {{"", "", false}},
              .below = {provenance_line(table)}};
  const std::vector<const Contender*> contenders = contenders_of(table);
  std::vector<LatexHead> heads;
  for (const Contender* contender : contenders) {
    heads.push_back({base_name(*contender), contender->window ? contender->window->text() : ""});
    sheet.columns.push_back({"", heads.back().name});
  }
  sheet.latex_head = latex_head("", "Unit, ", heads);
  const bool in_ms = are_in_ms(table);
  const std::span<const Row> rows(table.rows);
  for (std::size_t begin = 0; begin < rows.size();) {
    const std::span<const Row> own = rows_of_point(rows, begin);
    SheetBlock& block = sheet.blocks.emplace_back();
    block.title = words_of(own.front().cell.point, varying, true);
    for (const bool is_time : {true, false})
      block.rows.push_back(paper_line(table, own, contenders, is_time, in_ms));
    begin += own.size();
  }
  sheet.notes = notes_with_intervals(all_rows(table.rows));
  return sheet;
}

/// "95 % intervals that are shown reach at most -2.1/+2.3 % around a time and -1.9/+2.4 % around a
/// ratio": covers the known intervals; unknown ones are marked in their cells.
std::string widest_intervals(const std::vector<const Row*>& rows) {
  statistics::Ratio times{.ratio = 1, .low = 1, .high = 1}, ratios = times;
  const auto reach = [](statistics::Ratio& widest, const statistics::Ratio& ratio) {
    if (!is_known(ratio)) return;
    widest.low = std::min(widest.low, ratio.low / ratio.ratio);
    widest.high = std::max(widest.high, ratio.high / ratio.ratio);
  };
  for (const Row* row : rows) {
    if (!is_measured(*row) || !(row->cell.summary.median_ns > 0)) continue;
    reach(times, relative_interval(row->cell.summary));
    if (row->ratio) reach(ratios, *row->ratio);
  }
  if (times.low == times.high) return {};
  return fmt::format(
      "95 % intervals that are shown reach at most {} around a time{}", ends_of(times),
      ratios.low == ratios.high ? "" : fmt::format(" and {} around a ratio", ends_of(ratios)));
}

}  // namespace

Sheet sheet_of(const Table& table) {
  const std::vector<bool> varying = varying_besides_length(table);
  Sheet sheet{.frame = SheetFrame::floating, .block_column = SheetColumn{"", "setting", false}};
  std::vector<Block> blocks;
  for (std::size_t begin = 0; begin < table.rows.size();) {
    blocks.push_back(block_of(rows_of_point(table.rows, begin), varying));
    begin += blocks.back().lines.size();
  }
  const auto any_line = [&blocks](auto&& holds) {
    return std::ranges::any_of(
        blocks, [&](const Block& block) { return std::ranges::any_of(block.lines, holds); });
  };
  std::vector<std::size_t> shown;
  for (std::size_t f = 0; f < fields.size(); ++f) {
    const bool is_informative_field = any_line([f](const Line& line) {
      // A column in which every contender executes exactly the useful work is omitted.
      return !line.text[f].empty() && (f != executed_field || line.text[f] != format_times(1));
    });
    if (!is_informative_field) continue;
    shown.push_back(f);
    sheet.columns.push_back(
        {"", std::string(fields[f].title), fields[f].is_number, f == executed_field});
  }
  for (Block& block : blocks) {
    SheetBlock& lines = sheet.blocks.emplace_back();
    lines.title = block.head;
    for (Line& line : block.lines) {
      std::vector<SheetCell>& cells = lines.rows.emplace_back();
      for (const std::size_t f : shown) cells.emplace_back(std::move(line.text[f]));
    }
  }
  if (!table.rows.empty()) {
    sheet.above = {
        joined(words_of(table.rows.front().cell.point, varying, false), relations_line(table))};
    sheet.notes = notes_below(all_rows(table.rows));
    sheet.below = {provenance_line(table)};
  } else {
    sheet.above = {provenance_line(table), "No heat of this run is finished yet."};
  }
  return sheet;
}

std::vector<std::string> notes_below(const std::vector<const Row*>& rows) {
  constexpr std::size_t few = 3;
  std::vector<Known> all;
  for (const Row* row : rows) {
    const Outcome outcome = outcome_of(*row);
    if (is_measured(*row) || outcome.reason.empty()) continue;
    std::string sentence = fmt::format("{}: {}", outcome.status, outcome.reason);
    auto known = std::ranges::find(all, sentence, &Known::sentence);
    if (known == all.end()) known = all.insert(all.end(), {std::move(sentence), {}});
    known->names.push_back(cell_in_words(*row));
  }
  for (const Kind& kind : kinds) {
    Known known{std::string(kind.sentence), {}};
    for (const Row* row : rows) {
      if (kind.holds(*row)) known.names.push_back(cell_in_words(*row) + own_note(*row, kind.word));
    }
    if (!known.names.empty()) all.push_back(std::move(known));
  }
  std::vector<std::string> notes;
  notes.reserve(all.size());
  constexpr std::size_t longest_list = 400;  // characters
  for (const auto& [sentence, names] : all) {
    const std::string list = fmt::format("{}", fmt::join(names, "; "));
    notes.push_back(names.size() <= few && list.size() <= longest_list
                        ? fmt::format("{} ({})", sentence, list)
                        : fmt::format("{} ({} cells)", sentence, names.size()));
  }
  return notes;
}

std::vector<std::string> notes_with_intervals(const std::vector<const Row*>& rows) {
  std::vector<std::string> notes = notes_below(rows);
  std::string widest = widest_intervals(rows);
  if (!widest.empty()) notes.push_back(std::move(widest));
  return notes;
}

std::string write_table(const Table& table, TableFormat format) {
  if (is_for_programs(format)) return write_sheet(sheet_for_programs(table), format);
  if (format == TableFormat::latex) return write_sheet(sheet_for_paper(table), format);
  return write_sheet(sheet_of(table), format);
}

}  // namespace attnscope::report
