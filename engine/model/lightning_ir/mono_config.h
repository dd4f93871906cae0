#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// config.json of Lightning IR's cross-encoders: the backbone's fields and additional ones.

#include "engine/checkpoint/family_description.h"

namespace attnscope {

/// ModelConfig::own is a BertConfig. Throws as read_config does.
[[nodiscard]] ModelConfig read_mono_config(const JsonField& config);

}  // namespace attnscope
