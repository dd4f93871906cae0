// SPDX-License-Identifier: Apache-2.0
#include "engine/model/late/late_model.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/softmax.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

#include "base/fingerprint.h"
#include "base/sentences.h"
#include "engine/attention/list.h"
#include "engine/attention/torch_tensors.h"
#include "engine/model/bert/encoder.h"
#include "engine/model/family.h"
#include "engine/model/model_weights.h"
#include "engine/pattern/attention_pattern.h"

namespace attnscope {
namespace {

/// Limit of the document tokens that are encoded in one call, so that memory does not grow with the
/// number of documents in a batch.
constexpr std::int64_t document_tokens_at_once = 16'384;

std::vector<TokenIds> queries_of(const std::vector<QueryGroup>& groups) {
  std::vector<TokenIds> queries;
  queries.reserve(groups.size());
  for (const QueryGroup& group : groups) queries.push_back(group.query);
  return queries;
}

std::vector<TokenIds> documents_of(const PairBatch& batch) {
  std::vector<TokenIds> documents;
  documents.reserve(batch.items.size());
  for (const PairBatch::Item& item : batch.items) documents.push_back(item.document);
  return documents;
}

class LateModel final : public Model {
 public:
  LateModel(std::shared_ptr<const ModelWeights> weights, const Computing& computing, int threads,
            std::unique_ptr<BiEncoder> encoder, DocumentCache::Maker maker)
      : weights_(std::move(weights)),
        computing_(computing),
        threads_(threads),
        encoder_(std::move(encoder)),
        maker_(std::move(maker)) {}

  Status supports(const PairBatch& batch) const override {
    const auto size = estimate(batch);
    return size ? Status() : tl::unexpected(size.error());
  }

  Result<std::int64_t> predicted_peak_bytes(const PairBatch& batch) const override {
    const auto size = estimate(batch);
    if (!size) return tl::unexpected(size.error());
    return std::max({size->query_bytes, size->document_bytes, size->interaction_bytes}) +
           size->row_bytes;
  }

  Result<ModelWork> work(const PairBatch& batch) const override {
    const auto size = estimate(batch);
    if (!size) return tl::unexpected(size.error());
    ModelWork sum = size->documents;
    add(size->online, 1, sum);
    return sum;
  }

  Result<ModelOutput> score(const PairBatch& batch, const Show& show) override {
    const c10::InferenceMode no_graph;
    use_torch_threads(threads_);
    if (Status able = check(batch); !able) return tl::unexpected(able.error());
    const std::vector<QueryGroup> groups = groups_of(batch);
    const auto queries = encoder_->encode_queries(queries_of(groups), batch.cls);
    if (!queries) return tl::unexpected(queries.error());
    auto documents = rows_for(batch);
    if (!documents) return tl::unexpected(documents.error());
    std::vector<GroupOutput> done;
    for (std::size_t g = 0; g < groups.size(); ++g) {
      std::vector<std::int64_t> numbers;
      for (const std::size_t item : groups[g].items) {
        numbers.push_back(batch.documents != nullptr ? batch.items[item].cached
                                                     : static_cast<std::int64_t>(item));
      }
      auto interacted = encoder_->interact((*queries)[g], {*documents, numbers}, show);
      if (!interacted) return tl::unexpected(interacted.error());
      done.push_back(
          {.scores = floats_of(interacted->scores),
           .states = batch.with_states ? floats_of(interacted->states) : std::vector<float>()});
    }
    return collected(groups, done, batch.items.size());
  }

  Result<DocumentCache> encode_documents(std::span<const TokenIds> documents,
                                         std::int32_t cls) override {
    const c10::InferenceMode no_graph;
    use_torch_threads(threads_);
    std::vector<std::int64_t> offsets{0};
    std::vector<std::byte> rows;
    for (const std::span<const TokenIds> piece : pieces_of(documents)) {
      const auto kept = encoder_->encode_documents(piece, cls);
      if (!kept) return tl::unexpected(kept.error());
      const at::Tensor host = kept->to(at::kCPU).contiguous();
      const auto* first = static_cast<const std::byte*>(host.const_data_ptr());
      rows.insert(rows.end(), first, first + host.nbytes());
      append_offsets(piece, offsets);
    }
    return DocumentCache(maker(), encoder_->width(), std::move(offsets), std::move(rows));
  }

