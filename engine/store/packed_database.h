#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A database that gzip has packed: an exported run.attn.gz. It is read from the memory of this
// process, into which it is unpacked; no file is made, and none is left when a process is killed.
//
//   Result<PackedDatabase> packed = read_packed("run.attn.gz");

#include <cstdint>
#include <filesystem>
#include <string>

#include "engine/store/database.h"
#include "engine/store/location.h"
#include "kernels/base/result.h"

namespace attnscope::store {

/// Unpacked; a larger one is unpacked by its owner.
inline constexpr std::int64_t most_unpacked_bytes = std::int64_t{512} << 20U;

struct PackedDatabase {
  FileHeader header;
  std::string uri;    // by which this process's other connections read the same
  Database database;  // for reading; what was unpacked lasts as long as a connection to it
};

/// Errors: what gzip's reader refuses, a file larger than `most_bytes`, one that is not ours.
[[nodiscard]] Result<PackedDatabase> read_packed(const std::filesystem::path& file,
                                                 std::int64_t most_bytes = most_unpacked_bytes);
/// Packs a database that nobody has open into the file `packed`, which is there; messages call it
/// `name`.
[[nodiscard]] Status pack_database(const std::filesystem::path& database,
                                   const std::filesystem::path& packed,
                                   const std::filesystem::path& name);

}  // namespace attnscope::store
