// SPDX-License-Identifier: Apache-2.0
#include "base/read_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <system_error>
#include <vector>

#include "base/open_file.h"
#include "base/running_sum.h"
#include "base/sentences.h"

namespace attnscope {
namespace {

struct Register {
  std::mutex mutex;
  std::multimap<FileId, std::filesystem::path> files;  // by id; no name for a descriptor
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

}  // namespace attnscope