  Result<ModelWork> work_of_documents(std::span<const TokenIds> documents) const override {
    ModelWork sum;
    for (const std::span<const TokenIds> piece : pieces_of(documents)) {
      const auto cost = encoder_->cost_of_documents(piece);
      if (!cost) return tl::unexpected(cost.error());
      add(cost->work, 1, sum);
    }
    return sum;
  }

  Result<CachedRows> cached_rows(std::int64_t tokens) const override {
    return CachedRows{.rows = encoder_->rows_kept(tokens), .width = encoder_->width()};
  }

 private:
  struct Estimated {
    ModelWork documents, online;
    std::int64_t query_bytes = 0, document_bytes = 0, interaction_bytes = 0, row_bytes = 0;
  };

  [[nodiscard]] const DocumentCache::Maker& maker() {
    if (maker_.weights == 0) maker_.weights = weights_->fingerprint();
    return maker_;
  }

  [[nodiscard]] Status check(const PairBatch& batch) {
    if (batch.items.empty()) return fail("a batch without pairs has nothing to score");
    if (batch.documents == nullptr) return {};
    if (Status fits = batch.documents->fits(maker()); !fits) return fits;
    return has_its_documents(batch);
  }

  /// Splits the documents into pieces of at most document_tokens_at_once tokens; a longer document
  /// is a piece of its own.
  [[nodiscard]] std::vector<std::span<const TokenIds>> pieces_of(
      std::span<const TokenIds> documents) const {
    return runs_of(documents, document_tokens_at_once, [&](TokenIds document) {
      return encoder_->tokens_before_document() + count_of(document);
    });
  }

  void append_offsets(std::span<const TokenIds> documents,
                      std::vector<std::int64_t>& offsets) const {
    for (const TokenIds document : documents)
      offsets.push_back(offsets.back() + encoder_->rows_kept(count_of(document)));
  }

  [[nodiscard]] Result<DocumentRows> rows_for(const PairBatch& batch) const {
    if (batch.documents != nullptr) return DocumentRows(*batch.documents);
    const std::vector<TokenIds> documents = documents_of(batch);
    std::vector<std::int64_t> offsets{0};
    std::vector<at::Tensor> kept;
    for (const std::span<const TokenIds> piece : pieces_of(documents)) {
      auto rows = encoder_->encode_documents(piece, batch.cls);
      if (!rows) return tl::unexpected(rows.error());
      kept.push_back(std::move(*rows));
      append_offsets(piece, offsets);
    }
    return DocumentRows(kept.size() == 1 ? kept.front().contiguous() : at::cat(kept),
                        std::move(offsets));
  }

  /// Predicted work and memory of `score`.
  [[nodiscard]] Result<Estimated> estimate(const PairBatch& batch) const {
    if (batch.items.empty()) return fail("a batch without pairs has nothing to score");
    Estimated size;
    const double element = batch.documents != nullptr
                               ? static_cast<double>(attnscope::size_of(batch.documents->format()))
                               : static_cast<double>(attnscope::size_of(computing_.dtype));
    if (batch.documents != nullptr) {
      if (Status known = has_its_documents(batch); !known) return tl::unexpected(known.error());
    } else if (Status counted = estimate_documents(batch, size); !counted) {
      return tl::unexpected(counted.error());
    }
    const std::vector<QueryGroup> groups = groups_of(batch);
    const auto queries = encoder_->cost_of_queries(queries_of(groups));
    if (!queries) return tl::unexpected(queries.error());
    size.online = queries->work;
    size.query_bytes = queries->peak_bytes;
    for (const QueryGroup& group : groups) {
      InteractionSize interaction{
          .query_tokens = encoder_->tokens_before_query() + count_of(group.query),
          .row_bytes = element * static_cast<double>(encoder_->width())};
      for (const std::size_t item : group.items) {
        interaction.candidate_rows.push_back(
            batch.documents != nullptr ? batch.documents->rows_of(batch.items[item].cached)
                                       : encoder_->rows_kept(count_of(batch.items[item].document)));
      }
      add(encoder_->work(interaction), 1, size.online);
      size.interaction_bytes = std::max(size.interaction_bytes, encoder_->peak_bytes(interaction));
    }
    return size;
  }

