// SPDX-License-Identifier: Apache-2.0
#include "engine/model/bert/encoder.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/lerp.h>
#include <ATen/ops/linspace.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/attention/list.h"
#include "engine/attention/torch_tensors.h"
#include "engine/model/bert/bert_description.h"
#include "engine/model/part_times.h"

namespace attnscope {
namespace {

/// Scatters the rows of global tokens to their positions among all tokens; the rest is zero.
at::Tensor spread(const at::Tensor& rows, const at::Tensor& index, std::int64_t tokens) {
  const at::Tensor all = at::zeros({tokens, rows.size(1), rows.size(2)}, rows.options());
  all.index_copy_(0, index, rows);
  return all;
}

constexpr const char* position_table = "embeddings.position_embeddings.weight";
constexpr const char* type_table = "embeddings.token_type_embeddings.weight";  // not of DistilBERT

ModelVariant with_last_layer(ModelVariant variant, LastLayer last) {
  variant.options.erase(std::string(cls_only_last_layer));
  if (last == LastLayer::cls_alone) variant.options.emplace(cls_only_last_layer);
  return variant;
}

/// `count` rows, linearly interpolated between the first and the last.
at::Tensor interpolated(const at::Tensor& rows, std::int64_t count) {
  const at::Tensor place =
      at::linspace(0, static_cast<double>(rows.size(0) - 1), count, at::kDouble);
  const at::Tensor below = place.floor().clamp_max(static_cast<double>(rows.size(0) - 1));
  const at::Tensor above = place.ceil().clamp_max(static_cast<double>(rows.size(0) - 1));
  const at::Tensor weight = (place - below).to(at::kFloat).unsqueeze(1);
  return at::lerp(rows.index_select(0, below.to(at::kLong)),
                  rows.index_select(0, above.to(at::kLong)), weight);
}

}  // namespace

Computing computing_of(const ModelVariant& variant, const ModelShape& shape) {
  return {
      .dtype = variant.dtype,
      .device = torch_device(variant.device),
      .route = variant.products == Products::float32
                   ? fastest_route(variant.dtype, variant.device, shape.hidden, shape.feed_forward)
                   : route_of(variant.products)};
}

BertEmbeddings::BertEmbeddings(const ModelWeights& weights, const Computing& computing,
                               const std::string& learned)
    : words_(computing.of(weights.tensor("embeddings.word_embeddings.weight"))),
      positions_(computing.of(weights.tensor(position_table))),
      norm_(computing.of(weights.norm("embeddings.LayerNorm"), weights.shape().norm_epsilon)) {
  if (weights.has(type_table)) types_ = computing.of(weights.tensor(type_table));
  if (!learned.empty()) learned_ = computing.of(weights.tensor(learned));
  if (weights.shape().embedding > 0) project_ = computing.of(weights.linear("embeddings_project"));
}

at::Tensor BertEmbeddings::operator()(const PackedBatch& batch) const {
  const PartClock clock(ModelPart::embeddings);
  const at::Tensor ids = indices(batch.ids);
  const at::Tensor positions = indices(batch.positions);
  const at::Tensor types = indices(batch.types);
  const std::int64_t tokens = ids.size(0);
  const std::int64_t width = project_ ? project_->out() : words_.size(1);
  at::Tensor states = at::empty({tokens, width}, words_.options());
  for (std::int64_t first = 0; first < tokens; first += EncoderLayer::tokens_at_once) {
    const std::int64_t count = std::min(EncoderLayer::tokens_at_once, tokens - first);
    at::Tensor sum = look_up(ids.narrow(0, first, count));
    if (types_.defined()) sum.add_(at::embedding(types_, types.narrow(0, first, count)));
    sum.add_(at::embedding(positions_, positions.narrow(0, first, count)));
    const at::Tensor normed = norm_(sum);
    states.narrow(0, first, count).copy_(project_ ? (*project_)(normed) : normed);
  }
  return states;
}

at::Tensor BertEmbeddings::indices(const std::vector<std::int64_t>& values) const {
  return at::tensor(values, at::kLong).to(words_.device());
}

at::Tensor BertEmbeddings::look_up(const at::Tensor& ids) const {
  if (!learned_.defined()) return at::embedding(words_, ids);
  const std::int64_t words = words_.size(0);
  at::Tensor rows = at::embedding(words_, ids.clamp_max(words - 1));
  const at::Tensor places = (ids >= words).nonzero().squeeze(1);
  rows.index_copy_(0, places, learned_.index_select(0, ids.index_select(0, places) - words));
  return rows;
}

BertEncoder::BertEncoder(const ModelWeights& weights, const ModelVariant& variant,
                         const Implementation& implementation, const Computing& computing,
                         bool splits_last, const std::string& learned)
    : shape_(weights.shape()),
      whole_(with_last_layer(variant, LastLayer::whole)),
      cls_alone_(with_last_layer(variant, LastLayer::cls_alone)),
      global_(variant.options.contains(with_global_projections)),
      implementation_(implementation),
      embeddings_(weights, computing, learned) {
  for (const auto& [layers, window] : layers_by_window(variant, shape_.layers)) {
    by_window_.push_back({layers, whole_, cls_alone_});
    by_window_.back().whole.window = by_window_.back().cls_alone.window = window;
  }
  layers_.reserve(static_cast<std::size_t>(shape_.layers));
  for (std::int64_t l = 0; l < shape_.layers; ++l)
    layers_.emplace_back(weights, l, computing, splits_last && l + 1 == shape_.layers, global_);
}

std::vector<std::pair<LayerRange, std::optional<Window>>> layers_by_window(
    const ModelVariant& variant, std::int64_t layers) {
  if (variant.layer_windows.empty()) return {{{0, layers}, variant.window}};
  std::vector<std::pair<LayerRange, std::optional<Window>>> staged;
  for (std::int64_t l = 0; l < layers; ++l) {
    const Window window = variant.layer_windows.at(static_cast<std::size_t>(l));
    if (staged.empty() || staged.back().second != window) staged.push_back({{l, l}, window});
    staged.back().first.end = l + 1;
  }
  return staged;
}

BertEncoder::Seen shown_of(const AttentionStage& stage, const Show& show) {
  if (!show) return {};
  return [&stage, &show](std::int64_t layer, const LayerHeads& local, const LayerHeads* global) {
    const auto show_heads = [&](const char* name, const at::Tensor& heads) {
      show({layer, name, heads.sizes().vec(), floats_of(heads)});
    };
    show_heads("q", local.q);
    show_heads("k", local.k);
    show_heads("v", local.v);
    if (global == nullptr) return;
    show_heads("q_global", spread(global->q, stage.global_index(), stage.layout().tokens()));
    show_heads("k_global", global->k);
    show_heads("v_global", global->v);
  };
}

Result<std::unique_ptr<AttentionStage>> BertEncoder::stage(SequenceLayout layout,
                                                           LastLayer last) const {
  return AttentionStage::make(last == LastLayer::whole ? whole_ : cls_alone_, shape_,
                              implementation_, std::move(layout));
}

Result<at::Tensor> BertEncoder::run(const AttentionStage& stage, at::Tensor states,
                                    LayerRange layers, const Seen& seen) const {
  for (std::int64_t l = layers.first; l < layers.end; ++l) {
    const EncoderLayer& layer = layers_[static_cast<std::size_t>(l)];
    if (stage.cls_only() && l + 1 == shape_.layers) {
      const auto o = stage.attend_cls(layer, states);
      if (!o) return tl::unexpected(o.error());
      at::Tensor cls_states = states.index_select(0, stage.cls_index());
      layer.finish(*o, cls_states);
      return cls_states;
    }
    AttentionStage::Seen of_layer;
    if (seen) {
      of_layer = [&seen, l](const LayerHeads& local, const LayerHeads* global) {
        seen(l, local, global);
      };
    }
    const auto o = stage.attend(layer, states, of_layer);
    if (!o) return tl::unexpected(o.error());
    layer.finish(*o, states);
  }
  return states;
}

Result<at::Tensor> BertEncoder::run(const Stages& stages, at::Tensor states,
                                    const Show& show) const {
  for (const auto& [layers, stage] : stages) {
    auto next = run(*stage, std::move(states), layers, shown_of(*stage, show));
    if (!next) return next;
    states = std::move(*next);
  }
  return states;
}

Result<BertEncoder::Stages> BertEncoder::stages(const SequenceLayout& layout,
                                                LastLayer last) const {
  Stages staged;
  for (const Variants& variants : by_window_) {
    const bool is_last = variants.layers.end == shape_.layers && last == LastLayer::cls_alone;
    auto made = AttentionStage::make(is_last ? variants.cls_alone : variants.whole, shape_,
                                     implementation_, layout);
    if (!made) return tl::unexpected(made.error());
    staged.push_back({variants.layers, std::move(*made)});
  }
  return staged;
}

at::Tensor BertEncoder::keys_and_values(std::int64_t layer, const at::Tensor& x) const {
  const Projections& projections = layers_[static_cast<std::size_t>(layer)].projections();
  if (projections.key_value) return (*projections.key_value)(x);
  return (*projections.all)(x).narrow(1, shape_.hidden, 2 * shape_.hidden);
}

ModelWork BertEncoder::work(const AttentionStage& stage, LayerRange layers) const {
  const bool short_last =
      stage.cls_only() && layers.end == shape_.layers && layers.first < layers.end;
  const std::int64_t whole = layers.end - layers.first - (short_last ? 1 : 0);
  ModelWork sum;
  add(work_of_layer(stage), static_cast<double>(whole), sum);
  if (short_last) add(work_of_cls_layer(stage), 1, sum);
  return sum;
}

ModelWork BertEncoder::work(const Stages& stages) const {
  ModelWork sum;
  for (const auto& [layers, stage] : stages) add(work(*stage, layers), 1, sum);
  return sum;
}

std::int64_t BertEncoder::peak_bytes(const Stages& stages) const {
  std::int64_t peak = 0;
  for (const auto& [layers, stage] : stages) peak = std::max(peak, peak_bytes(*stage));
  return peak;
}

std::int64_t BertEncoder::peak_bytes(const AttentionStage& stage) const {
  const std::int64_t element = size_of(whole_.dtype);
  const std::int64_t tokens = stage.layout().tokens();
  const std::int64_t states = tokens * shape_.hidden * element;
  const std::int64_t piece = std::min(tokens, EncoderLayer::tokens_at_once) *
                             (3 * shape_.hidden + 2 * shape_.feed_forward) * element;
  const std::int64_t indices = 3 * tokens * static_cast<std::int64_t>(sizeof(std::int64_t));
  return states + std::max(stage.peak_bytes(), states + piece) + indices;
}

ModelWork BertEncoder::work_of_layer(const AttentionStage& stage) const {
  ModelWork work = stage.work_of_layer();
  const auto tokens = static_cast<double>(stage.layout().tokens());
  const auto hidden = static_cast<double>(shape_.hidden);
  const auto wide = static_cast<double>(shape_.feed_forward);
  work.feed_forward_flop = 4 * tokens * hidden * wide;
  work.linear_flop = 8 * tokens * hidden * hidden + work.feed_forward_flop;
  if (global_) {
    work.linear_flop +=
        2 * hidden * hidden * (2 * tokens + static_cast<double>(stage.global_row_count()));
  }
  work.least_bytes += (2 * tokens * hidden + 4 * hidden * hidden + 2 * hidden * wide) *
                      static_cast<double>(size_of(whole_.dtype));
  return work;
}

ModelWork BertEncoder::work_of_cls_layer(const AttentionStage& stage) const {
  ModelWork work = stage.work_of_cls_layer();
  const auto tokens = static_cast<double>(stage.layout().tokens());
  const auto rows = static_cast<double>(stage.cls_index().size(0));
  const auto hidden = static_cast<double>(shape_.hidden);
  const auto wide = static_cast<double>(shape_.feed_forward);
  work.feed_forward_flop = 4 * rows * hidden * wide;
  work.linear_flop = 4 * hidden * hidden * (tokens + rows) + work.feed_forward_flop;
  work.least_bytes += (tokens * hidden + 4 * hidden * hidden + 2 * hidden * wide) *
                      static_cast<double>(size_of(whole_.dtype));
  return work;
}

void add(const ModelWork& work, double times, ModelWork& sum) {
  sum.linear_flop += times * work.linear_flop;
  sum.feed_forward_flop += times * work.feed_forward_flop;
  sum.attention_flop += times * work.attention_flop;
  sum.executed_attention_flop += times * work.executed_attention_flop;
  sum.exponentials += times * work.exponentials;
  sum.least_bytes += times * work.least_bytes;
}

double bert_error_bound(DType dtype, const ModelShape& shape) {
  // Rounding errors of a layer's sums accumulate over layers like a random walk, which LayerNorm
  // bounds. The factors leave a margin over the largest errors measured in models of MiniLM's width
  // with one to six layers: 1.3e-6 in float32 and 4.3 roundings in 16 bits.
  const double walk = std::sqrt(static_cast<double>(std::max<std::int64_t>(shape.layers, 1)));
  switch (dtype) {
    case DType::float32:
      return 4e-6 * walk;
    case DType::float16:
      return 8 * 0x1p-11 * walk;
    case DType::bfloat16:
      return 8 * 0x1p-8 * walk;
  }
  return 0;
}

std::shared_ptr<const ModelWeights> with_positions(const ModelWeights& weights,
                                                   std::int64_t positions) {
  const c10::InferenceMode no_graph;
  ModelConfig config = weights.config();
  const at::Tensor& table = weights.tensor(position_table);
  const std::int64_t first = config.shape.first_position;
  ModelWeights::Tensors tensors = weights.tensors();
  tensors.find(position_table)->second =
      at::cat({table.narrow(0, 0, first),
               interpolated(table.narrow(0, first, config.shape.positions), positions)});
  config.shape.positions = positions;
  return std::make_shared<const ModelWeights>(std::move(config), std::move(tensors));
}

std::vector<std::string_view> bert_implementations() {
  return {"segment", "sdpa", "windowed", "sdpa-mask", "dense"};
}

Status supports_attention(const ModelVariant& variant, const ModelShape& shape,
                          std::string_view implementation) {
  const auto found = implementation_named(implementation);
  if (!found) return tl::unexpected(found.error());
  auto layout = SequenceLayout::make({{.cls = 1, .query = 2, .documents = {4}}}, 0);
  if (!layout) return tl::unexpected(layout.error());
  const auto stage = AttentionStage::make(variant, shape, **found, std::move(*layout));
  return stage ? Status() : tl::unexpected(stage.error());
}

std::vector<float> floats_of(const at::Tensor& tensor) {
  const at::Tensor host = tensor.to(at::kCPU, at::kFloat).contiguous();
  const float* first = host.const_data_ptr<float>();
  return {first, first + host.numel()};
}

}  // namespace attnscope
