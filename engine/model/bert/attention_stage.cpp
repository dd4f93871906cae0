// SPDX-License-Identifier: Apache-2.0
#include "engine/model/bert/attention_stage.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/attention/list.h"
#include "engine/attention/torch_tensors.h"
#include "engine/model/bert/bert_config.h"
#include "engine/model/bert/plan_rows.h"
#include "engine/model/part_times.h"
#include "engine/pattern/compile_plan.h"
#include "kernels/plan/counts.h"

namespace attnscope {
namespace {

Tensor strided(const at::Tensor& heads, DType dtype) {
  return {.data = static_cast<std::byte*>(heads.data_ptr()),
          .dtype = dtype,
          .head_dim = heads.size(2),
          .token_stride = heads.stride(0),
          .head_stride = heads.stride(1)};
}

ConstTensor strided_input(const at::Tensor& heads, DType dtype) {
  return attnscope::as_const(strided(heads, dtype));
}

ModelWork work_of(const AttentionPlan& plan, const PreparedAttention& prepared,
                  const ModelShape& shape, DType dtype) {
  const PlanCounts counts = count(plan);
  return {.attention_flop = useful_flop(counts, shape.head_dim()),
          .executed_attention_flop = prepared.executed().flop,
          .exponentials = useful_exponentials(counts),
          .least_bytes = least_bytes(plan, shape.head_dim(), dtype)};
}

/// Rows from `first` on as [items, heads, rows, dim].
at::Tensor frame(const at::Tensor& packed, std::int64_t first, std::int64_t items,
                 std::int64_t rows) {
  return packed.narrow(0, first, items * rows).unflatten(0, {items, rows}).transpose(1, 2);
}

}  // namespace

at::Tensor heads_at(const at::Tensor& projected, std::int64_t part, const ModelShape& shape) {
  return projected.narrow(1, part * shape.hidden, shape.hidden)
      .unflatten(1, {shape.heads, shape.head_dim()});
}

GlobalRows::GlobalRows(const SequenceLayout& layout, std::vector<std::int64_t> rows,
                       at::Device device)
    : index_(at::tensor(rows, at::kLong).to(device)) {
  std::int64_t first_row = 0;
  const auto count = static_cast<std::int64_t>(rows.size());
  for (std::int64_t i = 0; i < layout.item_count(); ++i) {
    const TokenRange tokens = layout.item_tokens(i);
    std::int64_t end = first_row;
    while (end < count && rows[static_cast<std::size_t>(end)] < tokens.end) ++end;
    const std::int64_t own = end - first_row;
    Stretch* last = stretches_.empty() ? nullptr : &stretches_.back();
    if (last != nullptr && last->rows == own && last->tokens == tokens.size()) {
      ++last->items;
    } else {
      stretches_.push_back({1, first_row, own, tokens.begin, tokens.size()});
    }
    first_row = end;
  }
}

at::Tensor GlobalRows::attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                              double scale) const {
  at::Tensor o = at::empty(q.sizes(), q.options());
  for (const Stretch& stretch : stretches_) {
    if (stretch.rows == 0) continue;
    const at::Tensor rows = frame(q, stretch.first_row, stretch.items, stretch.rows) * scale;
    const at::Tensor keys = frame(k, stretch.first_token, stretch.items, stretch.tokens);
    const at::Tensor weights = at::softmax(at::matmul(rows, keys.transpose(2, 3)), -1);
    frame(o, stretch.first_row, stretch.items, stretch.rows)
        .copy_(at::matmul(weights, frame(v, stretch.first_token, stretch.items, stretch.tokens)));
  }
  return o;
}

std::int64_t GlobalRows::peak_bytes(std::int64_t heads, std::int64_t head_dim,
                                    std::int64_t element_bytes) const {
  std::int64_t most = 0;
  for (const Stretch& stretch : stretches_) {
    const std::int64_t scores = stretch.items * heads * stretch.rows * stretch.tokens;
    // The product copies keys or values of strided heads.
    const std::int64_t copies =
        stretch.items * heads * head_dim * (stretch.tokens + 2 * stretch.rows);
    most = std::max(most, (2 * scores + copies) * element_bytes);
  }
  return most + count() * heads * head_dim * element_bytes;
}

