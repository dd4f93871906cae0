// SPDX-License-Identifier: Apache-2.0
//
// Copies runs between databases as rows, fingerprints included, within one transaction on both: a
// live database is read at one point in time, the file contains only the selected runs, and a
// readable run can be copied from a database with other unreadable pages.

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>
#include <span>
#include <utility>

#include "base/gzip.h"
#include "base/open_file.h"
#include "base/sentences.h"
#include "base/spawn.h"
#include "base/written_file.h"
#include "engine/store/database.h"
#include "engine/store/fields.h"
#include "engine/store/implementation.h"
#include "engine/store/location.h"

namespace attnscope {
namespace {

using store::Database;
using store::Statement;
using store::Transaction;

/// A table whose rows refer to a parent row.
struct Level {
  std::string table;
  std::string parent;   // the column with the parent's number
  std::string columns;  // all columns except the parent and the row's own number
};

const Level restart_level{"restarts", "run_number",
                          fmt::format("{}, fingerprint", store::restart_columns)};
const Level ceilings_level{"ceilings", "run_number",
                           fmt::format("{}, fingerprint", store::ceilings_columns)};
const Level rate_level{"copy_rates", "ceilings_id", "ordinal, working_set_bytes, bytes_per_second"};
const Level heat_level{"heats", "run_number",
                       fmt::format("{}, {}", store::heat_columns, store::point_columns())};
const Level cell_level{"cells", "heat_id",
                       fmt::format("ordinal, {}, fingerprint", store::cell_columns)};
const Level sample_level{"samples", "cell_id",
                         fmt::format("ordinal, {}, outlier", store::sample_columns)};

/// Copies from the database attached as `other` into `main`.
class Copier {
 public:
  explicit Copier(Database& database) : database_(database) {}

  void copy_run(std::int64_t number) {
    const bool is_sound = store::matches(database_, store::state_print(), number, "other");
    // A run that is being measured is interrupted in the copy, to which its process does not write.
    Statement copy(
        database_,
        fmt::format("INSERT INTO main.runs (uuid, {0}, fingerprint, status, name, tag, note, "
                    "started_unix_ms, finished_unix_ms, heats_stored, state_fingerprint) SELECT "
                    "uuid, {0}, fingerprint, iif(status = 'running', 'interrupted', status), name, "
                    "tag, note, started_unix_ms, finished_unix_ms, heats_stored, "
                    "state_fingerprint FROM other.runs WHERE number = ?",
                    store::run_columns));
    store::execute(copy, number);
    const std::int64_t copied = database_.getLastInsertRowid();
    copy_all(restart_level, number, copied);
    copy_ceilings(number, copied, {});
    copy_heats(number, copied, {});
    if (is_sound) store::renew_fingerprint(database_, store::state_print(), copied);
  }

  /// Adds missing data of the same run to the run `into`: heats at points it does not have, and
  /// unknown ceilings and restarts. Returns the number of added heats.
  int add_missing(std::int64_t number, std::int64_t into) {
    const auto unknown = [&](const Level& level) {
      return fmt::format(
          "NOT EXISTS (SELECT 1 FROM main.{} AS known WHERE known.run_number = {} "
          "AND known.fingerprint = row.fingerprint)",
          level.table, into);
    };
    int added = 0;
    store::change_state(database_, into, [&] {
      copy_all(restart_level, number, into, unknown(restart_level));
      copy_ceilings(number, into, unknown(ceilings_level));
      added = copy_heats(
          number, into,
          fmt::format("NOT EXISTS (SELECT 1 FROM main.heats AS known WHERE known.run_number = {} "
                      "AND ({}) = ({}))",
                      into, store::qualified("known", store::point_columns()),
                      store::qualified("row", store::point_columns())));
      Statement count(database_,
                      "UPDATE main.runs SET heats_stored = heats_stored + ? WHERE number = ?");
      store::execute(count, added, into);
      // A run that now has all its heats becomes done if its last driver reported that.
      Statement settle(
          database_,
          "UPDATE main.runs SET status = 'done', finished_unix_ms = (SELECT finished_unix_ms FROM "
          "other.runs WHERE number = ?) WHERE number = ? AND finished_unix_ms = 0 AND "
          "heats_planned <= heats_stored AND 'done' = (SELECT status FROM other.runs WHERE number "
          "= ?)");
      store::execute(settle, number, into, number);
    });
    return added;
  }

