#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Errors that a person can act on travel as values: one sentence saying what is wrong, where, and
// how to mend it. Our own mistakes are assertions; what a caller cannot handle is an exception.
//
//   Result<Sweep> sweep = parse_sweep(text);
//   if (!sweep) return fail("{}", sweep.error().message);

#include <fmt/format.h>

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace attnscope {

struct Error {
  std::string message;
};

template <typename T>
using Result = tl::expected<T, Error>;

using Status = Result<void>;

/// Builds the error branch of any Result from a format string.
template <typename... Args>
[[nodiscard]] tl::unexpected<Error> fail(fmt::format_string<Args...> text, Args&&... args) {
  return tl::unexpected<Error>(Error{fmt::format(text, std::forward<Args>(args)...)});
}

}  // namespace attnscope
