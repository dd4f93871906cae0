// SPDX-License-Identifier: Apache-2.0
#include "engine/model/words/contextualizer.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/exp.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "engine/model/bert/encoder.h"
#include "engine/model/stretches.h"
#include "engine/model/words/contextualizer_names.h"

namespace attnscope {
namespace {

/// Of sequences that go through all layers together: projections of so many words stay in the
/// second cache.
constexpr std::int64_t words_at_once = 600;

ModelVariant whole_attention(const ModelVariant& variant) {
  return {.pattern = *find_pattern("full"),
          .dtype = variant.dtype,
          .device = variant.device,
          .threads = variant.threads};
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

/// Stretches of sequences of at most words_at_once, or of one.
std::vector<std::span<const std::int64_t>> pieces_of_lengths(
    std::span<const std::int64_t> lengths) {
  return stretches_of(lengths, words_at_once, [](std::int64_t length) { return length; });
}

std::int64_t sum_of(std::span<const std::int64_t> lengths) {
  return std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
}

}  // namespace

Contextualizer::Contextualizer(const ModelWeights& weights, const ModelVariant& variant,
                               const Implementation& implementation)
    : shape_(weights.shape()), variant_(whole_attention(variant)), implementation_(implementation) {
  const Computing computing = computing_of(variant_, shape_);
  layers_.reserve(static_cast<std::size_t>(shape_.layers));
  for (std::int64_t layer = 0; layer < shape_.layers; ++layer)
    layers_.emplace_back(parts_of(weights, layer), computing);
}

Status Contextualizer::each_piece(std::span<const std::int64_t> lengths,
                                  const PieceUse& use) const {
  std::unique_ptr<AttentionStage> prepared;
  std::span<const std::int64_t> planned;
  for (const auto piece : pieces_of_lengths(lengths)) {
    const std::int64_t words = sum_of(piece);
    if (words == 0) continue;
    if (!prepared || !std::ranges::equal(piece, planned)) {
      auto made = stage(piece);
      if (!made) return tl::unexpected(made.error());
      prepared = std::move(*made);
      planned = piece;
    }
    if (Status used = use(*prepared, words); !used) return used;
  }
  return {};
}

Status Contextualizer::run(at::Tensor& x, std::span<const std::int64_t> lengths) const {
  std::int64_t first = 0;
  return each_piece(lengths, [&](AttentionStage& stage, std::int64_t words) -> Status {
    at::Tensor states = x.narrow(0, first, words);
    for (const EncoderLayer& layer : layers_) {
      const auto o = stage.attend(layer, states);
      if (!o) return tl::unexpected(o.error());
      layer.finish(*o, states);
    }
    first += words;
    return {};
  });
}

Result<ModelWork> Contextualizer::work(std::span<const std::int64_t> lengths) const {
  ModelWork sum;
  const auto hidden = static_cast<double>(shape_.hidden);
  const auto wide = static_cast<double>(shape_.feed_forward);
  const Status done = each_piece(lengths, [&](AttentionStage& stage, std::int64_t words) -> Status {
    ModelWork layer = stage.work_of_layer();
    layer.linear_flop = 2 * static_cast<double>(words) * hidden * (4 * hidden + 2 * wide);
    add(layer, static_cast<double>(shape_.layers), sum);
    return {};
  });
  if (!done) return tl::unexpected(done.error());
  // States once in and out of a layer, and its weights once.
  sum.least_bytes =
      static_cast<double>(shape_.layers) * static_cast<double>(sizeof(float)) *
      (2 * static_cast<double>(sum_of(lengths)) * hidden + 4 * hidden * hidden + 2 * hidden * wide);
  return sum;
}

std::int64_t Contextualizer::peak_bytes(std::span<const std::int64_t> lengths) const {
  std::int64_t most = 0;
  for (const auto piece : pieces_of_lengths(lengths)) {
    const std::int64_t words = sum_of(piece);
    if (words == 0) continue;
    const auto prepared = stage(piece);
    if (!prepared) continue;
    const std::int64_t states = words * shape_.hidden * static_cast<std::int64_t>(sizeof(float));
    const std::int64_t wide = std::min(words, EncoderLayer::tokens_at_once) *
                              (3 * shape_.hidden + 2 * shape_.feed_forward) *
                              static_cast<std::int64_t>(sizeof(float));
    most = std::max(most, std::max((*prepared)->peak_bytes(), states + wide));
  }
  return most;
}

Result<std::unique_ptr<AttentionStage>> Contextualizer::stage(
    std::span<const std::int64_t> lengths) const {
  std::vector<LayoutItem> items;
  items.reserve(lengths.size());
  for (const std::int64_t length : lengths) items.push_back({.cls = 0, .documents = {length}});
  auto layout = SequenceLayout::make(std::move(items));
  if (!layout) return tl::unexpected(layout.error());
  return AttentionStage::make(variant_, shape_, implementation_, std::move(*layout));
}

std::vector<std::string_view> word_implementations() {
  return {"segment", "sdpa", "dense"};
}

void mix(const at::Tensor& embedded, double mixer, at::Tensor& x) {
  x.mul_(1 - mixer).add_(embedded, mixer);
}

at::Tensor sinusoid_rows(std::int64_t count, std::int64_t hidden) {
  const std::int64_t half = hidden / 2;
  const double step = std::log(10000.0) / static_cast<double>(std::max<std::int64_t>(half - 1, 1));
  const at::Tensor rates = at::exp(at::arange(half, at::kDouble) * -step);
  const at::Tensor angles = at::arange(count, at::kDouble).unsqueeze(1) * rates;
  return at::cat({angles.sin(), angles.cos()}, 1).to(at::kFloat);
}

}  // namespace attnscope
