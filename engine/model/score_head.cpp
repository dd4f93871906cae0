// SPDX-License-Identifier: Apache-2.0
#include "engine/model/score_head.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/elu.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/hardswish.h>
#include <ATen/ops/hardtanh.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/leaky_relu.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/mish.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/selu.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/softplus.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>

#include "engine/model/bert/encoder.h"
#include "engine/model/part_times.h"

namespace attnscope {
namespace {

at::Tensor activated(HeadActivation activation, const at::Tensor& x) {
  using enum HeadActivation;
  switch (activation) {
    case identity:
      return x;
    case tanh:
      return x.tanh();
    case gelu:
      return at::gelu(x);
    case relu:
      return at::relu(x);
    case sigmoid:
      return x.sigmoid();
    case silu:
      return at::silu(x);
    case mish:
      return at::mish(x);
    case leaky_relu:
      return at::leaky_relu(x);
    case elu:
      return at::elu(x);
    case selu:
      return at::selu(x);
    case softplus:
      return at::softplus(x);
    case softsign:
      return x / (1 + x.abs());
    case hardswish:
      return at::hardswish(x);
    case relu6:
      return at::hardtanh(x, 0, 6);
  }
  return x;
}

/// x / max(|x|, 1e-12), as torch.nn.functional.normalize.
at::Tensor normalized(const at::Tensor& x) {
  constexpr double least = 1e-12;
  const at::Tensor wide = x.scalar_type() == at::kDouble ? x : x.to(at::kFloat);
  return (wide / wide.norm(2, -1, /*keepdim=*/true).clamp_min(least)).to(x.scalar_type());
}

/// Pools one item's rows [tokens, hidden] to [hidden], without the first `before` tokens.
at::Tensor pooled_rows(Pooling pooling, const at::Tensor& x, std::int64_t before) {
  using enum Pooling;
  switch (pooling) {
    case cls:
      return x.select(0, 0);
    case max:
      return std::get<0>(x.max(0));
    case mean:
      return x.mean(0);
    case sum:
      return x.sum(0);
    case mean_sqrt_len:
      return x.sum(0) / std::sqrt(static_cast<double>(x.size(0)));
    case last:
      return x.select(0, x.size(0) - 1);
    case weighted_mean: {
      const at::Tensor places =
          at::arange(before + 1, before + x.size(0) + 1, x.options()).unsqueeze(1);
      return (x * places).sum(0) / places.sum();
    }
  }
  return x.select(0, 0);
}

/// [items, labels] to [items].
at::Tensor chosen(const LabelChoice& label, const at::Tensor& logits) {
  using enum LabelChoice::Kind;
  switch (label.kind) {
    case none:
    case logit:
      return logits.select(1, label.label);
    case difference:
      return logits.select(1, label.label) - logits.select(1, label.other);
    case log_softmax:
      return at::log_softmax(logits, 1).select(1, label.label);
  }
  return logits.select(1, 0);
}

bool is_whole(const HeadConfig& head, const ModelWeights& weights) {
  return !head.steps.empty() && std::ranges::all_of(head.steps, [&](const HeadStep& step) {
    return step.kind == HeadStep::Kind::normalize || weights.has(step.name + ".weight");
  });
}

/// One row per document: too few for packed weights to be faster.
Computing without_packing(Computing computing) {
  computing.route = LinearRoute::plain;
  return computing;
}

}  // namespace

HeadConfig head_of(const ModelWeights& weights) {
  const HeadConfig& own = weights.config().head;
  if (is_whole(own, weights)) return own;
  HeadConfig head =
      classifier_head({.pooler = weights.has("pooler.dense.weight") ? "pooler.dense" : "",
                       .hidden = weights.shape().hidden});
  head.pooling = own.pooling;
  if (!is_whole(head, weights)) head.steps.clear();
  return head;
}

at::Tensor pool(const HeadConfig& head, const at::Tensor& states, const SequenceLayout& layout) {
  std::vector<at::Tensor> items;
  items.reserve(static_cast<std::size_t>(layout.item_count()));
  for (std::int64_t i = 0; i < layout.item_count(); ++i) {
    const TokenRange tokens = layout.item_tokens(i);
    const std::int64_t before = std::min(head.skipped_tokens, tokens.size() - 1);
    const at::Tensor rows = states.narrow(0, tokens.begin + before, tokens.size() - before);
    std::vector<at::Tensor> modes;
    modes.reserve(head.pooling.size());
    for (const Pooling mode : head.pooling) modes.push_back(pooled_rows(mode, rows, before));
    items.push_back(modes.size() == 1 ? modes.front() : at::cat(modes));
  }
  return at::stack(items);
}

HeadLayers::HeadLayers(const HeadConfig& head, const ModelWeights& weights,
                       const Computing& computing) {
  for (const HeadStep& step : head.steps) {
    Step made{.config = step, .linear = {}, .residual = {}, .norm = {}};
    if (step.kind == HeadStep::Kind::linear) {
      made.linear = computing.of(weights.linear(step.name));
      if (const std::string name = step.name + ".residual"; weights.has(name + ".weight"))
        made.residual = computing.of(weights.linear(name));
    } else if (step.kind == HeadStep::Kind::norm) {
      made.norm = computing.of(weights.norm(step.name), step.epsilon);
    }
    steps_.push_back(std::move(made));
  }
}

at::Tensor HeadLayers::operator()(at::Tensor x) const {
  const PartClock clock(ModelPart::head);
  for (const Step& step : steps_) {
    if (step.norm) {
      x = (*step.norm)(x);
    } else if (!step.linear) {
      x = normalized(x);
    } else {
      const at::Tensor y = activated(step.config.activation, (*step.linear)(x));
      x = !step.config.residual ? y : y + (step.residual ? (*step.residual)(x) : x);
    }
  }
  return x;
}

ScoreHead::ScoreHead(const ModelWeights& weights, const Computing& computing)
    : config_(head_of(weights)), layers_(config_, weights, without_packing(computing)) {}

at::Tensor ScoreHead::operator()(const at::Tensor& pooled) const {
  if (config_.steps.empty()) return at::zeros({pooled.size(0)});
  return chosen(config_.label, layers_(pooled));
}

ModelOutput ScoreHead::output_of(const at::Tensor& states, const SequenceLayout& layout,
                                 const at::Tensor& cls, bool cls_only) const {
  at::Tensor pooled = states;
  if (!cls_only) {
    pooled =
        config_.reads_cls_alone() ? states.index_select(0, cls) : pool(config_, states, layout);
  }
  return {.scores = floats_of((*this)(pooled)), .states = floats_of(pooled)};
}

Status check_cross_encoder_call(const PairBatch& batch, bool shows, bool cls_only) {
  if (batch.documents != nullptr) {
    return fail(
        "a cross-encoder reads query and document together, and cannot use a document cache");
  }
  if (shows && cls_only) {
    return fail(
        "the last layer's attention of all tokens is not computed with {}; omit this option",
        cls_only_last_layer);
  }
  return {};
}

at::Tensor head_reference(const WideWeights& weights, const HeadConfig& head, at::Tensor x) {
  for (const HeadStep& step : head.steps) {
    if (step.kind == HeadStep::Kind::norm) {
      const NormWeights norm = weights.weights().norm(step.name);
      x = at::layer_norm(x, {x.size(1)}, weights.wide(norm.weight), weights.wide(norm.bias),
                         step.epsilon);
    } else if (step.kind == HeadStep::Kind::normalize) {
      x = normalized(x);
    } else {
      at::Tensor y = activated(step.activation, weights.linear(step.name, x));
      if (step.residual) {
        const std::string name = step.name + ".residual";
        y = y + (weights.weights().has(name + ".weight") ? weights.linear(name, x) : x);
      }
      x = y;
    }
  }
  return x;
}

ReferenceOutput score_reference(const WideWeights& weights, const at::Tensor& states,
                                const SequenceLayout& layout) {
  const HeadConfig head = head_of(weights.weights());
  const at::Tensor state = pool(head, states, layout);
  if (head.steps.empty()) return {.score = 0, .state = doubles_of(state)};
  const at::Tensor logits = head_reference(weights, head, state);
  return {.score = chosen(head.label, logits).item<double>(), .state = doubles_of(state)};
}

}  // namespace attnscope
