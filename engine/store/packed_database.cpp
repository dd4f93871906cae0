// SPDX-License-Identifier: Apache-2.0
#include "engine/store/packed_database.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>
#include <span>
#include <utility>

#include "base/gzip.h"
#include "base/open_file.h"
#include "base/sentences.h"
#include "base/spawn.h"
#include "base/written_file.h"
#include "engine/store/implementation.h"
#include "engine/store/location.h"

namespace attnscope::store {
namespace {

constexpr std::size_t versions_at = 18;  // file format versions for writing and reading
constexpr char with_log = 2, without_log = 1;

}  // namespace

Result<OpenedDatabase> read_packed(const std::filesystem::path& file, std::int64_t most_bytes) {
  const auto packed = OpenFile::to_read(file);
  if (!packed) return tl::unexpected(packed.error());
  sqlite3_vfs* const memory = sqlite3_vfs_find("memdb");
  if (memory == nullptr) {
    return fail(
        "{}: this SQLite does not support databases in memory; unpack the file with gunzip, and "
        "name the result",
        file.string());
  }
  const std::string name = fmt::format("/{}", new_uuid());
  VfsFile unpacked(*memory, name, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  const auto no_memory = [&] {
    return fail(
        "{}: there is not enough memory to unpack it; unpack it with gunzip, and name the result",
        file.string());
  };
  if (!unpacked.is_open()) return no_memory();
  UnpackedBytes bytes(packed->number(), file.string());
  sqlite3_int64 size = 0;
  const Status done = unpack_all(bytes, most_bytes, [&](std::span<const char> part) -> Status {
    if (!unpacked.write(part.data(), part.size(), size)) return no_memory();
    size += static_cast<sqlite3_int64>(part.size());
    return {};
  });
  if (!done) return tl::unexpected(done.error());
  std::array<char, header_bytes> start{};
  const std::size_t count = std::min(start.size(), static_cast<std::size_t>(size));
  if (!unpacked.read(start.data(), count, 0)) return no_memory();
  const auto header = read_header(std::span(start).first(count), file);
  if (!header) return tl::unexpected(header.error());
  if (header->empty) return fail("{} is empty; name another file", file.string());
  // An in-memory database has no log: a header that specifies WAL is changed to one without.
  const std::span<char> versions = std::span(start).subspan(versions_at, 2);
  std::ranges::replace(versions, with_log, without_log);
  if (!unpacked.write(versions.data(), versions.size(), versions_at)) return no_memory();
  std::string uri = fmt::format("file:{}?vfs=memdb&mode=ro", name);
  Database database = open_database(uri, SQLite::OPEN_READONLY);
  return OpenedDatabase{std::move(database), std::move(uri)};
}

Status pack_database(const std::filesystem::path& database, const std::filesystem::path& packed,
                     const std::filesystem::path& name) {
  const auto not_written = [&] {
    return fail("{} cannot be written ({}); free disk space, or name a file elsewhere",
                name.string(), system_reason(errno));
  };
  Descriptor from, to;
  if (!from.take(::open(database.c_str(), O_RDONLY | O_CLOEXEC)) ||
      !to.take(::open(packed.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC))) {
    return not_written();
  }
  const auto write = [&](const std::string& bytes) {
    return write_all(to.get(), std::as_bytes(std::span(bytes)));
  };
  GzipPacker packer;
  UnpackedBytes bytes(from.get(), name.string());
  const Status done = unpack_all(bytes, std::numeric_limits<std::int64_t>::max(),
                                 [&](std::span<const char> part) -> Status {
                                   if (!write(packer.pack({part.data(), part.size()})))
                                     return not_written();
                                   return {};
                                 });
  if (!done) return done;
  if (!write(packer.finish()) || ::fsync(to.get()) != 0) return not_written();
  return {};
}

}  // namespace attnscope::store
