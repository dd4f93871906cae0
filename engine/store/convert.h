#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Conversion of databases of the version before this one (converted_version in location.h). Remove
// convert.h and convert.cpp, and their two calls in open.cpp, when no such file is left.

#include <filesystem>
#include <string>

#include "engine/store/database.h"

namespace attnscope::store {

/// A database in memory with the runs of the older one, which stays as it is. What did not match
/// its fingerprint does not match its new one either.
[[nodiscard]] OpenedDatabase converted(const std::string& older_uri);

/// Replaces the older database by its conversion in one transaction, unless another process has
/// just done so.
void convert_in_place(Database& database, const std::filesystem::path& file);

}  // namespace attnscope::store
