// SPDX-License-Identifier: Apache-2.0
#include "engine/measure/heat_runner.h"

#include <sys/prctl.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <optional>
#include <stdexcept>

#include "engine/attention/cuda_runtime.h"
#include "engine/attention/served/served.h"
#include "engine/measure/heat_device.h"
#include "engine/measure/machine.h"
#include "engine/measure/random.h"
#include "engine/measure/rounds.h"
#include "engine/measure/workload.h"
#include "engine/worker/sign_of_life.h"

namespace attnscope::measure {
namespace {

/// Every operation that can be measured.
struct OperationWorkload {
  Operation operation;
  std::unique_ptr<Workload> (*make)(const HeatSetting& setting);
};
constexpr std::array<OperationWorkload, 3> workloads{
    {{Operation::attention, &attention_workload},
     {Operation::windowed_matmul, &attention_workload},
     {Operation::model, &model_workload}}};

// More items than any measurement needs; a layout of this many still takes negligible memory.
constexpr std::int64_t most_items = std::int64_t{1} << 20;

/// The reason why no contender can be measured here, as a message for the user.
std::optional<std::string> reason_against(const HeatPoint& point) {
  if (point.device == DeviceKind::cuda && !cuda::usable()) return cuda::usable().error().message;
  if (point.launch == LaunchMode::graph && point.device == DeviceKind::cpu)
    return "launch graph needs device cuda";
  if (point.cache == CacheState::cold && point.device == DeviceKind::cpu && !can_flush_caches())
    return "this processor does not let a program empty its caches; use cache warm";
  return std::nullopt;
}

/// Sets the size of pages that are touched from here on: the allocator's advice is followed, or
/// huge pages are disabled. Cached blocks do not interfere, because a worker frees them between
/// requests.
void set_page_size(PageSize size) {
  const unsigned long none = size == PageSize::huge ? 0 : 1;
  prctl(PR_SET_THP_DISABLE, none, 0UL, 0UL, 0UL);
}

/// 0 if there are no samples.
double shortest_ns(const std::vector<Sample>& samples) {
  const auto shortest = std::ranges::min_element(samples, {}, &Sample::time_ns);
  return shortest == samples.end() ? 0 : shortest->time_ns;
}

/// Builds the cells of a heat.
class HeatRunner {
 public:
  HeatRunner(const protocol::HeatRequest& request, const HeatHooks& hooks)
      : request_(request),
        heat_(request.heat),
        hooks_(hooks),
        device_(heat_device(heat_.point.device)),
        memory_(device_.memory()),
        beacon_(hooks.beacon != nullptr ? *hooks.beacon : unseen_),
        failures_(heat_.contenders.size()),
        first_calls_(heat_.contenders.size()) {
    for (const Contender& contender : heat_.contenders) {
      Cell cell;
      cell.contender = contender;
      cell.batch = 1;
      cells_.push_back(std::move(cell));
    }
  }

  Result<HeatResult> run() {
    const auto limit = memory_limit_bytes();
    if (!limit) return tl::unexpected(limit.error());
    beacon_.idle();
    set_page_size(heat_.point.page_size);
    memory_.empty_cache();
    memory_.set_limit(*limit);
    set_threads(std::max(heat_.point.threads, 1));
    measure();
    for (std::size_t i = 0; i < cells_.size(); ++i) conclude(i);
    memory_.empty_cache();
    return HeatResult{.heat_index = heat_.index, .point = heat_.point, .cells = std::move(cells_)};
  }

