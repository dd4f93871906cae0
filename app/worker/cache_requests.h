#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Caches of encoded documents: `begin-cache`, `add-documents` and `finish-cache` write a cache with
// the loaded model, `open-cache` opens one to score from (docs/protocol.md).

#include "app/worker/model_requests.h"
#include "app/worker/protocol_channel.h"
#include "app/worker/request_fields.h"

namespace attnscope::worker {

void answer_open_cache(const ReceivedRequest& requested, ProtocolChannel& channel,
                       LoadedModel& model);
void answer_begin_cache(const ReceivedRequest& requested, ProtocolChannel& channel,
                        LoadedModel& model);
void answer_add_documents(const ReceivedRequest& requested, ProtocolChannel& channel,
                          LoadedModel& model);
void answer_finish_cache(const ReceivedRequest& requested, ProtocolChannel& channel,
                         LoadedModel& model);

}  // namespace attnscope::worker
