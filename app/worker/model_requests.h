#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Whole models: `model` loads a checkpoint, `score` and `inspect` compute with it until another is
// loaded (docs/protocol.md).

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/worker/protocol_channel.h"
#include "app/worker/request_fields.h"
#include "engine/checkpoint/checkpoint.h"
#include "engine/documents/document_cache.h"
#include "engine/documents/document_cache_writer.h"
#include "engine/model/family.h"
#include "engine/model/model_weights.h"

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
  nlohmann::json request;  // the request that loaded it
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

/// Reads pattern, window, options, dtype, device and threads.
[[nodiscard]] ModelVariant variant_of(const JsonField& message);
/// The checkpoint that the message names, its head as requested.
[[nodiscard]] Checkpoint checkpoint_of(const JsonField& message);
/// The token type of documents; 1 if the message has none.
[[nodiscard]] std::int32_t document_type_of(const JsonField& message);
/// The weights of a checkpoint, with the requested number of positions.
[[nodiscard]] std::shared_ptr<const ModelWeights> weights_of(const JsonField& message,
                                                             const Checkpoint& checkpoint);
/// Throws a RequestError if no model is loaded.
[[nodiscard]] Model& loaded(const LoadedModel& model);
/// Throws if the id is outside the model's vocabulary.
[[nodiscard]] std::int32_t token_id(const JsonField& field, const LoadedModel& model);
[[nodiscard]] std::vector<std::int32_t> token_ids(const JsonField& field, const LoadedModel& model);

void answer_model(const ReceivedRequest& requested, ProtocolChannel& channel, LoadedModel& model);
void answer_score(const ReceivedRequest& requested, ProtocolChannel& channel, LoadedModel& model);
void answer_inspect(const ReceivedRequest& requested, ProtocolChannel& channel, LoadedModel& model);

}  // namespace attnscope::worker
