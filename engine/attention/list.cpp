// SPDX-License-Identifier: Apache-2.0
//
// Separate from the code that fills the list: a program may link its own list instead of this file.
#include "engine/attention/list.h"

namespace attnscope {

std::span<const Implementation* const> implementations() {
  static const ImplementationList list = listed_implementations();
  return list.all();
}

}  // namespace attnscope
