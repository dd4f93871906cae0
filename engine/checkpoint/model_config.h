#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// config.json of a BERT-family model: its shape, and which attention it was trained with. What
// would make other scores than BERT's is an error.

#include <optional>
#include <string>
#include <string_view>

#include "engine/checkpoint/model_shape.h"
#include "engine/pattern/window.h"
#include "kernels/base/result.h"

namespace attnscope {

enum class ModelFamily : std::uint8_t { bert, longformer };

struct ModelConfig {
  ModelFamily family = ModelFamily::bert;
  ModelShape shape{};
  std::string architecture{};  // as in the file; "" where it names none
  std::string pattern = "full";
  std::optional<Window> window{};
  std::int64_t most_query_tokens = 0;
};

/// `source` names the file in messages.
[[nodiscard]] Result<ModelConfig> read_model_config(std::string_view json, std::string_view source);

}  // namespace attnscope
