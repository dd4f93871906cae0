// SPDX-License-Identifier: Apache-2.0
#include "base/gzip.h"

#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <new>
#include <utility>

#include "base/sentences.h"

namespace attnscope {
namespace {

constexpr std::size_t block = 1U << 16U;
// zlib: a window of 2^15 bytes, with gzip's header and checksum.
constexpr int gzip_window = 15 + 16;

/// The first bytes of files from other compressors.
struct OtherPacker {
  std::string_view mark, name, command;
};
using namespace std::string_view_literals;
constexpr std::array other_packers{OtherPacker{"\xfd\x37zXZ\0"sv, "xz", "xz -dc"},
                                   OtherPacker{"\x28\xb5\x2f\xfd"sv, "zstd", "zstd -dc"},
                                   OtherPacker{"PK\x03\x04"sv, "zip", "unzip -p"},
                                   OtherPacker{"BZh91AY&SY"sv, "bzip2", "bzip2 -dc"},
                                   OtherPacker{"7z\xbc\xaf\x27\x1c"sv, "7-Zip", "7z x -so"}};
constexpr std::size_t longest_mark = 10;

// zlib does not change its input, but its interface takes a non-const pointer.
Bytef* bytes_of(const char* text) {
  return reinterpret_cast<Bytef*>(const_cast<char*>(text));
}

}  // namespace

bool has_gzip_name(const std::filesystem::path& file) {
  const std::string ending = file.extension().string();
  return ending.size() == 3 && ending[0] == '.' && (ending[1] | 0x20) == 'g' &&
         (ending[2] | 0x20) == 'z';
}

std::filesystem::path without_gzip_ending(const std::filesystem::path& file) {
  return has_gzip_name(file) ? std::filesystem::path(file).replace_extension() : file;
}

void UnpackedBytes::EndInflating::operator()(z_stream_s* stream) const {
  ::inflateEnd(stream);
  delete stream;
}

UnpackedBytes::UnpackedBytes(int descriptor, std::string name)
    : descriptor_(descriptor), name_(std::move(name)) {}

Result<std::size_t> UnpackedBytes::read_file(char* room, std::size_t most) {
  ssize_t got = -1;
  do {
    got = ::read(descriptor_, room, most);
  } while (got < 0 && errno == EINTR);
  if (got < 0) return fail("{}: cannot be read: {}", name_, system_reason(errno));
  taken_ += got;
  return static_cast<std::size_t>(got);
}

/// Appends bytes to the buffer; returns false at the end of the file.
Result<bool> UnpackedBytes::refill() {
  waiting_.erase(0, std::exchange(at_, 0));
  const std::size_t before = waiting_.size();
  waiting_.resize(before + block);
  const auto got = read_file(waiting_.data() + before, block);
  waiting_.resize(before + got.value_or(0));
  if (!got) return tl::unexpected(got.error());
  return *got > 0;
}

Result<bool> UnpackedBytes::is_packed() {
  if (std::exchange(is_begun_, true)) return stream_ != nullptr;
  while (waiting_.size() < longest_mark) {
    const Result<bool> more = refill();
    if (!more) return more;
    if (!*more) break;
  }
  for (const OtherPacker& other : other_packers) {
    if (!waiting_.starts_with(other.mark)) continue;
    return fail("{}: is compressed by {}, and only gzip is read; unpack it: {} FILE > UNPACKED",
                name_, other.name, other.command);
  }
  if (!waiting_.starts_with(gzip_mark)) return false;
  auto stream = std::make_unique<z_stream_s>();
  if (::inflateInit2(stream.get(), gzip_window) != Z_OK) throw std::bad_alloc();
  stream_.reset(stream.release());
  return true;
}

Result<std::size_t> UnpackedBytes::read(std::span<char> room) {
  const Result<bool> packed = is_packed();
  if (!packed) return tl::unexpected(packed.error());
  if (*packed) return unpack(room);
  if (at_ == waiting_.size()) return read_file(room.data(), room.size());
  const std::size_t count = std::min(room.size(), waiting_.size() - at_);
  std::copy_n(waiting_.data() + at_, count, room.data());
  at_ += count;
  return count;
}

Result<std::size_t> UnpackedBytes::unpack(std::span<char> room) {
  z_stream_s& stream = *stream_;
  stream.next_out = bytes_of(room.data());
  stream.avail_out = static_cast<uInt>(std::min(room.size(), std::size_t{1} << 30U));
  const uInt wanted = stream.avail_out;
  while (stream.avail_out == wanted) {
    if (at_ == waiting_.size() && !has_pending_) {
      const Result<bool> more = refill();
      if (!more) return tl::unexpected(more.error());
      if (!*more && is_between_members_) return 0;
      if (!*more) {
        return fail(
            "{}: its gzip data break off after {} bytes: the file was cut off, so copy it "
            "again",
            name_, taken_);
      }
    }
    if (is_between_members_) {
      // Zeros may pad the last block of a tape.
      at_ = std::min(waiting_.find_first_not_of('\0', at_), waiting_.size());
      if (at_ == waiting_.size()) continue;
      if (waiting_.size() - at_ < gzip_mark.size()) {
        const Result<bool> more = refill();
        if (!more) return tl::unexpected(more.error());
        if (*more) continue;
      }
      if (!std::string_view(waiting_).substr(at_).starts_with(gzip_mark)) {
        return fail(
            "{}: bytes that are not gzip's follow its gzip data; remove them, or pack the file "
            "again",
            name_);
      }
      ::inflateReset(&stream);
      is_between_members_ = false;
    }
    stream.next_in = bytes_of(waiting_.data() + at_);
    stream.avail_in = static_cast<uInt>(waiting_.size() - at_);
    const int outcome = ::inflate(&stream, Z_NO_FLUSH);
    at_ = waiting_.size() - stream.avail_in;
    if (outcome == Z_MEM_ERROR) throw std::bad_alloc();
    if (outcome != Z_OK && outcome != Z_STREAM_END && outcome != Z_BUF_ERROR) {
      return fail(
          "{}: its gzip data are damaged within its first {} bytes ({}); copy or pack it "
          "again",
          name_, taken_, stream.msg != nullptr ? stream.msg : "they need a dictionary");
    }
    is_between_members_ = outcome == Z_STREAM_END;
    has_pending_ = stream.avail_out == 0 && !is_between_members_;
  }
  return wanted - stream.avail_out;
}

Status UnpackedBytes::seek(std::int64_t begin) {
  const Result<bool> packed = is_packed();
  if (!packed) return tl::unexpected(packed.error());
  if (*packed) return fail("{}: is packed by gzip and cannot be read out of order", name_);
  if (::lseek(descriptor_, begin, SEEK_SET) != begin) {
    return fail("{}: cannot be read out of order: {}", name_, system_reason(errno));
  }
  waiting_.clear();
  at_ = 0;
  taken_ = begin;
  return {};
}

Status unpack_all(UnpackedBytes& bytes, std::int64_t most_bytes,
                  const std::function<Status(std::span<const char>)>& take) {
  std::array<char, block> room{};
  for (std::int64_t unpacked = 0;;) {
    const auto count = bytes.read(room);
    if (!count) return tl::unexpected(count.error());
    if (*count == 0) return {};
    unpacked += static_cast<std::int64_t>(*count);
    if (unpacked > most_bytes) {
      return fail(
          "{}: unpacks to more than {} MiB, and all of it is needed at once; unpack it by "
          "gunzip, and name what comes of it",
          bytes.name(), most_bytes >> 20U);
    }
    if (Status taken = take(std::span(room).first(*count)); !taken) return taken;
  }
}

void GzipPacker::EndDeflating::operator()(z_stream_s* stream) const {
  ::deflateEnd(stream);
  delete stream;
}

GzipPacker::GzipPacker() {
  constexpr int usual_memory = 8;
  auto stream = std::make_unique<z_stream_s>();
  if (::deflateInit2(stream.get(), Z_BEST_COMPRESSION, Z_DEFLATED, gzip_window, usual_memory,
                     Z_DEFAULT_STRATEGY) != Z_OK) {
    throw std::bad_alloc();
  }
  stream_.reset(stream.release());
}

std::string GzipPacker::deflated(std::string_view bytes, int flush) {
  std::string packed;
  std::array<char, block> room{};
  z_stream_s& stream = *stream_;
  // In parts, because zlib counts bytes in 32 bits.
  constexpr std::size_t most = std::size_t{1} << 30U;
  do {
    const std::string_view part = bytes.substr(0, most);
    bytes.remove_prefix(part.size());
    stream.next_in = bytes_of(part.data());
    stream.avail_in = static_cast<uInt>(part.size());
    do {
      stream.next_out = bytes_of(room.data());
      stream.avail_out = static_cast<uInt>(room.size());
      ::deflate(&stream, bytes.empty() ? flush : Z_NO_FLUSH);
      packed.append(room.data(), room.size() - stream.avail_out);
    } while (stream.avail_out == 0);
  } while (!bytes.empty());
  return packed;
}

std::string GzipPacker::pack(std::string_view bytes) {
  return deflated(bytes, Z_NO_FLUSH);
}

std::string GzipPacker::finish() {
  std::string rest = deflated({}, Z_FINISH);
  ::deflateReset(stream_.get());
  return rest;
}

}  // namespace attnscope
