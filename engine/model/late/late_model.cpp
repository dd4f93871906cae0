// SPDX-License-Identifier: Apache-2.0
#include "engine/model/late/late_model.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <utility>

#include "engine/attention/list.h"
#include "engine/attention/torch_tensors.h"
#include "engine/model/late/late_reference.h"
#include "engine/model/model_weights.h"
#include "engine/model/query_groups.h"
#include "engine/model/stretches.h"
#include "kernels/base/sentences.h"

namespace attnscope {
namespace {

/// Documents are encoded so many tokens at a time: a batch's states do not grow with their number.
constexpr std::int64_t document_tokens_at_once = 16'384;

std::int64_t count_of(TokenIds ids) {
  return static_cast<std::int64_t>(ids.size());
}

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

/// Stretches of documents of at most document_tokens_at_once tokens, or of one.
std::vector<std::span<const TokenIds>> pieces_of(std::span<const TokenIds> documents,
                                                 const TextForm& form) {
  return stretches_of(documents, document_tokens_at_once,
                      [&](TokenIds document) { return form.first_tokens() + count_of(document); });
}

/// Without the options that are the family's own, which its encoder knows nothing of.
ModelVariant encoder_variant(ModelVariant variant) {
  variant.options.clear();
  return variant;
}

class LateModel final : public Model {
 public:
  LateModel(std::shared_ptr<const ModelWeights> weights, const ModelVariant& variant,
            const Implementation& implementation, const Computing& computing,
            std::unique_ptr<Interaction> interaction, const std::string& learned,
            DocumentCache::Maker maker)
      : weights_(std::move(weights)),
        shape_(weights_->shape()),
        computing_(computing),
        threads_(variant.threads),
        interaction_(std::move(interaction)),
        queries_(interaction_->queries()),
        documents_(interaction_->documents()),
        encoder_(*weights_, variant, implementation, computing,
                 queries_.last == LastLayer::cls_alone || documents_.last == LastLayer::cls_alone,
                 learned),
        maker_(std::move(maker)) {}

  Status supports(const PairBatch& batch) const override {
    const auto size = foreseen(batch);
    return size ? Status() : tl::unexpected(size.error());
  }

  Result<std::int64_t> predicted_peak_bytes(const PairBatch& batch) const override {
    const auto size = foreseen(batch);
    if (!size) return tl::unexpected(size.error());
    return std::max({size->query_bytes, size->document_bytes, size->interaction_bytes}) +
           size->row_bytes;
  }

