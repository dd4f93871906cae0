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
/// `readers` says otherwise; the file is written completely or not at all.
[[nodiscard]] Status write_safetensors(const std::filesystem::path& path,
                                       std::span<const NamedView> tensors,
                                       const std::map<std::string, std::string>& metadata,
                                       Readers readers = Readers::owner_only);
/// Writes floats.
[[nodiscard]] Status write_safetensors(const std::filesystem::path& path,
                                       std::span<const NamedTensor> tensors,
                                       const SafetensorsOptions& options = {});

}  // namespace attnscope
