#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Whole models: `model` loads a checkpoint, `score` and `inspect` compute with it until another is
// loaded (docs/protocol.md).

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "app/worker/request_fields.h"
#include "engine/checkpoint/checkpoint.h"
#include "engine/documents/document_cache.h"
#include "engine/documents/document_cache_writer.h"
#include "engine/model/family.h"
#include "engine/model/model_weights.h"
#include "engine/worker/model_messages.h"

namespace attnscope {
class Trainer;
}  // namespace attnscope

namespace attnscope::worker {

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

void answer(const protocol::ModelRequest& request, const Call& call);
void answer(const protocol::ScoreRequest& request, const Call& call);
void answer(const protocol::InspectRequest& request, const Call& call);

}  // namespace attnscope::worker
