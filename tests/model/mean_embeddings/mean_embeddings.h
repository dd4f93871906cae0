#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A family for the tests that is not a cross-encoder: query and document are the means of their
// words' embeddings, a score is their dot product, and documents can be encoded before any query is
// known. Its sources define the lists of families, with this one after those of the build.

#include <string_view>

#include "engine/checkpoint/family_description.h"

namespace attnscope {

inline constexpr std::string_view mean_embeddings_table = "embeddings.weight";

[[nodiscard]] const FamilyDescription& mean_embeddings_description();

}  // namespace attnscope
