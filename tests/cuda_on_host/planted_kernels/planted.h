#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Small kernels, each with one bug if `planted` is set, which the emulation must detect.

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace attnscope::cuda::planted {

inline constexpr int blocks = 2;
inline constexpr int threads = 64;
inline constexpr int numbers = blocks * threads;

struct Memory {
  const float* in;    // [numbers]
  float* out;         // [numbers]
  unsigned* counter;  // 0
  const float* host;  // host memory
  bool planted;
};

struct Bug {
  std::string name;
  Status (*run)(const Memory& memory);
  std::string reported;  // a regular expression for the message of the planted bug
};

[[nodiscard]] std::vector<Bug> bugs();

}  // namespace attnscope::cuda::planted
