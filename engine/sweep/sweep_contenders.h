#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The contenders of a sweep file: "PATTERN/IMPLEMENTATION[/WINDOW]" or an object, spread over the
// sweep's windows, each with its pattern's own JSON. In operation model a model's row stands in the
// pattern's place (model_row.h).

#include <filesystem>
#include <vector>

#include "engine/effectiveness/measured_runs.h"
#include "engine/heat/heat.h"
#include "kernels/base/json.h"

namespace attnscope {

struct SweepContenders {
  std::vector<Contender> contenders;
  std::vector<effectiveness::RunsToEvaluate::Run> runs;  // of those that name one, or share it
};

/// Of the sweep's fields "contenders", "windows" and "patterns", the last being patterns it brings
/// along, so that contenders can name them without a file. `folder` is where relative pattern files
/// and TREC runs are looked for. A contender without a "run" has that of the first one of the same
/// pattern (or model) and window: implementations do not change what a ranking is worth. Whether an
/// implementation exists is the worker's to say. `of_models`: in operation model. Errors: unknown
/// patterns, a window missing or out of place, a contender or a display name twice, what is wrong
/// with an own pattern, its name twice or that of one that ships, a run that is not there.
[[nodiscard]] SweepContenders read_contenders(const JsonField& root,
                                              const std::filesystem::path& folder, bool of_models);

/// The field's text as a path from `folder`; an error where there is no such file.
[[nodiscard]] std::filesystem::path read_file_name(const JsonField& field,
                                                   const std::filesystem::path& folder);

/// A number, or those of a range like "64:4096:*2".
[[nodiscard]] std::vector<std::int64_t> read_numbers(const JsonField& part, std::int64_t least,
                                                     std::int64_t most);

}  // namespace attnscope
