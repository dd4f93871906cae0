// SPDX-License-Identifier: Apache-2.0
//
// Apart from list.cpp, in whose place a program may link a list of its own.
#include "engine/attention/list.h"

namespace attnscope {

const Implementation* find_implementation(std::string_view id) {
  for (const Implementation* implementation : implementations()) {
    if (implementation->id() == id) return implementation;
  }
  return nullptr;
}

}  // namespace attnscope
