// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda/device_subjects.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "kernels/cuda/windowed.h"

namespace attnscope::testing {
namespace {

using Content = DeviceTensor::Content;

constexpr std::byte poison{0xff};

void expect_done(const Status& status) {
  EXPECT_TRUE(status) << status.error().message;
}

/// The bytes of the rows: one range per token if there are gaps between tokens, otherwise one range
/// for the whole tensor.
std::vector<ByteRange> ranges_of_rows(const Packed& shape) {
  const std::int64_t token_bytes = shape.heads * shape.row_bytes();
  if (shape.tokens * token_bytes == 0) return {};
  if (shape.order != Order::token_major_apart) {
    const std::int64_t begin = shape.row(0, 0);
    return {{begin, begin + shape.tokens * token_bytes}};
  }
  std::vector<ByteRange> ranges;
  for (std::int64_t token = 0; token < shape.tokens; ++token) {
    const std::int64_t begin = shape.row(token, 0);
    ranges.push_back({begin, begin + token_bytes});
  }
  return ranges;
}

void copy_ranges(std::span<const ByteRange> ranges, const std::vector<std::byte>& from,
                 std::vector<std::byte>& to) {
  for (const ByteRange& range : ranges) {
    std::copy(from.begin() + range.begin, from.begin() + range.end, to.begin() + range.begin);
  }
}

Passes passes_of(const Call& call) {
  return call.alone ? Passes::forward : Passes::forward_backward;
}

DeviceMemory row_sums(const Packed& shape, const Call& call) {
  const std::int64_t rows = call.alone ? 0 : shape.tokens * shape.heads;
  return {"lse", rows * std::int64_t{sizeof(float)}};
}
float* or_null(const DeviceMemory& memory, const Call& call) {
  return call.alone ? nullptr : memory.floats();
}

// ---- segment

struct SegmentOnDevice {
  explicit SegmentOnDevice(const cuda::SegmentWork& of)
      : list("list", of.list()), workspace("workspace", of.workspace_bytes()) {}
  [[nodiscard]] cuda::SegmentMemory memory() const { return {list.data(), workspace.data()}; }

  DeviceMemory list, workspace;
};

Outputs segment_forward(const AttentionPlan& plan, const Inputs& in, const Call& call,
                        const cuda::WalkCut& cut) {
  const auto work = cuda::segment_work(plan, in.q.head_dim, in.q.dtype, passes_of(call), cut);
  Result<Outputs> out = run_segment_forward(work.value(), in, call);
  EXPECT_TRUE(out) << out.error().message;
  return out ? *std::move(out) : Outputs{like(in.q, nan), {}};
}

Gradients segment_backward(const AttentionPlan& plan, const BackwardCase& problem, const Call& call,
                           const cuda::WalkCut& cut) {
  const Packed& shape = problem.in.q;
  const auto work =
      cuda::segment_work(plan, shape.head_dim, shape.dtype, Passes::forward_backward, cut);
  const SegmentOnDevice device(work.value());
  const DeviceGradients gradients(problem);
  set_order(call.order);
  for (int i = 0; i < call.repeats; ++i) {
    expect_done(cuda::segment_backward(*work, device.memory(), gradients.tensors(),
                                       scale_of(shape.head_dim), nullptr));
  }
  return gradients.read_back();
}

// ---- windowed

/// A work list in device memory.
struct WindowedOnDevice {
  explicit WindowedOnDevice(const Result<cuda::WindowedWork>& made)
      : work(made.value()), list("list", work.list()) {}
  [[nodiscard]] DeviceMemory scores(const std::string& name) const {
    return {name, work.score_elements() * std::int64_t{sizeof(float)}};
  }

