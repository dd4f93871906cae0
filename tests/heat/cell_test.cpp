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

TEST(CellStatus, Names_AreReadBack) {
  for (const char* name :
       {"ok", "unsupported", "oom", "wrong", "crashed", "timeout", "cancelled"}) {
    EXPECT_EQ(name_of(*parse_cell_status(name)), name);
  }
  EXPECT_THAT(parse_cell_status("crash").error().message, HasSubstr("crashed"));
}

TEST(Ceilings, ThatNoMachineHas_AreImpossible) {
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

TEST(DisturbedSample, WaitedForItsCores) {
  EXPECT_TRUE(is_disturbed({.time_ns = 100, .waited_ns = 4}, 2));
  EXPECT_FALSE(is_disturbed({.time_ns = 100, .waited_ns = 2}, 2));
  EXPECT_FALSE(is_disturbed(
      {.time_ns = 100, .involuntary_switches = 3, .foreign_load = 1, .waited_ns = 0}, 2))
      << "others ran, but nobody waited for them";
}

TEST(DisturbedSample, WhereNobodyTellsWhatItWaited_IsToldBySwitchesAndLoad) {
  EXPECT_TRUE(is_disturbed({.involuntary_switches = 1}, 2));
  EXPECT_TRUE(is_disturbed({.foreign_load = 0.3}, 2));
  EXPECT_FALSE(is_disturbed({.foreign_load = 0.1}, 2));
}

TEST(DisturbedSample, WasThrottled) {
  EXPECT_TRUE(is_disturbed({.time_ns = 100, .throttled = true, .waited_ns = 0}, 2));
}

TEST(UnseenMemory, IsWhatTheSystemSawFarAboveWhatWasCounted) {
  CellMemory memory{.requested_bytes = 100 << 20, .reserved_bytes = 102 << 20};
  EXPECT_FALSE(has_unseen_memory(memory));
  EXPECT_EQ(peak_bytes(memory), 100 << 20);
  memory.process_peak_bytes = 120 << 20;
  EXPECT_FALSE(has_unseen_memory(memory));
  EXPECT_EQ(peak_bytes(memory), 100 << 20);
  memory.process_peak_bytes = 200 << 20;
  EXPECT_TRUE(has_unseen_memory(memory));
  EXPECT_EQ(peak_bytes(memory), 200 << 20);
}

TEST(UnseenMemory, IsNotWhatWasAskedForAndNeverTouched) {
  EXPECT_FALSE(has_unseen_memory(
      {.requested_bytes = 200 << 20, .reserved_bytes = 200 << 20, .process_peak_bytes = 0}));
}

TEST(Limit, LargestOfTheThree_Decides) {
  EXPECT_DOUBLE_EQ(limit_ns({.useful_flop = 1e6}, machine), 1e4);
  EXPECT_DOUBLE_EQ(limit_ns({.useful_flop = 1e6, .exponentials = 1e6}, machine), 1e6);
  EXPECT_DOUBLE_EQ(limit_ns({.useful_flop = 1e3, .least_bytes = 800, .exponentials = 1}, machine),
                   20);
}

TEST(Limit, CopyRate_IsThatOfTheSmallestSetThatHoldsTheBytes) {
  EXPECT_DOUBLE_EQ(limit_ns({.least_bytes = 1'000}, machine), 25);
  EXPECT_DOUBLE_EQ(limit_ns({.least_bytes = 2'000}, machine), 100);
  EXPECT_DOUBLE_EQ(limit_ns({.least_bytes = 4'000'000}, machine), 200'000);
}

TEST(Limit, WithColdCaches_CopyRateIsThatOfTheLargestSet) {
  EXPECT_DOUBLE_EQ(limit_ns({.least_bytes = 1'000}, machine, CacheState::cold), 50);
  EXPECT_DOUBLE_EQ(limit_ns({.least_bytes = 1}, Ceilings{}, CacheState::cold), 0);
}

const Ceilings device{.flop_per_second = 1e13,
                      .exponentials_per_second = 1e12,
                      .copy = {{1'000, 4e12}},
                      .device = DeviceKind::cuda,
                      .tensor_flop_per_second = 1e14};

TEST(Limit, SixteenBitTypes_TakeTheRateOfTensorCoresWhereThereIsOne) {
  const CellWork work{.useful_flop = 1e6};
  EXPECT_DOUBLE_EQ(limit_ns(work, device, CacheState::warm, DType::float32), 100);
  EXPECT_DOUBLE_EQ(limit_ns(work, device, CacheState::warm, DType::float16), 10);
  EXPECT_DOUBLE_EQ(limit_ns(work, device, CacheState::warm, DType::bfloat16), 10);
  EXPECT_DOUBLE_EQ(limit_ns(work, machine, CacheState::warm, DType::bfloat16), 1e4);
}

HeatPoint point_on(DeviceKind kind, DType dtype, int threads) {
  return {.dtype = dtype, .device = kind, .threads = threads};
}

TEST(Limit, CeilingsOfTheProcessor_AreOfAsManyThreadsInFloat32) {
  EXPECT_TRUE(are_ceilings_of(machine, point_on(DeviceKind::cpu, DType::float32, 1)));
  EXPECT_FALSE(are_ceilings_of(machine, point_on(DeviceKind::cpu, DType::float32, 2)));
  EXPECT_FALSE(are_ceilings_of(machine, point_on(DeviceKind::cpu, DType::bfloat16, 1)));
  EXPECT_FALSE(are_ceilings_of(machine, point_on(DeviceKind::cuda, DType::float32, 1)));
}

TEST(Limit, CeilingsOfADevice_AreOfAllDtypesWhateverTheThreads) {
  EXPECT_TRUE(are_ceilings_of(device, point_on(DeviceKind::cuda, DType::float32, 7)));
  EXPECT_TRUE(are_ceilings_of(device, point_on(DeviceKind::cuda, DType::bfloat16, 1)));
  EXPECT_FALSE(are_ceilings_of(device, point_on(DeviceKind::cpu, DType::float32, 0)));
  Ceilings without_tensor_cores = device;
  without_tensor_cores.tensor_flop_per_second = 0;
  EXPECT_FALSE(
      are_ceilings_of(without_tensor_cores, point_on(DeviceKind::cuda, DType::float16, 1)));
}

TEST(Limit, WithoutCeilings_IsZero) {
  EXPECT_EQ(limit_ns({.useful_flop = 1e6, .least_bytes = 1e6, .exponentials = 1}, Ceilings{}), 0);
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

TEST(PoolCells, Samples_AreJoined) {
  const auto pooled = pool_cells({share(CellStatus::ok, 0), share(CellStatus::ok, 1)});
  const Cell& cell = pooled.result.cells[0];
  ASSERT_EQ(cell.samples.size(), 2U);
  EXPECT_EQ(cell.samples[1].process, 1);
  EXPECT_EQ(cell.relative_error, 1.0);
  EXPECT_TRUE(cell.settled);
}

TEST(PoolCells, Memory_IsTheLargestPeak) {
  HeatResult first = share(CellStatus::ok, 0), second = share(CellStatus::ok, 1);
  first.cells[0].memory = {.requested_bytes = 5, .reserved_bytes = 8};
  second.cells[0].memory = {
      .requested_bytes = 6, .reserved_bytes = 7, .process_peak_bytes = std::int64_t{9}};
  const CellMemory memory = pool_cells({first, second}).result.cells[0].memory;
  EXPECT_EQ(memory.requested_bytes, 6);
  EXPECT_EQ(memory.reserved_bytes, 8);
  EXPECT_EQ(memory.process_peak_bytes, 9);
}

TEST(PoolCells, OneProcessThatFails_FailsTheCell) {
  const auto pooled = pool_cells({share(CellStatus::ok, 0), share(CellStatus::wrong, 1)});
  EXPECT_EQ(pooled.result.cells[0].status, CellStatus::wrong);
  EXPECT_EQ(pooled.result.cells[0].reason, "process 1");
  EXPECT_TRUE(pooled.result.cells[0].samples.empty());
}

TEST(PoolCells, FirstFailure_GivesTheReason) {
  const auto pooled = pool_cells({share(CellStatus::oom, 0), share(CellStatus::ok, 1)});
  EXPECT_EQ(pooled.result.cells[0].status, CellStatus::oom);
  EXPECT_EQ(pooled.result.cells[0].reason, "process 0");
  EXPECT_TRUE(pooled.result.cells[0].samples.empty());
}

TEST(PoolCells, AnotherBatch_IsLeftOutWithAWarning) {
  const auto pooled = pool_cells({share(CellStatus::ok, 0, 16), share(CellStatus::ok, 1, 8)});
  EXPECT_EQ(pooled.result.cells[0].samples.size(), 1U);
  ASSERT_EQ(pooled.warnings.size(), 1U);
  EXPECT_THAT(pooled.warnings[0], HasSubstr("batch of 16, another 8"));
}

}  // namespace
}  // namespace attnscope
