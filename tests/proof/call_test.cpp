// SPDX-License-Identifier: Apache-2.0
#include "engine/proof/call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "engine/attention/packed_tensor.h"
#include "tests/attention/small_problem.h"

namespace attnscope {
namespace {

using testing::HasSubstr;
using tests::item;

constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr std::int64_t call_dim = 16;

/// The output of the reference, which a test then changes.
class CallTest : public testing::Test {
 protected:
  CallTest() {
    small_.problem.direction = Direction::forward_backward;
    shape_.emplace(shape_of(small_.problem));
    tensors_.emplace(*shape_, DeviceKind::cpu);
    tensors_->place([](std::int64_t bytes) { return guarded_room(DeviceKind::cpu, bytes); });
    tensors_->poison(Pass::both);
    host_ = tensors_->on_host();
    std::mt19937_64 random(1);
    std::normal_distribution<float> normal;
    std::vector<float> values(static_cast<std::size_t>(72 * 2 * call_dim));
    for (const Tensor& tensor : {host_.q, host_.k, host_.v, host_.grad_o}) {
      std::ranges::generate(values, [&] { return normal(random); });
      pack(values, 72, 2, tensor);
    }
    reference_ =
        reference_of(small_.problem, sample_rows(small_.layout, 2, 1'000'000, 1), *tensors_);
  }

  void write_the_reference() {
    for (std::size_t r = 0; r < reference_.rows.rows.size(); ++r) {
      const RowId row = reference_.rows.rows[r];
      const HeadGradients& head = reference_.gradients->heads[static_cast<std::size_t>(row.head)];
      const auto token = static_cast<std::size_t>(row.token);
      write(host_.o, row, reference_.rows.output, static_cast<std::int64_t>(r));
      write(host_.grad_q, row, head.grad_q, head.query_place[token]);
      write(host_.grad_k, row, head.grad_k, head.key_place[token]);
      write(host_.grad_v, row, head.grad_v, head.key_place[token]);
    }
  }

  static void write(const Tensor& tensor, const RowId& row, const std::vector<double>& rows,
                    std::int64_t place) {
    for (std::int64_t d = 0; d < call_dim; ++d)
      tensor.at<float>(row.token, row.head)[d] =
          place < 0 ? 0.0F
                    : static_cast<float>(rows[static_cast<std::size_t>(place * call_dim + d)]);
  }

  /// The verdict on a correct call after a change of its tensors.
  template <typename Change>
  Verdict verdict_after(const Change& change) {
    write_the_reference();
    change(host_);
    return judge(reference_, *tensors_, Pass::both);
  }

