// SPDX-License-Identifier: Apache-2.0
//
// The variants of walks (WalkCut), between which only a GPU can decide, are right on the cases of
// the fused kernels: forward and backward, with planted NaN, and with the same bits in every order.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/cuda/device_subjects.h"

namespace attnscope::testing {
namespace {

struct Variant {
  std::string name;
  cuda::WalkCut cut;
  DType dtype;
};

class WalkVariants : public ::testing::TestWithParam<Variant> {
 protected:
  static Subject subject() { return segment_subject(GetParam().name, GetParam().cut); }
};
// Without multiprocessors to fill, walks have up to 16 strips, as in large batches.
INSTANTIATE_TEST_SUITE_P(
    Emulated, WalkVariants,
    ::testing::Values(Variant{"Strips", {.by_strips = true, .processors = 0}, DType::float16},
                      Variant{"Alternate", {.alternate = true, .processors = 0}, DType::bfloat16},
                      Variant{"StripsAlternate",
                              {.by_strips = true, .alternate = true, .processors = 0},
                              DType::float16}),
    [](const auto& parameter) { return parameter.param.name; });

TEST_P(WalkVariants, OnTheCasesOfTheKernels_AreRight) {
  for (const auto& cases : {cases_of_windows, cases_of_narrow_windows, cases_of_layouts}) {
    for (const AttentionCase& problem : cases(GetParam().dtype)) {
      if (problem.emulated) expect_right(subject(), problem);
      if (HasFailure()) return;
    }
  }
}

TEST_P(WalkVariants, OnLongWalks_AreRightWithTheSameBitsInEveryOrder) {
  AttentionCase problem{.layout = SequenceLayout::uniform(1, {.query = 11, .documents = {517}}),
                        .heads = 1,
                        .dtype = GetParam().dtype};
  expect_right(subject(), problem);
  problem.window = Window::of(64);
  expect_right(subject(), problem);
  expect_same_bits(subject(), problem.plan(), problem.inputs(), {2}, problem.text());
  problem.head_dim = 64;
  expect_right(subject(), problem);
}

TEST_P(WalkVariants, OfPlantedNaN_ReachOnlyRowsThatSeeIt) {
  for (const int window : {4, 20}) {
    const AttentionCase problem{
        .window = Window::of(window), .layout = two_items(), .dtype = GetParam().dtype};
    expect_confined(subject(), problem, {0, 36, 76});
  }
}

}  // namespace
}  // namespace attnscope::testing
