// SPDX-License-Identifier: Apache-2.0
//
// Checks and times the fused CUDA kernels without LibTorch: results must be right and have the same
// bits in every call and stream; a copy of memory is timed for comparison. `kernels_bench --help`
// lists the options. The input is one document, repeated: its result is compared with float64, and
// all others must be equal to it.

#include <fmt/format.h>
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "engine/pattern/attention_pattern.h"
#include "engine/pattern/compile_plan.h"
#include "kernels/cuda/segment.h"
#include "kernels/plan/counts.h"
#include "tests/cuda/bench_device.h"
#include "tests/kernels/reference.h"

namespace attnscope::testing {
namespace {

constexpr std::int64_t head_dim = 32, query = 10;
constexpr int calls_of_a_group = 10;
constexpr float most_ms_of_a_time = 2000;  // of all groups
constexpr std::array dtypes{DType::bfloat16, DType::float16, DType::float32};

std::string type_name(DType dtype) {
  return std::string(attnscope::name_of(dtype));
}

/// How walks are cut (kernels/cuda/work_list.h).
struct Variant {
  const char* name;
  bool by_strips, alternate;
};
constexpr std::array<Variant, 4> variants{{{"default", false, false},
                                           {"strips", true, false},
                                           {"alternate", false, true},
                                           {"strips+alternate", true, true}}};
const Variant& variant_of(const std::string& name) {
  return *std::ranges::find(variants, name, &Variant::name);
}
template <typename List, typename NameOf>
std::vector<std::string> names_in(const List& list, const NameOf& name_of) {
  std::vector<std::string> names;
  for (const auto& each : list) names.emplace_back(name_of(each));
  return names;
}

struct Options {
  std::vector<std::int64_t> tokens{4096, 174}, windows{4, 64};
  std::vector<std::string> directions{"forward", "backward"}, modes{"warm", "cold", "graph"};
  std::vector<std::string> types{"bfloat16"}, variants{"default"};
  std::int64_t documents = 100, heads = 12;
  int groups = 40, repeats = 3, copy_mb = 1024;
  bool once = false;
  std::string csv;
};

void expect(const Status& status) {
  if (!status) throw std::runtime_error(status.error().message);
}

/// Prints the failures of GoogleTest expectations; returns whether there are none.
bool passes(const std::function<void()>& expectations) {
  ::testing::TestPartResultArray found;
  {
    const ::testing::ScopedFakeTestPartResultReporter reporter(
        ::testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &found);
    expectations();
  }
  for (int i = 0; i < found.size(); ++i) {
    fmt::print(stderr, "kernels_bench: {}\n", found.GetTestPartResult(i).message());
  }
  return found.size() == 0;
}

/// A CSV file; write() flushes every line.
class Csv {
 public:
  explicit Csv(const std::string& path) {
    if (path.empty()) return;
    file_.reset(std::fopen(path.c_str(), "a"));
    if (!file_) throw std::runtime_error(fmt::format("{} cannot be written", path));
    std::fseek(file_.get(), 0, SEEK_END);
    if (std::ftell(file_.get()) == 0) {
      write(
          "tokens,window,direction,mode,dtype,variant,median_ms,low_ms,high_ms,groups,part_of_copy,"
          "copy_gb_s,"
          "documents,heads,head_dim,right,documents_alike,repeats_alike");
    }
  }
  void write(const std::string& line) const {
    if (!file_) return;
    fmt::print(file_.get(), "{}\n", line);
    std::fflush(file_.get());
  }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::unique_ptr<std::FILE, Close> file_;
};

/// [documents, heads, tokens, head_dim] in device memory.
class Documents {
 public:
  enum class Content { copies, unwritten };

