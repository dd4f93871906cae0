#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/model/bert/encoder_layer.h"
#include "engine/pattern/compile_plan.h"
#include "kernels/plan/counts.h"

namespace attnscope {
namespace {

SequenceLayout two_items() {
  return *SequenceLayout::make(
      {{.cls = 1, .query = 2, .documents = {4}}, {.cls = 1, .query = 1, .documents = {70}}});
}

TEST(PlanRows, SelectedRowsKeepAllTheirKeys) {
  const SequenceLayout layout = two_items();
  for (const char* name : {"full", "sparse", "longformer", "qds", "bigbird"}) {
    const AttentionPattern pattern = *find_pattern(name);
    const AttentionPlan plan = *compile_plan(pattern, Window::of(2), layout, 2);
    const AttentionPlan cls = with_rows(plan, marked(cls_rows(layout), layout.tokens()));
    // In all of them, [CLS] attends to its whole item.
    EXPECT_EQ(count(cls).pairs, 2 * (7 + 72)) << name;
    std::vector<int> covered(static_cast<std::size_t>(2 * layout.tokens()), 0);
    for (const Task& task : cls.tasks) {
      for (std::int32_t h = task.heads.begin; h < task.heads.end; ++h) {
        for (std::int64_t p = 0; p < task.queries.size(); ++p) {
          ++covered[static_cast<std::size_t>(h * layout.tokens() + cls.token_at(task.queries, p))];
        }
      }
    }
    EXPECT_THAT(covered, testing::Each(1)) << name;
  }
}

TEST(PlanRows, SelectedAndRemainingRowsAddUpToThePlan) {
  const SequenceLayout layout = two_items();
  const AttentionPattern pattern = *find_pattern("qds");
  const AttentionPlan plan = *compile_plan(pattern, Window::of(2), layout, 2);
  std::vector<bool> keeps = marked(global_rows(pattern, layout), layout.tokens());
  const std::int64_t global = count(with_rows(plan, keeps)).pairs;
  keeps.flip();
  EXPECT_EQ(global + count(with_rows(plan, keeps)).pairs, count(plan).pairs);
}

TEST(PlanRows, GlobalRowsAttendToAllAndAreAttendedToByAll) {
  const SequenceLayout layout = two_items();
  EXPECT_THAT(global_rows(*find_pattern("longformer"), layout),
              testing::ElementsAre(0, 1, 2, 7, 8));
  EXPECT_THAT(global_rows(*find_pattern("qds"), layout),
              testing::ElementsAre(0, 1, 2, 3, 7, 8, 9, 39, 69));
  EXPECT_THAT(global_rows(*find_pattern("sparse"), layout), testing::IsEmpty());
  EXPECT_EQ(global_rows(*find_pattern("full"), layout).size(), 79U);
}

}  // namespace
}  // namespace attnscope