  cuda::WindowedWork work;
  DeviceMemory list;
};

DeviceMemory on_device(const std::string& name, const std::vector<float>& numbers) {
  return {name, std::as_bytes(std::span(numbers))};
}

Outputs windowed_forward(const AttentionPlan& plan, const Inputs& in, const Call& call) {
  const Packed& shape = in.q;
  const WindowedOnDevice device(
      cuda::windowed_work(plan, shape.head_dim, shape.dtype, passes_of(call)));
  EXPECT_EQ(device.work.score_elements(), windowed_score_elements(plan));
  const DeviceTensor q("q", in.q, Content::given), k("k", in.k, Content::given),
      v("v", in.v, Content::given), o("o", shape, Content::unwritten);
  const DeviceMemory lse = row_sums(shape, call), scores = device.scores("scores");
  set_order(call.order);
  for (int i = 0; i < call.repeats; ++i) {
    expect_done(cuda::windowed_forward(device.work, device.list.data(), q.view(), k.view(),
                                       v.view(), scale_of(shape.head_dim), o.tensor(),
                                       or_null(lse, call), scores.floats(), nullptr));
  }
  return {o.read_back(), lse.read_floats(), scores.read_floats()};
}

Gradients windowed_backward(const AttentionPlan& plan, const BackwardCase& problem,
                            const Call& call) {
  const Packed& shape = problem.in.q;
  const WindowedOnDevice device(
      cuda::windowed_work(plan, shape.head_dim, shape.dtype, Passes::forward_backward));
  const DeviceGradients gradients(problem);
  const std::vector<float>& kept = problem.forward.scores;
  const DeviceMemory weights = on_device("weights", kept), scratch = device.scores("gradients");
  set_order(call.order);
  for (int i = 0; i < call.repeats; ++i) {
    expect_done(cuda::windowed_backward(device.work, device.list.data(), gradients.tensors(),
                                        scale_of(shape.head_dim), weights.floats(),
                                        scratch.floats(), nullptr));
  }
  const std::vector<std::byte> after = weights.read();
  EXPECT_TRUE(kept.empty() || std::memcmp(kept.data(), after.data(), after.size()) == 0);
  return gradients.read_back();
}

Products products(const Band& band, const Inputs& in, const std::vector<float>& weights,
                  int order) {
  const WindowedOnDevice device(cuda::band_work(band.problem(), band.dtype, Passes::forward));
  EXPECT_EQ(device.work.score_elements(), band_elements(band.problem()));
  const DeviceTensor q("q", in.q, Content::given), k("k", in.k, Content::given),
      v("v", in.v, Content::given), o("o", like(in.q, untouched), Content::given);
  const DeviceMemory scores = device.scores("scores"), given = on_device("band", weights);
  set_order(order);
  expect_done(cuda::windowed_qk(device.work, device.list.data(), q.view(), k.view(), products_scale,
                                scores.floats(), nullptr));
  expect_done(cuda::windowed_pv(device.work, device.list.data(), given.floats(), v.view(),
                                o.tensor(), nullptr));
  return {scores.read_floats(), o.read_back()};
}

ProductGradients product_gradients(const Band& band, const Inputs& in,
                                   const std::vector<float>& weights, int order) {
  const WindowedOnDevice device(
      cuda::band_work(band.problem(), band.dtype, Passes::forward_backward));
  const Packed before = like(in.q, untouched);
  const DeviceTensor q("q", in.q, Content::given), k("k", in.k, Content::given),
      v("v", in.v, Content::given), grad_q("grad_q", before, Content::given),
      grad_k("grad_k", before, Content::given), grad_v("grad_v", before, Content::given);
  const DeviceMemory given = on_device("band", weights), grad_band = device.scores("grad_band");
  set_order(order);
  expect_done(cuda::windowed_qk_backward(device.work, device.list.data(), given.floats(), q.view(),
                                         k.view(), products_scale, grad_q.tensor(), grad_k.tensor(),
                                         nullptr));
  expect_done(cuda::windowed_pv_backward(device.work, device.list.data(), given.floats(), v.view(),
                                         q.view(), grad_band.floats(), grad_v.tensor(), nullptr));
  return {grad_q.read_back(), grad_k.read_back(), grad_v.read_back(), grad_band.read_floats()};
}

/// nvcc compiles every kernel once.
void one_build(const std::function<void(const std::string&)>& body) {
  body("cuda");
}

}  // namespace

std::vector<float> DeviceMemory::read_floats() const {
  const std::vector<std::byte> bytes = read();
  EXPECT_TRUE(is_written(0, static_cast<std::int64_t>(bytes.size())))
      << name_ << " has numbers that nothing wrote";
  std::vector<float> numbers(bytes.size() / sizeof(float));
  if (!numbers.empty()) std::memcpy(numbers.data(), bytes.data(), bytes.size());
  return numbers;
}

DeviceTensor::DeviceTensor(const std::string& name, const Packed& packed, Content content)
    : name_(name), shape_(packed), memory_(name, static_cast<std::int64_t>(packed.data.size())) {
  memory_.poison();
  if (content == Content::unwritten) return;
  const std::vector<ByteRange> rows = ranges_of_rows(shape_);
  std::vector<std::byte> values(packed.data.size(), poison);
  copy_ranges(rows, packed.data, values);
  memory_.set(values, rows);
}

Tensor DeviceTensor::tensor() const {
  const ConstTensor t = shape_.view();
  return {memory_.data() + (t.data - shape_.data.data()),
          t.dtype,
          t.head_dim,
          t.token_stride,
          t.head_stride,
          t.item_tokens,
          t.item_stride};
}

Packed DeviceTensor::read_back() const {
  const std::vector<std::byte> bytes = memory_.read();
  const std::vector<ByteRange> rows = ranges_of_rows(shape_);
  const bool all_written = std::ranges::all_of(rows, [&](const ByteRange& row) {
    return memory_.is_written(row.begin, row.end - row.begin);
  });
  EXPECT_TRUE(all_written) << name_ << " has numbers that nothing wrote";
  std::int64_t gap = 0;
  bool gaps_kept = true;
  const auto look_at_gap_before = [&](std::int64_t end) {
    gaps_kept = gaps_kept && std::all_of(bytes.begin() + gap, bytes.begin() + end,
                                         [](std::byte b) { return b == poison; });
  };
  for (const ByteRange& row : rows) {
    look_at_gap_before(row.begin);
    gap = row.end;
  }
  look_at_gap_before(std::ssize(bytes));
  EXPECT_TRUE(gaps_kept) << name_ << " was written between its rows";
  Packed read = like(shape_, nan);
  copy_ranges(rows, bytes, read.data);
  return read;
}

DeviceGradients::DeviceGradients(const BackwardCase& problem)
    : q("q", problem.in.q, Content::given),
      k("k", problem.in.k, Content::given),
      v("v", problem.in.v, Content::given),
      o("o", problem.forward.o, Content::given),
      grad_o("grad_o", problem.grad_o, Content::given),
      grad_q("grad_q", problem.in.q, Content::unwritten),
      grad_k("grad_k", problem.in.q, Content::unwritten),
      grad_v("grad_v", problem.in.q, Content::unwritten),
      lse(on_device("lse", problem.forward.lse)),
      rows(problem.forward.lse.size()) {}

GradientTensors DeviceGradients::tensors() const {
  return {.q = q.view(),
          .k = k.view(),
          .v = v.view(),
          .o = o.view(),
          .lse = {lse.floats(), rows},
          .grad_o = grad_o.view(),
          .grad_q = grad_q.tensor(),
          .grad_k = grad_k.tensor(),
          .grad_v = grad_v.tensor()};
}

Gradients DeviceGradients::read_back() const {
  return {grad_q.read_back(), grad_k.read_back(), grad_v.read_back()};
}

Result<Outputs> run_segment_forward(const cuda::SegmentWork& work, const Inputs& in,
                                    const Call& call) {
  const Packed& shape = in.q;
  const SegmentOnDevice device(work);
  const DeviceTensor q("q", in.q, Content::given), k("k", in.k, Content::given),
      v("v", in.v, Content::given), o("o", shape, Content::unwritten);
  const DeviceMemory lse = row_sums(shape, call);
  set_order(call.order);
  for (int i = 0; i < call.repeats; ++i) {
    const Status done =
        cuda::segment_forward(work, device.memory(), q.view(), k.view(), v.view(),
                              scale_of(shape.head_dim), o.tensor(), or_null(lse, call), nullptr);
    if (!done) return tl::unexpected(done.error());
  }
  return Outputs{o.read_back(), lse.read_floats()};
}

Subject segment_subject(const std::string& name, const cuda::WalkCut& cut) {
  return {
      .name = name,
      .recomputes = true,
      .emulated = true,
      .supports = cuda::segment_supports,
      .forward = [cut](const AttentionPlan& plan, const Inputs& in,
                       const Call& call) { return segment_forward(plan, in, call, cut); },
      .backward = [cut](const AttentionPlan& plan, const BackwardCase& problem,
                        const Call& call) { return segment_backward(plan, problem, call, cut); },
      .for_each_build = one_build};
}

const std::vector<Subject>& device_subjects() {
  static const std::vector<Subject> all{segment_subject("cuda_segment", {}),
                                        {.name = "cuda_windowed",
                                         .emulated = true,
                                         .supports = cuda::windowed_supports,
                                         .forward = windowed_forward,
                                         .backward = windowed_backward,
                                         .for_each_build = one_build}};
  return all;
}

const ProductSubject& device_product_subject() {
  static const ProductSubject subject{.name = "cuda_windowed",
                                      .emulated = true,
                                      .forward = products,
                                      .backward = product_gradients,
                                      .for_each_build = one_build};
  return subject;
}

}  // namespace attnscope::testing