  /// With the shape of `one`: copies of it, or unwritten.
  Documents(const std::string& name, const Packed& one, std::int64_t count, Content content)
      : one_bytes_(static_cast<std::int64_t>(one.data.size())),
        dtype_(one.dtype),
        tokens_(one.tokens),
        heads_(one.heads),
        memory_(name, count * one_bytes_) {
    memory_.poison();
    if (content == Content::copies) set(one);
  }
  void set(const Packed& one) {
    memory_.set(one.data);
    repeat_first(memory_, one_bytes_);
  }
  [[nodiscard]] DeviceMemory& memory() { return memory_; }
  [[nodiscard]] Tensor tensor() const {
    const std::int64_t head_stride = tokens_ * head_dim;
    return {memory_.data(), dtype_, head_dim, head_dim, head_stride, tokens_, heads_ * head_stride};
  }
  [[nodiscard]] ConstTensor view() const { return attnscope::as_const(tensor()); }

 private:
  std::int64_t one_bytes_;
  DType dtype_;
  std::int64_t tokens_, heads_;
  DeviceMemory memory_;
};

struct Verdict {
  bool right = true, documents_alike = true, repeats_alike = true;
  [[nodiscard]] bool good() const { return right && documents_alike && repeats_alike; }
};

/// A result in device memory, and host memory for the result of the first document.
struct DeviceResult {
  DeviceMemory* memory;
  std::span<std::byte> first;
};

/// Whether the results of all documents are the same; copies the first one.
bool documents_alike(const DeviceResult& result, ReadBuffer& buffer) {
  const std::span<const std::byte> all = buffer.read(*result.memory);
  std::ranges::copy(all.first(result.first.size()), result.first.begin());
  // Every document equals the one before it.
  return std::memcmp(all.data(), all.data() + result.first.size(),
                     all.size() - result.first.size()) == 0;
}

/// Makes the call `repeats` times, alternating between two streams, and compares the bits of every
/// result.
Verdict verdict_of_calls(const std::function<void(std::size_t stream)>& call,
                         std::vector<DeviceResult> results, int repeats, ReadBuffer& buffer) {
  Verdict verdict;
  std::vector<std::vector<std::byte>> before;
  for (int i = 0; i < repeats; ++i) {
    for (const DeviceResult& result : results) result.memory->poison();
    call(static_cast<std::size_t>(i % 2));
    for (std::size_t r = 0; r < results.size(); ++r) {
      if (!documents_alike(results[r], buffer)) verdict.documents_alike = false;
      const std::span<const std::byte> now = results[r].first;
      if (i == 0) {
        before.emplace_back(now.begin(), now.end());
      } else if (!std::ranges::equal(now, before[r])) {
        verdict.repeats_alike = false;
      }
    }
  }
  return verdict;
}

/// Sorted milliseconds of a call.
std::vector<float> times(const BenchStream& on, const std::string& mode, int groups,
                         const std::function<void()>& call) {
  const auto several = [&] {
    for (int i = 0; i < calls_of_a_group; ++i) call();
  };
  std::vector<float> times;
  call();
  if (mode == "cold") {
    for (int i = 0; i < groups; ++i) {
      on.flush_cache();
      times.push_back(on.time(call));
    }
  } else {
    // Fewer groups of slow calls.
    const float most_groups = most_ms_of_a_time / (calls_of_a_group * on.time(call));
    groups = std::min(groups, std::max(3, static_cast<int>(std::min(most_groups, 1e6F))));
    const std::function<void()> group = mode == "graph" ? on.recorded(several) : several;
    group();
    for (int i = 0; i < groups; ++i) times.push_back(on.time(group) / calls_of_a_group);
  }
  std::ranges::sort(times);
  return times;
}

/// One length, window and type, forward and backward.
class Case {
 public:
  Case(const Options& options, std::int64_t tokens, std::int64_t window, DType dtype)
      : options_(options),
        tokens_(tokens),
        window_(window),
        dtype_(dtype),
        plan_(plan_of(options.documents)),
        one_(plan_of(1)),
        keys_(keys_from_plan(one_)),
        inputs_(random_inputs(tokens, options.heads, head_dim, Order::head_major, 0, 7, dtype)),
        outputs_{like(inputs_.q, nan), std::vector<float>(index(tokens * options.heads))},
        q_(documents("q", inputs_.q)),
        k_(documents("k", inputs_.k)),
        v_(documents("v", inputs_.v)),
        o_(unwritten("o")),
        lse_("lse", plan_.tokens * options.heads * std::int64_t{sizeof(float)}) {}

