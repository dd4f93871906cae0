// SPDX-License-Identifier: Apache-2.0
#include "engine/measure/gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "engine/measure/block_cache.h"
#include "engine/pattern/compile_plan.h"

namespace attnscope::measure {
namespace {

using testing::HasSubstr;

/// The reference's own output, which a test then spoils.
class GateTest : public testing::Test {
 protected:
  GateTest() {
    const Problem problem{.pattern = pattern_,
                          .window = Window::of(4),
                          .layout = layout_,
                          .plan = plan_,
                          .head_dim = shape_.head_dim,
                          .direction = Direction::forward_backward,
                          .scale = 0.25F};
    const auto rows = sample_rows(layout_, 2, 1'000'000, 1);
    reference_.rows = compute_reference(problem, rows, buffers_.q(), buffers_.k(), buffers_.v());
    for (std::size_t r = 0; r < rows.size(); ++r)
      for (std::size_t d = 0; d < 16; ++d)
        row_of(rows[r])[d] = static_cast<float>(reference_.rows.output[r * 16 + d]);
    const auto gradients = compute_reference_gradients(problem, rows, buffers_.q(), buffers_.k(),
                                                       buffers_.v(), buffers_.grad_o());
    for (const RowId& row : rows) {
      const HeadGradients& head = gradients.heads[static_cast<std::size_t>(row.head)];
      const auto token = static_cast<std::size_t>(row.token);
      write(buffers_.grad_q(), row, head.grad_q, head.query_place[token]);
      write(buffers_.grad_k(), row, head.grad_k, head.key_place[token]);
      write(buffers_.grad_v(), row, head.grad_v, head.key_place[token]);
    }
    reference_.gradients = gradients;
  }

  static void write(const Tensor& tensor, const RowId& row, const std::vector<double>& rows,
                    std::int64_t place) {
    for (std::int64_t d = 0; d < 16; ++d)
      tensor.at<float>(row.token, row.head)[d] =
          place < 0 ? 0.0F : static_cast<float>(rows[static_cast<std::size_t>(place * 16 + d)]);
  }

  float* row_of(const RowId& row) { return buffers_.o().at<float>(row.token, row.head); }

  AttentionPattern pattern_ = find_pattern("sparse").value();
  SequenceLayout layout_ =
      SequenceLayout::uniform(2, {.cls = 1, .query = 5, .documents = {30}, .sentences = {}});
  AttentionPlan plan_ = compile_plan(pattern_, Window::of(4), layout_, 2).value();
  InputShape shape_{.tokens = 72,
                    .items = 2,
                    .heads = 2,
                    .head_dim = 16,
                    .direction = Direction::forward_backward};
  BlockCache memory_;
  PlacementBuffers buffers_{memory_, shape_, 1, 0};
  HeatReference reference_;
};

TEST_F(GateTest, RightTensorsPass_WithTheirError) {
  const Verdict verdict = judge(reference_, buffers_);
  EXPECT_FALSE(verdict.trouble.has_value());
  EXPECT_LT(verdict.error.error, verdict.error.bound);
}

TEST_F(GateTest, OneSpoiledValueIsWrong_WithTheNumbers) {
  row_of({.token = 40, .head = 1})[3] += 0.5F;
  const Verdict verdict = judge(reference_, buffers_);
  ASSERT_TRUE(verdict.trouble.has_value());
  EXPECT_EQ(verdict.trouble->status, CellStatus::wrong);
  EXPECT_GT(verdict.error.error, 0.05);
  EXPECT_NE(verdict.trouble->reason.find(fmt::format("{:.3g}", verdict.error.error)),
            std::string::npos);
}

TEST_F(GateTest, RowThatWasNeverWrittenIsWrong) {
  for (int d = 0; d < 16; ++d)
    row_of({.token = 71, .head = 0})[d] = std::numeric_limits<float>::quiet_NaN();
  const Verdict verdict = judge(reference_, buffers_);
  ASSERT_TRUE(verdict.trouble.has_value());
  EXPECT_EQ(verdict.trouble->status, CellStatus::wrong);
}

TEST_F(GateTest, UnwrittenRowIsSeen_AlsoWhenItIsNotAmongTheComparedOnes) {
  reference_.rows.rows.resize(1);
  reference_.rows.output.resize(16);
  row_of({.token = 71, .head = 1})[15] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(judge(reference_, buffers_).trouble.has_value());
}

TEST_F(GateTest, OneSpoiledGradientIsWrong_AndNamed) {
  buffers_.grad_k().at<float>(17, 1)[3] += 0.5F;
  const Verdict verdict = judge(reference_, buffers_);
  ASSERT_TRUE(verdict.trouble.has_value());
  EXPECT_EQ(verdict.trouble->status, CellStatus::wrong);
  EXPECT_GT(verdict.error.error, 0.01);
  EXPECT_THAT(verdict.trouble->reason, HasSubstr("relative error of its grad_k"));
}

TEST_F(GateTest, GradientThatWasNeverWrittenIsWrong_AndNamed) {
  buffers_.grad_v().at<float>(71, 0)[15] = std::numeric_limits<float>::quiet_NaN();
  const Verdict verdict = judge(reference_, buffers_);
  ASSERT_TRUE(verdict.trouble.has_value());
  EXPECT_THAT(verdict.trouble->reason, HasSubstr("its grad_v holds values that are not finite"));
}

TEST_F(GateTest, TheTensorClosestToItsBoundIsTheCellsError) {
  EXPECT_NE(judge(reference_, buffers_).error.tensor, "");
  row_of({.token = 40, .head = 1})[3] += 0.5F;
  EXPECT_EQ(judge(reference_, buffers_).error.tensor, "output");
  EXPECT_EQ(judge(reference_, buffers_).error.bound, error_bound(DType::float32));
  buffers_.grad_q().at<float>(40, 1)[3] += 500;
  EXPECT_EQ(judge(reference_, buffers_).error.tensor, "grad_q");
  EXPECT_EQ(judge(reference_, buffers_).error.bound, gradient_error_bound(DType::float32));
}

TEST_F(GateTest, ForwardAloneAsksForNoGradients) {
  buffers_.grad_k().at<float>(17, 1)[3] += 0.5F;
  reference_.gradients.reset();
  EXPECT_FALSE(judge(reference_, buffers_).trouble.has_value());
}

TEST(RowsToCompare, ShrinkWithTheLength_ButNeverToNone) {
  EXPECT_EQ(rows_to_compare(64), 256);
  EXPECT_EQ(rows_to_compare(0), 256);
  EXPECT_LT(rows_to_compare(100'000), 256);
  EXPECT_GE(rows_to_compare(std::numeric_limits<std::int64_t>::max()), 16);
}

}  // namespace
}  // namespace attnscope::measure
