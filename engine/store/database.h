#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// SQLite through SQLiteCpp: opening databases, creating their tables, and converting failures to
// messages. Failures are thrown within this folder; the Store's functions convert them to one
// sentence (see error_of).

#include <SQLiteCpp/SQLiteCpp.h>
#include <SQLiteCpp/VariadicBind.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"

namespace attnscope::store {

using SQLite::Database;
using SQLite::Statement;
using SQLite::Transaction;  // rolled back when it goes out of scope uncommitted
using DatabaseError = SQLite::Exception;

struct OpenedDatabase {
  Database database;
  std::string uri;  // for other connections of this process; memory exists as long as `database`
};

/// `uri` is made by uri_of; `access`: SQLite::OPEN_READONLY or SQLite::OPEN_READWRITE.
[[nodiscard]] Database open_database(const std::string& uri, int access);
/// Opens for reading and writing. A new file is accessible only to its owner, and so is the journal
/// that SQLite creates for it: runs contain host names, folders and commands.
[[nodiscard]] Database open_or_create(const std::filesystem::path& file);

/// Selects how the connection writes: a rollback journal, and each commit is on disk, with the
/// journal's removal, before it is reported.
void prepare_for_writing(Database& database);
/// Attaches another database to the connection under this name.
void attach(Database& database, const std::string& uri, const std::string& name);

/// Executes a statement without result rows, with these parameters or those already bound, and
/// resets it for new parameters. Returns the number of changed rows.
template <typename... Values>
int execute(Statement& statement, const Values&... values) {
  SQLite::bind(statement, values...);
  const int changed = statement.exec();
  statement.reset();
  return changed;
}
/// The first column of the first row; 0 or "" without rows.
[[nodiscard]] std::int64_t first_integer(const Database& database, const std::string& sql);
/// The result of SQLite's own checks when they find no error.
inline constexpr std::string_view sound_words{"ok"};
[[nodiscard]] std::string first_text(const Database& database, const std::string& sql);
/// The column's value, counted from 0; NaN if it is not a number.
[[nodiscard]] double real_at(const Statement& row, int column);

[[nodiscard]] bool is_read_only(const Database& database);
/// Makes later statements end with SQLITE_INTERRUPT once `stop` is true. Null: never.
void stop_when(const Database& database, const std::atomic<bool>* stop);

/// "file:/path?mode=ro" with all special characters of the path escaped.
[[nodiscard]] std::string uri_of(const std::filesystem::path& file, std::string_view query);

/// Whether the failure is damage or a failed read of the file that rows come from; all others are
/// write failures.
[[nodiscard]] bool is_of_reading(const DatabaseError& error);
/// The error of the file and how to fix it, as one sentence.
[[nodiscard]] Error error_of(const DatabaseError& error, const std::filesystem::path& file);

/// The text of schema.sql; `:axes` is a placeholder for the columns of the axes.
extern const char* const schema_text;

/// The schema with a column for every axis of engine/heat/axes.h.
[[nodiscard]] std::string schema();

/// Creates the schema in an empty database, unless another process has just done so.
void create_schema(Database& database);

}  // namespace attnscope::store
