// SPDX-License-Identifier: Apache-2.0
//
// MixEncoder's online stage: the query is encoded once, and in every interaction layer the contexts
// E of all candidates attend to its keys and values and to their own contexts (Eq. 1), while a
// query vector H for each candidate is computed from it with a hint and a gate (Eq. 2). Both paths
// share the layer's output projection and feed-forward network, so that the (k + 1) N rows of all
// candidates are computed in one product each. The last layer computes only what is used later: it
// omits the query's own attention and feed-forward network, and the last context of a disentangled
// candidate except its key and value.
#include <ATen/TensorOperators.h>
#include <ATen/ops/add.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/lerp.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "engine/attention/torch_tensors.h"
#include "engine/model/bert/encoder_layer.h"
#include "engine/model/late/late_description.h"
#include "engine/model/late/late_model.h"

namespace attnscope {

const FamilyDescription& mixencoder_description();

namespace {

/// Rows of contexts and hints that pass through a layer in one call.
constexpr std::int64_t mix_rows_at_once = 16'384;

/// Keys and values of a query in one layer, [heads, tokens, dim], float32.
struct QueryHeads {
  at::Tensor keys, values;
  at::Tensor scaled_keys;  // over sqrt(dim), [heads, dim, tokens]
};

/// Inputs of a layer's softmax for one candidate: the query's tokens, whose queries are not used
/// there, then the contexts; [tokens, heads, dim] each.
struct SeenLayer {
  at::Tensor q, k, v;
};

/// Scale of the products of queries and keys.
double scale_of(const ModelShape& shape) {
  return 1 / std::sqrt(static_cast<double>(shape.head_dim()));
}

/// Contexts e [contexts, candidates, hidden] and query vectors h [candidates, hidden].
struct MixStates {
  at::Tensor e, h;
};

class InteractionLayer {
 public:
  InteractionLayer(const ModelWeights& weights, const MixConfig& own, std::int64_t layer,
                   const Computing& computing)
      : shape_(weights.shape()),
        own_(own),
        query_(computing.of(weights.linear(name_of_mix_part("candidate_query", layer)))),
        key_(computing.of(weights.linear(name_of_mix_part("candidate_key", layer)))),
        value_(computing.of(weights.linear(name_of_mix_part("candidate_value", layer)))),
        compress_(computing.of(weights.linear(name_of_mix_part("compress_query", layer)))),
        output_(computing.of(weights.linear(name_of_mix_chunk("attention.dense", layer)))),
        attention_norm_(computing.of(weights.norm(name_of_mix_chunk("attention.LayerNorm", layer)),
                                     shape_.norm_epsilon)),
        up_(computing.of(weights.linear(name_of_mix_chunk("intermediate.dense", layer)))),
        down_(computing.of(weights.linear(name_of_mix_chunk("output.dense", layer)))),
        output_norm_(computing.of(weights.norm(name_of_mix_chunk("output.LayerNorm", layer)),
                                  shape_.norm_epsilon)) {}

  /// The first `reads` contexts are used after this layer. `seen` receives one candidate's inputs.
  [[nodiscard]] MixStates run(const MixStates& x, const QueryHeads& query, const Linear& gate,
                              std::int64_t reads, SeenLayer* seen) const {
    const std::int64_t candidates = x.e.size(1), hidden = shape_.hidden;
    const std::int64_t of_e = own_.without_e ? 0 : reads * candidates;
    const at::Tensor attending = x.e.narrow(0, 0, reads).reshape({reads * candidates, hidden});
    const bool is_one = own_.disentangled || x.e.size(0) == 1;
    const at::Tensor hint = is_one ? x.e[x.e.size(0) - 1] : x.e.mean(0);
    const std::int64_t of_h = own_.without_h ? 0 : candidates;
    const at::Tensor attended = at::empty({of_e + of_h, hidden}, x.e.options());
    if (!own_.without_e)
      attend_of_contexts(x.e, attending, query, seen, attended.narrow(0, 0, of_e));
    if (!own_.without_h) attend_of_hints(hint, query, attended.narrow(0, of_e, of_h));
    at::Tensor t = output_(attended);
    if (!own_.without_e) t.narrow(0, 0, of_e).add_(attending);
    if (!own_.without_h) {
      at::Tensor rows = t.narrow(0, of_e, candidates);
      const at::Tensor g = gate(at::cat({hint, rows, x.h}, 1)).sigmoid_();
      at::lerp_out(rows, x.h, rows, g);  // h + g (rows - h)
    }
    finish(t);
    MixStates next = x;
    if (!own_.without_e) next.e = t.narrow(0, 0, of_e).view({reads, candidates, hidden});
    if (!own_.without_h) next.h = t.narrow(0, of_e, candidates);
    return next;
  }

