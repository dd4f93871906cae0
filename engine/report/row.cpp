// SPDX-License-Identifier: Apache-2.0
#include "engine/report/row.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/sentences.h"
#include "engine/report/number_text.h"
#include "engine/report/provenance.h"
#include "engine/statistics/interval.h"

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
  if (!has_time(row) || !has_time(baseline)) return std::nullopt;
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

namespace {

std::optional<double> median(const Row& row, std::optional<double> Sample::*what) {
  std::vector<double> values;
  for (const Sample& sample : row.cell.cell.samples)
    if (sample.*what) values.push_back(*(sample.*what));
  if (values.empty()) return std::nullopt;
  return statistics::median_of(std::move(values));
}

// Allows for the errors of measured ceilings and processor times.
constexpr double implausible = 1.25;

double median_time_ns(const Row& row) {
  std::vector<double> times;
  for (const Sample& sample : row.cell.cell.samples) times.push_back(sample.time_ns);
  return times.empty() ? 0 : statistics::median_of(std::move(times));
}

/// The number of cores kept busy by the calls, divided by the number they may use; 0 if it was not
/// measured.
double share_of_threads(const Row& row) {
  const std::optional<double> cpu_ns = median(row, &Sample::cpu_ns);
  const double time_ns = median_time_ns(row);
  if (row.cell.point.device != DeviceKind::cpu || !cpu_ns || time_ns <= 0) return 0;
  return *cpu_ns / time_ns / std::max(row.cell.point.threads, 1);
}

/// Calls on a device are launch-bound if queueing them takes a core as long as running them.
std::optional<std::string> launch_bound_in_words(const Row& row) {
  constexpr double bound = 0.9;  // the device then idles between its kernels
  const std::optional<double> queued_ns = median_enqueue_ns(row);
  const double time_ns = median_time_ns(row);
  if (!queued_ns || time_ns <= 0) return std::nullopt;
  if (*queued_ns < bound * time_ns) return std::nullopt;
  return fmt::format(
      "launch-bound: queueing a call kept a core busy for {} us, running it took the device {} us",
      three_digits(*queued_ns / 1e3), three_digits(time_ns / 1e3));
}

constexpr double disturbing_share_of_outliers = 0.2;

bool has_many_outliers(const Row& row) {
  return static_cast<double>(outlier_samples(row)) >
         disturbing_share_of_outliers * static_cast<double>(row.cell.summary.samples);
}

std::string drift_in_words(const Row& row) {
  std::string text =
      fmt::format("drifted by {} during its heat", format_relative(1 + row.drift.change));
  if (row.ratio_drifted) {
    text += *row.ratio_drifted ? ", and so did its ratio to another contender"
                               : "; its ratio to another contender did not";
  }
  return text;
}

std::string disturbance_in_words(const Row& row) {
  std::vector<std::string> reasons;
  if (const std::string& by = row.cell.cell.disturbed_by; !by.empty()) {
    constexpr std::size_t longest = 400;
    reasons.push_back(
        fmt::format("another measurement ran at the same time: {}", in_a_sentence(by, longest)));
  }
  if (row.cell.basis.is_disturbed) {
    constexpr double noticed = 0.05;  // cores
    const double load = median_foreign_load(row);
    reasons.push_back(fmt::format(
        "{} of {} samples waited for cores; all are used, because too few samples of its heat did "
        "not wait ({})",
        std::ranges::count_if(row.cell.cell.samples,
                              [&](const Sample& sample) {
                                return attnscope::is_disturbed(sample, row.cell.point.threads);
                              }),
        row.cell.cell.samples.size(),
        load < noticed
            ? "the programs that used the cores are not visible: they run in another container or "
              "on the host"
            : fmt::format("other processes kept {} cores busy, in addition to the {} it uses",
                          three_digits(load), std::max(row.cell.point.threads, 1))));
  }
  if (has_many_outliers(row)) {
    reasons.push_back(fmt::format("{} of {} samples are outliers", outlier_samples(row),
                                  row.cell.summary.samples));
  }
  return fmt::format("disturbed: {}", fmt::join(reasons, ", "));
}

/// "2 of 48 cells took less than the measured ceilings allow: ..."; empty if none did.
std::string beyond_limit_in_words(const std::vector<const Row*>& rows) {
  const auto timed = std::ranges::count_if(rows, [](const Row* row) { return is_measured(*row); });
  const auto beyond =
      std::ranges::count_if(rows, [](const Row* row) { return is_beyond_limit(*row); });
  if (beyond == 0) return {};
  return fmt::format(
      "{} of {} cells took less time than the measured ceilings allow: do not rely on their times "
      "until the ceilings are measured again on an idle machine",
      beyond, timed);
}

/// "NAME has weights of its own, ..."; empty if the scores of every measured row were compared with
/// the reference.
std::string unchecked_in_words(const RunInfo& run, const std::vector<const Row*>& rows) {
  std::vector<std::string> ids;
  for (const auto& entry : provenance_at(provenance_of(run), "/build/served")) {
    const auto id = provenance_at(entry, "/id");
    if (provenance_at(entry, "/weights") != "own" || !id.is_string()) continue;
    const auto is_measured_of_it = [id = id.get<std::string>()](const Row* row) {
      return is_measured(*row) && row->cell.cell.contender.implementation == id;
    };
    if (std::ranges::any_of(rows, is_measured_of_it))
      ids.push_back(one_line(id.get<std::string>()));
  }
  if (ids.empty()) return {};
  return fmt::format(
      "{} computed with weights of {} own: the scores were not compared with a reference",
      fmt::join(ids, ", "), ids.size() == 1 ? "its" : "their");
}

}  // namespace

