// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <vector>

#include "base/sentences.h"
#include "engine/store/database.h"
#include "engine/store/implementation.h"
#include "engine/store/location.h"
#include "engine/store/store.h"

namespace attnscope {

namespace store {
namespace {

/// The folder of the file: created for the default path, otherwise it must exist.
Status prepare_folder(const std::filesystem::path& file) {
  const std::filesystem::path folder = std::filesystem::absolute(file).parent_path();
  std::error_code failed;
  if (std::filesystem::is_directory(folder, failed)) return {};
  if (file != default_database()) {
    return fail("the folder {} of the database does not exist; create it, or name another file",
                folder.string());
  }
  std::filesystem::create_directories(folder, failed);
  if (failed) {
    return fail("the folder {} for the database cannot be created ({}); use a database elsewhere",
                folder.string(), failed.message());
  }
  return {};
}

/// SQLite writes its journal next to the file, so both must be writable.
Status check_writable(const std::filesystem::path& file, bool exists) {
  const std::filesystem::path folder = std::filesystem::absolute(file).parent_path();
  const bool file_refused = exists && access(file.c_str(), W_OK) != 0;
  if (!file_refused && access(folder.c_str(), W_OK | X_OK) == 0) return {};
  return fail("{} cannot be written ({}); make it writable, or use another database",
              file_refused ? file.string() : "the folder " + folder.string(), system_reason(errno));
}

Database readable(const std::string& uri) {
  Database database = open_database(uri, SQLite::OPEN_READONLY);
  database.setBusyTimeout(busy_timeout_ms);
  static_cast<void>(first_integer(database, "SELECT count(*) FROM sqlite_master"));
  return database;
}

/// Rolls back a change whose writer did not finish. Requires write access.
void roll_back(const std::filesystem::path& file) {
  Database database = open_database(uri_of(file, ""), SQLite::OPEN_READWRITE);
  database.setBusyTimeout(busy_timeout_ms);
  static_cast<void>(first_integer(database, "SELECT count(*) FROM sqlite_master"));
}

/// A view executes its author's SQL, possibly without end, and so does a trigger at every write.
bool has_code(const Database& database) {
  return first_integer(database,
                       "SELECT count(*) FROM sqlite_master WHERE type NOT IN ('table', 'index')") >
         0;
}

/// The version after unfinished changes were rolled back; 0 if the file's creation was unfinished.
Result<int> version_of(const Database& database, const std::filesystem::path& file) {
  if (has_code(database)) {
    return fail(
        "{} has views or triggers, which no database of AttnScope has; do not trust it, and use "
        "another database",
        file.string());
  }
  const auto version = static_cast<int>(first_integer(database, "PRAGMA user_version"));
  std::error_code none;
  const bool is_new = version == 0 && std::filesystem::file_size(file, none) == 0;
  if (!is_readable(version) && !is_new) return refuse_version(file, version);
  return version;
}

OpenedDatabase open_for_reading(const std::filesystem::path& file, bool is_older) {
  // SQLite would create a log next to a file of the previous version, which uses one.
  std::error_code none;
  const bool is_at_rest =
      is_older && !has_journal(file) && !std::filesystem::exists(file.string() + "-wal", none);
  std::string uri = uri_of(file, is_at_rest ? "mode=ro&immutable=1" : "mode=ro");
  try {
    return {readable(uri), uri};
  } catch (const DatabaseError&) {
    if (!has_journal(file)) throw;
  }
  roll_back(file);
  return {readable(uri), uri};
}

}  // namespace

}  // namespace store

Result<Store> Store::open(const std::filesystem::path& named, Mode mode) {
  using namespace store;
  if (named.empty()) return fail("the name of the database is empty; name a file");
  std::error_code failed;
  // SQLite keeps its files next to the database itself, not next to a link to it.
  const std::filesystem::path after = std::filesystem::is_symlink(named, failed)
                                          ? std::filesystem::canonical(named, failed)
                                          : named;
  const std::filesystem::path& file = after.empty() ? named : after;
  const bool exists = std::filesystem::exists(file, failed);
  const bool writing = mode != Mode::read_only && !is_exported(file);
  if (!exists && (mode != Mode::read_write || !writing)) {
    return fail(
        "there is no file {}; {}", file.string(),
        is_exported(file) ? "check its name" : "attnscope run creates it, or use another database");
  }
  FileHeader header{.empty = true};
  if (exists) {
    const Result<FileHeader> inspected = inspect(file);
    if (!inspected) return tl::unexpected(inspected.error());
    header = *inspected;
  }
  return guarded(file, [&]() -> Result<Store> {
    const auto refuse_empty = [&] {
      return fail("{} is empty; attnscope run fills it, or name another file", file.string());
    };
    if (header.packed || !writing) {
      if (header.empty) return refuse_empty();
      auto opened =
          header.packed
              ? read_packed(file)
              : Result<OpenedDatabase>(open_for_reading(file, is_older(header.user_version)));
      if (!opened) return tl::unexpected(opened.error());
      const Result<int> version = version_of(opened->database, file);
      if (!version) return tl::unexpected(version.error());
      if (*version == 0) return refuse_empty();
      if (is_older(*version)) *opened = converted(opened->uri);
      return Store(std::make_unique<Implementation>(
          Implementation{file, std::move(opened->uri), std::move(opened->database), false, {}}));
    }
    if (std::error_code none; std::filesystem::hard_link_count(file, none) > 1 && !none) {
      return fail(
          "{} has a second name (a hard link), and writing it under both names damages it; remove "
          "one of them, or write to a copy made with cp",
          file.string());
    }
    if (const Status ready = prepare_folder(file); !ready) return tl::unexpected(ready.error());
    if (const Status ready = check_writable(file, exists); !ready) {
      return tl::unexpected(ready.error());
    }
    Database database = open_or_create(file);
    database.setBusyTimeout(busy_timeout_ms);
    if (is_read_only(database)) {
      return fail("{} cannot be written; make it writable, or use another database", file.string());
    }
    const Result<int> version = version_of(database, file);
    if (!version) return tl::unexpected(version.error());
    if (is_older(*version)) convert_in_place(database, file);
    prepare_for_writing(database);
    if (*version == 0) create_schema(database);
    std::string warning;
    if (is_on_network(file)) {
      warning = fmt::format(
          "{} is on a network file system: only one process at a time may write it, and slowly; "
          "--db with a file on a local disk avoids that",
          file.string());
    }
    return Store(std::make_unique<Implementation>(Implementation{
        file, uri_of(file, "mode=ro"), std::move(database), true, std::move(warning)}));
  });
}

// The full check: SQLite's own, which does not verify values, then every fingerprint.

namespace {

using store::Database;

/// Number of damaged or missing cells, heats, restarts and ceilings of one run, plus the run
/// itself.
Result<std::int64_t> damage_of(const Store& store, const RunInfo& run) {
  const Result<std::vector<StoredCell>> cells = store.cells(run.id, true);
  if (!cells) return tl::unexpected(cells.error());
  std::int64_t damaged = run.damaged_ceilings + run.missing_cells + run.damaged_heats +
                         run.damaged_restarts + (run.damaged ? 1 : 0) +
                         (run.damaged_state ? 1 : 0) + missing_heats(run);
  for (const StoredCell& cell : *cells) damaged += cell.damaged ? 1 : 0;
  return damaged;
}

/// "run 3", "runs 3, 4 and 7", "runs 3, 4, 5 and 12 more".
std::string runs_in_words(const std::vector<std::int64_t>& numbers) {
  constexpr std::size_t most = 6;
  std::string text = numbers.size() == 1 ? "run " : "runs ";
  for (std::size_t i = 0; i < numbers.size() && i < most; ++i) {
    const bool last = i + 1 == numbers.size();
    text += fmt::format("{}{}", i == 0 ? "" : last ? " and " : ", ", numbers[i]);
  }
  if (numbers.size() > most) text += fmt::format(" and {} more", numbers.size() - most);
  return text;
}

/// How to save the undamaged runs.
std::string rescue_command(const std::vector<std::int64_t>& sound,
                           const std::filesystem::path& file) {
  const std::string database = database_option(file);
  if (sound.empty()) {
    return fmt::format("attnscope export RUN{} -o FILE.attn saves what can still be read",
                       database);
  }
  constexpr std::size_t most = 12;
  std::string runs;
  for (std::size_t i = 0; i < sound.size() && i < most; ++i) runs += fmt::format("{} ", sound[i]);
  if (sound.size() > most) runs = "RUN... ";
  return fmt::format(
      "attnscope export {}-o FILE.attn{} saves {}, and attnscope import FILE.attn --db NEW.db "
      "imports the file into a new database",
      runs, database, sound.size() > most ? "the others" : runs_in_words(sound));
}

}  // namespace

Status Store::check_integrity(const std::atomic<bool>* stop,
                              std::vector<RunId>* damaged_runs) const {
  const Implementation& own = *implementation_;
  const std::string name = own.file.string();
  const auto stopped = [&] { return stop != nullptr && stop->load(std::memory_order_relaxed); };
  struct Handler {
    const Database& database;
    ~Handler() { store::stop_when(database, nullptr); }
  } const handler{own.database};
  store::stop_when(own.database, stop);

  const Status checked = store::guarded(own.file, [&]() -> Status {
    std::string of_the_file = store::first_text(own.database, "PRAGMA integrity_check(1)");
    if (of_the_file == store::sound_words) of_the_file.clear();
    if (of_the_file.empty() &&
        store::Statement(own.database, "PRAGMA foreign_key_check").executeStep()) {
      of_the_file = "rows without their run or heat";
    }
    const Result<std::vector<RunInfo>> all = run_list(RunsOf::both);
    if (!all) return tl::unexpected(all.error());
    std::vector<std::int64_t> damaged, sound;
    for (auto listed = all->rbegin(); listed != all->rend(); ++listed) {
      if (stopped()) break;
      const Result<RunInfo> run = find_run(listed->id.uuid);
      const Result<std::int64_t> damage = run ? damage_of(*this, *run) : Result<std::int64_t>(1);
      const bool is_sound = damage && *damage == 0;
      (is_sound ? sound : damaged).push_back(listed->number);
      if (!is_sound && !stopped() && damaged_runs != nullptr) damaged_runs->push_back(listed->id);
    }
    if (!damaged.empty()) {
      return fail("{} in the database {} {} damaged, and damaged data is marked; {}",
                  runs_in_words(damaged), name, damaged.size() == 1 ? "is" : "are",
                  rescue_command(sound, own.file));
    }
    if (!of_the_file.empty()) {
      constexpr std::size_t longest = 200;
      return fail("the database {} is damaged ({}); {}", name, in_a_sentence(of_the_file, longest),
                  rescue_command(sound, own.file));
    }
    return {};
  });
  if (stopped())
    return fail("the check of {} was stopped before it finished; start it again", name);
  return checked;
}

}  // namespace attnscope
