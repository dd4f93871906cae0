// SPDX-License-Identifier: Apache-2.0
//
// Implementations that compute what segment computes and then misbehave.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <list>
#include <memory>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "engine/measure/heat_device.h"
#include "kernels/plan/key_runs.h"
#include "tests/trial_worker/trials.h"

namespace attnscope::trial {
namespace {

/// A forward call that segment has just answered. In a heat the first call is the one that is
/// checked; warm-up and timed calls follow, and one more check.
struct Answered {
  const Problem& problem;
  const ForwardCall& call;
  int number = 1;
};

struct Fault {
  std::string_view id, summary;
  void (*act)(const Answered&);
  /// Called when the prepared implementation is destroyed after a call.
  void (*leave)() = nullptr;
};

float* values_of(const Tensor& tensor) {
  return reinterpret_cast<float*>(tensor.data);
}

std::int64_t value_count(const Problem& problem) {
  return problem.plan.tokens * problem.plan.heads * problem.head_dim;
}

struct Row {
  std::int64_t query = 0;
  int head = 0;
  std::vector<std::int64_t> keys;
};

/// A row of an item with the keys it sees and one of the item's that it must not see.
std::optional<Row> row_with_a_forbidden_key(const Problem& problem) {
  for (const Task& task : problem.plan.tasks) {
    if (task.item < 0 || task.queries.size() == 0) continue;
    Row row{.query = problem.plan.token_at(task.queries, 0), .head = task.heads.begin, .keys = {}};
    for (const TokenRange& run : key_intervals(problem.plan, task, row.query))
      for (std::int64_t key = run.begin; key < run.end; ++key) row.keys.push_back(key);
    const TokenRange item = problem.layout.item_tokens(task.item);
    for (std::int64_t key = item.begin; key < item.end; ++key) {
      if (std::ranges::binary_search(row.keys, key)) continue;
      row.keys.push_back(key);
      return row;
    }
  }
  return std::nullopt;
}

void attend(const Problem& problem, const ForwardCall& call, const Row& row) {
  const float* q = call.q.at<float>(row.query, row.head);
  std::vector<double> sum(static_cast<std::size_t>(problem.head_dim), 0.0);
  double total = 0;
  for (const std::int64_t key : row.keys) {
    const float* k = call.k.at<float>(key, row.head);
    const float* v = call.v.at<float>(key, row.head);
    const double weight =
        std::exp(double{problem.scale} * std::inner_product(q, q + problem.head_dim, k, 0.0));
    total += weight;
    for (std::size_t d = 0; d < sum.size(); ++d) sum[d] += weight * double{v[d]};
  }
  float* o = call.o.at<float>(row.query, row.head);
  for (std::size_t d = 0; d < sum.size(); ++d) o[d] = static_cast<float>(sum[d] / total);
}

void add_a_forbidden_pair(const Answered& answered) {
  if (const auto row = row_with_a_forbidden_key(answered.problem))
    attend(answered.problem, answered.call, *row);
}

void go_wrong_after_the_first_call(const Answered& answered) {
  if (answered.number == 1) return;
  float* const values = values_of(answered.call.o);
  for (std::int64_t i = 0; i < value_count(answered.problem); ++i) values[i] += 0.01F;
}

constexpr std::int64_t mebibyte = std::int64_t{1} << 20;

std::int64_t mapped_bytes() {
  std::int64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * sysconf(_SC_PAGESIZE);
}

/// Limits the process to `bytes` of additional address space, so that the test does not exhaust the
/// machine's memory.
class AddressSpaceLimit {
 public:
  explicit AddressSpaceLimit(std::int64_t bytes) {
    getrlimit(RLIMIT_AS, &before_);
    rlimit limit = before_;
    limit.rlim_cur = std::min(before_.rlim_max, static_cast<rlim_t>(mapped_bytes() + bytes));
    setrlimit(RLIMIT_AS, &limit);
  }
  AddressSpaceLimit(const AddressSpaceLimit&) = delete;
  AddressSpaceLimit& operator=(const AddressSpaceLimit&) = delete;
  ~AddressSpaceLimit() { setrlimit(RLIMIT_AS, &before_); }

