// SPDX-License-Identifier: Apache-2.0
#include "engine/store/write_ahead_log.h"

#include <array>
#include <bit>
#include <fstream>
#include <span>
#include <vector>

#include "engine/store/file_start.h"
#include "engine/store/location.h"

namespace attnscope::store {
namespace {

constexpr std::size_t header_bytes = 32, frame_header_bytes = 24;
using Header = std::array<char, header_bytes>;
constexpr std::uint32_t magic = 0x377f0682;  // lowest bit set: checksums use big-endian words

std::uint32_t big_endian(std::span<const char> bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i)
    value = value << 8U | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

struct Checksum {
  std::uint32_t first = 0, second = 0;
  friend bool operator==(const Checksum&, const Checksum&) = default;

  /// Continues the checksum over the bytes; their number must be a multiple of eight.
  void add(std::span<const char> bytes, bool words_are_big_endian) {
    for (std::size_t at = 0; at + 8 <= bytes.size(); at += 8) {
      std::uint32_t x = big_endian(bytes, at), y = big_endian(bytes, at + 4);
      if (!words_are_big_endian) {
        x = __builtin_bswap32(x);
        y = __builtin_bswap32(y);
      }
      first += x + second;
      second += y + first;
    }
  }
};

/// Page size from the database's own header: that of the log may be damaged.
std::size_t page_bytes(const std::filesystem::path& database) {
  std::array<char, 18> start{};
  if (!read_start(database, start)) return 0;
  const std::size_t bytes = big_endian(start, 14) & 0xffffU;
  return bytes == 1 ? 65536 : bytes;
}

/// Number of unread commits in a log with this header; the stream is positioned after it.
std::int64_t unread_commits(std::istream& log, const Header& header, std::size_t page) {
  const std::uint32_t mark = big_endian(header, 0);
  const bool words_are_big_endian = (mark & 1U) != 0;
  Checksum before;
  before.add(std::span(header).first<24>(), words_are_big_endian);
  const Checksum of_header{big_endian(header, 24), big_endian(header, 28)};
  // SQLite stops reading at the first invalid frame.
  bool is_read = before == of_header && (mark & ~1U) == magic && big_endian(header, 8) == page;
  before = of_header;
  std::uint64_t salt = std::uint64_t{big_endian(header, 16)} << 32U | big_endian(header, 20);

  std::int64_t commits = 0;
  bool is_first = true, belongs = true;
  std::vector<char> frame(frame_header_bytes + page);
  for (; log.read(frame.data(), static_cast<std::streamsize>(frame.size())); is_first = false) {
    const std::uint64_t own_salt =
        std::uint64_t{big_endian(frame, 8)} << 32U | big_endian(frame, 12);
    if (is_first && !is_read) salt = own_salt;  // the salt in the header may be damaged
    const Checksum stored{big_endian(frame, 16), big_endian(frame, 20)};
    Checksum sum = before;
    sum.add(std::span(frame).first(8), words_are_big_endian);
    sum.add(std::span(frame).subspan(frame_header_bytes), words_are_big_endian);
    is_read = is_read && sum == stored && own_salt == salt;
    // Remains of an earlier round have a different salt, and their checksums continue from their
    // own frames.
    belongs = own_salt == salt || (belongs && sum == stored);
    if (!is_read && belongs && big_endian(frame, 4) != 0) ++commits;
    before = stored;
  }
  // Each commit is on disk before the next begins: a single one may have been interrupted by a
  // power cut.
  return commits > 1 ? commits : 0;
}

}  // namespace

std::filesystem::path log_of(const std::filesystem::path& database) {
  return beside(database, "-wal");
}

std::filesystem::path memory_of(const std::filesystem::path& database) {
  return beside(database, "-shm");
}

std::filesystem::path kept_log_of(const std::filesystem::path& database) {
  return beside(database, "-wal.damaged");
}

std::int64_t lost_commits(const std::filesystem::path& database) {
  const std::size_t page = page_bytes(database);
  if (!std::has_single_bit(page) || page < 512) return 0;
  constexpr int most_attempts = 3;
  for (int attempt = 0; attempt < most_attempts; ++attempt) {
    const auto read_header = [&](std::istream& log, Header& header) {
      return bool(log.read(header.data(), header.size()));
    };
    std::ifstream log(log_of(database), std::ios::binary);
    Header header{}, after{};
    if (!read_header(log, header)) return 0;
    const std::int64_t lost = unread_commits(log, header, page);
    // A log in use may have restarted in the meantime: then frames of two rounds were mixed.
    std::ifstream again(log_of(database), std::ios::binary);
    if (lost == 0 || (read_header(again, after) && after == header)) return lost;
  }
  return 0;
}

void keep_log(const std::filesystem::path& database) {
  std::error_code failed;
  if (std::filesystem::exists(kept_log_of(database), failed)) return;
  std::filesystem::copy_file(log_of(database), kept_log_of(database), failed);
}

}  // namespace attnscope::store
