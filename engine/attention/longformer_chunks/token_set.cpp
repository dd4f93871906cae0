// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/longformer_chunks/token_set.h"

#include <ATen/ops/empty.h>

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
    at::Tensor target = frame;
    target.index_copy_(2, index_, values.to(frame.scalar_type()));
  } else {
    frame.narrow(2, begin_, size_).copy_(values);
  }
}

void TokenSet::add(const at::Tensor& frame, const at::Tensor& values) const {
  if (index_.defined()) {
    at::Tensor target = frame;
    target.index_add_(2, index_, values.to(frame.scalar_type()));
  } else {
    frame.narrow(2, begin_, size_).add_(values);
  }
}

void TokenSet::zero(const at::Tensor& frame) const {
  if (index_.defined()) {
    at::Tensor target = frame;
    target.index_fill_(2, index_, 0);
  } else {
    frame.narrow(2, begin_, size_).zero_();
  }
}

std::int64_t index_bytes(const TokenRanges& ranges) {
  return ranges.size() < 2 ? 0 : size_of(ranges) * static_cast<std::int64_t>(sizeof(std::int64_t));
}

}  // namespace attnscope
