// SPDX-License-Identifier: Apache-2.0
#include "engine/model/words/encoded_model.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/exp.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include "engine/attention/torch_tensors.h"
#include "engine/model/bert/encoder.h"
#include "engine/model/family.h"
#include "engine/model/words/words_description.h"

namespace attnscope {
namespace {

/// Words of the sequences that pass through all layers in one call: states and projections of so
/// many words of 300 numbers stay in a core's L2 cache.
constexpr std::int64_t most_words_at_once = 250;
/// Fewer words make products slow; leaving some threads idle is faster.
constexpr std::int64_t least_words_at_once = 100;

ModelVariant whole_attention(const ModelVariant& variant, int threads) {
  return {.pattern = *find_pattern("full"),
          .dtype = variant.dtype,
          .device = variant.device,
          .threads = threads};
}

LayerParts parts_of(const ModelWeights& weights, std::int64_t layer) {
  constexpr double epsilon = 1e-5;
  const auto name = [&](std::string_view part) { return name_in_contextualizer(layer, part); };
  return {.all = {weights.tensor(name("self_attn.in_proj_weight")),
                  weights.tensor(name("self_attn.in_proj_bias"))},
          .attention_output = weights.linear(name("self_attn.out_proj")),
          .intermediate = weights.linear(name("linear1")),
          .output = weights.linear(name("linear2")),
          .attention_norm = weights.norm(name("norm1")),
          .output_norm = weights.norm(name("norm2")),
          .norm_epsilon = epsilon,
          .activation = cpu::Activation::relu};
}

std::int64_t sum_of(std::span<const std::int64_t> lengths) {
  return std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
}

/// to = word vector of the row + position vector.
void embed(const ContextCall& call, const ContextRow& row, const at::Tensor& words, float* to) {
  const std::int64_t width = words.size(1);
  const float* word = words.const_data_ptr<float>() + row.word * width;
  const float* position = call.positions.const_data_ptr<float>() + row.position * width;
  for (std::int64_t c = 0; c < width; ++c) to[c] = word[c] + position[c];
}

/// to = the hybrid of a word's own vector and the layers' output for it.
void keep(const ContextCall& call, const float* word, const float* context, std::int64_t width,
          float* to) {
  constexpr float least_norm = 1e-13F;
  const auto own = static_cast<float>(call.mixer), rest = static_cast<float>(1 - call.mixer);
  for (std::int64_t c = 0; c < width; ++c) to[c] = own * word[c] + rest * context[c];
  if (!call.to_unit_length) return;
  // Several independent sums, which the compiler vectorizes.
  std::array<float, 16> sums{};
  std::int64_t c = 0;
  for (; c + std::ssize(sums) <= width; c += std::ssize(sums))
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += to[c + i] * to[c + i];
  float square = std::accumulate(sums.begin(), sums.end(), 0.0F);
  for (; c < width; ++c) square += to[c] * to[c];
  const float scale = 1 / (std::sqrt(square) + least_norm);
  for (c = 0; c < width; ++c) to[c] *= scale;
}

/// Words per thread that are encoded in one call: temporary memory does not grow with the number of
/// documents, and the vectors are still in the caches when they are scored.
constexpr std::int64_t words_of_a_thread = 1'024;

}  // namespace

Contextualizer::Contextualizer(const ModelWeights& weights, const ModelVariant& variant,
                               const Implementation& implementation)
    : shape_(weights.shape()),
      together_(whole_attention(variant, variant.threads)),
      alone_(whole_attention(variant, 1)),
      implementation_(implementation),
      words_(weights.tensor(word_embeddings).contiguous()) {
  const Computing computing = computing_of(together_, shape_);
  layers_.reserve(static_cast<std::size_t>(shape_.layers));
  for (std::int64_t layer = 0; layer < shape_.layers; ++layer)
    layers_.emplace_back(parts_of(weights, layer), computing);
}

Result<at::Tensor> Contextualizer::run(const ContextCall& call) const {
  at::Tensor kept = at::empty({call.kept, shape_.hidden}, at::kFloat);
  const std::vector<Piece> pieces = pieces_of(call.lengths);
  const int team = workers(pieces.size());
  const ModelVariant& variant = team > 1 ? alone_ : together_;
  std::vector<Status> done(static_cast<std::size_t>(team));
  std::atomic<std::size_t> next{0};
  const auto take = [&]() -> Status {
    const c10::InferenceMode no_graph;
    Planned planned;
    for (std::size_t i = next++; i < pieces.size(); i = next++) {
      if (Status able = plan(variant, pieces[i], planned); !able) return able;
      Status ran = run_piece(call, pieces[i], *planned.stage, kept);
      if (!ran) return ran;
    }
    return {};
  };
  if (team == 1) {
    done.front() = take();
  } else {
    at::parallel_for(0, team, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t t = begin; t < end; ++t) done[static_cast<std::size_t>(t)] = take();
    });
  }
  for (const Status& status : done)
    if (!status) return tl::unexpected(status.error());
  return kept;
}

