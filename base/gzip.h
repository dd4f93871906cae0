#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Files compressed by gzip (RFC 1952), recognised by their first two bytes. UnpackedBytes reads
// compressed and plain files with the same interface:
//
//   UnpackedBytes bytes(descriptor, "bm25.trec.gz");
//   Result<std::size_t> count = bytes.read(buffer);   // 0 at the end
//
// Consecutive members form one text, as in zcat. A truncated or damaged file is an error that names
// the file, never a shorter text.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

struct z_stream_s;  // zlib's

namespace attnscope {

/// The first bytes of every gzip file.
inline constexpr std::string_view gzip_mark{"\x1f\x8b"};
/// Whether the name ends in ".gz", so that an output is compressed. Inputs are recognised by their
/// first bytes instead.
[[nodiscard]] bool has_gzip_name(const std::filesystem::path& file);
/// Returns "runs/bm25.trec" for "runs/bm25.trec.gz" and for itself.
[[nodiscard]] std::filesystem::path without_gzip_ending(const std::filesystem::path& file);

class UnpackedBytes {
 public:
  /// Reads the descriptor from its current position and does not take ownership; messages use
  /// `name` for the file.
  UnpackedBytes(int descriptor, std::string name);

  /// The number of bytes read: at least one, or 0 at the end.
  [[nodiscard]] Result<std::size_t> read(std::span<char> buffer);
  [[nodiscard]] Result<bool> is_packed();
  /// Whether the file was compressed; known after the first read.
  [[nodiscard]] bool was_packed() const { return stream_ != nullptr; }
  /// Sets the position of the next byte in the file. Errors: a compressed file, a pipe.
  [[nodiscard]] Status seek(std::int64_t begin);
  [[nodiscard]] const std::string& name() const { return name_; }
  /// Bytes read from the file itself.
  [[nodiscard]] std::int64_t bytes_read() const { return bytes_read_; }

 private:
  struct EndInflating {
    void operator()(z_stream_s* stream) const;
  };
  [[nodiscard]] Result<std::size_t> read_file(char* buffer, std::size_t most);
  [[nodiscard]] Result<bool> refill();
  [[nodiscard]] Result<std::size_t> unpack(std::span<char> buffer);

  int descriptor_;
  std::string name_;
  std::int64_t bytes_read_ = 0;
  std::string input_;         // bytes read ahead from the file
  std::size_t position_ = 0;  // position in input_
  bool has_begun_ = false, is_between_members_ = false, has_pending_ = false;
  std::unique_ptr<z_stream_s, EndInflating> stream_;  // compressed files only
};

/// Passes the remaining `bytes` to `take`, in parts, until it returns an error. Other errors: those
/// of reading; more than `most_bytes`.
[[nodiscard]] Status unpack_all(UnpackedBytes& bytes, std::int64_t most_bytes,
                                const std::function<Status(std::span<const char>)>& take);

class GzipPacker {
 public:
  GzipPacker();
  /// Returns the compressed bytes available so far, which may cover earlier input only.
  [[nodiscard]] std::string pack(std::string_view bytes);
  /// Returns the remaining bytes; later input starts a new member.
  [[nodiscard]] std::string finish();

 private:
  struct EndDeflating {
    void operator()(z_stream_s* stream) const;
  };
  [[nodiscard]] std::string deflated(std::string_view bytes, int flush);
  std::unique_ptr<z_stream_s, EndDeflating> stream_;
};

}  // namespace attnscope
