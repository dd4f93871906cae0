#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What is behind a Store: its connection, and how a function of it turns failures into sentences.

#include <filesystem>
#include <string>
#include <utility>

#include "engine/store/database.h"
#include "engine/store/fields.h"
#include "engine/store/location.h"
#include "engine/store/store.h"

namespace attnscope {

namespace store {
inline constexpr int busy_timeout_ms = 5000;
}  // namespace store

struct Store::Implementation {
  std::filesystem::path file;
  std::string uri;  // how another connection would read the same file
  store::Database database;
  bool writable = false;
  std::string warning;
  store::RowValues values;        // how its rows are read
  std::int64_t lost_commits = 0;  // with the write-ahead log that was found
  int busy_timeout_ms = store::busy_timeout_ms;
  store::FileId id = store::file_id(file);  // when it was opened
};

namespace store {

/// Runs `work`, which returns a Result, and turns what SQLite throws into its error.
template <typename Work>
auto guarded(const std::filesystem::path& file, Work&& work) -> decltype(work()) {
  try {
    return std::forward<Work>(work)();
  } catch (const DatabaseError& error) {
    return tl::unexpected<Error>(error_of(error, file));
  }
}

/// An error when the store was opened for reading only.
[[nodiscard]] Status writable(const std::filesystem::path& file, bool is_writable);

/// A writing function's frame: read-only stores refuse, SQLite's failures become sentences, and
/// what `work` did in its transaction is committed only when it succeeds.
template <typename Work>
Status change(const std::filesystem::path& file, bool is_writable, Database& database,
              Work&& work) {
  if (Status allowed = writable(file, is_writable); !allowed) return allowed;
  return guarded(file, [&]() -> Status {
    Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
    if (Status done = work(); !done) return done;
    transaction.commit();
    return {};
  });
}

/// Runs `work`, which changes a run's state, and renews the fingerprint of that.
template <typename Work>
void change_state(Database& database, std::int64_t number, Work&& work) {
  const StatePrint before = state_print(database, "main", all_row_values(), number);
  work();
  renew_state_print(database, number, before);
}

/// An error while the run's driver lives: it would go on writing. `what`: "removed".
[[nodiscard]] Status not_being_measured(const RunInfo& run, std::string_view what);

/// The run's local number.
[[nodiscard]] Result<std::int64_t> number_of(const Database& database, const RunId& run);

[[nodiscard]] std::string new_uuid();
[[nodiscard]] std::int64_t now_unix_ms();

}  // namespace store
}  // namespace attnscope
