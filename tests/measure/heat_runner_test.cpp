// SPDX-License-Identifier: Apache-2.0
#include "engine/measure/heat_runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>

#include <cstdlib>
#include <limits>
#include <map>
#include <set>

#include "engine/attention/cuda_runtime.h"
#include "engine/attention/list.h"
#include "engine/measure/heat_device.h"
#include "engine/measure/workload.h"
#include "engine/pattern/compile_plan.h"
#include "kernels/cpu/segment.h"
#include "tests/measure/small_heat.h"

namespace attnscope::measure {
namespace {

using testing::HasSubstr;

HeatResult run(const protocol::HeatRequest& request) {
  return run_heat(request, {}).value();
}

/// The cells of a heat in which every contender is expected to be measured and correct.
std::vector<Cell> ok_cells(const protocol::HeatRequest& request) {
  HeatResult result = run(request);
  for (const Cell& cell : result.cells) {
    EXPECT_EQ(cell.status, CellStatus::ok) << cell.contender.id() << ": " << cell.reason;
    EXPECT_TRUE(cell.reason.empty());
    EXPECT_FALSE(cell.samples.empty());
    EXPECT_EQ(why_unproven(cell), "");
  }
  return std::move(result.cells);
}

std::vector<Contender> all_implementations() {
  return {contender("full", "dense"), contender("full", "sdpa"),
          contender("sparse", "sdpa-mask", Window::of(4)),
          contender("sparse", "windowed", Window::of(4)),
          contender("sparse", "segment", Window::of(4))};
}

class MemoryLimited : public testing::Test {
 protected:
  MemoryLimited() {
    // Memory that LibTorch has reserved already counts towards the limit.
    const std::int64_t held = process_memory().counters().reserved >> 20;
    setenv("ATTNSCOPE_MEMORY_LIMIT_MB", std::to_string(held + 64).c_str(), 1);
  }
  ~MemoryLimited() override {
    unsetenv("ATTNSCOPE_MEMORY_LIMIT_MB");
    process_memory().set_limit(std::nullopt);
  }
};

TEST(RunHeat, EveryContenderOfASmallHeatIsOk) {
  auto request = small_heat(all_implementations());
  request.heat.contenders.push_back(contender("sparse", "segment", Window::infinite()));
  const auto cells = ok_cells(request);
  ASSERT_EQ(cells.size(), 6U);
  for (const Cell& cell : cells) {
    EXPECT_GE(cell.samples.size(), 3U);
    EXPECT_EQ(cell.batch, 2);
    EXPECT_EQ(cell.query_tokens, 6);
    EXPECT_EQ(cell.document_tokens, 57);
    EXPECT_GT(cell.work.useful_flop, 0);
    EXPECT_GT(cell.work.least_bytes, 0);
    EXPECT_GT(cell.work.exponentials, 0);
  }
}

TEST(RunHeat, SamplesHaveProcessPlacementAndRound) {
  auto request =
      small_heat({contender("full", "dense"), contender("sparse", "segment", Window::of(4))});
  request.process = 1;
  request.placements = {3, 4};
  for (const Cell& cell : ok_cells(request)) {
    // Rounds count from 0 without a gap, so that cells share their first rounds.
    std::map<int, int> rounds;
    for (const Sample& sample : cell.samples) {
      EXPECT_EQ(sample.process, 1);
      EXPECT_GT(sample.time_ns, 0);
      EXPECT_EQ(sample.round, rounds[sample.placement]++);
    }
    EXPECT_THAT(rounds, testing::ElementsAre(testing::Key(3), testing::Key(4)));
  }
}

TEST(RunHeat, UsesThePageSizeOfTheHeat) {
  for (const PageSize size : {PageSize::usual, PageSize::huge}) {
    auto request = small_heat({contender("full", "dense")});
    request.heat.point.page_size = size;
    std::set<int> refused;
    const HeatHooks hooks{.on_phase = [&](int, std::string_view) {
      refused.insert(prctl(PR_GET_THP_DISABLE, 0UL, 0UL, 0UL, 0UL));
    }};
    EXPECT_EQ(run_heat(request, hooks)->cells[0].status, CellStatus::ok);
    EXPECT_EQ(refused, std::set{size == PageSize::usual ? 1 : 0});
  }
}

/// The processor as a device with graphs: a replay calls the captured call again.
class CapturingDevice final : public HeatDevice {
 public:
  DeviceKind kind() const override { return DeviceKind::cpu; }
  HeatMemory& memory() override { return process_memory(); }
  Stopwatch& stopwatch() override { return wall_clock(); }
  ConditionsMeter& conditions() override { return unknown_conditions(); }
  std::unique_ptr<CapturedCall> capture(const std::function<void()>& call) override {
    ++captures;
    struct Captured final : CapturedCall {
      Captured(CapturingDevice& of, std::function<void()> captured)
          : device(of), call(std::move(captured)) {}
      void replay() override {
        ++device.replays;
        call();
      }
      CapturingDevice& device;
      std::function<void()> call;
    };
    return std::make_unique<Captured>(*this, call);
  }
  int captures = 0, replays = 0;
};

TEST(LaunchGraph, ACallIsCapturedOncePerPlacementReplayedAndJudged) {
  auto request = small_heat({contender("sparse", "segment", Window::of(4))});
  request.heat.point.launch = LaunchMode::graph;
  const GroupSizes sizes = group_sizes(request.heat.point).value();
  CapturingDevice device;
  Beacon beacon;
  const HeatSetting setting{
      .heat = request.heat, .sizes = sizes, .device = device, .beacon = beacon};
  const auto workload = attention_workload(setting);
  ASSERT_TRUE(workload->set_batch(0, 2));
  for (const int placement : {0, 1}) {
    workload->place(placement);
    ASSERT_TRUE(workload->prepare(0));
    if (placement == 0) {
      FirstCall first(setting, 0);
      EXPECT_EQ(workload->check(0, first).wrong, "");
      EXPECT_EQ(workload->judge(0).wrong, "");
    }
    workload->before_rounds();
    for (int sample = 0; sample < 2; ++sample) {
      workload->enter(0);
      workload->call(0);
      workload->leave(0);
      EXPECT_EQ(workload->judge_sample(0).wrong, "");
    }
    EXPECT_EQ(device.captures, placement + 1);
    EXPECT_EQ(device.replays, 2 * (placement + 1));
  }
}

TEST(LaunchGraph, IsUnsupportedOnTheProcessor) {
  auto request = small_heat({contender("full", "dense")});
  request.heat.point.launch = LaunchMode::graph;
  const HeatResult result = run(request);
  EXPECT_EQ(result.cells[0].status, CellStatus::unsupported);
  EXPECT_EQ(result.cells[0].reason, "launch graph needs device cuda");
  const auto failure = guarded(
      process_memory(), [] { static_cast<void>(heat_device(DeviceKind::cpu).capture([] {})); });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->status, CellStatus::unsupported);
}

TEST(RunHeat, SeveralDocumentsPerItemAreCorrectWithLessWork) {
  auto request = small_heat({contender("listwise", "dense"), contender("listwise", "segment"),
                             contender("sparse", "windowed", Window::of(4))});
  const auto one = ok_cells(request);
  request.heat.point.documents = 4;
  EXPECT_EQ(run(request).point.documents, 4);
  const auto four = ok_cells(request);
  for (std::size_t i = 0; i < four.size(); ++i) {
    EXPECT_EQ(four[i].document_tokens, 57);  // of all of them: 64 less [CLS], 5 words and a [SEP]
    EXPECT_LT(four[i].work.useful_flop, one[i].work.useful_flop) << four[i].contender.id();
  }
}

TEST(RunHeat, ColdCachesChangeOnlyTimes) {
  auto request = small_heat({contender("full", "dense"), contender("full", "sdpa"),
                             contender("sparse", "segment", Window::of(4))});
  const auto warm = ok_cells(request);
  request.heat.point.cache = CacheState::cold;
  const auto cold = ok_cells(request);
  for (std::size_t i = 0; i < cold.size(); ++i) {
    EXPECT_EQ(cold[i].relative_error, warm[i].relative_error);
    EXPECT_EQ(cold[i].memory.requested_bytes, warm[i].memory.requested_bytes);
    EXPECT_EQ(cold[i].memory.reserved_bytes, warm[i].memory.reserved_bytes);
  }
}

TEST(RunHeat, WindowedMatmulHasNoExponentials) {
  auto request = small_heat({contender("sparse", "windowed", Window::of(4))});
  request.heat.point.operation = Operation::windowed_matmul;
  const Cell cell = ok_cells(request).at(0);
  EXPECT_EQ(cell.work.exponentials, 0);
  EXPECT_EQ(cell.query_tokens, 0);
  EXPECT_EQ(cell.document_tokens, 64);
}

TEST(RunHeat, ForwardAndBackwardAreMeasuredTogether) {
  auto request = small_heat(all_implementations());
  const auto forward = ok_cells(request);
  request.heat.point.direction = Direction::forward_backward;
  for (const MemoryOrder order : {MemoryOrder::head_major, MemoryOrder::token_major}) {
    request.heat.point.memory_order = order;
    const auto both = ok_cells(request);
    for (std::size_t i = 0; i < both.size(); ++i) {
      const CellWork &work = both[i].work, &alone = forward[i].work;
      EXPECT_EQ(work.useful_flop, 3.5 * alone.useful_flop);
      EXPECT_EQ(work.least_bytes, 3 * alone.least_bytes);
      EXPECT_EQ(work.exponentials, 2 * alone.exponentials);
      EXPECT_GE(work.executed_flop, 3 * alone.executed_flop);
      EXPECT_GT(both[i].memory.requested_bytes, forward[i].memory.requested_bytes);
    }
  }
}

TEST(RunHeat, GradientsOfASharedQueryAreCorrect) {
  auto request = small_heat({contender("sparse", "dense", Window::of(4)),
                             contender("sparse", "sdpa-mask", Window::of(4)),
                             contender("sparse", "windowed", Window::of(4)),
                             contender("sparse", "segment", Window::of(4))});
  request.heat.point.direction = Direction::forward_backward;
  request.heat.point.memory_order = MemoryOrder::token_major;
  request.heat.point.shared_query = true;
  request.heat.point.batch_max = 5;
  for (const DType dtype : {DType::float32, DType::bfloat16}) {
    request.heat.point.dtype = dtype;
    ok_cells(request);
  }
}

TEST(RunHeat, UnsupportedImplementationDoesNotAffectOthers) {
  const HeatResult result =
      run(small_heat({contender("sparse", "sdpa", Window::of(4)), contender("full", "sdpa")}));
  EXPECT_EQ(result.cells[0].status, CellStatus::unsupported);
  EXPECT_FALSE(result.cells[0].reason.empty());
  EXPECT_TRUE(result.cells[0].samples.empty());
  EXPECT_EQ(result.cells[1].status, CellStatus::ok) << result.cells[1].reason;
}

TEST(RunHeat, InvalidRequestsAreUnsupportedWithAReason) {
  Contender broken = contender("full", "dense");
  broken.pattern_json = "{\"name\": 3}";
  auto shared = small_heat({contender("full", "dense")});
  shared.heat.point.shared_query = true;
  for (const auto& [request, words] :
       {std::pair(small_heat({contender("full", "dens")}), "'dens'; did you mean 'dense'?"),
        std::pair(small_heat({broken}), "name"),
        std::pair(small_heat({contender("sparse", "segment")}), "window"),
        std::pair(small_heat({contender("full", "dense")}, 3), "sequence_tokens"),
        std::pair(shared, "token-major")}) {
    const Cell cell = run(request).cells.at(0);
    EXPECT_EQ(cell.status, CellStatus::unsupported);
    EXPECT_THAT(cell.reason, HasSubstr(words));
  }
}

TEST(RunHeat, CudaCellsAreMeasuredOrUnsupportedWithAReason) {
  auto request = small_heat(all_implementations());
  request.heat.point.device = DeviceKind::cuda;
  for (const DType dtype : {DType::float32, DType::bfloat16}) {
    for (const Direction direction : {Direction::forward, Direction::forward_backward}) {
      request.heat.point.dtype = dtype;
      request.heat.point.direction = direction;
      for (const Cell& cell : run(request).cells) {
        if (cuda::usable()) {
          EXPECT_EQ(cell.status, CellStatus::ok) << cell.contender.id() << ": " << cell.reason;
          EXPECT_GT(cell.memory.requested_bytes, 0);
        } else {
          EXPECT_EQ(cell.status, CellStatus::unsupported);
          EXPECT_EQ(cell.reason, cuda::usable().error().message);
          EXPECT_TRUE(cell.samples.empty());
        }
      }
    }
  }
}

TEST(RunHeat, HugeLengthsAreOomAndHugeBatchesAreReduced) {
  const Cell cell = run(small_heat({contender("full", "dense")}, 90'000'000)).cells.at(0);
  EXPECT_EQ(cell.status, CellStatus::oom) << cell.reason;
  EXPECT_THAT(cell.reason, HasSubstr("free"));
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  const Cell uncountable = run(small_heat({contender("full", "dense")}, most)).cells.at(0);
  EXPECT_THAT(uncountable.status, testing::AnyOf(CellStatus::oom, CellStatus::unsupported));
  EXPECT_FALSE(uncountable.reason.empty());
  auto request = small_heat({contender("full", "segment")});
  request.heat.point.batch_max = most;
  request.heat.point.batch_memory_mb = 16;
  EXPECT_GT(ok_cells(request).at(0).batch, 100);
}

TEST_F(MemoryLimited, ContenderAboveTheLimitIsOomWithItsBytes) {
  // Scores: 2 heads * 4096^2 * 4 bytes = 128 MiB, above the limit of 64.
  const HeatResult result = run(small_heat(
      {contender("full", "dense"), contender("sparse", "segment", Window::of(4))}, 4096));
  EXPECT_EQ(result.cells[0].status, CellStatus::oom);
  EXPECT_THAT(result.cells[0].reason, testing::ContainsRegex("needs .*[0-9]+ bytes"));
  EXPECT_THAT(result.cells[0].reason, HasSubstr("free"));
  EXPECT_EQ(result.cells[1].status, CellStatus::ok) << result.cells[1].reason;
}

TEST_F(MemoryLimited, BatchFitsAllContenders) {
  // One item of dense needs 8 MiB of scores at 1024 tokens: 100 items do not fit 64 MiB.
  auto request = small_heat({contender("full", "dense"), contender("full", "segment")}, 1024);
  request.heat.point.batch_max = 100;
  const auto cells = ok_cells(request);
  EXPECT_LT(cells[0].batch, 100);
  EXPECT_GE(cells[0].batch, 2);
  EXPECT_EQ(cells[1].batch, cells[0].batch);
}

TEST(RunHeat, BatchFitsTheMemoryOfTheHeat) {
  auto request = small_heat({contender("full", "dense")}, 1024);
  request.heat.point.batch_max = 64;
  request.heat.point.batch_memory_mb = 100;
  const Cell cell = ok_cells(request).at(0);
  EXPECT_LT(cell.batch, 12);
  EXPECT_GT(cell.batch, 1);
}

TEST_F(MemoryLimited, InvalidLimitIsAnError) {
  setenv("ATTNSCOPE_MEMORY_LIMIT_MB", "lots", 1);
  const auto result = run_heat(small_heat({contender("full", "dense")}), {});
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message, HasSubstr("ATTNSCOPE_MEMORY_LIMIT_MB is 'lots'"));
}