 private:
  /// [rows, hidden] as [heads, rows, dim], float32.
  [[nodiscard]] at::Tensor by_heads(const at::Tensor& rows) const {
    return rows.to(at::kFloat).unflatten(1, {shape_.heads, shape_.head_dim()}).transpose(0, 1);
  }
  /// [count * candidates, hidden] as [candidates * heads, count, dim], float32.
  [[nodiscard]] at::Tensor by_candidates(const at::Tensor& rows, std::int64_t candidates) const {
    return rows.to(at::kFloat)
        .view({rows.size(0) / candidates, candidates * shape_.heads, shape_.head_dim()})
        .transpose(0, 1);
  }

  /// Eq. 1: one softmax over the query's tokens and the candidate's own contexts.
  void attend_of_contexts(const at::Tensor& e, const at::Tensor& attending, const QueryHeads& query,
                          SeenLayer* seen, const at::Tensor& out) const {
    const std::int64_t contexts = e.size(0), candidates = e.size(1);
    const std::int64_t heads = shape_.heads, dim = shape_.head_dim();
    const std::int64_t reads = attending.size(0) / candidates;
    const std::int64_t tokens = query.keys.size(1);
    const at::Tensor all = e.reshape({contexts * candidates, shape_.hidden});
    const at::Tensor q = query_(attending), k = key_(all), v = value_(all);
    const at::Tensor of_query =
        at::bmm(by_heads(q), query.scaled_keys);  // [heads, reads * candidates, tokens]
    const at::Tensor of_own =
        at::bmm(by_candidates(q, candidates), by_candidates(k, candidates).transpose(1, 2))
            .mul_(scale_of(shape_))
            .view({candidates, heads, reads, contexts})
            .permute({1, 2, 0, 3})
            .reshape({heads, reads * candidates, contexts});
    const at::Tensor weights = at::softmax(at::cat({of_query, of_own}, 2), 2);
    if (seen != nullptr) {
      const at::Tensor of_contexts = by_heads(query_(e.squeeze(1)));
      const auto by_tokens = [](const at::Tensor& of_tokens, const at::Tensor& own) {
        return at::cat({of_tokens, own}, 1).transpose(0, 1).contiguous();
      };
      *seen = {by_tokens(at::zeros_like(query.keys), of_contexts),
               by_tokens(query.keys, by_heads(k)), by_tokens(query.values, by_heads(v))};
    }
    const at::Tensor own_weights = weights.narrow(2, tokens, contexts)
                                       .unflatten(1, {reads, candidates})
                                       .permute({2, 0, 1, 3})
                                       .reshape({candidates * heads, reads, contexts});
    const at::Tensor out_of_query = at::bmm(weights.narrow(2, 0, tokens), query.values);
    const at::Tensor out_of_own = at::bmm(own_weights, by_candidates(v, candidates));
    at::Tensor sum = out.view({reads, candidates, heads, dim});
    at::add_out(sum, out_of_query.unflatten(1, {reads, candidates}).permute({1, 2, 0, 3}),
                out_of_own.view({candidates, heads, reads, dim}).permute({2, 0, 1, 3}));
  }

  /// The attention of Eq. 2: over the query's tokens only.
  void attend_of_hints(const at::Tensor& hint, const QueryHeads& query,
                       const at::Tensor& out) const {
    const at::Tensor weights =
        at::softmax(at::bmm(by_heads(compress_(hint)), query.scaled_keys), 2);
    out.unflatten(1, {shape_.heads, shape_.head_dim()})
        .copy_(at::bmm(weights, query.values).transpose(0, 1));
  }

