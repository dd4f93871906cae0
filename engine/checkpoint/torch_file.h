#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A file written by torch.save(model.state_dict()), such as pytorch_model.bin: a zip archive with a
// pickle that describes the tensors and a record for each storage. The archive is mapped.
// A pickle is a program: this reader supports only the instructions and names that such a file
// needs, executes nothing, and refuses all others by name.
//
//   Result<TorchFile> file = TorchFile::open("pytorch_model.bin");

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/open_file.h"
#include "base/result.h"
#include "engine/safetensors/safetensors.h"

namespace attnscope {

/// A tensor as described by the pickle, not yet validated against its record.
struct PickledTensor {
  std::string_view name;  // valid as long as the pickle's bytes, like `key`
  std::string_view key;   // key of its record, which tensors may share
  std::string_view dtype;
  std::int64_t element_bytes = 0;
  std::int64_t count = 0;   // number of elements in the record
  std::int64_t offset = 0;  // offset of the first element, in elements, like the strides
  std::vector<std::int64_t> sizes{};
  std::vector<std::int64_t> strides{};
};

/// The tensors of a dictionary that contains nothing else, in order. Errors continue the file's
/// name, here and below.
[[nodiscard]] Result<std::vector<PickledTensor>> read_torch_pickle(
    std::span<const std::byte> pickle);

/// The tensor's elements in its record. A tensor with non-contiguous elements has no bytes and a
/// dtype that states this, which no reader accepts.
[[nodiscard]] Result<TensorView> view_in(std::span<const std::byte> record,
                                         const PickledTensor& tensor);

/// The command that converts the file to a model.safetensors next to it, and fails where reading
/// the file would execute code.
[[nodiscard]] std::string torch_conversion(const std::filesystem::path& file);

class TorchFile {
 public:
  /// Errors name the file and how to convert an unsupported one.
  [[nodiscard]] static Result<TorchFile> open(const std::filesystem::path& path);

  [[nodiscard]] std::vector<NamedView> tensors() const { return tensors_; }

 private:
  explicit TorchFile(MappedFile file) : file_(std::move(file)) {}
  [[nodiscard]] Status read();

  MappedFile file_;
  std::vector<NamedView> tensors_;
};

}  // namespace attnscope
