// SPDX-License-Identifier: Apache-2.0
//
// In a separate file, so that a program can replace it with its own definition.
#include <array>

#include "engine/model/family.h"

namespace attnscope {

#define FAMILY(folder) const Family& folder##_family();
#include "engine/model/list.inc"
#undef FAMILY

std::span<const Family* const> families() {
#define FAMILY(folder) &folder##_family(),
  static const std::array all{
#include "engine/model/list.inc"
  };
#undef FAMILY
  return all;
}

}  // namespace attnscope
