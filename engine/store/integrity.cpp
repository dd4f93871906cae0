// SPDX-License-Identifier: Apache-2.0
//
// The full check: SQLite's own, which does not look at values, and then every fingerprint.

#include <fmt/format.h>

#include "engine/store/implementation.h"
#include "kernels/plan/in_a_sentence.h"

namespace attnscope {
namespace {

/// Damaged or missing cells of one run.
Result<std::int64_t> damage_of(const Store& store, const store::Database& database,
                               const RunInfo& run) {
  const Result<std::vector<StoredCell>> cells = store.cells(run.id, true);
  if (!cells) return tl::unexpected(cells.error());
  store::Statement planned =
      database.prepare("SELECT total(cell_count) FROM heats WHERE run_number = ?");
  planned.bind(run.number);
  std::int64_t damaged = planned.step() ? planned.integer(0) : 0;
  damaged -= static_cast<std::int64_t>(cells->size());
  damaged = damaged < 0 ? -damaged : damaged;
  for (const StoredCell& cell : *cells) damaged += cell.damaged ? 1 : 0;
  return damaged + (run.damaged ? 1 : 0);
}

}  // namespace

Status Store::check_integrity() const {
  const Implementation& own = *implementation_;
  return store::guarded(own.file, [&]() -> Status {
    constexpr const char* mend =
        "save the runs that can still be read with attnscope export RUN -o FILE.attn";
    if (const std::string found = own.database.text("PRAGMA integrity_check(1)"); found != "ok") {
      constexpr std::size_t longest = 200;
      return fail("the database {} is damaged ({}); {}", own.file.string(),
                  in_a_sentence(found, longest), mend);
    }
    if (own.database.prepare("PRAGMA foreign_key_check").step()) {
      return fail("the database {} is damaged (rows without their run or heat); {}",
                  own.file.string(), mend);
    }
    const Result<std::vector<RunInfo>> all = runs();
    if (!all) return tl::unexpected(all.error());
    for (const RunInfo& run : *all) {
      const Result<std::int64_t> damaged = damage_of(*this, own.database, run);
      if (!damaged) return tl::unexpected(damaged.error());
      if (*damaged > 0) {
        return fail("{} values of run {} in {} are damaged and shown as such; measure it again",
                    *damaged, run.number, own.file.string());
      }
    }
    return {};
  });
}

}  // namespace attnscope
