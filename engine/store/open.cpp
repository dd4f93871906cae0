// SPDX-License-Identifier: Apache-2.0
#include "engine/store/open.h"

#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <string>
#include <string_view>

#include "base/sentences.h"
#include "engine/store/fields.h"
#include "engine/store/implementation.h"
#include "engine/store/location.h"
#include "engine/store/packed_database.h"
#include "engine/store/schema.h"
#include "engine/store/store.h"
#include "engine/store/write_ahead_log.h"

namespace attnscope {
namespace store {
namespace {

int version_of(const Database& database) {
  return static_cast<int>(first_integer(database, "PRAGMA user_version"));
}

/// The folder of the file: created for the default path, otherwise it must exist.
Status prepare_folder(const std::filesystem::path& file) {
  const std::filesystem::path folder = std::filesystem::absolute(file).parent_path();
  std::error_code failed;
  if (std::filesystem::is_directory(folder, failed)) return {};
  if (file != default_database()) {
    return fail("the folder {} of the database does not exist; make it, or name another file",
                folder.string());
  }
  std::filesystem::create_directories(folder, failed);
  if (failed) {
    return fail("the folder {} for the database cannot be made ({}); use a database elsewhere",
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

/// SQLite does not wait for other processes here, which may also be creating the log.
void begin_log(Database& database) {
  constexpr int pause_ms = 5;
  for (int waited_ms = 0;; waited_ms += pause_ms) {
    try {
      static_cast<void>(store::first_text(database, "PRAGMA journal_mode = WAL"));
      return;
    } catch (const DatabaseError& error) {
      if (error.getErrorCode() != SQLITE_BUSY || waited_ms >= busy_timeout_ms) throw;
      sqlite3_sleep(pause_ms);
    }
  }
}

/// WAL requires shared memory between its users, which network file systems do not provide.
std::string choose_journal(Database& database, const std::filesystem::path& file) {
  if (!is_on_network(file)) {
    database.exec("PRAGMA synchronous = FULL");
    database.exec("PRAGMA foreign_keys = ON");
    begin_log(database);
    return {};
  }
  prepare_single_file(database);
  return fmt::format(
      "{} is on a network file system: only one process at a time may write it, and slowly; --db "
      "with a file on a local disk avoids that",
      file.string());
}

Database readable(const std::string& uri) {
  Database database = open_database(uri, SQLite::OPEN_READONLY);
  database.setBusyTimeout(busy_timeout_ms);
  static_cast<void>(first_integer(database, "SELECT count(*) FROM sqlite_master"));
  return database;
}

/// Rolls back an interrupted change. Requires write access.
void roll_back(const std::filesystem::path& file) {
  Database database = open_database(uri_of(file, ""), SQLite::OPEN_READWRITE);
  database.setBusyTimeout(busy_timeout_ms);
  static_cast<void>(first_integer(database, "SELECT count(*) FROM sqlite_master"));
}

/// A reader needs the write-ahead log's shared memory. If the folder is not writable and there is
/// neither a log nor a journal, the file cannot change and can be read without it. The same applies
/// if this process cannot create that memory, there is none of another process, and the log is
/// empty.
std::pair<Database, std::string> open_for_reading(const std::filesystem::path& file) {
  std::string uri = uri_of(file, "mode=ro");
  try {
    return {readable(uri), uri};
  } catch (const DatabaseError&) {
    const bool needs_log = is_kept_from_shared_memory() ? has_filled_log(file) : has_log(file);
    if (!has_journal(file) && needs_log) throw;
  }
  if (has_journal(file)) {
    roll_back(file);
    return {readable(uri), uri};
  }
  uri = uri_of(file, "mode=ro&immutable=1");
  return {readable(uri), uri};
}

/// A warning about a run with a live driver in a database that had no log before this program
/// opened it: the driver writes to another file, and this one is a copy. Empty: no warning.
std::string lacks_log(const Database& database, const std::filesystem::path& file) {
  Statement running(
      database,
      "SELECT number, process_id, process_start_ticks FROM runs WHERE status = 'running'");
  while (running.executeStep()) {
    const auto ticks = static_cast<std::uint64_t>(running.getColumn(2).getInt64());
    if (!is_alive(running.getColumn(1).getInt64(), ticks)) continue;
    return fmt::format(
        "{} was copied without its log from a database that is in use: results of run {} and of "
        "others may be missing; attnscope export from the original makes a whole copy",
        file.string(), running.getColumn(0).getInt64());
  }
  return {};
}

/// Checks the log before SQLite opens it, because SQLite deletes it when the last user closes it.
std::int64_t damage_of_log(const std::filesystem::path& file, bool writing) {
  const std::int64_t lost = has_filled_log(file) ? lost_commits(file) : 0;
  if (lost > 0 && writing) keep_log(file);
  return lost;
}

std::string damage_in_words(const std::filesystem::path& file, std::int64_t lost) {
  return fmt::format(
      "the log {} of the database {} is damaged, and {} changes in it cannot be read: what was "
      "measured last may be missing",
      log_of(file).string(), file.string(), lost);
}

/// The numbers and identities of the runs, which are never reused, and the highest assigned number.
struct Numbers {
  std::map<std::int64_t, std::string> uuids;
  std::int64_t highest = 0;
};

Numbers numbers_in(const Database& database) {
  Numbers numbers;
  Statement runs(database, "SELECT number, uuid FROM runs NOT INDEXED");
  while (runs.executeStep())
    numbers.uuids.emplace(runs.getColumn(0).getInt64(), runs.getColumn(1).getString());
  numbers.highest =
      first_integer(database, "SELECT max(seq) FROM sqlite_sequence WHERE name = 'runs'");
  return numbers;
}

bool is_sound(const Database& database) {
  return first_text(database, "PRAGMA quick_check(1)") == sound_words;
}

/// A view executes its author's SQL, possibly without end, and so does a trigger at every write.
bool has_code(const Database& database) {
  return first_integer(database,
                       "SELECT count(*) FROM sqlite_master WHERE type NOT IN ('table', 'index')") >
         0;
}

/// Whether the non-empty log next to the database belongs to another database, whose pages would
/// replace those of this one. This is the case if they disagree about a run's identity or, for a
/// writable file, if the database is sound only without the log.
bool is_anothers_log(const std::filesystem::path& file, bool writing) {
  constexpr std::uintmax_t most_bytes = std::uintmax_t{256} << 20U;  // readable within a second
  try {
    // First without the log: concurrent writes then make the second read newer, never older.
    const Database alone = readable(uri_of(file, "mode=ro&immutable=1"));
    if (has_code(alone)) return false;
    const Numbers before = numbers_in(alone);
    try {
      const Database with_log = readable(uri_of(file, "mode=ro"));
      if (has_code(with_log)) return false;
      const Numbers after = numbers_in(with_log);
      const bool are_same = after.highest >= before.highest &&
                            std::ranges::all_of(before.uuids, [&](const auto& run) {
                              const auto found = after.uuids.find(run.first);
                              return found == after.uuids.end() || found->second == run.second;
                            });
      if (!are_same || !writing || std::filesystem::file_size(file) > most_bytes) return !are_same;
      if (is_sound(with_log)) return false;
    } catch (const DatabaseError& error) {
      if (!is_of_reading(error)) return false;
    }
    return is_sound(alone);
  } catch (const DatabaseError&) {
    return false;  // the database itself is damaged, or is being written
  }
}

/// SQLite assumes that files next to a database belong to it, and a process that writes the
/// database under another name does not use them.
Status check_company(const std::filesystem::path& file, bool is_empty, bool writing) {
  std::error_code none;
  if (!is_empty && has_filled_log(file) && is_anothers_log(file, writing)) {
    return fail(
        "the log {} belongs to another database than {}, or was written over, and would damage it; "
        "move it to its own, or away",
        log_of(file).string(), file.string());
  }
  if (!writing) return {};
  if (is_empty && has_filled_log(file)) {
    return fail(
        "{} is there without its database, which would be lost with it once {} is made; put the "
        "database back, or remove the log, or use another database",
        log_of(file).string(), file.string());
  }
  if (std::filesystem::hard_link_count(file, none) > 1 && !none) {
    return fail(
        "{} has a second name (a hard link), and who writes it by that damages it; remove one of "
        "them, or write a copy made by cp",
        file.string());
  }
  return {};
}

Result<int> checked_version(const Database& database, const std::filesystem::path& file) {
  if (has_code(database)) {
    return fail(
        "{} has views or triggers, which no database of AttnScope has; do not trust it, and use "
        "another database",
        file.string());
  }
  const int version = version_of(database);
  if (version == schema_version) {
    if (const auto known = row_values(database, file); !known) {
      return tl::unexpected(known.error());
    }
  }
  return version;
}

/// The version as SQLite sees it, including the contents of the write-ahead log. A read-only
/// connection does not write the log back when it is closed and does not create one, so a refused
/// file and its folder stay unchanged.
Result<int> version_with_log(const std::filesystem::path& file) {
  return checked_version(has_log(file) || has_journal(file)
                             ? open_for_reading(file).first
                             : readable(uri_of(file, "mode=ro&immutable=1")),
                         file);
}

}  // namespace

void prepare_single_file(Database& database) {
  static_cast<void>(store::first_text(database, "PRAGMA journal_mode = DELETE"));
  database.exec("PRAGMA synchronous = FULL");
  database.exec("PRAGMA foreign_keys = ON");
}

void create_schema(Database& database) {
  Transaction transaction(database, SQLite::TransactionBehavior::EXCLUSIVE);
  if (first_integer(database, "SELECT count(*) FROM sqlite_master") == 0) {
    database.exec(schema());
    database.exec(fmt::format("PRAGMA application_id = {}", application_id));
    database.exec(fmt::format("PRAGMA user_version = {}", schema_version));
  }
  transaction.commit();
}

}  // namespace store

Result<Store> Store::open(const std::filesystem::path& named, Mode mode) {
  using namespace store;
  if (named.empty()) return fail("the name of the database is empty; name a file");
  std::error_code failed;
  // SQLite keeps its files next to the database itself, not next to a link to it.
  const std::filesystem::path behind = std::filesystem::is_symlink(named, failed)
                                           ? std::filesystem::canonical(named, failed)
                                           : named;
  const std::filesystem::path& file = behind.empty() ? named : behind;
  const bool exists = std::filesystem::exists(file, failed);
  const bool writing = mode != Mode::read_only && !is_exported(file);
  if (!exists && (mode != Mode::read_write || !writing)) {
    return fail(
        "there is no file {}; {}", file.string(),
        is_exported(file) ? "check its name" : "attnscope run makes it, or use another database");
  }
  FileHeader header{.empty = true};
  if (exists) {
    const Result<FileHeader> inspected = inspect(file);
    if (!inspected) return tl::unexpected(inspected.error());
    header = *inspected;
  }
  return guarded(file, [&]() -> Result<Store> {
    if (header.packed) {
      auto packed = read_packed(file);
      if (!packed) return tl::unexpected(packed.error());
      const Result<int> version = checked_version(packed->database, file);
      if (!version) return tl::unexpected(version.error());
      if (*version != schema_version) return refuse_version(file, *version);
      auto values = row_values(packed->database, file);
      if (!values) return tl::unexpected(values.error());
      std::string warning =
          packed->header.has_log ? lacks_log(packed->database, file) : std::string();
      return Store(std::make_unique<Implementation>(
          Implementation{file, std::move(packed->uri), std::move(packed->database), false,
                         std::move(warning), std::move(*values)}));
    }
    if (Status alone = check_company(file, header.empty, writing); !alone)
      return tl::unexpected(alone.error());
    const std::int64_t lost = damage_of_log(file, writing);
    const bool may_lack_log = header.has_log && !has_filled_log(file);
    const Result<int> stored = header.empty ? Result<int>(0) : version_with_log(file);
    if (!stored) return tl::unexpected(stored.error());
    const int version = *stored;
    // Also true for a file whose creation was rolled back.
    const bool empty = header.empty || (version == 0 && std::filesystem::file_size(file) == 0);
    if (empty && !writing) {
      return fail("{} is empty; attnscope run fills it, or name another file", file.string());
    }
    if (!empty && version != schema_version) return refuse_version(file, version);
    if (!writing) {
      auto [database, uri] = open_for_reading(file);
      auto values = row_values(database, file);
      if (!values) return tl::unexpected(values.error());
      std::string warning = lost > 0       ? damage_in_words(file, lost)
                            : may_lack_log ? lacks_log(database, file)
                                           : std::string();
      return Store(std::make_unique<Implementation>(Implementation{
          file, uri, std::move(database), false, std::move(warning), std::move(*values), lost}));
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
    // First the schema, then WAL, so that the main file identifies the application from its first
    // page on.
    if (empty) create_schema(database);
    std::string warning = choose_journal(database, file);
    const auto before = row_values(database, file);
    if (!before) return tl::unexpected(before.error());
    if (*before != all_row_values()) add_later_columns(database);
    if (may_lack_log && warning.empty()) warning = lacks_log(database, file);
    if (lost > 0) {
      warning = fmt::format("{}; a copy is kept as {}", damage_in_words(file, lost),
                            kept_log_of(file).string());
    }
    return Store(std::make_unique<Implementation>(
        Implementation{file, uri_of(file, "mode=ro"), std::move(database), true, std::move(warning),
                       all_row_values(), lost}));
  });
}

}  // namespace attnscope
