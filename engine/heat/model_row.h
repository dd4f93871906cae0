#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A row of the paper's Table 3 by its name: which pattern a whole model's attention has, and what
// the model does beside it.
//
//   Result<ModelRow> row = parse_model_row("sparse+cls-only-last-layer");
//   row->pattern;               // "sparse"
//   row->cls_only_last_layer;   // true

#include <string>
#include <string_view>

#include "kernels/base/result.h"

namespace attnscope {

struct ModelRow {
  std::string name;     // without options: "sparse-without-kernel"
  std::string pattern;  // built-in name or the path of a JSON file: "sparse"
  /// Global tokens have query, key and value projections of their own, as in Longformer and
  /// QDS-Transformer, which is built on it.
  bool global_projections = false;
  bool cls_only_last_layer = false;
};

inline constexpr std::string_view cls_only_option = "+cls-only-last-layer";

/// A pattern's name or file, or `sparse-without-kernel`: the pattern `sparse`, which the paper's
/// row of that name computes without kernels of its own. An option follows a '+'; an error names
/// those there are.
[[nodiscard]] Result<ModelRow> parse_model_row(std::string_view text);

}  // namespace attnscope
