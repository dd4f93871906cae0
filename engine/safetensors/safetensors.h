#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// safetensors files: 8 bytes little-endian header length, a JSON header, then the tensors' bytes.
// Reading maps the file and checks every offset; a malicious or truncated file results in an error
// of one sentence.
//
//   Result<SafetensorsFile> file = SafetensorsFile::open("in.safetensors");
//   Result<TensorView> q = file->tensor("q");

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/written_file.h"

namespace attnscope {

struct TensorView {
  std::string dtype;  // "F32", "F16", "BF16", "I64", ...
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;  // alive as long as the file
};

struct NamedView {
  std::string_view name;  // alive as long as its file
  TensorView view;
};

class SafetensorsFile {
 public:
  [[nodiscard]] static Result<SafetensorsFile> open(const std::filesystem::path& path);
  SafetensorsFile(SafetensorsFile&&) noexcept;
  SafetensorsFile& operator=(SafetensorsFile&&) noexcept;
  ~SafetensorsFile();

  [[nodiscard]] std::vector<std::string> names() const;
  [[nodiscard]] std::vector<NamedView> tensors() const;  // all of them, in the header's order
  /// A text of the writer from `__metadata__`; errors name the file and the key.
  [[nodiscard]] Result<std::string_view> metadata(std::string_view key) const;
  /// Errors name the file, the tensor and the available tensors.
  [[nodiscard]] Result<TensorView> tensor(std::string_view name) const;
  /// The same for dtype F32 and a shape in which -1 matches any size.
  [[nodiscard]] Result<std::span<const float>> floats(std::string_view name,
                                                      std::span<const std::int64_t> shape) const;
  /// Ok if the text `checksum` equals that of all tensors and all other texts (checksum_of).
  /// Errors: a different checksum, or one of an earlier program version, which cannot be checked.
  [[nodiscard]] Status check_sum() const;

 private:
  struct Mapping;
  explicit SafetensorsFile(std::unique_ptr<Mapping> mapping);
  std::unique_ptr<Mapping> mapping_;
};

inline constexpr const char* checksum_key = "checksum";
/// Checksum of tensors and texts with their names, independent of their order: the value of this
/// key in a file that must be bit-identical when it is read again.
[[nodiscard]] std::string checksum_of(std::span<const NamedView> tensors,
                                      const std::map<std::string, std::string>& metadata);

struct NamedTensor {
  std::string name;
  std::vector<std::int64_t> shape;
  std::span<const float> values;
};

struct SafetensorsOptions {
  std::map<std::string, std::string> metadata{};  // the file's `__metadata__`
  bool half = false;                              // F16 instead of F32, rounded to nearest even
};

/// Writes bytes unchanged, readable only by the owner (they may contain text of documents) unless
/// `readers` specifies otherwise; the file is written completely or not at all.
[[nodiscard]] Status write_safetensors(const std::filesystem::path& path,
                                       std::span<const NamedView> tensors,
                                       const std::map<std::string, std::string>& metadata,
                                       Readers readers = Readers::owner_only);
/// Writes floats.
[[nodiscard]] Status write_safetensors(const std::filesystem::path& path,
                                       std::span<const NamedTensor> tensors,
                                       const SafetensorsOptions& options = {});

// The JSON header of such a file; every entry is validated against the bytes that follow the
// header.

struct HeaderEntry {
  std::string name;
  std::string dtype{};
  std::vector<std::int64_t> shape{};
  std::int64_t begin = 0;  // bytes from the end of the header
  std::int64_t end = 0;
};

struct Header {
  std::vector<HeaderEntry> entries;             // in the header's order
  std::map<std::string, std::string> metadata;  // texts of the writer
};

/// The beginning of a file whose tensors are stored contiguously in this order (the entries' own
/// byte ranges are ignored): the header's length, the header, and spaces up to a multiple of
/// `alignment` bytes, a multiple of 8.
[[nodiscard]] std::string header_text(std::span<const HeaderEntry> entries,
                                      const std::map<std::string, std::string>& metadata,
                                      std::size_t alignment = 8);
/// Bytes of a tensor; the caller must rule out an overflow.
[[nodiscard]] std::int64_t bytes_of(const HeaderEntry& entry);

/// Length of the header, from the first 8 bytes of a file. `longest` is the reader's limit.
[[nodiscard]] Result<std::int64_t> header_length(std::span<const std::byte, 8> bytes,
                                                 std::int64_t file_bytes, std::int64_t longest,
                                                 std::string_view file);

/// `data_bytes` is the number of bytes after the header; `file` names the file in messages.
[[nodiscard]] Result<Header> parse_header(std::string_view json, std::int64_t data_bytes,
                                          std::string_view file);

}  // namespace attnscope
