// SPDX-License-Identifier: Apache-2.0
#include "engine/model/late/late_model.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "base/fingerprint.h"
#include "base/sentences.h"
#include "engine/attention/torch_tensors.h"
#include "engine/model/bert/encoder.h"
#include "engine/model/query_groups.h"
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

}  // namespace attnscope
