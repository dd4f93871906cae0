#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What the worker answers to each request. A request that fails becomes an `error` event, and the
// worker lives on.

#include "app/worker/model_requests.h"
#include "app/worker/protocol_channel.h"
#include "app/worker/request_reader.h"

namespace attnscope::worker {

class Answers {
 public:
  void answer(const Request& request, ProtocolChannel& channel);

 private:
  LoadedModel model_;  // what `model` loaded for the requests after it
};

}  // namespace attnscope::worker
