// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "app/drawing/chart_style.h"

namespace attnscope::charts {
namespace {

double luminance(const QColor& color) {
  const auto linear = [](double c) {
    return c <= 0.03928 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
  };
  return 0.2126 * linear(color.redF()) + 0.7152 * linear(color.greenF()) +
         0.0722 * linear(color.blueF());
}

double contrast(const QColor& a, const QColor& b) {
  const double la = luminance(a);
  const double lb = luminance(b);
  return (std::max(la, lb) + 0.05) / (std::min(la, lb) + 0.05);
}

std::vector<std::string> ids(int count) {
  std::vector<std::string> result;
  for (int i = 0; i < count; ++i) result.push_back("mine/number-" + std::to_string(100 + i));
  return result;
}

TEST(ContenderStyle, TenSlotsHaveDistinctColoursAndMarkers) {
  std::set<QRgb> light;
  std::set<QRgb> dark;
  std::set<Marker> markers;
  std::set<std::vector<qreal>> dashes;
  for (int slot = 0; slot < 10; ++slot) {
    const ContenderStyle style = style_of_slot(slot);
    dashes.emplace(style.dash.begin(), style.dash.end());
    light.insert(style.light.rgb());
    dark.insert(style.dark.rgb());
    markers.insert(style.marker);
  }
  EXPECT_EQ(light.size(), 10U);
  EXPECT_EQ(dark.size(), 10U);
  EXPECT_EQ(markers.size(), 10U);
  EXPECT_GE(dashes.size(), 5U);
}

TEST(ContenderStyle, MoreThanTenSlotsStayDistinct) {
  std::set<std::pair<QRgb, Marker>> seen;
  for (int slot = 0; slot < 60; ++slot) {
    const ContenderStyle style = style_of_slot(slot);
    EXPECT_TRUE(seen.emplace(style.light.rgb(), style.marker).second) << slot;
  }
}

TEST(ContenderStyle, LinesContrastWithTheBackground) {
  for (int slot = 0; slot < 10; ++slot) {
    const ContenderStyle style = style_of_slot(slot);
    EXPECT_GE(contrast(style.light, colors_of(ChartTheme::light).background), 2.7) << slot;
    EXPECT_GE(contrast(style.dark, colors_of(ChartTheme::dark).background), 3.0) << slot;
  }
}

TEST(ContenderStyles, TenContendersGetTenSlots) {
  ContenderStyles styles(ids(10));
  std::set<int> taken;
  for (const std::string& id : ids(10)) taken.insert(styles.style(id).slot);
  EXPECT_EQ(taken.size(), 10U);
  EXPECT_EQ(*taken.rbegin(), 9);
}

TEST(ContenderStyles, WellKnownContendersHaveFixedStyles) {
  const std::vector<std::string> one{"sparse/segment/64", "full/dense"};
  const std::vector<std::string> other{"full/dense", "aaa/first", "full/sdpa", "sparse/segment/64"};
  ContenderStyles a(one);
  ContenderStyles b(other);
  EXPECT_EQ(a.style("full/dense").slot, b.style("full/dense").slot);
  EXPECT_EQ(a.style("sparse/segment/64").slot, b.style("sparse/segment/64").slot);
}

TEST(ContenderStyles, StagesHaveFixedStyles) {
  ContenderStyles many(ids(30)), none(ids(0));
  std::set<QRgb> colours;
  for (const char* stage : {"offline", "load", "online"}) {
    EXPECT_EQ(many.style(stage).slot, none.style(stage).slot);
    colours.insert(many.style(stage).light.rgb());
  }
  EXPECT_EQ(colours.size(), 3U);
}

TEST(ContenderStyles, AContenderWithoutWindowHasTheStyleOfItsFirstWindow) {
  // As panels by window name it, in a run whose contenders have taken all slots.
  std::vector<std::string> ids{"full/dense", "full/sdpa"};
  for (const char* implementation : {"sdpa-mask", "segment", "windowed"}) {
    for (const char* window : {"0", "1", "16", "4"})
      ids.push_back(std::string("sparse/") + implementation + "/" + window);
  }
  ContenderStyles styles(ids);
  std::set<int> slots{styles.style("full/dense").slot, styles.style("full/sdpa").slot};
  for (const char* id : {"sparse/sdpa-mask", "sparse/segment", "sparse/windowed"}) {
    EXPECT_EQ(styles.style(id).slot, styles.style(std::string(id) + "/0").slot);
    EXPECT_TRUE(slots.insert(styles.style(id).slot).second) << id;
  }
}

TEST(ContenderStyles, TokenGroupsHaveFixedStyles) {
  ContenderStyles all, without_cls;
  for (const char* group : {"cls", "query", "document", "sentence"}) (void)all.style(group);
  EXPECT_EQ(without_cls.style("document").slot, all.style("document").slot);
}

TEST(ContenderStyles, OrderDoesNotMatter) {
  std::vector<std::string> names = ids(8);
  names.push_back("full/dense");
  ContenderStyles forward(names);
  std::ranges::reverse(names);
  ContenderStyles backward(names);
  for (const std::string& id : names) {
    EXPECT_EQ(forward.style(id).slot, backward.style(id).slot) << id;
  }
}

TEST(ContenderStyles, UnusedFixedSlotsAreNotShared) {
  // With and without its window these two want the same slot.
  const std::vector<std::string> both{"sparse/windowed", "sparse/windowed/4", "full/dense"};
  ContenderStyles styles(both);
  EXPECT_NE(styles.style("sparse/windowed").slot, styles.style("sparse/windowed/4").slot);
}

TEST(ContenderStyles, ALateContenderKeepsAFreeSlot) {
  ContenderStyles styles(ids(3));
  const int late = styles.style("late/one").slot;
  for (const std::string& id : ids(3)) EXPECT_NE(styles.style(id).slot, late);
  EXPECT_EQ(styles.style("late/one").slot, late);
}

}  // namespace
}  // namespace attnscope::charts