Result<std::unique_ptr<AttentionStage>> AttentionStage::make(const ModelVariant& variant,
                                                             const ModelShape& shape,
                                                             const Implementation& implementation,
                                                             SequenceLayout layout) {
  const PartClock clock(ModelPart::attention);
  std::unique_ptr<AttentionStage> stage(new AttentionStage(variant, shape, std::move(layout)));
  if (Status ready = stage->plan_and_prepare(implementation); !ready) {
    return tl::unexpected(ready.error());
  }
  return stage;
}

AttentionStage::AttentionStage(const ModelVariant& variant, const ModelShape& shape,
                               SequenceLayout layout)
    : variant_(variant),
      cls_only_(variant.options.contains(cls_only_last_layer)),
      shape_(shape),
      layout_(std::move(layout)) {}

Status AttentionStage::plan_and_prepare(const Implementation& implementation) {
  auto plan = compile_plan(variant_.pattern, variant_.window, layout_,
                           static_cast<std::int32_t>(shape_.heads));
  if (!plan) return tl::unexpected(plan.error());
  whole_ = std::move(*plan);
  if (variant_.options.contains(sees_other_documents)) {
    whole_ =
        with_other_items(whole_, layout_, variant_.options.contains(by_interaction_token) ? 1 : 0);
  }
  const at::Device device = torch_device(variant_.device);
  std::vector<std::int64_t> cls = cls_rows(layout_);
  cls_index_ = at::tensor(cls, at::kLong).to(device);
  if (cls_only_) {
    cls_ = with_rows(whole_, marked(cls, layout_.tokens()));
    // One row per item, for every model computed by the kernel that supports any plan.
    auto prepared = find_implementation("segment")->prepare(problem_of(cls_));
    if (!prepared) return tl::unexpected(prepared.error());
    cls_prepared_ = std::move(*prepared);
  }
  const AttentionPlan* attended = &whole_;
  if (variant_.options.contains(with_global_projections)) {
    std::vector<std::int64_t> rows = global_rows(variant_.pattern, layout_);
    std::vector<bool> keeps = marked(rows, layout_.tokens());
    keeps.flip();
    rest_ = with_rows(whole_, keeps);
    attended = &rest_;
    global_.emplace(layout_, std::move(rows), device);
  }
  auto prepared = implementation.prepare(problem_of(*attended));
  if (!prepared) return tl::unexpected(prepared.error());
  prepared_ = std::move(*prepared);
  return {};
}

Problem AttentionStage::problem_of(const AttentionPlan& plan) const {
  return {.pattern = variant_.pattern,
          .window = variant_.window,
          .layout = layout_,
          .plan = plan,
          .head_dim = shape_.head_dim(),
          .dtype = variant_.dtype,
          .memory_order = MemoryOrder::token_major,
          .device = variant_.device,
          .scale = scale_of(Operation::attention, shape_.head_dim()),
          .threads = variant_.threads};
}

Result<at::Tensor> AttentionStage::run(PreparedAttention& prepared, const LayerHeads& heads) const {
  const PartClock clock(ModelPart::attention);
  const at::TensorOptions options = heads.k.options();
  at::Tensor o = at::empty({heads.k.size(0), shape_.heads, shape_.head_dim()}, options);
  const at::Tensor workspace = at::empty({prepared.workspace_bytes()}, options.dtype(at::kByte));
  const Status done =
      prepared.forward({.q = strided_input(heads.q, variant_.dtype),
                        .k = strided_input(heads.k, variant_.dtype),
                        .v = strided_input(heads.v, variant_.dtype),
                        .o = strided(o, variant_.dtype),
                        .lse = {},
                        .workspace = {static_cast<std::byte*>(workspace.data_ptr()),
                                      static_cast<std::size_t>(workspace.numel())}});
  if (!done) return tl::unexpected(done.error());
  return o.flatten(1);
}

