// SPDX-License-Identifier: Apache-2.0
#include "engine/heat/cell.h"

#include <gmock/gmock.h>

#include "engine/sweep/heat_measurement.h"

namespace attnscope {
namespace {

using testing::HasSubstr;

const Ceilings machine{.threads = 1,
                       .flop_per_second = 1e11,
                       .exponentials_per_second = 1e9,
                       .copy = {{1'000, 4e10}, {1'000'000, 2e10}}};

const Ceilings device{.flop_per_second = 1e13,
                      .exponentials_per_second = 1e12,
                      .copy = {{1'000, 4e12}},
                      .device = DeviceKind::cuda,
                      .tensor_flop_per_second = 1e14};

TEST(CellStatus, ParsesItsNames) {
  for (const char* name :
       {"ok", "unsupported", "oom", "wrong", "crashed", "timeout", "cancelled"}) {
    EXPECT_EQ(name_of(*parse_cell_status(name)), name);
  }
  EXPECT_THAT(parse_cell_status("crash").error().message, HasSubstr("crashed"));
}

TEST(Ceilings, RefusesImpossibleRates) {
  EXPECT_TRUE(is_possible(machine));
  Ceilings one = machine;
  one.threads = 0, one.flop_per_second = 1e17;
  EXPECT_TRUE(is_possible(one)) << "of a device";
  one.threads = 1;
  EXPECT_FALSE(is_possible(one)) << "of one thread";
  one.flop_per_second = 0;
  EXPECT_FALSE(is_possible(one));
  one = machine;
  one.copy.back().working_set_bytes = one.copy.front().working_set_bytes;
  EXPECT_FALSE(is_possible(one)) << "two rates of one working set";
}

TEST(DisturbedSample, WaitedOrWasThrottled) {
  EXPECT_TRUE(is_disturbed({.time_ns = 100, .waited_ns = 4}, 2));
  EXPECT_FALSE(is_disturbed({.time_ns = 100, .waited_ns = 2}, 2));
  EXPECT_FALSE(is_disturbed(
      {.time_ns = 100, .involuntary_switches = 3, .foreign_load = 1, .waited_ns = 0}, 2))
      << "a known waiting time decides";
  EXPECT_TRUE(is_disturbed({.time_ns = 100, .throttled = true, .waited_ns = 0}, 2));
}

TEST(DisturbedSample, SwitchesAndLoadDecideIfTheWaitingTimeIsUnknown) {
  EXPECT_TRUE(is_disturbed({.involuntary_switches = 1}, 2));
  EXPECT_TRUE(is_disturbed({.foreign_load = 0.3}, 2));
  EXPECT_FALSE(is_disturbed({.foreign_load = 0.1}, 2));
}

TEST(UnseenMemory, IsAProcessPeakFarAboveTheCountedBytes) {
  CellMemory memory{.requested_bytes = 100 << 20, .reserved_bytes = 102 << 20};
  EXPECT_FALSE(has_unseen_memory(memory));
  EXPECT_EQ(peak_bytes(memory), 100 << 20);
  memory.process_peak_bytes = 0;  // requested and never touched
  EXPECT_FALSE(has_unseen_memory(memory));
  memory.process_peak_bytes = 120 << 20;
  EXPECT_FALSE(has_unseen_memory(memory));
  EXPECT_EQ(peak_bytes(memory), 100 << 20);
  memory.process_peak_bytes = 200 << 20;
  EXPECT_TRUE(has_unseen_memory(memory));
  EXPECT_EQ(peak_bytes(memory), 200 << 20);
}

TEST(Limit, IsTheLargestOfTheTimesOfArithmeticExponentialsAndCopying) {
  struct Row {
    CellWork work;
    double ns;
    const Ceilings* ceilings = &machine;
    CacheState cache = CacheState::warm;
    DType dtype = DType::float32;
  };
  const CellWork flop{.useful_flop = 1e6};
  const Ceilings unknown;
  for (const Row& row : std::vector<Row>{
           {flop, 1e4},
           {{.useful_flop = 1e6, .exponentials = 1e6}, 1e6},
           {{.useful_flop = 1e3, .least_bytes = 800, .exponentials = 1}, 20},
           // The rate is that of the smallest working set that holds the bytes, or of the largest.
           {{.least_bytes = 1'000}, 25},
           {{.least_bytes = 2'000}, 100},
           {{.least_bytes = 4'000'000}, 200'000},
           {{.least_bytes = 1'000}, 50, &machine, CacheState::cold},
           {{.least_bytes = 1}, 0, &unknown, CacheState::cold},
           {{.useful_flop = 1e6, .least_bytes = 1e6, .exponentials = 1}, 0, &unknown},
           // Tensor cores compute 16-bit types.
           {flop, 100, &device},
           {flop, 10, &device, CacheState::warm, DType::float16},
           {flop, 10, &device, CacheState::warm, DType::bfloat16},
           {flop, 1e4, &machine, CacheState::warm, DType::bfloat16}}) {
    EXPECT_DOUBLE_EQ(limit_ns(row.work, *row.ceilings, row.cache, row.dtype), row.ns);
  }
}

TEST(Limit, CeilingsBelongToDeviceDtypeAndThreads) {
  const auto are_of = [](const Ceilings& ceilings, DeviceKind kind, DType dtype, int threads) {
    return are_ceilings_of(ceilings, {.dtype = dtype, .device = kind, .threads = threads});
  };
  EXPECT_TRUE(are_of(machine, DeviceKind::cpu, DType::float32, 1));
  EXPECT_FALSE(are_of(machine, DeviceKind::cpu, DType::float32, 2));
  EXPECT_FALSE(are_of(machine, DeviceKind::cpu, DType::bfloat16, 1));
  EXPECT_FALSE(are_of(machine, DeviceKind::cuda, DType::float32, 1));
  EXPECT_TRUE(are_of(device, DeviceKind::cuda, DType::float32, 7));
  EXPECT_TRUE(are_of(device, DeviceKind::cuda, DType::bfloat16, 1));
  EXPECT_FALSE(are_of(device, DeviceKind::cpu, DType::float32, 0));
  Ceilings without_tensor_cores = device;
  without_tensor_cores.tensor_flop_per_second = 0;
  EXPECT_FALSE(are_of(without_tensor_cores, DeviceKind::cuda, DType::float16, 1));
}

HeatResult share(CellStatus status, int process, std::int64_t batch = 1) {
  HeatResult result;
  Cell& cell = result.cells.emplace_back();
  cell.status = status;
  cell.reason = status == CellStatus::ok ? "" : "process " + std::to_string(process);
  cell.batch = batch;
  cell.settled = true;
  cell.relative_error = process;
  if (status == CellStatus::ok) cell.samples.push_back({.process = process, .placement = process});
  return result;
}

TEST(PoolCells, JoinsSamples) {
  const auto pooled = pool_cells({share(CellStatus::ok, 0), share(CellStatus::ok, 1)});
  const Cell& cell = pooled.result.cells[0];
  ASSERT_EQ(cell.samples.size(), 2U);
  EXPECT_EQ(cell.samples[1].process, 1);
  EXPECT_EQ(cell.relative_error, 1.0);
  EXPECT_TRUE(cell.settled);
}

TEST(PoolCells, KeepsWhatEachProcessSelected) {
  HeatResult first = share(CellStatus::ok, 0), second = share(CellStatus::ok, 1);
  first.cells[0].reason = second.cells[0].reason = "algorithm 21";
  EXPECT_EQ(pool_cells({first, second}).result.cells[0].reason, "algorithm 21");
  second.cells[0].reason = "algorithm 66";
  EXPECT_EQ(pool_cells({first, second}).result.cells[0].reason,
            "algorithm 21; another process: algorithm 66");
}

TEST(PoolCells, MemoryIsTheLargestPeak) {
  HeatResult first = share(CellStatus::ok, 0), second = share(CellStatus::ok, 1);
  first.cells[0].memory = {.requested_bytes = 5, .reserved_bytes = 8};
  second.cells[0].memory = {
      .requested_bytes = 6, .reserved_bytes = 7, .process_peak_bytes = std::int64_t{9}};
  const CellMemory memory = pool_cells({first, second}).result.cells[0].memory;
  EXPECT_EQ(memory.requested_bytes, 6);
  EXPECT_EQ(memory.reserved_bytes, 8);
  EXPECT_EQ(memory.process_peak_bytes, 9);
}

TEST(PoolCells, AFailedProcessFailsTheCellWithItsReason) {
  for (const int failed : {0, 1}) {
    const auto status = [&](int process) {
      return process == failed ? CellStatus::wrong : CellStatus::ok;
    };
    const auto pooled = pool_cells({share(status(0), 0), share(status(1), 1)});
    EXPECT_EQ(pooled.result.cells[0].status, CellStatus::wrong);
    EXPECT_EQ(pooled.result.cells[0].reason, "process " + std::to_string(failed));
    EXPECT_TRUE(pooled.result.cells[0].samples.empty());
  }
}

TEST(PoolCells, LeavesOutAnotherBatchWithAWarning) {
  const auto pooled = pool_cells({share(CellStatus::ok, 0, 16), share(CellStatus::ok, 1, 8)});
  EXPECT_EQ(pooled.result.cells[0].samples.size(), 1U);
  ASSERT_EQ(pooled.warnings.size(), 1U);
  EXPECT_THAT(pooled.warnings[0], HasSubstr("batch of 16, another 8"));
}

}  // namespace
}  // namespace attnscope