  /// Cuts the plan in another way for the next calls.
  void use(const Variant& variant) {
    variant_ = variant.name;
    const cuda::WalkCut cut{.by_strips = variant.by_strips,
                            .alternate = variant.alternate,
                            .processors = cuda::multiprocessors()};
    auto work = cuda::segment_work(plan_, head_dim, dtype_, Passes::forward_backward, cut);
    work_.emplace(std::move(work.value()));
    list_.emplace("list", work_->list());
    workspaces_.clear();
    for (int i = 0; i < 2; ++i) workspaces_.emplace_back("workspace", work_->workspace_bytes());
  }

  /// Only one call, for a profiler; the backward pass needs the results of the forward pass.
  void once() {
    forward(0);
    if (measures("backward")) {
      prepare_backward(random_like(inputs_.q, 8));
      backward(0);
    }
    static_cast<void>(buffer_.read(lse_));
  }

  /// Writes a line for each direction and mode; returns whether all results are right.
  bool run(double copy_bytes_a_ms, const Csv& csv) {
    Verdict verdict = verdict_of_calls(
        [&](std::size_t i) { forward(i); },
        {{&o_.memory(), outputs_.o.data}, {&lse_, std::as_writable_bytes(std::span(outputs_.lse))}},
        options_.repeats, buffer_);
    if (!reference_) reference_ = reference(keys_, inputs_);
    verdict.right = passes([&] { expect_near(outputs_, *reference_, text() + " forward"); });
    bool good = verdict.good();
    if (measures("forward")) {
      report("forward", verdict, copy_bytes_a_ms, csv, [&] { forward(0); });
    }
    if (!measures("backward")) return good;

    const Packed grad_o = random_like(inputs_.q, 8);
    prepare_backward(grad_o);
    Gradients gradients{like(inputs_.q, nan), like(inputs_.q, nan), like(inputs_.q, nan)};
    verdict = verdict_of_calls([&](std::size_t i) { backward(i); },
                               {{&gradients_->q.memory(), gradients.q.data},
                                {&gradients_->k.memory(), gradients.k.data},
                                {&gradients_->v.memory(), gradients.v.data}},
                               options_.repeats, buffer_);
    verdict.right = passes([&] {
      expect_near(gradients, reference_gradients(keys_, exact({inputs_, outputs_, grad_o})),
                  text());
    });
    report("backward", verdict, copy_bytes_a_ms, csv, [&] { backward(0); });
    return good && verdict.good();
  }

 private:
  struct BackwardTensors {
    Documents grad_o, q, k, v;  // the last three are the results
  };

  [[nodiscard]] bool measures(const std::string& direction) const {
    return std::ranges::count(options_.directions, direction) > 0;
  }
  [[nodiscard]] AttentionPlan plan_of(std::int64_t count) const {
    const SequenceLayout layout =
        SequenceLayout::uniform(count, {.query = query, .documents = {tokens_ - query - 1}});
    return *compile_plan(*find_pattern("sparse"), Window::of(window_), layout,
                         static_cast<std::int32_t>(options_.heads));
  }
  [[nodiscard]] std::string text() const {
    return fmt::format("{} tokens, w = {}, {}, {}", tokens_, window_, attnscope::name_of(dtype_),
                       variant_);
  }
  [[nodiscard]] Documents documents(const std::string& name, const Packed& one) const {
    return {name, one, options_.documents, Documents::Content::copies};
  }
  [[nodiscard]] Documents unwritten(const std::string& name) const {
    return {name, inputs_.q, options_.documents, Documents::Content::unwritten};
  }