double median_foreign_load(const Row& row) {
  std::vector<double> loads;
  for (const Sample& sample : row.cell.cell.samples) loads.push_back(sample.foreign_load);
  return loads.empty() ? 0 : statistics::median_of(std::move(loads));
}

std::int64_t involuntary_switches(const Row& row) {
  std::int64_t switches = 0;
  for (const Sample& sample : row.cell.cell.samples) switches += sample.involuntary_switches;
  return switches;
}

std::int64_t outlier_samples(const Row& row) {
  const auto observations = observations_of(row.cell.cell, row.cell.point);
  std::int64_t outliers = 0;
  for (std::size_t i = 0; i < std::min(observations.size(), row.cell.outliers.size()); ++i)
    outliers += row.cell.outliers[i] && statistics::counts(observations[i], row.cell.basis) ? 1 : 0;
  return outliers;
}

bool is_disturbed(const Row& row) {
  return is_measured(row) && (row.cell.basis.is_disturbed || has_many_outliers(row) ||
                              !row.cell.cell.disturbed_by.empty());
}

std::string disturbed_share(const std::vector<const Row*>& rows) {
  const auto timed = std::ranges::count_if(rows, [](const Row* row) { return is_measured(*row); });
  const auto disturbed =
      std::ranges::count_if(rows, [](const Row* row) { return is_disturbed(*row); });
  if (disturbed == 0) return {};
  return fmt::format("{} of {} cells were disturbed by other programs", disturbed, timed);
}

std::string disturbed_cells_in_words(const RunInfo& run, const std::vector<const Row*>& rows,
                                     Remedy remedy) {
  const std::string disturbed = disturbed_share(rows);
  if (disturbed.empty()) return disturbed;
  return fmt::format("{}: close those and measure again{}", disturbed,
                     remedy == Remedy::command ? ", " + command_on(run, "run --again")
                                               : R"( ("Measure again" in the run's menu))");
}

bool is_beyond_limit(const Row& row) {
  return row.share_of_limit && *row.share_of_limit > 1;
}

