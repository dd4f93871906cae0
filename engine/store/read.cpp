// SPDX-License-Identifier: Apache-2.0
//
// The reading functions of Store.

#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <stdexcept>

#include "engine/store/fields.h"
#include "engine/store/implementation.h"

namespace attnscope {
namespace {

using store::Database;
using store::Reader;
using store::Statement;
using store::Transaction;

/// All of these queries use only indices.
constexpr std::string_view counts =
    "(SELECT count(*) FROM heats WHERE run_number = number), "
    "(SELECT count(*) FROM heats CROSS JOIN cells ON cells.heat_id = heats.id "
    "WHERE run_number = number AND cells.status IN ('wrong', 'crashed', 'timeout')), "
    "EXISTS (SELECT 1 FROM heats WHERE run_number = number) AND NOT EXISTS "
    "(SELECT 1 FROM heats CROSS JOIN cells ON cells.heat_id = heats.id "
    "WHERE run_number = number AND cells.status = 'ok')";

constexpr std::array<std::string_view, 4> status_names{"running", "done", "cancelled",
                                                       "interrupted"};

/// The columns of runs for read_run, in its order, followed by counts.
const std::string& run_query() {
  static const std::string text = fmt::format("SELECT number, uuid, {}, {}, {} FROM runs",
                                              store::run_columns, store::state_columns, counts);
  return text;
}

std::string_view condition_of(RunsOf which) {
  switch (which) {
    case RunsOf::list:
      return "WHERE trashed_unix_ms = 0";
    case RunsOf::trash:
      return "WHERE trashed_unix_ms <> 0";
    case RunsOf::both:
      break;
  }
  return "";
}

void set_status(RunInfo& info, std::string_view status) {
  const auto known = std::ranges::find(status_names, status);
  if (known == status_names.end()) info.damaged = true;
  info.status = known == status_names.end() ? RunStatus::interrupted
                                            : static_cast<RunStatus>(known - status_names.begin());
  if (info.status == RunStatus::running &&
      !is_alive(info.start.process_id, info.start.process_start_ticks)) {
    info.status = RunStatus::interrupted;
  }
}

RunInfo read_run(const Database& database, const Statement& row) {
  RunInfo info;
  Reader read(row, 0);
  std::string status;
  read(info.number);
  read(info.id.uuid);
  store::visit_run(read, info.start);
  store::visit_state(read, status, info);
  read(info.heats_done);
  read(info.cells_failed);
  read(info.nothing_measured);
  info.damaged = !store::matches(database, store::start_print(), info.number);
  set_status(info, status);
  return info;
}

/// Cells of one heat must be adjacent.
void summarise_heats(std::vector<StoredCell>& cells) {
  for (auto begin = cells.begin(); begin != cells.end();) {
    const auto end = std::find_if(begin, cells.end(), [&](const StoredCell& cell) {
      return cell.heat_number != begin->heat_number;
    });
    std::vector<const Cell*> together;
    for (auto cell = begin; cell != end; ++cell)
      if (!cell->damaged) together.push_back(&cell->cell);
    const statistics::HeatBasis basis = store::basis_of(begin->point, together);
    for (; begin != end; ++begin) {
      if (begin->damaged) continue;
      begin->basis = basis;
      begin->summary = statistics::summarise(observations_of(begin->cell, begin->point), basis);
    }
  }
}

/// Validates the values: a fingerprint only proves that they are unchanged, and anyone can compute
/// one.
void validate_values(StoredCell& stored) {
  if (stored.damaged) return;
  stored.impossible = why_impossible(stored.point, stored.cell);
  if (stored.impossible.empty() && stored.cell.status == CellStatus::ok)
    stored.impossible = why_unproven(stored.cell);
  stored.damaged = !stored.impossible.empty();
}

/// Ceilings that match their fingerprints and have possible values.
std::vector<Ceilings> sound_ceilings(const Database& database, const RunId& run) {
  Statement query(database, fmt::format("SELECT id, {} FROM ceilings WHERE run_number = (SELECT "
                                        "number FROM runs WHERE uuid = ?) ORDER BY id",
                                        store::ceilings_columns));
  Statement rates(
      database,
      "SELECT working_set_bytes, bytes_per_second FROM copy_rates WHERE ceilings_id = ? "
      "ORDER BY ordinal");
  query.bind(1, run.uuid);
  std::vector<Ceilings> result;
  while (query.executeStep()) {
    Ceilings ceilings;
    Reader read(query, 0);
    std::int64_t id = 0;
    read(id);
    store::visit_ceilings(read, ceilings);
    rates.reset();
    rates.bind(1, id);
    while (rates.executeStep())
      ceilings.copy.push_back({rates.getColumn(0).getInt64(), store::real_at(rates, 1)});
    if (store::matches(database, store::ceilings_print(), id) && is_possible(ceilings))
      result.push_back(ceilings);
  }
  return result;
}

/// Oldest first.
std::vector<Restart> restarts_of(const Database& database, const RunId& run) {
  Statement query(database, fmt::format("SELECT id, {} FROM restarts WHERE run_number = (SELECT "
                                        "number FROM runs WHERE uuid = ?) ORDER BY id",
                                        store::restart_columns));
  query.bind(1, run.uuid);
  std::vector<Restart> result;
  while (query.executeStep()) {
    Restart& restart = result.emplace_back();
    Reader read(query, 0);
    std::int64_t id = 0;
    read(id);
    store::visit_restart(read, restart);
    restart.damaged = !store::matches(database, store::restart_print(), id);
  }
  return result;
}

/// Counts missing and damaged data of the run, except for its cells' own fingerprints.
void count_losses(const Database& database, RunInfo& run) {
  run.damaged_state = !store::matches(database, store::state_print(), run.number);
  run.damaged_heats = std::max(0, std::abs(run.heats_stored - run.heats_done) - missing_heats(run));
  run.damaged_restarts = std::ranges::count(restarts_of(database, run.id), true, &Restart::damaged);
  const auto total = [&](const char* sql) {
    Statement query(database, sql);
    query.bind(1, run.number);
    return query.executeStep() ? query.getColumn(0).getInt64() : 0;
  };
  run.damaged_ceilings = total("SELECT count(*) FROM ceilings WHERE run_number = ?") -
                         static_cast<std::int64_t>(sound_ceilings(database, run.id).size());
  run.missing_cells =
      std::abs(total("SELECT total(cell_count) - (SELECT count(*) FROM cells WHERE heat_id IN "
                     "(SELECT id FROM heats WHERE run_number = ?1)) "
                     "FROM heats WHERE run_number = ?1"));
}

std::string list_of(const std::vector<RunInfo>& runs) {
  constexpr std::size_t most = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(runs.size(), most); ++i) {
    text += fmt::format("{}{} ({})", i == 0 ? "" : ", ", runs[i].number, title_of(runs[i]));
  }
  return runs.size() > most ? text + ", ..." : text;
}

}  // namespace

