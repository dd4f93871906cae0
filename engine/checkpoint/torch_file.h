#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A file written by torch.save(model.state_dict()), such as pytorch_model.bin: a zip archive with a
// pickle that describes the tensors and a record for each storage. The archive is mapped, and none
// of its code is executed.
//
//   Result<TorchFile> file = TorchFile::open("pytorch_model.bin");

#include <filesystem>
#include <string>
#include <vector>

#include "base/open_file.h"
#include "base/result.h"
#include "engine/safetensors/safetensors.h"

namespace attnscope {

/// The command that converts the file to a model.safetensors next to it, and fails where reading
/// the file would execute code.
[[nodiscard]] std::string torch_conversion(const std::filesystem::path& file);

class TorchFile {
 public:
  /// Errors name the file and say how to convert an unsupported one.
  [[nodiscard]] static Result<TorchFile> open(const std::filesystem::path& path);

  [[nodiscard]] std::vector<NamedView> tensors() const { return tensors_; }

 private:
  explicit TorchFile(MappedFile file) : file_(std::move(file)) {}
  [[nodiscard]] Status read();

  MappedFile file_;
  std::vector<NamedView> tensors_;
};

}  // namespace attnscope
