#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The contenders of a sweep file: "PATTERN/IMPLEMENTATION[/WINDOW]" or an object, spread over the
// sweep's windows, each with its pattern's own JSON. In operation model a model's row stands in the
// pattern's place (model_row.h).

#include <filesystem>
#include <string>
#include <vector>

#include "engine/heat/heat.h"
#include "engine/pattern/attention_pattern.h"
#include "kernels/base/json.h"

namespace attnscope {

/// The patterns that a sweep brings along, `"patterns": [{"name": "mine", "attends": {...}}]`, so
/// that contenders can name them without a file. Errors: what is wrong with one, a name twice, the
/// name of a pattern that ships.
[[nodiscard]] Result<std::vector<AttentionPattern>> read_own_patterns(const JsonField& root);

/// `folder` is where relative pattern files are looked for. Whether an implementation exists is the
/// worker's to say. `of_models`: in operation model. Errors: unknown patterns, a window missing or
/// out of place, a contender or a display name twice.
[[nodiscard]] Result<std::vector<Contender>> read_contenders(
    const JsonField& field, const std::vector<Window>& windows, const std::filesystem::path& folder,
    const std::vector<AttentionPattern>& own, bool of_models);

}  // namespace attnscope
