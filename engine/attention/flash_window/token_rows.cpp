// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/flash_window/token_rows.h"

#include <ATen/TensorIndexing.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <utility>

#include "engine/attention/torch_tensors.h"

namespace attnscope {
namespace {

std::int64_t batch_stride(const ConstTensor& tensor, std::int64_t distance) {
  if (tensor.item_tokens == 0 || distance % tensor.item_tokens != 0) {
    return distance * tensor.token_stride;
  }
  return distance / tensor.item_tokens * tensor.item_stride;
}

at::Tensor strided(const ConstTensor& tensor, std::int64_t first, at::IntArrayRef sizes,
                   at::IntArrayRef strides, at::Device device) {
  // LibTorch has no const tensors; inputs are only read.
  auto* data =
      const_cast<std::byte*>(tensor.data) + tensor.offset(first, 0) * size_of(tensor.dtype);
  return at::for_blob(data, sizes)
      .strides(strides)
      .options(at::TensorOptions().dtype(scalar_type(tensor.dtype)).device(device))
      .target_device(device)  // otherwise LibTorch queries the driver for the memory's device
      .make_tensor();
}

}  // namespace

std::optional<EvenSequences> even_sequences(std::span<const TokenRange> sequences,
                                            std::int64_t item_tokens) {
  if (sequences.empty()) return std::nullopt;
  EvenSequences even{.first = sequences.front().begin,
                     .length = sequences.front().size(),
                     .distance = 0,
                     .count = static_cast<std::int64_t>(sequences.size())};
  if (even.count > 1) even.distance = sequences[1].begin - even.first;
  if (even.distance != 0 && even.distance < even.length) return std::nullopt;
  for (std::size_t s = 0; s < sequences.size(); ++s) {
    const std::int64_t begin = even.first + static_cast<std::int64_t>(s) * even.distance;
    if (sequences[s] != TokenRange{begin, begin + even.length}) return std::nullopt;
  }
  if (item_tokens == 0 || even.distance % item_tokens == 0) return even;
  const bool in_one_item = even.first / item_tokens == sequences.back().begin / item_tokens;
  return in_one_item ? std::optional(even) : std::nullopt;
}

at::Tensor all_tokens(const ConstTensor& tensor, std::int64_t tokens, std::int64_t heads,
                      at::Device device) {
  const std::int64_t item = tensor.item_tokens == 0 ? tokens : tensor.item_tokens;
  const std::int64_t items = item == 0 ? 0 : tokens / item;
  const std::int64_t item_stride = tensor.item_tokens == 0 ? 0 : tensor.item_stride;
  return strided(tensor, 0, {items, item, heads, tensor.head_dim},
                 {item_stride, tensor.token_stride, tensor.head_stride, 1}, device);
}

TokenRows::TokenRows(std::vector<TokenRange> sequences, std::optional<EvenSequences> even,
                     std::int64_t item_tokens, std::int64_t heads)
    : sequences_(std::move(sequences)), even_(even), item_tokens_(item_tokens), heads_(heads) {
  for (const TokenRange& sequence : sequences_) {
    tokens_ += sequence.size();
    longest_ = std::max(longest_, sequence.size());
    end_ = std::max(end_, sequence.end);
  }
}

void TokenRows::prepare(at::Device device) {
  device_ = device;
  if (is_even() || indices_.defined()) return;
  at::Tensor borders = at::empty({static_cast<std::int64_t>(sequences_.size()) + 1}, at::kInt);
  at::Tensor indices = at::empty({tokens_}, at::kLong);
  auto* border = borders.data_ptr<std::int32_t>();
  auto* index = indices.data_ptr<std::int64_t>();
  std::int64_t place = 0;
  *border++ = 0;
  for (const TokenRange& sequence : sequences_) {
    for (std::int64_t token = sequence.begin; token < sequence.end; ++token) {
      index[place++] = token;
    }
    *border++ = static_cast<std::int32_t>(place);
  }
  borders_ = borders.to(device);
  indices_ = indices.to(device);
  if (item_tokens_ == 0) return;
  item_indices_ = indices.floor_divide(item_tokens_).to(device);
  places_ = indices.remainder(item_tokens_).to(device);
}

std::int64_t TokenRows::list_bytes() const {
  if (is_even()) return 0;
  const std::int64_t lists = item_tokens_ == 0 ? 1 : 3;
  return lists * tokens_ * static_cast<std::int64_t>(sizeof(std::int64_t)) +
         static_cast<std::int64_t>((sequences_.size() + 1) * sizeof(std::int32_t));
}

at::Tensor TokenRows::view(const ConstTensor& tensor) const {
  return strided(
      tensor, even_->first, {even_->count, even_->length, heads_, tensor.head_dim},
      {batch_stride(tensor, even_->distance), tensor.token_stride, tensor.head_stride, 1}, device_);
}

at::Tensor TokenRows::whole(const ConstTensor& tensor) const {
  if (item_tokens_ == 0) {
    return strided(tensor, 0, {end_, heads_, tensor.head_dim},
                   {tensor.token_stride, tensor.head_stride, 1}, device_);
  }
  const std::int64_t items = (end_ + item_tokens_ - 1) / item_tokens_;
  return all_tokens(tensor, items * item_tokens_, heads_, device_);
}

at::Tensor TokenRows::read(const ConstTensor& tensor) const {
  if (is_even()) return view(tensor);
  if (item_tokens_ == 0) return whole(tensor).index_select(0, indices_);
  return whole(tensor).index({item_indices_, places_});
}

void TokenRows::write(const Tensor& tensor, const at::Tensor& values) const {
  const ConstTensor target = attnscope::as_const(tensor);
  if (is_even()) {
    view(target).copy_(values);
    return;
  }
  const at::Tensor rounded = values.to(scalar_type(tensor.dtype));
  if (item_tokens_ == 0) {
    whole(target).index_copy_(0, indices_, rounded);
  } else {
    whole(target).index_put_({item_indices_, places_}, rounded);
  }
}

void TokenRows::write_numbers(const at::Tensor& all, const at::Tensor& numbers) const {
  const at::Tensor values = numbers.transpose(-1, -2);  // heads last
  if (!is_even()) {
    all.index_copy_(0, indices_, values);
    return;
  }
  all.as_strided({even_->count, even_->length, heads_}, {even_->distance * heads_, heads_, 1},
                 even_->first * heads_)
      .copy_(values);
}

void TokenRows::add(const at::Tensor& sums, const at::Tensor& values) const {
  if (!is_even()) {
    sums.index_add_(0, indices_, values.to(at::kFloat));
    return;
  }
  const std::int64_t dim = sums.size(2);
  if (even_->distance == 0) {
    sums.narrow(0, even_->first, even_->length)
        .add_(values.sum({0}, /*keepdim=*/false, at::kFloat));
    return;
  }
  sums.as_strided({even_->count, even_->length, heads_, dim},
                  {even_->distance * heads_ * dim, heads_ * dim, dim, 1},
                  even_->first * heads_ * dim)
      .add_(values);
}

}  // namespace attnscope
