#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Damage in a write-ahead log. SQLite reads a log up to the first frame with a wrong checksum and
// treats that as its end, as after a power cut; damage therefore removes committed changes, and the
// integrity check passes for the rest. This code checks the rest of the log. Format:
// https://www.sqlite.org/fileformat2.html, 4.

#include <cstdint>
#include <filesystem>

namespace attnscope::store {

/// The log next to the database.
[[nodiscard]] std::filesystem::path log_of(const std::filesystem::path& database);
/// The shared memory of all connections that use the log.
[[nodiscard]] std::filesystem::path memory_of(const std::filesystem::path& database);

/// Number of commits in the log that SQLite will not read; 0: the log is complete, or there is
/// none. A missing last commit does not count as damage, because it looks the same as one that a
/// power cut or a kill interrupted before it was reported.
[[nodiscard]] std::int64_t lost_commits(const std::filesystem::path& database);

/// The copy of a damaged log, kept because opening the database for writing discards the log.
[[nodiscard]] std::filesystem::path kept_log_of(const std::filesystem::path& database);
/// Creates the copy, unless there is an earlier one.
void keep_log(const std::filesystem::path& database);

}  // namespace attnscope::store