  void forward(std::size_t i) {
    expect(cuda::segment_forward(*work_, {list_->data(), workspaces_[i].data()}, q_.view(),
                                 k_.view(), v_.view(), scale_of(head_dim), o_.tensor(),
                                 lse_.floats(), streams_[i].stream()));
  }
  void prepare_backward(const Packed& grad_o) {
    gradients_ = std::make_unique<BackwardTensors>(
        BackwardTensors{documents("grad_o", grad_o), unwritten("grad_q"), unwritten("grad_k"),
                        unwritten("grad_v")});
  }
  void backward(std::size_t i) {
    const GradientTensors tensors{.q = q_.view(),
                                  .k = k_.view(),
                                  .v = v_.view(),
                                  .o = o_.view(),
                                  .lse = {lse_.floats(), index(plan_.tokens * options_.heads)},
                                  .grad_o = gradients_->grad_o.view(),
                                  .grad_q = gradients_->q.tensor(),
                                  .grad_k = gradients_->k.tensor(),
                                  .grad_v = gradients_->v.tensor()};
    expect(cuda::segment_backward(*work_, {list_->data(), workspaces_[i].data()}, tensors,
                                  scale_of(head_dim), streams_[i].stream()));
  }

  /// The bytes of the backward pass do not include those of the forward pass.
  [[nodiscard]] double least(const std::string& direction) const {
    const double forward = least_bytes(plan_, head_dim, dtype_, Passes::forward);
    if (direction == "forward") return forward;
    return least_bytes(plan_, head_dim, dtype_, Passes::forward_backward) - forward;
  }
  void report(const std::string& direction, const Verdict& verdict, double copy_bytes_a_ms,
              const Csv& csv, const std::function<void()>& call) {
    const auto yes = [](bool is) { return is ? "yes" : "NO"; };
    for (const std::string& mode : options_.modes) {
      const std::vector<float> ms = times(streams_[0], mode, options_.groups, call);
      const std::size_t cut = ms.size() / 20;
      const float median = ms[ms.size() / 2], low = ms[cut], high = ms[ms.size() - 1 - cut];
      const double part = least(direction) / copy_bytes_a_ms / static_cast<double>(median);
      fmt::print("{:<40} {:<8} {:<5} {:9.4f} ms ({:.4f} to {:.4f})  {:5.1f} % of copy  {}\n",
                 text(), direction, mode, median, low, high, 100 * part,
                 verdict.good() ? "right" : "WRONG");
      std::fflush(stdout);
      csv.write(fmt::format(
          "{},{},{},{},{},{},{:.5f},{:.5f},{:.5f},{},{:.4f},{:.0f},{},{},{},{},{},{}", tokens_,
          window_, direction, mode, attnscope::name_of(dtype_), variant_, median, low, high,
          ms.size(), part, copy_bytes_a_ms / 1e6, options_.documents, options_.heads, head_dim,
          yes(verdict.right), yes(verdict.documents_alike), yes(verdict.repeats_alike)));
    }
  }

