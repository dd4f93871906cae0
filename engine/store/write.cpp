// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>

#include "engine/store/fields.h"
#include "engine/store/implementation.h"
#include "engine/store/store.h"

namespace attnscope {

// The modifying functions of Store: each is one transaction.

namespace {

using store::Database;
using store::Statement;
using store::Writer;

void add_cell(Database& database, std::int64_t heat, int ordinal, const HeatPoint& point,
              const Cell& cell, const statistics::HeatBasis& basis) {
  const auto observations = observations_of(cell, point);
  const statistics::Summary summary = statistics::summarise(observations, basis);
  const std::vector<bool> outliers = statistics::outliers(observations);

  Statement insert(
      database, fmt::format("INSERT INTO cells (heat_id, ordinal, {}, fingerprint) VALUES ({}, 0)",
                            store::cell_columns, store::places(store::cell_columns, 2)));
  Writer write(insert);
  write(heat);
  write(ordinal);
  store::visit_cell(write, cell, summary);
  store::execute(insert);

  const std::int64_t id = database.getLastInsertRowid();
  Statement sample(database,
                   fmt::format("INSERT INTO samples (cell_id, ordinal, {}, outlier) VALUES ({})",
                               store::sample_columns, store::places(store::sample_columns, 3)));
  for (std::size_t i = 0; i < cell.samples.size(); ++i) {
    Writer bind(sample);
    bind(id);
    bind(static_cast<std::int64_t>(i));
    store::visit_sample(bind, cell.samples[i]);
    bind(static_cast<bool>(outliers[i]));
    store::execute(sample);
  }
  store::renew_fingerprint(database, store::cell_print(), id);
}

}  // namespace

namespace store {

Status not_being_measured(const RunInfo& run, std::string_view what) {
  const bool alive = run.status == RunStatus::running &&
                     is_alive(run.start.process_id, run.start.process_start_ticks);
  if (!alive) return {};
  return fail("run {} is being measured by process {} and cannot be {}; cancel the run first",
              run.number, run.start.process_id, what);
}

}  // namespace store

Result<RunId> Store::begin_run(const NewRun& run) {
  Implementation& own = *implementation_;
  const RunId id{store::new_uuid()};
  const Status begun = own.change([&]() -> Status {
    Statement insert(
        own.database,
        fmt::format(
            "INSERT INTO runs (uuid, {}, status, started_unix_ms, fingerprint) VALUES ({}, 0)",
            store::run_columns, store::places(store::run_columns, 3)));
    Writer write(insert);
    write(id.uuid);
    store::visit_run(write, run);
    write(RunStatus::running);
    write(store::now_unix_ms());
    store::execute(insert);
    const std::int64_t number = own.database.getLastInsertRowid();
    store::renew_fingerprint(own.database, store::start_print(), number);
    store::renew_fingerprint(own.database, store::state_print(), number);
    return {};
  });
  if (!begun) return tl::unexpected(begun.error());
  own.start = {.uuid = id.uuid, .print = 0};
  return id;
}

Status Store::resume_run(const RunId& run, const NewRun& restart) {
  Implementation& own = *implementation_;
  const Restart begun{.restarted_unix_ms = store::now_unix_ms(),
                      .command_line = restart.command_line,
                      .provenance = restart.provenance};
  std::int64_t print = 0;
  Status resumed = own.change_run(run, [&](std::int64_t number) -> Status {
    const Result<RunInfo> info = find_run(run.uuid);
    if (!info) return tl::unexpected(info.error());
    if (Status free = store::not_being_measured(*info, "resumed"); !free) return free;
    if (is_in_trash(*info)) {
      return fail("run {} is in the trash and cannot be resumed; {} puts it back", number,
                  command_on(*info, "trash --restore"));
    }
    if (info->damaged) {
      return fail("run {} is damaged in {} and cannot be resumed; start a new run", number,
                  own.file.string());
    }
    Statement insert(own.database,
                     fmt::format("INSERT INTO restarts (run_number, {}, fingerprint) VALUES "
                                 "({}, 0)",
                                 store::restart_columns, store::places(store::restart_columns, 1)));
    Statement update(own.database,
                     "UPDATE runs SET status = 'running', finished_unix_ms = 0, process_id = ?, "
                     "process_start_ticks = ? WHERE number = ?");
    store::change_state(own.database, number, [&] {
      Writer write(insert);
      write(number);
      store::visit_restart(write, begun);
      store::execute(insert);
      const std::int64_t id = own.database.getLastInsertRowid();
      store::renew_fingerprint(own.database, store::restart_print(), id);
      print = store::fingerprint_of(own.database, store::restart_print(), id);
      Writer start(update);
      start(restart.process_id);
      start(restart.process_start_ticks);
      start(number);
      store::execute(update);
      store::renew_fingerprint(own.database, store::start_print(), number);
    });
    return {};
  });
  if (resumed) own.start = {.uuid = run.uuid, .print = print};
  return resumed;
}

Status Store::add_heat(const RunId& run, const HeatResult& heat) {
  Implementation& own = *implementation_;
  return own.change_run(run, [&](std::int64_t number) -> Status {
    std::optional<std::int64_t> restart;
    if (own.start && own.start->uuid == run.uuid) restart = own.start->print;
    Statement insert(own.database, fmt::format("INSERT INTO heats (run_number, {}, {}) VALUES ({})",
                                               store::heat_columns, store::point_columns(),
                                               store::places(store::point_columns(), 4)));
    Writer write(insert);
    write(number);
    write(heat.heat_index);
    write(static_cast<std::int64_t>(heat.cells.size()));
    write(restart);
    store::visit_point(write, heat.point);
    Statement count(own.database,
                    "UPDATE runs SET heats_stored = heats_stored + 1 WHERE number = ?");
    store::execute(insert);
    const std::int64_t id = own.database.getLastInsertRowid();
    store::change_state(own.database, number, [&] { store::execute(count, number); });
    std::vector<const Cell*> together;
    together.reserve(heat.cells.size());
    for (const Cell& cell : heat.cells) together.push_back(&cell);
    const statistics::HeatBasis basis = store::basis_of(heat.point, together);
    int ordinal = 0;
    for (const Cell& cell : heat.cells)
      add_cell(own.database, id, ordinal++, heat.point, cell, basis);
    return {};
  });
}

Status Store::add_ceilings(const RunId& run, const Ceilings& ceilings) {
  Implementation& own = *implementation_;
  return own.change_run(run, [&](std::int64_t number) -> Status {
    store::change_state(own.database, number, [&] {
      Statement insert(
          own.database,
          fmt::format("INSERT INTO ceilings (run_number, {}, fingerprint) VALUES ({}, 0)",
                      store::ceilings_columns, store::places(store::ceilings_columns, 1)));
      Writer write(insert);
      write(number);
      store::visit_ceilings(write, ceilings);
      store::execute(insert);
      const std::int64_t id = own.database.getLastInsertRowid();
      Statement rate(
          own.database,
          "INSERT INTO copy_rates (ceilings_id, ordinal, working_set_bytes, bytes_per_second) "
          "VALUES (?, ?, ?, ?)");
      for (std::size_t i = 0; i < ceilings.copy.size(); ++i) {
        Writer bind(rate);
        bind(id);
        bind(static_cast<std::int64_t>(i));
        bind(ceilings.copy[i].working_set_bytes);
        bind(ceilings.copy[i].bytes_per_second);
        store::execute(rate);
      }
      store::renew_fingerprint(own.database, store::ceilings_print(), id);
    });
    return {};
  });
}

Status Store::set_progress(const RunId& run, const Progress& progress) {
  Implementation& own = *implementation_;
  // A reader holds its lock for milliseconds; a measurement does not wait longer than that.
  constexpr int patience_ms = 250;
  own.database.setBusyTimeout(std::min(own.busy_timeout_ms, patience_ms));
  Status stored = own.change_run(run, [&](std::int64_t number) -> Status {
    Statement insert(
        own.database,
        fmt::format("INSERT OR REPLACE INTO progress (run_number, {}) VALUES ({})",
                    store::progress_columns, store::places(store::progress_columns, 1)));
    Writer write(insert);
    write(number);
    store::visit_progress(write, progress);
    store::execute(insert);
    return {};
  });
  own.database.setBusyTimeout(own.busy_timeout_ms);
  return stored;
}

Status Store::finish_run(const RunId& run, RunStatus status) {
  Implementation& own = *implementation_;
  return own.change_run(run, [&](std::int64_t number) -> Status {
    Statement update(own.database,
                     "UPDATE runs SET status = ?, finished_unix_ms = ? WHERE number = ?");
    store::change_state(own.database, number, [&] {
      Writer write(update);
      write(status);
      write(store::now_unix_ms());
      write(number);
      store::execute(update);
    });
    return {};
  });
}

Status Store::remove_run(const RunId& run) {
  Implementation& own = *implementation_;
  return own.change_run(run, [&](std::int64_t number) -> Status {
    const Result<RunInfo> info = find_run(run.uuid);
    if (!info) return tl::unexpected(info.error());
    if (Status free = store::not_being_measured(*info, "removed"); !free) return free;
    Statement erase(own.database, "DELETE FROM runs WHERE number = ?");
    store::execute(erase, number);
    return {};
  });
}

// The user's texts for runs, and the trash.

namespace {

void set_trashed(store::Database& database, const RunInfo& run, std::int64_t since_unix_ms) {
  store::change_state(database, run.number, [&] {
    Statement update(database, "UPDATE runs SET trashed_unix_ms = ? WHERE number = ?");
    store::execute(update, since_unix_ms, run.number);
  });
}

}  // namespace

std::vector<std::string> tag_words(std::string_view tag) {
  constexpr std::string_view between = " ,\t\n\r";
  std::vector<std::string> words;
  while (!tag.empty()) {
    const auto end = std::min(tag.find_first_of(between), tag.size());
    std::string word(tag.substr(0, end));
    tag.remove_prefix(std::min(end + 1, tag.size()));
    if (!word.empty() && std::ranges::find(words, word) == words.end())
      words.push_back(std::move(word));
  }
  return words;
}

std::string tag_of(const std::vector<std::string>& words) {
  std::string tag;
  for (const std::string& word : words) tag += tag.empty() ? word : " " + word;
  return tag;
}

Status Store::describe_run(const RunId& run, const RunWords& words) {
  Implementation& own = *implementation_;
  return own.change([&]() -> Status {
    const Result<std::int64_t> number = store::number_of(own.database, run);
    if (!number) return tl::unexpected(number.error());
    Statement update(
        own.database,
        "UPDATE runs SET name = coalesce(?, name), tag = coalesce(?, tag), note = coalesce(?, "
        "note) WHERE number = ?");
    store::change_state(own.database, *number, [&] {
      Writer write(update);
      write(words.name);
      write(words.tag);
      write(words.note);
      write(*number);
      store::execute(update);
    });
    return {};
  });
}

Status Store::put_in_trash(const std::vector<RunId>& runs) {
  Implementation& own = *implementation_;
  return own.change([&]() -> Status {
    const std::int64_t now = store::now_unix_ms();
    for (const RunId& run : runs) {
      const Result<RunInfo> info = find_run(run.uuid);
      if (!info) return tl::unexpected(info.error());
      if (Status free = store::not_being_measured(*info, "put in the trash"); !free) return free;
      if (is_in_trash(*info)) continue;
      set_trashed(own.database, *info, now);
    }
    return {};
  });
}

Status Store::take_from_trash(const std::vector<RunId>& runs) {
  Implementation& own = *implementation_;
  return own.change([&]() -> Status {
    for (const RunId& run : runs) {
      const Result<RunInfo> info = find_run(run.uuid);
      if (!info) return tl::unexpected(info.error());
      set_trashed(own.database, *info, 0);
    }
    return {};
  });
}

Result<int> Store::empty_trash() {
  Implementation& own = *implementation_;
  int removed = 0;
  const Status done = own.change([&]() -> Status {
    removed =
        static_cast<int>(store::first_integer(own.database,
                                              "SELECT count(*) FROM runs WHERE trashed_unix_ms <> "
                                              "0"));
    own.database.exec("DELETE FROM runs WHERE trashed_unix_ms <> 0");
    return {};
  });
  if (!done) return tl::unexpected(done.error());
  return removed;
}

// Checks whether the process that wrote a run is still alive: its number may now belong to another
// process.

namespace {

/// Start time (field 22 of /proc/PID/stat, clock ticks since boot) of a process that is not a
/// zombie.
std::optional<std::uint64_t> start_ticks(const std::string& process) {
  std::ifstream file("/proc/" + process + "/stat");
  std::stringstream content;
  content << file.rdbuf();
  const std::string text = content.str();
  // Field 2 is the program's name in parentheses and may itself contain blanks and parentheses.
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos || name_end + 2 >= text.size()) return std::nullopt;
  const char state = text[name_end + 2];
  if (state == 'Z' || state == 'X') return std::nullopt;
  std::size_t at = name_end + 2;
  for (int field = 3; field < 22; ++field) {
    at = text.find(' ', at);
    if (at == std::string::npos) return std::nullopt;
    ++at;
  }
  std::uint64_t ticks = 0;
  const auto parsed = std::from_chars(text.data() + at, text.data() + text.size(), ticks);
  return parsed.ec == std::errc() ? std::optional(ticks) : std::nullopt;
}

}  // namespace

bool is_alive(std::int64_t process_id, std::uint64_t process_start_ticks) {
  if (process_id <= 0) return false;
  const std::optional<std::uint64_t> ticks = start_ticks(std::to_string(process_id));
  return ticks && *ticks == process_start_ticks;
}

std::uint64_t own_process_start_ticks() {
  return start_ticks("self").value_or(0);
}

}  // namespace attnscope
