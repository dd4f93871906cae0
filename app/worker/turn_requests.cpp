// SPDX-License-Identifier: Apache-2.0
#include "app/worker/turn_requests.h"

#include "engine/worker/sign_of_life.h"
#include "engine/worker/turn_keeper.h"
#include "kernels/cuda/devices.h"

namespace attnscope::worker {
namespace {

/// Each GPU has its own lock, so that GPUs can be measured concurrently; heats run on the first
/// visible GPU.
std::string name_of_lock(DeviceKind device) {
  std::string name(name_of(device));
  if (device != DeviceKind::cuda) return name;
  const CudaDevices found = cuda_devices();
  return found.devices.empty() ? name : name + "-" + found.devices.front().uuid;
}

/// The process holds its turns until it exits.
TurnKeeper& keeper() {
  static TurnKeeper kept(name_of_lock);
  return kept;
}

}  // namespace

void answer_hold(const ReceivedRequest& requested, ProtocolChannel& channel) {
  if (const auto driver = requested.message.member("driver")) take_over_from(driver->text());
  keeper().hold(
      requested.message.value(), [&](const nlohmann::json& event) { channel.send(event); },
      [&] { return requested.cancelled.load(); });
}

void answer_others(const ReceivedRequest&, ProtocolChannel& channel) {
  keeper().others([&](const nlohmann::json& event) { channel.send(event); });
}

}  // namespace attnscope::worker