  const Options& options_;
  std::int64_t tokens_, window_;
  DType dtype_;
  std::string variant_;
  AttentionPlan plan_, one_;
  KeysOf keys_;
  Inputs inputs_;    // of one document
  Outputs outputs_;  // of the first document
  std::optional<Reference> reference_;
  std::optional<cuda::SegmentWork> work_;
  std::optional<DeviceMemory> list_;
  Documents q_, k_, v_, o_;
  DeviceMemory lse_;
  std::unique_ptr<BackwardTensors> gradients_;
  std::vector<DeviceMemory> workspaces_;  // one per stream
  std::array<BenchStream, 2> streams_;
  ReadBuffer buffer_;
};

/// Counts bytes read and bytes written.
double copied_bytes_a_ms(std::int64_t bytes) {
  const DeviceMemory from("from", bytes), to("to", bytes);
  repeat_first(from, bytes);
  const BenchStream on;
  const std::vector<float> ms = times(on, "warm", 10, [&] { copy(from, to, on.stream()); });
  return 2.0 * static_cast<double>(bytes) / static_cast<double>(ms[ms.size() / 2]);
}

bool bench(const Options& options) {
  const Csv csv(options.csv);
  double copy_rate = 0;
  if (!options.once) {
    copy_rate = copied_bytes_a_ms(std::int64_t{options.copy_mb} << 20);
    fmt::print("copy: {:.0f} GB/s, read and written\n", copy_rate / 1e6);
    std::fflush(stdout);
  }
  bool good = true;
  for (const std::int64_t tokens : options.tokens) {
    for (const std::int64_t window : options.windows) {
      for (const std::string& type : options.types) {
        Case one(options, tokens, window, *std::ranges::find(dtypes, type, type_name));
        for (const std::string& variant : options.variants) {
          one.use(variant_of(variant));
          if (options.once) {
            one.once();
          } else {
            good = one.run(copy_rate, csv) && good;
          }
        }
      }
    }
  }
  return good;
}

void add_options(CLI::App& app, Options& options) {
  app.add_option("--tokens", options.tokens, "Lengths, in the order in which they are measured")
      ->delimiter(',')
      ->check(CLI::Range(query + 3, std::int64_t{65536}))
      ->capture_default_str();
  app.add_option("--windows", options.windows, "Windows w; a token sees w tokens on either side")
      ->delimiter(',')
      ->check(CLI::Range(0, 128))
      ->capture_default_str();
  app.add_option("--directions", options.directions, "forward, backward or both")
      ->delimiter(',')
      ->check(CLI::IsMember({"forward", "backward"}))
      ->capture_default_str();
  app.add_option("--modes", options.modes,
                 "warm: calls follow one another; cold: the second-level cache is flushed before "
                 "each call; graph: ten calls replayed as one CUDA graph")
      ->delimiter(',')
      ->check(CLI::IsMember({"warm", "cold", "graph"}))
      ->capture_default_str();
  app.add_option("--types", options.types, "Types of the numbers")
      ->delimiter(',')
      ->check(CLI::IsMember(names_in(dtypes, type_name)))
      ->capture_default_str();
  app.add_option(
         "--variant,--variants", options.variants,
         "How walks are cut. default: 12 walks on each multiprocessor; strips: their strips "
         "suffice for 16, long walks first; alternate: the two warps of a block take "
         "alternate steps of the same rows; strips+alternate: both")
      ->delimiter(',')
      ->check(CLI::IsMember(names_in(variants, [](const Variant& each) { return each.name; })))
      ->capture_default_str();
  app.add_option("--documents", options.documents, "Documents of a call")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  app.add_option("--heads", options.heads, "Heads, of dimension 32")
      ->check(CLI::Range(1, 128))
      ->capture_default_str();
  app.add_option("--groups", options.groups,
                 "Number of measured times, each of ten calls (cold: one)")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  app.add_option("--repeats", options.repeats,
                 "Calls, alternating between two streams, whose results must have the same bits")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  app.add_option("--copy-mb", options.copy_mb, "Size of the copy that is timed first, in MB")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  app.add_option("--csv", options.csv, "CSV file to which a line is appended for each time")
      ->type_name("FILE");
  app.add_flag("--once", options.once,
               "Make one call of each direction without checks and times, for a profiler");
}

}  // namespace
}  // namespace attnscope::testing

int main(int argc, char** argv) {
  namespace testing = attnscope::testing;
  ::testing::InitGoogleTest();  // the comparisons use its expectations
  testing::Options options;
  CLI::App app(
      "Compares the fused CUDA kernels with float64 and times them and a copy of memory: "
      "the sparse pattern, a query of 10 tokens with each document. Exit status 1: a result is "
      "wrong, or there is no GPU.",
      "kernels_bench");
  testing::add_options(app, options);
  CLI11_PARSE(app, argc, argv);
  if (const auto reason = testing::no_device()) {
    fmt::print(stderr, "kernels_bench: {}\n", *reason);
    return 1;
  }
  try {
    return testing::bench(options) ? 0 : 1;
  } catch (const std::exception& error) {
    fmt::print(stderr, "kernels_bench: {}\n", error.what());
    return 1;
  }
}
