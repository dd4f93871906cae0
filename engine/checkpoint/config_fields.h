#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Which field of which file of a checkpoint counts: the list that the documentation's table is
// written from, and that tells which fields of a config.json nobody reads.
//
//   std::string table = checkpoint_fields_table();   // of docs/checkpoints.md

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/json.h"

namespace attnscope {

struct FileField {
  std::string_view file, fields, effect;
};
/// In the order of the documentation; of tokenizer_config.json the rows of tokenizer_fields().
[[nodiscard]] std::span<const FileField> checkpoint_fields();
/// The same as a table in Markdown.
[[nodiscard]] std::string checkpoint_fields_table();

/// Fields of a config.json of transformers that none of its classes read here knows, so that they
/// change nothing there or here.
[[nodiscard]] std::vector<std::string> unknown_config_fields(const JsonField& config);
/// Throws a JsonProblem at a field that changes how a model is loaded and is not computed here.
void check_config_fields(const JsonField& config);

}  // namespace attnscope
