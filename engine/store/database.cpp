// SPDX-License-Identifier: Apache-2.0
#include "engine/store/database.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <cmath>
#include <limits>

#include "engine/store/store.h"
#include "kernels/base/sentences.h"

namespace attnscope::store {
namespace {

[[noreturn]] void raise(sqlite3* handle, int code) {
  const char* text = handle != nullptr ? sqlite3_errmsg(handle) : sqlite3_errstr(code);
  const int extended = handle != nullptr ? sqlite3_extended_errcode(handle) : code;
  throw DatabaseError(code & 0xff, extended, text != nullptr ? text : "unknown error");
}

int flags_of(Database::Access access) {
  switch (access) {
    case Database::Access::read_only:
      return SQLITE_OPEN_READONLY;
    case Database::Access::read_write:
      return SQLITE_OPEN_READWRITE;
    case Database::Access::create:
      break;
  }
  return SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
}

const char* begin_of(Transaction::Kind kind) {
  switch (kind) {
    case Transaction::Kind::read:
      return "BEGIN DEFERRED";
    case Transaction::Kind::write:
      return "BEGIN IMMEDIATE";
    case Transaction::Kind::exclusive:
      break;
  }
  return "BEGIN EXCLUSIVE";
}

}  // namespace

bool DatabaseError::is_of_reading() const {
  return code == SQLITE_CORRUPT || code == SQLITE_NOTADB || extended == SQLITE_IOERR_READ ||
         extended == SQLITE_IOERR_SHORT_READ;
}

void Statement::Finalize::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

void Statement::check(int code) const {
  if (code != SQLITE_OK) raise(sqlite3_db_handle(statement_.get()), code);
}

void Statement::bind(std::int64_t value) {
  check(sqlite3_bind_int64(statement_.get(), ++bound_, value));
}

void Statement::bind(double value) {
  if (std::isnan(value)) {
    bind(std::string_view("nan"));
  } else {
    check(sqlite3_bind_double(statement_.get(), ++bound_, value));
  }
}

void Statement::bind(std::string_view value) {
  // A null pointer would bind NULL, and an empty view may hold one.
  const char* data = value.empty() ? "" : value.data();
  check(sqlite3_bind_text64(statement_.get(), ++bound_, data, value.size(), SQLITE_TRANSIENT,
                            SQLITE_UTF8));
}

void Statement::bind_null() {
  check(sqlite3_bind_null(statement_.get(), ++bound_));
}

bool Statement::step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  raise(sqlite3_db_handle(statement_.get()), code);
}

void Statement::run() {
  while (step()) {
  }
  reset();
}

void Statement::reset() {
  sqlite3_reset(statement_.get());
  bound_ = 0;
}

std::int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

double Statement::real(int column) const {
  const int type = sqlite3_column_type(statement_.get(), column);
  if (type != SQLITE_FLOAT && type != SQLITE_INTEGER) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  return sqlite3_column_double(statement_.get(), column);
}

std::string Statement::text(int column) const {
  const auto* data = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
  const int size = sqlite3_column_bytes(statement_.get(), column);
  return data == nullptr ? std::string() : std::string(data, static_cast<std::size_t>(size));
}

bool Statement::is_null(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}

Database::Database(const std::string& uri, Access access) {
  sqlite3* handle = nullptr;
  const int flags = flags_of(access) | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX;
  const int code = sqlite3_open_v2(uri.c_str(), &handle, flags, nullptr);
  handle_.reset(handle);
  if (code != SQLITE_OK) raise(handle, code);
  sqlite3_extended_result_codes(handle, 0);
  // Files come from other people: their schema may not run functions or edit itself.
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
}

void Database::Close::operator()(sqlite3* handle) const {
  sqlite3_close_v2(handle);
}

void Database::execute(const std::string& sql) {
  const int code = sqlite3_exec(handle_.get(), sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) raise(handle_.get(), code);
}

