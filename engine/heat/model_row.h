#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A row of a sweep of whole models by its name, such as the paper's Table 3 has.
//
//   Result<ModelRow> row = parse_model_row("sparse+cls-only-last-layer");
//   row->pattern;                                   // "sparse"
//   row->options.contains("cls-only-last-layer");   // true

#include <string_view>

#include "engine/checkpoint/family_description.h"

namespace attnscope {

inline constexpr std::string_view cls_only_option = "+cls-only-last-layer";

/// A row of one of the families, or a pattern's name or file, which are rows of the first family;
/// options follow a '+' each. Errors are the family's.
[[nodiscard]] Result<ModelRow> parse_model_row(std::string_view text);

}  // namespace attnscope
