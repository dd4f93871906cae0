#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The interface of every model family: computes scores from weights in up to two stages, and the
// same in float64. To add a family, add a folder engine/model/<name>/ and one line in list.inc;
// sweeps, the gate, `score` and `inspect` find it there. Its properties that need no computation,
// and that programs without LibTorch read, are in engine/checkpoint/family_description.h.
//
//   const Family& family = family_of(config);
//   auto weights = ModelWeights::random(config, {.seed = 1});
//   if (Status able = family.supports(config, variant, "segment"); !able) report(able.error());
//   auto model = family.make(weights, variant, "segment");
//   Result<ModelOutput> output = (*model)->score({.items = {{query, document}}});

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/checkpoint/family_description.h"
#include "engine/pattern/attention_pattern.h"
#include "engine/pattern/axes.h"

namespace attnscope {

class DocumentCache;
class EncoderFamily;  // text_encoder.h
class ModelWeights;

using TokenIds = std::span<const std::int32_t>;
[[nodiscard]] inline std::int64_t count_of(TokenIds ids) {
  return static_cast<std::int64_t>(ids.size());
}

/// Token ids of queries and documents. Each text ends in its own [SEP].
struct PairBatch {
  struct Item {
    TokenIds query, document;
    std::int64_t cached = 0;  // replaces `document` if there is a cache: its number there
  };
  std::vector<Item> items;
  std::int32_t cls = 101;
  std::int32_t document_type = 1;  // token type of documents; queries and [CLS] have 0
  /// Query and document form one text for the pattern, whose groups are then [CLS] and that text.
  bool is_one_text = false;
  /// All items have the same query: a model that encodes it separately does so once for the batch
  /// (the paper's independent query).
  bool one_query = false;
  /// Cached encoded documents; null: documents are token ids.
  const DocumentCache* documents = nullptr;
  /// false: only scores are needed.
  bool with_states = true;
};

/// Settings of a model's computation other than its weights.
struct ModelVariant {
  AttentionPattern pattern;
  std::optional<Window> window{};
  /// Attention of the layers that the model's config calls local; without it they attend as all
  /// others.
  std::optional<LayerAttention> local{};
  /// Windows by layer, if they differ; empty: all layers use `window`.
  std::vector<Window> layer_windows{};
  ModelOptions options{};
  DType dtype = DType::float32;
  /// Products of the linear layers; other values than float32 are accepted on the CPU for a model
  /// in float32.
  Products products = Products::float32;
  DeviceKind device = DeviceKind::cpu;
  int threads = 1;
};

struct ModelOutput {
  std::vector<float> scores;  // one per item
  /// The vectors that scores are computed from, [items, width]: a cross-encoder's last output for
  /// [CLS]. Compared with the reference's, because errors in a vector may cancel out in its score.
  std::vector<float> states;
};

/// Reference output of one item.
struct ReferenceOutput {
  double score = 0;
  std::vector<double> state;
};

/// Work of one call: linear layers, useful attention work over all layers, embeddings.
struct ModelWork {
  double linear_flop = 0, attention_flop = 0;  // useful
  double feed_forward_flop = 0;                // part of linear_flop
  double executed_attention_flop = 0;
  double exponentials = 0;
  double least_bytes = 0;  // weights once, token states in and out of every layer
};

/// An intermediate result of an item that a family shows in addition to the score: a layer's
/// queries ("q", [tokens, heads, head_dim]), the regions of a document that matched.
struct Shown {
  std::int64_t layer = 0;
  std::string name;
  std::vector<std::int64_t> shape;
  std::vector<float> values;
};
using Show = std::function<void(Shown)>;

/// Size of a document in a cache: `rows` rows of `width` numbers.
struct CachedRows {
  std::int64_t rows = 0, width = 0;
};

/// A family's model with weights, ready to compute. Not thread-safe.
class Model {
 public:
  Model() = default;
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;
  virtual ~Model() = default;

  /// Ok, or the reason why this batch cannot be scored.
  [[nodiscard]] virtual Status supports(const PairBatch& batch) const = 0;
  /// Peak memory of a call of `score` in bytes, in addition to the weights.
  [[nodiscard]] virtual Result<std::int64_t> predicted_peak_bytes(const PairBatch& batch) const = 0;
  /// Work of `score`; if the batch has a document cache, the work that is left.
  [[nodiscard]] virtual Result<ModelWork> work(const PairBatch& batch) const = 0;
  /// Scores of token ids or encoded documents. Errors: an id outside the vocabulary, more tokens
  /// than positions (with the numbers), a cache that does not fit the model. For a batch of one
  /// item, `show` receives intermediate results as they are computed.
  [[nodiscard]] virtual Result<ModelOutput> score(const PairBatch& batch,
                                                  const Show& show = {}) = 0;

