#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The schema and its version. Only one version is supported: other files are refused and left
// unchanged.

#include <string>

namespace attnscope::store {

inline constexpr int schema_version = 8;
inline constexpr int application_id = 0x41745363;  // "AtSc"

/// The text of schema.sql; `:axes` is a placeholder for the columns of the axes.
extern const char* const schema_text;

/// The schema with a column for every axis of engine/heat/axes.h.
[[nodiscard]] std::string schema();

}  // namespace attnscope::store
