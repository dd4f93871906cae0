#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The schema's text (schema.sql, compiled in), its version and the steps from older versions.

#include <span>

namespace attnscope::store {

inline constexpr int schema_version = 1;
inline constexpr int application_id = 0x41745363;  // "AtSc"

extern const char* const schema_text;

/// Takes a database from one version to the next.
struct MigrationStep {
  int from = 0;
  const char* sql = nullptr;
};

/// Ascending and without gaps. Version 1 is the first that was ever written, so there are none yet;
/// whoever raises schema_version changes schema.sql and adds the step here.
inline constexpr std::span<const MigrationStep> migration_steps{};

}  // namespace attnscope::store
