#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Damage in a write-ahead log. SQLite reads a log up to the first frame whose checksum does not
// hold and takes it for its end, as after a power cut; so damage takes committed changes away, and
// the integrity check calls what is left sound. Here the rest of the log is looked at.
// Format: https://www.sqlite.org/fileformat2.html, 4.

#include <cstdint>
#include <filesystem>

namespace attnscope::store {

/// The log beside the database.
[[nodiscard]] std::filesystem::path log_of(const std::filesystem::path& database);
/// The memory by which all who use the log know of each other.
[[nodiscard]] std::filesystem::path memory_of(const std::filesystem::path& database);

/// Commits that are in the log and that SQLite will not read; 0: the log is whole, or there is
/// none. The last commit alone cannot be told from one that the power or a kill cut off before it
/// was promised to anybody, and is no damage.
[[nodiscard]] std::int64_t lost_commits(const std::filesystem::path& database);

/// A damaged log's copy, kept before it is gone for good: opening for writing ends it.
[[nodiscard]] std::filesystem::path kept_log_of(const std::filesystem::path& database);
/// Makes it, unless an earlier one is there.
void keep_log(const std::filesystem::path& database);

}  // namespace attnscope::store
