#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Randomly initialised weights as a checkpoint of transformers (config.json, model.safetensors) in
// a temporary folder, for a program that loads them. The owner's destructor removes the folder; the
// next write() removes folders of killed processes.
//
//   auto folder = CheckpointFolder::write(*weights);
//   load(folder->path());

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>

#include "base/result.h"
#include "base/spawn.h"

namespace attnscope {

class ModelWeights;

class CheckpointFolder {
 public:
  /// Precondition: the model is of BERT's family. Projections for global tokens, which other rows
  /// may also have, are left out. Errors: a file that cannot be written, with the reason.
  [[nodiscard]] static Result<std::unique_ptr<CheckpointFolder>> write(const ModelWeights& weights);
  CheckpointFolder(const CheckpointFolder&) = delete;
  CheckpointFolder& operator=(const CheckpointFolder&) = delete;
  ~CheckpointFolder();

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  /// Whether both files are unchanged since they were written: the program that loads them may have
  /// modified them.
  [[nodiscard]] bool is_as_written() const;

 private:
  CheckpointFolder() = default;
  [[nodiscard]] Status make();

  struct File {
    std::filesystem::file_time_type written;
    std::uintmax_t bytes = 0;
    friend bool operator==(const File&, const File&) = default;
  };
  /// The current files; nothing if they cannot be read.
  [[nodiscard]] std::optional<std::array<File, 2>> files() const;

  std::filesystem::path path_;
  std::optional<std::array<File, 2>> written_{};
  Descriptor lock_;  // held on the folder; a folder without a held lock is left over
};

}  // namespace attnscope
