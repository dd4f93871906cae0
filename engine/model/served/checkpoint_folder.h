#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Weights that were drawn here, as a checkpoint of transformers (config.json, model.safetensors) in
// a temporary folder, for a program that loads them. It goes with its owner; one whose owner was
// killed goes when the next is made.
//
//   auto folder = CheckpointFolder::write(*weights);
//   load(folder->path());

#include <filesystem>
#include <memory>

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

 private:
  CheckpointFolder() = default;
  [[nodiscard]] Status make();

  std::filesystem::path path_;
  Descriptor lock_;  // held on the folder: whose lock can be had is left over
};

}  // namespace attnscope
