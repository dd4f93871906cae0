// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda_on_host/segment_case.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

namespace attnscope::testing {
namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN();

Tensor strided(const Packed& shape, Place place, std::byte* data) {
  const std::int64_t d = shape.head_dim;
  constexpr std::int64_t gap = 3;
  Tensor t{data, shape.dtype, d, d, shape.tokens * d, 0, 0};
  switch (place) {
    case Place::token_major:
    case Place::token_major_apart:
      t.token_stride = shape.heads * d + (place == Place::token_major_apart ? gap : 0);
      t.head_stride = d;
      break;
    case Place::head_major_items:
      t.head_stride = shape.item_tokens * d;
      t.item_tokens = shape.item_tokens;
      t.item_stride = shape.heads * shape.item_tokens * d;
      break;
    case Place::head_major:
      break;
    case Place::off_its_boundary:
      t.data += size_of(shape.dtype);
      break;
  }
  return t;
}

/// Up to the last element, no further.
std::int64_t bytes_of(const Packed& shape, Place place) {
  if (shape.tokens == 0) return 0;
  std::byte none{};
  const Tensor t = strided(shape, place, &none);
  const std::int64_t numbers = t.offset(shape.tokens - 1, shape.heads - 1) + shape.head_dim;
  return (t.data - &none) + numbers * size_of(shape.dtype);
}

template <typename Visit>
void for_each_row(const Packed& shape, const Visit& visit) {
  for (std::int64_t token = 0; token < shape.tokens; ++token) {
    for (std::int64_t head = 0; head < shape.heads; ++head) visit(token, head);
  }
}

}  // namespace

std::string name_of(Place place) {
  switch (place) {
    case Place::token_major:
      return "token-major";
    case Place::token_major_apart:
      return "token-major, rows apart";
    case Place::head_major:
      return "head-major";
    case Place::head_major_items:
      return "head-major items";
    case Place::off_its_boundary:
      return "head-major, off its boundary";
  }
  return "";
}

WatchedTensor::WatchedTensor(const std::string& name, const Packed& packed, Place place,
                             Content content)
    : name_(name), shape_(packed), place_(place), memory_(name, bytes_of(packed, place)) {
  if (content == Content::unwritten) return;
  const std::int64_t size = size_of(shape_.dtype);
  const Tensor to = tensor();
  for_each_row(shape_, [&](std::int64_t token, std::int64_t head) {
    const std::byte* row = packed.data.data() + packed.view().offset(token, head) * size;
    memory_.set(std::span(row, static_cast<std::size_t>(shape_.head_dim * size)),
                to.data - memory_.data() + to.offset(token, head) * size);
  });
}

Tensor WatchedTensor::tensor() const {
  return strided(shape_, place_, memory_.data());
}

Packed WatchedTensor::read_back() const {
  Packed read = like(shape_, nan);
  const std::int64_t size = size_of(shape_.dtype), row_bytes = shape_.head_dim * size;
  const Tensor from = tensor();
  std::vector<bool> in_rows(static_cast<std::size_t>(memory_.size()));
  bool rows_written = true;
  for_each_row(shape_, [&](std::int64_t token, std::int64_t head) {
    const std::byte* row = from.data + from.offset(token, head) * size;
    rows_written = rows_written && on_host::is_written(row, row_bytes);
    std::memcpy(read.data.data() + read.view().offset(token, head) * size, row,
                static_cast<std::size_t>(row_bytes));
    std::fill_n(in_rows.begin() + (row - memory_.data()), row_bytes, true);
  });
  EXPECT_TRUE(rows_written) << name_ << " has numbers that nothing wrote";
  for (std::int64_t at = 0; at < memory_.size(); at += size) {
    if (in_rows[static_cast<std::size_t>(at)]) continue;
    EXPECT_FALSE(on_host::is_written(memory_.data() + at, size)) << name_ << " byte " << at;
  }
  return read;
}

SegmentOnHost::SegmentOnHost(const AttentionPlan& plan, std::int64_t head_dim, DType dtype,
                             Passes passes) {
  Result<cuda::SegmentWork> work = cuda::segment_work(plan, head_dim, dtype, passes);
  EXPECT_TRUE(work) << work.error().message;
  work_ = std::make_unique<cuda::SegmentWork>(*std::move(work));
  start();
}

SegmentOnHost::SegmentOnHost(const cuda::WorkList& list, std::int64_t head_dim, DType dtype)
    : work_(std::make_unique<cuda::SegmentWork>(std::make_shared<const cuda::WorkList>(list),
                                                head_dim, dtype)) {
  start();
}

