// SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "tests/fuzz/fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  attnscope::fuzz::run({reinterpret_cast<const char*>(data), size});
  return 0;
}
