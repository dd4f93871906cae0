#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A simulated failing disk: while it exists, SQLite accesses all files through it. It counts the
// operations that change a file and makes the n-th one fail, once or from then on, after half of a
// write has reached the file. It also simulates power cuts, which keep the synced bytes and none or
// some of the others.
//
//   FailingDisk disk;
//   disk.fail_at(7, FailingDisk::Kind::full, FailingDisk::Lasting::for_good);
//   ... use and close a store ...
//   disk.cut_power(random);  // files contain the synced bytes and a random part of the others

#include <sqlite3.h>

#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace attnscope::test {

class FailingDisk {
 public:
  enum class Kind : std::uint8_t { io_error, full };  // a full disk fails writes alone
  enum class Lasting : std::uint8_t { once, for_good };

  /// Becomes SQLite's default file system until it is destroyed; one at a time.
  FailingDisk();
  ~FailingDisk();
  FailingDisk(const FailingDisk&) = delete;
  FailingDisk& operator=(const FailingDisk&) = delete;

  /// Restarts the count; the first operation is number 1.
  void fail_at(int operation, Kind kind, Lasting lasting);
  /// Nothing fails from now on.
  void repair() { fail_at_ = 0; }
  [[nodiscard]] bool has_failed() const { return failed_; }

  /// Gives the files the contents they have after a power cut. `survivors` selects which unsynced
  /// changes reached the disk, in any order; null: none. All connections must be closed.
  void cut_power(std::mt19937_64* survivors);

 private:
  friend struct FailingFile;
  /// A write, or a new length if there are no bytes.
  struct Change {
    std::size_t at = 0;
    std::optional<std::string> bytes;
  };
  struct Medium {
    std::optional<std::string> synced;  // absent: no such file
    std::vector<Change> pending;
    bool removal_pending = false;
  };

  /// SQLITE_OK, or the error of this operation.
  [[nodiscard]] int next(bool is_write, int error);
  void note(const std::string& path, Change change);
  void note_synced(const std::string& path);
  void note_removed(const std::string& path, bool synced);
  [[nodiscard]] Medium& medium(const std::string& path);

  static int open(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags, int* out);
  static int remove(sqlite3_vfs* vfs, const char* name, int sync_folder);

  sqlite3_vfs* real_;
  sqlite3_vfs vfs_{};
  std::map<std::string, Medium> media_;
  int counted_ = 0, fail_at_ = 0;
  Kind kind_ = Kind::io_error;
  Lasting lasting_ = Lasting::once;
  bool failed_ = false;
};

}  // namespace attnscope::test
