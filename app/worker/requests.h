#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The worker's answer to each request (docs/protocol.md). A handler throws a RequestError, which
// results in an `error` event, and the worker continues.

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "app/worker/protocol_channel.h"
#include "base/result.h"
#include "engine/checkpoint/checkpoint.h"
#include "engine/documents/document_cache.h"
#include "engine/documents/document_cache_writer.h"
#include "engine/model/family.h"
#include "engine/model/model_weights.h"
#include "engine/pattern/axes.h"
#include "engine/worker/machine_messages.h"
#include "engine/worker/model_messages.h"

namespace attnscope {
class Trainer;
}  // namespace attnscope

namespace attnscope::worker {

/// An error message for the driver, thrown by a handler.
class RequestError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Returns the value, or throws the engine's error for the caller of a handler.
template <typename T>
T taken(Result<T> result) {
  if (!result) throw RequestError(result.error().message);
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

/// A model in training, with its variant.
struct TrainedModel {
  ModelVariant variant;
  std::unique_ptr<Trainer> trainer;
};

struct LoadedModel {
  std::optional<protocol::ModelRequest> request{};  // that loaded it
  ModelShape shape;
  bool gives_scores = false;
  std::string implementation;      // its attention
  std::int32_t document_type = 1;  // token type of documents
  std::unique_ptr<Model> model;    // null: none is loaded
  // Caches of documents that the model encoded, for scoring and for writing; null: none is open.
  std::unique_ptr<const DocumentCache> cache{};
  std::unique_ptr<DocumentCacheWriter> writer{};
  std::shared_ptr<TrainedModel> trained{};  // null: none is trained
};

/// How a handler answers: events go to the channel, and a request ends early once it is cancelled.
struct Call {
  ProtocolChannel& channel;
  const std::atomic<bool>& cancelled;
  LoadedModel& model;  // loaded by `model` for later requests

  template <typename Event>
  void send(const Event& event) const {
    channel.send(protocol::as_event(event));
  }
};

/// The number of threads; for 0, all cores available to this process.
[[nodiscard]] int threads_or_all(int threads);
/// The device. Throws with the reason if nothing can be computed on it.
[[nodiscard]] DeviceKind usable(DeviceKind device);

/// The variant that a request describes. Throws if nothing can be computed on its device, or not in
/// its precision.
[[nodiscard]] ModelVariant variant_of(const protocol::ModelRequest& request);
/// The checkpoint that the request names, its head as requested.
[[nodiscard]] Checkpoint checkpoint_of(const protocol::ModelRequest& request);
/// The weights of a checkpoint, with the requested number of positions.
[[nodiscard]] std::shared_ptr<const ModelWeights> weights_of(const protocol::ModelRequest& request,
                                                             const Checkpoint& checkpoint);
/// Throws a RequestError if no model is loaded.
[[nodiscard]] Model& loaded(const LoadedModel& model);
/// Throws a RequestError if an id is outside the model's vocabulary; `what` names the ids.
void check_ids(std::span<const std::int32_t> ids, const LoadedModel& model, std::string_view what);

// Whole models: `model` loads a checkpoint, `score` and `inspect` compute with it until another is
// loaded.
void answer(const protocol::ModelRequest& request, const Call& call);
void answer(const protocol::ScoreRequest& request, const Call& call);
void answer(const protocol::InspectRequest& request, const Call& call);

// Caches of encoded documents: `begin-cache`, `add-documents` and `finish-cache` write a cache with
// the loaded model, `open-cache` opens one to score from.
void answer(const protocol::OpenCacheRequest& request, const Call& call);
void answer(const protocol::BeginCacheRequest& request, const Call& call);
void answer(const protocol::AddDocumentsRequest& request, const Call& call);
void answer(const protocol::FinishCacheRequest& request, const Call& call);

// Fine-tuning: `begin-training` loads a checkpoint to train or resumes from a state, `train-step`
// updates the weights, `keep-weights` keeps a copy of the current weights for the end,
// `save-training` and `write-trained` write them to files, and `model-so-far` loads the current
// model for `score`.
void answer(const protocol::BeginTrainingRequest& request, const Call& call);
void answer(const protocol::TrainStepRequest& request, const Call& call);
void answer(const protocol::KeepWeightsRequest& request, const Call& call);
void answer(const protocol::SaveTrainingRequest& request, const Call& call);
void answer(const protocol::WriteTrainedRequest& request, const Call& call);
void answer(const protocol::ModelSoFarRequest& request, const Call& call);

class Answers {
 public:
  void answer(const Request& request, ProtocolChannel& channel);

 private:
  LoadedModel model_;  // loaded by `model` for later requests
};

}  // namespace attnscope::worker
