#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Weights that were drawn here, as a checkpoint of transformers (config.json, model.safetensors) in
// a temporary folder, for a program that loads them. It goes with its owner; one whose owner was
// killed goes when the next is made.
//
//   auto folder = CheckpointFolder::write(*weights);
//   load(folder->path());

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>

#include "kernels/base/result.h"
#include "kernels/base/spawn.h"

namespace attnscope {

class ModelWeights;

class CheckpointFolder {
 public:
  /// Of BERT's family, which the caller knows; projections for global tokens alone, which other
  /// rows may have beside, are left out. Errors: what cannot be written, with the reason.
  [[nodiscard]] static Result<std::unique_ptr<CheckpointFolder>> write(const ModelWeights& weights);
  CheckpointFolder(const CheckpointFolder&) = delete;
  CheckpointFolder& operator=(const CheckpointFolder&) = delete;
  ~CheckpointFolder();

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  /// Whether both files are as they were written: whoever loads them may have changed them.
  [[nodiscard]] bool is_as_written() const;

 private:
  CheckpointFolder() = default;
  [[nodiscard]] Status make();

  struct File {
    std::filesystem::file_time_type written;
    std::uintmax_t bytes = 0;
    friend bool operator==(const File&, const File&) = default;
  };
  /// As they are now; none where they are not to be seen.
  [[nodiscard]] std::optional<std::array<File, 2>> files() const;

  std::filesystem::path path_;
  std::optional<std::array<File, 2>> written_{};
  Descriptor lock_;  // held on the folder: whose lock can be had is left over
};

}  // namespace attnscope
