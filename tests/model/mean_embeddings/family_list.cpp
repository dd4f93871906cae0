// SPDX-License-Identifier: Apache-2.0
//
// Replaces engine/model/list.cpp.
#include <array>

#include "engine/model/family.h"

namespace attnscope {

#define FAMILY(folder) const Family& folder##_family();
#include "engine/model/list.inc"
FAMILY(mean_embeddings)
#undef FAMILY

std::span<const Family* const> families() {
#define FAMILY(folder) &folder##_family(),
  static const std::array all{
#include "engine/model/list.inc"
      FAMILY(mean_embeddings)};
#undef FAMILY
  return all;
}

}  // namespace attnscope