Statement Database::prepare(const std::string& sql) const {
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v2(handle_.get(), sql.data(), static_cast<int>(sql.size()),
                                      &statement, nullptr);
  if (code != SQLITE_OK) raise(handle_.get(), code);
  return Statement(statement);
}

std::int64_t Database::integer(const std::string& sql) const {
  Statement statement = prepare(sql);
  return statement.step() ? statement.integer(0) : 0;
}

std::string Database::text(const std::string& sql) const {
  Statement statement = prepare(sql);
  return statement.step() ? statement.text(0) : std::string();
}

std::int64_t Database::last_id() const {
  return sqlite3_last_insert_rowid(handle_.get());
}

std::int64_t Database::own_changes() const {
  return sqlite3_total_changes64(handle_.get());
}

bool Database::is_read_only() const {
  return sqlite3_db_readonly(handle_.get(), "main") == 1;
}

void Database::set_busy_timeout(int milliseconds) {
  sqlite3_busy_timeout(handle_.get(), milliseconds);
}

void Database::stop_when(const std::atomic<bool>* stop) const {
  constexpr int instructions = 1000;  // of SQLite's machine between two looks
  const auto look = [](void* flag) -> int {
    return static_cast<const std::atomic<bool>*>(flag)->load(std::memory_order_relaxed) ? 1 : 0;
  };
  if (stop == nullptr) {
    sqlite3_progress_handler(handle_.get(), 0, nullptr, nullptr);
  } else {
    sqlite3_progress_handler(handle_.get(), instructions, look,
                             const_cast<std::atomic<bool>*>(stop));
  }
}

Transaction::Transaction(Database& database, Kind kind) : database_(database) {
  database_.execute(begin_of(kind));
}

Transaction::~Transaction() {
  if (!open_) return;
  try {
    database_.execute("ROLLBACK");
  } catch (const DatabaseError&) {
    // SQLite has rolled back by itself, as it does when the disk is full.
  }
}

void Transaction::commit() {
  database_.execute("COMMIT");
  open_ = false;
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

namespace {

std::string sentence_of(const DatabaseError& error, const std::filesystem::path& file) {
  const std::string name = file.string();
  // SQLite quotes names of the file, which another may have written.
  constexpr std::size_t longest = 200;
  const std::string what = in_a_sentence(error.what(), longest);
  // The shared memory of the log could not get its size: a full disk, said in other words.
  const int code = error.extended == SQLITE_IOERR_SHMSIZE ? SQLITE_FULL : error.code;
  switch (code) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return fmt::format(
          "the database {} is locked by another process for too long; try again when that has "
          "finished writing, or name another file with --db",
          name);
    case SQLITE_FULL:
      return fmt::format(
          "the disk that holds the database {} is full; what was stored before is safe: free some "
          "space, then go on",
          name);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return fmt::format(
          "the database {} is damaged ({}); save the runs that can still be read with attnscope "
          "export RUN -o FILE.attn, and import them into a new database",
          name, what);
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_CANTOPEN:
      return fmt::format(
          "the database {} cannot be opened or written ({}); make the file and its folder "
          "writable, "
          "or name another file with --db",
          name, what);
    case SQLITE_IOERR:
      return fmt::format(
          "reading or writing the database {} failed ({}); check the disk, or name another file "
          "with --db",
          name, what);
    default:
      return fmt::format("the database {} refused ({}); try again, or name another file with --db",
                         name, what);
  }
}

}  // namespace

Error error_of(const DatabaseError& error, const std::filesystem::path& file) {
  const bool locked = error.code == SQLITE_BUSY || error.code == SQLITE_LOCKED;
  return {sentence_of(error, file), locked ? ErrorKind::locked : ErrorKind::other};
}

}  // namespace attnscope::store

namespace attnscope {

std::string sqlite_version() {
  return sqlite3_libversion();
}

}  // namespace attnscope
