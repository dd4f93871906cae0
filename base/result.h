#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Errors that a user can act on are values: one sentence that states what is wrong, where, and how
// to correct it. Programming errors are assertions; errors that a caller cannot handle are
// exceptions.
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
  locked  // another process holds the resource: a later attempt may succeed
};

struct Error {
  std::string message;
  ErrorKind kind = ErrorKind::other;
};

template <typename T>
using Result = tl::expected<T, Error>;

using Status = Result<void>;

/// Creates the error of any Result from a format string.
template <typename... Args>
[[nodiscard]] tl::unexpected<Error> fail(fmt::format_string<Args...> text, Args&&... args) {
  return tl::unexpected<Error>(Error{fmt::format(text, std::forward<Args>(args)...)});
}

}  // namespace attnscope