  [[nodiscard]] Status estimate_documents(const PairBatch& batch, Estimated& size) const {
    const std::vector<TokenIds> documents = documents_of(batch);
    for (const std::span<const TokenIds> piece : pieces_of(documents)) {
      const auto cost = encoder_->cost_of_documents(piece);
      if (!cost) return tl::unexpected(cost.error());
      add(cost->work, 1, size.documents);
      size.document_bytes = std::max(size.document_bytes, cost->peak_bytes);
    }
    std::vector<std::int64_t> offsets{0};
    append_offsets(documents, offsets);
    // Counted twice, because the concatenation copies the pieces.
    size.row_bytes = 2 * offsets.back() * encoder_->width() * attnscope::size_of(computing_.dtype);
    return {};
  }

  std::shared_ptr<const ModelWeights> weights_;
  Computing computing_;
  int threads_;
  std::unique_ptr<BiEncoder> encoder_;
  DocumentCache::Maker maker_;  // the weights' fingerprint is computed on demand
};

/// The pattern's name, followed by a fingerprint of its edges unless the pattern is built in.
std::string in_words(const AttentionPattern& pattern, const std::optional<Window>& window) {
  std::string words = pattern.name;
  if (std::ranges::find(built_in_patterns(), pattern) == built_in_patterns().end()) {
    RunningSum sum;
    sum.add(pattern_json(pattern));
    words += fmt::format(" {:016x}", sum.value());
  }
  return window ? fmt::format("{}, w = {}", words, window->text()) : words;
}

}  // namespace

double InteractionSize::rows() const {
  return static_cast<double>(
      std::accumulate(candidate_rows.begin(), candidate_rows.end(), std::int64_t{0}));
}

std::unique_ptr<Model> make_late_model(std::shared_ptr<const ModelWeights> weights,
                                       const Computing& computing, int threads,
                                       std::unique_ptr<BiEncoder> encoder,
                                       DocumentCache::Maker maker) {
  return std::make_unique<LateModel>(std::move(weights), computing, threads, std::move(encoder),
                                     std::move(maker));
}

std::string encoder_in_words(const ModelVariant& variant, const ModelShape& shape) {
  std::string words = in_words(variant.pattern, variant.window);
  if (variant.local) {
    words +=
        fmt::format(", local layers {}", in_words(variant.local->pattern, variant.local->window));
  }
  if (!variant.layer_windows.empty()) {
    RunningSum sum;
    for (const Window& window : variant.layer_windows) sum.add(window.text());
    words += fmt::format(", windows by layer {:016x}", sum.value());
  }
  return fmt::format("{}, {} heads, epsilon {}", words, shape.heads, shape.norm_epsilon);
}

Result<Interacted> MaxSim::of(const at::Tensor& query, const Candidates& candidates,
                              std::int64_t layer, const Show& show) const {
  const auto largest = largest_products_with(candidates, query, least, computing, threads);
  if (!largest) return tl::unexpected(largest.error());
  if (show && candidates.count() == 1) {
    const at::Tensor rows =
        at::cat({query.to(at::kFloat),
                 candidates.rows.gathered(candidates.documents, computing).to(at::kFloat)});
    const std::vector<float> vectors = floats_of(rows);
    for (const char* name : {"q", "k", "v"})
      show({layer, name, {rows.size(0), 1, rows.size(1)}, vectors});
  }
  return Interacted{.scores = largest->sum(1), .states = *largest};
}

ModelWork MaxSim::work(const InteractionSize& size) const {
  return {.linear_flop = 2 * size.rows() * static_cast<double>(size.query_tokens * width),
          .least_bytes = size.rows() * size.row_bytes};
}

std::int64_t MaxSim::peak_bytes(const InteractionSize& size) const {
  const auto candidates = static_cast<std::int64_t>(size.candidate_rows.size());
  if (computing.device.is_cpu()) return candidates * (4 * size.query_tokens + 32);
  return static_cast<std::int64_t>(size.rows()) * (8 * size.query_tokens + 4 * width + 16);
}

ModelWork MaxSim::work_of_vectors(std::int64_t tokens, std::int64_t hidden) const {
  const double weights = static_cast<double>(hidden) * static_cast<double>(width);
  const auto count = static_cast<double>(tokens);
  return {.linear_flop = 2 * count * weights,
          .least_bytes = (weights + count * static_cast<double>(width)) *
                         static_cast<double>(attnscope::size_of(computing.dtype))};
}

at::Tensor LateReference::tensor(const std::string& name) const {
  return weights_.tensor(name).to(scalar_type(variant_.dtype)).to(at::kDouble);
}

at::Tensor LateReference::linear(const std::string& name, const at::Tensor& x) const {
  return at::linear(x, tensor(name + ".weight"), tensor(name + ".bias"));
}

at::Tensor LateReference::norm(const std::string& name, const at::Tensor& x) const {
  return at::layer_norm(x, {x.size(1)}, tensor(name + ".weight"), tensor(name + ".bias"),
                        shape().norm_epsilon);
}

Result<at::Tensor> LateReference::encode(TokenIds text, const TextForm& form, std::int64_t end,
                                         const std::string& learned) const {
  const auto packed = pack_texts({&text, 1}, form, cls_, shape());
  if (!packed) return tl::unexpected(packed.error());
  const ReferenceEncoder encoder(weights_, variant_, packed->layout);
  return encoder.run(encoder.embed(*packed, learned), 0, end);
}

Result<LateReference::Both> LateReference::encode_both(TokenIds query, TokenIds document) const {
  auto q = encode(query, {.group = TokenGroup::query}, shape().layers);
  if (!q) return tl::unexpected(q.error());
  auto d = encode(document, {.group = TokenGroup::document}, shape().layers);
  if (!d) return tl::unexpected(d.error());
  return Both{std::move(*q), std::move(*d)};
}

at::Tensor LateReference::run_from(const SequenceLayout& layout, const at::Tensor& x,
                                   std::int64_t first) const {
  return ReferenceEncoder(weights_, variant_, layout).run(x, first, shape().layers);
}

at::Tensor LateReference::attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                 std::int64_t heads, double scale) {
  const std::int64_t dim = q.size(1) / heads;
  std::vector<at::Tensor> outputs;
  for (std::int64_t h = 0; h < heads; ++h) {
    const auto of_head = [&](const at::Tensor& x) { return x.narrow(1, h * dim, dim); };
    const at::Tensor weights = at::softmax(at::matmul(of_head(q), of_head(k).t()) * scale, 1);
    outputs.push_back(at::matmul(weights, of_head(v)));
  }
  return at::cat(outputs, 1);
}