TEST(RunHeat, CancelledHeatHasNoSamples) {
  std::atomic<bool> cancel = false;
  HeatHooks hooks{.on_phase = [&](int, std::string_view phase) { cancel = phase == "time"; },
                  .cancel = &cancel};
  const HeatResult result =
      run_heat(small_heat({contender("full", "dense"), contender("sparse", "sdpa", Window::of(4))}),
               hooks)
          .value();
  EXPECT_EQ(result.cells[0].status, CellStatus::cancelled);
  EXPECT_TRUE(result.cells[0].samples.empty());
  EXPECT_EQ(result.cells[1].status, CellStatus::unsupported);
}

TEST(RunHeat, ReportsItsPhasesAndCalls) {
  std::vector<std::string> phases;
  Beacon beacon;
  const HeatHooks hooks{
      .on_phase = [&](int, std::string_view phase) { phases.emplace_back(phase); },
      .beacon = &beacon};
  EXPECT_EQ(run_heat(small_heat({contender("full", "dense")}), hooks)->cells[0].status,
            CellStatus::ok);
  EXPECT_EQ(phases, (std::vector<std::string>{"prepare", "check", "time", "time"}));
  EXPECT_GT(beacon.calls(), 0U);
  EXPECT_EQ(beacon.contender(), -1);
}

