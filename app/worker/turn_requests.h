#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// `hold` waits until no other measurement goes on here and keeps the turn until the process ends;
// `others` tells who has measured all the same (docs/protocol.md).

#include "app/worker/protocol_channel.h"
#include "app/worker/request_fields.h"

namespace attnscope::worker {

void answer_hold(const Asked& asked, ProtocolChannel& channel);
void answer_others(const Asked& asked, ProtocolChannel& channel);

}  // namespace attnscope::worker
