#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Implementation of Store: its connection, the conversion of failures to messages, and compressed
// databases.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "base/open_file.h"
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
  std::string uri;  // URI for other connections to the same file
  store::Database database;
  bool writable = false;
  std::string warning;
  int busy_timeout_ms = store::busy_timeout_ms;
  /// The start with which this process measures the run of this UUID: the `restart` of its heats.
  struct Start {
    std::string uuid;
    std::int64_t print = 0;  // fingerprint of the restart; 0: the first start
  };
  std::optional<Start> start = {};
  FileId id = file_id(file);  // at opening

  [[nodiscard]] bool is_at_its_place() const;
  /// An error if the store is read-only, or if its file is no longer at its path: writes would then
  /// be lost or damage another file.
  [[nodiscard]] Status writable_now() const;
  /// Frame of a writing function: SQLite's failures become messages, and the transaction of `work`
  /// is committed only if it succeeds and the file is still at its path.
  template <typename Work>
  Status change(Work&& work);
  /// The same for a function that changes a run; `work` receives its local number.
  template <typename Work>
  Status change_run(const RunId& run, Work&& work);
};

namespace store {

/// Runs `work`, which returns a Result, and converts SQLite's exceptions to its error.
template <typename Work>
auto guarded(const std::filesystem::path& file, Work&& work) -> decltype(work()) {
  try {
    return std::forward<Work>(work)();
  } catch (const DatabaseError& error) {
    return tl::unexpected<Error>(error_of(error, file));
  }
}

/// Runs `work`, which changes a run's state, and renews the state's fingerprint, unless it did not
/// match before: damage stays visible.
template <typename Work>
void change_state(Database& database, std::int64_t number, Work&& work) {
  const bool is_sound = matches(database, state_print(), number);
  work();
  if (is_sound) renew_fingerprint(database, state_print(), number);
}

/// An error while the run's driver is alive, because it would continue to write. `what`: "removed".
[[nodiscard]] Status not_being_measured(const RunInfo& run, std::string_view what);

/// The run's local number.
[[nodiscard]] Result<std::int64_t> number_of(const Database& database, const RunId& run);

[[nodiscard]] std::string new_uuid();
[[nodiscard]] std::int64_t now_unix_ms();

// A database compressed with gzip, such as an exported run.attn.gz, is decompressed into the memory
// of this process and read there; no file is created, so none is left when a process is killed.

/// Limit of the decompressed size; the user must decompress a larger file.
inline constexpr std::int64_t most_unpacked_bytes = std::int64_t{512} << 20U;

/// Errors: those of the gzip reader, a file larger than `most_bytes`, not an AttnScope database.
[[nodiscard]] Result<OpenedDatabase> read_packed(const std::filesystem::path& file,
                                                 std::int64_t most_bytes = most_unpacked_bytes);
/// Compresses a database without open connections into the existing file `packed`, called `name` in
/// messages.
[[nodiscard]] Status pack_database(const std::filesystem::path& database,
                                   const std::filesystem::path& packed,
                                   const std::filesystem::path& name);

// Conversion of databases of earlier versions (oldest_version in location.h). Remove
// these functions with convert.cpp and their two calls in open.cpp when no such file is left.

/// A database in memory with the runs of the older one, which stays as it is. What did not match
/// its fingerprint does not match its new one either.
[[nodiscard]] OpenedDatabase converted(const std::string& older_uri);

/// Replaces the older database by its conversion in one transaction, unless another process has
/// just done so.
void convert_in_place(Database& database, const std::filesystem::path& file);

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
