#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What is behind a Store: its connection, and how a function of it turns failures into sentences.

#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "engine/store/database.h"
#include "engine/store/fields.h"
#include "engine/store/location.h"
#include "engine/store/store.h"
#include "engine/store/write_ahead_log.h"
#include "kernels/base/open_file.h"

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
  /// The start by which this store's process measures the run of this UUID: what its heats have as
  /// `restart`.
  struct Start {
    std::string uuid;
    std::int64_t print = 0;  // of the restart; 0: the first start
  };
  std::optional<Start> start = {};
  /// What lay where when it was opened, the log and its shared memory only of what writes by them.
  FileId id = file_id(file), log_id = file_id(store::log_of(file)),
         memory_id = file_id(store::memory_of(file));

  [[nodiscard]] bool is_at_its_place() const;
  /// Whether the log that it writes is the one that others find: else they and this one no longer
  /// know of each other, and what is moved from the log into the file damages that.
  [[nodiscard]] bool has_its_log() const;
  /// An error when it was opened for reading only, or its file is no longer where it was: what is
  /// written then reaches no file that anybody finds, or damages another.
  [[nodiscard]] Status writable_now() const;
  /// A writing function's frame: SQLite's failures become sentences, and what `work` did in its
  /// transaction is committed only when it succeeds and all is still in its place.
  template <typename Work>
  Status change(Work&& work);
  /// One that changes a run; `work` gets its local number.
  template <typename Work>
  Status change_run(const RunId& run, Work&& work);
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

template <typename Work>
Status Store::Implementation::change(Work&& work) {
  if (Status allowed = writable_now(); !allowed) return allowed;
  return store::guarded(file, [&]() -> Status {
    store::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
    if (Status done = work(); !done) return done;
    if (Status allowed = writable_now(); !allowed) return allowed;
    transaction.commit();
    return {};
  });
}

template <typename Work>
Status Store::Implementation::change_run(const RunId& run, Work&& work) {
  return change([&]() -> Status {
    const Result<std::int64_t> number = store::number_of(database, run);
    if (!number) return tl::unexpected(number.error());
    return work(*number);
  });
}

}  // namespace attnscope
