#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The whole life of a run in a new database, what the store announced on the way, and whether all
// of that is still there afterwards.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "tests/store/sample_runs.h"

namespace attnscope::test {

inline constexpr int heats_of_life = 3;
[[nodiscard]] HeatResult heat_of_life(int index);

/// What a store has said about a run so far.
struct Announced {
  std::optional<RunId> run;
  std::vector<int> heats;
  bool finished = false;
  std::vector<std::string> errors;
  void note(const Status& status) {
    if (!status) errors.push_back(status.error().message);
  }
};

/// From the first byte of the file to the end of the run. Errors are noted and the next thing is
/// tried.
[[nodiscard]] Announced live(const std::filesystem::path& file);

/// Each error is one sentence that names the file and how to mend it.
void expect_sentences(const Announced& announced, const std::string& name);
void expect_heat(const Store& store, const RunId& run, int index);
/// Everything announced is there, nothing that is there is broken, and the run goes on to its end.
void expect_kept_and_resumable(const std::filesystem::path& file, const Announced& announced);

}  // namespace attnscope::test
