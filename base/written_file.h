#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A file that gets its name only when it is complete: until then it exists in the same folder under
// another name, and the previous file stays. Devices, pipes, links, folders and databases are never
// replaced, and no writer replaces a file that is read. A file whose name ends in
// ".gz" is compressed by gzip.
//
// The output that the user names for a command may also be a stream: "-" for standard output, a
// device, a pipe. A stream is written to when the output is complete.
//
//   Result<WrittenFile> file = WrittenFile::next_to("out/figure.svg");
//   file->write(text);
//   Status done = file->commit();

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/gzip.h"
#include "base/result.h"

namespace attnscope {

/// Registers a path, which need not exist: a file created there later counts as read, too.
void note_read(const std::filesystem::path& file);
/// Registers a descriptor that is a regular file, such as redirected standard input.
void note_read(int descriptor);

[[nodiscard]] bool is_read(const std::filesystem::path& file);
/// Compares only device and inode number; false for anything but a regular file.
[[nodiscard]] bool is_read(int descriptor);

/// A checksum of all bytes of a file (RunningSum): different contents have different checksums.
[[nodiscard]] Result<std::uint64_t> fingerprint_of_file(const std::filesystem::path& file);
/// Whether its first bytes are SQLite's: a store, an exported .attn.
[[nodiscard]] bool is_database(const std::filesystem::path& file);
/// Whether it is a database, or has the name of a file that SQLite keeps with one (-wal, -shm,
/// -journal).
[[nodiscard]] bool belongs_to_database(const std::filesystem::path& file);

/// Whether `target` is "-", standard output by another name, or an existing device or pipe.
[[nodiscard]] bool is_stream(const std::filesystem::path& target);
/// Whether an output may be a stream: one named by the user may, a file in a folder may not.
enum class Streams : bool { refused, allowed };

/// Ok, or an error: `target` is read by this process or is one of `inputs`, or it exists and is a
/// database or not a regular file. For commands that compute for a long time before they write.
[[nodiscard]] Status may_be_written(const std::filesystem::path& target,
                                    std::span<const std::filesystem::path> inputs = {},
                                    Streams streams = Streams::refused);

/// A new file "TARGET.part-XXXXXX", accessible only to its owner and locked while it is open.
/// Unlocked part files of the same target, left by killed commands, are removed first.
struct PartFile {
  std::string name;
  int number = -1;  // the descriptor; -1 after an error in errno
};
/// Whether `name` is the name of a part file of `target`, both without their folder.
[[nodiscard]] bool is_part_of(std::string_view target, std::string_view name);
enum class PartLock : bool { none, held };
[[nodiscard]] PartFile begin_part(const std::filesystem::path& target,
                                  PartLock lock = PartLock::held);

enum class Readers : bool { as_umask, owner_only };
/// Files that are mapped for reading are never packed.
enum class Packing : bool { by_name, never };

class WrittenFile {
 public:
  /// A replaced file keeps its read permissions; a new one gets those of `readers`.
  [[nodiscard]] static Result<WrittenFile> next_to(const std::filesystem::path& target,
                                                   Readers readers = Readers::as_umask,
                                                   Packing packing = Packing::by_name);
  /// An output named by the user: a part file next to the target, or a stream.
  [[nodiscard]] static Result<WrittenFile> of_output(const std::filesystem::path& target);
  WrittenFile(WrittenFile&& other) noexcept;
  WrittenFile& operator=(WrittenFile&&) = delete;
  WrittenFile(const WrittenFile&) = delete;
  WrittenFile& operator=(const WrittenFile&) = delete;
  ~WrittenFile();  // removes an uncommitted file

  /// Whether a file of that name exists; it stays unless this one is committed.
  [[nodiscard]] bool replaces() const;
  /// After a failure nothing more is written, and every later call returns the same error.
  Status write(std::span<const std::byte> bytes);
  Status write(std::string_view text);
  /// Waits until all data are on disk, so that a full disk is detected.
  [[nodiscard]] Status flush();
  /// Flushes, and gives the file its final name.
  [[nodiscard]] Status commit();

 private:
  WrittenFile(std::filesystem::path target, Readers readers, Packing packing);
  [[nodiscard]] Status outcome() const;
  void write_bytes(std::span<const std::byte> bytes);
  /// Copies everything to the stream.
  [[nodiscard]] Status pass_on();

  std::filesystem::path target_;
  std::string name_;  // until it is complete; empty if the target is a stream
  int number_ = -1;
  int error_ = 0;
  bool is_flushed_ = false;
  std::optional<GzipPacker> packer_;
};

/// The descriptor of a new unnamed file, which disappears when it is closed; -1, with errno set, if
/// the folder does not allow one.
[[nodiscard]] int unnamed_file(const std::filesystem::path& folder);
/// Returns false, with errno set, if not all bytes could be written.
[[nodiscard]] bool write_all(int number, std::span<const std::byte> bytes);

/// Writes all files or, if an error occurs before the first has its name, none.
struct FileText {
  std::filesystem::path path;
  std::string_view text;
};
[[nodiscard]] Status write_files(std::span<const FileText> files,
                                 Streams streams = Streams::refused);
[[nodiscard]] Status write_file(const std::filesystem::path& path, std::string_view text,
                                Streams streams = Streams::refused);

}  // namespace attnscope