  /// Returns 1 if the run was in the trash.
  int take_from_trash(std::int64_t number) {
    int taken = 0;
    store::change_state(database_, number, [&] {
      Statement back(database_,
                     "UPDATE main.runs SET trashed_unix_ms = 0 WHERE number = ? AND "
                     "trashed_unix_ms <> 0");
      taken = store::execute(back, number);
    });
    return taken;
  }

 private:
  int copy_heats(std::int64_t number, std::int64_t into, const std::string& which) {
    return copy_each(
        heat_level, number, into,
        [&](std::int64_t heat, std::int64_t new_heat) {
          copy_each(cell_level, heat, new_heat, [&](std::int64_t cell, std::int64_t new_cell) {
            copy_all(sample_level, cell, new_cell);
          });
        },
        which);
  }

  void copy_ceilings(std::int64_t number, std::int64_t into, const std::string& which) {
    copy_each(
        ceilings_level, number, into,
        [&](std::int64_t ceilings, std::int64_t fresh) { copy_all(rate_level, ceilings, fresh); },
        which);
  }

  /// `which`: a condition on the copied rows, named `row`; empty: all rows.
  void copy_all(const Level& level, std::int64_t parent, std::int64_t new_parent,
                const std::string& which = {}) {
    Statement copy(database_, fmt::format("INSERT INTO main.{0} ({1}, {2}) SELECT ?, {2} FROM "
                                          "other.{0} AS row WHERE {1} = ?{3}",
                                          level.table, level.parent, level.columns,
                                          which.empty() ? "" : " AND " + which));
    store::execute(copy, new_parent, parent);
  }

  /// Copies row by row, because child rows need the row's old and new numbers. Returns the number
  /// of rows.
  template <typename Below>
  int copy_each(const Level& level, std::int64_t parent, std::int64_t new_parent, Below below,
                const std::string& which = {}) {
    Statement list(database_,
                   fmt::format("SELECT id FROM other.{} AS row WHERE {} = ?{} ORDER BY id",
                               level.table, level.parent, which.empty() ? "" : " AND " + which));
    Statement copy(database_, fmt::format("INSERT INTO main.{0} ({1}, {2}) SELECT ?, {2} FROM "
                                          "other.{0} WHERE id = ?",
                                          level.table, level.parent, level.columns));
    list.bind(1, parent);
    int copied = 0;
    while (list.executeStep()) {
      const std::int64_t id = list.getColumn(0).getInt64();
      store::execute(copy, new_parent, id);
      below(id, database_.getLastInsertRowid());
      ++copied;
    }
    return copied;
  }

