// SPDX-License-Identifier: Apache-2.0
//
// ColBERT: a linear layer without a bias projects every token's last state to a unit-length vector;
// the score is the sum, over the query's tokens, of the largest product with a document token.
// In the authors' code, punctuation and padding of a document are zero vectors, so that no maximum
// is below 0. This implementation does not pad, so its maxima start at 0.
#include <ATen/TensorOperators.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/tensor.h>
#include <c10/core/InferenceMode.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "engine/attention/torch_tensors.h"
#include "engine/model/bert/encoder.h"
#include "engine/model/bert/reference.h"
#include "engine/model/late/late_description.h"
#include "engine/model/late/late_model.h"
#include "engine/model/score_head.h"
#include "engine/model/text_encoder.h"

namespace attnscope {

const FamilyDescription& colbert_description();

namespace {

constexpr double least_length = 1e-12;

/// Rows normalized to unit length, computed in float32 at least.
at::Tensor of_length_one(const at::Tensor& rows) {
  return rows / at::linalg_vector_norm(rows, 2, {1}, /*keepdim=*/true).clamp_min(least_length);
}

/// Positions of punctuation among `ids`.
std::vector<std::int64_t> places_of(const std::vector<std::int64_t>& ids,
                                    const std::vector<std::int64_t>& punctuation) {
  std::vector<std::int64_t> places;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (std::ranges::binary_search(punctuation, ids[i]))
      places.push_back(static_cast<std::int64_t>(i));
  }
  return places;
}

class Colbert final : public Interaction {
 public:
  explicit Colbert(const InteractionParts& parts)
      : shape_(parts.config.shape),
        own_(std::any_cast<const ColbertConfig&>(parts.config.own)),
        computing_(parts.computing),
        max_sim_{.computing = computing_, .threads = parts.threads, .width = own_.dim},
        linear_(parts.computing.of(parts.weights.tensor(colbert_linear))) {}

  [[nodiscard]] TextEncoding queries() const override {
    return {{.group = TokenGroup::query}, {0, shape_.layers}, LastLayer::whole};
  }
  [[nodiscard]] TextEncoding documents() const override {
    return {{.group = TokenGroup::document}, {0, shape_.layers}, LastLayer::whole};
  }

  [[nodiscard]] Result<std::vector<QueryRows>> encode_queries(const BertEncoder& encoder,
                                                              const AttentionStage& stage,
                                                              at::Tensor embedded) const override {
    const auto states = encoder.run(stage, std::move(embedded), queries().layers);
    if (!states) return tl::unexpected(states.error());
    return std::vector<QueryRows>{{.rows = vectors_of(*states).to(scalar_type(computing_.dtype))}};
  }
  [[nodiscard]] ModelWork work_of_queries(const BertEncoder& encoder,
                                          const AttentionStage& stage) const override {
    ModelWork work = encoder.work(stage, queries().layers);
    add(work_of_keeping(stage.layout()), 1, work);
    return work;
  }
  [[nodiscard]] at::Tensor kept_of_documents(const at::Tensor& states,
                                             const PackedBatch& packed) const override {
    at::Tensor vectors = vectors_of(states);
    const std::vector<std::int64_t> marks = places_of(packed.ids, own_.punctuation);
    vectors.index_fill_(0, at::tensor(marks, at::kLong).to(vectors.device()), 0);
    return vectors.to(scalar_type(computing_.dtype));
  }
  [[nodiscard]] std::int64_t rows_kept(std::int64_t tokens) const override { return 1 + tokens; }
  [[nodiscard]] std::int64_t width() const override { return own_.dim; }
  [[nodiscard]] ModelWork work_of_keeping(const SequenceLayout& layout) const override {
    return max_sim_.work_of_vectors(layout.tokens(), shape_.hidden);
  }

  [[nodiscard]] Result<Interacted> interact(const BertEncoder& /*encoder*/,
                                            const EncodedQuery& query, const Candidates& candidates,
                                            const Show& show) const override {
    return max_sim_.of(query.front(), candidates, shape_.layers - 1, show);
  }
  [[nodiscard]] ModelWork work(const BertEncoder& /*encoder*/,
                               const InteractionSize& size) const override {
    return max_sim_.work(size);
  }
  [[nodiscard]] std::int64_t peak_bytes(const BertEncoder& /*encoder*/,
                                        const InteractionSize& size) const override {
    return max_sim_.peak_bytes(size);
  }

