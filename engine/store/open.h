#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Creation of databases.

#include "engine/store/database.h"

namespace attnscope::store {

/// Creates the schema in an empty database, unless another process has just done so.
void create_schema(Database& database);

/// Selects a single file without a write-ahead log, in which every reported commit is on disk.
void prepare_single_file(Database& database);

}  // namespace attnscope::store
