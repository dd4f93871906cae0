// SPDX-License-Identifier: Apache-2.0
#include "engine/report/run_history.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "base/sentences.h"
#include "engine/report/compare.h"
#include "engine/report/number_text.h"
#include "engine/report/provenance.h"
#include "engine/report/row.h"
#include "engine/report/row_values.h"

namespace attnscope::report {
namespace {

using nlohmann::json;
using statistics::Verdict;

constexpr std::string_view modified_mark = " (modified)";

std::string identity_of(const StoredCell& cell) {
  return point_key(cell.point) + " " + cell.cell.contender.id();
}

std::string commit_of(const RunInfo& run) {
  const json provenance = provenance_of(run);
  for (const std::string_view program : {"build", "driver"}) {
    const json commit = provenance_at(provenance, fmt::format("/{}/commit", program));
    if (!commit.is_string() || commit == "unknown") continue;  // built without git
    const bool modified = provenance_at(provenance, fmt::format("/{}/dirty", program)) == true;
    return one_line(commit.get<std::string>().substr(0, 10)) +
           std::string(modified ? modified_mark : "");
  }
  return {};
}

/// The ratios of two runs' cells; each pair of runs is compared on first use.
class RatiosBetween {
 public:
  explicit RatiosBetween(std::span<const StoredTable> runs) : runs_(runs) {}

  /// The time of run `to` over that of run `from`; empty if either has no time.
  [[nodiscard]] Result<std::optional<statistics::Ratio>> of(std::size_t from, std::size_t to,
                                                            const std::string& cell) {
    auto known = known_.find({from, to});
    if (known == known_.end()) {
      const auto comparison = compare_runs(*runs_[from].store, runs_[from].table->run,
                                           *runs_[to].store, runs_[to].table->run);
      if (!comparison) return tl::unexpected(comparison.error());
      known = known_.try_emplace({from, to}).first;
      for (const ComparedCell& compared : comparison->cells) {
        if (compared.ratio) known->second.emplace(identity_of(compared.a.cell), *compared.ratio);
      }
    }
    const auto ratio = known->second.find(cell);
    if (ratio == known->second.end()) return std::nullopt;
    return ratio->second;
  }

