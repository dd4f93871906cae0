#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The mend for a misspelt name: the known name at the least edit distance.

#include <span>
#include <string>
#include <string_view>

namespace attnscope {

/// "did you mean 'window'? known: a, b, c"; without the question when nothing is near.
[[nodiscard]] std::string suggest(std::string_view unknown,
                                  std::span<const std::string_view> known);

}  // namespace attnscope
