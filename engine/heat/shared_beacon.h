#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The worker's end of the beacon. The driver names a file and a number written in it; a worker
// elsewhere, for which that path is nothing or something else, finds no such number there and keeps
// a beacon of its own instead, of which it tells with `alive` events.
//
//   protocol::Beacon* shared = map_beacon(request.beacon, request.beacon_nonce);
//   if (shared == nullptr) ... // not on the driver's machine

#include <string>

#include "engine/heat/protocol.h"

namespace attnscope {

/// The driver's file, mapped; null when the path leads to anything else. Nothing is created or
/// written on the way. Unmap with unmap_beacon.
[[nodiscard]] protocol::Beacon* map_beacon(const std::string& path, const std::string& nonce);
void unmap_beacon(protocol::Beacon* shared);

/// A beacon's number as the protocol writes it: 16 hexadecimal digits.
[[nodiscard]] std::string nonce_text(std::uint64_t nonce);

}  // namespace attnscope
