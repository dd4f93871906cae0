// SPDX-License-Identifier: Apache-2.0
#include "engine/model/modern_bert/modern_layer.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/outer.h>
#include <ATen/ops/pow.h>
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "engine/model/part_times.h"

namespace attnscope {
namespace {

/// Rotates one head at one position.
void rotate_head(float* __restrict first, float* __restrict second, const float* __restrict cosine,
                 const float* __restrict sine, std::int64_t half) {
  for (std::int64_t j = 0; j < half; ++j) {
    const float a = first[j], b = second[j];
    first[j] = a * cosine[j] - b * sine[j];
    second[j] = b * cosine[j] + a * sine[j];
  }
}

/// A range of rows of a layer's weights.
LinearWeights rows_of(const LinearWeights& weights, std::int64_t first, std::int64_t count) {
  return {weights.weight.narrow(0, first, count), weights.bias.narrow(0, first, count)};
}

}  // namespace

RotaryTable::RotaryTable(double theta, std::int64_t head_dim, std::int64_t positions,
                         at::Device device) {
  // The same sequence of operations as in transformers.
  const at::Tensor exponents =
      at::arange(0, head_dim, 2, at::kFloat) / static_cast<double>(head_dim);
  const at::Tensor frequencies = at::pow(at::Scalar(theta), exponents).reciprocal();
  angles_ = at::outer(at::arange(positions, at::kFloat), frequencies).to(device);
  cosines_ = angles_.cos();
  sines_ = angles_.sin();
}

void RotaryTable::rotate(const at::Tensor& x, const at::Tensor& positions) const {
  const std::int64_t half = cosines_.size(1);
  if (x.scalar_type() != at::kFloat || !x.is_cpu()) {
    const at::Tensor cosine = cosines_.index_select(0, positions).unsqueeze(1);
    const at::Tensor sine = sines_.index_select(0, positions).unsqueeze(1);
    const at::Tensor a = x.narrow(2, 0, half).to(at::kFloat);
    const at::Tensor b = x.narrow(2, half, half).to(at::kFloat);
    x.copy_(at::cat({a * cosine - b * sine, b * cosine + a * sine}, 2));
    return;
  }
  auto* data = x.mutable_data_ptr<float>();
  const auto* place = positions.const_data_ptr<std::int64_t>();
  const auto* cosine = cosines_.const_data_ptr<float>();
  const auto* sine = sines_.const_data_ptr<float>();
  const std::int64_t heads = x.size(1), pitch = x.stride(0), head_pitch = x.stride(1);
  constexpr std::int64_t tokens_of_a_piece = 64;
  at::parallel_for(0, x.size(0), tokens_of_a_piece, [&](std::int64_t first, std::int64_t end) {
    for (std::int64_t t = first; t < end; ++t) {
      const std::int64_t row = place[t] * half;
      for (std::int64_t h = 0; h < heads; ++h) {
        float* head = data + t * pitch + h * head_pitch;
        rotate_head(head, head + half, cosine + row, sine + row, half);
      }
    }
  });
}

ModernLayer::ModernLayer(const ModelWeights& weights, std::int64_t number,
                         const Computing& computing, bool split) {
  const auto name = [&](const char* part) { return fmt::format("layers.{}.{}", number, part); };
  const ModelShape& shape = weights.shape();
  const auto norm = [&](const char* part) {
    return computing.of(weights.norm(name(part)), shape.norm_epsilon);
  };
  if (number > 0) attention_norm_ = norm("attn_norm");
  const LinearWeights all = weights.linear(name("attn.Wqkv"));
  if (split) {
    projections_.query = computing.of(rows_of(all, 0, shape.hidden));
    projections_.key_value = computing.of(rows_of(all, shape.hidden, 2 * shape.hidden));
  } else {
    projections_.all = computing.of(all);
  }
  attention_output_ = computing.of(weights.linear(name("attn.Wo")));
  wide_norm_ = norm("mlp_norm");
  const LinearWeights wide = weights.linear(name("mlp.Wi"));
  activated_ = computing.of(rows_of(wide, 0, shape.feed_forward));
  gate_ = computing.of(rows_of(wide, shape.feed_forward, shape.feed_forward));
  output_ = computing.of(weights.linear(name("mlp.Wo")));
}

at::Tensor ModernLayer::normed(const at::Tensor& x) const {
  return attention_norm_ ? (*attention_norm_)(x) : x;
}

void ModernLayer::finish(const at::Tensor& o, at::Tensor& x) const {
  const std::int64_t tokens = x.size(0);
  for (std::int64_t first = 0; first < tokens; first += tokens_at_once) {
    const std::int64_t count = std::min(tokens_at_once, tokens - first);
    at::Tensor states = x.narrow(0, first, count);
    at::Tensor attended;
    {
      const PartClock clock(ModelPart::projections);
      attended = attention_output_.plus(o.narrow(0, first, count), states);
    }
    const PartClock clock(ModelPart::feed_forward);
    const at::Tensor normed = wide_norm_(attended);
    at::Tensor wide = activated_(normed, cpu::Activation::gelu);
    gate_.times(normed, wide);
    states.copy_(output_.plus(wide, attended));
  }
}

}  // namespace attnscope
