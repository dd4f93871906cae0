#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The contenders of a sweep file: "PATTERN/IMPLEMENTATION[/WINDOW]" or an object, spread over the
// sweep's windows, each with its pattern's own JSON. In operation model, a model's row replaces the
// pattern (model_row.h).

#include <filesystem>
#include <vector>

#include "base/json.h"
#include "engine/effectiveness/measured_runs.h"
#include "engine/heat/heat.h"

namespace attnscope {

struct SweepContenders {
  std::vector<Contender> contenders;
  std::vector<effectiveness::RunsToEvaluate::Run> runs;  // TREC runs of contenders
};

/// Reads the sweep's fields "contenders", "windows" and "patterns"; the latter defines patterns
/// within the sweep, so that contenders can use them without a file. Relative pattern files and
/// TREC runs are resolved against `folder`. A contender without a "run" uses that of the first
/// contender with the same pattern (or model) and window: the implementation does not change the
/// quality of a ranking. Whether an implementation exists is checked by the worker. `of_models`: in
/// operation model. Errors: unknown patterns, a missing or unexpected window, a repeated contender
/// or display name, an invalid own pattern, a pattern name that is repeated or equal to a built-in
/// one, a missing run.
[[nodiscard]] SweepContenders read_contenders(const JsonField& root,
                                              const std::filesystem::path& folder, bool of_models);

/// The field's text as a path relative to `folder`; an error if there is no such file.
[[nodiscard]] std::filesystem::path read_file_name(const JsonField& field,
                                                   const std::filesystem::path& folder);

/// A number, or the numbers of a range like "64:4096:*2".
[[nodiscard]] std::vector<std::int64_t> read_numbers(const JsonField& part, std::int64_t least,
                                                     std::int64_t most);

}  // namespace attnscope