 private:
  /// [tokens, dim], float32.
  [[nodiscard]] at::Tensor vectors_of(const at::Tensor& states) const {
    return of_length_one(at::linear(states, linear_).to(at::kFloat));
  }

  ModelShape shape_;
  ColbertConfig own_;
  Computing computing_;
  MaxSim max_sim_;     // maxima start at 0
  at::Tensor linear_;  // [dim, hidden]
};

class ColbertFamily final : public LateFamily {
 protected:
  [[nodiscard]] const LateDescription& late() const override {
    return static_cast<const LateDescription&>(colbert_description());
  }
  [[nodiscard]] std::unique_ptr<Interaction> interaction(
      const InteractionParts& parts) const override {
    return std::make_unique<Colbert>(parts);
  }
  /// Vectors of punctuation are stored as zeros.
  [[nodiscard]] std::string kept_in_words(const ModelConfig& config) const override {
    const auto& own = std::any_cast<const ColbertConfig&>(config.own);
    return fmt::format("punctuation {}", fmt::join(own.punctuation, " "));
  }
  [[nodiscard]] Result<ReferenceOutput> reference_of(const LateReference& reference,
                                                     const ModelConfig& config, TokenIds query,
                                                     TokenIds document) const override {
    const auto& own = std::any_cast<const ColbertConfig&>(config.own);
    const auto both = reference.encode_both(query, document);
    if (!both) return tl::unexpected(both.error());
    const at::Tensor weight = reference.tensor(colbert_linear);
    const at::Tensor of_query = of_length_one(at::linear(both->query, weight));
    at::Tensor of_document = of_length_one(at::linear(both->document, weight));
    for (std::size_t i = 0; i < document.size(); ++i) {
      const bool is_mark = std::ranges::find(own.punctuation, document[i]) != own.punctuation.end();
      if (is_mark) of_document[static_cast<std::int64_t>(i) + 1].zero_();
    }
    const at::Tensor maxima =
        std::get<0>(at::matmul(of_query, of_document.t()).max(1)).clamp_min(0);
    return ReferenceOutput{.score = maxima.sum().item<double>(), .state = doubles_of(maxima)};
  }
};

}  // namespace

const Family& colbert_family() {
  static const ColbertFamily family;
  return family;
}

// Late interaction of token vectors (ColBERT: Khattab and Zaharia, SIGIR 2020, Eq. 3) on any body
// that encodes single texts: a head projects every token's last state to a vector, and a score is
// the sum, over the vectors of the query, of the largest product with a vector of the document.

const FamilyDescription& multi_vector_description();

namespace {

/// Determines which tokens of a text, starting with [CLS], have a vector.
class VectorRules {
 public:
  explicit VectorRules(MaxSimConfig config) : config_(std::move(config)) {}
  [[nodiscard]] const MaxSimConfig& config() const { return config_; }

  [[nodiscard]] bool of_query(std::int64_t id, bool is_expansion) const {
    if (is_expansion && !config_.expansion_scores) return false;
    return !config_.skips_queries || !config_.is_skipped(id);
  }
  [[nodiscard]] bool of_document(std::int64_t id) const { return config_.has_document_vector(id); }
  /// The rules that affect the vectors of documents.
  [[nodiscard]] std::string in_words() const {
    return fmt::format(
        "skipped {}; kept {}",
        fmt::join(config_.skips_documents ? config_.skipped : std::vector<std::int32_t>(), " "),
        fmt::join(config_.kept, " "));
  }

 private:
  MaxSimConfig config_;
};

/// Packs queries as [CLS] and tokens; expansion tokens that are not attended to are in the group
/// `document`.
Result<PackedBatch> pack_queries(BiEncoder::Texts queries, const MaxSimConfig& config,
                                 std::int32_t cls, const ModelShape& shape) {
  PairBatch batch{.items = {}, .cls = cls, .document_type = 0};
  for (const TokenIds query : queries) {
    const auto unseen =
        static_cast<std::size_t>(config.attends_to_expansion ? 0 : config.expansion_of(query));
    batch.items.push_back(
        {.query = query.first(query.size() - unseen), .document = query.last(unseen)});
  }
  return pack_batch(batch, /*shares_query=*/false, shape);
}

class MultiVector final : public BiEncoder {
 public:
  MultiVector(const ModelWeights& weights, const Computing& computing, int threads,
              std::unique_ptr<TextEncoder> encoder)
      : shape_(weights.shape()),
        computing_(computing),
        max_sim_{.computing = computing,
                 .threads = threads,
                 .width = width_of(weights.config()),
                 .least = -std::numeric_limits<float>::infinity()},
        rules_(*weights.config().head.max_sim),
        encoder_(std::move(encoder)),
        layers_(weights.config().head, weights, computing) {}

