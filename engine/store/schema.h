#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The tables of a database, as schema.sql defines and documents them.

#include <string>

#include "engine/store/database.h"

namespace attnscope::store {

/// The text of schema.sql; `:axes` is a placeholder for the columns of the axes.
extern const char* const schema_text;

/// The schema with a column for every axis of engine/heat/axes.h.
[[nodiscard]] std::string schema();

/// Creates the schema in an empty database, unless another process has just done so.
void create_schema(Database& database);

}  // namespace attnscope::store
