#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The head of a run that says how it was made, as ir_metadata has it (https://www.ir-metadata.org,
// schema 0.1): YAML in comment lines, along the six parts of the PRIMAD model - platform, research
// goal, implementation, method, actor, data - and what it took, under `resources`.
//
//   nlohmann::ordered_json metadata = {{"tag", "mine"}, {"platform", {...}}, ...};
//   file.write(metadata_head(metadata));   // "# ir_metadata.start\n# tag: \"mine\"\n..."
//
// TrecRun::read passes over such a head.

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "kernels/base/result.h"

namespace attnscope::effectiveness {

/// Every line a comment, in the order of the object's members. Texts are quoted, so that none is
/// taken for a number or a date; what is empty is {} or [].
[[nodiscard]] std::string metadata_head(const nlohmann::ordered_json& metadata);

/// What a person knows and a program does not, in those six parts: {"actor": {"name": "..."}}, as
/// JSON. Errors name the file and the field: another part, one that is no object.
[[nodiscard]] Result<nlohmann::ordered_json> read_own_metadata(const std::filesystem::path& file);

}  // namespace attnscope::effectiveness