 private:
  std::span<const StoredTable> runs_;
  std::map<std::pair<std::size_t, std::size_t>, std::map<std::string, statistics::Ratio>> known_;
};

bool is_change(const std::optional<statistics::Ratio>& ratio) {
  return ratio && ratio->verdict != Verdict::no_difference_shown;
}

/// Each run is compared with the first run of the current level; if it differs, the change is dated
/// from the latest earlier run that differs from it in the same direction.
Status find_changes(HistoryCell& cell, RatiosBetween& ratios) {
  std::vector<std::size_t> timed;
  std::string identity;
  for (std::size_t run = 0; run < cell.rows.size(); ++run) {
    if (cell.rows[run] == nullptr || !is_measured(*cell.rows[run])) continue;
    timed.push_back(run);
    identity = identity_of(cell.rows[run]->cell);
  }
  std::size_t level = 0;
  for (std::size_t now = 1; now < timed.size(); ++now) {
    const auto since_level = ratios.of(timed[level], timed[now], identity);
    if (!since_level) return tl::unexpected(since_level.error());
    if (!is_change(*since_level)) continue;
    HistoryChange change{.from = timed[level], .to = timed[now], .ratio = **since_level};
    for (std::size_t before = now - 1; before > level; --before) {
      const auto since = ratios.of(timed[before], timed[now], identity);
      if (!since) return tl::unexpected(since.error());
      if (!is_change(*since) || (*since)->verdict != change.ratio.verdict) continue;
      change.from = timed[before];
      change.ratio = **since;
      break;
    }
    cell.changes.push_back(change);
    level = now;
  }
  return {};
}

std::size_t times_of(const HistoryCell& cell) {
  return static_cast<std::size_t>(std::ranges::count_if(
      cell.rows, [](const Row* row) { return row != nullptr && is_measured(*row); }));
}

const Row& any_row(const HistoryCell& cell) {
  return **std::ranges::find_if(cell.rows, [](const Row* row) { return row != nullptr; });
}

Result<RunHistory> history_of(std::span<const StoredTable> tables) {
  RunHistory history;
  std::map<std::string, std::size_t> places;
  for (std::size_t run = 0; run < tables.size(); ++run) {
    const Table& table = *tables[run].table;
    history.runs.push_back({.run = table.run, .commit = commit_of(table.run)});
    for (const Row& row : table.rows) {
      const auto [place, is_new] = places.emplace(identity_of(row.cell), history.cells.size());
      if (is_new) {
        history.cells.push_back(
            {.rows = std::vector<const Row*>(tables.size(), nullptr), .changes = {}});
      }
      history.cells[place->second].rows[run] = &row;
    }
  }
  std::erase_if(history.cells, [](const HistoryCell& cell) { return times_of(cell) < 2; });
  std::ranges::stable_sort(history.cells, [](const HistoryCell& a, const HistoryCell& b) {
    return comes_before(any_row(a).cell.point, any_row(b).cell.point);
  });
  RatiosBetween ratios(tables);
  for (HistoryCell& cell : history.cells) {
    if (Status found = find_changes(cell, ratios); !found) return tl::unexpected(found.error());
  }
  return history;
}

std::string time_in_run(const Row* row) {
  if (row == nullptr) return "–";
  if (!is_measured(*row)) return outcome_of(*row).status;
  return format_time(ns_per_document(*row));
}

/// The differences between two runs with changed cells, in sentences.
std::string cause_in_words(const RunHistory& history, std::size_t from, std::size_t to) {
  const HistoryRun &a = history.runs[from], &b = history.runs[to];
  std::string text = fmt::format("A: {}, B: {}", name_of(a), name_of(b));
  if (to > from + 1) {
    text +=
        fmt::format("; no change is shown for the {} in between", counted(to - from - 1, "run"));
  }
  if (a.commit.empty() || b.commit.empty()) {
    text += ". Their commits are not known";
  } else if (a.commit == b.commit && a.commit.ends_with(modified_mark)) {
    text +=
        ". Both were built from modified sources of one commit, so no commit identifies the cause";
  } else if (a.commit == b.commit) {
    text += ". Both were built from the same commit: the cause is outside the program";
  } else {
    text += fmt::format(". The cause is a commit after {}, {} at the latest", a.commit, b.commit);
  }
  std::vector<std::string> others = differences(a.run, b.run);
  std::erase_if(others,
                [](const std::string& difference) { return difference.starts_with("commit:"); });
  if (!others.empty()) text += fmt::format(". Other differences: {}", fmt::join(others, "; "));
  return text + ".";
}

}  // namespace

Result<std::vector<RunHistory>> make_histories(std::span<const StoredTable> tables) {
  std::vector<std::vector<StoredTable>> groups;
  for (const StoredTable& stored : tables) {
    const NewRun& start = stored.table->run.start;
    const auto known = std::ranges::find_if(groups, [&](const std::vector<StoredTable>& group) {
      const NewRun& other = group.front().table->run.start;
      return other.sweep_name == start.sweep_name && other.device == start.device;
    });
    (known == groups.end() ? groups.emplace_back() : *known).push_back(stored);
  }
  std::vector<RunHistory> histories;
  for (std::vector<StoredTable>& group : groups) {
    if (group.size() < 2) continue;
    std::ranges::stable_sort(
        group, {}, [](const StoredTable& stored) { return stored.table->run.started_unix_ms; });
    Result<RunHistory> history = history_of(group);
    if (!history) return tl::unexpected(history.error());
    histories.push_back(std::move(*history));
  }
  return histories;
}

std::string name_of(const HistoryRun& run) {
  return fmt::format("run {} ({}{})", run.run.number,
                     run.commit.empty() ? "" : "commit " + run.commit + ", ",
                     time_in_words(run.run.started_unix_ms));
}

std::string history_in_words(const RunHistory& history) {
  const std::string runs =
      fmt::format("{} of {} on {}, {} to {}", counted(history.runs.size(), "run"),
                  one_line(history.runs.front().run.start.sweep_name),
                  one_line(history.runs.front().run.start.device), name_of(history.runs.front()),
                  name_of(history.runs.back()));
  if (history.cells.empty()) return runs + ": no cell has a time in two of them.";
  std::size_t faster = 0, slower = 0;
  for (const HistoryCell& cell : history.cells) {
    for (const HistoryChange& change : cell.changes)
      ++(change.ratio.verdict == Verdict::faster ? faster : slower);
  }
  const std::string cells = counted(history.cells.size(), "cell");
  if (faster + slower == 0) return fmt::format("{}: no change is shown in {}.", runs, cells);
  const auto changed = static_cast<std::size_t>(std::ranges::count_if(
      history.cells, [](const HistoryCell& cell) { return !cell.changes.empty(); }));
  return fmt::format("{}: {} of {} changed, {} to faster and {} to slower.", runs, changed, cells,
                     counted(faster, "time"), counted(slower, "time"));
}

std::vector<std::string> history_points(const RunHistory& history) {
  std::vector<const Row*> rows;
  rows.reserve(history.cells.size());
  for (const HistoryCell& cell : history.cells) rows.push_back(&any_row(cell));
  std::vector<bool> varying = varying_axes(rows);
  varying[length_axis] = true;
  std::vector<std::string> points;
  points.reserve(rows.size());
  for (const Row* row : rows) points.push_back(words_of(row->cell.point, varying, true));
  return points;
}

Sheet changes_sheet(const RunHistory& history) {
  Sheet sheet{.columns = {{"", "contender", false},
                          {"", "at", false},
                          {"", "A, per doc"},
                          {"", "B, per doc"},
                          {"", "B vs A"},
                          {"", "95 % interval"}}};
  std::map<std::pair<std::size_t, std::size_t>, std::vector<std::vector<SheetCell>>> rows;
  const std::vector<std::string> points = history_points(history);
  for (std::size_t i = 0; i < history.cells.size(); ++i) {
    const HistoryCell& cell = history.cells[i];
    for (const HistoryChange& change : cell.changes) {
      rows[{change.to, change.from}].push_back(
          {any_row(cell).cell.cell.contender.name, points[i], time_in_run(cell.rows[change.from]),
           time_in_run(cell.rows[change.to]), difference_in_words(change.ratio),
           interval_in_words(change.ratio)});
    }
  }
  for (auto& [runs, lines] : rows) {
    sheet.blocks.push_back(
        {.title = cause_in_words(history, runs.second, runs.first), .rows = std::move(lines)});
  }
  return sheet;
}

Sheet history_sheet(const RunHistory& history) {
  Sheet sheet{.columns = {{"", "contender", false}}};
  for (const HistoryRun& run : history.runs) {
    sheet.columns.push_back(
        {"", fmt::format("run {}{}", run.run.number, run.commit.empty() ? "" : ", " + run.commit)});
  }
  const std::vector<std::string> points = history_points(history);
  for (std::size_t i = 0; i < history.cells.size(); ++i) {
    if (sheet.blocks.empty() || sheet.blocks.back().title != points[i])
      sheet.blocks.push_back({.title = points[i], .rows = {}});
    std::vector<SheetCell> cells{any_row(history.cells[i]).cell.cell.contender.name};
    for (const Row* row : history.cells[i].rows) {
      SheetCell& cell = cells.emplace_back(time_in_run(row));
      if (row != nullptr) cell.marks = marks_of(*row);
    }
    sheet.add(std::move(cells));
  }
  return sheet;
}

}  // namespace attnscope::report
