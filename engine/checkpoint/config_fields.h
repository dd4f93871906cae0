#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The supported fields of each file of a checkpoint. The table in the documentation is generated
// from this list, and fields of a config.json that are not in it are detected as unknown.
//
//   std::string table = checkpoint_fields_table();   // table in docs/checkpoints.md

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace attnscope {

struct FileField {
  std::string_view file, fields, effect;
};
/// In the order of the documentation; for tokenizer_config.json, the rows of tokenizer_fields().
[[nodiscard]] std::span<const FileField> checkpoint_fields();
/// The same as a table in Markdown.
[[nodiscard]] std::string checkpoint_fields_table();

/// Fields of a transformers config.json that are unknown to all of its classes supported here, and
/// therefore have no effect in either program.
[[nodiscard]] std::vector<std::string> unknown_config_fields(const JsonField& config);
/// Throws a JsonProblem at a field that changes how a model is loaded and is not supported here.
void check_config_fields(const JsonField& config);

}  // namespace attnscope
