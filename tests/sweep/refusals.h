#pragma once
// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "base/result.h"

namespace attnscope {

/// "no error", which is part of no message, for a value.
template <typename T>
std::string message_of(const Result<T>& result) {
  return result ? "no error" : result.error().message;
}

struct Refusal {
  const char* given;
  std::vector<const char*> parts;  // of the message
};

/// `message` returns the error of what is given.
template <typename Message>
void expect_refused(const std::vector<Refusal>& rows, const Message& message) {
  for (const auto& [given, parts] : rows) {
    const std::string found = message(given);
    for (const char* part : parts) EXPECT_THAT(found, testing::HasSubstr(part)) << given;
  }
}

}  // namespace attnscope
