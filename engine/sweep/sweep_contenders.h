#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The contenders of a sweep file: "PATTERN/IMPLEMENTATION[/WINDOW]" or an object, spread over the
// sweep's windows, each with its pattern's own JSON.

#include <filesystem>
#include <string>
#include <vector>

#include "engine/pattern/located_json.h"
#include "engine/sweep/heat.h"

namespace attnscope {

/// `folder` is where relative pattern files are looked for. Whether an implementation exists is the
/// worker's to say. Errors: unknown patterns, a window missing or out of place, a contender or a
/// display name twice.
[[nodiscard]] Result<std::vector<Contender>> read_contenders(const JsonField& field,
                                                             const std::vector<Window>& windows,
                                                             const std::filesystem::path& folder);

}  // namespace attnscope
