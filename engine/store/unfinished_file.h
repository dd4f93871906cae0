#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A file that gets its name only when it is whole: until then it lies beside it under another one,
// empty at first and for its owner alone, and what is not published is removed: by the next command
// that makes the file, where its own was killed.

#include <filesystem>

#include "kernels/base/result.h"

namespace attnscope::store {

class UnfinishedFile {
 public:
  /// What speaks against making it, whoever writes it finds as well and has words for.
  explicit UnfinishedFile(std::filesystem::path name);
  ~UnfinishedFile();
  UnfinishedFile(const UnfinishedFile&) = delete;
  UnfinishedFile& operator=(const UnfinishedFile&) = delete;

  /// Where to write it.
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  /// Gives the file its name, never over another one.
  [[nodiscard]] Status publish();

 private:
  void let_go();
  std::filesystem::path name_, path_;
  int number_ = -1;  // the descriptor that holds its lock
};

[[nodiscard]] tl::unexpected<Error> refuse_existing(const std::filesystem::path& file);

}  // namespace attnscope::store
