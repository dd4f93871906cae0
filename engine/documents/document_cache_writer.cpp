// SPDX-License-Identifier: Apache-2.0
#include "engine/documents/document_cache_writer.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/fingerprint.h"
#include "base/open_file.h"
#include "base/sentences.h"
#include "base/written_file.h"

namespace attnscope {
namespace {

/// Returns false if another process holds the lock; on a file system without locks it always
/// succeeds.
bool lock_within(int number, std::chrono::milliseconds patience) {
  constexpr std::chrono::milliseconds between_tries(20);
  const auto end = std::chrono::steady_clock::now() + patience;
  while (::flock(number, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) return true;
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(between_tries);
  }
  return true;
}

std::filesystem::path part_of(const std::filesystem::path& target) {
  return target.string() + ".part";
}

struct flock whole_file() {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

tl::unexpected<Error> encoding_process(pid_t process, const std::filesystem::path& target) {
  return fail("{}: is being encoded by process {}; wait until it ends, or stop it", target.string(),
              process);
}

bool is_still_at(int number, const std::filesystem::path& path) {
  struct stat opened {};
  struct stat named {};
  return ::fstat(number, &opened) == 0 && ::lstat(path.c_str(), &named) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

/// An unfinished cache is written to the file of this name itself, so it must be a regular file.
Status may_be_started_at(const std::filesystem::path& part) {
  struct stat info {};
  const bool is_there = ::lstat(part.c_str(), &info) == 0;
  if (is_there && !S_ISREG(info.st_mode)) {
    return fail(
        "{}: is a link, a directory, a pipe or a device, where the unfinished cache would be "
        "written; move it away, or name another file",
        part.string());
  }
  if (is_there && info.st_nlink > 1) {
    return fail(
        "{}: is also the name of another file (a hard link), where the unfinished cache would be "
        "written; move it away, or name another file",
        part.string());
  }
  return may_be_written(part);
}

std::int64_t size_of_file(int number) {
  struct stat info {};
  return ::fstat(number, &info) == 0 ? info.st_size : -1;
}

/// Allocates the whole file, or only sets its size if the file system cannot allocate.
int allocate_file(int number, std::int64_t bytes) {
  int error = 0;
  do {
    error = ::fallocate(number, 0, 0, bytes) == 0 ? 0 : errno;
  } while (error == EINTR);
  if (error != EOPNOTSUPP && error != ENOSYS) return error;
  return ::ftruncate(number, bytes) == 0 ? 0 : errno;
}

/// The header's length is written last: without it, no cache was begun.
bool has_begun(int number) {
  std::array<char, sizeof(std::uint64_t)> length{};
  if (::pread(number, length.data(), length.size(), 0) <= 0) return false;
  return std::ranges::any_of(length, [](char byte) { return byte != 0; });
}

bool begins_with(int number, std::string_view text) {
  std::string there(text.size(), '\0');
  return ::pread(number, there.data(), there.size(), 0) == static_cast<ssize_t>(text.size()) &&
         there == text;
}

/// Whether a file is a cache, possibly damaged, or allocated space without data: what `restart` may
/// replace.
bool is_ours(int number) {
  constexpr std::size_t most_looked_at = 1U << 16U;
  std::string begin(most_looked_at, '\0');
  const ssize_t held = ::pread(number, begin.data(), begin.size(), 0);
  if (held < 0) return false;
  begin.resize(static_cast<std::size_t>(held));
  return begin.find(cache_file::version_key) != std::string::npos ||
         begin.find_first_not_of('\0') == std::string::npos;
}

/// The ends of the first documents' rows or bytes; empty if they do not ascend from 0.
std::optional<std::vector<std::int64_t>> first_offsets(const TensorView& tensor,
                                                       std::int64_t documents, std::int64_t most) {
  std::vector<std::int64_t> offsets(static_cast<std::size_t>(documents) + 1);
  std::memcpy(offsets.data(), tensor.bytes.data(), offsets.size() * sizeof(std::int64_t));
  if (offsets.front() != 0 || offsets.back() > most || !std::ranges::is_sorted(offsets))
    return std::nullopt;
  return offsets;
}

struct StoredDocuments {
  std::int64_t rows = 0, id_bytes = 0;
  std::uint64_t sum = 0;
};

/// The first documents of a file with exactly these contents; empty if their offsets are invalid.
std::optional<StoredDocuments> stored_documents(const SafetensorsFile& file,
                                                const CacheContents& contents,
                                                std::int64_t documents) {
  const auto bytes_of = [&](const char* tensor) {
    const auto view = file.tensor(tensor);
    return view ? view->bytes : std::span<const std::byte>();
  };
  const auto offsets = first_offsets(*file.tensor("offsets"), documents, contents.rows);
  if (!offsets) return std::nullopt;
  std::vector<std::int64_t> id_offsets(offsets->size(), 0);
  if (contents.id_bytes) {
    auto reported = first_offsets(*file.tensor("id_offsets"), documents, *contents.id_bytes);
    if (!reported) return std::nullopt;
    id_offsets = std::move(*reported);
  }
  const std::span rows = bytes_of("rows"), ids = bytes_of("ids"), scales = bytes_of("scales");
  const std::int64_t row = contents.width * size_of(contents.format);
  const std::int64_t scale = contents.format == VectorFormat::int8 ? sizeof(float) : 0;
  const auto part = [](std::span<const std::byte> all, std::int64_t begin, std::int64_t end) {
    return all.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
  };
  RunningSum sum;
  for (std::size_t i = 0; i + 1 < offsets->size(); ++i) {
    const std::int64_t begin = (*offsets)[i], end = (*offsets)[i + 1];
    sum.add(part(rows, begin * row, end * row));
    sum.add(part(scales, begin * scale, end * scale));
    sum.add(part(ids, id_offsets[i], id_offsets[i + 1]));
  }
  return StoredDocuments{offsets->back(), id_offsets.back(), sum.value()};
}

/// Concatenated ids, and the end of each.
struct PackedIds {
  std::string bytes;
  std::vector<std::int64_t> ends;
};

PackedIds packed_ids(std::span<const std::string> ids, std::int64_t before) {
  PackedIds packed;
  for (const std::string& id : ids) {
    packed.bytes += id;
    packed.ends.push_back(before + static_cast<std::int64_t>(packed.bytes.size()));
  }
  return packed;
}

}  // namespace

// A record lock, which reports the owning process. The writer's own lock is of another kind and
// independent of it.
Status CacheClaim::is_free(const std::filesystem::path& target) {
  const CacheClaim part(
      ::open(part_of(target).c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (part.number_ < 0) return {};
  struct flock lock = whole_file();
  if (::fcntl(part.number_, F_GETLK, &lock) != 0 || lock.l_type == F_UNLCK) return {};
  return encoding_process(lock.l_pid, target);
}

Result<CacheClaim> CacheClaim::take(const std::filesystem::path& target) {
  CacheClaim part(::open(part_of(target).c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (part.number_ < 0) return part;
  struct flock lock = whole_file();
  if (::fcntl(part.number_, F_SETLK, &lock) == 0) return part;
  if (::fcntl(part.number_, F_GETLK, &lock) != 0 || lock.l_type == F_UNLCK) return part;
  return encoding_process(lock.l_pid, target);
}

CacheClaim::~CacheClaim() {
  if (number_ >= 0) ::close(number_);
}

DocumentCacheWriter::DocumentCacheWriter(std::filesystem::path target, CacheContents contents)
    : target_(std::move(target)),
      part_(part_of(target_)),
      contents_(std::move(contents)),
      parts_(cache_file::parts(contents_)) {}

DocumentCacheWriter::DocumentCacheWriter(DocumentCacheWriter&& other) noexcept
    : target_(std::move(other.target_)),
      part_(std::move(other.part_)),
      contents_(std::move(other.contents_)),
      parts_(other.parts_),
      state_(other.state_),
      rows_(other.rows_),
      id_bytes_(other.id_bytes_),
      number_(std::exchange(other.number_, -1)),
      restarts_(other.restarts_),
      is_finished_(other.is_finished_) {}

DocumentCacheWriter::~DocumentCacheWriter() {
  if (number_ >= 0) ::close(number_);
}

tl::unexpected<Error> DocumentCacheWriter::not_written(int error) const {
  const bool is_full = error == ENOSPC || error == EDQUOT || error == EFBIG;
  if (state_.encoded == 0) {
    return fail("{}: its {} bytes cannot be written: {}; {}name a file elsewhere", target_.string(),
                parts_.end, system_reason(error), is_full ? "free disk space, or " : "");
  }
  return fail(
      "{}: cannot be written: {}; {} and repeat the command, which continues after the {} encoded "
      "documents",
      part_.string(), system_reason(error), is_full ? "free disk space" : "fix this",
      state_.encoded);
}

Result<DocumentCacheWriter> DocumentCacheWriter::begin(const std::filesystem::path& target,
                                                       CacheContents contents,
                                                       const CacheBeginning& how) {
  if (Status may = may_be_kept_in(contents.format, contents.maker.dtype); !may)
    return tl::unexpected(may.error());
  if (Status may = may_be_written(target); !may) return tl::unexpected(may.error());
  DocumentCacheWriter writer(target, std::move(contents));
  writer.restarts_ = how.restart;
  if (Status free = writer.check_target(); !free) return tl::unexpected(free.error());
  if (writer.is_finished_) return writer;
  const auto has_more = writer.open_locked(how.patience);
  if (!has_more) return tl::unexpected(has_more.error());
  Status ready = *has_more ? writer.continue_part() : writer.start_new();
  if (!ready) return tl::unexpected(ready.error());
  return writer;
}

/// An existing target with exactly these documents counts as finished.
Status DocumentCacheWriter::check_target() {
  const auto there = OpenFile::to_read(target_);
  struct stat info {};
  if (::lstat(target_.c_str(), &info) != 0) return {};
  const std::string name = target_.string();
  if (!there || !is_ours(there->number())) {
    return fail("{}: exists and is not a cache of documents; move it away, or name another file",
                name);
  }
  if (restarts_) return {};
  const auto file = SafetensorsFile::open(target_);
  const auto theirs = file ? cache_file::read_contents(*file, name) : tl::unexpected(file.error());
  std::string what = "is damaged";
  if (theirs) {
    const auto state = cache_file::read_state(*file, *theirs, name);
    CacheContents same = contents_;
    same.source.file = theirs->source.file;
    is_finished_ = *theirs == same && state && state->encoded == theirs->documents &&
                   state->documents == theirs->source.fingerprint;
    if (is_finished_) {
      const auto kept = stored_documents(*file, *theirs, state->encoded);
      is_finished_ = kept && kept->sum == state->kept;
      state_ = *state;
    }
    const std::string other = difference(*theirs, contents_);
    what = other.empty() ? "is damaged or incomplete"
                         : fmt::format("is a cache whose documents were {}", other);
  }
  if (is_finished_) return {};
  return fail("{}: exists and {}; replace it with --restart, or name another file", name, what);
}

/// Returns true if the file contains a started cache to continue.
Result<bool> DocumentCacheWriter::open_locked(std::chrono::milliseconds patience) {
  if (Status own = may_be_started_at(part_); !own) return tl::unexpected(own.error());
  do {
    if (number_ >= 0) ::close(number_);
    number_ = ::open(part_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    if (number_ < 0) return not_written(errno);
    if (!lock_within(number_, patience)) {
      return fail("{}: is being written by another process; wait until it ends, or stop it",
                  part_.string());
    }
    // The previous lock holder may have renamed the file in the meantime.
  } while (!is_still_at(number_, part_));
  if (!is_ours(number_)) {
    return fail("{}: is not an unfinished cache of documents; move it away, or name another file",
                part_.string());
  }
  if (restarts_) return false;
  const std::int64_t size = size_of_file(number_);
  if (size == 0 || (size == parts_.end && !has_begun(number_))) return false;
  const auto file = SafetensorsFile::open(part_);
  if (file && file->metadata(cache_file::version_key)) return true;
  return fail(
      "{}: is a damaged cache; start again with --restart, which replaces it, or name another file",
      part_.string());
}

Status DocumentCacheWriter::start_new() {
  struct stat before {};
  if (::stat(target_.c_str(), &before) == 0) ::fchmod(number_, before.st_mode & 0777U);
  if (::ftruncate(number_, 0) != 0) return not_written(errno);
  if (const int error = allocate_file(number_, parts_.end); error != 0) {
    ::unlink(part_.c_str());
    return not_written(error);
  }
  state_ = {};
  rows_ = id_bytes_ = 0;
  const std::string head = cache_file::header(contents_);
  const auto bytes = std::as_bytes(std::span(head));
  constexpr std::size_t length = sizeof(std::uint64_t);
  if (Status wrote = write_at(length, bytes.subspan(length)); !wrote) return wrote;
  return write_at(0, bytes.first(length));
}

Status DocumentCacheWriter::continue_part() {
  const auto start_again = [](const Error& error) {
    return fail("{}{}tart again with --restart, or name another file", error.message,
                error.message.ends_with('?') ? " S" : "; s");
  };
  const std::string name = part_.string();
  const auto file = SafetensorsFile::open(part_);
  if (!file) return start_again(file.error());
  const auto theirs = cache_file::read_contents(*file, name);
  if (!theirs) return start_again(theirs.error());
  if (const std::string other = difference(*theirs, contents_); !other.empty()) {
    return fail(
        "{}: its documents were {}; finish it with the same settings, start again with --restart, "
        "or name another file",
        name, other);
  }
  contents_.source.file = theirs->source.file;
  parts_ = cache_file::parts(contents_);
  const auto state = cache_file::read_state(*file, *theirs, name);
  if (!state) return start_again(state.error());
  const std::string head = cache_file::header(contents_);
  const bool is_alike =
      *theirs == contents_ && begins_with(number_, head) && size_of_file(number_) == parts_.end;
  const auto kept = is_alike ? stored_documents(*file, contents_, state->encoded) : std::nullopt;
  if (!kept || kept->sum != state->kept)
    return start_again({.message = fmt::format("{}: is damaged", name)});
  state_ = *state;
  rows_ = kept->rows;
  id_bytes_ = kept->id_bytes;
  return {};
}

std::optional<CacheRowError> DocumentCacheWriter::error() const {
  if (contents_.format == format_of(contents_.maker.dtype)) return std::nullopt;
  return state_.errors;
}

Status DocumentCacheWriter::write_at(std::int64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(number_, bytes.data(), bytes.size(), offset);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return not_written(written < 0 ? errno : ENOSPC);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
    offset += written;
  }
  return {};
}

Status DocumentCacheWriter::write_documents(const DocumentCache& kept,
                                            std::span<const std::string> ids, std::int64_t rows,
                                            std::int64_t id_bytes) {
  std::vector<std::int64_t> ends;
  for (std::int64_t i = 0; i < kept.documents(); ++i) ends.push_back(rows_ + kept.range_of(i).end);
  constexpr std::int64_t width = sizeof(std::int64_t), scale = sizeof(float);
  const std::int64_t row = contents_.width * size_of(contents_.format);
  const std::int64_t next = (state_.encoded + 1) * width;
  const cpu::VectorRows vectors = kept.vectors();
  if (Status wrote = write_at(parts_.offsets.begin + next, std::as_bytes(std::span(ends))); !wrote)
    return wrote;
  if (contents_.format == VectorFormat::int8) {
    const std::span scales(vectors.scales, static_cast<std::size_t>(rows));
    if (Status wrote = write_at(parts_.scales.begin + rows_ * scale, std::as_bytes(scales)); !wrote)
      return wrote;
  }
  if (Status wrote = write_at(parts_.rows.begin + rows_ * row,
                              {vectors.data, static_cast<std::size_t>(rows * row)});
      !wrote)
    return wrote;
  if (!contents_.id_bytes) return {};
  const PackedIds packed = packed_ids(ids, id_bytes_);
  if (static_cast<std::int64_t>(packed.bytes.size()) != id_bytes)
    return fail("{}: ids of other sizes", part_.string());
  if (Status wrote =
          write_at(parts_.id_offsets.begin + next, std::as_bytes(std::span(packed.ends)));
      !wrote)
    return wrote;
  return write_at(parts_.ids.begin + id_bytes_, std::as_bytes(std::span(packed.bytes)));
}

Status DocumentCacheWriter::append(const DocumentCache& encoded, std::span<const std::string> ids,
                                   std::uint64_t fingerprint) {
  if (encoded.maker() != contents_.maker || encoded.format() != format_of(contents_.maker.dtype) ||
      encoded.width() != contents_.width || is_finished_) {
    return fail("{}: these documents were {}", part_.string(),
                difference(encoded.maker(), contents_.maker));
  }
  const std::int64_t count = encoded.documents();
  const std::int64_t rows = encoded.vectors().rows;
  const std::int64_t id_bytes = std::accumulate(ids.begin(), ids.end(), std::int64_t{0},
                                                [](std::int64_t sum, const std::string& id) {
                                                  return sum + static_cast<std::int64_t>(id.size());
                                                });
  const bool ids_fit = !contents_.id_bytes || (static_cast<std::int64_t>(ids.size()) == count &&
                                               id_bytes_ + id_bytes <= *contents_.id_bytes);
  if (state_.encoded + count > contents_.documents || rows_ + rows > contents_.rows || !ids_fit) {
    return fail(
        "{}: there are more or longer documents than were counted; has their file changed? Start "
        "again with --restart",
        part_.string());
  }
  cache_file::State then{.encoded = state_.encoded + count,
                         .errors = state_.errors,
                         .documents = fingerprint,
                         .kept = state_.kept};
  const auto add_to_sum = [&](const DocumentCache& kept) {
    RunningSum sum(then.kept);
    for (std::int64_t i = 0; i < count; ++i) {
      const bool has_id = contents_.id_bytes.has_value();
      kept.add_to_sum(sum, i, has_id ? std::string_view(ids[static_cast<std::size_t>(i)]) : "");
    }
    then.kept = sum.value();
  };
  if (contents_.format == encoded.format()) {
    add_to_sum(encoded);
    if (Status wrote = write_documents(encoded, ids, rows, id_bytes); !wrote) return wrote;
  } else {
    const auto smaller = encoded.narrowed(contents_.format);
    if (!smaller) return tl::unexpected(smaller.error());
    add_to_sum(*smaller);
    if (Status wrote = write_documents(*smaller, ids, rows, id_bytes); !wrote) return wrote;
    const CacheRowError reported = *smaller->error();
    const auto before = static_cast<double>(rows_), more = static_cast<double>(rows);
    then.errors.largest = std::isnan(reported.largest)
                              ? reported.largest
                              : std::max(then.errors.largest, reported.largest);
    if (rows > 0) {
      then.errors.mean = (then.errors.mean * before + reported.mean * more) / (before + more);
    }
  }
  // Even after a crash of the machine, no missing documents are counted.
  if (::fdatasync(number_) != 0) return not_written(errno);
  if (Status wrote = write_at(parts_.state.begin, std::as_bytes(std::span(&then, 1))); !wrote)
    return wrote;
  state_ = then;
  rows_ += rows;
  id_bytes_ += id_bytes;
  return {};
}

Status DocumentCacheWriter::rename_part() {
  if (!restarts_) {
    if (::renameat2(AT_FDCWD, part_.c_str(), AT_FDCWD, target_.c_str(), RENAME_NOREPLACE) == 0)
      return {};
    if (errno == EEXIST) {
      return fail(
          "{}: was created by another program in the meantime; move it away and repeat the "
          "command, which finishes {}",
          target_.string(), part_.string());
    }
    // The file system does not support RENAME_NOREPLACE; the target did not exist a moment ago.
    if (errno != EINVAL && errno != ENOSYS) return not_written(errno);
  }
  if (std::rename(part_.c_str(), target_.c_str()) != 0) return not_written(errno);
  return {};
}

Status DocumentCacheWriter::finish() {
  if (is_finished_) return {};
  if (state_.encoded != contents_.documents || rows_ != contents_.rows ||
      id_bytes_ != contents_.id_bytes.value_or(0)) {
    return fail(
        "{}: has {} documents with {} rows, but {} with {} were counted; has their file changed? "
        "Start again with --restart",
        part_.string(), state_.encoded, rows_, contents_.documents, contents_.rows);
  }
  if (state_.documents != contents_.source.fingerprint) {
    return fail("{}: the documents changed while they were read; run again with --restart",
                part_.string());
  }
  if (::fsync(number_) != 0) return not_written(errno);
  if (Status may = may_be_written(target_); !may) return may;
  if (Status named = rename_part(); !named) return named;
  ::close(std::exchange(number_, -1));
  is_finished_ = true;
  return {};
}

}  // namespace attnscope
