// SPDX-License-Identifier: Apache-2.0
#include "app/worker/request_fields.h"

#include <algorithm>

#include "engine/attention/cuda_runtime.h"
#include "engine/measure/load_meter.h"

namespace attnscope::worker {

using nlohmann::json;

const json& field(const json& message, const char* name) {
  const auto found = message.find(name);
  if (found == message.end())
    throw RequestError(fmt::format("the request has no field '{}'", name));
  return *found;
}

std::string text_field(const json& message, const char* name) {
  const json& value = field(message, name);
  if (!value.is_string()) throw RequestError(fmt::format("the field '{}' must be a text", name));
  return value.get<std::string>();
}

bool truth_field(const json& message, const char* name) {
  const auto found = message.find(name);
  if (found == message.end()) return false;
  if (!found->is_boolean())
    throw RequestError(fmt::format("the field '{}' must be true or false", name));
  return found->get<bool>();
}

std::int64_t whole_field(const json& message, const char* name) {
  const json& value = field(message, name);
  if (!value.is_number_integer())
    throw RequestError(fmt::format("the field '{}' must be a whole number", name));
  return value.get<std::int64_t>();
}

int threads_field(const json& message) {
  constexpr std::int64_t most = 4096;
  const auto found = message.find("threads");
  std::int64_t threads = 0;
  if (found != message.end()) {
    if (!found->is_number_integer() || *found < 0 || *found > most) {
      throw RequestError(
          fmt::format("the field 'threads' must be a whole number from 0 to {}", most));
    }
    threads = found->get<std::int64_t>();
  }
  if (threads == 0) threads = static_cast<std::int64_t>(measure::allowed_cores().size());
  return static_cast<int>(std::max<std::int64_t>(threads, 1));
}

DeviceKind device_field(const json& message) {
  if (!message.contains("device")) return DeviceKind::cpu;
  const auto device = parse_device(text_field(message, "device"));
  if (!device) throw RequestError(device.error().message);
  if (*device == DeviceKind::cuda && !cuda::usable())
    throw RequestError("nothing can be computed on CUDA: " + cuda::usable().error().message);
  return *device;
}

}  // namespace attnscope::worker
