// SPDX-License-Identifier: Apache-2.0
#include "engine/model/bert/encoder_layer.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/tensor.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/attention/list.h"
#include "engine/attention/torch_tensors.h"
#include "engine/model/bert/bert_description.h"
#include "engine/model/part_times.h"
#include "engine/pattern/compile_plan.h"
#include "kernels/plan/counts.h"

namespace attnscope {
namespace {

/// Concatenates layers into one fused layer.
LinearWeights alongside(const ModelWeights& weights, const std::vector<std::string>& names) {
  std::vector<at::Tensor> parts;
  std::vector<at::Tensor> biases;
  for (const std::string& name : names) {
    parts.push_back(weights.tensor(name + ".weight"));
    biases.push_back(weights.tensor(name + ".bias"));
  }
  return {at::cat(parts), at::cat(biases)};
}

/// `suffix`: "_global" for Longformer's separate projections.
Projections projections_of(const ModelWeights& weights, const std::string& layer,
                           std::string_view suffix, const Computing& computing, bool split) {
  const auto name = [&](std::string_view part) {
    return fmt::format("{}attention.self.{}{}", layer, part, suffix);
  };
  Projections projections;
  if (split) {
    projections.query = computing.of(weights.linear(name("query")));
    projections.key_value = computing.of(alongside(weights, {name("key"), name("value")}));
  } else {
    projections.all = computing.of(alongside(weights, {name("query"), name("key"), name("value")}));
  }
  return projections;
}

class RowFilter {
 public:
  RowFilter(const AttentionPlan& plan, const std::vector<bool>& keeps)
      : plan_(plan), keeps_(keeps), result_(plan) {
    result_.tasks.clear();
  }

  AttentionPlan run() && {
    for (const Task& task : plan_.tasks) split(task);
    std::ranges::stable_sort(result_.tasks, [this](const Task& a, const Task& b) {
      if (a.heads.begin != b.heads.begin) return a.heads.begin < b.heads.begin;
      return result_.token_at(a.queries, 0) < result_.token_at(b.queries, 0);
    });
    return std::move(result_);
  }

 private:
  /// Splits a task into runs of consecutive positions that are kept or not kept.
  void split(const Task& task) {
    const std::int64_t size = task.queries.size();
    for (std::int64_t begin = 0; begin < size;) {
      const bool kept = keeps(task, begin);
      std::int64_t end = begin + 1;
      while (end < size && keeps(task, end) == kept) ++end;
      add(task, begin, end, kept);
      begin = end;
    }
  }

  [[nodiscard]] bool keeps(const Task& task, std::int64_t position) const {
    return keeps_[static_cast<std::size_t>(plan_.token_at(task.queries, position))];
  }

  void add(const Task& task, std::int64_t begin, std::int64_t end, bool kept) {
    Task part = task;
    part.queries.begin = task.queries.begin + begin;
    part.queries.end = task.queries.begin + end;
    if (!kept) part.segment_count = 0;
    result_.tasks.push_back(part);
  }

