#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The schema and its version. There is one: a file of another is refused and left as it is.

#include <string>

namespace attnscope::store {

inline constexpr int schema_version = 8;
inline constexpr int application_id = 0x41745363;  // "AtSc"

/// schema.sql, compiled in; `:axes` stands there for the columns of the axes.
extern const char* const schema_text;

/// The same with a column for every axis of engine/heat/axes.h.
[[nodiscard]] std::string schema();

}  // namespace attnscope::store
