// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/longformer_chunks/dense_rows.h"

#include <ATen/ops/_softmax.h>
#include <ATen/ops/_softmax_backward_data.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/empty.h>

#include "engine/attention/torch_products.h"

namespace attnscope {

TokenSet::TokenSet(const TokenRanges& ranges, std::int64_t frame_begin, at::Device device)
    : begin_(ranges.empty() ? 0 : ranges.front().begin - frame_begin), size_(size_of(ranges)) {
  if (ranges.size() < 2) return;
  index_ = at::empty({size_}, at::TensorOptions().dtype(at::kLong));
  auto* next = index_.data_ptr<std::int64_t>();
  for (const TokenRange& range : ranges) {
    for (std::int64_t token = range.begin; token < range.end; ++token) {
      *next++ = token - frame_begin;
    }
  }
  if (!device.is_cpu()) index_ = index_.to(device);
}

at::Tensor TokenSet::of(const at::Tensor& frame) const {
  return index_.defined() ? frame.index_select(2, index_) : frame.narrow(2, begin_, size_);
}

void TokenSet::write(const at::Tensor& frame, const at::Tensor& values) const {
  if (index_.defined()) {
    frame.index_copy_(2, index_, values.to(frame.scalar_type()));
  } else {
    frame.narrow(2, begin_, size_).copy_(values);
  }
}

void TokenSet::add(const at::Tensor& frame, const at::Tensor& values) const {
  if (index_.defined()) {
    frame.index_add_(2, index_, values.to(frame.scalar_type()));
  } else {
    frame.narrow(2, begin_, size_).add_(values);
  }
}

void TokenSet::zero(const at::Tensor& frame) const {
  if (index_.defined()) {
    frame.index_fill_(2, index_, 0);
  } else {
    frame.narrow(2, begin_, size_).zero_();
  }
}

namespace {

/// The inverse, for values with as many rows as `frame` has batches and heads.
at::Tensor as_frame(const at::Tensor& matrices, const at::Tensor& frame) {
  return matrices.view({frame.size(0), frame.size(1), matrices.size(1), matrices.size(2)});
}

}  // namespace

at::Tensor DenseRowSet::forward(const Frames& frames) const {
  if (keys_.empty()) {
    rows_.zero(frames.o);
    return {};
  }
  const at::Tensor q = as_matrices(rows_.of(frames.q));
  const at::Tensor k = as_matrices(keys_.of(frames.k));
  const at::Tensor v = as_matrices(keys_.of(frames.v));
  at::Tensor weights = scaled_product(q, k.transpose(1, 2), scale_).to(at::kFloat);
  at::_softmax_out(weights, weights, -1, /*half_to_float=*/false);
  rows_.write(frames.o, as_frame(at::bmm(weights.to(v.scalar_type()), v), frames.o));
  return weights;
}

void DenseRowSet::backward(const Frames& frames, const GradientFrames& gradients,
                           const at::Tensor& weights) const {
  if (keys_.empty()) {
    rows_.zero(gradients.grad_q);
    return;
  }
  const at::Tensor grad_o = as_matrices(rows_.of(gradients.grad_o));
  const at::ScalarType dtype = grad_o.scalar_type();
  keys_.add(gradients.grad_v,
            as_frame(at::bmm(weights.to(dtype).transpose(1, 2), grad_o), gradients.grad_v));
  at::Tensor arriving =
      at::bmm(grad_o, as_matrices(keys_.of(frames.v)).transpose(1, 2)).to(at::kFloat);
  at::_softmax_backward_data_out(arriving, arriving, weights, -1, at::kFloat);
  const at::Tensor of_scores = arriving.to(dtype);
  rows_.write(
      gradients.grad_q,
      as_frame(scaled_product(of_scores, as_matrices(keys_.of(frames.k)), scale_), frames.q));
  keys_.add(gradients.grad_k, as_frame(scaled_product(of_scores.transpose(1, 2),
                                                      as_matrices(rows_.of(frames.q)), scale_),
                                       gradients.grad_k));
}

}  // namespace attnscope
