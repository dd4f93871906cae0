#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Lists of all messages. The worker has an answer for each request of the list (app/worker), and a
// test compares every message with docs/protocol.md.

#include <tuple>

#include "engine/worker/machine_messages.h"
#include "engine/worker/model_messages.h"

namespace attnscope::protocol {

/// Requests that are answered in their order; `cancel` and `quit` overtake them.
using AnsweredRequests =
    std::tuple<HelloRequest, DescribeRequest, HeatRequest, CeilingsRequest, HoldRequest,
               OthersRequest, AttendRequest, CheckRequest, CostsRequest, ModelRequest, ScoreRequest,
               OpenCacheRequest, BeginCacheRequest, AddDocumentsRequest, FinishCacheRequest,
               InspectRequest, BeginTrainingRequest, TrainStepRequest, KeepWeightsRequest,
               SaveTrainingRequest, WriteTrainedRequest, ModelSoFarRequest>;
using OvertakingRequests = std::tuple<CancelRequest, QuitRequest>;

using Events = std::tuple<Hello, Description, Progress, Alive, MeasuredHeat, WorkerEnded,
                          MeasuredCeilings, WaitingForTurn, TurnHeld, OtherMeasurements, Attended,
                          CheckRow, CheckDone, CountedCosts, ModelLoaded, Scores, PairInspected,
                          CacheOpened, CacheBegun, DocumentsAdded, CacheFinished, TrainingBegun,
                          StepTrained, WeightsKept, TrainingSaved, TrainedWritten, RequestFailed>;

}  // namespace attnscope::protocol
