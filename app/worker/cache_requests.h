#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Caches of encoded documents: `begin-cache`, `add-documents` and `finish-cache` write a cache with
// the loaded model, `open-cache` opens one to score from (docs/protocol.md).

#include "app/worker/request_fields.h"
#include "engine/worker/model_messages.h"

namespace attnscope::worker {

void answer(const protocol::OpenCacheRequest& request, const Call& call);
void answer(const protocol::BeginCacheRequest& request, const Call& call);
void answer(const protocol::AddDocumentsRequest& request, const Call& call);
void answer(const protocol::FinishCacheRequest& request, const Call& call);

}  // namespace attnscope::worker
