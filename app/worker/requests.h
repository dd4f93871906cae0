#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The worker's answer to each request. A request that fails results in an `error` event, and the
// worker continues.

#include "app/worker/model_requests.h"
#include "app/worker/protocol_channel.h"
#include "app/worker/request_reader.h"

namespace attnscope::worker {

class Answers {
 public:
  void answer(const Request& request, ProtocolChannel& channel);

 private:
  LoadedModel model_;  // loaded by `model` for later requests
};

}  // namespace attnscope::worker
