// SPDX-License-Identifier: Apache-2.0
#include "engine/report/table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "base/sentences.h"
#include "engine/heat/model_row.h"
#include "engine/report/axes_in_words.h"
#include "engine/report/measured_effectiveness.h"
#include "engine/report/row_values.h"
#include "engine/report/where_measured.h"
#include "engine/statistics/placements.h"

namespace attnscope::report {
namespace {

/// The ids that match `text`, in the run's order: by id, display name, or either without window.
std::vector<std::string> ids_named(const std::vector<StoredCell>& cells, std::string_view text,
                                   bool damaged = false) {
  std::vector<std::string> exact, loose;
  const auto add = [](std::vector<std::string>& to, const std::string& id) {
    if (std::ranges::find(to, id) == to.end()) to.push_back(id);
  };
  for (const StoredCell& cell : cells) {
    const Contender& contender = cell.cell.contender;
    if (cell.damaged != damaged) continue;
    if (contender.id() == text || contender.name == text) add(exact, contender.id());
    if (contender.id_without_window() == text || base_name(contender) == text) {
      add(loose, contender.id());
    }
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
        "--baseline: every cell of '{}' in run {} is damaged, so there is nothing to set the "
        "others "
        "against; name another contender",
        text, run.number);
  }
  std::vector<std::string> ids;
  for (const StoredCell& cell : cells) {
    const std::string id = cell.cell.contender.id();
    if (std::ranges::find(ids, id) == ids.end()) ids.push_back(id);
  }
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
const Row* beside(const std::vector<Row>& rows, const Row& row,
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
    if (const Row* other = beside(rows, row, baseline)) {
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
      for (const Row& row : rows) {
        const std::string word = filter_words(row, key).front();
        if (std::ranges::find(present, word) == present.end()) present.push_back(word);
      }
      there_are +=
          fmt::format("{}{}: {}", there_are.empty() ? "" : "; ", key, fmt::join(present, ", "));
    }
    return fail("--only leaves no row of run {}, which has {}", run.number, there_are);
  }
  rows = std::move(kept);
  return {};
}

std::vector<std::string> contender_ids(const std::vector<Row>& rows) {
  std::vector<std::string> ids;
  std::set<std::string> known;
  for (const Row& row : rows) {
    std::string id = row.cell.cell.contender.id();
    if (known.insert(id).second) ids.push_back(std::move(id));
  }
  return ids;
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
    Row row{.cell = std::move(cell), .limit_ms = {}, .share_of_limit = {}, .ratio = {}};
    row.limit_ms = limit_ms(row.cell, *ceilings);
    const double median_ms = row.cell.summary.median_ns / 1e6;
    if (row.limit_ms && is_measured(row) && median_ms > 0) {
      row.share_of_limit = *row.limit_ms / median_ms;
    }
    row.effectiveness = effectiveness_of(row.cell.cell.contender.id());
    table.rows.push_back(std::move(row));
  }
  table.ceilings = std::move(*ceilings);
  table.contenders = contender_ids(table.rows);
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

}  // namespace attnscope::report
