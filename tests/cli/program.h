#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Runs the built `attnscope` with arguments in a folder of its own and keeps what it said.

#include <filesystem>
#include <string>
#include <vector>

namespace attnscope::testing {

struct Outcome {
  int exit_code = -1;
  std::string out, err;
};

/// A fresh folder with a database of its own; removed at the end.
class Program {
 public:
  Program();
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  /// `environment` adds NAME=VALUE settings.
  [[nodiscard]] Outcome run(const std::vector<std::string>& arguments,
                            const std::vector<std::string>& environment = {}) const;
  [[nodiscard]] std::filesystem::path path(const std::string& name) const { return folder_ / name; }
  /// Writes a file into the folder and returns its path.
  std::string write(const std::string& name, const std::string& text) const;
  [[nodiscard]] std::string read(const std::string& name) const;

 private:
  std::filesystem::path folder_;
};

}  // namespace attnscope::testing
