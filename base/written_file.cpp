// SPDX-License-Identifier: Apache-2.0
#include "base/written_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/fingerprint.h"
#include "base/open_file.h"
#include "base/sentences.h"

namespace attnscope {
namespace {

struct Register {
  std::mutex mutex;
  std::multimap<FileId, std::filesystem::path> files;  // by id; without a name for a
                                                       // descriptor
  std::set<std::filesystem::path> names;               // without links and dots
};

Register& of_this_process() {
  static Register all;
  return all;
}

/// The id of the file to which a name leads.
std::optional<FileId> id_of(const std::filesystem::path& file) {
  struct stat info {};
  if (::stat(file.c_str(), &info) != 0) return std::nullopt;
  return FileId{info.st_dev, info.st_ino};
}

std::optional<FileId> id_of(int descriptor) {
  struct stat info {};
  if (::fstat(descriptor, &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
  return FileId{info.st_dev, info.st_ino};
}

/// The number of a deleted file may belong to another file now.
bool has(const Register& all, const FileId& id) {
  const auto [begin, end] = all.files.equal_range(id);
  return std::any_of(begin, end, [&](const auto& known) {
    return known.second.empty() || id_of(known.second) == id;
  });
}

std::filesystem::path whole_name(const std::filesystem::path& file) {
  std::error_code failed;
  const auto absolute = std::filesystem::absolute(file, failed);
  auto whole = std::filesystem::weakly_canonical(absolute, failed);
  return failed ? absolute.lexically_normal() : whole;
}

/// The mode of a file created in the usual way.
mode_t mode_of_new_files() {
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return 0666U & ~mask;
}

/// For example an exported run compressed by gzip.
bool is_packed_database(const std::filesystem::path& file) {
  const auto opened = OpenFile::to_read(file);
  if (!opened) return false;
  UnpackedBytes bytes(opened->number(), file.string());
  if (!bytes.is_packed().value_or(false)) return false;
  std::array<char, database_mark.size()> start{};
  std::size_t held = 0;
  while (held < start.size()) {
    const std::size_t count = bytes.read(std::span(start).subspan(held)).value_or(0);
    if (count == 0) return false;
    held += count;
  }
  return std::string_view(start.data(), start.size()) == database_mark;
}

bool is_standard_output(const std::filesystem::path& target) {
  return target == "-" || target == "/dev/stdout" || target == "/dev/fd/1";
}

/// The name of a target, which may be a stream, in error messages.
std::string name_of_target(const std::filesystem::path& target) {
  return target == "-" ? "standard output" : target.string();
}

constexpr std::string_view part_mark = ".part-", any_part = "XXXXXX";

bool is_letter_or_digit(char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

/// Removes an unlocked part file, whose command has ended.
void remove_if_left(const std::filesystem::path& part) {
  const int number = ::open(part.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (number < 0) return;
  struct stat info {};
  if (::fstat(number, &info) == 0 && S_ISREG(info.st_mode) &&
      ::flock(number, LOCK_EX | LOCK_NB) == 0) {
    ::unlink(part.c_str());
    ::unlink((part.string() + "-journal").c_str());  // of SQLite
  }
  ::close(number);
}

void remove_left_parts(const std::filesystem::path& target) {
  const std::string name = target.filename().string();
  const std::filesystem::path folder = target.parent_path();
  std::vector<std::filesystem::path> parts;
  std::error_code failed;
  std::filesystem::directory_iterator entry(folder.empty() ? "." : folder, failed);
  for (; !failed && entry != std::filesystem::directory_iterator(); entry.increment(failed)) {
    if (is_part_of(name, entry->path().filename().string())) parts.push_back(entry->path());
  }
  for (const std::filesystem::path& part : parts) {
    if (!is_read(part)) remove_if_left(part);
  }
}

}  // namespace

void note_read(const std::filesystem::path& file) {
  if (file.empty()) return;
  Register& all = of_this_process();
  const std::scoped_lock lock(all.mutex);
  const std::filesystem::path name = whole_name(file);
  if (const auto id = id_of(file)) all.files.emplace(*id, name);
  all.names.insert(name);
}

void note_read(int descriptor) {
  Register& all = of_this_process();
  const std::scoped_lock lock(all.mutex);
  if (const auto id = id_of(descriptor)) all.files.emplace(*id, "");
}

bool is_read(const std::filesystem::path& file) {
  Register& all = of_this_process();
  const std::scoped_lock lock(all.mutex);
  if (all.names.empty() && all.files.empty()) return false;
  const auto id = id_of(file);
  return (id && has(all, *id)) || all.names.contains(whole_name(file));
}

bool is_read(int descriptor) {
  Register& all = of_this_process();
  const std::scoped_lock lock(all.mutex);
  const auto id = id_of(descriptor);
  return id && has(all, *id);
}

Result<std::uint64_t> fingerprint_of_file(const std::filesystem::path& file) {
  constexpr std::size_t piece = 1U << 20U;
  const auto opened = OpenFile::to_read(file);
  if (!opened) return tl::unexpected(opened.error());
  std::vector<std::byte> bytes(piece);
  RunningSum sum;
  std::size_t held = 0;
  while (true) {
    const ssize_t count = ::read(opened->number(), bytes.data() + held, piece - held);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail("{}: cannot be read: {}", file.string(), system_reason(errno));
    held += static_cast<std::size_t>(count);
    if (count > 0 && held < piece) continue;
    sum.add(std::span(bytes).first(held));
    if (count == 0) return sum.value();
    held = 0;
  }
}

bool is_part_of(std::string_view target, std::string_view name) {
  if (!name.starts_with(target)) return false;
  name.remove_prefix(target.size());
  if (!name.starts_with(part_mark)) return false;
  name.remove_prefix(part_mark.size());
  return name.size() == any_part.size() && std::ranges::all_of(name, is_letter_or_digit);
}

PartFile begin_part(const std::filesystem::path& target, PartLock lock) {
  if (lock == PartLock::held) remove_left_parts(target);
  while (true) {
    PartFile part{.name = fmt::format("{}{}{}", target.string(), part_mark, any_part)};
    part.number = ::mkostemp(part.name.data(), O_CLOEXEC);
    if (part.number < 0 || lock == PartLock::none) return part;
    // On a file system without locks, no other command can take this file for an abandoned one.
    if (::flock(part.number, LOCK_EX) != 0) return part;
    struct stat opened {};
    if (::fstat(part.number, &opened) == 0 && opened.st_nlink > 0) return part;
    ::close(part.number);  // another command took it for an abandoned one
  }
}

bool is_database(const std::filesystem::path& file) {
  const auto opened = OpenFile::to_read(file);
  return opened && opened->is_database();
}

bool belongs_to_database(const std::filesystem::path& file) {
  const std::string name = file.string();
  for (const std::string_view ending : {"-wal", "-shm", "-journal"}) {
    if (name.ends_with(ending) && is_database(name.substr(0, name.size() - ending.size())))
      return true;
  }
  return is_database(file) || is_packed_database(file);
}

bool is_stream(const std::filesystem::path& target) {
  if (is_standard_output(target)) return true;
  struct stat info {};
  return ::stat(target.c_str(), &info) == 0 && (S_ISCHR(info.st_mode) || S_ISFIFO(info.st_mode));
}

Status may_be_written(const std::filesystem::path& target,
                      std::span<const std::filesystem::path> inputs, Streams streams) {
  if (streams == Streams::allowed && is_stream(target)) {
    if (!is_standard_output(target) || !is_read(STDOUT_FILENO)) return {};
    return fail("standard output is a file that this command reads; name another file");
  }
  if (target == "-") {
    return fail(
        "'-' (standard output) is not possible here; name a file, or ./- for a file with this "
        "name");
  }
  const auto of_what_is_read = [&] {
    return fail("{}: is an input of this command and would be overwritten; name another file",
                target.string());
  };
  const auto unless_of_database = [&]() -> Status {
    if (!belongs_to_database(target)) return {};
    return fail("{}: is a database or one of SQLite's files for it; name another file",
                target.string());
  };
  struct stat info {};
  // It does not exist or is not accessible: opening the part file reports why.
  if (::lstat(target.c_str(), &info) != 0)
    return is_read(target) ? of_what_is_read() : unless_of_database();
  if (S_ISLNK(info.st_mode)) {
    return fail("{}: is a symbolic link, which is not replaced; name the file itself",
                target.string());
  }
  if (S_ISDIR(info.st_mode)) {
    return fail("{}: is a directory, not a file; name a file in it", target.string());
  }
  if (!S_ISREG(info.st_mode)) {
    return fail("{}: is a device or a pipe, which is not replaced; name a file", target.string());
  }
  if (::access(target.c_str(), W_OK) != 0) {
    return fail("{}: cannot be written: {}; make it writable, or name a file elsewhere",
                target.string(), system_reason(errno));
  }
  if (is_read(target)) return of_what_is_read();
  for (const std::filesystem::path& input : inputs) {
    std::error_code unknown;
    if (std::filesystem::equivalent(target, input, unknown)) return of_what_is_read();
  }
  return unless_of_database();
}

WrittenFile::WrittenFile(std::filesystem::path target, Readers readers, Packing packing)
    : target_(std::move(target)) {
  if (is_stream(target_)) {
    number_ = unnamed_file(std::filesystem::temp_directory_path());
    if (number_ < 0) error_ = errno;
    return;
  }
  PartFile part = begin_part(target_);
  name_ = std::move(part.name);
  number_ = part.number;
  if (number_ < 0) error_ = errno;
  struct stat before {};
  const bool replaces = ::stat(target_.c_str(), &before) == 0;
  const mode_t mode = replaces                         ? before.st_mode & 0777U
                      : readers == Readers::owner_only ? 0600U
                                                       : mode_of_new_files();
  if (number_ >= 0 && ::fchmod(number_, mode) != 0) error_ = errno;
  if (packing == Packing::by_name && has_gzip_name(target_)) packer_.emplace();
}

WrittenFile::WrittenFile(WrittenFile&& other) noexcept
    : target_(std::move(other.target_)),
      name_(std::move(other.name_)),
      number_(std::exchange(other.number_, -1)),
      error_(other.error_),
      is_flushed_(other.is_flushed_),
      packer_(std::move(other.packer_)) {}

WrittenFile::~WrittenFile() {
  if (number_ < 0) return;
  if (!name_.empty()) ::unlink(name_.c_str());
  ::close(number_);
}

Result<WrittenFile> WrittenFile::next_to(const std::filesystem::path& target, Readers readers,
                                         Packing packing) {
  if (Status allowed = may_be_written(target); !allowed) return tl::unexpected(allowed.error());
  WrittenFile file(target, readers, packing);
  if (Status opened = file.outcome(); !opened) return tl::unexpected(opened.error());
  return file;
}

Result<WrittenFile> WrittenFile::of_output(const std::filesystem::path& target) {
  if (Status allowed = may_be_written(target, {}, Streams::allowed); !allowed)
    return tl::unexpected(allowed.error());
  WrittenFile file(target, Readers::as_umask, Packing::by_name);
  if (Status opened = file.outcome(); !opened) return tl::unexpected(opened.error());
  return file;
}

bool WrittenFile::replaces() const {
  if (name_.empty()) return false;
  std::error_code unknown;
  return std::filesystem::exists(target_, unknown);
}

Status WrittenFile::outcome() const {
  if (error_ == 0) return {};
  const bool is_full = error_ == ENOSPC || error_ == EDQUOT || error_ == EFBIG;
  return fail("{}: cannot be written: {}; {}name a file elsewhere", name_of_target(target_),
              system_reason(error_), is_full ? "free disk space, or " : "");
}

Status WrittenFile::write(std::span<const std::byte> bytes) {
  is_flushed_ = false;
  if (packer_) {
    const std::string packed =
        packer_->pack({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    write_bytes(std::as_bytes(std::span(packed)));
  } else {
    write_bytes(bytes);
  }
  return outcome();
}

void WrittenFile::write_bytes(std::span<const std::byte> bytes) {
  if (error_ == 0 && !write_all(number_, bytes)) error_ = errno;
}

Status WrittenFile::write(std::string_view text) {
  return write(std::as_bytes(std::span(text.data(), text.size())));
}

Status WrittenFile::flush() {
  if (packer_ && !is_flushed_) {
    const std::string rest = packer_->finish();  // later bytes are a separate member
    write_bytes(std::as_bytes(std::span(rest)));
  }
  if (error_ == 0 && !is_flushed_ && ::fsync(number_) != 0) error_ = errno;
  is_flushed_ = error_ == 0;
  return outcome();
}

Status WrittenFile::pass_on() {
  const bool is_output = is_standard_output(target_);
  if (is_output) std::fflush(stdout);  // keeps the order with earlier output
  const int stream =
      is_output ? ::dup(STDOUT_FILENO) : ::open(target_.c_str(), O_WRONLY | O_CLOEXEC);
  bool is_passed_on = stream >= 0 && ::lseek(number_, 0, SEEK_SET) == 0;
  std::vector<std::byte> bytes(std::size_t{1} << 16);
  while (is_passed_on) {
    const ssize_t count = ::read(number_, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count == 0) break;
    is_passed_on =
        count > 0 && write_all(stream, std::span(bytes).first(static_cast<std::size_t>(count)));
  }
  if (!is_passed_on) error_ = errno;
  if (stream >= 0) ::close(stream);
  if (error_ == 0) ::close(std::exchange(number_, -1));
  return outcome();
}

Status WrittenFile::commit() {
  if (Status flushed = flush(); !flushed) return flushed;
  if (name_.empty()) return pass_on();
  // Files that were read or created in the meantime count, too.
  if (Status allowed = may_be_written(target_); !allowed) return allowed;
  if (::rename(name_.c_str(), target_.c_str()) != 0) {
    error_ = errno;
    return outcome();
  }
  ::close(std::exchange(number_, -1));
  return {};
}

int unnamed_file(const std::filesystem::path& folder) {
  std::string name = (folder / "attnscope-XXXXXX").string();
  const int number = ::mkostemp(name.data(), O_CLOEXEC);
  if (number >= 0) ::unlink(name.c_str());
  return number;
}

bool write_all(int number, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(number, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return true;
}

Status write_files(std::span<const FileText> files, Streams streams) {
  std::vector<WrittenFile> open;
  open.reserve(files.size());
  for (const FileText& output : files) {
    auto file = streams == Streams::allowed ? WrittenFile::of_output(output.path)
                                            : WrittenFile::next_to(output.path);
    if (!file) return tl::unexpected(file.error());
    file->write(output.text);
    if (Status flushed = file->flush(); !flushed) return flushed;
    open.push_back(std::move(*file));
  }
  for (WrittenFile& file : open) {
    if (Status done = file.commit(); !done) return done;
  }
  return {};
}

Status write_file(const std::filesystem::path& path, std::string_view text, Streams streams) {
  const FileText one{path, text};
  return write_files(std::span(&one, 1), streams);
}

}  // namespace attnscope