  /// Both norms and the feed-forward network of all rows, in place, in pieces whose intermediate
  /// values stay in the caches.
  void finish(at::Tensor& t) const {
    const std::int64_t rows = t.size(0);
    for (std::int64_t first = 0; first < rows; first += EncoderLayer::tokens_at_once) {
      at::Tensor piece = t.narrow(0, first, std::min(EncoderLayer::tokens_at_once, rows - first));
      const at::Tensor attended = attention_norm_(piece);
      down_.plus_normed(up_(attended, cpu::Activation::gelu), attended, output_norm_, piece);
    }
  }

  ModelShape shape_;
  MixConfig own_;
  Linear query_, key_, value_, compress_, output_;
  Norm attention_norm_;
  Linear up_, down_;
  Norm output_norm_;
};

class MixEncoder final : public Interaction {
 public:
  explicit MixEncoder(const InteractionParts& parts)
      : shape_(parts.config.shape),
        own_(std::any_cast<const MixConfig&>(parts.config.own)),
        computing_(parts.computing),
        gate_(parts.computing.of(parts.weights.linear(mix_gate))) {
    if (own_.composed) codes_ = parts.computing.of(parts.weights.tensor(mix_codes));
    for (const std::int64_t layer : own_.interaction_layers)
      layers_.emplace_back(parts.weights, own_, layer, parts.computing);
  }

  [[nodiscard]] TextEncoding queries() const override {
    return {{.group = TokenGroup::query}, {0, last_layer() + 1}, LastLayer::cls_alone};
  }
  [[nodiscard]] TextEncoding documents() const override {
    const LayerRange all{0, shape_.layers};
    if (own_.composed) return {{.group = TokenGroup::document}, all, LastLayer::whole};
    return {{.group = TokenGroup::document, .learned = own_.contexts}, all, LastLayer::cls_alone};
  }

  /// Keys and values of every interaction layer, from its input; without H, also the last layer's
  /// [CLS].
  [[nodiscard]] Result<std::vector<QueryRows>> encode_queries(const BertEncoder& encoder,
                                                              const AttentionStage& stage,
                                                              at::Tensor embedded) const override {
    std::vector<QueryRows> kept;
    const auto keep = [&](std::int64_t layer, const LayerHeads& local, const LayerHeads*) {
      if (!std::ranges::binary_search(own_.interaction_layers, layer)) return;
      kept.push_back({.rows = at::cat({local.k.flatten(1), local.v.flatten(1)}, 1)});
    };
    const std::int64_t last = last_layer();
    auto states = encoder.run(stage, std::move(embedded), {0, last}, keep);
    if (!states) return tl::unexpected(states.error());
    kept.push_back({.rows = encoder.keys_and_values(last, *states)});
    if (!own_.without_h) return kept;
    const auto out = encoder.run(stage, std::move(*states), {last, last + 1});
    if (!out) return tl::unexpected(out.error());
    const bool cls_alone = last + 1 == shape_.layers;
    kept.push_back(
        {.rows = cls_alone ? *out : out->index_select(0, stage.cls_index()), .of_tokens = false});
    return kept;
  }

  [[nodiscard]] ModelWork work_of_queries(const BertEncoder& encoder,
                                          const AttentionStage& stage) const override {
    const std::int64_t last = last_layer();
    ModelWork work = encoder.work(stage, {0, last + (own_.without_h ? 1 : 0)});
    if (own_.without_h) return work;
    const auto hidden = static_cast<double>(shape_.hidden);
    work.linear_flop += 4 * static_cast<double>(stage.layout().tokens()) * hidden * hidden;
    work.least_bytes += 2 * hidden * hidden * element();
    return work;
  }

  [[nodiscard]] at::Tensor kept_of_documents(const at::Tensor& states,
                                             const PackedBatch& packed) const override {
    if (!own_.composed) return states;
    std::vector<at::Tensor> composed;
    const at::Tensor codes = codes_.to(at::kFloat);
    for (std::int64_t i = 0; i < packed.layout.item_count(); ++i) {
      const TokenRange tokens = packed.layout.item_tokens(i);
      const at::Tensor own = states.narrow(0, tokens.begin, tokens.size()).to(at::kFloat);
      composed.push_back(at::matmul(at::softmax(at::matmul(codes, own.t()), 1), own));
    }
    return at::cat(composed).to(states.scalar_type());
  }
  [[nodiscard]] std::int64_t rows_kept(std::int64_t /*tokens*/) const override {
    return own_.contexts;
  }
  [[nodiscard]] std::int64_t width() const override { return shape_.hidden; }
  [[nodiscard]] ModelWork work_of_keeping(const SequenceLayout& layout) const override {
    if (!own_.composed) return {};
    const double pairs = static_cast<double>(layout.tokens() * own_.contexts);
    const double flop = 4 * pairs * static_cast<double>(shape_.hidden);
    return {.attention_flop = flop, .executed_attention_flop = flop, .exponentials = pairs};
  }

