// SPDX-License-Identifier: Apache-2.0
//
// Deformer: the lower layers encode query (token type 0) and candidate (type 1, with its [CLS],
// positions from 0) separately; the last layers attend over their concatenation, and pooler and
// classifier score the query's [CLS]. The last layer computes that [CLS] only.
#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/softmax.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/documents/document_cache.h"
#include "engine/model/bert/bert_family.h"
#include "engine/model/family.h"
#include "engine/model/late/late_description.h"
#include "engine/model/late/late_model.h"
#include "engine/model/model_weights.h"
#include "engine/model/score_head.h"

namespace attnscope {

const FamilyDescription& deformer_description();

namespace {

/// Tokens of the pairs that pass through the upper layers in one call.
constexpr std::int64_t deformer_tokens_at_once = 16'384;

/// The layout of a query and candidates with these numbers of rows; a candidate's [CLS] belongs to
/// its document.
Result<SequenceLayout> layout_of_pairs(std::int64_t query_rows,
                                       std::span<const std::int64_t> candidate_rows) {
  std::vector<LayoutItem> items;
  items.reserve(candidate_rows.size());
  for (const std::int64_t rows : candidate_rows)
    items.push_back({.cls = 1, .query = query_rows - 1, .documents = {rows}});
  return SequenceLayout::make(std::move(items));
}

/// How many of the first candidates to compute in one call.
std::size_t together(std::int64_t query_rows, std::span<const std::int64_t> candidate_rows) {
  std::int64_t tokens = 0;
  std::size_t count = 0;
  for (const std::int64_t rows : candidate_rows) {
    tokens += query_rows + rows;
    if (count > 0 && tokens > deformer_tokens_at_once) break;
    ++count;
  }
  return count;
}

class Deformer final : public Interaction {
 public:
  explicit Deformer(const InteractionParts& parts)
      : shape_(parts.config.shape),
        lower_(shape_.layers - std::any_cast<const DeformerConfig&>(parts.config.own).top_layers),
        computing_(parts.computing),
        head_(parts.weights, parts.computing) {}

  [[nodiscard]] TextEncoding queries() const override {
    return {{.group = TokenGroup::query}, {0, lower_}, LastLayer::whole};
  }
  /// cls_alone applies to the last layer of the model, which is not among these layers.
  [[nodiscard]] TextEncoding documents() const override {
    return {{.group = TokenGroup::document, .type = 1}, {0, lower_}, LastLayer::cls_alone};
  }
  [[nodiscard]] at::Tensor kept_of_documents(const at::Tensor& states,
                                             const PackedBatch& /*packed*/) const override {
    return states;
  }
  [[nodiscard]] std::int64_t rows_kept(std::int64_t tokens) const override { return 1 + tokens; }
  [[nodiscard]] std::int64_t width() const override { return shape_.hidden; }

  [[nodiscard]] Result<Interacted> interact(const BertEncoder& encoder, const EncodedQuery& query,
                                            const Candidates& candidates,
                                            const Show& show) const override {
    std::vector<std::int64_t> rows;
    for (std::int64_t i = 0; i < candidates.count(); ++i) rows.push_back(candidates.rows_of(i));
    std::vector<at::Tensor> states;
    for (std::size_t first = 0; first < rows.size();) {
      const std::span<const std::int64_t> left = std::span(rows).subspan(first);
      const std::size_t count = together(query.front().size(0), left);
      auto of_cls = run(encoder, query.front(), candidates.rows,
                        candidates.documents.subspan(first, count), left.first(count), show);
      if (!of_cls) return tl::unexpected(of_cls.error());
      states.push_back(std::move(*of_cls));
      first += count;
    }
    const at::Tensor all = at::cat(states);
    return Interacted{.scores = head_(all), .states = all};
  }

  [[nodiscard]] ModelWork work(const BertEncoder& encoder,
                               const InteractionSize& size) const override {
    ModelWork sum;
    for_each_stage(encoder, size, [&](const AttentionStage& stage) {
      add(encoder.work(stage, {lower_, shape_.layers}), 1, sum);
    });
    const auto d = static_cast<double>(shape_.hidden);
    sum.linear_flop += 2 * size.candidates() * d * (d + 1);
    sum.least_bytes += size.rows() * size.row_bytes;
    return sum;
  }
  [[nodiscard]] std::int64_t peak_bytes(const BertEncoder& encoder,
                                        const InteractionSize& size) const override {
    std::int64_t most = 0;
    for_each_stage(encoder, size, [&](const AttentionStage& stage) {
      most = std::max(most, encoder.peak_bytes(stage));
    });
    return most;
  }