  const AttentionPlan& plan_;
  const std::vector<bool>& keeps_;
  AttentionPlan result_;
};

bool is_global(const AttentionPattern& pattern, TokenGroup group) {
  return std::ranges::all_of(token_groups, [&](TokenGroup other) {
    if (other == TokenGroup::sentence && !pattern.has_sentences()) return true;
    return pattern.rule(group, other).kind == GroupRule::Kind::whole &&
           pattern.rule(other, group).kind == GroupRule::Kind::whole;
  });
}

void append(TokenRange range, std::vector<std::int64_t>& rows) {
  for (std::int64_t token = range.begin; token < range.end; ++token) rows.push_back(token);
}

void append_sentences(const AttentionPattern& pattern, const SequenceLayout& layout,
                      std::int64_t item, std::vector<std::int64_t>& rows) {
  if (layout.item(item).sentences_given) {
    for (const std::int64_t offset : layout.item(item).sentences) {
      rows.push_back(layout.documents(item).begin + offset);
    }
    return;
  }
  if (!pattern.sentence_every) return;
  for (std::int64_t d = 0; d < layout.document_count(item); ++d) {
    const TokenRange document = layout.document(item, d);
    for (std::int64_t t = document.begin; t < document.end; t += *pattern.sentence_every) {
      rows.push_back(t);
    }
  }
}

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

std::string name_of_layer(std::int64_t number) {
  return fmt::format("encoder.layer.{}.", number);
}

EncoderLayer::EncoderLayer(const ModelWeights& weights, std::int64_t number,
                           const Computing& computing, bool split, bool global)
    : projections_(projections_of(weights, name_of_layer(number), "", computing, split)) {
  const std::string layer = name_of_layer(number);
  const double epsilon = weights.shape().norm_epsilon;
  const auto norm = [&](const char* name) {
    return computing.of(weights.norm(layer + name), epsilon);
  };
  if (global) global_ = projections_of(weights, layer, "_global", computing, /*split=*/true);
  attention_output_ = computing.of(weights.linear(layer + "attention.output.dense"));
  attention_norm_ = norm("attention.output.LayerNorm");
  intermediate_ = computing.of(weights.linear(layer + "intermediate.dense"));
  output_ = computing.of(weights.linear(layer + "output.dense"));
  output_norm_ = norm("output.LayerNorm");
}

EncoderLayer::EncoderLayer(const LayerParts& parts, const Computing& computing)
    : activation_(parts.activation),
      attention_output_(computing.of(parts.attention_output)),
      attention_norm_(computing.of(parts.attention_norm, parts.norm_epsilon)),
      intermediate_(computing.of(parts.intermediate)),
      output_(computing.of(parts.output)),
      output_norm_(computing.of(parts.output_norm, parts.norm_epsilon)) {
  projections_.all = computing.of(parts.all);
}

void EncoderLayer::finish(const at::Tensor& o, at::Tensor& x) const {
  const std::int64_t tokens = x.size(0);
  for (std::int64_t first = 0; first < tokens; first += tokens_at_once) {
    const std::int64_t count = std::min(tokens_at_once, tokens - first);
    at::Tensor states = x.narrow(0, first, count);
    at::Tensor attended = at::empty_like(states);
    {
      const PartClock clock(ModelPart::projections);
      attention_output_.plus_normed(o.narrow(0, first, count), states, attention_norm_, attended);
    }
    const PartClock clock(ModelPart::feed_forward);
    output_.plus_normed(intermediate_(attended, activation_), attended, output_norm_, states);
  }
}

AttentionPlan with_rows(const AttentionPlan& plan, const std::vector<bool>& keeps) {
  return RowFilter(plan, keeps).run();
}

AttentionPlan with_other_items(const AttentionPlan& plan, const SequenceLayout& layout,
                               std::int64_t place) {
  AttentionPlan wider = plan;
  const auto first = static_cast<std::int64_t>(wider.indices.size());
  const std::int64_t items = layout.item_count();
  for (std::int64_t i = 0; i < items; ++i)
    wider.indices.push_back(layout.item_tokens(i).begin + place);
  wider.segments.clear();
  for (Task& task : wider.tasks) {
    const auto own = plan.segments_of(task);
    task.first_segment = static_cast<std::int64_t>(wider.segments.size());
    wider.segments.insert(wider.segments.end(), own.begin(), own.end());
    const auto see = [&](std::int64_t begin, std::int64_t end) {
      if (begin < end) wider.segments.push_back({.keys = {first + begin, first + end, true}});
    };
    see(0, task.item);
    see(task.item + 1, items);
    task.segment_count = static_cast<std::int64_t>(wider.segments.size()) - task.first_segment;
  }
  return wider;
}

std::vector<std::int64_t> cls_rows(const SequenceLayout& layout) {
  std::vector<std::int64_t> rows;
  rows.reserve(static_cast<std::size_t>(layout.item_count()));
  for (std::int64_t i = 0; i < layout.item_count(); ++i) append(layout.cls(i), rows);
  return rows;
}

std::vector<std::int64_t> global_rows(const AttentionPattern& pattern,
                                      const SequenceLayout& layout) {
  std::vector<std::int64_t> rows;
  const bool documents = is_global(pattern, TokenGroup::document);
  const bool sentences = pattern.has_sentences() && is_global(pattern, TokenGroup::sentence);
  if (layout.shares_query() && is_global(pattern, TokenGroup::query)) append(layout.query(0), rows);
  for (std::int64_t i = 0; i < layout.item_count(); ++i) {
    if (is_global(pattern, TokenGroup::cls)) append(layout.cls(i), rows);
    if (!layout.shares_query() && is_global(pattern, TokenGroup::query)) {
      append(layout.query(i), rows);
    }
    if (documents) {
      append(layout.documents(i), rows);
    } else if (sentences) {
      append_sentences(pattern, layout, i, rows);
    }
  }
  return rows;
}

std::vector<bool> marked(const std::vector<std::int64_t>& rows, std::int64_t tokens) {
  std::vector<bool> marks(static_cast<std::size_t>(tokens), false);
  for (const std::int64_t row : rows) marks[static_cast<std::size_t>(row)] = true;
  return marks;
}

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
    ItemRun* last = runs_.empty() ? nullptr : &runs_.back();
    if (last != nullptr && last->rows == own && last->tokens == tokens.size()) {
      ++last->items;
    } else {
      runs_.push_back({1, first_row, own, tokens.begin, tokens.size()});
    }
    first_row = end;
  }
}

at::Tensor GlobalRows::attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                              double scale) const {
  at::Tensor o = at::empty(q.sizes(), q.options());
  for (const ItemRun& run : runs_) {
    if (run.rows == 0) continue;
    const at::Tensor rows = frame(q, run.first_row, run.items, run.rows) * scale;
    const at::Tensor keys = frame(k, run.first_token, run.items, run.tokens);
    const at::Tensor weights = at::softmax(at::matmul(rows, keys.transpose(2, 3)), -1);
    frame(o, run.first_row, run.items, run.rows)
        .copy_(at::matmul(weights, frame(v, run.first_token, run.items, run.tokens)));
  }
  return o;
}

std::int64_t GlobalRows::peak_bytes(std::int64_t heads, std::int64_t head_dim,
                                    std::int64_t element_bytes) const {
  std::int64_t most = 0;
  for (const ItemRun& run : runs_) {
    const std::int64_t scores = run.items * heads * run.rows * run.tokens;
    // The product copies keys or values of strided heads.
    const std::int64_t copies = run.items * heads * head_dim * (run.tokens + 2 * run.rows);
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
    const std::int64_t global = global_->peak_bytes(shape_.heads, shape_.head_dim(), element) +
                                2 * global_->count() * shape_.hidden * element;
    peak = std::max(peak, 3 * states + global);
  }
  return peak;
}

}  // namespace attnscope