namespace {

/// The variant without the family's own options, which its encoder does not know.
ModelVariant encoder_variant(ModelVariant variant) {
  variant.options.clear();
  return variant;
}

/// BERT's encoder and a family's interaction.
class BertBiEncoder final : public BiEncoder {
 public:
  BertBiEncoder(const ModelWeights& weights, const ModelVariant& variant,
                const Implementation& implementation, const Computing& computing,
                std::unique_ptr<Interaction> interaction, const std::string& learned)
      : shape_(weights.shape()),
        interaction_(std::move(interaction)),
        queries_(interaction_->queries()),
        documents_(interaction_->documents()),
        encoder_(weights, variant, implementation, computing,
                 queries_.last == LastLayer::cls_alone || documents_.last == LastLayer::cls_alone,
                 learned) {}

  std::int64_t tokens_before_query() const override { return queries_.form.first_tokens(); }
  std::int64_t tokens_before_document() const override { return documents_.form.first_tokens(); }

  Result<std::vector<EncodedQuery>> encode_queries(Texts queries, std::int32_t cls) const override {
    const auto packed = pack_texts(queries, queries_.form, cls, shape_);
    if (!packed) return tl::unexpected(packed.error());
    const auto stage = encoder_.stage(packed->layout, queries_.last);
    if (!stage) return tl::unexpected(stage.error());
    const auto rows = interaction_->encode_queries(encoder_, **stage, encoder_.embed(*packed));
    if (!rows) return tl::unexpected(rows.error());
    std::vector<EncodedQuery> encoded;
    for (std::int64_t i = 0; i < packed->layout.item_count(); ++i)
      encoded.push_back(query_of(*rows, packed->layout, i));
    return encoded;
  }

