#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Fine-tuning: `begin-training` loads a checkpoint to train or resumes from a state, `train-step`
// updates the weights, `keep-weights` keeps a copy of the current weights for the end,
// `save-training` and `write-trained` write them to files, and `model-so-far` loads the current
// model for `score` (docs/protocol.md).

#include "app/worker/model_requests.h"
#include "app/worker/protocol_channel.h"
#include "app/worker/request_fields.h"

namespace attnscope::worker {

void answer_begin_training(const ReceivedRequest& requested, ProtocolChannel& channel,
                           LoadedModel& model);
void answer_train_step(const ReceivedRequest& requested, ProtocolChannel& channel,
                       LoadedModel& model);
void answer_keep_weights(const ReceivedRequest& requested, ProtocolChannel& channel,
                         LoadedModel& model);
void answer_save_training(const ReceivedRequest& requested, ProtocolChannel& channel,
                          LoadedModel& model);
void answer_write_trained(const ReceivedRequest& requested, ProtocolChannel& channel,
                          LoadedModel& model);
void answer_model_so_far(const ReceivedRequest& requested, ProtocolChannel& channel,
                         LoadedModel& model);

}  // namespace attnscope::worker