Status Contextualizer::plan(const ModelVariant& variant, const Piece& piece, Planned& at) const {
  if (at.stage && std::ranges::equal(piece.lengths, at.lengths)) return {};
  auto made = stage(variant, piece.lengths);
  if (!made) return tl::unexpected(made.error());
  at = {std::move(*made), piece.lengths};
  return {};
}

Status Contextualizer::run_piece(const ContextCall& call, const Piece& piece,
                                 const AttentionStage& prepared, at::Tensor& kept) const {
  const std::int64_t width = shape_.hidden;
  const auto rows = call.rows.subspan(static_cast<std::size_t>(piece.first),
                                      static_cast<std::size_t>(piece.words));
  at::Tensor states = at::empty({piece.words, width}, at::kFloat);
  auto* first = states.mutable_data_ptr<float>();
  for (float* to = first; const ContextRow& row : rows) {
    embed(call, row, words_, to);
    to += width;
  }
  for (const EncoderLayer& layer : layers_) {
    const auto o = prepared.attend(layer, states);
    if (!o) return tl::unexpected(o.error());
    layer.finish(*o, states);
  }
  const float* words = words_.const_data_ptr<float>();
  auto* result = kept.mutable_data_ptr<float>();
  for (const float* context = first; const ContextRow& row : rows) {
    if (row.kept != ContextRow::dropped)
      keep(call, words + row.word * width, context, width, result + row.kept * width);
    context += width;
  }
  return {};
}

std::vector<Contextualizer::Piece> Contextualizer::pieces_of(
    std::span<const std::int64_t> lengths) const {
  const std::int64_t share = sum_of(lengths) / std::max(together_.threads, 1);
  const std::int64_t most = std::clamp(share, least_words_at_once, most_words_at_once);
  std::vector<Piece> pieces;
  std::int64_t first = 0;
  for (const auto some : runs_of(lengths, most, [](std::int64_t length) { return length; })) {
    const std::int64_t words = sum_of(some);
    if (words > 0) pieces.push_back({some, first, words});
    first += words;
  }
  return pieces;
}

int Contextualizer::workers(std::size_t pieces) const {
  return std::cmp_less(pieces, together_.threads) ? 1 : together_.threads;
}

Result<ModelWork> Contextualizer::work(std::span<const std::int64_t> lengths) const {
  ModelWork sum;
  const auto hidden = static_cast<double>(shape_.hidden);
  const auto wide = static_cast<double>(shape_.feed_forward);
  Planned planned;
  for (const Piece& piece : pieces_of(lengths)) {
    if (Status able = plan(alone_, piece, planned); !able) return tl::unexpected(able.error());
    ModelWork layer = planned.stage->work_of_layer();
    layer.linear_flop = 2 * static_cast<double>(piece.words) * hidden * (4 * hidden + 2 * wide);
    add(layer, static_cast<double>(shape_.layers), sum);
  }
  // States are read and written once per layer, and its weights read once.
  sum.least_bytes =
      static_cast<double>(shape_.layers) * static_cast<double>(sizeof(float)) *
      (2 * static_cast<double>(sum_of(lengths)) * hidden + 4 * hidden * hidden + 2 * hidden * wide);
  return sum;
}

std::int64_t Contextualizer::peak_bytes(std::span<const std::int64_t> lengths) const {
  const std::vector<Piece> pieces = pieces_of(lengths);
  const int team = workers(pieces.size());
  std::int64_t most = 0;
  Planned planned;
  for (const Piece& piece : pieces) {
    if (plan(team > 1 ? alone_ : together_, piece, planned))
      most = std::max(most, peak_bytes_of(*planned.stage, piece.words));
  }
  return team * most + sum_of(lengths) * static_cast<std::int64_t>(sizeof(ContextRow));
}

