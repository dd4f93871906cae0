// SPDX-License-Identifier: Apache-2.0
//
// The same call that a heat of AttnScope times - segment, forward, sparse pattern, 1024 tokens,
// window 64, 8 items, one thread, no log-sum-exps - for other tools to time, so that their figures
// can be compared with ours (results/tools/trust.py crosscheck):
//
//   attnscope_identical_call --place 3             # Google Benchmark, with its options
//   perf stat -e duration_time attnscope_identical_call --place 3 --loop 1000
//
// The addresses of buffers change a time by percents, so a heat shifts them for every placement;
// `--place N` does the same here, and one process is one placement.
#include <benchmark/benchmark.h>

#include <charconv>
#include <cstdio>
#include <functional>
#include <random>
#include <string_view>

#include "kernels/cpu/segment.h"
#include "tests/benchmark/problem.h"

namespace attnscope::cpu {
namespace {

constexpr int threads = 1;
constexpr ProblemShape shape{.item_tokens = 1024, .window = 64, .items = 8};

/// A tensor of a problem, moved by a whole number of cache lines as a heat moves its large ones.
class Shifted {
 public:
  Shifted(const Buffer& from, std::int64_t bytes, std::mt19937& random)
      : bytes_(buffer(bytes + room)) {
    shift_ = static_cast<std::int64_t>(random() % (room / line)) * line;
    std::copy_n(from.get(), bytes, data());
  }
  [[nodiscard]] std::byte* data() const { return bytes_.get() + shift_; }

 private:
  static constexpr std::int64_t room = 1 << 20, line = 64;
  Buffer bytes_;
  std::int64_t shift_ = 0;
};

class IdenticalCall {
 public:
  explicit IdenticalCall(unsigned place)
      : random_(place),
        problem_(make_problem(shape)),
        tensor_bytes_(problem_.plan.tokens * heads * head_dim * size_of(problem_.dtype)),
        workspace_bytes_(segment_workspace_bytes(problem_.plan, head_dim, threads)),
        q_(problem_.q, tensor_bytes_, random_),
        k_(problem_.k, tensor_bytes_, random_),
        v_(problem_.v, tensor_bytes_, random_),
        o_(problem_.o, tensor_bytes_, random_),
        workspace_(buffer(workspace_bytes_)) {}

  [[nodiscard]] Status operator()() const {
    const auto in = [&](const Shifted& x) {
      return problem_.tensor(static_cast<const std::byte*>(x.data()));
    };
    return segment_forward(problem_.plan, in(q_), in(k_), in(v_), scale, problem_.tensor(o_.data()),
                           {}, threads,
                           {workspace_.get(), static_cast<std::size_t>(workspace_bytes_)});
  }

 private:
  std::mt19937 random_;
  Problem problem_;
  std::int64_t tensor_bytes_, workspace_bytes_;
  Shifted q_, k_, v_, o_;
  Buffer workspace_;
};

/// The benchmark runs this anew for every repetition, each a few calls long: buffers of its own
/// would have it time their page faults.
void segment(benchmark::State& state, const IdenticalCall& call) {
  for (auto _ : state) {
    if (const Status done = call(); !done) state.SkipWithError(done.error().message.c_str());
  }
}

int loop(unsigned place, int calls) {
  const IdenticalCall call(place);
  for (int i = 0; i < calls; ++i) {
    if (const Status done = call(); !done) {
      std::fprintf(stderr, "%s\n", done.error().message.c_str());
      return 1;
    }
  }
  return 0;
}

/// Takes "NAME NUMBER" out of the arguments; `otherwise` when it is not there.
int take_number(int& argc, char** argv, std::string_view name, int otherwise) {
  for (int i = 1; i + 1 < argc; ++i) {
    if (argv[i] != name) continue;
    const std::string_view text = argv[i + 1];
    std::from_chars(text.data(), text.data() + text.size(), otherwise);
    for (int rest = i; rest + 2 <= argc; ++rest) argv[rest] = argv[rest + 2];
    argc -= 2;
    break;
  }
  return otherwise;
}

}  // namespace
}  // namespace attnscope::cpu

int main(int argc, char** argv) {
  using namespace attnscope::cpu;
  const auto place = static_cast<unsigned>(take_number(argc, argv, "--place", 1));
  if (const int calls = take_number(argc, argv, "--loop", 0); calls > 0) return loop(place, calls);
  const IdenticalCall call(place);
  benchmark::RegisterBenchmark("segment", segment, std::cref(call))->Unit(benchmark::kMillisecond);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
