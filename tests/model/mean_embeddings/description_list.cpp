// SPDX-License-Identifier: Apache-2.0
//
// Replaces engine/checkpoint/family_list.cpp.
#include <array>

#include "tests/model/mean_embeddings/mean_embeddings.h"

namespace attnscope {

#define FAMILY(folder) const FamilyDescription& folder##_description();
#include "engine/model/list.inc"
#undef FAMILY

std::span<const FamilyDescription* const> family_descriptions() {
#define FAMILY(folder) &folder##_description(),
  static const std::array all{
#include "engine/model/list.inc"
      FAMILY(mean_embeddings)};
#undef FAMILY
  return all;
}

}  // namespace attnscope
