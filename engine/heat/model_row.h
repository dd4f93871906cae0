#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A row of a sweep of whole models by its name, such as the paper's Table 3 has.
//
//   Result<ModelRow> row = parse_model_row("sparse+cls-only-last-layer");
//   row->pattern;                                   // "sparse"
//   row->options.contains("cls-only-last-layer");   // true

#include <string>
#include <string_view>
#include <vector>

#include "engine/checkpoint/family_description.h"

namespace attnscope {

/// A row of one of the families, or a pattern's name or file, which are rows of the first family;
/// options follow a '+' each. Errors are the family's.
[[nodiscard]] Result<ModelRow> parse_model_row(std::string_view text);

/// Whether it can only be a model's row: a family's own, or one with an option of a family.
[[nodiscard]] bool is_model_row(std::string_view text);

/// Whether linear layers of this row multiply in fewer bits than the heat's dtype has.
[[nodiscard]] bool has_narrow_products(std::string_view row);

/// The family whose row this is, without options; the first, where it is a pattern's.
[[nodiscard]] const FamilyDescription& family_of_row(std::string_view name);

/// The families' own rows whose attention has this pattern.
[[nodiscard]] std::vector<FamilyChoice> rows_with_pattern(std::string_view pattern);

/// An option as a field of a contender that is an object, and as the end of one that is text.
struct ModelRowOption {
  std::string field;   // "cls_only_last_layer"
  std::string ending;  // "+cls-only-last-layer"
};
/// Those of all families.
[[nodiscard]] std::vector<ModelRowOption> model_row_options();

}  // namespace attnscope