  Database& database_;
};

/// Like store::guarded, for rows copied to the file `target`: the message names the file that
/// failed.
template <typename Work>
auto guarded_between(const std::filesystem::path& from, const std::filesystem::path& to,
                     const Database& target, Work&& work) -> decltype(work()) {
  try {
    return std::forward<Work>(work)();
  } catch (const store::DatabaseError& error) {
    const bool is_of_source =
        store::is_of_reading(error) &&
        store::first_text(target, "PRAGMA main.quick_check(1)") == store::sound_words;
    return tl::unexpected<Error>(store::error_of(error, is_of_source ? from : to));
  }
}

Status check_export_target(const std::filesystem::path& file) {
  std::error_code failed;
  if (std::filesystem::exists(std::filesystem::symlink_status(file, failed))) {
    return store::refuse_existing(file);
  }
  if (belongs_to_database(file)) {
    return fail(
        "{} has a name that SQLite uses for its own files next to a database; name another file",
        file.string());
  }
  const std::filesystem::path folder = std::filesystem::absolute(file).parent_path();
  if (!std::filesystem::is_directory(folder, failed)) {
    return fail("the folder {} does not exist; create it, or name a file elsewhere",
                folder.string());
  }
  if (::access(folder.c_str(), W_OK | X_OK) != 0) {
    return fail("{} cannot be written ({}); name a file elsewhere", file.string(),
                system_reason(errno));
  }
  return {};
}

/// Inserts the run as it began, with its identity, so that its rows can be merged anywhere.
void insert_run(store::Database& database, const RunInfo& run) {
  store::Statement insert(
      database, fmt::format("INSERT INTO runs (uuid, {}, status, name, tag, note, started_unix_ms, "
                            "fingerprint) VALUES ({}, 0)",
                            store::run_columns, store::places(store::run_columns, 6)));
  store::Writer write(insert);
  write(run.id.uuid);
  store::visit_run(write, run.start);
  write(RunStatus::running);
  write(run.name);
  write(run.tag);
  write(run.note);
  write(run.started_unix_ms);
  store::execute(insert);
  const std::int64_t number = database.getLastInsertRowid();
  store::renew_fingerprint(database, store::start_print(), number);
  store::renew_fingerprint(database, store::state_print(), number);
}

}  // namespace

Status Store::export_runs(const std::vector<RunId>& runs, const std::filesystem::path& file) const {
  const Implementation& own = *implementation_;
  if (runs.empty()) return fail("there is no run to export; name at least one");
  if (Status free = check_export_target(file); !free) return free;
  store::UnfinishedFile part(file);
  const Status filled = store::guarded(file, [&]() -> Status {
    Database target = store::open_or_create(part.path());
    store::prepare_for_writing(target);
    store::create_schema(target);
    store::attach(target, own.uri, "other");
    return guarded_between(own.file, file, target, [&]() -> Status {
      Transaction transaction(target, SQLite::TransactionBehavior::IMMEDIATE);
      for (const RunId& run : runs) {
        const Result<std::int64_t> number = store::number_of(own.database, run);
        if (!number) return tl::unexpected(number.error());
        if (store::number_of(target, run)) continue;  // given twice
        Copier(target).copy_run(*number);
      }
      transaction.commit();
      return {};
    });
  });
  if (!filled || !has_gzip_name(file)) return filled ? part.publish() : filled;
  store::UnfinishedFile packed(file);
  const Status done = store::pack_database(part.path(), packed.path(), file);
  return done ? packed.publish() : done;
}

bool Store::is_at_its_place() const {
  return implementation_->is_at_its_place();
}

Status Store::continue_in(const std::filesystem::path& file) {
  Implementation& own = *implementation_;
  if (Status free = check_export_target(file); !free) return free;
  store::UnfinishedFile part(file);
  const Status saved = store::guarded(file, [&]() -> Status {
    Statement copy(own.database, "VACUUM main INTO ?");
    store::execute(copy, part.path().string());
    return part.publish();
  });
  if (!saved) return saved;
  auto copy = open(file, Mode::read_write);
  if (!copy) return tl::unexpected(copy.error());
  copy->set_busy_timeout(std::chrono::milliseconds(own.busy_timeout_ms));
  copy->implementation_->start = own.start;
  *this = std::move(*copy);
  return {};
}

Result<Store> Store::create_with(const std::filesystem::path& file, const RunInfo& run) {
  return store::guarded(file, [&]() -> Result<Store> {
    store::UnfinishedFile part(file);
    {
      store::Database database = store::open_or_create(part.path());
      store::prepare_for_writing(database);
      store::create_schema(database);
      store::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
      insert_run(database, run);
      transaction.commit();
    }
    if (Status named = part.publish(); !named) return tl::unexpected(named.error());
    store::Database database =
        store::open_database(store::uri_of(file, ""), SQLite::OPEN_READWRITE);
    store::prepare_for_writing(database);
    return Store(std::make_unique<Implementation>(
        Implementation{file, store::uri_of(file, "mode=ro"), std::move(database), true, {}}));
  });
}

Result<Store::Imported> Store::import_file(const std::filesystem::path& file) {
  Implementation& own = *implementation_;
  if (Status allowed = own.writable_now(); !allowed) return tl::unexpected(allowed.error());
  // Opening it checks its format and version, and selects the way of reading it.
  const Result<Store> source = Store::open(file, Mode::read_only);
  if (!source) return tl::unexpected(source.error());
  const Result<std::vector<RunInfo>> incoming = source->runs();
  if (!incoming) return tl::unexpected(incoming.error());

  return store::guarded(own.file, [&]() -> Result<Imported> {
    store::attach(own.database, source->implementation_->uri, "other");
    Result<Imported> result =
        guarded_between(file, own.file, own.database, [&]() -> Result<Imported> {
          Imported imported;
          Transaction transaction(own.database, SQLite::TransactionBehavior::IMMEDIATE);
          for (auto run = incoming->rbegin(); run != incoming->rend(); ++run) {  // oldest first
            Copier copier(own.database);
            imported.runs.push_back(run->id);
            if (const Result<std::int64_t> there = store::number_of(own.database, run->id)) {
              ++imported.already_there;
              imported.taken_from_trash += copier.take_from_trash(*there);
              imported.heats_added += copier.add_missing(run->number, *there);
              continue;
            }
            copier.copy_run(run->number);
            ++imported.added;
          }
          if (Status allowed = own.writable_now(); !allowed) return tl::unexpected(allowed.error());
          transaction.commit();
          return imported;
        });
    own.database.exec("DETACH DATABASE other");
    return result;
  });
}

namespace store {

namespace {

constexpr std::size_t versions_at = 18;  // file format versions for writing and reading
constexpr char with_log = 2, without_log = 1;

}  // namespace

Result<OpenedDatabase> read_packed(const std::filesystem::path& file, std::int64_t most_bytes) {
  const auto packed = OpenFile::to_read(file);
  if (!packed) return tl::unexpected(packed.error());
  sqlite3_vfs* const memory = sqlite3_vfs_find("memdb");
  if (memory == nullptr) {
    return fail(
        "{}: this SQLite does not support databases in memory; unpack the file with gunzip, and "
        "name the result",
        file.string());
  }
  const std::string name = fmt::format("/{}", new_uuid());
  VfsFile unpacked(*memory, name, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  const auto no_memory = [&] {
    return fail(
        "{}: there is not enough memory to unpack it; unpack it with gunzip, and name the result",
        file.string());
  };
  if (!unpacked.is_open()) return no_memory();
  UnpackedBytes bytes(packed->number(), file.string());
  sqlite3_int64 size = 0;
  const Status done = unpack_all(bytes, most_bytes, [&](std::span<const char> part) -> Status {
    if (!unpacked.write(part.data(), part.size(), size)) return no_memory();
    size += static_cast<sqlite3_int64>(part.size());
    return {};
  });
  if (!done) return tl::unexpected(done.error());
  std::array<char, header_bytes> start{};
  const std::size_t count = std::min(start.size(), static_cast<std::size_t>(size));
  if (!unpacked.read(start.data(), count, 0)) return no_memory();
  const auto header = read_header(std::span(start).first(count), file);
  if (!header) return tl::unexpected(header.error());
  if (header->empty) return fail("{} is empty; name another file", file.string());
  // An in-memory database has no log: a header that specifies WAL is changed to one without.
  const std::span<char> versions = std::span(start).subspan(versions_at, 2);
  std::ranges::replace(versions, with_log, without_log);
  if (!unpacked.write(versions.data(), versions.size(), versions_at)) return no_memory();
  std::string uri = fmt::format("file:{}?vfs=memdb&mode=ro", name);
  Database database = open_database(uri, SQLite::OPEN_READONLY);
  return OpenedDatabase{std::move(database), std::move(uri)};
}

Status pack_database(const std::filesystem::path& database, const std::filesystem::path& packed,
                     const std::filesystem::path& name) {
  const auto not_written = [&] {
    return fail("{} cannot be written ({}); free disk space, or name a file elsewhere",
                name.string(), system_reason(errno));
  };
  Descriptor from, to;
  if (!from.take(::open(database.c_str(), O_RDONLY | O_CLOEXEC)) ||
      !to.take(::open(packed.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC))) {
    return not_written();
  }
  const auto write = [&](const std::string& bytes) {
    return write_all(to.get(), std::as_bytes(std::span(bytes)));
  };
  GzipPacker packer;
  UnpackedBytes bytes(from.get(), name.string());
  const Status done = unpack_all(bytes, std::numeric_limits<std::int64_t>::max(),
                                 [&](std::span<const char> part) -> Status {
                                   if (!write(packer.pack({part.data(), part.size()})))
                                     return not_written();
                                   return {};
                                 });
  if (!done) return done;
  if (!write(packer.finish()) || ::fsync(to.get()) != 0) return not_written();
  return {};
}

}  // namespace store
}  // namespace attnscope