const std::string& title_of(const RunInfo& run) {
  return run.name.empty() ? run.start.sweep_name : run.name;
}

std::string damage_in_words(const StoredCell& cell) {
  return cell.impossible.empty()
             ? "its stored values do not match their fingerprint"
             : fmt::format(
                   "its stored values are impossible although they match their fingerprint: {}",
                   cell.impossible);
}

std::string_view name_of(RunStatus status) {
  return status_names.at(static_cast<std::size_t>(status));
}

namespace store {

Result<std::int64_t> number_of(const Database& database, const RunId& run) {
  // The second time without the index, which may be the damaged part.
  for (const char* how : {"", "NOT INDEXED"}) {
    Statement query(database, fmt::format("SELECT number FROM runs {} WHERE uuid = ?", how));
    query.bind(1, run.uuid);
    if (query.executeStep()) return query.getColumn(0).getInt64();
  }
  return fail("run {} is no longer in the database; attnscope list runs shows its runs", run.uuid);
}

std::string new_uuid() {
  std::array<unsigned char, 16> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    throw std::runtime_error("the system provides no random numbers");
  }
  // RFC 4122, section 4.4: version 4, variant 10.
  bytes[6] = static_cast<unsigned char>((bytes[6] & 0x0F) | 0x40);
  bytes[8] = static_cast<unsigned char>((bytes[8] & 0x3F) | 0x80);
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text.push_back('-');
    text += fmt::format("{:02x}", bytes[i]);
  }
  return text;
}

