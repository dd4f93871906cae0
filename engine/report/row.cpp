// SPDX-License-Identifier: Apache-2.0
#include "engine/report/row.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "engine/report/number_text.h"
#include "engine/report/provenance.h"

namespace attnscope::report {

Table without_rows(const Table& table) {
  return {.run = table.run,
          .rows = {},
          .baseline = table.baseline,
          .has_growth = table.has_growth,
          .ceilings = table.ceilings,
          .contenders = table.contenders};
}

bool is_measured(const Row& row) {
  return row.cell.cell.status == CellStatus::ok && !row.cell.damaged &&
         row.cell.summary.samples > 0;
}

Outcome outcome_of(const Row& row) {
  if (row.cell.damaged) return {std::string(damaged_status), damage_in_words(row.cell)};
  if (row.cell.cell.status == CellStatus::ok && row.cell.summary.samples == 0) {
    return {"no samples", "its result was correct, but it was not timed"};
  }
  return {std::string(name_of(row.cell.cell.status)), row.cell.cell.reason};
}

std::string against_baseline(const Row& row) {
  if (!row.ratio) return {};
  // A cell divided by itself has the ratio 1 with an interval of zero width.
  if (row.ratio->low == 1 && row.ratio->high == 1) return "baseline";
  return difference_in_words(*row.ratio);
}

std::vector<const Row*> all_rows(const std::vector<Row>& rows) {
  std::vector<const Row*> all;
  all.reserve(rows.size());
  for (const Row& row : rows) all.push_back(&row);
  return all;
}

std::vector<std::vector<const Row*>> grouped(const std::vector<const Row*>& rows,
                                             const std::function<std::string(const Row&)>& key) {
  std::vector<std::vector<const Row*>> groups;
  std::map<std::string, std::size_t> known;
  for (const Row* row : rows) {
    const auto [place, is_new] = known.emplace(key(*row), groups.size());
    if (is_new) groups.emplace_back();
    groups[place->second].push_back(row);
  }
  return groups;
}

double items_of(const Row& row) {
  return static_cast<double>(std::max<std::int64_t>(row.cell.cell.batch, 1));
}

double p95_ns(const StoredCell& cell) {
  std::vector<double> times;
  times.reserve(cell.cell.samples.size());
  for (const Sample& sample : cell.cell.samples) times.push_back(sample.time_ns);
  if (times.empty()) return std::numeric_limits<double>::quiet_NaN();
  const std::size_t rank = (times.size() * 95 + 99) / 100 - 1;
  std::ranges::nth_element(times, times.begin() + static_cast<std::ptrdiff_t>(rank));
  return times[rank];
}

double candidates_of(const Row& row) {
  const std::int64_t requested = row.cell.point.candidates;
  return static_cast<double>(requested > 0 ? requested : row.cell.cell.batch);
}

double documents_of(const Row& row) {
  return items_of(row) * static_cast<double>(std::max<std::int64_t>(row.cell.point.documents, 1));
}

double ns_per_document(const Row& row) {
  return row.cell.summary.median_ns / documents_of(row);
}

double bytes_per_document(const Row& row) {
  return static_cast<double>(peak_bytes(row.cell.cell.memory)) / documents_of(row);
}

std::optional<double> executed_ratio(const Row& row) {
  const CellWork& work = row.cell.cell.work;
  if (row.cell.damaged || !(work.useful_flop > 0) || !(work.executed_flop > 0)) return std::nullopt;
  const double ratio = work.executed_flop / work.useful_flop;
  return std::isfinite(ratio) ? std::optional(ratio) : std::nullopt;
}

std::string executed_in_words(const Row& row) {
  const std::optional<double> ratio = executed_ratio(row);
  return ratio ? fmt::format("executes {} the useful products", format_times(*ratio)) : "";
}

std::vector<statistics::Observation> per_item(const StoredCell& cell) {
  const auto batch = static_cast<double>(std::max<std::int64_t>(cell.cell.batch, 1));
  std::vector<statistics::Observation> observations = observations_of(cell.cell, cell.point);
  for (statistics::Observation& observation : observations) observation.time_ns /= batch;
  return observations;
}

std::optional<statistics::Ratio> ratio_between(const Row& row, const Row& baseline) {
  if (!is_measured(row) || !is_measured(baseline)) return std::nullopt;
  const auto ours = per_item(row.cell), theirs = per_item(baseline.cell);
  const bool together = row.cell.heat_number == baseline.cell.heat_number &&
                        row.cell.cell.batch == baseline.cell.cell.batch;
  const statistics::Ratio ratio =
      together ? statistics::paired_ratio(ours, theirs, row.cell.basis)
               : statistics::unpaired_ratio(ours, theirs, {}, row.cell.basis, baseline.cell.basis);
  if (!std::isfinite(ratio.ratio)) return std::nullopt;
  return ratio;
}

std::string base_name(const Contender& contender) {
  if (!contender.window) return contender.name;
  const std::string ending = fmt::format(", w = {}", contender.window->text());
  if (contender.name.size() > ending.size() && contender.name.ends_with(ending)) {
    return contender.name.substr(0, contender.name.size() - ending.size());
  }
  return contender.name;
}

}  // namespace attnscope::report