  [[nodiscard]] Result<Interacted> interact(const BertEncoder& /*encoder*/,
                                            const EncodedQuery& query, const Candidates& candidates,
                                            const Show& show) const override {
    std::vector<QueryHeads> heads;
    for (std::size_t l = 0; l < layers_.size(); ++l) heads.push_back(heads_of_query(query[l]));
    std::vector<at::Tensor> scores, states;
    for (std::int64_t first = 0; first < candidates.count(); first += at_once()) {
      const auto some = static_cast<std::size_t>(std::min(at_once(), candidates.count() - first));
      const Candidates piece{candidates.rows,
                             candidates.documents.subspan(static_cast<std::size_t>(first), some)};
      const bool shows = show && candidates.count() == 1;
      const MixStates out = run(start(piece), heads, query.back(), shows ? &show : nullptr);
      const at::Tensor e = candidate_of(out.e).to(at::kFloat);
      const at::Tensor h = out.h.to(at::kFloat);
      at::Tensor score = (e * h).sum(1);
      if (own_.cosine) score = score / (e.square().sum(1) * h.square().sum(1)).sqrt();
      scores.push_back(std::move(score));
      states.push_back(at::cat({e, h}, 1));
    }
    return Interacted{.scores = at::cat(scores), .states = at::cat(states)};
  }

  /// Multiply-adds per candidate and layer with k contexts: (12 k + 13) hidden^2 in linear layers
  /// for a feed-forward network of width 4 hidden, 2 k (tokens + k) hidden + 2 tokens hidden in
  /// attention.
  [[nodiscard]] ModelWork work(const BertEncoder& /*encoder*/,
                               const InteractionSize& size) const override {
    const auto d = static_cast<double>(shape_.hidden);
    const auto wide = static_cast<double>(shape_.feed_forward);
    const auto k = static_cast<double>(own_.contexts);
    const auto tokens = static_cast<double>(size.query_tokens);
    const auto heads = static_cast<double>(shape_.heads);
    const double n = size.candidates();
    ModelWork sum;
    for (std::size_t l = 0; l < layers_.size(); ++l) {
      const auto reads = static_cast<double>(reads_of(l));
      double linear = 0, attention = 0, exponentials = 0;
      if (!own_.without_e) {
        linear += 2 * k * d * d + reads * (2 * d * d + 2 * d * wide);
        attention += 2 * reads * (tokens + k) * d;
        exponentials += reads * (tokens + k) * heads;
      }
      if (!own_.without_h) {
        linear += 5 * d * d + 2 * d * wide;
        attention += 2 * tokens * d;
        exponentials += tokens * heads;
      }
      add({.linear_flop = 2 * n * linear,
           .attention_flop = 2 * n * attention,
           .executed_attention_flop = 2 * n * attention,
           .exponentials = n * exponentials,
           .least_bytes = element() * (8 * d * d + 2 * d * wide + 2 * (k + 1) * n * d)},
          1, sum);
    }
    sum.linear_flop += 2 * n * d;
    sum.least_bytes += size.rows() * size.row_bytes;
    return sum;
  }
  [[nodiscard]] std::int64_t peak_bytes(const BertEncoder& /*encoder*/,
                                        const InteractionSize& size) const override {
    const auto candidates = static_cast<std::int64_t>(size.candidate_rows.size());
    const std::int64_t some = std::min(candidates, at_once());
    const std::int64_t rows = some * (own_.contexts + 1);
    const std::int64_t weights = 4 * rows * shape_.heads * (size.query_tokens + own_.contexts);
    const std::int64_t piece = std::min(rows, EncoderLayer::tokens_at_once) * 4 *
                               (3 * shape_.hidden + 2 * shape_.feed_forward);
    // Input and output, queries, keys, values, their heads made contiguous, the gate's input.
    return 4 * rows * shape_.hidden * 11 + 3 * weights + piece +
           candidates * 4 * (4 * shape_.hidden + 2);
  }

