#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A pattern inside a larger file, such as a sweep with its own patterns; messages name the line of
// that file.
//
//   for (const JsonField& part : root["patterns"].elements()) all.push_back(read_pattern(part));

#include "base/json.h"
#include "engine/pattern/attention_pattern.h"

namespace attnscope {

/// Throws a JsonProblem, for read_json to catch.
[[nodiscard]] AttentionPattern read_pattern(const JsonField& field);

}  // namespace attnscope
