// SPDX-License-Identifier: Apache-2.0
#include "engine/report/pivot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <span>

#include "base/sentences.h"
#include "engine/report/measured_effectiveness.h"
#include "engine/report/number_text.h"
#include "engine/report/row.h"
#include "engine/report/row_values.h"
#include "engine/report/slice.h"

namespace attnscope::report {
namespace {

constexpr std::array<std::string_view, 8> quantity_names{
    "time", "memory", "ratio", "limit", "error", "executed", "per-ms", "effectiveness"};

struct Words {
  std::string_view brief, full;
};
constexpr std::array<Words, 8> quantity_words{{
    {"time/doc", "time per document"},
    {"mem/doc", "memory per document"},
    {"vs base", "time against the baseline's"},
    {"of limit", "share of the machine's limit"},
    {"error", "error against the float64 reference"},
    {"executed", "executed products / useful products"},
    {"docs/ms", "documents per millisecond"},
    {"worth", "effectiveness measured with the run († equivalent to its baseline)"},
}};

const Words& names_of(Quantity quantity) {
  return quantity_words[static_cast<std::size_t>(quantity)];
}

constexpr std::string_view contender_key = "contender";

/// For a contender "sparse/segment/4", or "sparse/segment" for all its windows.
std::string value_of(const Row& row, std::string_view key, bool without_window) {
  if (key != contender_key) return filter_words(row, key).front();
  const Contender& contender = row.cell.cell.contender;
  return without_window ? contender.id_without_window() : contender.id();
}

PivotHead head_of(const Table& table, const Row& row, std::string_view key, bool without_window) {
  PivotHead head{
      .value = value_of(row, key, without_window), .words = {}, .contender = {}, .window = {}};
  const Contender& contender = row.cell.cell.contender;
  if (key == contender_key) {
    head.contender = base_name(contender);
    if (!without_window && contender.window) head.window = contender.window->text();
    head.words = without_window ? head.contender : contender.name;
    head.is_baseline = table.baseline && contender.id() == *table.baseline;
    return head;
  }
  head.words = value_in_words(row, key);
  return head;
}

/// Each value once, in the order of slices.
std::vector<PivotHead> heads_of(const Table& table, const std::vector<std::size_t>& rows,
                                std::string_view key, bool without_window) {
  std::vector<PivotHead> heads;
  std::vector<std::string> values;
  for (const std::size_t at : rows) {
    const Row& row = table.rows[at];
    std::string value = value_of(row, key, without_window);
    const auto known = std::ranges::find(heads, value, &PivotHead::value);
    if (known != heads.end()) {
      // A contender with several windows is the baseline if one of its windows is.
      known->is_baseline = known->is_baseline || head_of(table, row, key, false).is_baseline;
      continue;
    }
    heads.push_back(head_of(table, row, key, without_window));
    values.push_back(std::move(value));
  }
  order_values(values);
  std::ranges::stable_sort(heads, {}, [&](const PivotHead& head) {
    return std::ranges::find(values, head.value) - values.begin();
  });
  return heads;
}

/// What distinguishes the contenders of a block from those of others, besides the two keys.
std::string contender_remainder(const Row& row, const PivotChoice& choice) {
  const Contender& contender = row.cell.cell.contender;
  const auto is_drawn = [&](std::string_view key) {
    return choice.rows == key || choice.columns == key;
  };
  if (is_drawn(contender_key) || is_drawn("name")) return {};
  std::string words;
  const auto add = [&](const std::string& word) {
    if (!word.empty()) words += (words.empty() ? "" : "/") + word;
  };
  if (!contender.model.empty()) {
    if (!is_drawn("model")) add(contender.model);
  } else if (!is_drawn("pattern")) {
    add(contender.pattern);
  }
  if (!is_drawn("implementation")) add(contender.implementation);
  if (!is_drawn(window_key) && contender.window) add("w = " + contender.window->text());
  return words;
}

std::string time_text(const PivotCell& cell) {
  return format_time(*cell.value) + (cell.marks.empty() ? "" : " " + cell.marks);
}

PivotCell time_cell(const Row& row) {
  PivotCell cell;
  cell.value = ns_per_document(row);
  cell.marks = marks_of(row);
  cell.text = time_text(cell);
  if (!row.ratio) return cell;
  cell.ratio = row.ratio;
  cell.difference = difference_in_words(*row.ratio);
  cell.text += fmt::format(" ({})", cell.difference);
  return cell;
}

PivotCell memory_cell(const Row& row, const Row* baseline) {
  PivotCell cell;
  cell.value = bytes_per_document(row);
  cell.text = format_bytes(*cell.value);
  if (baseline == nullptr || !is_measured(*baseline) || !(bytes_per_document(*baseline) > 0))
    return cell;
  cell.memory_ratio = bytes_per_document(row) / bytes_per_document(*baseline);
  cell.difference = format_relative(*cell.memory_ratio);
  cell.text += fmt::format(" ({})", cell.difference);
  return cell;
}

PivotCell bare_cell(std::optional<double> value, const std::string& text) {
  PivotCell cell;
  cell.value = value;
  if (value) cell.text = text;
  return cell;
}

PivotCell measured_cell(const Row& row, const Row* baseline, Quantity quantity) {
  switch (quantity) {
    case Quantity::time:
      return time_cell(row);
    case Quantity::memory:
      return memory_cell(row, baseline);
    case Quantity::ratio: {
      if (!row.ratio) return {};
      PivotCell cell = bare_cell(row.ratio->ratio, difference_in_words(*row.ratio) +
                                                       (row.ratio->paired ? "" : " (unpaired)"));
      cell.ratio = row.ratio;
      return cell;
    }
    case Quantity::limit:
      return bare_cell(
          row.share_of_limit,
          row.share_of_limit ? fmt::format("{} %", three_digits(100 * *row.share_of_limit)) : "");
    case Quantity::error: {
      const auto& error = row.cell.cell.relative_error;
      return bare_cell(error, error ? fmt::format("{:.1e}", *error) : "");
    }
    case Quantity::per_ms: {
      const double rate = 1e6 / ns_per_document(row);
      PivotCell cell = bare_cell(rate, three_digits(rate));
      cell.marks = marks_of(row);
      cell.text += cell.marks;
      return cell;
    }
    case Quantity::effectiveness: {
      if (!row.effectiveness) return {};
      const MeasuredEffectiveness& own = *row.effectiveness;
      PivotCell cell = bare_cell(own.mean, fmt::format("{} {:.4f}", own.measure, own.mean));
      if (own.tests && own.tests->equivalent) cell.marks = "†";
      cell.text += cell.marks;
      return cell;
    }
    case Quantity::executed:
      break;
  }
  const std::optional<double> executed = executed_ratio(row);
  return bare_cell(executed, executed ? format_times(*executed) : "");
}

/// The baseline's own cell shows only its number.
void strip_comparison(PivotCell& cell, const Row& row, Quantity quantity) {
  cell.is_baseline = true;
  cell.ratio.reset();
  cell.memory_ratio.reset();
  cell.difference.clear();
  if (quantity == Quantity::ratio) cell.text = "baseline";
  if (quantity == Quantity::time) cell.text = time_text(cell);
  if (quantity == Quantity::memory) cell.text = format_bytes(bytes_per_document(row));
}

/// The baseline's row of each heat.
using Baselines = std::map<std::pair<std::int64_t, std::string>, const Row*>;

Baselines baselines_of(const Table& table) {
  Baselines baselines;
  if (!table.baseline) return baselines;
  for (const Row& row : table.rows) {
    if (row.cell.cell.contender.id() != *table.baseline) continue;
    baselines.emplace(std::pair(row.cell.heat_number, point_key(row.cell.point)), &row);
  }
  return baselines;
}

PivotCell cell_of(const Row& row, const Row* baseline, Quantity quantity) {
  // Executed work is known for every planned cell, and the error for cells with wrong results.
  const bool known = quantity == Quantity::executed || quantity == Quantity::effectiveness ||
                     (quantity == Quantity::error && row.cell.cell.relative_error);
  if (row.cell.damaged || (!is_measured(row) && !known)) {
    PivotCell cell;
    cell.text = outcome_of(row).status;
    return cell;
  }
  PivotCell cell = measured_cell(row, baseline, quantity);
  if (&row == baseline && is_measured(row)) strip_comparison(cell, row, quantity);
  return cell;
}

/// The values of a row that the two keys do not determine, in words.
class Rest {
 public:
  Rest(const Table& table, const std::vector<std::size_t>& rows, const PivotChoice& choice)
      : choice_(choice), left_open_(axes_of({}).size(), false) {
    const std::vector<AxisValue> all = axes_of({});
    std::vector<AxisValue> first;
    for (const std::size_t at : rows) {
      const std::vector<AxisValue> axes = axes_of(table.rows[at].cell.point);
      if (first.empty()) first = axes;
      for (std::size_t i = 0; i < axes.size(); ++i) {
        if (axes[i].value != first[i].value && !is_drawn(all[i].key)) left_open_[i] = true;
      }
      const std::string remainder = contender_remainder(table.rows[at], choice);
      if (at == rows.front()) remainder_ = remainder;
      if (remainder != remainder_) contenders_differ_ = true;
    }
  }
  /// The title of a row's block: the setting in the table's order, then the contender.
  [[nodiscard]] std::string of(const Row& row) const {
    std::string words = words_of(row.cell.point, left_open_, true);
    if (!contenders_differ_) return words;
    const std::string remainder = contender_remainder(row, choice_);
    return words.empty() || remainder.empty() ? words + remainder : words + ", " + remainder;
  }
  [[nodiscard]] std::string title(const Row& row) const {
    std::vector<bool> named = left_open_;
    const std::vector<AxisValue> all = axes_of({});
    for (std::size_t i = 0; i < all.size(); ++i) named[i] = named[i] || is_drawn(all[i].key);
    return words_of(row.cell.point, named, false);
  }

