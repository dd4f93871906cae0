#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The fields of a request, each read with a sentence for what is wrong with it.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "engine/pattern/axes.h"

namespace attnscope::worker {

/// One sentence for the driver, thrown out of a handler.
class RequestError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

[[nodiscard]] const nlohmann::json& field(const nlohmann::json& message, const char* name);
[[nodiscard]] std::string text_field(const nlohmann::json& message, const char* name);
/// Absent: false.
[[nodiscard]] bool truth_field(const nlohmann::json& message, const char* name);
[[nodiscard]] std::int64_t whole_field(const nlohmann::json& message, const char* name);
/// Absent or 0: every core this process may use.
[[nodiscard]] int threads_field(const nlohmann::json& message);
/// Absent: the processor. One that cannot be used is refused with the reason.
[[nodiscard]] DeviceKind device_field(const nlohmann::json& message);

}  // namespace attnscope::worker
