// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <QSignalSpy>
#include <QTest>
#include <algorithm>
#include <cmath>

#include "app/drawing/map.h"
#include "app/drawing/mask_problem.h"
#include "app/gui/charts/map_view.h"

namespace attnscope::charts {
namespace {

const LayoutItem small_item{.cls = 1, .query = 5, .documents = {34}};

LayoutItem long_item(std::int64_t document) {
  return {.cls = 1, .query = 11, .documents = {document}};
}

QColor pixel_at(const QImage& image, QPointF place) {
  return image.pixelColor(static_cast<int>(place.x()), static_cast<int>(place.y()));
}

AttentionPattern pattern(const std::string& name) {
  return find_pattern(name).value();
}

AttentionPattern small_blocks() {
  AttentionPattern blocks = pattern("bigbird");
  blocks.blocks = BlockRule{.length = 3, .random = 1, .seed = 2};
  return blocks;
}

QColor expected_color(const MaskView& view, qint64 query, qint64 key) {
  const Oracle& oracle = view.problem()->oracle();
  if (!oracle.allowed(0, query, key)) return ground_color(view.theme());
  return pair_color(oracle.place_of(query).group, oracle.place_of(key).group, view.theme());
}

int wrong_cells(MaskView& view) {
  const QImage image = view.grab().toImage();
  int wrong = 0;
  for (qint64 query = 0; query < view.problem()->tokens(); ++query) {
    for (qint64 key = 0; key < view.problem()->tokens(); ++key) {
      const QColor seen = pixel_at(image, view.position_of(query, key));
      wrong += seen == expected_color(view, query, key) ? 0 : 1;
    }
  }
  return wrong;
}

/// Waits for the final image of the requested mask.
void settle(MaskView& view) {
  const auto is_settled = [&view] {
    (void)view.grab();  // a widget that is not painted renders nothing
    return view.is_settled();
  };
  ASSERT_TRUE(QTest::qWaitFor(is_settled, 30'000));
}

class MaskViewTest : public testing::Test {
 protected:
  void SetUp() override {
    view.setPalette(QPalette(Qt::white, Qt::white));
    view.resize(720, 800);
    view.show();
  }
  void show(const AttentionPattern& shown, std::optional<Window> window, const LayoutItem& item,
            MaskStyle style = MaskStyle::true_scale) {
    view.set_style(style);
    ASSERT_TRUE(view.show_mask(shown, window, item)) << shown.name;
  }
  void show_difference(const MaskSource& a, const MaskSource& b, const LayoutItem& item,
                       MaskStyle style = MaskStyle::true_scale) {
    view.set_style(style);
    ASSERT_TRUE(view.show_difference(a, b, item)) << a.pattern.name;
  }
  MaskView view;
};
using MaskDifferenceTest = MaskViewTest;

TEST_F(MaskViewTest, ColoursEveryCellOfEveryPatternAndStyle) {
  for (const AttentionPattern& each : built_in_patterns()) {
    for (const std::int64_t w : {0, 1, 4, 64}) {
      for (const MaskStyle style : {MaskStyle::schematic, MaskStyle::true_scale}) {
        show(each, Window::of(w), small_item, style);
        EXPECT_EQ(wrong_cells(view), 0) << each.name << " w " << w << " " << name_of(style);
      }
    }
    show(each, Window::infinite(), small_item);
    EXPECT_EQ(wrong_cells(view), 0) << each.name << " w inf";
  }
}

TEST_F(MaskViewTest, ColoursBlocksChunksListsAndTheDarkTheme) {
  AttentionPattern chunks = pattern("chunks");
  chunks.attends[2][2].chunk = {.tokens = 5, .overlap = 2};
  show(chunks, std::nullopt, small_item);
  EXPECT_EQ(wrong_cells(view), 0);
  show(pattern("sparse"), Window::of(3), {.cls = 1, .query = 5, .documents = {9, 0, 14}});
  EXPECT_EQ(wrong_cells(view), 0);
  for (const MaskStyle style : {MaskStyle::schematic, MaskStyle::true_scale}) {
    show(pattern("sparse"), Window::of(3), {.cls = 0, .query = 0, .documents = {40}}, style);
    EXPECT_EQ(wrong_cells(view), 0) << name_of(style);
  }
  show(small_blocks(), std::nullopt, small_item);
  EXPECT_EQ(wrong_cells(view), 0);
  EXPECT_GT(view.problem()->tokens(), view.problem()->pattern().blocks->full_attention_up_to());
  view.setPalette(QPalette(Qt::black, Qt::black));
  show(pattern("qds"), Window::of(2), small_item);
  EXPECT_EQ(wrong_cells(view), 0);
}

TEST_F(MaskViewTest, SchematicBigBirdHasVisibleBlocks) {
  show(pattern("bigbird"), std::nullopt, long_item(900), MaskStyle::schematic);
  EXPECT_TRUE(view.problem()->is_stand_in());
  const std::int64_t tokens = view.problem()->tokens();
  EXPECT_GT(tokens, view.problem()->pattern().blocks->full_attention_up_to());
  qint64 unseen = 0;
  for (qint64 key = 0; key < tokens; ++key) {
    unseen += view.problem()->oracle().allowed(0, tokens / 2, key) ? 0 : 1;
  }
  EXPECT_GT(unseen, tokens / 4);
  EXPECT_EQ(wrong_cells(view), 0);
}

TEST_F(MaskViewTest, SchematicChunksAreNarrowedAndNoted) {
  show(pattern("chunks"), std::nullopt, long_item(900), MaskStyle::schematic);
  EXPECT_TRUE(view.problem()->is_stand_in());
  EXPECT_EQ(wrong_cells(view), 0);
  const MaskDrawing drawing(view.masks(), {}, {.size = QSizeF(700, 700)});
  EXPECT_TRUE(drawing.note().contains("chunks of 40+5 are drawn as 6+2"));
  const auto& legend = drawing.legend();
  EXPECT_EQ(std::ranges::count(legend, QStringLiteral("40+5"), &MaskLegendEntry::text), 1);
}

TEST_F(MaskViewTest, ColoursSingleTokensOfAZoomedLongDocument) {
  show(pattern("qds"), Window::of(4), long_item(16372));
  view.zoom_to(12, 9000, 9003);
  settle(view);
  const QImage image = view.grab().toImage();
  for (qint64 query = 8990; query < 9010; ++query) {
    for (qint64 key = 8990; key < 9010; ++key) {
      const QPointF center = view.position_of(query, key);
      const auto pair = view.pair_at(center);
      ASSERT_TRUE(pair);
      EXPECT_EQ(*pair, (std::pair<qint64, qint64>(query, key)));
      EXPECT_EQ(pixel_at(image, center), expected_color(view, query, key)) << query << " " << key;
    }
  }
}

TEST_F(MaskViewTest, PaintsSixteenThousandTokensFromEveryRow) {
  show(pattern("sparse"), Window::of(4), long_item(16372));
  const QImage image = view.grab().toImage();
  EXPECT_GT(view.rows_sampled(), 16000);
  EXPECT_LE(view.rows_sampled(), 16384);
  // The narrow band is there, paler than a full cell, and the corners away from it are empty.
  const auto at = [&](qint64 query, qint64 key) {
    return pixel_at(image, view.position_of(query, key));
  };
  const QColor full = pair_color(TokenGroup::document, TokenGroup::document, ChartTheme::light);
  for (const qint64 token : {500, 4000, 8000, 12000, 16000}) {
    EXPECT_NE(at(token, token), ground_color(ChartTheme::light)) << token;
    EXPECT_NE(at(token, token), full) << token;
  }
  EXPECT_EQ(at(2000, 14000), ground_color(ChartTheme::light));
  EXPECT_EQ(at(14000, 2000), ground_color(ChartTheme::light));
}

TEST_F(MaskViewTest, SamplesAMillionTokens) {
  view.set_style(MaskStyle::true_scale);
  for (const char* name : {"sparse", "qds"}) {
    ASSERT_TRUE(view.show_mask(pattern(name), Window::of(64), long_item(999'988)));
    settle(view);
    EXPECT_EQ(view.problem()->tokens(), 1'000'000);
    EXPECT_GT(view.rows_sampled(), 0);
    EXPECT_LT(view.rows_sampled(), 100'000) << name;
  }
}

// Refinement on a thread ends in the image that is rendered at once.
TEST_F(MaskViewTest, RefinementOfMasksAndDifferencesEndsInTheDirectImage) {
  view.set_style(MaskStyle::true_scale);
  for (const char* name : {"sparse", "qds", "bigbird"}) {
    ASSERT_TRUE(view.show_mask(pattern(name), Window::of(64), long_item(249'988)));
    settle(view);
    EXPECT_EQ(view.cells(), view.cells_at_once()) << name;
    view.zoom_to(0.25, 120'000, 121'000);
    settle(view);
    EXPECT_EQ(view.cells(), view.cells_at_once()) << name << " zoomed";
    view.show_all();
  }
  show_difference({pattern("sparse"), Window::of(4)}, {pattern("qds"), Window::of(64)},
                  long_item(29'988));
  settle(view);
  EXPECT_EQ(view.cells(), view.cells_at_once());
}

TEST_F(MaskViewTest, ShowsTheOldMaskUntilTheLastOfSeveralLargeMasksIsComputed) {
  show(pattern("sparse"), Window::of(4), small_item);
  for (const std::int64_t tokens : {800'000, 850'000, 900'000}) {
    ASSERT_TRUE(view.show_mask(pattern("sparse"), Window::of(4), long_item(tokens - 12)));
    ASSERT_NE(view.problem(), nullptr);
  }
  EXPECT_EQ(view.problem()->tokens(), 40);
  EXPECT_FALSE(view.is_settled());
  settle(view);
  EXPECT_EQ(view.problem()->tokens(), 900'000);
}

TEST_F(MaskViewTest, RefusesAMissingWindowNegativeSizesAndMoreThanAMillionTokens) {
  view.set_style(MaskStyle::true_scale);
  const Status status = view.show_mask(pattern("full"), std::nullopt, long_item(2'000'000));
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().message.find("at most 1000000 tokens"), std::string::npos);
  EXPECT_EQ(view.problem(), nullptr);
  EXPECT_FALSE(view.grab().isNull());
  EXPECT_FALSE(view.pair_at(QPointF(300, 300)));
  EXPECT_FALSE(view.show_mask(pattern("sparse"), std::nullopt, small_item));
  EXPECT_FALSE(view.show_mask(pattern("sparse"), Window::of(1), {.query = -1, .documents = {34}}));
  EXPECT_TRUE(view.show_mask(pattern("sparse"), Window::of(1), small_item));
  EXPECT_NE(view.problem(), nullptr);
}

TEST_F(MaskViewTest, WheelZoomsAboutTheCursor) {
  show(pattern("sparse"), Window::of(4), long_item(4084));
  const QPointF cursor = view.position_of(1500, 2500);
  for (int i = 0; i < 12; ++i) {
    QWheelEvent event(cursor, view.mapToGlobal(cursor), {}, QPoint(0, 120), Qt::NoButton,
                      Qt::NoModifier, Qt::NoScrollPhase, false);
    QCoreApplication::sendEvent(&view, &event);
  }
  const auto pair = view.pair_at(cursor);
  ASSERT_TRUE(pair);
  EXPECT_NEAR(static_cast<double>(pair->first), 1500, 4);
  EXPECT_NEAR(static_cast<double>(pair->second), 2500, 4);
  QTest::keyClick(&view, Qt::Key_0);
  EXPECT_NEAR(view.position_of(1500, 2500).x(), cursor.x(), 0.01);
}

TEST_F(MaskViewTest, APinnedPairIsInViewAndDraggingMovesTheMaskUpToItsEdge) {
  show(pattern("sparse"), Window::of(4), long_item(4084));
  view.zoom_to(10, 2000, 2000);
  view.pin(3000, 100);
  EXPECT_TRUE(view.pair_at(view.position_of(3000, 100)));
  view.zoom_to(10, 2000, 2000);
  const QPointF before = view.position_of(2000, 2000);
  QTest::mousePress(&view, Qt::LeftButton, {}, before.toPoint());
  QTest::mouseMove(&view, before.toPoint() + QPoint(-60, 40));
  QTest::mouseRelease(&view, Qt::LeftButton, {}, before.toPoint() + QPoint(-60, 40));
  EXPECT_NEAR(view.position_of(2000, 2000).x(), before.x() - 60, 1);
  EXPECT_NEAR(view.position_of(2000, 2000).y(), before.y() + 40, 1);
  for (int i = 0; i < 2000; ++i) QTest::keyClick(&view, Qt::Key_Up, Qt::ControlModifier);
  EXPECT_TRUE(view.pair_at(view.position_of(0, 2000)));
}

TEST_F(MaskViewTest, ShiftDraggingZoomsToTheFrame) {
  show(pattern("sparse"), Window::of(4), long_item(4084));
  const QPoint from = view.position_of(1000, 2000).toPoint();
  const QPoint to = view.position_of(2000, 2600).toPoint();
  QTest::mousePress(&view, Qt::LeftButton, Qt::ShiftModifier, from);
  QTest::mouseMove(&view, to);
  QTest::mouseRelease(&view, Qt::LeftButton, Qt::ShiftModifier, to);
  EXPECT_NEAR(view.focus().tokens, 1000, 10);
  const auto middle =
      view.pair_at((view.position_of(1000, 2300) + view.position_of(2000, 2300)) / 2);
  ASSERT_TRUE(middle);
  EXPECT_NEAR(static_cast<double>(middle->first), 1500, 10);
  EXPECT_NEAR(static_cast<double>(middle->second), 2300, 10);
}

TEST_F(MaskViewTest, DoubleClickShowsAllAndKeepsThePinnedPair) {
  show(pattern("sparse"), Window::of(4), long_item(4084));
  view.pin(7, 9);
  view.zoom_to(1, 7, 9);
  const QPoint there = view.position_of(100, 120).toPoint();
  QTest::mouseClick(&view, Qt::LeftButton, {}, there);
  QTest::mouseDClick(&view, Qt::LeftButton, {}, there);
  EXPECT_EQ(view.focus(), MapFocus());
  EXPECT_EQ(view.pinned_pair(), MaskView::Pair(7, 9));
}

TEST_F(MaskViewTest, SchematicLegendIsTheTableOfGroupsWithTheTrueWindow) {
  show(pattern("sparse"), Window::of(64), long_item(4084), MaskStyle::schematic);
  EXPECT_EQ(view.problem()->tokens(), 31);
  EXPECT_TRUE(view.problem()->is_stand_in());
  EXPECT_EQ(view.problem()->true_window(), Window::of(64));
  EXPECT_LT(view.problem()->window()->tokens(), 12);
  const MaskDrawing drawing(view.masks(), {}, {.size = QSizeF(700, 700)});
  std::vector<MaskLegendEntry> cells;
  std::ranges::copy_if(drawing.legend(), std::back_inserter(cells),
                       [](const MaskLegendEntry& entry) { return !entry.box.isEmpty(); });
  ASSERT_EQ(cells.size(), 9U);
  const TokenGroup groups[] = {TokenGroup::cls, TokenGroup::query, TokenGroup::document};
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const TokenGroup from = groups[i / 3], to = groups[i % 3];
    const GroupRule rule = pattern("sparse").rule(from, to);
    EXPECT_EQ(cells[i].color, rule.kind == GroupRule::Kind::none
                                  ? ground_color(ChartTheme::light)
                                  : pair_color(from, to, ChartTheme::light));
    EXPECT_EQ(cells[i].text, rule.kind == GroupRule::Kind::window ? "w = 64" : "");
  }
}

TEST_F(MaskViewTest, HoverExplainsAPairClickPinsItAndArrowsMoveIt) {
  show(pattern("sparse"), Window::of(4), small_item);
  QSignalSpy hovered(&view, &MaskView::hovered);
  QTest::mouseMove(&view, view.position_of(20, 23).toPoint());
  ASSERT_EQ(hovered.size(), 1);
  EXPECT_EQ(hovered[0], (QVariantList{qint64{20}, qint64{23}}));
  EXPECT_EQ(view.explain(20, 23).toStdString(), view.problem()->oracle().explain(20, 23));
  QTest::mouseMove(&view, QPoint(2, 2));
  ASSERT_EQ(hovered.size(), 2);
  EXPECT_EQ(hovered[1][0].toLongLong(), -1);
  QSignalSpy pinned(&view, &MaskView::pinned);
  QTest::mouseClick(&view, Qt::LeftButton, {}, view.position_of(20, 23).toPoint());
  using Pair = MaskView::Pair;
  EXPECT_EQ(view.pinned_pair(), Pair(20, 23));
  QTest::keyClick(&view, Qt::Key_Right);
  QTest::keyClick(&view, Qt::Key_Up);
  EXPECT_EQ(view.pinned_pair(), Pair(19, 24));
  QTest::keyClick(&view, Qt::Key_Left, Qt::ShiftModifier);
  EXPECT_EQ(view.pinned_pair(), Pair(19, 14));
  EXPECT_TRUE(view.accessibleDescription().endsWith(view.explain(19, 14)));
  for (int i = 0; i < 3; ++i) QTest::keyClick(&view, Qt::Key_Down, Qt::ShiftModifier);
  EXPECT_EQ(view.pinned_pair(), Pair(39, 14));  // the last token
  QTest::keyClick(&view, Qt::Key_Escape);
  EXPECT_EQ(view.pinned_pair(), std::nullopt);
  EXPECT_EQ(pinned.last()[0].toLongLong(), -1);
}

TEST_F(MaskViewTest, ViewsOfDifferentSizesShareAFocus) {
  show(pattern("sparse"), Window::of(4), long_item(4084));
  MaskView other;
  other.resize(300, 320);
  other.set_compact(true);
  other.set_style(MaskStyle::true_scale);
  ASSERT_TRUE(other.show_mask(pattern("full"), std::nullopt, long_item(4084)));
  QObject::connect(&view, &MaskView::focus_moved, &other, &MaskView::set_focus);
  QTest::keyClick(&view, Qt::Key_Plus);
  QTest::keyClick(&view, Qt::Key_Plus);
  QTest::keyClick(&view, Qt::Key_Left, Qt::ControlModifier);
  const auto close = [](double a, double b) { return std::abs(a - b) < 1e-6 * (1 + std::abs(a)); };
  EXPECT_GT(view.focus().tokens, 0);
  EXPECT_TRUE(close(view.focus().tokens, other.focus().tokens));
  EXPECT_TRUE(close(view.focus().row.tokens, other.focus().row.tokens));
  EXPECT_TRUE(close(view.focus().column.tokens, other.focus().column.tokens));
  QTest::keyClick(&view, Qt::Key_0);
  EXPECT_EQ(other.focus().tokens, 0);
}

TEST(MaskStyle, NamesAreThoseOfTheCommandLine) {
  for (const char* name : {"schematic", "true"}) {
    const Result<MaskStyle> style = parse_mask_style(name);
    ASSERT_TRUE(style);
    EXPECT_EQ(name_of(*style), name);
  }
  const Result<MaskStyle> wrong = parse_mask_style("schematics");
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().message.find("known: schematic, true"), std::string::npos);
}

struct Case {
  std::string name;
  MaskSource a, b;
  LayoutItem item;
};

AttentionPattern often_sentences(std::int64_t every) {
  AttentionPattern qds = pattern("qds");
  qds.sentence_every = every;
  return qds;
}

std::vector<Case> cases() {
  const LayoutItem& item = small_item;
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

/// The part of a pair by the two oracles, without any plan.
std::optional<DifferencePart> expected(const MaskView& view, qint64 query, qint64 key) {
  const bool in_a = view.problem()->oracle().allowed(0, query, key);
  const bool in_b = view.masks().b->oracle().allowed(0, query, key);
  if (in_a && in_b) return DifferencePart::both;
  if (in_a) return DifferencePart::only_a;
  if (in_b) return DifferencePart::only_b;
  return std::nullopt;
}

TEST_F(MaskDifferenceTest, EveryPairIsInItsPart) {
  for (const Case& each : cases()) {
    for (const MaskStyle style : {MaskStyle::schematic, MaskStyle::true_scale}) {
      show_difference(each.a, each.b, each.item, style);
      DifferenceRow row;
      DifferenceCounts counts{};
      for (qint64 query = 0; query < view.problem()->tokens(); ++query) {
        row.split(*view.problem(), *view.masks().b, query);
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
      EXPECT_EQ(count_difference(*view.problem(), *view.masks().b, [] { return false; }), counts)
          << each.name;
    }
  }
}

TEST_F(MaskDifferenceTest, EveryCellHasTheColourOrHatchingOfItsPart) {
  for (const Case& each : cases()) {
    for (const MaskStyle style : {MaskStyle::schematic, MaskStyle::true_scale}) {
      show_difference(each.a, each.b, each.item, style);
      const QImage image = view.grab().toImage();
      for (qint64 query = 0; query < view.problem()->tokens(); ++query) {
        for (qint64 key = 0; key < view.problem()->tokens(); ++key) {
          const QColor seen = pixel_at(image, view.position_of(query, key));
          const auto part = expected(view, query, key);
          const QColor own =
              part ? difference_color(*part, ChartTheme::light) : ground_color(ChartTheme::light);
          const bool is_own = seen == own;
          const bool is_hatched =
              part && hatch_of(*part) != 0 && seen == hatch_color(*part, ChartTheme::light);
          ASSERT_TRUE(is_own || is_hatched)
              << each.name << " " << query << " " << key << " " << seen.name().toStdString();
        }
      }
    }
  }
}

TEST_F(MaskDifferenceTest, ExplainsAPairForBothMasksAndRefusesAnInvalidOne) {
  const MaskSource sparse{pattern("sparse"), {}}, full{pattern("full"), {}};
  EXPECT_FALSE(view.show_difference(sparse, full, small_item));
  EXPECT_FALSE(view.show_difference(full, sparse, small_item));
  EXPECT_EQ(view.problem(), nullptr);
  EXPECT_TRUE(view.show_difference(full, MaskSource{pattern("sparse"), Window::of(4)}, small_item));
  const QString words = view.explain(3, 20);
  EXPECT_TRUE(words.contains(QString::fromStdString(view.problem()->oracle().explain(3, 20))));
  EXPECT_TRUE(words.contains(QString::fromStdString(view.masks().b->oracle().explain(3, 20))));
}

TEST(MaskDifference, CountingStopsWhenSuperseded) {
  const auto problem = MaskProblem::make({pattern("full"), {}}, {.cls = 1, .documents = {5000}},
                                         MaskStyle::true_scale);
  ASSERT_TRUE(problem);
  EXPECT_EQ(count_difference(**problem, **problem, [] { return true; }), std::nullopt);
}

}  // namespace
}  // namespace attnscope::charts
