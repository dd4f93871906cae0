// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "base/sentences.h"
#include "engine/store/convert.h"
#include "engine/store/implementation.h"
#include "engine/store/location.h"
#include "engine/store/packed_database.h"
#include "engine/store/schema.h"
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

/// The version as SQLite sees it, after a change that its writer did not finish was rolled back; 0:
/// the creation of the file was.
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
  if (version != schema_version && version != converted_version && !is_new)
    return refuse_version(file, version);
  return version;
}

OpenedDatabase open_for_reading(const std::filesystem::path& file, bool is_older) {
  // Beside a file of the version before SQLite would make a log, which it had when it was in use.
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
        is_exported(file) ? "check its name" : "attnscope run makes it, or use another database");
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
      auto opened = header.packed ? read_packed(file)
                                  : Result<OpenedDatabase>(open_for_reading(
                                        file, header.user_version == converted_version));
      if (!opened) return tl::unexpected(opened.error());
      const Result<int> version = version_of(opened->database, file);
      if (!version) return tl::unexpected(version.error());
      if (*version == 0) return refuse_empty();
      if (*version == converted_version) *opened = converted(opened->uri);
      return Store(std::make_unique<Implementation>(
          Implementation{file, std::move(opened->uri), std::move(opened->database), false, {}}));
    }
    if (std::error_code none; std::filesystem::hard_link_count(file, none) > 1 && !none) {
      return fail(
          "{} has a second name (a hard link), and who writes it by that damages it; remove one of "
          "them, or write a copy made by cp",
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
    if (*version == converted_version) convert_in_place(database, file);
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

}  // namespace attnscope