  std::int64_t tokens_before_query() const override { return 1; }
  std::int64_t tokens_before_document() const override { return 1; }

  /// First the queries with an expansion that no token attends to, then the others: each kind has
  /// its own attention.
  Result<std::vector<EncodedQuery>> encode_queries(Texts queries, std::int32_t cls) const override {
    std::vector<EncodedQuery> encoded(queries.size());
    for (const std::vector<std::size_t>& places : by_attention(queries)) {
      if (places.empty()) continue;
      const std::vector<TokenIds> some = those_at(places, queries);
      const auto packed = pack_queries(some, rules_.config(), cls, shape_);
      if (!packed) return tl::unexpected(packed.error());
      const auto states = encoder_->states(*packed, EncodedTexts::queries);
      if (!states) return tl::unexpected(states.error());
      const at::Tensor vectors = layers_(*states);
      for (std::size_t i = 0; i < places.size(); ++i) {
        const TokenRange tokens = packed->layout.item_tokens(static_cast<std::int64_t>(i));
        auto rows = query_rows(vectors.narrow(0, tokens.begin, tokens.size()), some[i], cls);
        if (!rows) return tl::unexpected(rows.error());
        encoded[places[i]] = {std::move(*rows)};
      }
    }
    return encoded;
  }

  Result<Cost> cost_of_queries(Texts queries) const override {
    Cost sum;
    for (const std::vector<std::size_t>& places : by_attention(queries)) {
      if (places.empty()) continue;
      const std::vector<TokenIds> some = those_at(places, queries);
      const auto packed = pack_queries(some, rules_.config(), 0, shape_);
      if (!packed) return tl::unexpected(packed.error());
      const auto cost = cost_of(packed->layout, EncodedTexts::queries);
      if (!cost) return cost;
      add(cost->work, 1, sum.work);
      sum.peak_bytes = std::max(sum.peak_bytes, cost->peak_bytes);
    }
    return sum;
  }

  /// A token without a vector repeats the first vector of its document, which does not change any
  /// maximum: the number of rows then depends only on the number of tokens.
  Result<at::Tensor> encode_documents(Texts documents, std::int32_t cls) const override {
    const auto packed = pack_texts(documents, {.group = TokenGroup::document}, cls, shape_);
    if (!packed) return tl::unexpected(packed.error());
    const auto states = encoder_->states(*packed, EncodedTexts::documents);
    if (!states) return tl::unexpected(states.error());
    std::vector<std::int64_t> rows;
    rows.reserve(packed->ids.size());
    for (std::int64_t i = 0; i < packed->layout.item_count(); ++i) {
      const TokenRange tokens = packed->layout.item_tokens(i);
      const auto has_vector = [&](std::int64_t token) {
        return rules_.of_document(packed->ids[static_cast<std::size_t>(token)]);
      };
      std::int64_t first = tokens.begin;
      while (first < tokens.end && !has_vector(first)) ++first;
      if (first == tokens.end) {
        return fail("document {} of {} has no token with a vector, so it has no score", i + 1,
                    packed->layout.item_count());
      }
      for (std::int64_t token = tokens.begin; token < tokens.end; ++token)
        rows.push_back(has_vector(token) ? token : first);
    }
    return layers_(*states)
        .index_select(0, at::tensor(rows, at::kLong).to(computing_.device))
        .to(scalar_type(computing_.dtype));
  }

  Result<Cost> cost_of_documents(Texts documents) const override {
    const auto layout = layout_of_texts(documents, {.group = TokenGroup::document});
    if (!layout) return tl::unexpected(layout.error());
    return cost_of(*layout, EncodedTexts::documents);
  }
  std::int64_t rows_kept(std::int64_t tokens) const override { return 1 + tokens; }
  std::int64_t width() const override { return max_sim_.width; }

