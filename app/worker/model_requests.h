#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Whole models: `model` loads a checkpoint, `score` and `inspect` compute with it until another is
// loaded (docs/protocol.md).

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "app/worker/protocol_channel.h"
#include "app/worker/request_fields.h"
#include "engine/model/family.h"

namespace attnscope::worker {

struct LoadedModel {
  nlohmann::json request;  // what it was loaded by
  ModelShape shape;
  bool gives_scores = false;
  std::string implementation;    // its attention
  std::unique_ptr<Model> model;  // null: none is loaded
};

void answer_model(const Asked& asked, ProtocolChannel& channel, LoadedModel& model);
void answer_score(const Asked& asked, ProtocolChannel& channel, LoadedModel& model);
void answer_inspect(const Asked& asked, ProtocolChannel& channel, LoadedModel& model);

}  // namespace attnscope::worker
