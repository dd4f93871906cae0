// SPDX-License-Identifier: Apache-2.0
#include "engine/store/file_start.h"

#include <sqlite3.h>

#include <algorithm>
#include <cstddef>

#include "engine/store/vfs_file.h"

namespace attnscope::store {

std::optional<std::size_t> read_start(const std::filesystem::path& file, std::span<char> bytes) {
  sqlite3_vfs* const system = sqlite3_vfs_find(nullptr);
  if (system == nullptr) return std::nullopt;
  VfsFile opened(*system, std::filesystem::absolute(file).string(), SQLITE_OPEN_READONLY);
  if (!opened.is_open()) return std::nullopt;
  const sqlite3_int64 size = opened.size();
  const std::size_t count =
      std::min(bytes.size(), static_cast<std::size_t>(std::max<sqlite3_int64>(size, 0)));
  if (size < 0 || !opened.read(bytes.data(), count, 0)) return std::nullopt;
  return count;
}

}  // namespace attnscope::store
