// SPDX-License-Identifier: Apache-2.0
//
// Stands in for engine/attention/list.cpp: a program's own definition comes before the library's.
#include "engine/attention/list.h"

#include <vector>

#include "tests/trial_worker/trials.h"

namespace attnscope {

#define IMPLEMENTATION(folder) const Implementation& folder##_implementation();
#include "engine/attention/list.inc"
#undef IMPLEMENTATION

std::span<const Implementation* const> implementations() {
#define IMPLEMENTATION(folder) &folder##_implementation(),
  static const std::vector<const Implementation*> all = [] {
    std::vector<const Implementation*> list{
#include "engine/attention/list.inc"
    };
    for (const Implementation* one : trial::twins()) list.push_back(one);
    for (const Implementation* one : trial::faulty()) list.push_back(one);
    return list;
  }();
#undef IMPLEMENTATION
  return all;
}

}  // namespace attnscope
