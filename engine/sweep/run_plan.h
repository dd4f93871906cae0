#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The plan of a run: its heats in full, patterns included, as JSON that is stored with the run. A
// run is resumed from it, so neither files nor the current folder nor --only have to be as before.

#include <nlohmann/json.hpp>
#include <vector>

#include "engine/sweep/heat.h"

namespace attnscope {

[[nodiscard]] nlohmann::json plan_json(const std::vector<Heat>& heats);
[[nodiscard]] Result<std::vector<Heat>> read_plan(const nlohmann::json& plan);

}  // namespace attnscope