std::int64_t now_unix_ms() {
  using std::chrono::milliseconds;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<milliseconds>(now).count();
}

}  // namespace store

Status Store::Implementation::writable_now() const {
  if (!writable) {
    return fail("{} was opened for reading only{}", file.string(),
                store::is_exported(file) ? "; import it into a database to add to it" : "");
  }
  if (is_at_its_place()) return {};
  return fail("the database {} was moved, deleted or replaced since it was opened; open it again",
              file.string());
}

bool Store::Implementation::is_at_its_place() const {
  std::error_code none;
  return file_id(file) == id && std::filesystem::file_size(file, none) > 0;
}

Store::Store(std::unique_ptr<Implementation> implementation)
    : implementation_(std::move(implementation)) {}
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&& other) noexcept = default;
Store::~Store() = default;

void Store::set_busy_timeout(std::chrono::milliseconds timeout) {
  implementation_->busy_timeout_ms = static_cast<int>(timeout.count());
  implementation_->database.setBusyTimeout(implementation_->busy_timeout_ms);
}

const std::filesystem::path& Store::file() const {
  return implementation_->file;
}

const std::string& Store::warning() const {
  return implementation_->warning;
}

Result<std::vector<RunInfo>> Store::runs(RunsOf which) const {
  return store::guarded(implementation_->file, [&]() -> Result<std::vector<RunInfo>> {
    Statement query(implementation_->database,
                    fmt::format("{} {} ORDER BY number DESC", run_query(), condition_of(which)));
    std::vector<RunInfo> runs;
    while (query.executeStep()) {
      runs.push_back(read_run(implementation_->database, query));
      runs.back().file = implementation_->file;
    }
    return runs;
  });
}

Result<std::vector<RunInfo>> Store::run_list(RunsOf which) const {
  return store::guarded(implementation_->file, [&]() -> Result<std::vector<RunInfo>> {
    // The index run_list contains all these columns, so that the long texts are not read; by
    // default SQLite would scan the table, whose rows are already in the requested order.
    Statement query(
        implementation_->database,
        fmt::format(
            "SELECT number, uuid, sweep_name, device, heats_planned, process_id, "
            "process_start_ticks, "
            "status, tag, note, started_unix_ms, finished_unix_ms, name, trashed_unix_ms, {} "
            "FROM runs INDEXED BY run_list {} ORDER BY number DESC",
            counts, condition_of(which)));
    std::vector<RunInfo> runs;
    while (query.executeStep()) {
      RunInfo& info = runs.emplace_back();
      Reader read(query, 0);
      std::string status;
      store::visit_all(read, info.number, info.id.uuid, info.start.sweep_name, info.start.device,
                       info.start.heats_planned, info.start.process_id,
                       info.start.process_start_ticks, status, info.tag, info.note,
                       info.started_unix_ms, info.finished_unix_ms, info.name, info.trashed_unix_ms,
                       info.heats_done, info.cells_failed);
      info.file = implementation_->file;
      set_status(info, status);
    }
    return runs;
  });
}

