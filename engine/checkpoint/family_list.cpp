// SPDX-License-Identifier: Apache-2.0
//
// In a separate file, so that a program can replace it with its own definition.
#include <array>

#include "engine/checkpoint/family_description.h"

namespace attnscope {

#define FAMILY(folder) const FamilyDescription& folder##_description();
#include "engine/model/list.inc"
#undef FAMILY

std::span<const FamilyDescription* const> family_descriptions() {
#define FAMILY(folder) &folder##_description(),
  static const std::array all{
#include "engine/model/list.inc"
  };
#undef FAMILY
  return all;
}

}  // namespace attnscope