 private:
  template <typename Take>
  void for_each_stage(const BertEncoder& encoder, const InteractionSize& size,
                      const Take& take) const {
    for (std::size_t first = 0; first < size.candidate_rows.size();) {
      const auto left = std::span(size.candidate_rows).subspan(first);
      const std::size_t count = together(size.query_tokens, left);
      auto layout = layout_of_pairs(size.query_tokens, left.first(count));
      if (!layout) return;
      const auto stage = encoder.stage(std::move(*layout), LastLayer::cls_alone);
      if (!stage) return;
      take(**stage);
      first += count;
    }
  }

  /// [CLS] states of some pairs, [candidates, hidden].
  [[nodiscard]] Result<at::Tensor> run(const BertEncoder& encoder, const at::Tensor& query,
                                       const DocumentRows& rows,
                                       std::span<const std::int64_t> documents,
                                       std::span<const std::int64_t> candidate_rows,
                                       const Show& show) const {
    auto layout = layout_of_pairs(query.size(0), candidate_rows);
    if (!layout) return tl::unexpected(layout.error());
    // The shown attention includes all tokens.
    const LastLayer last = show ? LastLayer::whole : LastLayer::cls_alone;
    const auto stage = encoder.stage(std::move(*layout), last);
    if (!stage) return tl::unexpected(stage.error());
    const at::Tensor kept = rows.gathered(documents, computing_);
    std::vector<at::Tensor> pairs;
    std::int64_t from = 0;
    for (const std::int64_t own : candidate_rows) {
      pairs.push_back(query);
      pairs.push_back(kept.narrow(0, from, own));
      from += own;
    }
    auto states =
        encoder.run(**stage, at::cat(pairs), {lower_, shape_.layers}, shown_of(**stage, show));
    if (!states || last == LastLayer::cls_alone) return states;
    return states->index_select(0, (*stage)->cls_index());
  }

  ModelShape shape_;
  std::int64_t lower_;
  Computing computing_;
  ScoreHead head_;
};

class DeformerFamily final : public LateFamily {
 protected:
  [[nodiscard]] const LateDescription& late() const override {
    return static_cast<const LateDescription&>(deformer_description());
  }
  [[nodiscard]] Status fits(const ModelConfig& config) const override {
    if (std::any_cast<const DeformerConfig&>(config.own).top_layers > 0) return {};
    return fail(
        "a Deformer needs at least two layers: one that encodes the texts separately and one that "
        "attends across them");
  }
  [[nodiscard]] std::unique_ptr<Interaction> interaction(
      const InteractionParts& parts) const override {
    return std::make_unique<Deformer>(parts);
  }
  [[nodiscard]] std::string kept_in_words(const ModelConfig& config) const override {
    const std::int64_t top = std::any_cast<const DeformerConfig&>(config.own).top_layers;
    return fmt::format("{} of {} layers", config.shape.layers - top, config.shape.layers);
  }
  [[nodiscard]] Result<ReferenceOutput> reference_of(const LateReference& reference,
                                                     const ModelConfig& config, TokenIds query,
                                                     TokenIds document) const override {
    const std::int64_t lower =
        config.shape.layers - std::any_cast<const DeformerConfig&>(config.own).top_layers;
    const auto q = reference.encode(query, {.group = TokenGroup::query}, lower);
    if (!q) return tl::unexpected(q.error());
    const auto c = reference.encode(document, {.group = TokenGroup::document, .type = 1}, lower);
    if (!c) return tl::unexpected(c.error());
    const auto layout =
        SequenceLayout::make({{.cls = 1, .query = q->size(0) - 1, .documents = {c->size(0)}}});
    if (!layout) return tl::unexpected(layout.error());
    const at::Tensor out = reference.run_from(*layout, at::cat({*q, *c}), lower);
    const at::Tensor state = out.narrow(0, 0, 1);
    const at::Tensor score =
        reference.linear("classifier", reference.linear("pooler.dense", state).tanh());
    return ReferenceOutput{.score = score.item<double>(), .state = doubles_of(state)};
  }
};

}  // namespace

const Family& deformer_family() {
  static const DeformerFamily family;
  return family;
}

// Cross-BERT is BERT's cross-encoder with a separate [CLS] at the beginning of each document, which
// belongs to the document: positions continue and token type 1 begins there. In the authors' code,
// padding between both texts shifts the document's positions; there is no padding here.

const FamilyDescription& cross_bert_description();

namespace {

/// Documents with a preceding [CLS], and the batch that refers to them.
class WithCls {
 public:
  explicit WithCls(const PairBatch& batch) : batch_(batch) {
    documents_.reserve(batch.items.size());
    for (PairBatch::Item& item : batch_.items) {
      std::vector<std::int32_t>& document = documents_.emplace_back(std::vector{batch.cls});
      document.insert(document.end(), item.document.begin(), item.document.end());
      item.document = document;
    }
  }
  [[nodiscard]] const PairBatch& batch() const { return batch_; }