 private:
  void measure() {
    const auto sizes = group_sizes(heat_.point);
    if (!sizes) return fail_all_active({CellStatus::unsupported, sizes.error().message});
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      cells_[i].query_tokens = sizes->query;
      cells_[i].document_tokens = sizes->document;
      report(i, "prepare");
    }
    if (const auto reason = reason_against(heat_.point))
      return fail_all_active({CellStatus::unsupported, *reason});
    const HeatSetting setting{.heat = heat_, .sizes = *sizes, .device = device_, .beacon = beacon_};
    const auto* const row =
        std::ranges::find(workloads, heat_.point.operation, &OperationWorkload::operation);
    const std::unique_ptr<Workload> workload = row->make(setting);
    choose_batches(*workload);
    bool is_checked = false;
    for (const int placement : request_.placements) {
      if (is_cancelled() || std::ranges::all_of(failures_, &std::optional<Failure>::has_value))
        return;
      const auto failure = guarded(memory_, [&] {
        workload->place(placement);
        for_each_active([&](std::size_t i) {
          if (const Status ready = workload->prepare(i); !ready) set_unsupported(i, ready.error());
          if (!failures_[i]) cells_[i].memory.cache_bytes = workload->cache_bytes(i);
        });
        if (!std::exchange(is_checked, true))
          for_each_active([&](std::size_t i) { check(*workload, setting, i); });
        if (!is_cancelled()) time_all_active(*workload, placement);
        for_each_active([&](std::size_t i) { cells_[i].reason = workload->selected(i); });
        // Only one process measures the parts of a call.
        if (request_.process == 0 && placement == request_.placements.back())
          for_each_active([&](std::size_t i) { cells_[i].parts = parts_of(*workload, i); });
      });
      if (failure) fail_all_active(*failure);
    }
  }

  /// The parts of up to three calls, from the call with the median time.
  std::vector<PartTime> parts_of(Workload& workload, std::size_t contender) {
    constexpr std::size_t most_calls = 3;
    constexpr double enough_ns = 1e9;
    const auto whole = [](const std::vector<PartTime>& parts) {
      double time_ns = 0;
      for (const PartTime& part : parts) time_ns += part.time_ns;
      return time_ns;
    };
    std::vector<std::vector<PartTime>> calls;
    for (double taken_ns = 0; calls.size() < most_calls && taken_ns < enough_ns;) {
      if (heat_.point.cache == CacheState::cold) memory_.flush_from_caches();
      beacon_.calling(static_cast<int>(contender));
      calls.push_back(workload.parts_of_call(contender));
      taken_ns += whole(calls.back());
      if (calls.back().empty()) return {};
    }
    std::ranges::sort(calls, {}, whole);
    return calls[(calls.size() - 1) / 2];
  }

  [[nodiscard]] bool is_cancelled() const {
    return hooks_.cancel != nullptr && hooks_.cancel->load(std::memory_order_relaxed);
  }

  /// Reports the phase; called outside timed rounds only.
  void report(std::size_t contender, std::string_view phase) const {
    if (hooks_.on_phase) hooks_.on_phase(static_cast<int>(contender), phase);
  }

  void fail_all_active(const Failure& failure) {
    for (auto& slot : failures_)
      if (!slot) slot = failure;
  }

  /// A contender whose call throws is removed.
  template <typename Each>
  void for_each_active(const Each& each) {
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      if (failures_[i] || is_cancelled()) continue;
      if (auto thrown = guarded(memory_, [&] { each(i); })) failures_[i] = std::move(thrown);
      beacon_.idle();
    }
  }

  void set_unsupported(std::size_t contender, const Error& error) {
    failures_[contender] = Failure{CellStatus::unsupported, error.message};
  }

