// SPDX-License-Identifier: Apache-2.0
#include "engine/store/location.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <pwd.h>
#include <stdio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/gzip.h"
#include "base/open_file.h"
#include "base/sentences.h"
#include "base/spawn.h"
#include "base/written_file.h"
#include "engine/store/store.h"

namespace attnscope {

std::filesystem::path default_database() {
  const auto below = [](const std::filesystem::path& data) {
    return data / "attnscope" / "attnscope.db";
  };
  // XDG base directory specification: relative paths must be ignored.
  if (const char* data = std::getenv("XDG_DATA_HOME"); data != nullptr && data[0] == '/') {
    return below(data);
  }
  const char* home = std::getenv("HOME");
  if (home == nullptr || home[0] == '\0') {
    const passwd* entry = getpwuid(getuid());
    home = entry != nullptr ? entry->pw_dir : "/";
  }
  return below(std::filesystem::path(home) / ".local" / "share");
}

std::string database_option(const std::filesystem::path& file) {
  if (file.empty() || file == default_database()) return {};
  return " --db " + shell_word(file.string());
}

namespace {

/// The --worker option of a run, if its worker is a local worker file or ssh to one. A run may come
/// from another person, and its reader pastes the command: other commands are left out.
std::string worker_option(const nlohmann::json& provenance) {
  const auto stored = provenance.find("worker_command");
  if (stored == provenance.end() || !stored->is_string()) return {};
  const auto command = stored->get<std::string>();
  const std::size_t last = command.rfind(' ');
  const std::string file = command.substr(last == std::string::npos ? 0 : last + 1);
  const std::string before = last == std::string::npos ? std::string() : command.substr(0, last);
  const std::string host = before.starts_with("ssh ") ? before.substr(4) : std::string();
  const bool is_plain =
      shell_word(file) == file && file.ends_with("attnscope-worker") &&
      (before.empty() || (!host.empty() && host.front() != '-' && shell_word(host) == host));
  return " --worker " + (is_plain ? shell_word(command) : std::string("WORKER"));
}

/// The --with options of the programs whose implementations were measured, with the same
/// restriction.
std::string with_programs(const nlohmann::json& provenance) {
  using nlohmann::json;
  const json::json_pointer place("/build/served");
  if (!provenance.contains(place)) return {};
  std::set<std::string> programs;
  for (const json& entry : provenance.at(place)) {
    const bool is_reported =
        entry.is_object() && entry.contains("program") && entry["program"].is_string();
    const std::string program = is_reported ? entry["program"].get<std::string>() : std::string();
    const bool is_name =
        program.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string::npos;
    const bool is_plain =
        !program.empty() && shell_word(program) == program && (is_name || program.ends_with(".py"));
    programs.insert(is_plain ? program : "PROGRAM");
  }
  std::string options;
  for (const std::string& program : programs) options += " --with " + program;
  return options;
}

}  // namespace

std::string command_on(const RunInfo& run, std::string_view command, const std::string& options) {
  // A run file is given together with its run; a database has its own option.
  const bool is_file = store::is_exported(run.file);
  const std::string name =
      is_file ? fmt::format("{}:{}", run.file.string(), run.id.uuid) : run.id.uuid;
  std::string words = fmt::format("attnscope {} {}", command, shell_word(name));
  if (command.starts_with("run ")) {
    const auto provenance =
        nlohmann::json::parse(run.start.provenance, nullptr, /*allow_exceptions=*/false);
    if (provenance.is_object()) words += worker_option(provenance) + with_programs(provenance);
  }
  if (!options.empty()) words += " " + options;
  if (!is_file) words += database_option(run.file);
  return words;
}

namespace store {
namespace {

constexpr std::size_t user_version_at = 60, application_id_at = 68;

int big_endian(std::span<const char> header, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = at; i < at + 4; ++i) {
    value = value << 8 | static_cast<unsigned char>(header[i]);
  }
  return static_cast<int>(value);
}

/// Returns the number of bytes read; nothing, with errno set, if the file cannot be opened. Reads
/// through SQLite's own file system: when a process closes any other descriptor of a file, it loses
/// all its locks on that file, including those of SQLite's connections
/// (https://www.sqlite.org/howtocorrupt.html, 2.2).
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

}  // namespace

tl::unexpected<Error> refuse_version(const std::filesystem::path& file, int version) {
  if (version > schema_version) {
    return fail(
        "{} was written by a newer AttnScope (database version {}; this one reads {}); use that "
        "AttnScope, or use another database",
        file.string(), version, schema_version);
  }
  return fail(
      "{} was written by an older AttnScope (database version {}; this one reads {}); use that "
      "AttnScope to read it, or use another database",
      file.string(), version, schema_version);
}

bool has_journal(const std::filesystem::path& file) {
  std::error_code none;
  return std::filesystem::file_size(file.string() + "-journal", none) > 0 && !none;
}

Result<FileHeader> inspect(const std::filesystem::path& file) {
  const std::string name = file.string();
  std::error_code failed;
  const std::filesystem::file_status status = std::filesystem::status(file, failed);
  if (std::filesystem::is_directory(status)) {
    return fail("{} is a folder, not a database; name a file in it, such as {}", name,
                (file / "attnscope.db").string());
  }
  if (!std::filesystem::is_regular_file(status)) {
    return fail("{} is not a file that can hold a database; use another database", name);
  }
  std::array<char, header_bytes> header{};
  const std::optional<std::size_t> count = read_start(file, header);
  if (!count) {
    return fail("{} cannot be read ({}); make it readable, or use another database", name,
                system_reason(errno));
  }
  // Power was lost while the file was created: its first page was not written, and the journal next
  // to it rolls back the rest.
  const bool blank = std::ranges::all_of(header, [](char byte) { return byte == 0; });
  if (blank && has_journal(file)) return FileHeader{.empty = true};
  if (std::string_view(header.data(), *count).starts_with(gzip_mark))
    return FileHeader{.packed = true};
  return read_header(std::span(header).first(*count), file);
}

Result<FileHeader> read_header(std::span<const char> header, const std::filesystem::path& file) {
  const std::string name = file.string();
  if (header.empty()) return FileHeader{.empty = true};
  const std::string_view start(header.data(), header.size());
  if (header.size() < header_bytes || !start.starts_with(database_mark)) {
    return fail("{} is not an AttnScope database and was not changed; name another file", name);
  }
  if (big_endian(header, application_id_at) != application_id) {
    return fail(
        "{} is a database of another program (application id {}, AttnScope's is {}) and was not "
        "changed; name another file",
        name, big_endian(header, application_id_at), application_id);
  }
  const int version = big_endian(header, user_version_at);
  if (!is_readable(version)) return refuse_version(file, version);
  return FileHeader{.user_version = version};
}

bool is_network_file_system(std::int64_t type) {
  // Numbers of linux/magic.h and sources of the file systems: NFS, SMB, CIFS, SMB2, FUSE (sshfs),
  // Ceph, AFS, Coda, 9p, Lustre, GPFS, BeeGFS, OrangeFS.
  constexpr std::array<std::uint32_t, 13> types{
      0x6969,     0x517B,     0xFF534D42, 0xFE534D42, 0x65735546, 0x00C36400, 0x5346414F,
      0x73757245, 0x01021997, 0x0BD00BD0, 0x47504653, 0x19830326, 0x20030528};
  return std::ranges::find(types, static_cast<std::uint32_t>(type)) != types.end();
}

bool is_on_network(const std::filesystem::path& file) {
  const std::filesystem::path folder = std::filesystem::absolute(file).parent_path();
  struct statfs information {};
  return statfs(folder.c_str(), &information) == 0 &&
         is_network_file_system(static_cast<std::int64_t>(information.f_type));
}

bool is_exported(const std::filesystem::path& file) {
  return without_gzip_ending(file).extension() == ".attn";
}

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

namespace {

Status sync_folder_of(const std::filesystem::path& file) {
  const std::filesystem::path folder = std::filesystem::absolute(file).parent_path();
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return {};  // a writable folder may be unreadable; the file is safe
  ::fsync(descriptor);
  ::close(descriptor);
  return {};
}

}  // namespace

tl::unexpected<Error> refuse_existing(const std::filesystem::path& file) {
  return fail("{} already exists and is not overwritten; remove it or name another file",
              file.string());
}

// On network file systems both kinds of locks are the same, and SQLite would wait for this one.
UnfinishedFile::UnfinishedFile(std::filesystem::path name) : name_(std::move(name)) {
  PartFile part = begin_part(name_, is_on_network(name_) ? PartLock::none : PartLock::held);
  path_ = std::move(part.name);
  number_ = part.number;
}

UnfinishedFile::~UnfinishedFile() {
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);
  std::filesystem::path journal = path_;
  journal += "-journal";
  std::filesystem::remove(journal, ignored);
  release_lock();
}

// Called as soon as the file has its name: closing it later would drop SQLite's locks on it.
void UnfinishedFile::release_lock() {
  if (number_ >= 0) ::close(std::exchange(number_, -1));
}

Status UnfinishedFile::publish() {
  const bool named =
      ::renameat2(AT_FDCWD, path_.c_str(), AT_FDCWD, name_.c_str(), RENAME_NOREPLACE) == 0;
  if (!named && errno == EEXIST) return refuse_existing(name_);
  // Some file systems do not support the flag; a hard link does not replace a file either.
  if (!named && ::link(path_.c_str(), name_.c_str()) != 0) {
    if (errno == EEXIST) return refuse_existing(name_);
    return fail("{} cannot be written ({}); name a file elsewhere", name_.string(),
                system_reason(errno));
  }
  if (!named) ::unlink(path_.c_str());
  release_lock();
  return sync_folder_of(name_);
}

}  // namespace store
}  // namespace attnscope