 private:
  [[nodiscard]] bool is_drawn(std::string_view key) const {
    if (key == choice_.rows || key == choice_.columns) return true;
    const auto stands_for = [&](std::string_view drawn) {
      // document_tokens determines the length, and batch the batch's limit.
      return (key == "sequence_tokens" && drawn == "document_tokens") ||
             (key == "batch_max" && drawn == "batch");
    };
    return stands_for(choice_.rows) || stands_for(choice_.columns);
  }

  const PivotChoice& choice_;
  std::vector<bool> left_open_;
  std::string remainder_;
  bool contenders_differ_ = false;
};

std::size_t place_of(const std::vector<PivotHead>& heads, const std::string& value) {
  return static_cast<std::size_t>(std::ranges::find(heads, value, &PivotHead::value) -
                                  heads.begin());
}

/// Rows of the table by their position in a block's grid. If two rows share a position, the first
/// is used.
struct Grid {
  std::string words;
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> rows;
};

std::vector<Grid> grids_of(const Table& table, const std::vector<std::size_t>& rows,
                           const Pivot& pivot, const Rest& rest, bool window_apart) {
  std::vector<Grid> grids;
  for (const std::size_t at : rows) {
    const Row& row = table.rows[at];
    const std::string words = rest.of(row);
    auto grid = std::ranges::find(grids, words, &Grid::words);
    if (grid == grids.end()) grid = grids.insert(grids.end(), Grid{words, {}});
    grid->rows.emplace(
        std::pair(place_of(pivot.rows, value_of(row, pivot.choice.rows, window_apart)),
                  place_of(pivot.columns, value_of(row, pivot.choice.columns, window_apart))),
        at);
  }
  return grids;
}

PivotBlock block_of(const Table& table, const Grid& grid, const Pivot& pivot,
                    const Baselines& baselines) {
  PivotBlock block{.words = grid.words, .lines = {}};
  for (std::size_t head = 0; head < pivot.rows.size(); ++head) {
    const auto begin = grid.rows.lower_bound({head, 0});
    if (begin == grid.rows.end() || begin->first.first != head) continue;
    for (const Quantity quantity : pivot.choice.cells) {
      PivotLine line{.head = head, .quantity = quantity, .cells = {}};
      line.cells.resize(pivot.columns.size());
      for (auto at = begin; at != grid.rows.end() && at->first.first == head; ++at) {
        const Row& row = table.rows[at->second];
        const auto baseline =
            baselines.find(std::pair(row.cell.heat_number, point_key(row.cell.point)));
        PivotCell cell =
            cell_of(row, baseline == baselines.end() ? nullptr : baseline->second, quantity);
        cell.row = at->second;
        line.cells[at->first.second] = std::move(cell);
      }
      block.lines.push_back(std::move(line));
    }
  }
  return block;
}

}  // namespace

std::string_view name_of(Quantity quantity) {
  return quantity_names[static_cast<std::size_t>(quantity)];
}

Result<std::vector<Quantity>> parse_quantities(std::string_view text) {
  std::vector<Quantity> quantities;
  for (;;) {
    const std::size_t comma = text.find(',');
    const std::string_view word = text.substr(0, comma);
    const auto found = std::ranges::find(quantity_names, word);
    if (found == quantity_names.end()) {
      return fail("--cells: there is no quantity '{}'; {}", in_a_sentence(word),
                  suggest(in_a_sentence(word), quantity_names));
    }
    const auto quantity = static_cast<Quantity>(found - quantity_names.begin());
    if (std::ranges::find(quantities, quantity) == quantities.end()) quantities.push_back(quantity);
    if (comma == std::string_view::npos) return quantities;
    text.remove_prefix(comma + 1);
  }
}

Result<std::string> parse_pivot_key(std::string_view option, std::string_view text) {
  if (text == "length") return std::string("sequence_tokens");
  if (std::ranges::find(filter_keys(), text) != filter_keys().end()) return std::string(text);
  return fail("{}: there is no key '{}'; {}", option, in_a_sentence(text),
              suggest(in_a_sentence(text), filter_keys()));
}

std::string_view short_name(Quantity quantity) {
  return names_of(quantity).brief;
}

std::string head_words(const PivotHead& head) {
  return head.is_baseline ? head.words + " (baseline)" : head.words;
}

Result<Pivot> make_pivot(const Table& table, const PivotChoice& choice,
                         const std::function<bool(const Row&)>& keeps) {
  if (choice.rows == choice.columns) {
    return fail("rows and columns are both '{}'; choose another key for one of them", choice.rows);
  }
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    if (!keeps || keeps(table.rows[i])) rows.push_back(i);
  }
  Pivot pivot{.choice = choice, .title = {}, .rows = {}, .columns = {}, .blocks = {}};
  if (rows.empty()) return pivot;
  const bool window_apart = choice.rows == window_key || choice.columns == window_key;
  pivot.rows = heads_of(table, rows, choice.rows, window_apart);
  pivot.columns = heads_of(table, rows, choice.columns, window_apart);
  const Rest rest(table, rows, pivot.choice);
  pivot.title = rest.title(table.rows[rows.front()]);
  const Baselines baselines = baselines_of(table);
  for (const Grid& grid : grids_of(table, rows, pivot, rest, window_apart)) {
    pivot.blocks.push_back(block_of(table, grid, pivot, baselines));
  }
  return pivot;
}

