#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// safetensors files: 8 bytes little-endian header length, a JSON header, then the tensors' bytes.
// Reading maps the file and checks every offset; a hostile or truncated file ends in one sentence.
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

#include "kernels/base/result.h"
#include "kernels/base/written_file.h"

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
  /// A text of the writer's own from `__metadata__`; errors name the file and the key.
  [[nodiscard]] Result<std::string_view> metadata(std::string_view key) const;
  /// Errors name the file, the tensor and the tensors that are there.
  [[nodiscard]] Result<TensorView> tensor(std::string_view name) const;
  /// The same with dtype F32 and a shape where -1 matches any size.
  [[nodiscard]] Result<std::span<const float>> floats(std::string_view name,
                                                      std::span<const std::int64_t> shape) const;
  /// Ok where the text `checksum` is that of all tensors and all other texts (checksum_of). Errors:
  /// another one, and one of an earlier version of the program, which cannot be checked.
  [[nodiscard]] Status check_sum() const;

 private:
  struct Mapping;
  explicit SafetensorsFile(std::unique_ptr<Mapping> mapping);
  std::unique_ptr<Mapping> mapping_;
};

inline constexpr const char* checksum_key = "checksum";
/// Of tensors and texts with their names, whatever their order: what a file has by that key which
/// is to be known again to the bit.
[[nodiscard]] std::string checksum_of(std::span<const NamedView> tensors,
                                      const std::map<std::string, std::string>& metadata);

struct NamedTensor {
  std::string name;
  std::vector<std::int64_t> shape;
  std::span<const float> values;
};

struct SafetensorsOptions {
  std::map<std::string, std::string> metadata{};  // the file's `__metadata__`
  bool half = false;                              // F16 in place of F32, rounded to nearest even
};

/// Bytes as they are, for the owner alone (they may hold what a document says) unless `readers` are
/// others; whole or not at all.
[[nodiscard]] Status write_safetensors(const std::filesystem::path& path,
                                       std::span<const NamedView> tensors,
                                       const std::map<std::string, std::string>& metadata,
                                       Readers readers = Readers::owner_alone);
/// Floats.
[[nodiscard]] Status write_safetensors(const std::filesystem::path& path,
                                       std::span<const NamedTensor> tensors,
                                       const SafetensorsOptions& options = {});

}  // namespace attnscope
