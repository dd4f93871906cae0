// SPDX-License-Identifier: Apache-2.0
#include "tests/store/failing_disk.h"

#include <algorithm>
#include <filesystem>
#include <new>

#include "tests/store/sample_runs.h"

namespace attnscope::test {

/// SQLite allocates szOsFile bytes: this struct, followed by the real file.
struct FailingFile {
  sqlite3_file base;
  FailingDisk* disk;
  std::string* path;  // empty: a temporary file without a name
  sqlite3_file* real;

  static FailingFile& of(sqlite3_file* file) { return *reinterpret_cast<FailingFile*>(file); }
  static const sqlite3_io_methods methods;

  static int close(sqlite3_file* file) {
    FailingFile& own = of(file);
    const int code = own.real->pMethods->xClose(own.real);
    delete own.path;
    return code;
  }
  /// Calls the method of the real file.
  template <auto method, typename... Arguments>
  static int real_file(sqlite3_file* file, Arguments... arguments) {
    sqlite3_file* const real = of(file).real;
    return (real->pMethods->*method)(real, arguments...);
  }
  static int write(sqlite3_file* file, const void* from, int count, sqlite3_int64 at) {
    FailingFile& own = of(file);
    const int error = own.disk->next(true, SQLITE_IOERR_WRITE);
    const int reached = error == SQLITE_OK ? count : count / 2;
    const int code = own.real->pMethods->xWrite(own.real, from, reached, at);
    own.disk->note(*own.path, {.at = static_cast<std::size_t>(at),
                               .bytes = std::string(static_cast<const char*>(from),
                                                    static_cast<std::size_t>(reached))});
    return error != SQLITE_OK ? error : code;
  }
  static int truncate(sqlite3_file* file, sqlite3_int64 size) {
    FailingFile& own = of(file);
    if (const int error = own.disk->next(false, SQLITE_IOERR_TRUNCATE)) return error;
    own.disk->note(*own.path, {.at = static_cast<std::size_t>(size), .bytes = std::nullopt});
    return own.real->pMethods->xTruncate(own.real, size);
  }
  /// The real disk is not synced: these tests only use the file's contents.
  static int sync(sqlite3_file* file, int) {
    FailingFile& own = of(file);
    if (const int error = own.disk->next(false, SQLITE_IOERR_FSYNC)) return error;
    own.disk->note_synced(*own.path);
    return SQLITE_OK;
  }
};

// Version 1: without shared memory and xFetch, so that every access is a read or a write.
using Methods = sqlite3_io_methods;
const Methods FailingFile::methods = {
    .iVersion = 1,
    .xClose = close,
    .xRead = real_file<&Methods::xRead, void*, int, sqlite3_int64>,
    .xWrite = write,
    .xTruncate = truncate,
    .xSync = sync,
    .xFileSize = real_file<&Methods::xFileSize, sqlite3_int64*>,
    .xLock = real_file<&Methods::xLock, int>,
    .xUnlock = real_file<&Methods::xUnlock, int>,
    .xCheckReservedLock = real_file<&Methods::xCheckReservedLock, int*>,
    .xFileControl = real_file<&Methods::xFileControl, int, void*>,
    .xSectorSize = real_file<&Methods::xSectorSize>,
    .xDeviceCharacteristics = real_file<&Methods::xDeviceCharacteristics>,
    .xShmMap = nullptr,
    .xShmLock = nullptr,
    .xShmBarrier = nullptr,
    .xShmUnmap = nullptr,
    .xFetch = nullptr,
    .xUnfetch = nullptr,
};

FailingDisk::FailingDisk() : real_(sqlite3_vfs_find(nullptr)), vfs_(*real_) {
  vfs_.zName = "failing";
  vfs_.szOsFile = static_cast<int>(sizeof(FailingFile)) + real_->szOsFile;
  vfs_.pNext = nullptr;
  vfs_.pAppData = this;
  vfs_.xOpen = open;
  vfs_.xDelete = remove;
  sqlite3_vfs_register(&vfs_, /*makeDflt=*/1);
}

FailingDisk::~FailingDisk() {
  sqlite3_vfs_unregister(&vfs_);
  sqlite3_vfs_register(real_, /*makeDflt=*/1);
}

void FailingDisk::fail_at(int operation, Kind kind, Lasting lasting) {
  counted_ = 0;
  fail_at_ = operation;
  kind_ = kind;
  lasting_ = lasting;
  failed_ = false;
}

int FailingDisk::next(bool is_write, int error) {
  ++counted_;
  if (fail_at_ == 0 || counted_ < fail_at_) return SQLITE_OK;
  if (failed_ && lasting_ == Lasting::once) return SQLITE_OK;
  if (kind_ == Kind::full && !is_write) return SQLITE_OK;
  failed_ = true;
  if (kind_ == Kind::io_error) return error;
  return error == SQLITE_IOERR_WRITE ? SQLITE_FULL : error;
}

FailingDisk::Medium& FailingDisk::medium(const std::string& path) {
  const auto [place, fresh] = media_.try_emplace(path);
  if (fresh && std::filesystem::exists(path)) place->second.synced = bytes_of(path);
  return place->second;
}

void FailingDisk::note(const std::string& path, Change change) {
  if (!path.empty()) medium(path).pending.push_back(std::move(change));
}

void FailingDisk::note_synced(const std::string& path) {
  if (path.empty()) return;
  Medium& own = medium(path);
  own.synced = bytes_of(path);
  own.pending.clear();
  own.removal_pending = false;
}

void FailingDisk::note_removed(const std::string& path, bool synced) {
  Medium& own = medium(path);
  own.pending.clear();
  if (synced) own.synced.reset();
  own.removal_pending = !synced;
}

void FailingDisk::cut_power(std::mt19937_64* survivors) {
  const auto survives = [&] { return survivors != nullptr && (*survivors)() % 2 == 0; };
  for (auto& [path, medium] : media_) {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
    if (medium.removal_pending && survives()) continue;
    std::string content = medium.synced.value_or("");
    bool there = medium.synced.has_value();
    for (const Change& change : medium.pending) {
      if (!survives()) continue;
      there = true;
      if (!change.bytes) {
        content.resize(std::min(content.size(), change.at));
        continue;
      }
      content.resize(std::max(content.size(), change.at + change.bytes->size()));
      content.replace(change.at, change.bytes->size(), *change.bytes);
    }
    if (there) write_bytes(path, content);
  }
  media_.clear();
}

int FailingDisk::open(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags, int* out) {
  FailingDisk& own = *static_cast<FailingDisk*>(vfs->pAppData);
  file->pMethods = nullptr;
  const bool makes =
      (flags & SQLITE_OPEN_CREATE) != 0 && name != nullptr && !std::filesystem::exists(name);
  if (makes) {
    if (own.next(false, SQLITE_CANTOPEN) != SQLITE_OK) return SQLITE_CANTOPEN;
  }
  if (name != nullptr) static_cast<void>(own.medium(name));  // as it is before the first write
  auto* opened = new (file) FailingFile{};
  opened->real = reinterpret_cast<sqlite3_file*>(opened + 1);
  const int code = own.real_->xOpen(own.real_, name, opened->real, flags, out);
  if (code != SQLITE_OK) return code;
  opened->disk = &own;
  opened->path = new std::string(name != nullptr ? name : "");
  opened->base.pMethods = &FailingFile::methods;
  return SQLITE_OK;
}

int FailingDisk::remove(sqlite3_vfs* vfs, const char* name, int sync_folder) {
  FailingDisk& own = *static_cast<FailingDisk*>(vfs->pAppData);
  if (const int error = own.next(false, SQLITE_IOERR_DELETE)) return error;
  if (std::filesystem::exists(name)) own.note_removed(name, sync_folder != 0);
  return own.real_->xDelete(own.real_, name, sync_folder);
}

}  // namespace attnscope::test
