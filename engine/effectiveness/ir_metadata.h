#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A run's metadata header in the format of ir_metadata (https://www.ir-metadata.org, schema 0.1):
// YAML in comment lines, with the six parts of the PRIMAD model - platform, research goal,
// implementation, method, actor, data - and the resources used, under `resources`.
//
//   nlohmann::ordered_json metadata = {{"tag", "mine"}, {"platform", {...}}, ...};
//   file.write(metadata_head(metadata));   // "# ir_metadata.start\n# tag: \"mine\"\n..."
//
// TrecRun::read skips such a header.

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "base/result.h"

namespace attnscope::effectiveness {

/// Comment lines in the order of the object's members. Texts are quoted, so that none is parsed as
/// a number or a date; empty values are {} or [].
[[nodiscard]] std::string metadata_head(const nlohmann::ordered_json& metadata);

/// Reads metadata supplied by the user, in those six parts: {"actor": {"name": "..."}}, as JSON.
/// Errors name the file and the field: an unknown part, or a part that is not an object.
[[nodiscard]] Result<nlohmann::ordered_json> read_own_metadata(const std::filesystem::path& file);

}  // namespace attnscope::effectiveness
