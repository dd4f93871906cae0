#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A file that receives its name only when it is complete. Until then it has a temporary name in the
// same folder, is empty at first and accessible only to its owner. An unpublished file is removed,
// if its process was killed by the next command that creates the file.

#include <filesystem>

#include "base/result.h"

namespace attnscope::store {

class UnfinishedFile {
 public:
  /// Failures to create it are ignored here: the code that writes the file meets and reports them.
  explicit UnfinishedFile(std::filesystem::path name);
  ~UnfinishedFile();
  UnfinishedFile(const UnfinishedFile&) = delete;
  UnfinishedFile& operator=(const UnfinishedFile&) = delete;

  /// The path to write to.
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  /// Renames the file to its name; never overwrites another file.
  [[nodiscard]] Status publish();

 private:
  void let_go();
  std::filesystem::path name_, path_;
  int number_ = -1;  // the descriptor that holds its lock
};

[[nodiscard]] tl::unexpected<Error> refuse_existing(const std::filesystem::path& file);

}  // namespace attnscope::store
