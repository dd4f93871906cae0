#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A row of a sweep of whole models by its name, as in the paper's Table 3.
//
//   Result<ModelRow> row = parse_model_row("sparse+cls-only-last-layer");
//   row->pattern;                                   // "sparse"
//   row->options.contains("cls-only-last-layer");   // true

#include <string>
#include <string_view>
#include <vector>

#include "engine/checkpoint/family_description.h"

namespace attnscope {

/// Parses a row of one of the families, or a pattern's name or file, which is a row of the first
/// family. Each option follows a '+'. Errors are those of the family.
[[nodiscard]] Result<ModelRow> parse_model_row(std::string_view text);

/// Whether the text can only be a model's row: a row of a family, or one with an option of a
/// family.
[[nodiscard]] bool is_model_row(std::string_view text);

/// Whether linear layers of this row multiply in fewer bits than the heat's dtype.
[[nodiscard]] bool has_narrow_products(std::string_view row);

/// The family of this row, without options; the first family if the row is a pattern.
[[nodiscard]] const FamilyDescription& family_of_row(std::string_view name);

/// The rows of the families whose attention has this pattern.
[[nodiscard]] std::vector<FamilyChoice> rows_with_pattern(std::string_view pattern);

/// An option as the field of a contender that is an object, and as the suffix of one that is text.
struct ModelRowOption {
  std::string field;   // "cls_only_last_layer"
  std::string ending;  // "+cls-only-last-layer"
};
/// The options of all families.
[[nodiscard]] std::vector<ModelRowOption> model_row_options();

}  // namespace attnscope
