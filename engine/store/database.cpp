// SPDX-License-Identifier: Apache-2.0
#include "engine/store/database.h"

#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/resource.h>

#include <algorithm>
#include <limits>

#include "base/open_file.h"
#include "base/sentences.h"
#include "engine/heat/axes.h"
#include "engine/store/location.h"
#include "engine/store/store.h"

namespace attnscope::store {

namespace {

int primary_code(const DatabaseError& error) {
  return error.getErrorCode() & 0xff;
}

}  // namespace

Database open_database(const std::string& uri, int access) {
  Database database(uri, access | SQLite::OPEN_URI | SQLite::OPEN_NOMUTEX);
  // Files may come from other people: their schema must not call functions or modify itself.
  sqlite3_db_config(database.getHandle(), SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(database.getHandle(), SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  return database;
}

Database open_or_create(const std::filesystem::path& file) {
  // Created under a temporary name: closing a descriptor of a database drops all locks of the
  // process on it. SQLite meets and reports any failure itself.
  if (file_id(file) == FileId{}) static_cast<void>(UnfinishedFile(file).publish());
  return open_database(uri_of(file, ""), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
}

void prepare_for_writing(Database& database) {
  static_cast<void>(first_text(database, "PRAGMA journal_mode = DELETE"));
  database.exec("PRAGMA synchronous = EXTRA");
  // A large change stays in memory until it is committed, so that others can read meanwhile.
  database.exec("PRAGMA cache_spill = OFF");
  database.exec("PRAGMA foreign_keys = ON");
}

void attach(Database& database, const std::string& uri, const std::string& name) {
  Statement attach(database, "ATTACH DATABASE ? AS " + name);
  // By default it would be looked for where the connection's own database is, such as in memory.
  const bool is_placed = uri.find("vfs=") != std::string::npos;
  const char* const system = sqlite3_vfs_find(nullptr)->zName;
  execute(attach, is_placed ? uri : fmt::format("{}&vfs={}", uri, system));
}

std::int64_t first_integer(const Database& database, const std::string& sql) {
  Statement statement(database, sql);
  return statement.executeStep() ? statement.getColumn(0).getInt64() : 0;
}

std::string first_text(const Database& database, const std::string& sql) {
  Statement statement(database, sql);
  return statement.executeStep() ? statement.getColumn(0).getString() : std::string();
}

double real_at(const Statement& row, int column) {
  const SQLite::Column value = row.getColumn(column);
  const bool is_number = value.isFloat() || value.isInteger();
  return is_number ? value.getDouble() : std::numeric_limits<double>::quiet_NaN();
}

bool is_read_only(const Database& database) {
  return sqlite3_db_readonly(database.getHandle(), "main") == 1;
}

void stop_when(const Database& database, const std::atomic<bool>* stop) {
  constexpr int instructions = 1000;  // SQLite virtual machine instructions between two checks
  const auto is_stopped = [](void* flag) -> int {
    return static_cast<const std::atomic<bool>*>(flag)->load(std::memory_order_relaxed) ? 1 : 0;
  };
  if (stop == nullptr) {
    sqlite3_progress_handler(database.getHandle(), 0, nullptr, nullptr);
  } else {
    sqlite3_progress_handler(database.getHandle(), instructions, is_stopped,
                             const_cast<std::atomic<bool>*>(stop));
  }
}

std::string uri_of(const std::filesystem::path& file, std::string_view query) {
  const std::string path = std::filesystem::absolute(file).string();
  std::string uri = "file:";
  for (const char c : path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '/' || c == '.' || c == '-' || c == '_';
    if (plain) {
      uri.push_back(c);
    } else {
      uri.append(fmt::format("%{:02X}", static_cast<unsigned char>(c)));
    }
  }
  return query.empty() ? uri : uri.append("?").append(query);
}

bool is_of_reading(const DatabaseError& error) {
  const int code = primary_code(error), extended = error.getExtendedErrorCode();
  return code == SQLITE_CORRUPT || code == SQLITE_NOTADB || extended == SQLITE_IOERR_READ ||
         extended == SQLITE_IOERR_SHORT_READ;
}

namespace {

/// Whether the file size limit prevents this process from growing the database.
bool is_kept_from_growing(const std::filesystem::path& file) {
  constexpr std::uintmax_t next_bytes = 65536;  // largest increment by a SQLite operation
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return false;
  std::error_code none;
  const std::uintmax_t bytes = std::filesystem::file_size(file, none);
  return (none ? 0 : bytes) + next_bytes > limit.rlim_cur;
}

std::string sentence_of(const DatabaseError& error, const std::filesystem::path& file) {
  const std::string name = file.string();
  // SQLite quotes names from the file, which may have been written by another program.
  constexpr std::size_t longest = 200;
  const std::string what = in_a_sentence(error.what(), longest);
  const int code = primary_code(error);
  if ((code == SQLITE_FULL || code == SQLITE_IOERR) && is_kept_from_growing(file)) {
    return fmt::format(
        "the database {} has reached the file size limit (ulimit -f); raise the limit, or use "
        "another database",
        name);
  }
  switch (code) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return fmt::format(
          "the database {} is locked by another process; try again when that process "
          "has finished writing, or use another database",
          name);
    case SQLITE_FULL:
      return fmt::format(
          "the disk of {} is full; results stored earlier are safe: free disk space, or use a file "
          "on another disk, then continue",
          name);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return fmt::format(
          "the database {} is damaged ({}); save the runs that can still be read with attnscope "
          "export RUN{} -o FILE.attn, and import them into a new database",
          name, what, database_option(file));
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_CANTOPEN:
      return fmt::format(
          "the database {} cannot be opened or written ({}); make the file and its folder "
          "writable, "
          "or use another database",
          name, what);
    case SQLITE_IOERR:
      return fmt::format(
          "reading or writing the database {} failed ({}); check the disk, or use another database",
          name, what);
    default:
      return fmt::format(
          "the database {} reported an error ({}); try again, or use another database", name, what);
  }
}

}  // namespace

Error error_of(const DatabaseError& error, const std::filesystem::path& file) {
  const int code = primary_code(error);
  const bool locked = code == SQLITE_BUSY || code == SQLITE_LOCKED;
  return {sentence_of(error, file), locked ? ErrorKind::locked : ErrorKind::other};
}

std::string schema() {
  std::string columns;
  for (const Axis& axis : heat_axes) {
    columns += fmt::format("{}  -- {}\n  {} {} NOT NULL", columns.empty() ? "" : ",\n", axis.says,
                           axis.key, has_texts(axis) ? "TEXT" : "INTEGER");
  }
  constexpr std::string_view place = "  :axes";
  std::string text(schema_text);
  return text.replace(text.find(place), place.size(), columns);
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

}  // namespace attnscope::store

namespace attnscope {

std::string sqlite_version() {
  return sqlite3_libversion();
}

}  // namespace attnscope
