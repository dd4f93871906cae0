// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <QTest>
#include <algorithm>

#include "app/gui/charts/map_colors.h"
#include "app/gui/charts/mask_problem.h"
#include "app/gui/charts/mask_view.h"

namespace attnscope::charts {
namespace {

struct Case {
  std::string name;
  MaskSource a, b;
  LayoutItem item;
};

AttentionPattern pattern(const std::string& name) {
  return find_pattern(name).value();
}

AttentionPattern small_blocks() {
  AttentionPattern blocks = pattern("bigbird");
  blocks.blocks = BlockRule{.length = 3, .random = 1, .seed = 2};
  return blocks;
}

AttentionPattern often_sentences(std::int64_t every) {
  AttentionPattern qds = pattern("qds");
  qds.sentence_every = every;
  return qds;
}

std::vector<Case> cases() {
  const LayoutItem item{.cls = 1, .query = 5, .documents = {34}};
  const LayoutItem list{.cls = 1, .query = 3, .documents = {9, 1, 12}};
  const auto w = [](std::int64_t tokens) { return Window::of(tokens); };
  return {{"alike", {pattern("sparse"), w(2)}, {pattern("sparse"), w(2)}, item},
          {"windows", {pattern("sparse"), w(1)}, {pattern("sparse"), w(6)}, item},
          {"narrower", {pattern("longformer"), w(4)}, {pattern("sparse"), w(7)}, item},
          {"full", {pattern("sparse"), w(3)}, MaskSource{pattern("full"), {}}, item},
          {"sentences", {pattern("qds"), w(2)}, {pattern("sparse"), w(2)}, item},
          {"strides", {often_sentences(4), w(1)}, {often_sentences(7), w(3)}, item},
          {"blocks", {small_blocks(), {}}, {pattern("sparse"), w(5)}, item},
          {"list-wise", {pattern("listwise"), {}}, {pattern("longformer"), w(2)}, list},
          {"no query",
           {pattern("sparse"), w(0)},
           {pattern("full"), {}},
           {.cls = 1, .documents = {20}}}};
}

/// As the two oracles say, without any plan.
std::optional<DifferencePart> expected(const MaskView& view, qint64 query, qint64 key) {
  const bool in_a = view.problem()->oracle().allowed(0, query, key);
  const bool in_b = view.other()->oracle().allowed(0, query, key);
  if (in_a && in_b) return DifferencePart::both;
  if (in_a) return DifferencePart::only_a;
  if (in_b) return DifferencePart::only_b;
  return std::nullopt;
}

QColor hatched(const QColor& color, ChartTheme theme) {
  const QColor paper = colors_of(theme).background;
  return {(color.red() + paper.red()) / 2, (color.green() + paper.green()) / 2,
          (color.blue() + paper.blue()) / 2};
}

class MaskDifferenceTest : public testing::Test {
 protected:
  void SetUp() override {
    view.setPalette(QPalette(Qt::white, Qt::white));
    view.resize(720, 800);
    view.show();
  }
  MaskView view;
};

TEST_F(MaskDifferenceTest, EveryPair_IsInThePartThatTheOraclesSay) {
  for (const Case& each : cases()) {
    for (const MaskStyle style : {MaskStyle::schematic, MaskStyle::true_scale}) {
      view.set_style(style);
      ASSERT_TRUE(view.show_difference(each.a, each.b, each.item)) << each.name;
      DifferenceRow row;
      DifferenceCounts counts{};
      for (qint64 query = 0; query < view.problem()->tokens(); ++query) {
        row.split(*view.problem(), *view.other(), query);
        for (qint64 key = 0; key < view.problem()->tokens(); ++key) {
          const auto part = expected(view, query, key);
          for (std::size_t p = 0; p < difference_part_count; ++p) {
            const auto candidate = static_cast<DifferencePart>(p);
            const auto& keys = row.keys(candidate);
            const bool found = std::ranges::any_of(
                keys, [key](TokenRange run) { return key >= run.begin && key < run.end; });
            ASSERT_EQ(found, part == candidate)
                << each.name << " " << name_of(style) << " " << query << " " << key;
            counts[p] += found ? 1 : 0;
          }
        }
      }
      EXPECT_EQ(count_difference(*view.problem(), *view.other(), [] { return false; }), counts)
          << each.name;
    }
  }
}

TEST_F(MaskDifferenceTest, EveryCell_HasItsPartsColourOrItsHatching) {
  for (const Case& each : cases()) {
    for (const MaskStyle style : {MaskStyle::schematic, MaskStyle::true_scale}) {
      view.set_style(style);
      ASSERT_TRUE(view.show_difference(each.a, each.b, each.item));
      const QImage image = view.grab().toImage();
      for (qint64 query = 0; query < view.problem()->tokens(); ++query) {
        for (qint64 key = 0; key < view.problem()->tokens(); ++key) {
          const QPointF at = view.position_of(query, key);
          const QColor seen = image.pixelColor(static_cast<int>(at.x()), static_cast<int>(at.y()));
          const auto part = expected(view, query, key);
          const QColor own =
              part ? difference_color(*part, ChartTheme::light) : ground_color(ChartTheme::light);
          const bool is_own = seen == own;
          const bool is_hatched =
              part && hatch_of(*part) != 0 && seen == hatched(own, ChartTheme::light);
          ASSERT_TRUE(is_own || is_hatched)
              << each.name << " " << query << " " << key << " " << seen.name().toStdString();
        }
      }
    }
  }
}

TEST_F(MaskDifferenceTest, ALargeOne_IsRefinedIntoTheDirectPicture) {
  view.set_style(MaskStyle::true_scale);
  ASSERT_TRUE(view.show_difference({pattern("sparse"), Window::of(4)},
                                   MaskSource{pattern("qds"), Window::of(64)},
                                   {.cls = 1, .query = 11, .documents = {29'988}}));
  ASSERT_TRUE(QTest::qWaitFor(
      [&] {
        (void)view.grab();
        return view.is_settled();
      },
      30'000));
  EXPECT_EQ(view.cells(), view.cells_at_once());
}

TEST_F(MaskDifferenceTest, APair_IsExplainedForBoth) {
  ASSERT_TRUE(view.show_difference({pattern("sparse"), Window::of(4)},
                                   MaskSource{pattern("full"), {}},
                                   {.cls = 1, .query = 5, .documents = {34}}));
  const QString words = view.explain(3, 20);
  EXPECT_TRUE(words.contains(QString::fromStdString(view.problem()->oracle().explain(3, 20))));
  EXPECT_TRUE(words.contains(QString::fromStdString(view.other()->oracle().explain(3, 20))));
}

TEST_F(MaskDifferenceTest, WhatCannotBeDrawn_IsRefusedWhicheverItIs) {
  const LayoutItem item{.cls = 1, .query = 5, .documents = {34}};
  EXPECT_FALSE(
      view.show_difference({pattern("sparse"), {}}, MaskSource{pattern("full"), {}}, item));
  EXPECT_FALSE(
      view.show_difference({pattern("full"), {}}, MaskSource{pattern("sparse"), {}}, item));
  EXPECT_EQ(view.problem(), nullptr);
  EXPECT_TRUE(view.show_difference({pattern("full"), {}}, MaskSource{pattern("full"), {}}, item));
}

TEST(MaskDifference, CountingStopsWhenItIsSuperseded) {
  const auto problem = MaskProblem::make(pattern("full"), {}, {.cls = 1, .documents = {5000}},
                                         MaskStyle::true_scale);
  ASSERT_TRUE(problem);
  EXPECT_EQ(count_difference(**problem, **problem, [] { return true; }), std::nullopt);
}

}  // namespace
}  // namespace attnscope::charts