 private:
  PairBatch batch_;
  std::vector<std::vector<std::int32_t>> documents_;
};

class CrossBert final : public Model {
 public:
  explicit CrossBert(std::unique_ptr<Model> bert) : bert_(std::move(bert)) {}

  [[nodiscard]] Status supports(const PairBatch& batch) const override {
    return bert_->supports(WithCls(batch).batch());
  }
  [[nodiscard]] Result<std::int64_t> predicted_peak_bytes(const PairBatch& batch) const override {
    return bert_->predicted_peak_bytes(WithCls(batch).batch());
  }
  [[nodiscard]] Result<ModelWork> work(const PairBatch& batch) const override {
    return bert_->work(WithCls(batch).batch());
  }
  [[nodiscard]] Result<ModelOutput> score(const PairBatch& batch, const Show& show) override {
    return bert_->score(WithCls(batch).batch(), show);
  }

 private:
  std::unique_ptr<Model> bert_;
};

class CrossBertFamily final : public BertLikeFamily {
 public:
  CrossBertFamily() : BertLikeFamily(cross_bert_description()) {}

  [[nodiscard]] Result<std::unique_ptr<Model>> make(
      const std::shared_ptr<const ModelWeights>& weights, const ModelVariant& variant,
      std::string_view implementation) const override {
    auto bert = BertLikeFamily::make(weights, variant, implementation);
    if (!bert) return bert;
    return std::make_unique<CrossBert>(std::move(*bert));
  }
  [[nodiscard]] Result<ReferenceOutput> reference(const ModelWeights& weights,
                                                  const ModelVariant& variant,
                                                  const PairBatch::Item& item,
                                                  std::int32_t cls) const override {
    const WithCls with({.items = {item}, .cls = cls});
    return BertLikeFamily::reference(weights, variant, with.batch().items.front(), cls);
  }
};

}  // namespace

const Family& cross_bert_family() {
  static const CrossBertFamily family;
  return family;
}

// VIRT-like: with the last states X of the query and Y of the document, X' = softmax(X Y^T / sqrt
// d) Y and Y' = softmax(Y X^T / sqrt d) X; u and v are the means of their rows, and a hidden layer
// with ReLU computes the score from [u; v; |u - v|; max(u, v)]. A mean of weighted sums is a single
// sum with the mean weights, and both softmaxes share their products.

const FamilyDescription& virt_like_description();

namespace {

at::Tensor matched(const at::Tensor& u, const at::Tensor& v) {
  return at::cat({u, v, (u - v).abs(), at::maximum(u, v)}, 1);
}

class VirtLike final : public Interaction {
 public:
  explicit VirtLike(const InteractionParts& parts)
      : shape_(parts.config.shape),
        computing_(parts.computing),
        hidden_(parts.computing.of(parts.weights.linear("virt.hidden"))) {
    Computing plain = parts.computing;
    plain.route = LinearRoute::plain;  // a single output
    score_ = plain.of(parts.weights.linear("virt.score"));
  }

