#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The contenders of a sweep file: "PATTERN/IMPLEMENTATION[/WINDOW]" or an object, spread over the
// sweep's windows, each with its pattern's own JSON. In operation model a model's row stands in the
// pattern's place (model_row.h).

#include <filesystem>
#include <vector>

#include "engine/heat/heat.h"
#include "kernels/base/json.h"

namespace attnscope {

/// Of the sweep's fields "contenders", "windows" and "patterns", the last being patterns it brings
/// along, so that contenders can name them without a file. `folder` is where relative pattern files
/// are looked for. Whether an implementation exists is the worker's to say. `of_models`: in
/// operation model. Errors: unknown patterns, a window missing or out of place, a contender or a
/// display name twice, what is wrong with an own pattern, its name twice or that of one that ships.
[[nodiscard]] std::vector<Contender> read_contenders(const JsonField& root,
                                                     const std::filesystem::path& folder,
                                                     bool of_models);

/// A number, or those of a range like "64:4096:*2".
[[nodiscard]] std::vector<std::int64_t> read_numbers(const JsonField& part, std::int64_t least,
                                                     std::int64_t most);

}  // namespace attnscope