  Result<ModelWork> work(const PairBatch& batch) const override {
    const auto size = foreseen(batch);
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
    const auto packed = pack_texts(queries_of(groups), queries_.form, batch.cls, shape_);
    if (!packed) return tl::unexpected(packed.error());
    auto documents = rows_for(batch);
    if (!documents) return tl::unexpected(documents.error());
    const auto stage = encoder_.stage(packed->layout, queries_.last);
    if (!stage) return tl::unexpected(stage.error());
    const auto queries = interaction_->encode_queries(encoder_, **stage, encoder_.embed(*packed));
    if (!queries) return tl::unexpected(queries.error());
    std::vector<GroupOutput> done;
    for (std::size_t g = 0; g < groups.size(); ++g) {
      std::vector<std::int64_t> numbers;
      for (const std::size_t item : groups[g].items) {
        numbers.push_back(batch.documents != nullptr ? batch.items[item].cached
                                                     : static_cast<std::int64_t>(item));
      }
      auto interacted = interaction_->interact(
          encoder_, one_query(*queries, packed->layout, static_cast<std::int64_t>(g)),
          {*documents, numbers}, show);
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
    for (const std::span<const TokenIds> piece : pieces_of(documents, documents_.form)) {
      const auto kept = encode(piece, cls);
      if (!kept) return tl::unexpected(kept.error());
      const at::Tensor host = kept->to(at::kCPU).contiguous();
      const auto* first = static_cast<const std::byte*>(host.const_data_ptr());
      rows.insert(rows.end(), first, first + host.nbytes());
      append_offsets(piece, offsets);
    }
    return DocumentCache(maker(), interaction_->width(), std::move(offsets), std::move(rows));
  }

  Result<ModelWork> work_of_documents(std::span<const TokenIds> documents) const override {
    ModelWork sum;
    for (const std::span<const TokenIds> piece : pieces_of(documents, documents_.form)) {
      const auto stage = stage_of(piece, documents_);
      if (!stage) return tl::unexpected(stage.error());
      add(encoder_.work(**stage, documents_.layers), 1, sum);
      add(interaction_->work_of_keeping((*stage)->layout()), 1, sum);
    }
    return sum;
  }

  Result<CachedRows> cached_rows(std::int64_t tokens) const override {
    return CachedRows{.rows = interaction_->rows_kept(tokens), .width = interaction_->width()};
  }

 private:
  struct Foreseen {
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

  [[nodiscard]] Result<std::unique_ptr<AttentionStage>> stage_of(
      std::span<const TokenIds> texts, const TextEncoding& encoding) const {
    auto layout = layout_of_texts(texts, encoding.form);
    if (!layout) return tl::unexpected(layout.error());
    return encoder_.stage(std::move(*layout), encoding.last);
  }

  void append_offsets(std::span<const TokenIds> documents,
                      std::vector<std::int64_t>& offsets) const {
    for (const TokenIds document : documents)
      offsets.push_back(offsets.back() + interaction_->rows_kept(count_of(document)));
  }

  /// What is kept of some documents, on the model's device.
  [[nodiscard]] Result<at::Tensor> encode(std::span<const TokenIds> documents,
                                          std::int32_t cls) const {
    const auto packed = pack_texts(documents, documents_.form, cls, shape_);
    if (!packed) return tl::unexpected(packed.error());
    const auto stage = encoder_.stage(packed->layout, documents_.last);
    if (!stage) return tl::unexpected(stage.error());
    const auto states = encoder_.run(**stage, encoder_.embed(*packed), documents_.layers);
    if (!states) return tl::unexpected(states.error());
    return interaction_->kept_of_documents(*states, *packed);
  }

  [[nodiscard]] Result<DocumentRows> rows_for(const PairBatch& batch) const {
    if (batch.documents != nullptr) return DocumentRows(*batch.documents);
    const std::vector<TokenIds> documents = documents_of(batch);
    std::vector<std::int64_t> offsets{0};
    std::vector<at::Tensor> kept;
    for (const std::span<const TokenIds> piece : pieces_of(documents, documents_.form)) {
      auto rows = encode(piece, batch.cls);
      if (!rows) return tl::unexpected(rows.error());
      kept.push_back(std::move(*rows));
      append_offsets(piece, offsets);
    }
    return DocumentRows(kept.size() == 1 ? kept.front().contiguous() : at::cat(kept),
                        std::move(offsets));
  }

  static EncodedQuery one_query(const std::vector<QueryRows>& queries, const SequenceLayout& layout,
                                std::int64_t number) {
    EncodedQuery one;
    const TokenRange tokens = layout.item_tokens(number);
    for (const QueryRows& part : queries) {
      one.push_back(part.of_tokens ? part.rows.narrow(0, tokens.begin, tokens.size())
                                   : part.rows.narrow(0, number, 1));
    }
    return one;
  }

  /// What `score` will do, counted.
  [[nodiscard]] Result<Foreseen> foreseen(const PairBatch& batch) const {
    if (batch.items.empty()) return fail("a batch without pairs has nothing to score");
    Foreseen size;
    const double element = batch.documents != nullptr
                               ? static_cast<double>(attnscope::size_of(batch.documents->format()))
                               : static_cast<double>(attnscope::size_of(computing_.dtype));
    if (batch.documents != nullptr) {
      if (Status known = has_its_documents(batch); !known) return tl::unexpected(known.error());
    } else if (Status counted = foresee_documents(batch, size); !counted) {
      return tl::unexpected(counted.error());
    }
    const std::vector<QueryGroup> groups = groups_of(batch);
    const auto stage = stage_of(queries_of(groups), queries_);
    if (!stage) return tl::unexpected(stage.error());
    size.online = interaction_->work_of_queries(encoder_, **stage);
    size.query_bytes = encoder_.peak_bytes(**stage);
    for (const QueryGroup& group : groups) {
      InteractionSize one{.query_tokens = queries_.form.first_tokens() + count_of(group.query),
                          .row_bytes = element * static_cast<double>(interaction_->width())};
      for (const std::size_t item : group.items) {
        one.candidate_rows.push_back(
            batch.documents != nullptr
                ? batch.documents->rows_of(batch.items[item].cached)
                : interaction_->rows_kept(count_of(batch.items[item].document)));
      }
      add(interaction_->work(encoder_, one), 1, size.online);
      size.interaction_bytes =
          std::max(size.interaction_bytes, interaction_->peak_bytes(encoder_, one));
    }
    return size;
  }

  [[nodiscard]] Status foresee_documents(const PairBatch& batch, Foreseen& size) const {
    const std::vector<TokenIds> documents = documents_of(batch);
    const auto work = work_of_documents(documents);
    if (!work) return tl::unexpected(work.error());
    size.documents = *work;
    for (const std::span<const TokenIds> piece : pieces_of(documents, documents_.form)) {
      const auto stage = stage_of(piece, documents_);
      if (!stage) return tl::unexpected(stage.error());
      size.document_bytes = std::max(size.document_bytes, encoder_.peak_bytes(**stage));
    }
    std::vector<std::int64_t> offsets{0};
    append_offsets(documents, offsets);
    // Twice: pieces are put together.
    size.row_bytes =
        2 * offsets.back() * interaction_->width() * attnscope::size_of(computing_.dtype);
    return {};
  }

  std::shared_ptr<const ModelWeights> weights_;
  ModelShape shape_;
  Computing computing_;
  int threads_;
  std::unique_ptr<Interaction> interaction_;
  TextEncoding queries_, documents_;
  BertEncoder encoder_;
  DocumentCache::Maker maker_;  // its weights' fingerprint is taken when it is first asked for
};

/// "sparse, w = 16, 12 heads, epsilon 1e-12": what documents were encoded with that weights do not
/// tell.
std::string encoder_in_words(const ModelVariant& variant, const ModelShape& shape) {
  return fmt::format("{}{}, {} heads, epsilon {}", variant.pattern.name,
                     variant.window ? fmt::format(", w = {}", variant.window->text()) : "",
                     shape.heads, shape.norm_epsilon);
}

}  // namespace

double InteractionSize::rows() const {
  return static_cast<double>(
      std::accumulate(candidate_rows.begin(), candidate_rows.end(), std::int64_t{0}));
}

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
  return std::make_unique<LateModel>(weights, encoder_variant(variant), **found, computing,
                                     interaction({*weights, *config, computing, variant.threads}),
                                     learned(*config),
                                     DocumentCache::Maker{.family = std::string(late().id()),
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
  // A score is a sum over the width of products of two states, each with its error.
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
