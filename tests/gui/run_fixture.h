#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Runs with made-up numbers, written through the store as the driver writes real ones.

#include <filesystem>
#include <string>
#include <vector>

#include "app/gui/session/snapshot.h"
#include "engine/store/store.h"

namespace attnscope::gui {

[[nodiscard]] Contender contender(const std::string& pattern, const std::string& implementation,
                                  std::optional<Window> window = std::nullopt);
/// full/dense, full/sdpa and sparse/segment at w = 4.
[[nodiscard]] std::vector<Contender> three_contenders();

/// Times grow with the length, quadratically for `full`; one cell of `full/dense` above 4096 tokens
/// is `oom`.
[[nodiscard]] HeatResult made_up_heat(int index, std::int64_t tokens,
                                      const std::vector<Contender>& contenders);

[[nodiscard]] NewRun new_run(const std::string& name, int heats_planned);

/// A store opened for writing; the test fails when it cannot be.
[[nodiscard]] Store open_store(const std::filesystem::path& file);
/// A run that is begun and has these heats; not finished.
[[nodiscard]] RunId begin_run_with(Store& store, const std::string& name,
                                   const std::vector<std::int64_t>& lengths, int heats_planned);
/// The same, finished.
[[nodiscard]] RunId add_done_run(Store& store, const std::string& name,
                                 const std::vector<std::int64_t>& lengths);

}  // namespace attnscope::gui
