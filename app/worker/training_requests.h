#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Fine-tuning: `begin-training` loads a checkpoint to train or resumes from a state, `train-step`
// updates the weights, `keep-weights` keeps a copy of the current weights for the end,
// `save-training` and `write-trained` write them to files, and `model-so-far` loads the current
// model for `score` (docs/protocol.md).

#include "app/worker/request_fields.h"
#include "engine/worker/model_messages.h"

namespace attnscope::worker {

void answer(const protocol::BeginTrainingRequest& request, const Call& call);
void answer(const protocol::TrainStepRequest& request, const Call& call);
void answer(const protocol::KeepWeightsRequest& request, const Call& call);
void answer(const protocol::SaveTrainingRequest& request, const Call& call);
void answer(const protocol::WriteTrainedRequest& request, const Call& call);
void answer(const protocol::ModelSoFarRequest& request, const Call& call);

}  // namespace attnscope::worker
