// SPDX-License-Identifier: Apache-2.0
//
// The fused CUDA kernels at the headline's shapes, without LibTorch: right, the same to the bit on
// every call and stream, and how fast beside a copy of the same bytes in the same run.
//
//   kernels_bench [--quick]
//
// 100 documents of 4096 and of 174 tokens beside a query of 10, 12 heads of 32, bfloat16, the
// sparse pattern. One document is held against float64; all documents are copies of it, and so must
// their results be. Exit status 1: something was wrong, or there is no GPU.

#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "engine/pattern/attention_pattern.h"
#include "engine/pattern/compile_plan.h"
#include "kernels/cuda/segment.h"
#include "kernels/plan/counts.h"
#include "tests/cuda/device_subjects.h"
#include "tests/kernels/reference.h"

namespace attnscope::testing {
namespace {

constexpr std::int64_t documents = 100, heads = 12, head_dim = 32, query = 10;

void expect(cudaError_t error, const char* what) {
  if (error != cudaSuccess)
    throw std::runtime_error(fmt::format("{}: {}", what, cudaGetErrorString(error)));
}
void expect(const Status& status) {
  if (!status) throw std::runtime_error(status.error().message);
}

class OnStream {
 public:
  OnStream() {
    expect(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
    expect(cudaEventCreate(&begin_), "cudaEventCreate");
    expect(cudaEventCreate(&end_), "cudaEventCreate");
  }
  OnStream(const OnStream&) = delete;
  OnStream& operator=(const OnStream&) = delete;
  ~OnStream() {
    cudaEventDestroy(end_);
    cudaEventDestroy(begin_);
    cudaStreamDestroy(stream_);
  }

  [[nodiscard]] cudaStream_t stream() const { return stream_; }

  /// Milliseconds of a call, ascending: `groups` times the mean of calls side by side.
  [[nodiscard]] std::vector<float> times(int groups, const std::function<void()>& call) const {
    constexpr int calls = 10;
    call();
    std::vector<float> times;
    for (int group = 0; group < groups; ++group) {
      float ms = 0;
      expect(cudaEventRecord(begin_, stream_), "cudaEventRecord");
      for (int i = 0; i < calls; ++i) call();
      expect(cudaEventRecord(end_, stream_), "cudaEventRecord");
      expect(cudaEventSynchronize(end_), "a kernel");
      expect(cudaEventElapsedTime(&ms, begin_, end_), "cudaEventElapsedTime");
      times.push_back(ms / calls);
    }
    std::ranges::sort(times);
    return times;
  }

 private:
  cudaStream_t stream_ = nullptr;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

/// The tensor of one document, for each of them.
Packed repeated(const Packed& one) {
  Packed all(documents * one.tokens, one.heads, one.head_dim, one.order, 0, 0.0F, one.dtype);
  for (std::int64_t token = 0; token < all.tokens; ++token) {
    for (std::int64_t head = 0; head < one.heads; ++head) {
      std::memcpy(all.data.data() + all.row(token, head),
                  one.data.data() + one.row(token % one.tokens, head),
                  static_cast<std::size_t>(one.row_bytes()));
    }
  }
  return all;
}

/// Whether all documents of `all` have the rows of `first`, which gets those of the first one.
bool takes_first(const Packed& all, Packed& first) {
  bool same = true;
  for (std::int64_t token = 0; token < all.tokens; ++token) {
    for (std::int64_t head = 0; head < all.heads; ++head) {
      std::byte* const row = first.data.data() + first.row(token % first.tokens, head);
      const std::byte* const from = all.data.data() + all.row(token, head);
      const auto bytes = static_cast<std::size_t>(all.row_bytes());
      if (token < first.tokens) std::memcpy(row, from, bytes);
      same = same && std::memcmp(row, from, bytes) == 0;
    }
  }
  return same;
}

/// One length and window, forward and backward.
class Case {
 public:
  Case(std::int64_t tokens, std::int64_t window)
      : tokens_(tokens),
        window_(window),
        plan_(plan_of(documents)),
        one_(plan_of(1)),
        keys_(keys_from_plan(one_)),
        inputs_(random_inputs(tokens, heads, head_dim, Order::head_major, 0, 7, DType::bfloat16)),
        work_(
            cuda::segment_work(plan_, head_dim, DType::bfloat16, Passes::forward_backward).value()),
        list_("list", work_.list()),
        q_("q", repeated(inputs_.q), DeviceTensor::Content::given),
        k_("k", repeated(inputs_.k), DeviceTensor::Content::given),
        v_("v", repeated(inputs_.v), DeviceTensor::Content::given),
        o_("o", repeated(inputs_.q), DeviceTensor::Content::unwritten),
        lse_("lse", plan_.tokens * heads * std::int64_t{sizeof(float)}) {}

  /// Prints its lines; false where something is wrong.
  bool run(double copy_bytes_a_ms, int repeats, int groups) {
    const OnStream streams[2];
    std::vector<DeviceMemory> workspaces;
    for (int i = 0; i < 2; ++i) workspaces.emplace_back("workspace", work_.workspace_bytes());
    const auto forward = [&](int i) {
      expect(cuda::segment_forward(work_, {list_.data(), workspaces[index(i)].data()}, q_.view(),
                                   k_.view(), v_.view(), scale_of(head_dim), o_.tensor(),
                                   lse_.floats(), streams[i].stream()));
    };
    forward(0);
    Outputs one{like(inputs_.q, nan), {}};
    const bool alike = takes_first(o_.read_back(), one.o);
    const std::vector<float> lse = lse_.read_floats();
    one.lse.assign(lse.begin(), lse.begin() + tokens_ * heads);
    expect_near(one, reference(keys_, inputs_), text());
    const std::vector<std::byte> first = lse_.read(), o = bytes_of(o_);
    bool same = true;
    for (int i = 1; i < repeats; ++i) {
      forward(i % 2);
      same = same && lse_.read() == first && bytes_of(o_) == o;
    }
    tell("forward", alike, same, streams[0].times(groups, [&] { forward(0); }), copy_bytes_a_ms,
         Passes::forward);

    const Packed grad_o = random_like(inputs_.q, 8);
    const BackwardCase problem{inputs_, one, grad_o};
    const BackwardCase all{{repeated(inputs_.q), repeated(inputs_.k), repeated(inputs_.v)},
                           {repeated(one.o), lse},
                           repeated(grad_o)};
    const DeviceGradients device(all);
    const auto backward = [&](int i) {
      expect(cuda::segment_backward(work_, {list_.data(), workspaces[index(i)].data()},
                                    device.tensors(), scale_of(head_dim), streams[i].stream()));
    };
    backward(0);
    const Gradients whole = device.read_back();
    Gradients of_one{like(inputs_.q, nan), like(inputs_.q, nan), like(inputs_.q, nan)};
    const bool gradients_alike = takes_first(whole.q, of_one.q) && takes_first(whole.k, of_one.k) &&
                                 takes_first(whole.v, of_one.v);
    expect_near(of_one, reference_gradients(keys_, exact(problem)), text());
    bool gradients_same = true;
    for (int i = 1; i < repeats; ++i) {
      backward(i % 2);
      gradients_same = gradients_same && same_bits(device.read_back(), whole);
    }
    tell("backward", gradients_alike, gradients_same,
         streams[0].times(groups, [&] { backward(0); }), copy_bytes_a_ms, Passes::forward_backward);
    return alike && same && gradients_alike && gradients_same;
  }

 private:
  [[nodiscard]] AttentionPlan plan_of(std::int64_t count) const {
    return *compile_plan(
        *find_pattern("sparse"), Window::of(window_),
        SequenceLayout::uniform(count, {.query = query, .documents = {tokens_ - query - 1}}),
        heads);
  }
  [[nodiscard]] std::string text() const {
    return fmt::format("{} tokens, w = {}", tokens_, window_);
  }
  [[nodiscard]] static std::vector<std::byte> bytes_of(const DeviceTensor& tensor) {
    return tensor.read_back().data;
  }
  /// Of backward the bytes are its own, without the forward pass's.
  void tell(const char* pass, bool alike, bool same, const std::vector<float>& times,
            double copy_bytes_a_ms, Passes passes) const {
    double bytes = least_bytes(plan_, head_dim, DType::bfloat16, passes);
    if (passes != Passes::forward)
      bytes -= least_bytes(plan_, head_dim, DType::bfloat16, Passes::forward);
    const float median = times[times.size() / 2];
    std::printf("%-24s %-9s %9.4f ms (%.4f to %.4f)  %5.1f %% of copy  documents %s, repeats %s\n",
                text().c_str(), pass, median, times[times.size() / 20],
                times[times.size() - 1 - times.size() / 20], 100 * bytes / copy_bytes_a_ms / median,
                alike ? "alike" : "DIFFER", same ? "the same" : "DIFFER");
    std::fflush(stdout);
  }

  std::int64_t tokens_, window_;
  AttentionPlan plan_, one_;
  KeysOf keys_;
  Inputs inputs_;  // of one document
  cuda::SegmentWork work_;
  DeviceMemory list_;
  DeviceTensor q_, k_, v_, o_;
  DeviceMemory lse_;
};

/// Bytes read and written.
double copied_bytes_a_ms() {
  constexpr std::int64_t bytes = std::int64_t{1} << 30;
  const DeviceMemory from("from", bytes), to("to", bytes);
  const OnStream on;
  const std::vector<float> times = on.times(10, [&] {
    expect(cudaMemcpyAsync(to.data(), from.data(), bytes, cudaMemcpyDeviceToDevice, on.stream()),
           "cudaMemcpyAsync");
  });
  return 2.0 * bytes / times[times.size() / 2];
}

bool bench(bool quick) {
  const double copy = copied_bytes_a_ms();
  std::printf("copy: %.0f GB/s\n", copy / 1e6);
  bool right = true;
  for (const std::int64_t tokens : {4096, 174}) {
    for (const std::int64_t window : {4, 16, 64}) {
      const int repeats = quick ? 3 : tokens > 1000 ? 5 : 200;
      right = Case(tokens, window).run(copy, repeats, quick ? 5 : 40) && right;
    }
  }
  return right;
}

}  // namespace
}  // namespace attnscope::testing

int main(int argc, char** argv) {
  namespace testing = attnscope::testing;
  if (const auto reason = testing::no_device()) {
    std::fprintf(stderr, "kernels_bench: %s\n", reason->c_str());
    return 1;
  }
  ::testing::InitGoogleTest(&argc, argv);  // the comparisons are its expectations
  try {
    const bool quick = argc > 1 && std::string_view(argv[1]) == "--quick";
    return testing::bench(quick) && !::testing::Test::HasFailure() ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "kernels_bench: %s\n", error.what());
    return 1;
  }
}