void SegmentOnHost::start() {
  list_ = std::make_unique<on_host::DeviceArray<std::byte>>("list", work_->list());
  workspace_ =
      std::make_unique<on_host::DeviceArray<std::byte>>("workspace", work_->workspace_bytes());
  workspace_->fill_with_zeros(work_->counter_bytes());
}

void SegmentOnHost::expect_counters_at_zero() const {
  const std::byte* counters = workspace_->data();
  EXPECT_TRUE(std::all_of(counters, counters + work_->counter_bytes(),
                          [](std::byte byte) { return byte == std::byte{0}; }));
}

Result<Outputs> SegmentOnHost::try_forward(const Inputs& inputs, Place place) const {
  using Content = WatchedTensor::Content;
  const Packed& shape = inputs.q;
  const WatchedTensor q("q", inputs.q, place, Content::given);
  const WatchedTensor k("k", inputs.k, place, Content::given);
  const WatchedTensor v("v", inputs.v, place, Content::given);
  const WatchedTensor o("o", shape, place, Content::unwritten);
  const on_host::DeviceArray<float> lse("lse", shape.tokens * shape.heads);
  const Status done =
      cuda::segment_forward(*work_, memory(), q.view(), k.view(), v.view(),
                            scale_of(shape.head_dim), o.tensor(), lse.data(), nullptr);
  if (!done) return tl::unexpected(done.error());
  EXPECT_TRUE(lse.written());
  expect_counters_at_zero();
  return Outputs{o.read_back(), lse.values()};
}

Result<Gradients> SegmentOnHost::try_backward(const BackwardCase& problem, Place place) const {
  using Content = WatchedTensor::Content;
  const Packed& shape = problem.in.q;
  const WatchedTensor q("q", problem.in.q, place, Content::given);
  const WatchedTensor k("k", problem.in.k, place, Content::given);
  const WatchedTensor v("v", problem.in.v, place, Content::given);
  const WatchedTensor o("o", problem.forward.o, place, Content::given);
  const WatchedTensor grad_o("grad_o", problem.grad_o, place, Content::given);
  const WatchedTensor grad_q("grad_q", shape, place, Content::unwritten);
  const WatchedTensor grad_k("grad_k", shape, place, Content::unwritten);
  const WatchedTensor grad_v("grad_v", shape, place, Content::unwritten);
  const on_host::DeviceArray<float> lse("lse", std::span<const float>(problem.forward.lse));
  const GradientTensors tensors{.q = q.view(),
                                .k = k.view(),
                                .v = v.view(),
                                .o = o.view(),
                                .lse = {lse.data(), problem.forward.lse.size()},
                                .grad_o = grad_o.view(),
                                .grad_q = grad_q.tensor(),
                                .grad_k = grad_k.tensor(),
                                .grad_v = grad_v.tensor()};
  const Status done =
      cuda::segment_backward(*work_, memory(), tensors, scale_of(shape.head_dim), nullptr);
  if (!done) return tl::unexpected(done.error());
  expect_counters_at_zero();
  return Gradients{grad_q.read_back(), grad_k.read_back(), grad_v.read_back()};
}

Outputs SegmentOnHost::forward(const Inputs& inputs, Place place) const {
  Result<Outputs> out = try_forward(inputs, place);
  EXPECT_TRUE(out) << out.error().message;
  return out ? *std::move(out)
             : Outputs{like(inputs.q, nan),
                       std::vector<float>(
                           static_cast<std::size_t>(inputs.q.tokens * inputs.q.heads), nan)};
}

Gradients SegmentOnHost::backward(const BackwardCase& problem, Place place) const {
  Result<Gradients> out = try_backward(problem, place);
  EXPECT_TRUE(out) << out.error().message;
  const Packed empty = like(problem.in.q, nan);
  return out ? *std::move(out) : Gradients{empty, empty, empty};
}

void expect_cuda_segment_right(const AttentionPlan& plan, const Inputs& inputs, const KeysOf& keys,
                               Place place, const std::string& what) {
  const std::int64_t d = inputs.q.head_dim;
  const SegmentOnHost segment(plan, d, inputs.q.dtype, Passes::forward_backward);
  const std::string where = fmt::format("{} {}", name_of(place), what);
  Outputs forward = segment.forward(inputs, place);
  expect_near(forward, reference(keys, inputs), d, where);
  if (::testing::Test::HasFailure()) return;
  const BackwardCase problem{inputs, std::move(forward), random_like(inputs.q, 7)};
  expect_near(segment.backward(problem, place), reference_gradients(keys, exact(problem)), where);
}

void expect_cuda_segment_right(const AttentionCase& problem, Place place) {
  expect_cuda_segment_right(problem.plan(), random_inputs(problem), problem.keys(), place,
                            problem.text());
}

}  // namespace attnscope::testing
