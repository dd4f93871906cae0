// SPDX-License-Identifier: Apache-2.0
//
// The modifying functions of Store: each is one transaction.

#include <fmt/format.h>

#include <algorithm>

#include "engine/store/fields.h"
#include "engine/store/implementation.h"

namespace attnscope {
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
  return fail("run {} is being measured by process {} and cannot be {}; cancel that first",
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
      return fail("run {} is damaged in {} and cannot be resumed; start it anew", number,
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

}  // namespace attnscope
