// SPDX-License-Identifier: Apache-2.0
#include "engine/model/mixencoder/mix_reference.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/zeros.h>

#include <cmath>

#include "engine/model/bert/encoder_layer.h"

namespace attnscope {
namespace {

/// The kept contexts of a document, [contexts, hidden].
Result<at::Tensor> contexts_of(const LateReference& reference, const MixConfig& own,
                               TokenIds document) {
  const std::int64_t layers = reference.shape().layers;
  if (!own.composed) {
    const auto states = reference.encode(
        document, {.group = TokenGroup::document, .learned = own.contexts}, layers, mix_learned);
    if (!states) return states;
    return states->narrow(0, 0, own.contexts);
  }
  const auto states = reference.encode(document, {.group = TokenGroup::document}, layers);
  if (!states) return states;
  return LateReference::attend(reference.tensor(mix_codes), *states, *states, 1, 1);
}

/// The part of a layer after attention, applied to E and H.
at::Tensor through_chunk(const LateReference& reference, std::int64_t layer, const at::Tensor& x) {
  const auto name = [layer](const char* part) { return name_of_mix_chunk(part, layer); };
  const at::Tensor wide = at::gelu(reference.linear(name("intermediate.dense"), x));
  return reference.norm(name("output.LayerNorm"), x + reference.linear(name("output.dense"), wide));
}

}  // namespace

Result<ReferenceOutput> mix_reference(const LateReference& reference, const MixConfig& own,
                                      TokenIds query, TokenIds document) {
  const ModelShape& shape = reference.shape();
  const double scale = 1 / std::sqrt(static_cast<double>(shape.head_dim()));
  const auto kept = contexts_of(reference, own, document);
  if (!kept) return tl::unexpected(kept.error());
  at::Tensor e = *kept;
  at::Tensor h = at::zeros({1, shape.hidden}, e.options());
  for (const std::int64_t layer : own.interaction_layers) {
    const auto x = reference.encode(query, {.group = TokenGroup::query}, layer);
    if (!x) return tl::unexpected(x.error());
    const std::string self = name_of_layer(layer) + "attention.self.";
    const at::Tensor keys = reference.linear(self + "key", *x);
    const at::Tensor values = reference.linear(self + "value", *x);
    const auto of_layer = [&](const char* part, const at::Tensor& rows) {
      return reference.linear(name_of_mix_part(part, layer), rows);
    };
    const std::string dense = name_of_mix_chunk("attention.dense", layer);
    const std::string norm = name_of_mix_chunk("attention.LayerNorm", layer);
    const at::Tensor hint =
        own.disentangled ? e.narrow(0, own.contexts - 1, 1) : e.mean(0, /*keepdim=*/true);
    at::Tensor new_e = e;
    if (!own.without_e) {
      const at::Tensor o = LateReference::attend(
          of_layer("candidate_query", e), at::cat({keys, of_layer("candidate_key", e)}),
          at::cat({values, of_layer("candidate_value", e)}), shape.heads, scale);
      new_e = through_chunk(reference, layer, reference.norm(norm, reference.linear(dense, o) + e));
    }
    if (!own.without_h) {
      const at::Tensor o =
          LateReference::attend(of_layer("compress_query", hint), keys, values, shape.heads, scale);
      const at::Tensor t = reference.linear(dense, o);
      const at::Tensor g = at::sigmoid(reference.linear(mix_gate, at::cat({hint, t, h}, 1)));
      h = through_chunk(reference, layer, reference.norm(norm, g * t + (1 - g) * h));
    }
    e = new_e;
  }
  if (own.without_h) {
    const auto out =
        reference.encode(query, {.group = TokenGroup::query}, own.interaction_layers.back() + 1);
    if (!out) return tl::unexpected(out.error());
    h = out->narrow(0, 0, 1);
  }
  const bool leaves_last_out = own.disentangled && own.contexts > 1;
  const at::Tensor mean = e.narrow(0, 0, leaves_last_out ? own.contexts - 1 : own.contexts).mean(0);
  double score = mean.dot(h[0]).item<double>();
  if (own.cosine) score /= mean.norm().item<double>() * h.norm().item<double>();
  return ReferenceOutput{.score = score, .state = doubles_of(at::cat({mean, h[0]}))};
}

}  // namespace attnscope
