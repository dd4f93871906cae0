// SPDX-License-Identifier: Apache-2.0
//
// The memory the cells report, held against what the algorithms need on paper.
#include <gtest/gtest.h>

#include "engine/measure/heat_runner.h"
#include "engine/pattern/compile_plan.h"
#include "kernels/cpu/segment.h"
#include "tests/measure/small_heat.h"

namespace attnscope::measure {
namespace {

Cell measured(const Contender& one, std::int64_t tokens) {
  auto request = small_heat({one}, tokens);
  request.heat.point.batch_max = 3;
  return run_heat(request, {}).cells.at(0);
}

TEST(HeatMemory, WindowedIsItsScores_BandAndWholeSegmentsExactly) {
  constexpr std::int64_t tokens = 300;
  constexpr std::int64_t w = 4;
  const Cell cell = measured(contender("sparse", "windowed", Window::of(w)), tokens);
  ASSERT_EQ(cell.status, CellStatus::ok) << cell.reason;
  // The paper's table: [CLS] sees all, the query the query, the document [CLS], query and a band.
  const std::int64_t query = 6;
  const std::int64_t document = tokens - 1 - query;
  const std::int64_t scores =
      1 * tokens + query * query + document * (1 + query) + document * (2 * w + 1);
  EXPECT_EQ(cell.memory.requested_bytes, 3 * 2 * scores * 4);
  EXPECT_EQ(cell.memory.workspace_bytes, cell.memory.requested_bytes);
  EXPECT_GE(cell.memory.reserved_bytes, cell.memory.requested_bytes);
}

TEST(HeatMemory, SegmentIsATileAThread_WhateverTheLength) {
  const Contender one = contender("sparse", "segment", Window::of(4));
  const Cell cell = measured(one, 600);
  ASSERT_EQ(cell.status, CellStatus::ok) << cell.reason;
  const SequenceLayout layout =
      SequenceLayout::uniform(3, {.cls = 1, .query = 6, .documents = {593}, .sentences = {}});
  const AttentionPlan plan =
      compile_plan(find_pattern("sparse").value(), Window::of(4), layout, 2).value();
  EXPECT_LE(cell.memory.requested_bytes, cpu::segment_workspace_bytes(plan, 32, 2));
  EXPECT_EQ(cell.memory.workspace_bytes, cell.memory.requested_bytes);
  // Far below one score for each pair of tokens.
  EXPECT_LT(cell.memory.requested_bytes, 3 * 2 * 600 * 600 * 4);
}

TEST(HeatMemory, DenseHoldsAtLeastItsScores) {
  const Cell cell = measured(contender("full", "dense"), 300);
  ASSERT_EQ(cell.status, CellStatus::ok) << cell.reason;
  EXPECT_GE(cell.memory.requested_bytes, 3 * 2 * 300 * 300 * 4);
}

}  // namespace
}  // namespace attnscope::measure