bool is_implausible(const Row& row) {
  return is_measured(row) &&
         (row.share_of_limit.value_or(0) > implausible || share_of_threads(row) > implausible);
}

std::string why_implausible(const Row& row) {
  return fmt::format("its time is implausible: {}", fmt::join(notes_on_time(row), "; "));
}

bool has_time(const Row& row) {
  return is_measured(row) && !is_implausible(row);
}

std::vector<std::string> doubts_about(const RunInfo& run, const std::vector<const Row*>& rows) {
  std::vector<std::string> doubts;
  for (const std::string& doubt : {disturbed_cells_in_words(run, rows), beyond_limit_in_words(rows),
                                   unchecked_in_words(run, rows)}) {
    if (!doubt.empty()) doubts.push_back(doubt + ".");
  }
  return doubts;
}

std::string provenance_line(const Table& table) {
  return provenance_line(table.run, disturbed_share(all_rows(table.rows)));
}

std::string marks_of(const Row& row) {
  std::string marks;
  if (is_measured(row) && row.drift.is_flagged) marks += '~';
  if (is_disturbed(row)) marks += '!';
  if (is_implausible(row)) marks += '?';
  return marks;
}

std::optional<double> median_clock_mhz(const Row& row) {
  return median(row, &Sample::clock_mhz);
}

std::optional<double> median_temperature_c(const Row& row) {
  return median(row, &Sample::temperature_c);
}

std::optional<double> median_power_w(const Row& row) {
  return median(row, &Sample::power_w);
}

std::optional<double> median_enqueue_ns(const Row& row) {
  // The thread that waits for a device sleeps, so it ran only to queue the call.
  if (row.cell.point.device == DeviceKind::cpu) return std::nullopt;
  return median(row, &Sample::cpu_ns);
}

std::int64_t throttled_samples(const Row& row) {
  return std::ranges::count(row.cell.cell.samples, true, &Sample::throttled);
}

std::vector<std::string> notes_on_time(const Row& row) {
  std::vector<std::string> notes;
  if (!is_measured(row)) return notes;
  if (row.drift.is_flagged) notes.push_back(drift_in_words(row));
  if (is_disturbed(row)) notes.push_back(disturbance_in_words(row));
  if (is_beyond_limit(row)) {
    notes.push_back(
        fmt::format("{} % of the limit: shorter than the measured ceilings allow, so the ceilings "
                    "or the time are disturbed",
                    three_digits(100 * *row.share_of_limit)));
  }
  if (const double cores = share_of_threads(row); cores > implausible) {
    const int threads = std::max(row.cell.point.threads, 1);
    notes.push_back(
        fmt::format("its calls used the processor time of {} cores, but {} thread{} requested",
                    three_digits(cores * threads), threads, threads == 1 ? " was" : "s were"));
  }
  if (auto bound = launch_bound_in_words(row)) notes.push_back(std::move(*bound));
  if (const std::int64_t throttled = throttled_samples(row); throttled > 0) {
    notes.push_back(fmt::format(
        "{} of {} samples were measured while the machine was throttled for heat or power",
        throttled, row.cell.cell.samples.size()));
  }
  return notes;
}

std::vector<std::string> notes_on_memory(const Row& row) {
  std::vector<std::string> notes;
  if (!is_measured(row)) return notes;
  if (const CellMemory& memory = row.cell.cell.memory; has_unseen_memory(memory)) {
    notes.push_back(fmt::format(
        "its process grew by {} per call, but {} were counted: it allocates outside the counted "
        "allocators",
        format_bytes(static_cast<double>(*memory.process_peak_bytes)),
        format_bytes(static_cast<double>(memory.requested_bytes))));
  }
  return notes;
}

std::vector<std::string> notes_on(const Row& row) {
  std::vector<std::string> notes = notes_on_time(row);
  std::ranges::move(notes_on_memory(row), std::back_inserter(notes));
  return notes;
}

}  // namespace attnscope::report