  Result<Interacted> interact(const EncodedQuery& query, const Candidates& candidates,
                              const Show& show) const override {
    auto interacted = max_sim_.of(query.front(), candidates, shape_.layers - 1, show);
    if (interacted && rules_.config().averages)
      interacted->scores = interacted->scores / query.front().size(0);
    return interacted;
  }
  ModelWork work(const InteractionSize& size) const override { return max_sim_.work(size); }
  std::int64_t peak_bytes(const InteractionSize& size) const override {
    return max_sim_.peak_bytes(size);
  }

  static std::int64_t width_of(const ModelConfig& config) {
    std::int64_t width = config.shape.hidden;
    for (const HeadStep& step : config.head.steps)
      if (step.kind == HeadStep::Kind::linear) width = step.out > 0 ? step.out : config.head.labels;
    return width;
  }

 private:
  [[nodiscard]] static std::vector<TokenIds> those_at(const std::vector<std::size_t>& places,
                                                      Texts queries) {
    std::vector<TokenIds> some;
    some.reserve(places.size());
    for (const std::size_t place : places) some.push_back(queries[place]);
    return some;
  }

  [[nodiscard]] std::array<std::vector<std::size_t>, 2> by_attention(Texts queries) const {
    std::array<std::vector<std::size_t>, 2> places;
    for (std::size_t i = 0; i < queries.size(); ++i) {
      const bool is_expanded =
          !rules_.config().attends_to_expansion && rules_.config().expansion_of(queries[i]) > 0;
      places.at(is_expanded ? 0 : 1).push_back(i);
    }
    return places;
  }

  /// The vectors of the tokens that have one; `vectors` are those of [CLS] and all query tokens.
  [[nodiscard]] Result<at::Tensor> query_rows(const at::Tensor& vectors, TokenIds query,
                                              std::int32_t cls) const {
    const std::int64_t real = count_of(query) - rules_.config().expansion_of(query);
    std::vector<std::int64_t> rows;
    if (rules_.of_query(cls, false)) rows.push_back(0);
    for (std::int64_t i = 0; i < count_of(query); ++i)
      if (rules_.of_query(query[static_cast<std::size_t>(i)], i >= real)) rows.push_back(1 + i);
    if (rows.empty()) return fail("a query has no token with a vector, so it has no scores");
    return vectors.index_select(0, at::tensor(rows, at::kLong).to(vectors.device()))
        .to(scalar_type(computing_.dtype));
  }

  [[nodiscard]] Result<Cost> cost_of(const SequenceLayout& layout, EncodedTexts texts) const {
    auto work = encoder_->work(layout, texts);
    if (!work) return tl::unexpected(work.error());
    const auto peak = encoder_->peak_bytes(layout, texts);
    if (!peak) return tl::unexpected(peak.error());
    add(max_sim_.work_of_vectors(layout.tokens(), shape_.hidden), 1, *work);
    return Cost{*work, *peak};
  }

  ModelShape shape_;
  Computing computing_;
  MaxSim max_sim_;
  VectorRules rules_;
  std::unique_ptr<TextEncoder> encoder_;
  HeadLayers layers_;
};

/// The weights with the config of the body.
ModelWeights body_of(const ModelWeights& weights) {
  return {*weights.config().body, weights.tensors()};
}

class MultiVectorFamily final : public Family {
 public:
  [[nodiscard]] const FamilyDescription& description() const override {
    return multi_vector_description();
  }
  [[nodiscard]] std::vector<std::string_view> implementations() const override {
    return bert_implementations();
  }
  [[nodiscard]] Status supports(const ModelConfig& config, const ModelVariant& variant,
                                std::string_view implementation) const override {
    if (Status has = has_body(config); !has) return has;
    return family_of(*config.body->family).supports(*config.body, variant, implementation);
  }
  [[nodiscard]] Result<std::unique_ptr<Model>> make(
      const std::shared_ptr<const ModelWeights>& weights, const ModelVariant& variant,
      std::string_view implementation) const override {
    const c10::InferenceMode no_graph;
    const ModelConfig& config = weights->config();
    if (Status has = has_body(config); !has) return tl::unexpected(has.error());
    use_torch_threads(variant.threads);
    const Computing computing = computing_of(variant, config.shape);
    auto encoder = family_of(*config.body->family)
                       .encoders()
                       ->make_encoder(body_of(*weights), variant, implementation);
    if (!encoder) return tl::unexpected(encoder.error());
    const std::string words =
        fmt::format("{} of {}; {}", encoder_in_words(variant, config.shape),
                    config.body->family->id(), VectorRules(*config.head.max_sim).in_words());
    return make_late_model(
        weights, computing, variant.threads,
        std::make_unique<MultiVector>(*weights, computing, variant.threads, std::move(*encoder)),
        {.family = std::string(description().id()),
         .weights = 0,
         .dtype = variant.dtype,
         .encoding = words});
  }