std::int64_t Contextualizer::peak_bytes_of(const AttentionStage& stage, std::int64_t words) const {
  const std::int64_t states = words * shape_.hidden * static_cast<std::int64_t>(sizeof(float));
  const std::int64_t wide = std::min(words, EncoderLayer::tokens_at_once) *
                            (3 * shape_.hidden + 2 * shape_.feed_forward) *
                            static_cast<std::int64_t>(sizeof(float));
  return states + std::max(stage.peak_bytes(), states + wide);
}

Result<std::unique_ptr<AttentionStage>> Contextualizer::stage(
    const ModelVariant& variant, std::span<const std::int64_t> lengths) const {
  std::vector<LayoutItem> items;
  items.reserve(lengths.size());
  for (const std::int64_t length : lengths) items.push_back({.cls = 0, .documents = {length}});
  auto layout = SequenceLayout::make(std::move(items));
  if (!layout) return tl::unexpected(layout.error());
  return AttentionStage::make(variant, shape_, implementation_, std::move(*layout));
}

std::vector<std::string_view> word_implementations() {
  return {"segment", "sdpa", "dense"};
}

at::Tensor sinusoid_rows(std::int64_t count, std::int64_t hidden) {
  const std::int64_t half = hidden / 2;
  const double step = std::log(10000.0) / static_cast<double>(std::max<std::int64_t>(half - 1, 1));
  const at::Tensor rates = at::exp(at::arange(half, at::kDouble) * -step);
  const at::Tensor angles = at::arange(count, at::kDouble).unsqueeze(1) * rates;
  return at::cat({angles.sin(), angles.cos()}, 1).to(at::kFloat);
}

cpu::PoolingCall EncodedModel::Encoded::pooling() const {
  std::int64_t end = 0;
  for (const TokenRange& document : documents) end = std::max(end, document.end);
  return {.query = {query.const_data_ptr<float>(), query.size(1)},
          .query_rows = query.size(0),
          .tokens = {rows, query.size(1)},
          .token_rows = end,
          .width = query.size(1),
          .documents = documents,
          .tokens_normalised = true};
}

EncodedModel::EncodedModel(const std::shared_ptr<const ModelWeights>& weights,
                           const ModelConfig& config, const ModelVariant& variant,
                           const Implementation& implementation, std::string_view encoding)
    : WordsModel(weights, config, variant),
      contextualizer_(*weights, variant, implementation),
      maker_{.family = std::string(config.family->id()),
             .weights = 0,
             .dtype = variant.dtype,
             .encoding = fmt::format("{}, {} heads", encoding, config.shape.heads)} {}

Result<DocumentCache> EncodedModel::encode_documents(std::span<const TokenIds> documents,
                                                     std::int32_t /*cls*/) {
  const c10::InferenceMode no_graph;
  use_torch_threads(threads());
  if (Status able = check_documents(documents); !able) return tl::unexpected(able.error());
  std::vector<std::int64_t> offsets{0};
  std::vector<std::byte> bytes;
  const std::vector<TokenIds> texts = without_padding(documents);
  for (const auto piece : pieces_of_words(texts, words_at_once())) {
    const auto rows = encode(piece);
    if (!rows) return tl::unexpected(rows.error());
    const auto* first = static_cast<const std::byte*>(rows->const_data_ptr());
    bytes.insert(bytes.end(), first, first + rows->nbytes());
    for (const TokenIds text : piece) offsets.push_back(offsets.back() + kept_of(words_in(text)));
  }
  return DocumentCache(maker(), hidden(), std::move(offsets), std::move(bytes));
}

Result<ModelWork> EncodedModel::work_of_documents(std::span<const TokenIds> documents) const {
  return work_of_encoding(words_in(without_padding(documents)));
}

Result<CachedRows> EncodedModel::cached_rows(std::int64_t tokens) const {
  return CachedRows{.rows = kept_of(tokens), .width = hidden()};
}

