#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// `hold` waits until no other measurement runs on this machine and holds the turn until the process
// exits; `others` reports other measurements that ran in that time (docs/protocol.md).

#include "app/worker/protocol_channel.h"
#include "app/worker/request_fields.h"

namespace attnscope::worker {

void answer_hold(const ReceivedRequest& requested, ProtocolChannel& channel);
void answer_others(const ReceivedRequest& requested, ProtocolChannel& channel);

}  // namespace attnscope::worker