  tests::SmallProblem small_{"sparse", Window::of(4), SequenceLayout::uniform(2, item(1, 5, 30)), 2,
                             call_dim};
  std::optional<CallShape> shape_;
  std::optional<CallTensors> tensors_;
  CallView host_;
  Reference reference_;
};

TEST_F(CallTest, CorrectCallPassesWithItsErrorAndFindsItsOutputsPoisoned) {
  bool poisoned = false;
  const auto wrong =
      watched_call(*tensors_, guarded_room(DeviceKind::cpu, 100), Pass::both, [&]() -> Status {
        poisoned =
            std::isnan(host_.o.at<float>(3, 1)[7]) && std::isnan(host_.grad_v.at<float>(3, 1)[7]);
        write_the_reference();
        return {};
      });
  EXPECT_EQ(wrong.value(), "");
  EXPECT_TRUE(poisoned);
  const Verdict verdict = judge(reference_, *tensors_, Pass::both);
  EXPECT_EQ(verdict.wrong, "");
  EXPECT_LT(verdict.error.error, verdict.error.bound);
}

TEST_F(CallTest, OneWrongValueIsReportedWithTheNumbers) {
  const Verdict verdict =
      verdict_after([](const CallView& host) { host.o.at<float>(40, 1)[3] += 0.5F; });
  EXPECT_GT(verdict.error.error, 0.05);
  EXPECT_EQ(verdict.error.bound, error_bound(DType::float32));
  EXPECT_THAT(verdict.wrong, HasSubstr(fmt::format("error of its output against the float64 "
                                                   "reference is {:.3g}",
                                                   verdict.error.error)));
}

TEST_F(CallTest, UnwrittenRowIsWrong) {
  const auto unwritten = [](const CallView& host) { host.o.at<float>(71, 1)[15] = nan; };
  EXPECT_THAT(verdict_after(unwritten).wrong, HasSubstr("its output has values"));
  reference_.rows.rows.resize(1);  // also in a row that is not compared
  EXPECT_THAT(verdict_after(unwritten).wrong, HasSubstr("rows that were never written"));
}

TEST_F(CallTest, OneWrongGradientIsReportedByNameUnlessOnlyForwardIsJudged) {
  const Verdict verdict =
      verdict_after([](const CallView& host) { host.grad_k.at<float>(17, 1)[3] += 0.5F; });
  EXPECT_GT(verdict.error.error, 0.01);
  EXPECT_THAT(verdict.wrong, HasSubstr("relative error of its grad_k"));
  EXPECT_EQ(judge(reference_, *tensors_, Pass::forward).wrong, "");
}

TEST_F(CallTest, VerdictIsOnTheTensorClosestToItsBound) {
  const Verdict verdict = verdict_after([](const CallView& host) {
    host.o.at<float>(40, 1)[3] += 0.5F;
    host.grad_q.at<float>(40, 1)[3] += 500;
  });
  EXPECT_EQ(verdict.error.tensor, "grad_q");
  EXPECT_EQ(verdict.error.bound, gradient_error_bound(DType::float32));
}

TEST_F(CallTest, WrongWatchedRowsAreReportedWithTheirTensor) {
  const RowWatch watch(DeviceKind::cpu, reference_, 5);
  write_the_reference();
  EXPECT_EQ(watch.judge(host_).wrong, "");
  // Five rows of 144: the first of them is the batch's first.
  host_.grad_q.at<float>(0, 0)[2] += 1;
  EXPECT_THAT(watch.judge(host_).wrong, HasSubstr("grad_q"));
  host_.o.at<float>(0, 0)[2] += 100;
  EXPECT_THAT(watch.judge(host_).wrong, HasSubstr("its output"));
  write_the_reference();
  watch.poison(host_);
  EXPECT_EQ(watch.judge(host_).error.error, std::numeric_limits<double>::infinity());
}

TEST_F(CallTest, OutputsOfChangedInputsFollowExactly) {
  std::mt19937_64 random(2);
  const Reference plain_reference = reference_;
  const RowWatch watch(DeviceKind::cpu, plain_reference, plain_reference.rows.rows.size());
  write_the_reference();
  const auto* const output = host_.o.data;
  const std::vector<std::byte> kept(output, output + shape_->tensor_bytes().value());
  const std::uint64_t print = tensors_->hash_of_inputs(Pass::both);
  const ChannelFactors plain = ChannelFactors::plain(*shape_);
  const ChannelFactors factors = ChannelFactors::drawn(*shape_, [&] { return random(); });
  tensors_->change_inputs(plain, factors);
  EXPECT_NE(tensors_->hash_of_inputs(Pass::both), print);
  reference_ = reference_of(small_.problem, sample_rows(small_.layout, 2, 1'000'000, 1), *tensors_);
  write_the_reference();
  EXPECT_EQ(watch.judge(host_, &factors).wrong, "");
  EXPECT_THAT(watch.judge(host_).wrong, HasSubstr("relative error of its"));
  const double distance = tensors_->distance_of_output(kept, factors);
  EXPECT_LT(distance, 1e-6);
  EXPECT_EQ(watch.judge_distance(distance, DType::float32).wrong, "");
  host_.o.at<float>(71, 1)[15] = nan;
  EXPECT_THAT(
      watch.judge_distance(tensors_->distance_of_output(kept, factors), DType::float32).wrong,
      HasSubstr("a row of its output differs"));
  tensors_->change_inputs(factors, plain);
  EXPECT_EQ(tensors_->hash_of_inputs(Pass::both), print);
}

TEST_F(CallTest, ForwardValuesInFloat32AreAlsoDoubledAndRestored) {
  std::mt19937_64 random(3);
  shape_->direction = Direction::forward;
  const std::uint64_t print = tensors_->hash_of_inputs(Pass::both);
  const ChannelFactors plain = ChannelFactors::plain(*shape_);
  const ChannelFactors factors = ChannelFactors::drawn(*shape_, [&] { return random(); });
  for (const float factor : {-2.0F, -1.0F, 1.0F, 2.0F})
    EXPECT_THAT(factors.values, testing::Contains(factor));
  tensors_->change_inputs(plain, factors);
  tensors_->change_inputs(factors, plain);
  EXPECT_EQ(tensors_->hash_of_inputs(Pass::both), print);
}

TEST(RowsToCompare, ShrinkWithTheLengthDownToAMinimum) {
  EXPECT_EQ(rows_to_compare(64), 256);
  EXPECT_EQ(rows_to_compare(0), 256);
  EXPECT_LT(rows_to_compare(100'000), 256);
  EXPECT_GE(rows_to_compare(std::numeric_limits<std::int64_t>::max()), 16);
}

}  // namespace
}  // namespace attnscope
