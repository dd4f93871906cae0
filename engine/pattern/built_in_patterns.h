#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The texts of resources/patterns, compiled in by CMake (built_in_patterns.cpp.in).

#include <span>
#include <string_view>

namespace attnscope {

struct BuiltInPattern {
  std::string_view file;
  std::string_view json;
};

[[nodiscard]] std::span<const BuiltInPattern> built_in_pattern_sources();

}  // namespace attnscope