  /// Chooses the largest batch that fits, at most the heat's limit: for all contenders that can run
  /// at batch 1 together, or for each. A contender that does not fit in the machine even then is
  /// `oom`, with the bytes that it would request. The budget never goes below batch 1.
  void choose_batches(Workload& workload) {
    std::vector<std::int64_t> needed(cells_.size());
    for_each_active([&](std::size_t i) {
      const auto bytes = workload.needed_bytes(i, 1);
      if (bytes) {
        needed[i] = *bytes;
      } else {
        set_unsupported(i, bytes.error());
      }
    });
    const std::int64_t free = memory_.free_bytes();
    std::vector<std::size_t> fitting;
    for_each_active([&](std::size_t i) {
      if (needed[i] >= 0 && needed[i] <= free) return fitting.push_back(i);
      failures_[i] = Failure{
          CellStatus::oom,
          fmt::format("one item needs {}, and {} are free",
                      needed[i] >= 0 ? bytes_text(needed[i]) : "more bytes than can be counted",
                      bytes_text(free))};
    });
    if (fitting.empty()) return;
    const HeatPoint& point = heat_.point;
    const std::int64_t mebibytes =
        std::min(point.batch_memory_mb, std::numeric_limits<std::int64_t>::max() >> 20);
    const std::int64_t budget = std::min(free, mebibytes << 20);
    const auto largest = [&](std::span<const std::size_t> contenders) {
      return largest_batch(workload, contenders, budget);
    };
    if (const std::int64_t given = workload.given_batch(); given > 0 || workload.shares_batch()) {
      const std::int64_t common = given > 0 ? given : largest(fitting);
      for (Cell& cell : cells_) cell.batch = common;
    } else {
      for (const std::size_t& i : fitting) cells_[i].batch = largest({&i, 1});
    }
    for_each_active([&](std::size_t i) {
      const auto work = workload.set_batch(i, cells_[i].batch);
      if (work) {
        cells_[i].work = *work;
      } else {
        set_unsupported(i, work.error());
      }
    });
  }

  std::int64_t largest_batch(Workload& workload, std::span<const std::size_t> contenders,
                             std::int64_t budget) {
    const auto fits = [&](std::int64_t batch) {
      return std::ranges::all_of(contenders, [&](std::size_t i) {
        std::int64_t needed = -1;
        static_cast<void>(
            guarded(memory_, [&] { needed = workload.needed_bytes(i, batch).value_or(-1); }));
        return needed >= 0 && needed <= budget;
      });
    };
    const std::int64_t most = std::min({heat_.point.batch_max, most_items,
                                        std::max<std::int64_t>(budget / workload.item_bytes(), 1)});
    if (most <= 1 || fits(most)) return most;
    std::int64_t fitting = 1;
    std::int64_t too_many = most;
    while (too_many - fitting > 1) {
      const std::int64_t middle = fitting + (too_many - fitting) / 2;
      (fits(middle) ? fitting : too_many) = middle;
    }
    return fitting;
  }

  void check(Workload& workload, const HeatSetting& setting, std::size_t i) {
    report(i, "check");
    Verdict verdict;
    {
      FirstCall first(setting, i);
      verdict = workload.check(i, first);
      first.memory.cache_bytes = cells_[i].memory.cache_bytes;
      cells_[i].memory = first.memory;
      first_calls_[i] = {first.time_ns, std::move(first.blocks)};
    }
    beacon_.idle();
    if (verdict.wrong.empty()) verdict = workload.judge(i);
    failures_[i] = failure_of(i, verdict);
  }

  /// Stores the verdict's numbers in the cell.
  std::optional<Failure> failure_of(std::size_t contender, const Verdict& verdict) {
    if (verdict.error.bound > 0) {
      cells_[contender].relative_error = verdict.error.error;
      cells_[contender].error_bound = verdict.error.bound;
    }
    if (verdict.wrong.empty()) return std::nullopt;
    return Failure{CellStatus::wrong, verdict.wrong};
  }

