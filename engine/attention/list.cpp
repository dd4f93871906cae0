// SPDX-License-Identifier: Apache-2.0
//
// Apart from what fills the list: a program may link a list of its own in this file's place.
#include "engine/attention/list.h"

namespace attnscope {

std::span<const Implementation* const> implementations() {
  static const ImplementationList list = listed_implementations();
  return list.all();
}

}  // namespace attnscope
