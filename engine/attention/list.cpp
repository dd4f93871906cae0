// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/list.h"

#include <array>

namespace attnscope {

#define IMPLEMENTATION(folder) const Implementation& folder##_implementation();
#include "engine/attention/list.inc"
#undef IMPLEMENTATION

std::span<const Implementation* const> implementations() {
#define IMPLEMENTATION(folder) &folder##_implementation(),
  static const std::array all{
#include "engine/attention/list.inc"
  };
#undef IMPLEMENTATION
  return all;
}

}  // namespace attnscope
