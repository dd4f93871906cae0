#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Errors that a person can act on travel as values: one sentence saying what is wrong, where, and
// how to mend it. Our own mistakes are assertions; what a caller cannot handle is an exception.
//
//   Result<Sweep> sweep = parse_sweep(text);
//   if (!sweep) return fail("{}", sweep.error().message);

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace attnscope {

enum class ErrorKind : std::uint8_t {
  other,
  locked  // another process holds what was asked for: the same may succeed later
};

struct Error {
  std::string message;
  ErrorKind kind = ErrorKind::other;
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
