#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A whole run in a new database: what the store reported as stored, and a check that all of it is
// still there afterwards.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "tests/store/sample_runs.h"

namespace attnscope::test {

inline constexpr int heats_of_life = 3;
[[nodiscard]] HeatResult heat_of_life(int index);

/// What a store has reported about a run.
struct Announced {
  std::optional<RunId> run;
  std::vector<int> heats;
  bool finished = false;
  std::vector<std::string> errors;
  void note(const Status& status) {
    if (!status) errors.push_back(status.error().message);
  }
};

/// Creates the database and stores a whole run. Continues after errors, which are noted.
[[nodiscard]] Announced live(const std::filesystem::path& file);

/// Checks that each error is one sentence that names the file and a remedy.
void expect_sentences(const Announced& announced, const std::string& name);
void expect_heat(const Store& store, const RunId& run, int index);
/// Checks that everything announced is stored, nothing is damaged, and the run can be completed.
void expect_kept_and_resumable(const std::filesystem::path& file, const Announced& announced);

}  // namespace attnscope::test
