#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The schema's text (schema.sql, compiled in), its version and the steps from older versions.

#include <array>

namespace attnscope::store {

inline constexpr int schema_version = 7;
inline constexpr int application_id = 0x41745363;  // "AtSc"

extern const char* const schema_text;

/// Takes a database from one version to the next.
struct MigrationStep {
  int from = 0;
  const char* sql = nullptr;
};

/// Ascending and without gaps, from version 1, the first that was ever written. Whoever raises
/// schema_version changes schema.sql and adds the step here; the steps also serve files that may
/// only be read, in a copy in memory.
inline constexpr std::array migration_steps{
    // Version 1 knew no other state of the caches.
    MigrationStep{1, "ALTER TABLE heats ADD COLUMN cache TEXT NOT NULL DEFAULT 'warm'"},
    // Version 2 knew no other ceilings than the processor's.
    MigrationStep{2,
                  "ALTER TABLE ceilings ADD COLUMN device TEXT NOT NULL DEFAULT 'cpu';"
                  "ALTER TABLE ceilings ADD COLUMN tensor_flop_per_second REAL NOT NULL DEFAULT 0"},
    // Versions up to 3 knew items of one document only.
    MigrationStep{3, "ALTER TABLE heats ADD COLUMN documents INTEGER NOT NULL DEFAULT 1"},
    // Versions up to 4 noted no clocks, and no memory but what was counted.
    MigrationStep{4,
                  "ALTER TABLE cells ADD COLUMN process_peak_bytes INTEGER;"
                  "ALTER TABLE samples ADD COLUMN clock_mhz REAL;"
                  "ALTER TABLE samples ADD COLUMN temperature_c REAL;"
                  "ALTER TABLE samples ADD COLUMN throttled INTEGER NOT NULL DEFAULT 0;"
                  "CREATE INDEX run_list ON runs(started_unix_ms, uuid, sweep_name, device, "
                  "heats_planned, process_id, process_start_ticks, status, tag, note, "
                  "finished_unix_ms);"
                  "CREATE INDEX failed_cells ON cells(heat_id) "
                  "WHERE status IN ('wrong', 'crashed', 'timeout')"},
    // Versions up to 5 had no names but the sweeps', and no trash.
    MigrationStep{5,
                  "ALTER TABLE runs ADD COLUMN name TEXT NOT NULL DEFAULT '';"
                  "ALTER TABLE runs ADD COLUMN trashed_unix_ms INTEGER NOT NULL DEFAULT 0;"
                  "DROP INDEX run_list;"
                  "CREATE INDEX run_list ON runs(started_unix_ms, uuid, sweep_name, device, "
                  "heats_planned, process_id, process_start_ticks, status, tag, note, "
                  "finished_unix_ms, name, trashed_unix_ms)"},
    // Versions up to 6 knew single attention calls only.
    MigrationStep{6,
                  "ALTER TABLE heats ADD COLUMN batch_per_contender INTEGER NOT NULL DEFAULT 0;"
                  "ALTER TABLE heats ADD COLUMN layers INTEGER NOT NULL DEFAULT 0;"
                  "ALTER TABLE heats ADD COLUMN feed_forward INTEGER NOT NULL DEFAULT 0;"
                  "ALTER TABLE cells ADD COLUMN model TEXT NOT NULL DEFAULT ''"},
};
static_assert(migration_steps.size() + 1 == schema_version);

}  // namespace attnscope::store
