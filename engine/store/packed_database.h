#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A database compressed with gzip: an exported run.attn.gz. It is decompressed into the memory of
// this process and read there; no file is created, so none is left when a process is killed.
//
//   Result<OpenedDatabase> packed = read_packed("run.attn.gz");

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/result.h"
#include "engine/store/database.h"

namespace attnscope::store {

/// Limit of the decompressed size; the user must decompress a larger file.
inline constexpr std::int64_t most_unpacked_bytes = std::int64_t{512} << 20U;

/// Errors: those of the gzip reader, a file larger than `most_bytes`, not an AttnScope database.
[[nodiscard]] Result<OpenedDatabase> read_packed(const std::filesystem::path& file,
                                                 std::int64_t most_bytes = most_unpacked_bytes);
/// Compresses a database without open connections into the existing file `packed`, called `name` in
/// messages.
[[nodiscard]] Status pack_database(const std::filesystem::path& database,
                                   const std::filesystem::path& packed,
                                   const std::filesystem::path& name);

}  // namespace attnscope::store
