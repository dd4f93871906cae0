// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/report/run_figures.h"
#include "tests/report/measured_run.h"

namespace attnscope::report {
namespace {

using namespace test;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

Facets facets_or_throw(const Table& table, XAxis x, std::string_view key) {
  auto facets = make_facets(table, x, {YAxis::time}, key);
  if (!facets) throw std::runtime_error(facets.error().message);
  return std::move(*facets);
}

std::vector<std::string> titles_of(const Facets& facets) {
  std::vector<std::string> titles;
  for (const Figure& panel : facets.panels) titles.push_back(panel.title);
  return titles;
}

std::vector<std::string> names_of(const Figure& figure) {
  std::vector<std::string> names;
  for (const Series& series : figure.series) names.push_back(series.name);
  return names;
}

/// One length with cold caches, beside the run's warm ones.
void add_cold_heat(MeasuredRun& run) {
  HeatResult heat = MeasuredRun::heat_at(64);
  heat.point.cache = CacheState::cold;
  run.add(heat);
}

TEST(Facets, APanelForEachValue_TitledWithItAlone) {
  MeasuredRun run;
  add_cold_heat(run);
  const Facets facets = facets_or_throw(run.table(), XAxis::length, "cache");
  EXPECT_THAT(titles_of(facets), ElementsAre("cache warm", "cold caches"));
  EXPECT_THAT(facets.title, HasSubstr("attention, forward"));
  EXPECT_THAT(facets.title, Not(HasSubstr("cold")));
  EXPECT_THAT(facets.title, Not(HasSubstr("tokens")));
  EXPECT_EQ(facets.panels[0].series[0].points.size(), 2U);
  EXPECT_EQ(facets.panels[1].series[0].points.size(), 1U);
  EXPECT_EQ(facets.provenance, provenance_line(run.info()));
}

TEST(Facets, Windows_KeepContendersWithoutOneInEveryPanel) {
  const MeasuredRun run;
  const Facets facets = facets_or_throw(run.table(), XAxis::length, "window");
  EXPECT_THAT(titles_of(facets), ElementsAre("w = 4", "w = 64"));
  EXPECT_THAT(names_of(facets.panels[0]),
              ElementsAre("Full/dense", "Sparse, fused", "sparse/sdpa-mask"));
  EXPECT_THAT(names_of(facets.panels[1]), ElementsAre("Full/dense", "Sparse, fused"));
  EXPECT_EQ(facets.panels[0].series[1].style_key, facets.panels[1].series[1].style_key);
  EXPECT_NEAR(facets.panels[0].series[1].points[0].y, 0.25, 1e-9);
  EXPECT_NEAR(facets.panels[1].series[1].points[0].y, 0.375, 1e-9);
}

TEST(Facets, LengthsAndContenders_AreKeysToo) {
  const MeasuredRun run;
  EXPECT_THAT(titles_of(facets_or_throw(run.table(), XAxis::window, "sequence_tokens")),
              ElementsAre("64 tokens", "256 tokens"));
  EXPECT_THAT(titles_of(facets_or_throw(run.table(), XAxis::length, "implementation")),
              ElementsAre("dense", "segment", "sdpa-mask"));
  EXPECT_THAT(titles_of(facets_or_throw(run.table(), XAxis::length, "batch")),
              ElementsAre("batch 4"));
}

TEST(Facets, KeysThatCannotBe_AreRefusedInWords) {
  const MeasuredRun run;
  const auto refusal = [&](XAxis x, std::string_view key) {
    const auto facets = make_facets(run.table(), x, {YAxis::time}, key);
    return facets ? std::string("drawn") : facets.error().message;
  };
  EXPECT_THAT(refusal(XAxis::length, "windw"), HasSubstr("did you mean 'window'?"));
  EXPECT_THAT(refusal(XAxis::length, "sequence_tokens"), HasSubstr("is already on the x axis"));
  EXPECT_THAT(refusal(XAxis::window, "window"), HasSubstr("is already on the x axis"));
  EXPECT_THAT(refusal(XAxis::window, "implementation"), HasSubstr("--only sequence_tokens=64"));
}

TEST(Facets, AThirdAxisThatVaries_IsRefusedNamingIt) {
  MeasuredRun run;
  add_cold_heat(run);
  const auto facets = make_facets(run.table(), XAxis::length, {YAxis::time}, "window");
  ASSERT_FALSE(facets);
  EXPECT_THAT(facets.error().message, HasSubstr("--only cache=warm"));
}

TEST(Facets, MorePanelsThanAPageHolds_AreRefused) {
  MeasuredRun run;
  for (int threads = 3; threads < 30; ++threads) {
    HeatResult heat = MeasuredRun::heat_at(64);
    heat.point.threads = threads;
    run.add(heat);
  }
  const auto facets = make_facets(run.table(), XAxis::length, {YAxis::time}, "threads");
  ASSERT_FALSE(facets);
  EXPECT_THAT(facets.error().message, HasSubstr("28 values"));
}

TEST(Facets, ARunWithoutHeats_HasNoPanels) {
  EXPECT_TRUE(facets_or_throw({}, XAxis::length, "dtype").panels.empty());
}

TEST(Facets, SeveralValues_StandSideBySideInARowForEachPanel) {
  const MeasuredRun run;
  const auto facets = make_facets(run.table({}, "implementation=dense;implementation=segment"),
                                  XAxis::length, {YAxis::time, YAxis::memory}, "window");
  ASSERT_TRUE(facets) << facets.error().message;
  EXPECT_EQ(facets->columns, 2);
  EXPECT_THAT(titles_of(*facets), ElementsAre("w = 4", "w = 4", "w = 64", "w = 64"));
  EXPECT_THAT(facets->panels[0].y_label, HasSubstr("Time"));
  EXPECT_THAT(facets->panels[1].y_label, HasSubstr("Memory"));
  for (const Figure& panel : facets->panels) EXPECT_EQ(panel.series.size(), 2U);
}

TEST(Facets, SeveralValuesWithoutAKey_AreOneRowOfEverything) {
  const MeasuredRun run;
  const auto facets =
      make_facets(run.table(), XAxis::length, {YAxis::time, YAxis::memory, YAxis::executed}, "");
  ASSERT_TRUE(facets) << facets.error().message;
  EXPECT_EQ(facets->columns, 3);
  EXPECT_THAT(titles_of(*facets), ElementsAre("", "", ""));
  for (const Figure& panel : facets->panels) EXPECT_EQ(panel.series.size(), 4U);
  Table empty = run.table();
  empty.rows.clear();
  EXPECT_TRUE(make_facets(empty, XAxis::length, {YAxis::time, YAxis::memory}, "")->panels.empty());
}

}  // namespace
}  // namespace attnscope::report