 private:
  [[nodiscard]] std::int64_t last_layer() const { return own_.interaction_layers.back(); }
  [[nodiscard]] std::int64_t at_once() const {
    return std::max<std::int64_t>(mix_rows_at_once / (own_.contexts + 1), 1);
  }
  [[nodiscard]] double element() const {
    return static_cast<double>(attnscope::size_of(computing_.dtype));
  }
  [[nodiscard]] bool leaves_last_out() const { return own_.disentangled && own_.contexts > 1; }
  /// Number of contexts that are used after an interaction layer.
  [[nodiscard]] std::int64_t reads_of(std::size_t layer) const {
    const bool is_last = layer + 1 == layers_.size();
    return is_last && leaves_last_out() ? own_.contexts - 1 : own_.contexts;
  }

  [[nodiscard]] QueryHeads heads_of_query(const at::Tensor& key_value) const {
    const auto by_heads = [&](std::int64_t part) {
      return key_value.narrow(1, part * shape_.hidden, shape_.hidden)
          .to(at::kFloat)
          .unflatten(1, {shape_.heads, shape_.head_dim()})
          .transpose(0, 1)
          .contiguous();
    };
    const at::Tensor keys = by_heads(0);
    return {keys, by_heads(1), (keys.transpose(1, 2) * scale_of(shape_)).contiguous()};
  }

  /// The initial states in the cached order, context by context.
  [[nodiscard]] MixStates start(const Candidates& candidates) const {
    const at::Tensor rows = candidates.rows.gathered(candidates.documents, computing_);
    const at::Tensor e =
        rows.view({candidates.count(), own_.contexts, shape_.hidden}).transpose(0, 1).contiguous();
    return {e, at::zeros({candidates.count(), shape_.hidden}, e.options())};
  }

  [[nodiscard]] MixStates run(MixStates x, const std::vector<QueryHeads>& query,
                              const at::Tensor& query_cls, const Show* show) const {
    for (std::size_t l = 0; l < layers_.size(); ++l) {
      SeenLayer seen;
      x = layers_[l].run(x, query[l], gate_, reads_of(l), show != nullptr ? &seen : nullptr);
      if (!seen.q.defined()) continue;
      for (const auto& [name, rows] : {std::pair{"q", &seen.q}, {"k", &seen.k}, {"v", &seen.v}})
        (*show)({own_.interaction_layers[l], name, rows->sizes().vec(), floats_of(*rows)});
    }
    if (own_.without_h) x.h = query_cls.expand({x.e.size(1), shape_.hidden});
    return x;
  }

  /// The mean of the contexts that represent the candidate, [candidates, hidden].
  [[nodiscard]] at::Tensor candidate_of(const at::Tensor& e) const {
    const std::int64_t count = leaves_last_out() ? own_.contexts - 1 : own_.contexts;
    return e.narrow(0, 0, count).mean(0);
  }