Result<RunInfo> Store::find_run(std::string_view text) const {
  std::int64_t number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_number = parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
  return store::guarded(implementation_->file, [&]() -> Result<RunInfo> {
    const Database& database = implementation_->database;
    const std::string words(text);
    const auto matching = [&](const char* condition, auto... values) {
      Statement query(database, fmt::format("{} WHERE {}", run_query(), condition));
      SQLite::bind(query, values...);
      std::vector<RunInfo> matches;
      while (query.executeStep()) matches.push_back(read_run(database, query));
      return matches;
    };
    std::vector<RunInfo> matches;
    if (text == "last") {
      matches = matching("number = (SELECT max(number) FROM runs WHERE trashed_unix_ms = 0)");
    } else {
      if (is_number) matches = matching("number = ?", number);
      // A UUID contains only digits, a to f and dashes.
      if (matches.empty() && text.size() >= 4) {
        matches = matching("uuid >= ? AND uuid < ? || 'g'", words, words);
      }
      if (matches.empty() && !text.empty()) matches = matching("name = ?", words);
      if (matches.empty() && !text.empty())
        matches = matching("sweep_name = ? AND trashed_unix_ms = 0", words);
    }
    if (matches.size() == 1) {
      RunInfo& found = matches.front();
      found.file = implementation_->file;
      count_losses(database, found);
      return std::move(found);
    }
    const Result<std::vector<RunInfo>> all = run_list();
    if (!all) return tl::unexpected(all.error());
    if (all->empty() && matches.empty()) {
      const Result<std::vector<RunInfo>> trash = run_list(RunsOf::trash);
      if (!trash) return tl::unexpected(trash.error());
      if (!trash->empty()) {
        return fail(
            "every run of {} is in the trash; attnscope trash --restore RUN{} restores one: {}",
            implementation_->file.string(), database_option(implementation_->file),
            list_of(*trash));
      }
      return fail("{} contains no runs yet; attnscope run creates one",
                  implementation_->file.string());
    }
    if (matches.size() > 1) {
      return fail("{} runs are called '{}'; give a run's number or the start of its UUID: {}",
                  matches.size(), text, list_of(matches));
    }
    return fail("there is no run '{}' in {}; name 'last', a number or the start of a UUID: {}",
                text, implementation_->file.string(), list_of(*all));
  });
}

Result<std::vector<StoredCell>> Store::cells(const RunId& run, bool with_samples) const {
  Implementation& own = *implementation_;
  return store::guarded(own.file, [&]() -> Result<std::vector<StoredCell>> {
    const Transaction snapshot(own.database, SQLite::TransactionBehavior::DEFERRED);
    const Result<std::int64_t> number = store::number_of(own.database, run);
    if (!number) return tl::unexpected(number.error());
    Statement query(
        own.database,
        fmt::format("SELECT cells.id, heats.id, cells.fingerprint, {} FROM runs JOIN heats ON "
                    "heats.run_number = number JOIN cells ON cells.heat_id = heats.id WHERE number "
                    "= ? ORDER BY heats.id, cells.ordinal",
                    store::printed_cell_columns()));
    Statement samples(own.database,
                      fmt::format(fmt::runtime(store::cell_print().queries.back()), "main"));
    query.bind(1, *number);
    std::vector<StoredCell> result;
    while (query.executeStep()) {
      StoredCell& stored = result.emplace_back();
      constexpr int first_printed = 3;
      constexpr int before_point = 4;  // uuid, heat_index, cell_count, restart
      Reader read(query, 0);
      std::int64_t print = 0;
      store::visit_all(read, stored.cell_number, stored.heat_number, print);
      read.skip(before_point);
      store::visit_point(read, stored.point);
      read.skip(1);  // ordinal
      store::visit_cell(read, stored.cell, stored.summary);
      Fingerprint found;
      store::add_row(found, query, first_printed);
      samples.reset();
      samples.bind(1, stored.cell_number);
      while (samples.executeStep()) {
        store::add_row(found, samples);
        if (!with_samples) continue;
        Reader sample(samples, 1);  // after ordinal
        bool outlier = false;
        store::visit_sample(sample, stored.cell.samples.emplace_back());
        sample(outlier);
        stored.outliers.push_back(outlier);
      }
      stored.damaged = read.damaged() || print != found.value();
      validate_values(stored);
    }
    if (with_samples) summarise_heats(result);
    return result;
  });
}

