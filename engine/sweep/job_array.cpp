// SPDX-License-Identifier: Apache-2.0
#include "engine/sweep/job_array.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <system_error>
#include <utility>

#include "base/json.h"
#include "base/sentences.h"
#include "engine/store/location.h"
#include "engine/sweep/run_plan.h"
#include "engine/sweep/time_left.h"

namespace attnscope {
namespace {

using nlohmann::json;

constexpr const char* part_key = "part";

/// Ok, or the reason why the file is not imported.
Status check_part(const std::filesystem::path& file, const std::vector<RunInfo>& runs,
                  const RunId& wanted) {
  if (runs.empty()) return fail("{} contains no run and was skipped", file.string());
  for (const RunInfo& run : runs) {
    if (run.id == wanted) continue;
    return fail("{} contains run {} of sweep '{}', not run {}, and was skipped", file.string(),
                run.id.uuid, in_a_sentence(run.start.sweep_name), wanted.uuid);
  }
  return {};
}

/// Records which heats of the plan belong to the file, and imports its results; returns the number
/// of heats.
Result<int> bring_in_file(Store& store, const RunId& run, const std::filesystem::path& file,
                          std::map<std::string, std::filesystem::path>& parts) {
  {
    const auto source = Store::open(file, Store::Mode::read_only);
    if (!source) return tl::unexpected(source.error());
    const auto runs = source->run_list(RunsOf::both);
    if (!runs) return tl::unexpected(runs.error());
    if (Status own = check_part(file, *runs, run); !own) return tl::unexpected(own.error());
    const auto info = source->find_run(run.uuid);
    if (!info) return tl::unexpected(info.error());
    if (const auto heats = stored_heats(*info); heats && is_part(*info)) {
      for (const Heat& heat : *heats) parts[point_key(heat.point)] = file;
    }
  }
  const auto imported = store.import_file(file);
  if (!imported) return tl::unexpected(imported.error());
  return imported->heats_added;
}

}  // namespace

std::vector<RunPart> divide_heats(const std::vector<Heat>& heats, int parts) {
  const std::size_t count = std::min(static_cast<std::size_t>(std::max(parts, 1)), heats.size());
  std::vector<std::size_t> longest_first(heats.size());
  std::iota(longest_first.begin(), longest_first.end(), std::size_t{0});
  std::ranges::stable_sort(longest_first, std::greater<>(),
                           [&](std::size_t i) { return longest_seconds(heats[i]); });
  std::vector<std::vector<std::size_t>> shares(count);
  std::vector<RunPart> dealt(count);
  for (const std::size_t i : longest_first) {
    // Heats without a bound are also distributed evenly.
    const auto least = std::ranges::min_element(dealt, {}, [&](const RunPart& part) {
      return std::pair(part.seconds, shares[static_cast<std::size_t>(&part - dealt.data())].size());
    });
    least->seconds += longest_seconds(heats[i]);
    shares[static_cast<std::size_t>(least - dealt.begin())].push_back(i);
  }
  for (std::size_t part = 0; part < count; ++part) {
    std::ranges::sort(shares[part]);
    for (const std::size_t i : shares[part]) dealt[part].heats.push_back(heats[i]);
  }
  return dealt;
}

RunInfo part_of(const RunInfo& run, const std::vector<Heat>& heats) {
  RunInfo part = run;
  json provenance = parse_json(run.start.provenance);
  provenance["plan"] = plan_json(heats);
  provenance[part_key] = {{"of_heats", run.start.heats_planned}};
  part.start.provenance = provenance.dump(-1, ' ', false, json::error_handler_t::replace);
  part.start.heats_planned = static_cast<int>(heats.size());
  part.start.device.clear();
  part.start.process_id = 0;
  part.start.process_start_ticks = 0;
  return part;
}

bool is_part(const RunInfo& run) {
  // Most runs are not: this avoids parsing their long provenance.
  if (run.start.provenance.find(fmt::format("\"{}\"", part_key)) == std::string::npos) return false;
  const json provenance = parse_json(run.start.provenance);
  return provenance.is_object() && provenance.contains(part_key);
}

std::vector<std::filesystem::path> stores_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  std::error_code failed;
  for (std::filesystem::directory_iterator entry(folder, failed), end; !failed && entry != end;
       entry.increment(failed)) {
    if (entry->path().extension() == ".db" || store::is_exported(entry->path()))
      files.push_back(entry->path());
  }
  std::ranges::sort(files);
  return files;
}

Result<MergedParts> merge_parts(Store& store, const RunId& run,
                                const std::vector<std::filesystem::path>& files) {
  MergedParts result;
  std::map<std::string, std::filesystem::path> parts;
  for (const std::filesystem::path& file : files) {
    const auto added = bring_in_file(store, run, file, parts);
    if (added) {
      result.heats_added += *added;
    } else if (added.error().kind == ErrorKind::locked) {
      return tl::unexpected(added.error());
    } else {
      result.skipped.push_back(added.error().message);
    }
  }
  const auto info = store.find_run(run.uuid);
  if (!info) return tl::unexpected(info.error());
  auto heats = stored_heats(*info);
  if (!heats) return tl::unexpected(heats.error());
  const auto finished = store.finished_points(run);
  if (!finished) return tl::unexpected(finished.error());
  const std::set<std::string> done(finished->begin(), finished->end());
  for (Heat& heat : *heats) {
    const std::string point = point_key(heat.point);
    if (done.contains(point)) continue;
    const auto part = parts.find(point);
    result.missing.push_back(
        {.heat = std::move(heat),
         .part = part == parts.end() ? std::filesystem::path() : part->second});
  }
  if (result.missing.empty() && info->status != RunStatus::done &&
      info->status != RunStatus::running) {
    if (Status settled = store.finish_run(run, RunStatus::done); !settled)
      return tl::unexpected(settled.error());
  }
  return result;
}

}  // namespace attnscope