  void time_all_active(Workload& workload, int placement) {
    workload.before_rounds();
    std::vector<ContenderCalls> calls;
    for_each_active([&](std::size_t i) {
      memory_.provide(first_calls_[i].blocks);
      calls.push_back({.contender = static_cast<int>(i),
                       .enter = [&workload, i] { workload.enter(i); },
                       .before_call = workload.before_call(i),
                       .call = [&workload, i] { workload.call(i); },
                       .leave = [&workload, i] { workload.leave(i); },
                       .judge = [this, &workload, i]() -> std::optional<Failure> {
                         const Verdict verdict = workload.judge_sample(i);
                         if (verdict.wrong.empty())
                           return std::nullopt;  // keep the error of the check
                         return failure_of(i, verdict);
                       },
                       .earlier_ns = first_calls_[i].time_ns,
                       .sampled_ns = shortest_ns(cells_[i].samples)});
      if (heat_.point.cache == CacheState::cold) {
        calls.back().before_call = [this, before = calls.back().before_call] {
          if (before) before();
          memory_.flush_from_caches();
        };
      }
    });
    auto results = run_rounds(
        calls,
        {.memory = memory_,
         .beacon = beacon_,
         .rule = placement_rule(heat_.stop),
         .threads = heat_.point.threads,
         .process = request_.process,
         .placement = placement,
         .seed = random_bits(heat_.point.seed, static_cast<std::uint64_t>(heat_.index)),
         .cancel = hooks_.cancel,
         .on_start = [this](int contender) { report(static_cast<std::size_t>(contender), "time"); },
         .stopwatch = device_.stopwatch(),
         .conditions = device_.conditions(),
         .processes = served_processes()});
    for (std::size_t i = 0; i < calls.size(); ++i)
      keep(std::move(results[i]), static_cast<std::size_t>(calls[i].contender));
  }

  void keep(ContenderSamples&& result, std::size_t contender) {
    Cell& cell = cells_[contender];
    const bool first = cell.samples.empty();
    cell.samples.insert(cell.samples.end(), result.samples.begin(), result.samples.end());
    cell.settled = result.settled && (first || cell.settled);
    failures_[contender] = std::move(result.failure);
  }

  /// A cell without samples has a reason. A cancelled heat is measured again completely.
  void conclude(std::size_t contender) {
    Cell& cell = cells_[contender];
    if (failures_[contender]) {
      cell.status = failures_[contender]->status;
      cell.reason = failures_[contender]->reason;
    } else if (is_cancelled()) {
      cell.status = CellStatus::cancelled;
      cell.reason = "cancelled before the heat was complete";
    }
    if (cell.status == CellStatus::ok) return;
    cell.samples.clear();
    cell.parts.clear();
    cell.settled = false;
  }

  struct Called {
    double time_ns = 0;
    std::vector<std::int64_t> blocks{};
  };

  const protocol::HeatRequest& request_;
  const Heat& heat_;
  const HeatHooks& hooks_;
  HeatDevice& device_;
  HeatMemory& memory_;
  Beacon unseen_;  // used if the caller has no beacon
  Beacon& beacon_;
  std::vector<Cell> cells_;
  // One entry per contender; a contender with a failure is no longer measured.
  std::vector<std::optional<Failure>> failures_;
  std::vector<Called> first_calls_;
};

}  // namespace

FirstCall::FirstCall(const HeatSetting& setting, std::size_t contender)
    : setting_(setting), contender_(contender), alone_(setting.device.memory()) {
  setting.device.memory().reset_peaks();
  before_ = setting.device.memory().counters();
}

void FirstCall::measure(const std::function<void()>& call) {
  HeatMemory& heat_memory = setting_.device.memory();
  const ProcessPeak process;
  setting_.beacon.calling(static_cast<int>(contender_));
  const auto start = std::chrono::steady_clock::now();
  call();
  time_ns =
      std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
  blocks = heat_memory.cached_blocks();
  const HeatMemory::Counters after = heat_memory.counters();
  memory.requested_bytes = after.requested_peak - before_.requested;
  memory.reserved_bytes = after.reserved_peak - before_.reserved;
  // A device's memory is not part of the process's.
  if (setting_.device.kind() == DeviceKind::cpu) memory.process_peak_bytes = process.grown_bytes();
}

void require(const Status& done) {
  if (!done) throw std::runtime_error(done.error().message);
}

Result<HeatResult> run_heat(const protocol::HeatRequest& request, const HeatHooks& hooks) {
  return HeatRunner(request, hooks).run();
}

}  // namespace attnscope::measure
