// SPDX-License-Identifier: Apache-2.0
//
// Files for what a database does not take just now.

#include <fmt/format.h>

#include "engine/store/fields.h"
#include "engine/store/implementation.h"
#include "engine/store/open.h"
#include "engine/store/unfinished_file.h"

namespace attnscope {
namespace {

/// The run as it began, under its own identity: so its rows are this run's wherever they go.
void insert_run(store::Database& database, const RunInfo& run) {
  store::Statement insert = database.prepare(fmt::format(
      "INSERT INTO runs (uuid, {}, fingerprint, status, name, tag, note, started_unix_ms) "
      "VALUES ({})",
      store::run_columns, store::places(store::run_columns, 7)));
  store::Writer write(insert);
  write(run.id.uuid);
  store::visit_run(write, run.start);
  write(store::fingerprint_of(run.id.uuid, run.start));
  write(RunStatus::running);
  write(run.name);
  write(run.tag);
  write(run.note);
  write(run.started_unix_ms);
  insert.run();
}

}  // namespace

Result<Store> Store::create_aside(const std::filesystem::path& file, const RunInfo& run) {
  return store::guarded(file, [&]() -> Result<Store> {
    const store::UnfinishedFile part(file);
    {
      store::Database database(store::uri_of(part.path(), ""), store::Database::Access::create);
      store::prepare_single_file(database);
      store::create_schema(database);
      store::Transaction transaction(database, store::Transaction::Kind::write);
      insert_run(database, run);
      transaction.commit();
    }
    if (Status named = part.publish(); !named) return tl::unexpected(named.error());
    store::Database database(store::uri_of(file, ""), store::Database::Access::read_write);
    store::prepare_single_file(database);
    return Store(std::make_unique<Implementation>(
        Implementation{file, store::uri_of(file, "mode=ro"), std::move(database), true, {}}));
  });
}

}  // namespace attnscope