  [[nodiscard]] Result<ReferenceOutput> reference(const ModelWeights& weights,
                                                  const ModelVariant& variant,
                                                  const PairBatch::Item& item,
                                                  std::int32_t cls) const override {
    const c10::InferenceMode no_graph;
    use_torch_threads(variant.threads);
    const ModelConfig& config = weights.config();
    if (Status has = has_body(config); !has) return tl::unexpected(has.error());
    const VectorRules rules(*config.head.max_sim);
    const std::array<TokenIds, 1> queries{item.query}, documents{item.document};
    const auto query = pack_queries(queries, rules.config(), cls, config.shape);
    if (!query) return tl::unexpected(query.error());
    const auto document = pack_texts(documents, {.group = TokenGroup::document}, cls, config.shape);
    if (!document) return tl::unexpected(document.error());
    const ModelWeights body = body_of(weights);
    const EncoderFamily& encoders = *family_of(*config.body->family).encoders();
    const WideWeights wide(weights, variant.dtype);
    const auto vectors = [&](const PackedBatch& packed, EncodedTexts texts) {
      return head_reference(wide, config.head,
                            encoders.reference_states(body, variant, packed, texts));
    };
    const at::Tensor products = at::matmul(vectors(*query, EncodedTexts::queries),
                                           vectors(*document, EncodedTexts::documents).t());
    const std::int64_t real = 1 + count_of(item.query) - rules.config().expansion_of(item.query);
    std::vector<double> maxima;
    double sum = 0;
    for (std::size_t q = 0; q < query->ids.size(); ++q) {
      if (!rules.of_query(query->ids[q], static_cast<std::int64_t>(q) >= real)) continue;
      double largest = -std::numeric_limits<double>::infinity();
      for (std::size_t d = 0; d < document->ids.size(); ++d) {
        if (!rules.of_document(document->ids[d])) continue;
        largest = std::max(
            largest,
            products[static_cast<std::int64_t>(q)][static_cast<std::int64_t>(d)].item<double>());
      }
      maxima.push_back(largest);
      sum += largest;
    }
    if (rules.config().averages) sum /= static_cast<double>(maxima.size());
    return ReferenceOutput{.score = sum, .state = std::move(maxima)};
  }

  /// A score is a sum of products of two vectors, each with an error of its state.
  [[nodiscard]] double error_bound(DType dtype, const ModelShape& shape) const override {
    return bert_error_bound(dtype, shape) * std::sqrt(static_cast<double>(shape.hidden));
  }

  [[nodiscard]] Result<std::shared_ptr<const ModelWeights>> extended_to(
      const std::shared_ptr<const ModelWeights>& weights, std::int64_t positions) const override {
    ModelConfig config = weights->config();
    if (Status has = has_body(config); !has) return tl::unexpected(has.error());
    const auto body =
        family_of(*config.body->family)
            .extended_to(std::make_shared<const ModelWeights>(body_of(*weights)), positions);
    if (!body) return body;
    config.body = std::make_shared<const ModelConfig>((*body)->config());
    config.shape = (*body)->shape();
    return std::make_shared<const ModelWeights>(std::move(config), (*body)->tensors());
  }

 private:
  [[nodiscard]] static Status has_body(const ModelConfig& config) {
    if (config.body && config.head.max_sim && family_of(*config.body->family).encoders() != nullptr)
      return {};
    return fail("such models need a checkpoint of a BERT-like encoder, which this is not");
  }
};

}  // namespace

const Family& multi_vector_family() {
  static const MultiVectorFamily family;
  return family;
}

}  // namespace attnscope