 private:
  rlimit before_{};
};

void allocate_all_counted_memory(const Answered&) {
  std::list<measure::Buffer> taken;
  while (true) taken.emplace_back(measure::process_memory(), 64 * mebibyte);
}

void allocate_uncounted_memory(const Answered&) {
  const AddressSpaceLimit limit(256 * mebibyte);
  std::list<std::vector<char>> taken;
  while (true) taken.emplace_back(static_cast<std::size_t>(mebibyte), '\1');
}

void allocate_outside_the_workspace(const Answered&) {
  std::vector<char> touched(static_cast<std::size_t>(100 * mebibyte), '\1');
  // Reads a written byte, so that the compiler does not omit the writes.
  static_cast<void>(*static_cast<volatile char*>(&touched.back()));
}

// The call after the one that is checked and at least one of the warm-up.
constexpr int fatal_call = 3;

[[noreturn]] void hang() {
  while (true) pause();
}

void hang_when_timed(const Answered& answered) {
  // So long that one call is the whole warm-up and no call precedes a sample: the fourth is timed.
  constexpr std::chrono::milliseconds long_call{120};
  constexpr int timed_call = 4;
  if (answered.number == timed_call) hang();
  std::this_thread::sleep_for(long_call);
}

void write_to_address_0() {
  static volatile int* volatile nowhere = nullptr;
  *nowhere = 1;
}

constexpr Fault faults[] = {
    {"trial-abort", "aborts in its third call",
     [](const Answered& answered) {
       if (answered.number == fatal_call) std::abort();
     }},
    {"trial-segfault", "writes to address 0 in its third call",
     [](const Answered& answered) {
       if (answered.number == fatal_call) write_to_address_0();
     }},
    {"trial-throw", "throws in its third call",
     [](const Answered& answered) {
       if (answered.number == fatal_call) throw std::runtime_error("a library gave up in words");
     }},
    {"trial-killed", "kills its process in its third call",
     [](const Answered& answered) {
       if (answered.number == fatal_call) std::raise(SIGKILL);
     }},
    {"trial-hang", "hangs in its first call", [](const Answered&) { hang(); }},
    {"trial-hang-timed", "hangs in a timed call", hang_when_timed},
    {"trial-abort-afterwards", "aborts when no contender runs", [](const Answered&) {},
     [] { std::abort(); }},
    {"trial-nan", "leaves NaN in one value of its output",
     [](const Answered& answered) {
       values_of(answered.call.o)[value_count(answered.problem) / 2] =
           std::numeric_limits<float>::quiet_NaN();
     }},
    {"trial-one-mask-cell", "attends to one pair that the mask forbids", add_a_forbidden_pair},
    {"trial-late-wrong", "right in its first call, wrong in all others",
     go_wrong_after_the_first_call},
    {"trial-beyond-output", "writes one value after its output",
     [](const Answered& answered) {
       values_of(answered.call.o)[value_count(answered.problem)] = 1;
     }},
    {"trial-before-output", "writes one value before its output",
     [](const Answered& answered) { values_of(answered.call.o)[-1] = 1; }},
    {"trial-beyond-workspace", "writes one byte after its workspace",
     [](const Answered& answered) {
       const std::span<std::byte> workspace = answered.call.workspace;
       workspace.data()[workspace.size()] = std::byte{1};
     }},
    {"trial-changes-input", "adds 1 to the first value of q",
     [](const Answered& answered) { const_cast<float*>(answered.call.q.at<float>(0, 0))[0] += 1; }},
    {"trial-asks-all", "allocates counted memory without end", allocate_all_counted_memory},
    {"trial-eats-unseen", "allocates memory outside the counted allocators without end",
     allocate_uncounted_memory},
    {"trial-unseen-memory", "takes 100 MiB outside the counted allocators in every call",
     allocate_outside_the_workspace},
};

class PreparedFaulty final : public PreparedImitation {
 public:
  PreparedFaulty(const Problem& problem, const Fault& fault,
                 std::unique_ptr<PreparedAttention> imitated)
      : PreparedImitation(std::move(imitated)), problem_(problem), fault_(fault) {}
  PreparedFaulty(const PreparedFaulty&) = delete;
  PreparedFaulty& operator=(const PreparedFaulty&) = delete;
  ~PreparedFaulty() override {
    if (calls_ > 0 && fault_.leave != nullptr) fault_.leave();
  }
  [[nodiscard]] Status forward(const ForwardCall& call) override {
    Status done = PreparedImitation::forward(call);
    if (done) fault_.act({problem_, call, ++calls_});
    return done;
  }

 private:
  Problem problem_;
  const Fault& fault_;
  int calls_ = 0;
};

Implementation faulty_segment(const Fault& fault) {
  return imitation(
      {fault.id, "segment", fault.summary,
       [&fault](const Problem& problem) {
         const bool here = problem.device == DeviceKind::cpu && problem.dtype == DType::float32;
         return here ? Status() : fail("{} goes wrong in float32 on the processor only", fault.id);
       },
       [&fault](const Problem& problem, std::unique_ptr<PreparedAttention> imitated) {
         return std::make_unique<PreparedFaulty>(problem, fault, std::move(imitated));
       }});
}

}  // namespace

std::vector<Implementation> faulty() {
  std::vector<Implementation> list;
  for (const Fault& fault : faults) list.push_back(faulty_segment(fault));
  return list;
}

}  // namespace attnscope::trial