LayerHeads AttentionStage::local_heads(const EncoderLayer& layer, const at::Tensor& x) const {
  const Projections& projections = layer.projections();
  if (!projections.all) {
    const at::Tensor key_value = (*projections.key_value)(x);
    return {heads_at((*projections.query)(x), 0, shape_), heads_at(key_value, 0, shape_),
            heads_at(key_value, 1, shape_)};
  }
  const at::Tensor projected = (*projections.all)(x);
  return {heads_at(projected, 0, shape_), heads_at(projected, 1, shape_),
          heads_at(projected, 2, shape_)};
}

Result<at::Tensor> AttentionStage::attend(const EncoderLayer& layer, const at::Tensor& x,
                                          const Seen& seen) const {
  const PartClock clock(ModelPart::projections);
  LayerHeads local = local_heads(layer, x);
  auto o = run(*prepared_, local);
  if (!seen) local = {};
  if (!o || !global_ || global_->count() == 0) {
    if (o && seen) seen(local, nullptr);
    return o;
  }
  const at::Tensor key_value = (*layer.global().key_value)(x);
  const LayerHeads global{
      heads_at((*layer.global().query)(x.index_select(0, global_->index())), 0, shape_),
      heads_at(key_value, 0, shape_), heads_at(key_value, 1, shape_)};
  const double scale = 1 / std::sqrt(static_cast<double>(shape_.head_dim()));
  const PartClock of_rows(ModelPart::attention);
  o->index_copy_(0, global_->index(),
                 global_->attend(global.q, global.k, global.v, scale).flatten(1));
  if (seen) seen(local, &global);
  return o;
}

Result<at::Tensor> AttentionStage::attend_cls(const EncoderLayer& layer,
                                              const at::Tensor& x) const {
  const PartClock clock(ModelPart::projections);
  const Projections& projections = global_ ? layer.global() : layer.projections();
  const at::Tensor key_value = (*projections.key_value)(x);
  return attend_cls({heads_at((*projections.query)(x.index_select(0, cls_index_)), 0, shape_),
                     heads_at(key_value, 0, shape_), heads_at(key_value, 1, shape_)});
}

Result<at::Tensor> AttentionStage::attend(const LayerHeads& heads) const {
  return run(*prepared_, heads);
}

Result<at::Tensor> AttentionStage::attend_cls(const LayerHeads& heads) const {
  // The kernel indexes rows by token number; it does not read the other rows.
  const at::Tensor q =
      at::empty({heads.k.size(0), shape_.heads, shape_.head_dim()}, heads.q.options());
  q.index_copy_(0, cls_index_, heads.q);
  auto o = run(*cls_prepared_, {q, heads.k, heads.v});
  if (!o) return o;
  return o->index_select(0, cls_index_);
}

ModelWork AttentionStage::work_of_layer() const {
  ModelWork work = work_of(whole_, *prepared_, shape_, variant_.dtype);
  if (global_) {
    const double rows = static_cast<double>(global_->count());
    const double share = static_cast<double>(layout_.tokens()) /
                         static_cast<double>(std::max<std::int64_t>(layout_.item_count(), 1));
    work.executed_attention_flop += 4 * rows * share * static_cast<double>(shape_.hidden);
  }
  return work;
}

ModelWork AttentionStage::work_of_cls_layer() const {
  return work_of(cls_, *cls_prepared_, shape_, variant_.dtype);
}

std::int64_t AttentionStage::peak_bytes() const {
  const std::int64_t element = size_of(variant_.dtype);
  const std::int64_t states = layout_.tokens() * shape_.hidden * element;
  // Queries, keys, values and the output.
  std::int64_t peak = 4 * states + prepared_->predicted_peak_bytes();
  if (global_) {
    const std::int64_t apart = global_->peak_bytes(shape_.heads, shape_.head_dim(), element) +
                               2 * global_->count() * shape_.hidden * element;
    peak = std::max(peak, 3 * states + apart);
  }
  return peak;
}

}  // namespace attnscope
