#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The messages between driver and worker about a whole model: loading a checkpoint, scores,
// inspection, caches of documents, and training. As in machine_messages.h, each struct is one
// request or one event. Token ids are of the loaded model's vocabulary; a query and a document end
// with their [SEP] and have no [CLS].

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/checkpoint/family_description.h"
#include "engine/worker/machine_messages.h"

namespace attnscope {

template <>
struct JsonValue<LayerAttention> {
  static nlohmann::json write(const LayerAttention& attention) {
    return {{"pattern_json", JsonValue<AttentionPattern>::write(attention.pattern)},
            {"window", JsonValue<std::optional<Window>>::write(attention.window)}};
  }
  static LayerAttention read(const JsonField& field) {
    return {JsonValue<AttentionPattern>::read(field["pattern_json"]),
            JsonValue<std::optional<Window>>::read(field["window"])};
  }
};

}  // namespace attnscope

namespace attnscope::protocol {

using TokenIds = std::vector<std::int32_t>;

// Models -------------------------------------------------------------------------------------

struct ModelLoaded {
  static constexpr const char* name = "model";
  std::string implementation{};  // of its attention
  template <typename Self, typename Fields>
  static void list_fields(Self& self, Fields& field) {
    field("implementation", self.implementation);
  }
};

/// Token ids of a model that keeps a vector for each token.
struct MaxSimIds {
  std::int32_t separator = 0;           // last token of a query before its expansion
  std::vector<std::int32_t> skipped{};  // tokens without a vector
  template <typename Self, typename Fields>
  static void list_fields(Self& self, Fields& field) {
    field("separator", self.separator, 0);
    field("skipped", self.skipped, 0);
  }
  friend bool operator==(const MaxSimIds&, const MaxSimIds&) = default;
};

/// Loads a checkpoint for the following requests, in place of the previous one.
struct ModelRequest {
  static constexpr const char* name = "model";
  using Answer = ModelLoaded;
  std::string checkpoint{};  // absolute path of its folder
  AttentionPattern pattern{};
  std::optional<Window> window{};
  std::optional<LayerAttention> local{};  // of the layers that the model calls local
  std::string implementation{};           // empty: the family's first that supports the pattern
  DType dtype = DType::float32;
  Products precision = Products::float32;  // of the products of linear layers
  DeviceKind device = DeviceKind::cpu;
  int threads = 0;
  std::int64_t positions = 0;  // if more than the checkpoint's: interpolated
  ModelOptions options{};
  std::vector<Window> layer_windows{};           // if the layers differ
  std::string label{};                           // whose output is the score, if there are several
  std::optional<std::int64_t> skipped_tokens{};  // first tokens of a pair, which are not pooled
  std::optional<MaxSimIds> max_sim{};
  std::int32_t document_type = 1;  // token type of documents
  template <typename Self, typename Fields>
  static void list_fields(Self& self, Fields& field) {
    field("checkpoint", self.checkpoint);
    field("pattern_json", self.pattern);
    field("window", self.window);
    field.or_default("local", self.local);
    field("implementation", self.implementation);
    field("dtype", self.dtype);
    field.or_default("precision", self.precision);
    field.or_default("device", self.device);
    field.or_default("threads", self.threads, 0, most_threads);
    field("positions", self.positions);
    field("options", self.options);
    field.or_default("layer_windows", self.layer_windows);
    field.or_default("label", self.label);
    field.if_present("skipped_tokens", self.skipped_tokens, 0);
    field.or_default("max_sim", self.max_sim);
    field.or_default("document_type", self.document_type, 0, 1);
  }
  friend bool operator==(const ModelRequest&, const ModelRequest&) = default;
};

/// A pair to score: a query with a document, or with the number of a document in the open cache.
struct ScoreItem {
  TokenIds query{};
  std::optional<TokenIds> document{};
  std::optional<std::int64_t> cached{};
  template <typename Self, typename Fields>
  static void list_fields(Self& self, Fields& field) {
    field("query", self.query, 0);
    field.if_present("document", self.document, 0);
    field.if_present("cached", self.cached);
  }
};

/// Time of a part of a model in one call, and its useful operations if they are counted.
struct ScoredPart {
  std::string name{};
  double seconds = 0;
  std::optional<double> flop{};
  template <typename Self, typename Fields>
  static void list_fields(Self& self, Fields& field) {
    field("name", self.name);
    field("seconds", self.seconds);
    field.if_present("flop", self.flop);
  }
};

struct Scores {
  static constexpr const char* name = "score";
  std::vector<float> scores{};  // in the order of the request; NaN: a weight is damaged
  std::optional<std::vector<ScoredPart>> parts{};  // in the model's order, if requested
  template <typename Self, typename Fields>
  static void list_fields(Self& self, Fields& field) {
    field("scores", self.scores);
    field.if_present("parts", self.parts);
  }
};

/// Scores a batch: `items`, or one `query` with documents of the open cache.
struct ScoreRequest {
  static constexpr const char* name = "score";
  using Answer = Scores;
  std::int32_t cls = 0;
  bool one_query = false;  // all items have the same query, which is encoded once
  std::optional<std::vector<ScoreItem>> items{};
  std::optional<TokenIds> query{};
  std::optional<std::vector<std::int64_t>> cached{};
  bool parts = false;  // also the times of the model's parts
  template <typename Self, typename Fields>
  static void list_fields(Self& self, Fields& field) {
    field("cls", self.cls, 0);
    field.or_default("one_query", self.one_query);
    field.if_present("items", self.items);
    field.if_present("query", self.query, 0);
    field.if_present("cached", self.cached);
    field.or_default("parts", self.parts);
  }
};

struct PairInspected {
  static constexpr const char* name = "inspect";
  std::optional<double> score{};  // absent if the model has no head
  template <typename Self, typename Fields>
  static void list_fields(Self& self, Fields& field) {
    field.if_present("score", self.score);
  }
};

/// Writes queries, keys and values of one pair as a dump (docs/attention-dumps.md).
struct InspectRequest {
  static constexpr const char* name = "inspect";
  using Answer = PairInspected;
  std::int32_t cls = 0;
  std::vector<ScoreItem> items{};                     // exactly one
  std::optional<std::vector<std::int64_t>> layers{};  // absent: all layers
  bool half = false;                                  // writes float16
  std::map<std::string, std::string> metadata{};      // of the file
  std::string out{};                                  // absolute path
  template <typename Self, typename Fields>
  static void list_fields(Self& self, Fields& field) {
    field("cls", self.cls, 0);
    field("items", self.items);
    field("layers", self.layers);
    field.or_default("half", self.half);
    field("metadata", self.metadata);
    field("out", self.out);
  }
};

// Caches of documents ------------------------------------------------------------------------

struct CacheOpened {
  static constexpr const char* name = "cache-open";
  std::int64_t documents = 0;
  template <typename Self, typename Fields>
  static void list_fields(Self& self, Fields& field) {
    field("documents", self.documents);
  }
};

/// Opens a cache for the following requests.
struct OpenCacheRequest {
  static constexpr const char* name = "open-cache";
  using Answer = CacheOpened;
  std::string path{};
  template <typename Self, typename Fields>
  static void list_fields(Self& self, Fields& field) {
    field("path", self.path);
  }
};

/// The documents that are already in the file, and the fingerprint of their ids and tokens.
struct CacheBegun {
  static constexpr const char* name = "cache-begun";
  std::int64_t encoded = 0, fingerprint = 0;
  bool finished = false;  // the complete file exists
  template <typename Self, typename Fields>
  static void list_fields(Self& self, Fields& field) {
    field("encoded", self.encoded);
    field("fingerprint", self.fingerprint);
    field("finished", self.finished);
  }
};

/// Begins a cache of the loaded model, or continues one.
struct BeginCacheRequest {
  static constexpr const char* name = "begin-cache";
  using Answer = CacheBegun;
  std::string out{};     // absolute path
  std::string format{};  // of the vectors
  std::int64_t documents = 0;
  std::vector<std::pair<std::int64_t, std::int64_t>> lengths{};  // tokens, documents
  std::int64_t id_bytes = 0;                                     // of all ids
  std::string file{};            // name of the file with the documents
  std::int64_t most_tokens = 0;  // of a document; 0: no limit
  std::int64_t fingerprint = 0;  // of all ids and tokens
  std::int64_t tokenizer = 0;    // fingerprint of the tokenizer
  bool restart = false;          // replaces existing files
  template <typename Self, typename Fields>
  static void list_fields(Self& self, Fields& field) {
    field("out", self.out);
    field("format", self.format);
    field("documents", self.documents, 1);
    field("lengths", self.lengths);
    field("id_bytes", self.id_bytes, 0);
    field("file", self.file);
    field("most_tokens", self.most_tokens, 0);
    field("fingerprint", self.fingerprint);
    field("tokenizer", self.tokenizer);
    field.or_default("restart", self.restart);
  }
};

struct DocumentsAdded {
  static constexpr const char* name = "documents-added";
  std::int64_t encoded = 0;  // documents in the cache
  template <typename Self, typename Fields>
  static void list_fields(Self& self, Fields& field) {
    field("encoded", self.encoded);
  }
};

struct AddDocumentsRequest {
  static constexpr const char* name = "add-documents";
  using Answer = DocumentsAdded;
  std::int32_t cls = 0;
  std::vector<TokenIds> documents{};
  std::vector<std::string> ids{};
  std::int64_t fingerprint = 0;  // of ids and tokens up to the last of these documents
  template <typename Self, typename Fields>
  static void list_fields(Self& self, Fields& field) {
    field("cls", self.cls, 0);
    field("documents", self.documents, 0);
    field("ids", self.ids);
    field("fingerprint", self.fingerprint);
  }
};

struct CacheFinished {
  static constexpr const char* name = "cache-finished";
  std::int64_t bytes = 0;
  // Rounding errors of the vectors; only if the format has fewer bits than the model's.
  std::optional<double> largest_relative_error{}, mean_relative_error{};
  template <typename Self, typename Fields>
  static void list_fields(Self& self, Fields& field) {
    field("bytes", self.bytes);
    field.if_present("largest_relative_error", self.largest_relative_error);
    field.if_present("mean_relative_error", self.mean_relative_error);
  }
};

struct FinishCacheRequest {
  static constexpr const char* name = "finish-cache";
  using Answer = CacheFinished;
  template <typename Self, typename Fields>
  static void list_fields(Self&, Fields&) {}
};

// Training -----------------------------------------------------------------------------------

struct TrainingBegun {
  static constexpr const char* name = "training-begun";
  std::string implementation{};
  std::int64_t step = 0;  // completed steps
  template <typename Self, typename Fields>
  static void list_fields(Self& self, Fields& field) {
    field("implementation", self.implementation);
    field("step", self.step);
  }
};

/// Loads a checkpoint to train it, or resumes its training.
struct BeginTrainingRequest {
  static constexpr const char* name = "begin-training";
  using Answer = TrainingBegun;
  ModelRequest model{};
  std::string objective{};  // "margin-mse", "ranknet" or "localized-ce"
  double learning_rate = 0;
  std::int64_t warm_up = 0, steps = 0;
  std::string schedule = "constant";  // or "linear"
  double weight_decay = 0, clip = 1;
  bool recompute = false;               // keeps only the layers' inputs for the backward pass
  std::int64_t seed = 0;                // of a head that the checkpoint does not have
  std::optional<std::string> resume{};  // a file of `save-training`
  template <typename Self, typename Fields>
  static void list_fields(Self& self, Fields& field) {
    ModelRequest::list_fields(self.model, field);
    field("objective", self.objective);
    field("learning_rate", self.learning_rate);
    field("warm_up", self.warm_up, 0);
    field("steps", self.steps, 1);
    field("schedule", self.schedule);
    field("weight_decay", self.weight_decay);
    field("clip", self.clip);
    field("recompute", self.recompute);
    field("seed", self.seed, 0);
    field("resume", self.resume);
  }
};

struct StepTrained {
  static constexpr const char* name = "train-step";
  std::int64_t step = 0;
  double loss = 0, gradient_norm = 0, learning_rate = 0;
  std::int64_t tokens = 0;
  double seconds = 0;
  template <typename Self, typename Fields>
  static void list_fields(Self& self, Fields& field) {
    field("step", self.step);
    field("loss", self.loss);
    field("gradient_norm", self.gradient_norm);
    field("learning_rate", self.learning_rate);
    field("tokens", self.tokens);
    field("seconds", self.seconds);
  }
};

/// A query with its documents, the relevant one first.
struct TrainGroup {
  TokenIds query{};
  std::vector<TokenIds> documents{};
  std::optional<double> margin{};  // of a teacher
  template <typename Self, typename Fields>
  static void list_fields(Self& self, Fields& field) {
    field("query", self.query, 0);
    field("documents", self.documents, 0);
    field.if_present("margin", self.margin);
  }
};

/// One update of the weights.
struct TrainStepRequest {
  static constexpr const char* name = "train-step";
  using Answer = StepTrained;
  std::int32_t cls = 0;
  std::vector<std::vector<TrainGroup>> batches{};  // computed one after the other
  template <typename Self, typename Fields>
  static void list_fields(Self& self, Fields& field) {
    field("cls", self.cls, 0);
    field("batches", self.batches);
  }
};

struct WeightsKept {
  static constexpr const char* name = "weights-kept";
  template <typename Self, typename Fields>
  static void list_fields(Self&, Fields&) {}
};

/// Stores a copy of the present weights, in place of an earlier copy.
struct KeepWeightsRequest {
  static constexpr const char* name = "keep-weights";
  using Answer = WeightsKept;
  template <typename Self, typename Fields>
  static void list_fields(Self&, Fields&) {}
};

struct TrainingSaved {
  static constexpr const char* name = "training-saved";
  template <typename Self, typename Fields>
  static void list_fields(Self&, Fields&) {}
};

/// Writes the state from which the training can be resumed.
struct SaveTrainingRequest {
  static constexpr const char* name = "save-training";
  using Answer = TrainingSaved;
  std::string path{};
  std::map<std::string, std::string> metadata{};
  template <typename Self, typename Fields>
  static void list_fields(Self& self, Fields& field) {
    field("path", self.path);
    field("metadata", self.metadata);
  }
};

struct TrainedWritten {
  static constexpr const char* name = "trained-written";
  template <typename Self, typename Fields>
  static void list_fields(Self&, Fields&) {}
};

/// Writes the weights of the trained model: the stored copy if there is one, else the last.
struct WriteTrainedRequest {
  static constexpr const char* name = "write-trained";
  using Answer = TrainedWritten;
  std::string path{};
  template <typename Self, typename Fields>
  static void list_fields(Self& self, Fields& field) {
    field("path", self.path);
  }
};

/// Makes `score` compute with the present weights, or with those that `write-trained` writes.
struct ModelSoFarRequest {
  static constexpr const char* name = "model-so-far";
  using Answer = ModelLoaded;
  bool kept = false;
  template <typename Self, typename Fields>
  static void list_fields(Self& self, Fields& field) {
    field.or_default("kept", self.kept);
  }
};

}  // namespace attnscope::protocol