  ModelShape shape_;
  MixConfig own_;
  Computing computing_;
  Linear gate_;
  at::Tensor codes_;  // [contexts, hidden], if documents are composed
  std::vector<InteractionLayer> layers_;
};

/// The kept contexts of a document, [contexts, hidden].
Result<at::Tensor> kept_contexts(const LateReference& reference, const MixConfig& own,
                                 TokenIds document) {
  const std::int64_t layers = reference.shape().layers;
  if (!own.composed) {
    const auto states = reference.encode(
        document, {.group = TokenGroup::document, .learned = own.contexts}, layers, mix_learned);
    if (!states) return states;
    return states->narrow(0, 0, own.contexts);
  }
  const auto states = reference.encode(document, {.group = TokenGroup::document}, layers);
  if (!states) return states;
  return LateReference::attend(reference.tensor(mix_codes), *states, *states, 1, 1);
}

/// The part of a layer after attention, applied to E and H.
at::Tensor through_chunk(const LateReference& reference, std::int64_t layer, const at::Tensor& x) {
  const auto name = [layer](const char* part) { return name_of_mix_chunk(part, layer); };
  const at::Tensor wide = at::gelu(reference.linear(name("intermediate.dense"), x));
  return reference.norm(name("output.LayerNorm"), x + reference.linear(name("output.dense"), wide));
}

/// MixEncoder in float64 for one candidate, according to the paper and the authors' code. The state
/// is the candidate's vector e followed by the query's vector h.
Result<ReferenceOutput> mix_reference(const LateReference& reference, const MixConfig& own,
                                      TokenIds query, TokenIds document) {
  const ModelShape& shape = reference.shape();
  const double scale = 1 / std::sqrt(static_cast<double>(shape.head_dim()));
  const auto kept = kept_contexts(reference, own, document);
  if (!kept) return tl::unexpected(kept.error());
  at::Tensor e = *kept;
  at::Tensor h = at::zeros({1, shape.hidden}, e.options());
  for (const std::int64_t layer : own.interaction_layers) {
    const auto x = reference.encode(query, {.group = TokenGroup::query}, layer);
    if (!x) return tl::unexpected(x.error());
    const std::string self = name_of_layer(layer) + "attention.self.";
    const at::Tensor keys = reference.linear(self + "key", *x);
    const at::Tensor values = reference.linear(self + "value", *x);
    const auto of_layer = [&](const char* part, const at::Tensor& rows) {
      return reference.linear(name_of_mix_part(part, layer), rows);
    };
    const std::string dense = name_of_mix_chunk("attention.dense", layer);
    const std::string norm = name_of_mix_chunk("attention.LayerNorm", layer);
    const at::Tensor hint =
        own.disentangled ? e.narrow(0, own.contexts - 1, 1) : e.mean(0, /*keepdim=*/true);
    at::Tensor new_e = e;
    if (!own.without_e) {
      const at::Tensor o = LateReference::attend(
          of_layer("candidate_query", e), at::cat({keys, of_layer("candidate_key", e)}),
          at::cat({values, of_layer("candidate_value", e)}), shape.heads, scale);
      new_e = through_chunk(reference, layer, reference.norm(norm, reference.linear(dense, o) + e));
    }
    if (!own.without_h) {
      const at::Tensor o =
          LateReference::attend(of_layer("compress_query", hint), keys, values, shape.heads, scale);
      const at::Tensor t = reference.linear(dense, o);
      const at::Tensor g = at::sigmoid(reference.linear(mix_gate, at::cat({hint, t, h}, 1)));
      h = through_chunk(reference, layer, reference.norm(norm, g * t + (1 - g) * h));
    }
    e = new_e;
  }
  if (own.without_h) {
    const auto out =
        reference.encode(query, {.group = TokenGroup::query}, own.interaction_layers.back() + 1);
    if (!out) return tl::unexpected(out.error());
    h = out->narrow(0, 0, 1);
  }
  const bool leaves_last_out = own.disentangled && own.contexts > 1;
  const at::Tensor mean = e.narrow(0, 0, leaves_last_out ? own.contexts - 1 : own.contexts).mean(0);
  double score = mean.dot(h[0]).item<double>();
  if (own.cosine) score /= mean.norm().item<double>() * h.norm().item<double>();
  return ReferenceOutput{.score = score, .state = doubles_of(at::cat({mean, h[0]}))};
}

class MixEncoderFamily final : public LateFamily {
 protected:
  [[nodiscard]] const LateDescription& late() const override {
    return static_cast<const LateDescription&>(mixencoder_description());
  }
  [[nodiscard]] std::unique_ptr<Interaction> interaction(
      const InteractionParts& parts) const override {
    return std::make_unique<MixEncoder>(parts);
  }
  [[nodiscard]] std::string learned(const ModelConfig& config) const override {
    return std::any_cast<const MixConfig&>(config.own).composed ? "" : mix_learned;
  }
  [[nodiscard]] std::string kept_in_words(const ModelConfig& config) const override {
    const auto& own = std::any_cast<const MixConfig&>(config.own);
    return fmt::format("{} contexts{}", own.contexts, own.composed ? ", composed" : "");
  }
  [[nodiscard]] Result<ReferenceOutput> reference_of(const LateReference& reference,
                                                     const ModelConfig& config, TokenIds query,
                                                     TokenIds document) const override {
    return mix_reference(reference, std::any_cast<const MixConfig&>(config.own), query, document);
  }
};

}  // namespace

const Family& mixencoder_family() {
  static const MixEncoderFamily family;
  return family;
}

}  // namespace attnscope
