#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Sweep files: a declared set of heats. `resources/sweeps/` has the ones that ship.
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
  /// TREC runs of its contenders: to be evaluated before it is run, or evaluated when it was.
  std::optional<effectiveness::RunsToEvaluate> runs = {};
  std::optional<effectiveness::MeasuredRuns> measured_runs = {};
};

/// Fields as in the command line's contract; scalars may be lists and are then axes. Lengths and
/// windows take numbers, "A:B:*F" (geometric) and "A:B:+S" (arithmetic) ranges, windows also "inf".
/// An unknown field is an error that names the nearest known one, and the line. `source` names the
/// file in messages.
[[nodiscard]] Result<Sweep> parse_sweep(std::string_view json, std::string_view source);

inline constexpr std::uintmax_t largest_sweep = 1 << 20;  // bytes of a file
/// A file by path, or one of the sweeps that ship, by name ("quick").
[[nodiscard]] Result<Sweep> load_sweep(std::string_view name_or_path);

/// The sweep's text with the names of TREC runs and qrels whole, so that it can be run from
/// elsewhere; as it is where there are none.
[[nodiscard]] std::string with_whole_names(std::string_view json,
                                           const std::filesystem::path& folder);

struct NamedSweep {
  std::string name, text;
};
[[nodiscard]] const std::vector<NamedSweep>& built_in_sweeps();

/// "64", "64:4096:*2", "64:512:+64" -> numbers; an error names the range and the mend.
[[nodiscard]] Result<std::vector<std::int64_t>> parse_range(std::string_view text);

/// KEY=VALUE[,KEY=VALUE...] filters of --only: keys are the columns of a table row, values may be
/// given several times by repeating the key. "window=none" means contenders without a window.
struct OnlyFilter {
  std::vector<std::pair<std::string, std::string>> terms;
};
/// `option` is named in errors.
[[nodiscard]] Result<OnlyFilter> parse_only(std::string_view text,
                                            std::string_view option = "--only");
/// Keeps the heats and contenders that match; an error when a key is unknown or nothing is left.
[[nodiscard]] Result<Sweep> only(const Sweep& sweep, const OnlyFilter& filter);
/// Leaves out the cells that match, as a sweep file's "skip" asks; an error when a key is unknown,
/// when no cell matches or all do.
[[nodiscard]] Result<Sweep> skip(const Sweep& sweep, const OnlyFilter& filter);

/// Every contender once, in the order of the file: a heat may lack some.
[[nodiscard]] std::vector<Contender> contenders_of(const Sweep& sweep);

}  // namespace attnscope
