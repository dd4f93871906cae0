// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/list.h"

#include <array>

#include "engine/attention/dense/dense.h"
#include "engine/attention/sdpa/sdpa.h"
#include "engine/attention/sdpa_mask/sdpa_mask.h"
#include "engine/attention/segment/segment.h"
#include "engine/attention/windowed/windowed.h"

namespace attnscope {

std::span<const Implementation* const> implementations() {
  static const std::array<const Implementation*, 5> all{
      &dense_implementation(),    &sdpa_implementation(),    &sdpa_mask_implementation(),
      &windowed_implementation(), &segment_implementation(),
  };
  return all;
}

const Implementation* find_implementation(std::string_view id) {
  for (const Implementation* implementation : implementations()) {
    if (implementation->id() == id) return implementation;
  }
  return nullptr;
}

}  // namespace attnscope