Result<std::vector<Ceilings>> Store::ceilings(const RunId& run) const {
  Implementation& own = *implementation_;
  return store::guarded(own.file, [&]() -> Result<std::vector<Ceilings>> {
    const Transaction snapshot(own.database, SQLite::TransactionBehavior::DEFERRED);
    return sound_ceilings(own.database, run);
  });
}

Result<std::vector<Restart>> Store::restarts(const RunId& run) const {
  return store::guarded(implementation_->file, [&]() -> Result<std::vector<Restart>> {
    return restarts_of(implementation_->database, run);
  });
}

Result<std::map<std::int64_t, std::optional<std::size_t>>> Store::starts_of_heats(
    const RunId& run) const {
  using Starts = std::map<std::int64_t, std::optional<std::size_t>>;
  Implementation& own = *implementation_;
  return store::guarded(own.file, [&]() -> Result<Starts> {
    const Transaction snapshot(own.database, SQLite::TransactionBehavior::DEFERRED);
    const Result<std::int64_t> number = store::number_of(own.database, run);
    if (!number) return tl::unexpected(number.error());
    std::map<std::int64_t, std::size_t> places{{0, 0}};  // index of starts by fingerprint
    Statement restarts(own.database,
                       "SELECT fingerprint FROM restarts WHERE run_number = ? ORDER BY id");
    restarts.bind(1, *number);
    for (std::size_t place = 1; restarts.executeStep(); ++place)
      places.emplace(restarts.getColumn(0).getInt64(), place);
    Statement heats(own.database, "SELECT id, restart FROM heats WHERE run_number = ? ORDER BY id");
    heats.bind(1, *number);
    Starts starts;
    while (heats.executeStep()) {
      Reader read(heats, 0);
      std::int64_t id = 0;
      std::optional<std::int64_t> restart;
      store::visit_all(read, id, restart);
      const auto place = restart ? places.find(*restart) : places.end();
      starts[id] = place == places.end() ? std::nullopt : std::optional(place->second);
    }
    return starts;
  });
}

Result<std::optional<Progress>> Store::progress(const RunId& run) const {
  return store::guarded(implementation_->file, [&]() -> Result<std::optional<Progress>> {
    Statement query(implementation_->database,
                    fmt::format("SELECT {} FROM progress WHERE run_number = (SELECT number FROM "
                                "runs WHERE uuid = ?)",
                                store::progress_columns));
    query.bind(1, run.uuid);
    if (!query.executeStep()) return std::optional<Progress>();
    Progress progress;
    Reader read(query, 0);
    store::visit_progress(read, progress);
    return std::optional(progress);
  });
}

Result<std::vector<std::string>> Store::finished_points(const RunId& run) const {
  return store::guarded(implementation_->file, [&]() -> Result<std::vector<std::string>> {
    Statement query(implementation_->database,
                    fmt::format("SELECT {} FROM heats WHERE run_number = (SELECT number FROM runs "
                                "WHERE uuid = ?) ORDER BY id",
                                store::point_columns()));
    query.bind(1, run.uuid);
    std::vector<std::string> keys;
    while (query.executeStep()) {
      HeatPoint point;
      Reader read(query, 0);
      store::visit_point(read, point);
      if (!read.damaged()) keys.push_back(point_key(point));
    }
    return keys;
  });
}

Result<std::int64_t> Store::data_version() const {
  return store::guarded(implementation_->file, [&]() -> Result<std::int64_t> {
    // SQLite's number does not count this connection's own commits.
    return store::first_integer(implementation_->database, "PRAGMA data_version") +
           implementation_->database.getTotalChanges();
  });
}

}  // namespace attnscope
