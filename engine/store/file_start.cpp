// SPDX-License-Identifier: Apache-2.0
#include "engine/store/file_start.h"

#include <sqlite3.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace attnscope::store {
namespace {

struct FreeName {
  void operator()(const char* name) const { sqlite3_free_filename(name); }
};

}  // namespace

std::optional<std::size_t> read_start(const std::filesystem::path& file, std::span<char> bytes) {
  sqlite3_vfs* const system = sqlite3_vfs_find(nullptr);
  if (system == nullptr) return std::nullopt;
  const std::string path = std::filesystem::absolute(file).string();
  // SQLite's file systems look for parameters behind the name's end.
  const std::unique_ptr<const char, FreeName> name(
      sqlite3_create_filename(path.c_str(), "", "", 0, nullptr));
  const auto units = (static_cast<std::size_t>(system->szOsFile) + sizeof(std::max_align_t) - 1) /
                     sizeof(std::max_align_t);
  std::vector<std::max_align_t> room(units);
  auto* const handle = reinterpret_cast<sqlite3_file*>(room.data());
  const int result = system->xOpen(system, name.get(), handle,
                                   SQLITE_OPEN_READONLY | SQLITE_OPEN_MAIN_DB, nullptr);
  std::optional<std::size_t> count;
  if (result == SQLITE_OK) {
    sqlite3_int64 size = 0;
    if (handle->pMethods->xFileSize(handle, &size) == SQLITE_OK) {
      count = std::min(bytes.size(), static_cast<std::size_t>(size));
      const int outcome =
          handle->pMethods->xRead(handle, bytes.data(), static_cast<int>(*count), 0);
      if (*count > 0 && outcome != SQLITE_OK) count.reset();
    }
  }
  if (handle->pMethods != nullptr) handle->pMethods->xClose(handle);
  return count;
}

}  // namespace attnscope::store
