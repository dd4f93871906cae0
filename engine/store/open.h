#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Making a database.

#include "engine/store/database.h"

namespace attnscope::store {

/// Fills an empty database with the schema, unless another process has just done so.
void create_schema(Database& database);

/// Every commit is on the disk when it is reported, in one file: without a write-ahead log.
void prepare_single_file(Database& database);

}  // namespace attnscope::store
