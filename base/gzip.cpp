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

Result<std::size_t> UnpackedBytes::read_file(char* buffer, std::size_t most) {
  ssize_t got = -1;
  do {
    got = ::read(descriptor_, buffer, most);
  } while (got < 0 && errno == EINTR);
  if (got < 0) return fail("{}: cannot be read: {}", name_, system_reason(errno));
  bytes_read_ += got;
  return static_cast<std::size_t>(got);
}

/// Appends bytes to the buffer; returns false at the end of the file.
Result<bool> UnpackedBytes::refill() {
  input_.erase(0, std::exchange(position_, 0));
  const std::size_t before = input_.size();
  input_.resize(before + block);
  const auto got = read_file(input_.data() + before, block);
  input_.resize(before + got.value_or(0));
  if (!got) return tl::unexpected(got.error());
  return *got > 0;
}

Result<bool> UnpackedBytes::is_packed() {
  if (std::exchange(has_begun_, true)) return stream_ != nullptr;
  while (input_.size() < longest_mark) {
    const Result<bool> more = refill();
    if (!more) return more;
    if (!*more) break;
  }
  for (const OtherPacker& other : other_packers) {
    if (!input_.starts_with(other.mark)) continue;
    return fail(
        "{}: is compressed by {}, but only gzip is supported; decompress it: {} FILE > "
        "DECOMPRESSED",
        name_, other.name, other.command);
  }
  if (!input_.starts_with(gzip_mark)) return false;
  auto stream = std::make_unique<z_stream_s>();
  if (::inflateInit2(stream.get(), gzip_window) != Z_OK) throw std::bad_alloc();
  stream_.reset(stream.release());
  return true;
}

Result<std::size_t> UnpackedBytes::read(std::span<char> buffer) {
  const Result<bool> packed = is_packed();
  if (!packed) return tl::unexpected(packed.error());
  if (*packed) return unpack(buffer);
  if (position_ == input_.size()) return read_file(buffer.data(), buffer.size());
  const std::size_t count = std::min(buffer.size(), input_.size() - position_);
  std::copy_n(input_.data() + position_, count, buffer.data());
  position_ += count;
  return count;
}

Result<std::size_t> UnpackedBytes::unpack(std::span<char> buffer) {
  z_stream_s& stream = *stream_;
  stream.next_out = bytes_of(buffer.data());
  stream.avail_out = static_cast<uInt>(std::min(buffer.size(), std::size_t{1} << 30U));
  const uInt wanted = stream.avail_out;
  while (stream.avail_out == wanted) {
    if (position_ == input_.size() && !has_pending_) {
      const Result<bool> more = refill();
      if (!more) return tl::unexpected(more.error());
      if (!*more && is_between_members_) return 0;
      if (!*more) {
        return fail("{}: its gzip data are truncated after {} bytes; copy the file again", name_,
                    bytes_read_);
      }
    }
    if (is_between_members_) {
      // Zeros may pad the last block of a tape.
      position_ = std::min(input_.find_first_not_of('\0', position_), input_.size());
      if (position_ == input_.size()) continue;
      if (input_.size() - position_ < gzip_mark.size()) {
        const Result<bool> more = refill();
        if (!more) return tl::unexpected(more.error());
        if (*more) continue;
      }
      if (!std::string_view(input_).substr(position_).starts_with(gzip_mark)) {
        return fail("{}: other bytes follow its gzip data; remove them, or compress the file again",
                    name_);
      }
      ::inflateReset(&stream);
      is_between_members_ = false;
    }
    stream.next_in = bytes_of(input_.data() + position_);
    stream.avail_in = static_cast<uInt>(input_.size() - position_);
    const int outcome = ::inflate(&stream, Z_NO_FLUSH);
    position_ = input_.size() - stream.avail_in;
    if (outcome == Z_MEM_ERROR) throw std::bad_alloc();
    if (outcome != Z_OK && outcome != Z_STREAM_END && outcome != Z_BUF_ERROR) {
      return fail(
          "{}: its gzip data are damaged within its first {} bytes ({}); copy or compress it again",
          name_, bytes_read_, stream.msg != nullptr ? stream.msg : "a dictionary is needed");
    }
    is_between_members_ = outcome == Z_STREAM_END;
    has_pending_ = stream.avail_out == 0 && !is_between_members_;
  }
  return wanted - stream.avail_out;
}

Status UnpackedBytes::seek(std::int64_t begin) {
  const Result<bool> packed = is_packed();
  if (!packed) return tl::unexpected(packed.error());
  if (*packed) return fail("{}: is compressed by gzip and cannot be read in random order", name_);
  if (::lseek(descriptor_, begin, SEEK_SET) != begin) {
    return fail("{}: cannot be read in random order: {}", name_, system_reason(errno));
  }
  input_.clear();
  position_ = 0;
  bytes_read_ = begin;
  return {};
}

Status unpack_all(UnpackedBytes& bytes, std::int64_t most_bytes,
                  const std::function<Status(std::span<const char>)>& take) {
  std::array<char, block> buffer{};
  for (std::int64_t unpacked = 0;;) {
    const auto count = bytes.read(buffer);
    if (!count) return tl::unexpected(count.error());
    if (*count == 0) return {};
    unpacked += static_cast<std::int64_t>(*count);
    if (unpacked > most_bytes) {
      return fail(
          "{}: decompresses to more than {} MiB, which is too much to read at once; decompress it "
          "with gunzip and name the result",
          bytes.name(), most_bytes >> 20U);
    }
    if (Status taken = take(std::span(buffer).first(*count)); !taken) return taken;
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
  std::array<char, block> buffer{};
  z_stream_s& stream = *stream_;
  // In parts, because zlib counts bytes in 32 bits.
  constexpr std::size_t most = std::size_t{1} << 30U;
  do {
    const std::string_view part = bytes.substr(0, most);
    bytes.remove_prefix(part.size());
    stream.next_in = bytes_of(part.data());
    stream.avail_in = static_cast<uInt>(part.size());
    do {
      stream.next_out = bytes_of(buffer.data());
      stream.avail_out = static_cast<uInt>(buffer.size());
      ::deflate(&stream, bytes.empty() ? flush : Z_NO_FLUSH);
      packed.append(buffer.data(), buffer.size() - stream.avail_out);
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