Result<GroupOutput> EncodedModel::score_words(TokenIds query, std::span<const TokenIds> documents,
                                              const Show& show) {
  const auto encoded = encode_query(query);
  if (!encoded) return tl::unexpected(encoded.error());
  GroupOutput all;
  for (const auto piece : pieces_of_words(documents, words_at_once())) {
    const auto rows = encode(piece);
    if (!rows) return tl::unexpected(rows.error());
    std::vector<TokenRange> ranges;
    for (std::int64_t first = 0; const TokenIds text : piece) {
      const std::int64_t own = kept_of(words_in(text));
      ranges.push_back({first, first + own});
      first += own;
    }
    const auto done = interact({*encoded, query, rows->const_data_ptr<float>(), ranges}, show);
    if (!done) return tl::unexpected(done.error());
    all.scores.insert(all.scores.end(), done->scores.begin(), done->scores.end());
    all.states.insert(all.states.end(), done->states.begin(), done->states.end());
  }
  return all;
}

Result<GroupOutput> EncodedModel::score_encoded(TokenIds query, const DocumentCache& documents,
                                                std::span<const std::int64_t> numbers,
                                                const Show& show) {
  const auto encoded = encode_query(query);
  if (!encoded) return tl::unexpected(encoded.error());
  const DocumentRows rows(documents);
  std::vector<TokenRange> ranges;
  ranges.reserve(numbers.size());
  // In float32, the format of the computation, rows are read in place.
  if (documents.format() == VectorFormat::float32) {
    for (const std::int64_t number : numbers) ranges.push_back(rows.range(number));
    const auto* first = reinterpret_cast<const float*>(documents.vectors().data);
    return interact({*encoded, query, first, ranges}, show);
  }
  const at::Tensor gathered = rows.gathered(numbers, {}).contiguous();
  for (std::int64_t first = 0; const std::int64_t number : numbers) {
    const std::int64_t own = documents.rows_of(number);
    ranges.push_back({first, first + own});
    first += own;
  }
  return interact({*encoded, query, gathered.const_data_ptr<float>(), ranges}, show);
}

Status EncodedModel::accepts(const DocumentCache& documents) {
  return documents.fits(maker());
}

ModelWork EncodedModel::work_of(const WordCounts& counts) const {
  ModelWork sum = work_of_interaction(kept(counts));
  const std::vector<std::int64_t> query{counts.query};
  // Lengths that are valid for a text are valid for a layout.
  if (const auto work = contextualizer_.work(query)) add(*work, 1, sum);
  if (counts.encoded) return sum;
  if (const auto work = work_of_encoding(counts.documents)) add(*work, 1, sum);
  return sum;
}

std::int64_t EncodedModel::peak_bytes(const WordCounts& counts) const {
  const std::int64_t own = bytes_of_interaction(kept(counts));
  return counts.encoded ? own : own + bytes_of_encoding(counts.documents);
}

WordCounts EncodedModel::kept(WordCounts counts) const {
  if (!counts.encoded)
    for (std::int64_t& words : counts.documents) words = kept_of(words);
  return counts;
}

std::int64_t EncodedModel::words_at_once() const {
  return words_of_a_thread * std::max(threads(), 1);
}

std::vector<std::int64_t> EncodedModel::sequences_of_all(
    std::span<const std::int64_t> documents) const {
  std::vector<std::int64_t> sequences;
  for (const std::int64_t words : documents) {
    const std::vector<std::int64_t> own = sequences_of(words);
    sequences.insert(sequences.end(), own.begin(), own.end());
  }
  return sequences;
}

Result<ModelWork> EncodedModel::work_of_encoding(std::span<const std::int64_t> documents) const {
  return contextualizer_.work(sequences_of_all(documents));
}

/// The vectors of a piece, and the memory of a run of the layers.
std::int64_t EncodedModel::bytes_of_encoding(std::span<const std::int64_t> documents) const {
  std::int64_t most = 0;
  for (const auto piece :
       runs_of(documents, words_at_once(), [](std::int64_t words) { return words; })) {
    std::int64_t kept = 0;
    for (const std::int64_t words : piece) kept += kept_of(words);
    most = std::max(most, kept * hidden() * static_cast<std::int64_t>(sizeof(float)) +
                              contextualizer_.peak_bytes(sequences_of_all(piece)));
  }
  return most;
}

const DocumentCache::Maker& EncodedModel::maker() {
  if (maker_.weights == 0) maker_.weights = weights().fingerprint();
  return maker_;
}

}  // namespace attnscope
