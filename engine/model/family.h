#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The interface every family of models computes behind: weights to scores in up to two stages, and
// the same in float64. Adding a family is a folder engine/model/<name>/ and one line in list.inc;
// sweeps, the gate, `score` and `inspect` find it there. What it says without computing, and
// programs without LibTorch see, is engine/checkpoint/family_description.h.
//
//   const Family& family = family_of(config);
//   auto weights = ModelWeights::random(config, {.seed = 1});
//   if (Status able = family.supports(config, variant, "segment"); !able) report(able.error());
//   auto model = family.make(weights, variant, "segment");
//   Result<ModelOutput> output = (*model)->score({.items = {{query, document}}});

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/checkpoint/family_description.h"
#include "engine/pattern/attention_pattern.h"
#include "engine/pattern/axes.h"
#include "kernels/base/result.h"

namespace attnscope {

class DocumentCache;
class EncoderFamily;  // text_encoder.h
class ModelWeights;

using TokenIds = std::span<const std::int32_t>;

/// Token ids of queries and documents. Each of them ends in its own [SEP].
struct PairBatch {
  struct Item {
    TokenIds query, document;
    std::int64_t cached = 0;  // in place of `document`, where there is a cache: its number there
  };
  std::vector<Item> items;
  std::int32_t cls = 101;
  std::int32_t document_type = 1;  // token type of documents; queries and [CLS] have 0
  /// Query and document are one text to the pattern, whose groups are then [CLS] and that text.
  bool is_one_text = false;
  /// All items have the same query: a model that encodes it by itself does so once for the batch
  /// (the paper's independent query).
  bool one_query = false;
  /// Documents that were encoded before; null: they are token ids.
  const DocumentCache* documents = nullptr;
  /// false: scores alone are wanted.
  bool with_states = true;
};

/// What a model computes with beside its weights.
struct ModelVariant {
  AttentionPattern pattern;
  std::optional<Window> window{};
  /// Of the layers that the model's config calls local; without it they attend as all others.
  std::optional<LayerAttention> local{};
  /// Windows by layer, where they differ; empty: `window` is that of all.
  std::vector<Window> layer_windows{};
  ModelOptions options{};
  DType dtype = DType::float32;
  /// Of its linear layers; other ones than float32 are taken on the CPU in a model of float32.
  Products products = Products::float32;
  DeviceKind device = DeviceKind::cpu;
  int threads = 1;
};

struct ModelOutput {
  std::vector<float> scores;  // one an item
  /// What scores are made of, [items, width]: a cross-encoder's last output for [CLS]. Held
  /// against the reference's, because a score hides more than it shows.
  std::vector<float> states;
};

/// Of one item.
struct ReferenceOutput {
  double score = 0;
  std::vector<double> state;
};

/// Work of one call, counted: linear layers, attention's useful work over all layers, embeddings.
struct ModelWork {
  double linear_flop = 0, attention_flop = 0;  // useful
  double feed_forward_flop = 0;                // of the linear layers', that of the wide ones
  double executed_attention_flop = 0;
  double exponentials = 0;
  double least_bytes = 0;  // weights once, token states in and out of every layer
};

/// One thing beside the scores that a family has to show of an item: a layer's queries ("q",
/// [tokens, heads, head_dim]), the regions of a document that matched.
struct Shown {
  std::int64_t layer = 0;
  std::string name;
  std::vector<std::int64_t> shape;
  std::vector<float> values;
};
using Show = std::function<void(Shown)>;

/// What a cache keeps of a document: `rows` rows of `width` numbers.
struct CachedRows {
  std::int64_t rows = 0, width = 0;
};

/// A family's model with its weights, ready to compute. Not thread-safe.
class Model {
 public:
  Model() = default;
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;
  virtual ~Model() = default;

  /// Ok, or the reason why this batch cannot be scored.
  [[nodiscard]] virtual Status supports(const PairBatch& batch) const = 0;
  /// Bytes a call of `score` needs beside the weights, at its peak.
  [[nodiscard]] virtual Result<std::int64_t> predicted_peak_bytes(const PairBatch& batch) const = 0;
  /// Of `score`; where the batch has a document cache, of what is left to do with it.
  [[nodiscard]] virtual Result<ModelWork> work(const PairBatch& batch) const = 0;
  /// From token ids, or encoded documents, to scores. Errors: an id outside the vocabulary, more
  /// tokens than positions (with the numbers), a cache that does not fit the model. `show` is
  /// handed what there is to see as it is computed, of a batch of one item.
  [[nodiscard]] virtual Result<ModelOutput> score(const PairBatch& batch,
                                                  const Show& show = {}) = 0;

  /// The stage that can be computed before any query is known: what of these documents goes into a
  /// cache. `cls` is [CLS]'s id, as PairBatch has it. A family without such a stage says so.
  [[nodiscard]] virtual Result<DocumentCache> encode_documents(std::span<const TokenIds> documents,
                                                               std::int32_t cls);
  [[nodiscard]] virtual Result<ModelWork> work_of_documents(
      std::span<const TokenIds> documents) const;
  /// Of a document of so many tokens, [CLS] not counted: how large a cache will be.
  [[nodiscard]] virtual Result<CachedRows> cached_rows(std::int64_t tokens) const;
};

class Family {
 public:
  virtual ~Family() = default;
  [[nodiscard]] virtual const FamilyDescription& description() const = 0;

  /// Implementations by which it can be computed, the first choice first: of attention, where it
  /// has some, or its own.
  [[nodiscard]] virtual std::vector<std::string_view> implementations() const = 0;
  /// Ok, or the reason why such a model is not computed: its pattern, implementation, dtype, device
  /// or options.
  [[nodiscard]] virtual Status supports(const ModelConfig& config, const ModelVariant& variant,
                                        std::string_view implementation) const = 0;
  /// Errors: what `supports` says as far as it takes no batch, weights without what the variant
  /// needs.
  [[nodiscard]] virtual Result<std::unique_ptr<Model>> make(
      const std::shared_ptr<const ModelWeights>& weights, const ModelVariant& variant,
      std::string_view implementation) const = 0;

  /// Its body as an encoder of single texts; null: it is none.
  [[nodiscard]] virtual const EncoderFamily* encoders() const { return nullptr; }

  /// Options that change how scores are computed and not what they are: one reference for all.
  [[nodiscard]] virtual std::vector<std::string_view> shortcuts() const { return {}; }
  /// The same in float64, plainly written and by nobody's kernels (DESIGN 5.1): what every other is
  /// held against. Of an item without a cache.
  [[nodiscard]] virtual Result<ReferenceOutput> reference(const ModelWeights& weights,
                                                          const ModelVariant& variant,
                                                          const PairBatch::Item& item,
                                                          std::int32_t cls) const = 0;
  /// How far states and scores of a right computation in that dtype may be off, over the largest
  /// number of the reference's state.
  [[nodiscard]] virtual double error_bound(DType dtype, const ModelShape& shape) const = 0;

  /// The same weights with as many positions; an error where a family's positions cannot be
  /// stretched.
  [[nodiscard]] virtual Result<std::shared_ptr<const ModelWeights>> extended_to(
      const std::shared_ptr<const ModelWeights>& weights, std::int64_t positions) const;
};

/// Every family of this build, one line each in list.inc.
[[nodiscard]] std::span<const Family* const> families();

[[nodiscard]] const Family& family_of(const FamilyDescription& description);

}  // namespace attnscope