// A pivot as a Sheet. In LaTeX it has the style of the ECIR 2024 paper's Table 3: the baseline
// underlined, the others' relative difference in parentheses, a rule and a heading before each
// block. Numbers to be compared have one unit there.

namespace {

bool has_several(const Pivot& pivot) {
  return pivot.choice.cells.size() > 1;
}

/// Calls `each` with every line and whether the previous line belongs to the same row.
void for_each_line(const PivotBlock& block, auto&& each) {
  const PivotLine* before = nullptr;
  for (const PivotLine& line : block.lines) {
    each(line, before != nullptr && before->head == line.head);
    before = &line;
  }
}

/// "time per document, in parentheses the difference to full/dense"; for all quantities shown.
std::string quantities_in_words(const Table& table, const Pivot& pivot) {
  std::string text;
  bool in_parentheses = false, of_baseline = false;
  for (const Quantity quantity : pivot.choice.cells) {
    text += (text.empty() ? "" : ", ") + std::string(names_of(quantity).full);
    if (quantity == Quantity::time || quantity == Quantity::memory) in_parentheses = true;
    if (quantity == Quantity::ratio) of_baseline = true;
  }
  if (!table.baseline) return text;
  if (in_parentheses) return text + ", in parentheses the difference to " + *table.baseline;
  return of_baseline ? text + ", " + *table.baseline : text;
}

/// The table's rows that the pivot shows, in its order, each once.
std::vector<const Row*> rows_shown(const Table& table, const Pivot& pivot) {
  std::vector<const Row*> rows;
  std::set<std::size_t> seen;
  for (const PivotBlock& block : pivot.blocks) {
    for (const PivotLine& line : block.lines) {
      for (const PivotCell& cell : line.cells) {
        if (cell.row && seen.insert(*cell.row).second) rows.push_back(&table.rows[*cell.row]);
      }
    }
  }
  return rows;
}

std::vector<std::string> notes_of(const Table& table, const Pivot& pivot) {
  const bool has_time = std::ranges::any_of(pivot.choice.cells, [](Quantity quantity) {
    return quantity == Quantity::time || quantity == Quantity::ratio;
  });
  const std::vector<const Row*> rows = rows_shown(table, pivot);
  return has_time ? notes_with_intervals(rows) : notes_below(rows);
}

Sheet sheet_for_people(const Table& table, const Pivot& pivot, bool is_text) {
  const std::string quantities = quantities_in_words(table, pivot);
  const std::string between = pivot.title.empty() || quantities.empty() ? "" : "; ";
  Sheet sheet{.frame = SheetFrame::floating,
              .above = {pivot.title + between + quantities},
              .columns = {{"", axis_name(pivot.choice.rows), false}},
              .notes = notes_of(table, pivot),
              .below = {provenance_line(table)}};
  if (has_several(pivot)) sheet.columns.push_back({"", "", false});
  sheet.labels = sheet.columns.size();
  for (const PivotHead& column : pivot.columns) sheet.columns.push_back({"", head_words(column)});
  if (pivot.blocks.size() > 1 && !is_text) sheet.block_column = SheetColumn{"", "Setting", false};
  for (const PivotBlock& block : pivot.blocks) {
    SheetBlock& lines = sheet.blocks.emplace_back();
    lines.title = block.words;
    for_each_line(block, [&](const PivotLine& line, bool again) {
      std::vector<SheetCell>& cells = lines.rows.emplace_back();
      cells.emplace_back(again ? "" : head_words(pivot.rows[line.head]));
      if (has_several(pivot)) cells.emplace_back(std::string(short_name(line.quantity)));
      for (const PivotCell& cell : line.cells) {
        cells.emplace_back(cell.text);
        cells.back().is_baseline = cell.is_baseline;
      }
    });
  }
  return sheet;
}

/// One value of a row, named like the table's column for it.
struct Named {
  std::string_view key;
  Value value;
};

std::vector<Named> values_of(const PivotCell& cell, Quantity quantity) {
  const auto number = [](const std::optional<double>& value) {
    return value ? Value(*value) : Value();
  };
  const Value ratio = cell.ratio ? Value(cell.ratio->ratio) : Value(),
              verdict = cell.ratio ? Value(std::string(verdict_in_words(*cell.ratio))) : Value();
  switch (quantity) {
    case Quantity::time:
      return {{"ms_per_document", cell.value ? Value(*cell.value / 1e6) : Value()},
              {"ratio", ratio},
              {"verdict", verdict}};
    case Quantity::memory:
      return {{"peak_bytes_per_document", number(cell.value)},
              {"peak_bytes_ratio", number(cell.memory_ratio)}};
    case Quantity::ratio:
      return {{"ratio", number(cell.value)}, {"verdict", verdict}};
    case Quantity::limit:
      return {{"share_of_limit", number(cell.value)}};
    case Quantity::error:
      return {{"relative_error", number(cell.value)}};
    case Quantity::per_ms:
      return {{"documents_per_ms", number(cell.value)}};
    case Quantity::effectiveness:
      return {{"effectiveness", number(cell.value)}};
    case Quantity::executed:
      break;
  }
  return {{"executed_ratio", number(cell.value)}};
}

/// The pivot's own grid, with one line for each number of a quantity: its value, and its comparison
/// with the baseline.
Sheet grid_of_numbers(const Table& table, const Pivot& pivot) {
  Sheet sheet{.columns = {{pivot.choice.rows, ""}, {"quantity", ""}},
              .block_column = SheetColumn{"setting", ""}};
  for (const PivotHead& column : pivot.columns) sheet.columns.push_back({column.value, ""});
  sheet.columns.push_back({"run", ""});
  sheet.columns.push_back({"provenance", ""});
  const std::string provenance = provenance_line(table);
  for (const PivotBlock& block : pivot.blocks) {
    SheetBlock& lines = sheet.blocks.emplace_back();
    lines.title = block.words;
    for (const PivotLine& line : block.lines) {
      const std::vector<Named> names = values_of({}, line.quantity);
      // Without a baseline there is only the quantity's own value.
      const std::size_t count = table.baseline ? names.size() : 1;
      for (std::size_t i = 0; i < count; ++i) {
        std::vector<SheetCell>& cells = lines.rows.emplace_back();
        cells.emplace_back(pivot.rows[line.head].value);
        cells.emplace_back(std::string(names[i].key));
        for (const PivotCell& cell : line.cells) {
          const Value value = values_of(cell, line.quantity)[i].value;
          // A missing number is replaced by its reason.
          const bool gives_reason =
              std::holds_alternative<std::monostate>(value) && i == 0 && !cell.is_baseline;
          cells.emplace_back(gives_reason ? Value(cell.text) : value);
        }
        cells.emplace_back(table.run.id.uuid);
        cells.emplace_back(provenance);
      }
    }
  }
  return sheet;
}

/// One object for each cell, with all its quantities.
Sheet list_of_cells(const Table& table, const Pivot& pivot) {
  Sheet sheet{
      .columns = {
          {"setting", ""}, {pivot.choice.rows, ""}, {pivot.choice.columns, ""}, {"status", ""}}};
  const std::size_t quantities = pivot.choice.cells.size();
  for (const Quantity quantity : pivot.choice.cells) {
    for (const Named& named : values_of({}, quantity))
      sheet.columns.push_back({std::string(named.key), ""});
  }
  sheet.columns.push_back({"run", ""});
  sheet.columns.push_back({"provenance", ""});
  const std::string provenance = provenance_line(table);
  for (const PivotBlock& block : pivot.blocks) {
    for (std::size_t first = 0; first < block.lines.size(); first += quantities) {
      for (std::size_t column = 0; column < pivot.columns.size(); ++column) {
        const PivotCell& any = block.lines[first].cells[column];
        if (!any.row) continue;
        std::vector<SheetCell> cells{block.words, pivot.rows[block.lines[first].head].value,
                                     pivot.columns[column].value,
                                     outcome_of(table.rows[*any.row]).status};
        for (std::size_t q = 0; q < quantities; ++q) {
          const PivotLine& line = block.lines[first + q];
          for (Named& named : values_of(line.cells[column], line.quantity))
            cells.emplace_back(std::move(named.value));
        }
        cells.emplace_back(table.run.id.uuid);
        cells.emplace_back(provenance);
        sheet.add(std::move(cells));
      }
    }
  }
  return sheet;
}

struct SharedUnit {
  std::string_view name;
  double size;  // in ns, bytes or the quantity's own unit
};

/// The smallest time, which determines the common unit.
double least_time(const Pivot& pivot) {
  double least = std::numeric_limits<double>::infinity();
  for (const PivotBlock& block : pivot.blocks) {
    for (const PivotLine& line : block.lines) {
      if (line.quantity != Quantity::time) continue;
      for (const PivotCell& cell : line.cells) least = std::min(least, cell.value.value_or(least));
    }
  }
  return least;
}

SharedUnit unit_of(const Pivot& pivot, const PivotLine& line) {
  switch (line.quantity) {
    case Quantity::time: {
      const double least = least_time(pivot);
      return least >= 1e6 && std::isfinite(least) ? SharedUnit{"ms", 1e6} : SharedUnit{"µs", 1e3};
    }
    case Quantity::memory:
      return {"MB", 1e6};
    case Quantity::limit:
      return {"%", 0.01};
    case Quantity::executed:
      return {"×", 1};
    default:
      return {"", 1};
  }
}

SheetCell paper_cell(const PivotCell& cell, Quantity quantity, const SharedUnit& unit) {
  SheetCell result;
  if (!cell.value) {
    result = cell.text;
  } else if (quantity == Quantity::error) {
    result = fmt::format("{:.1e}", *cell.value);
  } else if (quantity == Quantity::ratio) {
    result = cell.is_baseline ? "1" : cell.text;
  } else {
    result = three_digits(*cell.value / unit.size);
    result.difference = cell.difference;
    result.marks = cell.marks;
  }
  result.is_baseline = cell.value && cell.is_baseline && quantity != Quantity::error;
  return result;
}

std::string caption_of(const Table& table, const Pivot& pivot) {
  std::string text = quantities_in_words(table, pivot);
  // The caption explains parentheses and underlines once, like the paper's.
  if (const std::size_t comma = text.find(", in parentheses"); comma != std::string::npos)
    text.resize(comma);
  if (!text.empty()) text[0] = static_cast<char>(std::toupper(text[0]));
  if (!has_several(pivot)) {
    PivotLine any;
    any.quantity = pivot.choice.cells.front();
    if (const SharedUnit unit = unit_of(pivot, any); !unit.name.empty())
      text += fmt::format(", in {}", unit.name);
  }
  if (!pivot.title.empty()) text += fmt::format(" ({})", pivot.title);
  text += ".";
  if (table.baseline)
    text += " Relative differences to the baseline (underlined) are given in parentheses.";
  return text;
}

Sheet sheet_for_paper(const Table& table, const Pivot& pivot) {
  const bool several = has_several(pivot);
  Sheet sheet{.frame = SheetFrame::floating,
              .above = {caption_of(table, pivot)},
              .columns = {{"", "", false}},
              .notes = notes_of(table, pivot),
              .below = {provenance_line(table)}};
  if (several) sheet.columns.push_back({"", "", false});
  std::string label = latex_escaped(axis_name(pivot.choice.rows)) + (several ? " & Unit" : "");
  std::vector<LatexHead> heads;
  for (const PivotHead& head : pivot.columns) {
    heads.push_back({head.contender, head.window});
    sheet.columns.push_back({"", head.words});
    const std::string words = latex_escaped(head.words);
    if (pivot.choice.columns != "contender")
      label += " & " + (head.is_baseline ? fmt::format("\\underline{{{}}}", words) : words);
  }
  sheet.latex_head = pivot.choice.columns == "contender"
                         ? latex_head(label, several ? " & " : "", heads)
                         : label + " \\\\\n";
  for (const PivotBlock& block : pivot.blocks) {
    SheetBlock& lines = sheet.blocks.emplace_back();
    lines.title = block.words;
    for_each_line(block, [&](const PivotLine& line, bool again) {
      const SharedUnit unit = unit_of(pivot, line);
      std::vector<SheetCell>& cells = lines.rows.emplace_back();
      const PivotHead& head = pivot.rows[line.head];
      cells.emplace_back(again ? "" : head.words);
      cells.back().is_baseline = !again && head.is_baseline;
      if (several) cells.emplace_back(std::string(unit.name));
      for (const PivotCell& cell : line.cells)
        cells.push_back(paper_cell(cell, line.quantity, unit));
    });
  }
  return sheet;
}

}  // namespace

std::string write_pivot(const Table& table, const Pivot& pivot, TableFormat format) {
  switch (format) {
    case TableFormat::csv:
      return write_sheet(grid_of_numbers(table, pivot), format);
    case TableFormat::json:
      return write_sheet(list_of_cells(table, pivot), format);
    case TableFormat::latex:
      return write_sheet(sheet_for_paper(table, pivot), format);
    default:
      return write_sheet(sheet_for_people(table, pivot, format == TableFormat::text), format);
  }
}

}  // namespace attnscope::report
