#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The files of resources/reference, compiled in.

#include <string_view>

namespace attnscope::report {

/// The text of a file such as "ecir24_table3.csv"; empty if there is no such file.
[[nodiscard]] std::string_view published_source(std::string_view name);

}  // namespace attnscope::report