TEST(RunHeat, ReleasesItsMemory) {
  static_cast<void>(run(small_heat({contender("full", "dense")})));
  const std::int64_t before = process_memory().counters().requested;
  static_cast<void>(run(small_heat({contender("full", "dense")}, 512)));
  EXPECT_EQ(process_memory().counters().requested, before);
  EXPECT_EQ(process_memory().counters().cached, 0);
}

/// The memory of three items of so many tokens.
CellMemory memory_of(const Contender& one, std::int64_t tokens) {
  auto request = small_heat({one}, tokens);
  request.heat.point.batch_max = 3;
  return ok_cells(request).at(0).memory;
}

TEST(HeatMemory, WindowedNeedsExactlyItsScores) {
  constexpr std::int64_t tokens = 300;
  constexpr std::int64_t w = 4;
  const CellMemory memory = memory_of(contender("sparse", "windowed", Window::of(w)), tokens);
  // The paper's table: [CLS] sees all, the query the query, the document [CLS], query and a band.
  const std::int64_t query = 6;
  const std::int64_t document = tokens - 1 - query;
  const std::int64_t scores =
      1 * tokens + query * query + document * (1 + query) + document * (2 * w + 1);
  EXPECT_EQ(memory.requested_bytes, 3 * 2 * scores * 4);
  EXPECT_EQ(memory.workspace_bytes, memory.requested_bytes);
  EXPECT_GE(memory.reserved_bytes, memory.requested_bytes);
}

TEST(HeatMemory, SegmentNeedsATilePerThreadAndDenseAllScores) {
  const CellMemory memory = memory_of(contender("sparse", "segment", Window::of(4)), 600);
  const SequenceLayout layout =
      SequenceLayout::uniform(3, {.cls = 1, .query = 6, .documents = {593}, .sentences = {}});
  const AttentionPlan plan =
      compile_plan(find_pattern("sparse").value(), Window::of(4), layout, 2).value();
  EXPECT_LE(memory.requested_bytes, cpu::segment_workspace_bytes(plan, 32, 2));
  EXPECT_EQ(memory.workspace_bytes, memory.requested_bytes);
  // Far below one score for each pair of tokens.
  EXPECT_LT(memory.requested_bytes, 3 * 2 * 600 * 600 * 4);
  EXPECT_GE(memory_of(contender("full", "dense"), 300).requested_bytes, 3 * 2 * 300 * 300 * 4);
}

}  // namespace
}  // namespace attnscope::measure
