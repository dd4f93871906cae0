// SPDX-License-Identifier: Apache-2.0
#include "engine/report/run_description.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/json.h"
#include "base/sentences.h"
#include "base/spawn.h"
#include "engine/report/number_text.h"
#include "engine/report/provenance.h"
#include "engine/report/row.h"
#include "engine/report/row_values.h"
#include "engine/sweep/run_plan.h"

namespace attnscope::report {

namespace {

using nlohmann::json;

constexpr double moved_ceilings = 0.05;  // between the first and the last
constexpr std::size_t label_width = 16;

std::string words(const json& value) {
  if (value.is_string()) return one_line(value.get<std::string>());
  if (value.is_boolean()) return value.get<bool>() ? "on" : "off";
  if (value.is_array()) {
    std::vector<std::string> parts;
    for (const json& entry : value) parts.push_back(words(entry));
    return fmt::format("{}", fmt::join(parts, ", "));
  }
  if (value.is_object()) {
    std::vector<std::string> parts;
    for (const auto& [key, item] : value.items()) {
      parts.push_back(fmt::format("{} {}", key, words(item)));
    }
    return fmt::format("{}", fmt::join(parts, ", "));
  }
  return value.is_null() ? std::string() : value.dump();
}

/// "  label           text".
std::string line(std::string_view label, const std::string& text) {
  const std::string_view gap = label.size() < label_width ? "" : " ";
  return wrapped(fmt::format("  {}{}{}", padded(label, label_width, true), gap, text),
                 std::string(label_width + 2, ' '));
}

struct LabelledFact {
  std::string_view label;
  const char* pointer;
};

constexpr std::array<LabelledFact, 21> machine_facts{{
    {"processor", "/device/name"},
    {"cores", "/device/cores"},
    {"may use cores", "/device/affinity"},
    {"container share", "/device/cpu_quota"},
    {"caches", "/device/caches"},
    {"instruction set", "/device/instruction_set"},
    {"governor", "/device/governor"},
    {"turbo", "/device/turbo"},
    {"SMT", "/device/smt"},
    {"maximum MHz", "/device/maximum_mhz"},
    {"microcode", "/device/microcode"},
    {"hypervisor", "/device/hypervisor"},
    {"huge pages", "/device/huge_pages"},
    {"load at start", "/device/load"},
    {"system", "/device/system"},
    {"kernel", "/device/kernel"},
    {"C library", "/device/c_library"},
    {"host", "/device/host"},
    {"environment", "/device/environment"},
    {"GPU", "/cuda"},
    {"GPU driver", "/device/nvidia_driver"},
}};

constexpr std::array<LabelledFact, 10> build_facts{{
    {"compiler", "/build/compiler"},
    {"flags", "/build/flags"},
    {"build type", "/build/build_type"},
    {"LibTorch", "/build/libtorch"},
    {"BLAS", "/build/blas"},
    {"oneDNN", "/build/onednn"},
    {"OpenMP", "/build/openmp"},
    {"LibTorch's set", "/build/libtorch_instruction_set"},
    {"allocator", "/build/allocator"},
    {"driver's parts", "/driver/libraries"},
}};

/// For an implementation of another program: the software in its process.
std::string served_in_words(const json& entry) {
  std::string by;
  for (const auto& [key, value] : entry.items()) {
    if (key != "id" && key != "program" && key != "seconds_a_call")
      by += fmt::format("{}{} {}", by.empty() ? " (" : ", ", key, words(value));
  }
  const json seconds = provenance_at(entry, "/seconds_a_call");
  return fmt::format(
      "computed by {}{}{}", words(provenance_at(entry, "/program")), by.empty() ? by : by + ")",
      seconds.is_number()
          ? fmt::format("; the time of each call includes {:.1f} us of communication "
                        "with that process",
                        seconds.get<double>() * 1e6)
          : "");
}

std::string program_of(const json& provenance, const char* part) {
  const json version = provenance_at(provenance, fmt::format("/{}/version", part));
  const json commit = provenance_at(provenance, fmt::format("/{}/commit", part));
  const json dirty = provenance_at(provenance, fmt::format("/{}/dirty", part));
  if (!version.is_string() || !commit.is_string()) return {};
  return fmt::format("AttnScope {}, commit {}{}", words(version), words(commit),
                     dirty == true ? ", with uncommitted changes" : "");
}

std::string memory_of(const json& provenance) {
  const json total = provenance_at(provenance, "/device/memory_bytes");
  const json free = provenance_at(provenance, "/device/available_bytes");
  if (!total.is_number()) return {};
  std::string text = format_bytes(total.get<double>());
  if (free.is_number())
    text += fmt::format(", {} free at the start", format_bytes(free.get<double>()));
  return text;
}

/// The first and the last ceilings of a device and number of threads.
struct Moved {
  const Ceilings* first = nullptr;
  const Ceilings* last = nullptr;
};

std::vector<Moved> moved_ceilings_of(const std::vector<Ceilings>& ceilings) {
  std::map<std::pair<DeviceKind, int>, Moved> moved;
  for (const Ceilings& measurement : ceilings) {
    Moved& place = moved[{measurement.device, measurement.threads}];
    if (place.first == nullptr) place.first = &measurement;
    place.last = &measurement;
  }
  std::vector<Moved> list;
  list.reserve(moved.size());
  for (const auto& [key, value] : moved) list.push_back(value);
  return list;
}

std::string whose(const Ceilings& ceilings) {
  return ceilings.device == DeviceKind::cpu
             ? counted(static_cast<std::size_t>(std::max(ceilings.threads, 0)), "thread")
             : std::string(name_of(ceilings.device));
}

double copy_rate(const Ceilings& ceilings) {
  return ceilings.copy.empty() ? 0 : ceilings.copy.back().bytes_per_second;
}

std::string then(double first, double last, bool is_one, std::string_view unit) {
  if (!(first > 0)) return {};
  const std::string before = fmt::format("{} {}", three_digits(first / 1e9), unit);
  if (is_one || !(last > 0)) return before;
  return fmt::format("{}, then {} ({})", before, three_digits(last / 1e9),
                     format_relative(last / first));
}

std::string ceilings_in_words(const Moved& moved) {
  const bool is_one = moved.first == moved.last;
  std::vector<std::string> parts;
  const auto add = [&](double first, double last, std::string_view unit) {
    if (std::string part = then(first, last, is_one, unit); !part.empty()) parts.push_back(part);
  };
  add(moved.first->flop_per_second, moved.last->flop_per_second, "GFLOP/s");
  add(moved.first->tensor_flop_per_second, moved.last->tensor_flop_per_second,
      "GFLOP/s on tensor cores");
  add(moved.first->exponentials_per_second, moved.last->exponentials_per_second,
      "G exponentials/s");
  add(copy_rate(*moved.first), copy_rate(*moved.last), "GB/s from memory");
  return fmt::format("{}", fmt::join(parts, "; "));
}

/// "ok" 118, "oom" 2.
std::map<std::string, int> cell_counts(const std::vector<Row>& rows) {
  std::map<std::string, int> counts;
  for (const Row& row : rows) {
    ++counts[std::string(row.cell.damaged ? damaged_status : name_of(row.cell.cell.status))];
  }
  return counts;
}

/// "120: 118 ok, 2 oom".
std::string cells_in_words(const std::vector<Row>& rows) {
  std::vector<std::string> parts;
  for (const auto& [status, count] : cell_counts(rows))
    parts.push_back(fmt::format("{} {}", count, status));
  return fmt::format("{}{}{}", rows.size(), parts.empty() ? "" : ": ", fmt::join(parts, ", "));
}

void warn_of_build(const json& provenance, std::vector<std::string>& found) {
  if (provenance_at(provenance, "/build/dirty") == true) {
    found.emplace_back(
        "the measuring program was built from modified sources, which no commit identifies");
  }
  const json type = provenance_at(provenance, "/build/build_type");
  if (type.is_string() && type != "Release") {
    found.push_back(
        fmt::format("the measuring program was built as '{}', not as 'Release'", words(type)));
  }
  const json ours = provenance_at(provenance, "/driver/commit"),
             theirs = provenance_at(provenance, "/build/commit");
  if (ours.is_string() && theirs.is_string() && ours != theirs) {
    found.push_back(
        fmt::format("the measuring process is of another commit ({}) than the driver ({})",
                    words(theirs).substr(0, 10), words(ours).substr(0, 10)));
  }
  const json governor = provenance_at(provenance, "/device/governor");
  if (governor.is_string() && governor != "performance") {
    found.push_back(
        fmt::format("the governor was '{}': clocks may change while measuring; "
                    "'performance' keeps them constant",
                    words(governor)));
  }
}

void warn_of_cells(const RunInfo& run, const std::vector<Row>& rows, int cores,
                   std::vector<std::string>& found) {
  std::size_t timed = 0, damaged = 0, impossible = 0, unsettled = 0, chosen = 0, throttled = 0,
              drifted = 0, crowded = 0;
  std::string example;
  for (const Row& row : rows) {
    const bool cannot_be = !row.cell.impossible.empty();
    if (cannot_be && impossible++ == 0) example = row.cell.impossible;
    damaged += row.cell.damaged && !cannot_be ? 1 : 0;
    if (!is_measured(row)) continue;
    ++timed;
    unsettled += row.cell.cell.settled ? 0 : 1;
    chosen += row.cell.basis.without_disturbed ? 1 : 0;
    throttled += throttled_samples(row) > 0 ? 1 : 0;
    drifted += row.drift.is_flagged ? 1 : 0;
    crowded += cores > 0 && row.cell.point.threads > cores ? 1 : 0;
  }
  const auto add = [&](std::size_t count, std::size_t all, std::string_view what) {
    if (count > 0) found.push_back(fmt::format("{} of {} cells {}", count, all, what));
  };
  add(damaged, rows.size(), "are damaged: their values do not match their fingerprints");
  add(impossible, rows.size(),
      fmt::format("are damaged: their values are impossible, although they match their "
                  "fingerprints ({})",
                  example));
  add(unsettled, timed,
      "reached their time limit before their interval was as narrow as requested");
  if (std::string disturbed = disturbed_cells_in_words(run, all_rows(rows)); !disturbed.empty())
    found.push_back(std::move(disturbed));
  add(chosen, timed, "use only those of their samples that did not wait for other programs");
  add(throttled, timed, "have samples during which the machine was throttled for heat or power");
  add(drifted, timed, "drifted while they were measured");
  add(crowded, timed, fmt::format("ran with more threads than the {} available cores", cores));
}

/// The parsed provenance; text that is not JSON as a string.
nlohmann::ordered_json stored(const std::string& provenance) {
  auto parsed = parse_ordered_json(provenance);
  return parsed.is_discarded() ? nlohmann::ordered_json(provenance) : parsed;
}

}  // namespace

Result<RunDescription> describe(const Store& store, const RunInfo& run) {
  auto restarts = store.restarts(run.id);
  if (!restarts) return tl::unexpected(restarts.error());
  std::erase_if(*restarts, [](const Restart& restart) { return restart.damaged; });
  auto ceilings = store.ceilings(run.id);
  if (!ceilings) return tl::unexpected(ceilings.error());
  auto table = make_table(store, run, std::nullopt, {});
  if (!table) return tl::unexpected(table.error());
  return RunDescription{.run = std::move(table->run),
                        .restarts = std::move(*restarts),
                        .ceilings = std::move(*ceilings),
                        .rows = std::move(table->rows)};
}

std::vector<std::string> cautions(const RunDescription& description) {
  const RunInfo& run = description.run;
  const json provenance = provenance_of(run);
  std::vector<std::string> found;
  for (std::string& damage : damage_in_words(run)) found.push_back(std::move(damage));
  if (run.heats_done < run.start.heats_planned && missing_heats(run) == 0) {
    found.push_back(fmt::format("{} of {} heats are finished; the run is {}", run.heats_done,
                                run.start.heats_planned, name_of(run.status)));
  }
  if (run.finished_unix_ms > 0 && run.finished_unix_ms < run.started_unix_ms) {
    found.emplace_back(
        "by its dates it ended before it began: the system clock was set back during the run; this "
        "does not affect the times of calls");
  }
  warn_of_build(provenance, found);
  const json cores = provenance_at(provenance, "/device/cores");
  warn_of_cells(run, description.rows, cores.is_number_integer() ? cores.get<int>() : 0, found);
  std::vector<std::string> of_machines = cautions_of_machines(run);
  std::ranges::move(of_machines, std::back_inserter(found));
  // Different rates on several machines are not a change, and the devices have already been
  // reported.
  if (!machines_in(run).empty()) return found;
  for (const Moved& moved : moved_ceilings_of(description.ceilings)) {
    const double ratio = moved.last->flop_per_second / moved.first->flop_per_second;
    if (!std::isfinite(ratio) || std::abs(ratio - 1) <= moved_ceilings) continue;
    found.push_back(
        fmt::format("the machine changed during the run: {} in its float32 rate ({}) from start to "
                    "end",
                    format_relative(ratio), whose(*moved.first)));
  }
  for (const Restart& restart : description.restarts) {
    RunInfo later = run;
    later.start.provenance = restart.provenance;
    for (const std::string& difference : differences(run, later)) {
      found.push_back(
          fmt::format("restarted {} under other conditions (A before, B since then): {}",
                      time_in_words(restart.restarted_unix_ms), difference));
    }
  }
  return found;
}

std::vector<DescribedPart> described_parts(const RunDescription& description) {
  const RunInfo& run = description.run;
  const json provenance = provenance_of(run);
  std::vector<DescribedPart> parts{{"", {}}, {"Machine", {}}, {"Build", {}}};
  std::size_t at = 0;
  const auto add = [&](std::string_view label, const std::string& text) {
    if (!text.empty()) parts[at].facts.emplace_back(label, one_line(text));
  };
  add("uuid", run.id.uuid);
  add("name", run.name);
  add("tags", run.tag);
  add("note", run.note);
  if (is_in_trash(run)) add("in the trash", time_in_words(run.trashed_unix_ms));
  add("started", time_in_words(run.started_unix_ms));
  if (run.finished_unix_ms > 0) add("finished", time_in_words(run.finished_unix_ms));
  add("command", run.start.command_line);
  add("repetition of", words(provenance_at(provenance, "/again_of")));
  add("to repeat it", command_on(run, "run --again"));
  for (const Restart& restart : description.restarts) {
    add("restarted",
        fmt::format("{}: {}", time_in_words(restart.restarted_unix_ms), restart.command_line));
  }
  add("heats", fmt::format("{} of {}", run.heats_done, run.start.heats_planned));
  add("cells", cells_in_words(description.rows));
  add("caches", words(provenance_at(provenance, "/measuring/cache")));
  if (const auto runs = stored_runs(run)) {
    add("effectiveness",
        fmt::format("{} of {}, by {} (judged queries: {})", runs->question.measure.name(),
                    counted(runs->runs.size(), "TREC run"), runs->qrels, runs->queries.size()));
  }
  at = 1;
  add("device", run.start.device);
  for (const LabelledFact& fact : machine_facts)
    add(fact.label, words(provenance_at(provenance, fact.pointer)));
  add("memory", memory_of(provenance));
  const std::vector<Ceilings> none;  // with several machines, ceilings are not stored per machine
  for (const Moved& moved :
       moved_ceilings_of(machines_in(run).size() > 1 ? none : description.ceilings))
    add("rates, " + whose(*moved.first), ceilings_in_words(moved));
  at = 2;
  add("measured by", program_of(provenance, "build"));
  add("driven by", program_of(provenance, "driver"));
  for (const LabelledFact& fact : build_facts)
    add(fact.label, words(provenance_at(provenance, fact.pointer)));
  for (const json& entry : provenance_at(provenance, "/build/served"))
    add(words(provenance_at(entry, "/id")), served_in_words(entry));
  return parts;
}

std::string write_description(const RunDescription& description) {
  const RunInfo& run = description.run;
  std::string text = wrapped(fmt::format("Run {} ({}), {}", run.number,
                                         one_line(run.start.sweep_name), name_of(run.status)),
                             "  ");
  for (const DescribedPart& part : described_parts(description)) {
    if (!part.title.empty()) text += fmt::format("\n{}\n", part.title);
    for (const auto& [label, fact] : part.facts) text += line(label, fact);
  }
  text += "\nBefore you trust its numbers\n";
  const std::vector<std::string> known = cautions(description);
  if (known.empty()) text += fmt::format("  {}\n", nothing_known_against_it);
  for (const std::string& caution : known) text += wrapped("  - " + one_line(caution), "    ");
  text += fmt::format("\nThe sweep\n{}", run.start.sweep_text);
  if (!text.ends_with('\n')) text += '\n';
  return text;
}

std::string write_description_json(const RunDescription& description) {
  using nlohmann::ordered_json;
  const RunInfo& run = description.run;
  ordered_json restarts = ordered_json::array();
  for (const Restart& restart : description.restarts) {
    restarts.push_back({{"restarted_unix_ms", restart.restarted_unix_ms},
                        {"command_line", restart.command_line},
                        {"provenance", stored(restart.provenance)}});
  }
  ordered_json ceilings = ordered_json::array();
  for (const Ceilings& measurement : description.ceilings) {
    ordered_json copy = ordered_json::array();
    for (const Ceilings::Copy& rate : measurement.copy) {
      copy.push_back({{"working_set_bytes", rate.working_set_bytes},
                      {"bytes_per_second", rate.bytes_per_second}});
    }
    ceilings.push_back({{"device", name_of(measurement.device)},
                        {"threads", measurement.threads},
                        {"flop_per_second", measurement.flop_per_second},
                        {"tensor_flop_per_second", measurement.tensor_flop_per_second},
                        {"exponentials_per_second", measurement.exponentials_per_second},
                        {"copy", std::move(copy)},
                        {"seconds_into_run", measurement.seconds_into_run}});
  }
  const ordered_json whole = {{"run", run.number},
                              {"uuid", run.id.uuid},
                              {"sweep", run.start.sweep_name},
                              {"status", name_of(run.status)},
                              {"damaged", run.damaged},
                              {"name", run.name},
                              {"tag", run.tag},
                              {"trashed_unix_ms", run.trashed_unix_ms},
                              {"note", run.note},
                              {"started_unix_ms", run.started_unix_ms},
                              {"finished_unix_ms", run.finished_unix_ms},
                              {"device", run.start.device},
                              {"command_line", run.start.command_line},
                              {"heats_done", run.heats_done},
                              {"heats_planned", run.start.heats_planned},
                              {"cells", cell_counts(description.rows)},
                              {"cautions", cautions(description)},
                              {"restarts", std::move(restarts)},
                              {"ceilings", std::move(ceilings)},
                              {"provenance", stored(run.start.provenance)},
                              {"sweep_text", run.start.sweep_text}};
  return whole.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

namespace {

/// The key of an axis in `run --only`; empty if it has none.
std::optional<std::string> key_of_run(std::string_view axis) {
  if (axis == "batch_max") return "batch";
  if (axis == "batch_memory_mb") return std::nullopt;
  return std::string(axis);
}

/// --only separates its terms with commas.
bool can_be_stated(const std::string& value) {
  return !value.empty() && value.find(',') == std::string::npos;
}

}  // namespace

RepeatCommand repeat_command(const Table& table, const Row& row,
                             std::optional<std::string> alongside) {
  RepeatCommand command;
  std::vector<std::string> terms;
  const auto add = [&](const std::string& key, const std::string& value, const char* what) {
    if (can_be_stated(value)) {
      terms.push_back(fmt::format("{}={}", key, value));
    } else {
      command.beyond = fmt::format(
          "It measures every {} of the run, because --only cannot express this one.", what);
    }
  };
  const std::string contender = row.cell.cell.contender.id();
  add("contender", contender, "contender");
  if (alongside && *alongside != contender && command.beyond.empty()) {
    add("contender", *alongside, "contender");
  }
  const std::vector<bool> varying = varying_axes(table.rows);
  const std::vector<AxisValue> axes = axes_of(row.cell.point);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (!varying[i]) continue;
    if (const auto key = key_of_run(axes[i].key)) {
      add(*key, axes[i].value, "setting");
    } else {
      command.beyond =
          "It measures every limit of the batch's memory, because --only has no key for it.";
    }
  }
  std::string only;
  for (const std::string& term : terms) only += (only.empty() ? "" : ",") + term;
  command.text =
      command_on(table.run, "run --again", only.empty() ? only : "--only " + shell_word(only));
  return command;
}

}  // namespace attnscope::report
