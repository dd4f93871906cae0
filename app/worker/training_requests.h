#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Fine-tuning: `begin-training` loads a checkpoint to train or goes on from a state, `train-step`
// updates its weights, `keep-weights` keeps those of the moment for the end, `save-training` and
// `write-trained` put them into files, and `model-so-far` makes the model of the moment the one
// that `score` computes with (docs/protocol.md).

#include "app/worker/model_requests.h"
#include "app/worker/protocol_channel.h"
#include "app/worker/request_fields.h"

namespace attnscope::worker {

void answer_begin_training(const Asked& asked, ProtocolChannel& channel, LoadedModel& model);
void answer_train_step(const Asked& asked, ProtocolChannel& channel, LoadedModel& model);
void answer_keep_weights(const Asked& asked, ProtocolChannel& channel, LoadedModel& model);
void answer_save_training(const Asked& asked, ProtocolChannel& channel, LoadedModel& model);
void answer_write_trained(const Asked& asked, ProtocolChannel& channel, LoadedModel& model);
void answer_model_so_far(const Asked& asked, ProtocolChannel& channel, LoadedModel& model);

}  // namespace attnscope::worker
