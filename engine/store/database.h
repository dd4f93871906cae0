#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// SQLite by SQLiteCpp: how a database is opened here and what its failures are in words. They are
// thrown within this room; the Store's functions turn them into one sentence (see error_of).

#include <SQLiteCpp/SQLiteCpp.h>
#include <SQLiteCpp/VariadicBind.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "kernels/base/result.h"

namespace attnscope::store {

using SQLite::Database;
using SQLite::Statement;
using SQLite::Transaction;  // rolled back when it goes out of scope uncommitted
using DatabaseError = SQLite::Exception;

/// `uri` is made by uri_of; `access`: SQLite::OPEN_READONLY or SQLite::OPEN_READWRITE.
[[nodiscard]] Database open_database(const std::string& uri, int access);
/// To read and write. A file that is made is its owner's alone, and so are, as SQLite makes them,
/// its log and journal: runs tell of hosts, folders and commands.
[[nodiscard]] Database open_or_create(const std::filesystem::path& file);

/// Runs a statement that gives no rows, with these parameters or those bound before, and makes it
/// ready to be bound again. How many rows it changed.
template <typename... Values>
int execute(Statement& statement, const Values&... values) {
  SQLite::bind(statement, values...);
  const int changed = statement.exec();
  statement.reset();
  return changed;
}
/// The first column of the first row; 0 or "" without one.
[[nodiscard]] std::int64_t first_integer(const Database& database, const std::string& sql);
/// What SQLite's own checks answer when they find nothing.
inline constexpr std::string_view sound_words{"ok"};
[[nodiscard]] std::string first_text(const Database& database, const std::string& sql);
/// NaN where the column, counted from 0, is no number.
[[nodiscard]] double real_at(const Statement& row, int column);

[[nodiscard]] bool is_read_only(const Database& database);
/// This process may not make files as large as a log's shared memory, which every reader needs.
[[nodiscard]] bool is_kept_from_shared_memory();
/// From here on statements end with SQLITE_INTERRUPT once `stop` is true. Null: never.
void stop_when(const Database& database, const std::atomic<bool>* stop);

/// "file:/path?mode=ro" with everything odd in the path escaped.
[[nodiscard]] std::string uri_of(const std::filesystem::path& file, std::string_view query);

/// Damage or a failed read, which are of the file that rows are taken from; all else is of writing.
[[nodiscard]] bool is_of_reading(const DatabaseError& error);
/// What went wrong with the file and how to mend it, as one sentence.
[[nodiscard]] Error error_of(const DatabaseError& error, const std::filesystem::path& file);

}  // namespace attnscope::store
