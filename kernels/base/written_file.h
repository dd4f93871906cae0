#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A file that takes its name only when it is whole: until then it lies beside it under another one,
// and what was there stays. Devices, pipes, links, folders and databases are never replaced, and no
// writer replaces what is read (read_files.h). What has a name that ends in ".gz" is packed by
// gzip.
//
// The output that a command is given by its user may also be a stream: "-" for standard output, a
// device, a pipe. A stream is written to when the output is whole.
//
//   Result<WrittenFile> file = WrittenFile::beside("out/figure.svg");
//   file->write(text);
//   Status done = file->commit();

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "kernels/base/gzip.h"
#include "kernels/base/result.h"

namespace attnscope {

/// By its first bytes one of SQLite's: a store, an exported .attn.
[[nodiscard]] bool is_database(const std::filesystem::path& file);
/// Is one, or has a name that SQLite gives to what it keeps beside one (-wal, -shm, -journal).
[[nodiscard]] bool belongs_to_database(const std::filesystem::path& file);

/// Whether `target` is "-", standard output by another name, or a device or a pipe that is there.
[[nodiscard]] bool is_stream(const std::filesystem::path& target);
/// Whether an output may be a stream: one that a user names may, a file in a folder may not.
enum class Streams : bool { refused, taken };

/// Nothing, or a sentence: `target` is read by this process or is one of `inputs`, or it is there
/// and is no regular file or is a database. For whoever computes for long before the file is
/// written.
[[nodiscard]] Status may_be_written(const std::filesystem::path& target,
                                    std::span<const std::filesystem::path> inputs = {},
                                    Streams streams = Streams::refused);

/// A new file "TARGET.part-XXXXXX" for its owner alone. It is locked as long as it is open: what
/// commands that were killed left of the same target, which nobody has locked, is removed first.
struct PartFile {
  std::string name;
  int number = -1;  // the descriptor; or -1, and errno
};
/// Whether that is a name of such a file of the target's name, both without their folder.
[[nodiscard]] bool is_part_of(std::string_view target, std::string_view name);
enum class PartLock : bool { none, held };
[[nodiscard]] PartFile begin_part(const std::filesystem::path& target,
                                  PartLock lock = PartLock::held);

enum class Readers : bool { as_umask, owner_alone };
/// Files that are mapped when they are read are never packed.
enum class Packing : bool { by_name, never };

class WrittenFile {
 public:
  /// What replaces a file is as readable as that one was; a new one as `readers` says.
  [[nodiscard]] static Result<WrittenFile> beside(const std::filesystem::path& target,
                                                  Readers readers = Readers::as_umask,
                                                  Packing packing = Packing::by_name);
  /// An output that a user names: beside the target, or for a stream.
  [[nodiscard]] static Result<WrittenFile> of_output(const std::filesystem::path& target);
  WrittenFile(WrittenFile&& other) noexcept;
  WrittenFile& operator=(WrittenFile&&) = delete;
  WrittenFile(const WrittenFile&) = delete;
  WrittenFile& operator=(const WrittenFile&) = delete;
  ~WrittenFile();  // what was not committed is removed

  /// Whether a file of the name is there, which stays unless this one is committed.
  [[nodiscard]] bool replaces() const;
  /// After a failure nothing more is written, and every later call gives it again.
  Status write(std::span<const std::byte> bytes);
  Status write(std::string_view text);
  /// Waits until the disk has everything: it can no longer be full.
  [[nodiscard]] Status flush();
  /// Flushes, and gives the file its name.
  [[nodiscard]] Status commit();

 private:
  WrittenFile(std::filesystem::path target, Readers readers, Packing packing);
  [[nodiscard]] Status outcome() const;
  void write_bytes(std::span<const std::byte> bytes);
  /// Copies everything to the stream.
  [[nodiscard]] Status pass_on();

  std::filesystem::path target_;
  std::string name_;  // until it is whole; empty where the target is a stream
  int number_ = -1;
  int error_ = 0;
  bool is_flushed_ = false;
  std::optional<GzipPacker> packer_;
};

/// The descriptor of a new file without a name, gone when it is closed; -1, and errno, where the
/// folder takes none.
[[nodiscard]] int nameless_file(const std::filesystem::path& folder);
/// False, and errno, when not all of them could be written.
[[nodiscard]] bool write_all(int number, std::span<const std::byte> bytes);

/// All of them or, when anything fails before the first has its name, none.
struct FileText {
  std::filesystem::path path;
  std::string_view text;
};
[[nodiscard]] Status write_files(std::span<const FileText> files,
                                 Streams streams = Streams::refused);
[[nodiscard]] Status write_file(const std::filesystem::path& path, std::string_view text,
                                Streams streams = Streams::refused);

}  // namespace attnscope