  Result<Cost> cost_of_queries(Texts queries) const override {
    const auto stage = stage_of(queries, queries_);
    if (!stage) return tl::unexpected(stage.error());
    return Cost{interaction_->work_of_queries(encoder_, **stage), encoder_.peak_bytes(**stage)};
  }

  Result<at::Tensor> encode_documents(Texts documents, std::int32_t cls) const override {
    const auto packed = pack_texts(documents, documents_.form, cls, shape_);
    if (!packed) return tl::unexpected(packed.error());
    const auto stage = encoder_.stage(packed->layout, documents_.last);
    if (!stage) return tl::unexpected(stage.error());
    const auto states = encoder_.run(**stage, encoder_.embed(*packed), documents_.layers);
    if (!states) return tl::unexpected(states.error());
    return interaction_->kept_of_documents(*states, *packed);
  }

  Result<Cost> cost_of_documents(Texts documents) const override {
    const auto stage = stage_of(documents, documents_);
    if (!stage) return tl::unexpected(stage.error());
    Cost cost{encoder_.work(**stage, documents_.layers), encoder_.peak_bytes(**stage)};
    add(interaction_->work_of_keeping((*stage)->layout()), 1, cost.work);
    return cost;
  }

  std::int64_t rows_kept(std::int64_t tokens) const override {
    return interaction_->rows_kept(tokens);
  }
  std::int64_t width() const override { return interaction_->width(); }

  Result<Interacted> interact(const EncodedQuery& query, const Candidates& candidates,
                              const Show& show) const override {
    return interaction_->interact(encoder_, query, candidates, show);
  }
  ModelWork work(const InteractionSize& size) const override {
    return interaction_->work(encoder_, size);
  }
  std::int64_t peak_bytes(const InteractionSize& size) const override {
    return interaction_->peak_bytes(encoder_, size);
  }

 private:
  [[nodiscard]] Result<std::unique_ptr<AttentionStage>> stage_of(
      Texts texts, const TextEncoding& encoding) const {
    auto layout = layout_of_texts(texts, encoding.form);
    if (!layout) return tl::unexpected(layout.error());
    return encoder_.stage(std::move(*layout), encoding.last);
  }

  static EncodedQuery query_of(const std::vector<QueryRows>& queries, const SequenceLayout& layout,
                               std::int64_t number) {
    EncodedQuery query;
    const TokenRange tokens = layout.item_tokens(number);
    for (const QueryRows& part : queries) {
      query.push_back(part.of_tokens ? part.rows.narrow(0, tokens.begin, tokens.size())
                                     : part.rows.narrow(0, number, 1));
    }
    return query;
  }

