#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Which tensors a BERT-family model has and what Hugging Face calls them; every tensor of the files
// is one of them, left out for a reason, or an error.

#include <string>
#include <string_view>
#include <vector>

#include "engine/checkpoint/checkpoint.h"
#include "engine/checkpoint/model_config.h"
#include "engine/checkpoint/weight_files.h"

namespace attnscope {

struct NamedTensors {
  ModelViews views;
  std::vector<std::string> left_out;
};

/// Errors name the tensors that are missing, misshaped, of a type that is no float or taken by
/// nothing: a few of each, then how many more. `source` is the folder.
[[nodiscard]] Result<NamedTensors> find_tensors(const WeightFiles& weights,
                                                const ModelConfig& config, std::string_view source);

}  // namespace attnscope
