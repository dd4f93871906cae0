// SPDX-License-Identifier: Apache-2.0
#include "engine/store/vfs_file.h"

namespace attnscope::store {

// SQLite's file systems expect parameters after the terminator of the name.
VfsFile::VfsFile(sqlite3_vfs& system, const std::string& path, int access)
    : name_(sqlite3_create_filename(path.c_str(), "", "", 0, nullptr)),
      room_((static_cast<std::size_t>(system.szOsFile) + sizeof(std::max_align_t) - 1) /
            sizeof(std::max_align_t)),
      file_(reinterpret_cast<sqlite3_file*>(room_.data())),
      is_open_(system.xOpen(&system, name_.get(), file_, access | SQLITE_OPEN_MAIN_DB, nullptr) ==
               SQLITE_OK) {}

VfsFile::~VfsFile() {
  if (file_->pMethods != nullptr) file_->pMethods->xClose(file_);
}

sqlite3_int64 VfsFile::size() {
  sqlite3_int64 size = -1;
  return file_->pMethods->xFileSize(file_, &size) == SQLITE_OK ? size : -1;
}

bool VfsFile::read(char* bytes, std::size_t count, sqlite3_int64 at) {
  return count == 0 ||
         file_->pMethods->xRead(file_, bytes, static_cast<int>(count), at) == SQLITE_OK;
}

bool VfsFile::write(const char* bytes, std::size_t count, sqlite3_int64 at) {
  return file_->pMethods->xWrite(file_, bytes, static_cast<int>(count), at) == SQLITE_OK;
}

}  // namespace attnscope::store
