#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Files that gzip packs (RFC 1952), known by their first two bytes. Whoever reads bytes by
// UnpackedBytes reads a packed file and a plain one alike:
//
//   UnpackedBytes bytes(descriptor, "bm25.trec.gz");
//   Result<std::size_t> count = bytes.read(room);   // 0 at the end
//
// Members that follow each other are one text, as zcat reads them. A file that was cut off or is
// damaged ends in an error that names it, never in a shorter text.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "kernels/base/result.h"

struct z_stream_s;  // zlib's

namespace attnscope {

/// How every packed file begins.
inline constexpr std::string_view gzip_mark{"\x1f\x8b"};
/// The name ends in ".gz": what is written there is packed. What is read tells by its own bytes.
[[nodiscard]] bool has_gzip_name(const std::filesystem::path& file);
/// "runs/bm25.trec" of "runs/bm25.trec.gz" and of itself.
[[nodiscard]] std::filesystem::path without_gzip_ending(const std::filesystem::path& file);

class UnpackedBytes {
 public:
  /// The descriptor is read from where it stands, and stays its owner's; `name` is what messages
  /// call the file.
  UnpackedBytes(int descriptor, std::string name);

  /// How many bytes came, at least one before the end, and 0 there.
  [[nodiscard]] Result<std::size_t> read(std::span<char> room);
  [[nodiscard]] Result<bool> is_packed();
  /// The same, once something was read.
  [[nodiscard]] bool was_packed() const { return stream_ != nullptr; }
  /// The next byte is this one of the file. Errors: a packed file, a pipe.
  [[nodiscard]] Status seek(std::int64_t begin);
  [[nodiscard]] const std::string& name() const { return name_; }
  /// Bytes of the file itself that were read.
  [[nodiscard]] std::int64_t taken() const { return taken_; }

 private:
  struct EndInflating {
    void operator()(z_stream_s* stream) const;
  };
  [[nodiscard]] Result<std::size_t> read_file(char* room, std::size_t most);
  [[nodiscard]] Result<bool> refill();
  [[nodiscard]] Result<std::size_t> unpack(std::span<char> room);

  int descriptor_;
  std::string name_;
  std::int64_t taken_ = 0;
  std::string waiting_;  // bytes of the file that were read ahead
  std::size_t at_ = 0;   // in them
  bool is_begun_ = false, is_between_members_ = false, has_pending_ = false;
  std::unique_ptr<z_stream_s, EndInflating> stream_;  // of a packed file
};

/// Gives the rest of `bytes` to `take`, which ends it with an error. Errors, too: those of reading;
/// more than `most_bytes`.
[[nodiscard]] Status unpack_all(UnpackedBytes& bytes, std::int64_t most_bytes,
                                const std::function<Status(std::span<const char>)>& take);

class GzipPacker {
 public:
  GzipPacker();
  /// What of the packed text is ready, in part of what came before.
  [[nodiscard]] std::string pack(std::string_view bytes);
  /// The rest; what is packed from here on is a member of its own.
  [[nodiscard]] std::string finish();

 private:
  struct EndDeflating {
    void operator()(z_stream_s* stream) const;
  };
  [[nodiscard]] std::string deflated(std::string_view bytes, int flush);
  std::unique_ptr<z_stream_s, EndDeflating> stream_;
};

}  // namespace attnscope