  ModelShape shape_;
  std::unique_ptr<Interaction> interaction_;
  TextEncoding queries_, documents_;
  BertEncoder encoder_;
};

}  // namespace

Result<std::vector<QueryRows>> Interaction::encode_queries(const BertEncoder& encoder,
                                                           const AttentionStage& stage,
                                                           at::Tensor embedded) const {
  auto states = encoder.run(stage, std::move(embedded), queries().layers);
  if (!states) return tl::unexpected(states.error());
  return std::vector<QueryRows>{
      {.rows = std::move(*states), .of_tokens = queries().last == LastLayer::whole}};
}

ModelWork Interaction::work_of_queries(const BertEncoder& encoder,
                                       const AttentionStage& stage) const {
  return encoder.work(stage, queries().layers);
}

ModelWork Interaction::work_of_keeping(const SequenceLayout& /*layout*/) const {
  return {};
}

std::vector<std::string_view> LateFamily::implementations() const {
  return bert_implementations();
}

Status LateFamily::supports(const ModelConfig& config, const ModelVariant& variant,
                            std::string_view implementation) const {
  const auto made = late().configured(config, variant.options);
  if (!made) return tl::unexpected(made.error());
  if (Status able = fits(*made); !able) return able;
  return supports_attention(encoder_variant(variant), config.shape, implementation);
}

Result<std::unique_ptr<Model>> LateFamily::make(const std::shared_ptr<const ModelWeights>& weights,
                                                const ModelVariant& variant,
                                                std::string_view implementation) const {
  const c10::InferenceMode no_graph;
  const auto found = implementation_named(implementation);
  if (!found) return tl::unexpected(found.error());
  const auto config = late().configured(weights->config(), variant.options);
  if (!config) return tl::unexpected(config.error());
  if (Status able = fits(*config); !able) return tl::unexpected(able.error());
  if (Status there = has_tensors(*weights, *config); !there) return tl::unexpected(there.error());
  use_torch_threads(variant.threads);
  const Computing computing = computing_of(variant, config->shape);
  std::string encoding = encoder_in_words(variant, config->shape);
  if (const std::string kept = kept_in_words(*config); !kept.empty()) encoding += "; " + kept;
  auto encoder = std::make_unique<BertBiEncoder>(
      *weights, encoder_variant(variant), **found, computing,
      interaction({*weights, *config, computing, variant.threads}), learned(*config));
  return make_late_model(weights, computing, variant.threads, std::move(encoder),
                         {.family = std::string(late().id()),
                          .weights = 0,
                          .dtype = variant.dtype,
                          .encoding = std::move(encoding)});
}

Result<ReferenceOutput> LateFamily::reference(const ModelWeights& weights,
                                              const ModelVariant& variant,
                                              const PairBatch::Item& item, std::int32_t cls) const {
  const c10::InferenceMode no_graph;
  use_torch_threads(variant.threads);
  const auto config = late().configured(weights.config(), variant.options);
  if (!config) return tl::unexpected(config.error());
  if (Status able = fits(*config); !able) return tl::unexpected(able.error());
  const ModelVariant plain = encoder_variant(variant);
  return reference_of(LateReference(weights, plain, cls), *config, item.query, item.document);
}

double LateFamily::error_bound(DType dtype, const ModelShape& shape) const {
  // A score is a sum over the width of products of two states, each with an error.
  return bert_error_bound(dtype, shape) * std::sqrt(static_cast<double>(shape.hidden));
}

Result<std::shared_ptr<const ModelWeights>> LateFamily::extended_to(
    const std::shared_ptr<const ModelWeights>& weights, std::int64_t positions) const {
  return with_positions(*weights, positions);
}

Status LateFamily::fits(const ModelConfig& /*config*/) const {
  return {};
}

std::string LateFamily::learned(const ModelConfig& /*config*/) const {
  return {};
}

std::string LateFamily::kept_in_words(const ModelConfig& /*config*/) const {
  return {};
}

}  // namespace attnscope