  [[nodiscard]] TextEncoding queries() const override {
    return {{.group = TokenGroup::query}, {0, shape_.layers}, LastLayer::whole};
  }
  [[nodiscard]] TextEncoding documents() const override {
    return {{.group = TokenGroup::document}, {0, shape_.layers}, LastLayer::whole};
  }
  [[nodiscard]] at::Tensor kept_of_documents(const at::Tensor& states,
                                             const PackedBatch& /*packed*/) const override {
    return states;
  }
  [[nodiscard]] std::int64_t rows_kept(std::int64_t tokens) const override { return 1 + tokens; }
  [[nodiscard]] std::int64_t width() const override { return shape_.hidden; }

  /// The state is [u; v].
  [[nodiscard]] Result<Interacted> interact(const BertEncoder& /*encoder*/,
                                            const EncodedQuery& query, const Candidates& candidates,
                                            const Show& /*show*/) const override {
    const at::Tensor x = query.front().to(at::kFloat);
    const double scale = 1 / std::sqrt(static_cast<double>(shape_.hidden));
    std::vector<at::Tensor> us, vs;
    for (const std::int64_t document : candidates.documents) {
      const at::Tensor y = candidates.rows.gathered({&document, 1}, computing_).to(at::kFloat);
      const at::Tensor products = at::matmul(x, y.t()) * scale;
      us.push_back(at::matmul(at::softmax(products, 1).mean(0, /*keepdim=*/true), y));
      vs.push_back(at::matmul(at::softmax(products, 0).mean(1).unsqueeze(0), x));
    }
    const at::Tensor u = at::cat(us), v = at::cat(vs);
    const at::Tensor scores = score_(at::relu(hidden_(computing_.of(matched(u, v)))));
    return Interacted{.scores = scores.squeeze(1), .states = at::cat({u, v}, 1)};
  }
  [[nodiscard]] ModelWork work(const BertEncoder& /*encoder*/,
                               const InteractionSize& size) const override {
    const auto d = static_cast<double>(shape_.hidden);
    const auto tokens = static_cast<double>(size.query_tokens);
    const double pairs = tokens * size.rows();
    const double flop = 2 * d * (pairs + size.rows() + tokens * size.candidates());
    return {.linear_flop = 2 * size.candidates() * (4 * d * d + d),
            .attention_flop = flop,
            .executed_attention_flop = flop,
            .exponentials = 2 * pairs,
            .least_bytes = size.rows() * size.row_bytes};
  }
  [[nodiscard]] std::int64_t peak_bytes(const BertEncoder& /*encoder*/,
                                        const InteractionSize& size) const override {
    const auto candidates = static_cast<std::int64_t>(size.candidate_rows.size());
    std::int64_t longest = 0;
    for (const std::int64_t rows : size.candidate_rows) longest = std::max(longest, rows);
    return 4 * (candidates * 11 * shape_.hidden +
                longest * (2 * shape_.hidden + 4 * size.query_tokens));
  }

 private:
  ModelShape shape_;
  Computing computing_;
  Linear hidden_, score_;
};

class VirtLikeFamily final : public LateFamily {
 protected:
  [[nodiscard]] const LateDescription& late() const override {
    return static_cast<const LateDescription&>(virt_like_description());
  }
  [[nodiscard]] std::unique_ptr<Interaction> interaction(
      const InteractionParts& parts) const override {
    return std::make_unique<VirtLike>(parts);
  }
  [[nodiscard]] Result<ReferenceOutput> reference_of(const LateReference& reference,
                                                     const ModelConfig& config, TokenIds query,
                                                     TokenIds document) const override {
    const auto both = reference.encode_both(query, document);
    if (!both) return tl::unexpected(both.error());
    const auto& [x, y] = *both;
    const double scale = 1 / std::sqrt(static_cast<double>(config.shape.hidden));
    const at::Tensor u = LateReference::attend(x, y, y, 1, scale).mean(0, /*keepdim=*/true);
    const at::Tensor v = LateReference::attend(y, x, x, 1, scale).mean(0, /*keepdim=*/true);
    const at::Tensor score =
        reference.linear("virt.score", at::relu(reference.linear("virt.hidden", matched(u, v))));
    return ReferenceOutput{.score = score.item<double>(), .state = doubles_of(at::cat({u, v}, 1))};
  }
};

}  // namespace

const Family& virt_like_family() {
  static const VirtLikeFamily family;
  return family;
}

}  // namespace attnscope
