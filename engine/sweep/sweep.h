#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Sweep files: a declared set of heats. `resources/sweeps/` contains the built-in sweeps.
//
//   Result<Sweep> sweep = load_sweep("resources/sweeps/quick.json");
//   for (const Heat& heat : sweep->heats) ...

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/effectiveness/measured_runs.h"
#include "engine/heat/heat.h"

namespace attnscope {

struct Sweep {
  std::string name;
  std::string text;         // the file as read, kept as provenance
  std::vector<Heat> heats;  // ascending sequence length within each combination of the other axes
  /// TREC runs of its contenders: evaluated before the sweep runs, or already evaluated for a
  /// stored one.
  std::optional<effectiveness::RunsToEvaluate> runs = {};
  std::optional<effectiveness::MeasuredRuns> measured_runs = {};
};

/// Fields as in docs/sweeps.md; a list in place of a scalar is an axis. Lengths and windows accept
/// numbers, "A:B:*F" (geometric) and "A:B:+S" (arithmetic) ranges, windows also "inf". An unknown
/// field is an error that states the nearest known one and the line. `source` names the file in
/// messages.
[[nodiscard]] Result<Sweep> parse_sweep(std::string_view json, std::string_view source);

inline constexpr std::uintmax_t largest_sweep = 1 << 20;  // bytes of a file
/// Loads a file by path, or a built-in sweep by name ("quick").
[[nodiscard]] Result<Sweep> load_sweep(std::string_view name_or_path);

/// The sweep's text with absolute paths of TREC runs and qrels, so that it can run from other
/// folders; unchanged where there are none.
[[nodiscard]] std::string with_whole_names(std::string_view json,
                                           const std::filesystem::path& folder);

struct NamedSweep {
  std::string name, text;
};
[[nodiscard]] const std::vector<NamedSweep>& built_in_sweeps();

/// "64", "64:4096:*2", "64:512:+64" -> numbers; an error quotes the range and says how to correct
/// it.
[[nodiscard]] Result<std::vector<std::int64_t>> parse_range(std::string_view text);

/// KEY=VALUE[,KEY=VALUE...] filters of --only: keys are the columns of a table row, and a repeated
/// key adds a value. "window=none" selects contenders without a window.
struct OnlyFilter {
  std::vector<std::pair<std::string, std::string>> terms;
};
/// `option` is the option's name in errors.
[[nodiscard]] Result<OnlyFilter> parse_only(std::string_view text,
                                            std::string_view option = "--only");
/// Keeps the matching heats and contenders; an error when a key is unknown or nothing is left.
[[nodiscard]] Result<Sweep> only(const Sweep& sweep, const OnlyFilter& filter);
/// Removes the matching cells, for a sweep file's "skip"; an error when a key is unknown, or when
/// no cell or every cell matches.
[[nodiscard]] Result<Sweep> skip(const Sweep& sweep, const OnlyFilter& filter);

/// All distinct contenders in the order of the file: a heat may have only some of them.
[[nodiscard]] std::vector<Contender> contenders_of(const Sweep& sweep);

}  // namespace attnscope