  /// The stage that can be computed before any query is known: the cached part of these documents.
  /// `cls` is [CLS]'s id, as in PairBatch. An error for a family without such a stage.
  [[nodiscard]] virtual Result<DocumentCache> encode_documents(std::span<const TokenIds> documents,
                                                               std::int32_t cls);
  [[nodiscard]] virtual Result<ModelWork> work_of_documents(
      std::span<const TokenIds> documents) const;
  /// Cache size of a document of `tokens` tokens, [CLS] not counted.
  [[nodiscard]] virtual Result<CachedRows> cached_rows(std::int64_t tokens) const;
};

class Family {
 public:
  virtual ~Family() = default;
  [[nodiscard]] virtual const FamilyDescription& description() const = 0;

  /// Implementations, the preferred one first: of attention, if the family has attention, or of the
  /// family.
  [[nodiscard]] virtual std::vector<std::string_view> implementations() const = 0;
  /// Ok, or the reason why such a model is not supported: its pattern, implementation, dtype,
  /// device or options.
  [[nodiscard]] virtual Status supports(const ModelConfig& config, const ModelVariant& variant,
                                        std::string_view implementation) const = 0;
  /// Errors: those of `supports` that do not depend on a batch, and weights that lack a tensor of
  /// the variant.
  [[nodiscard]] virtual Result<std::unique_ptr<Model>> make(
      const std::shared_ptr<const ModelWeights>& weights, const ModelVariant& variant,
      std::string_view implementation) const = 0;

  /// Its body as an encoder of single texts; null: there is none.
  [[nodiscard]] virtual const EncoderFamily* encoders() const { return nullptr; }

  /// Options that change how scores are computed but not their values: one reference for all.
  [[nodiscard]] virtual std::vector<std::string_view> shortcuts() const { return {}; }
  /// The same in float64, implemented plainly and without kernels (DESIGN 5.1): every
  /// implementation is compared with it. For an item without a cache.
  [[nodiscard]] virtual Result<ReferenceOutput> reference(const ModelWeights& weights,
                                                          const ModelVariant& variant,
                                                          const PairBatch::Item& item,
                                                          std::int32_t cls) const = 0;
  /// Largest permitted error of states and scores in that dtype, relative to the largest absolute
  /// value of the reference's state.
  [[nodiscard]] virtual double error_bound(DType dtype, const ModelShape& shape) const = 0;

  /// The same weights with `positions` positions; an error if the family's positions cannot be
  /// extended.
  [[nodiscard]] virtual Result<std::shared_ptr<const ModelWeights>> extended_to(
      const std::shared_ptr<const ModelWeights>& weights, std::int64_t positions) const;
};

/// All families of this build, one line each in list.inc.
[[nodiscard]] std::span<const Family* const> families();

[[nodiscard]] const Family& family_of(const FamilyDescription& description);

/// Items of a batch with the same query, for models that encode queries separately.
struct QueryGroup {
  TokenIds query;
  std::vector<std::size_t> items;
};

/// Every item is in one group; groups are in the order of their first items.
[[nodiscard]] std::vector<QueryGroup> groups_of(const PairBatch& batch);

/// Ok, or which item names a document that is not in the batch's cache.
[[nodiscard]] Status has_its_documents(const PairBatch& batch);

/// Scores and states of a group's items, [items] and [items, width].
struct GroupOutput {
  std::vector<float> scores, states;
};

/// Merges the groups' outputs in item order; narrower states are padded with zeros.
[[nodiscard]] ModelOutput collected(const std::vector<QueryGroup>& groups,
                                    const std::vector<GroupOutput>& done, std::size_t items);

/// Splits a sequence of texts into runs of at most `most` tokens, or of a single longer text, so
/// that the size of one computation does not grow with the number of texts. `tokens_of` counts the
/// tokens of a text.
template <typename Text, typename Count>
[[nodiscard]] std::vector<std::span<const Text>> runs_of(std::span<const Text> texts,
                                                         std::int64_t most,
                                                         const Count& tokens_of) {
  std::vector<std::span<const Text>> runs;
  std::size_t first = 0;
  std::int64_t tokens = 0;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::int64_t own = tokens_of(texts[i]);
    if (i > first && tokens + own > most) {
      runs.push_back(texts.subspan(first, i - first));
      first = i;
      tokens = 0;
    }
    tokens += own;
  }
  if (first < texts.size()) runs.push_back(texts.subspan(first));
  return runs;
}

}  // namespace attnscope
