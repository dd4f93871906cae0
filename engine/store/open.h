#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Making a database and bringing it up to date.

#include <span>

#include "engine/store/database.h"
#include "engine/store/schema.h"
#include "kernels/base/result.h"

namespace attnscope::store {

/// Fills an empty database with the schema, unless another process has just done so.
void create_schema(Database& database);

/// Every commit is on the disk when it is reported, in one file: without a write-ahead log.
void prepare_single_file(Database& database);

/// Takes the database from its version to `target` in one transaction, after a backup beside the
/// file ("attnscope.db.version-1.backup"). On an error the database is as it was.
[[nodiscard]] Status migrate(Database& database, const std::filesystem::path& file,
                             std::span<const MigrationStep> steps, int target);

}  // namespace attnscope::store
