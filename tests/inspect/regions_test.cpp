// SPDX-License-Identifier: Apache-2.0
#include "engine/inspect/regions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "tests/inspect/regions_file.h"

namespace attnscope {
namespace {

using testing::HasSubstr;
using testing::Not;
using tests::RegionsFile;

TEST(DocumentRegions, AreReadWithTheirShares) {
  const DocumentRegions regions = RegionsFile().read().value();
  ASSERT_EQ(regions.peaks.size(), 2U) << "a repeated region is counted once";
  const RegionPeak& best = regions.peaks.front();
  EXPECT_EQ(best.words.begin, 40);
  EXPECT_EQ(best.words.end, 70);
  EXPECT_EQ(best.with_neighbours.begin, 36);
  EXPECT_EQ(best.with_neighbours.end, 74);
  EXPECT_EQ(best.shares.front().query_word, 1);
  EXPECT_EQ(best.unmatched, -2.25);
  EXPECT_EQ(shares_in_words(regions, best, 6),
            "tall near cosine 1 (+1.500), how near cosine 0.9 (-0.250)");
  EXPECT_EQ(shares_in_words(regions, best, 1), "tall near cosine 1 (+1.500), others (-0.250)");
  EXPECT_EQ(shares_in_words(regions, regions.peaks[1], 6), "no query word matches");
  EXPECT_EQ(regions.words_of(44).end, 90) << "cut at the last word";
  EXPECT_EQ(notes_in_words(regions), "The model read the first 90 of 95 words.");
}

TEST(DocumentRegions, PartsAddUpToTheScore) {
  const DocumentRegions regions = RegionsFile().read().value();
  EXPECT_EQ(
      score_in_words(regions),
      "Score -2.900 = -0.500 (region 1) -1.000 (next to it) -1.400 (region 2) +0.000 (next to "
      "it)");
  EXPECT_THAT(regions_in_words(regions),
              HasSubstr("Region 1: words 41 to 70, score -1.000 = -2.250 if nothing matched +1.250 "
                        "by tall near cosine 1 (+1.500), how near cosine 0.9 (-0.250); its weight "
                        "0.5000 makes it add -0.500, regions next to it add -1.000"));
  double sum = regions.without_peak;
  for (const RegionPeak& peak : regions.peaks) sum += peak.adds() + peak.alongside;
  EXPECT_NEAR(sum, regions.score, 1e-6);
}

TEST(DocumentRegions, RegionsWithoutWordsAddToTheScore) {
  RegionsFile file;
  file.counted[2] = 45;  // after the last word
  file.counted[5] = 44;
  file.weights[5] = 2;
  file.score[0] = -0.4F;
  const DocumentRegions regions = file.read().value();
  EXPECT_EQ(regions.peaks.size(), 2U);
  EXPECT_NEAR(regions.without_peak, 2.8, 1e-5);
  EXPECT_THAT(score_in_words(regions), HasSubstr("+2.800 (next to the document's end"));
}

TEST(DocumentRegions, WithoutWeightsHaveNoPartsOfTheScore) {
  RegionsFile file;
  file.weights.clear();
  file.metadata["note"] = "TK sums up over the whole document.";
  const DocumentRegions regions = file.read().value();
  EXPECT_EQ(regions.peaks.front().with_neighbours.begin, 40) << "neighbours do not count";
  EXPECT_EQ(score_in_words(regions), "Score -2.900");
  EXPECT_EQ(about_in_words(regions),
            "The best regions of 30 words, of tiny. TK sums up over the whole document.");
  EXPECT_THAT(regions_html(regions), Not(HasSubstr("weight<")));
}

TEST(DocumentRegions, RepeatedQueryWordsAreNumberedAndUnknownOnesMarked) {
  RegionsFile file;
  file.metadata["query"] = nlohmann::json{"zzyzx", "zzyzx"}.dump();
  file.metadata["unknown"] = "[0, 1]";
  const DocumentRegions regions = file.read().value();
  EXPECT_EQ(query_word(regions, 0), "zzyzx (unknown)");
  EXPECT_EQ(query_word(regions, 1), "zzyzx (2nd) (unknown)");
  EXPECT_THAT(notes_in_words(regions), HasSubstr("Not in the model's list of words: zzyzx; every"));
}

TEST(RegionStrip, CoversTheRegionsAndShowsDifferences) {
  RegionsFile file;
  for (std::size_t r = 40; r < 45; ++r) file.regions[r] = -100;  // of a few last words
  const DocumentRegions regions = file.read().value();
  const RegionStrip strip = strip_of(regions);
  ASSERT_EQ(strip.cells.size(), 45U) << "one for each region with words";
  EXPECT_EQ(strip.cells.front().begin, 0);
  EXPECT_EQ(strip.cells.back().end, 90) << "every word that was read is covered";
  const StripCell& best = strip.cells[20];  // of words 40 to 69
  EXPECT_EQ((best.begin + best.end) / 2, 55) << "the middle of its words";
  EXPECT_EQ(strip.cells[39].heat, 1);
  EXPECT_EQ(strip.cells[44].heat, 0);
  EXPECT_NEAR(strip.cells[20].heat, 1.7 / 2.7, 1e-5) << "outliers do not set the scale";
  for (std::size_t i = 1; i < strip.cells.size(); ++i)
    EXPECT_EQ(strip.cells[i].begin, strip.cells[i - 1].end);
}

TEST(DocumentRegions, WordsOutsideAllChunksAreReported) {
  RegionsFile file;
  file.metadata["read"] = "83";
  file.metadata["kept"] = "80";
  file.regions.resize(26);
  file.counted = {5, 2, 2, 4, 1, 1, 6, 3, 3, 3, 0, 0, 7, 4, 4};
  EXPECT_THAT(notes_in_words(file.read().value()),
              HasSubstr("3 words are after word 80 in the middle of no chunk "));
}

TEST(DocumentRegions, AnEmptyDocumentHasNone) {
  RegionsFile file;
  file.metadata["read"] = file.metadata["kept"] = "0";
  file.metadata["document"] = "[]";
  file.regions.clear();
  file.counted.assign(15, 0);
  const DocumentRegions regions = file.read().value();
  EXPECT_TRUE(regions.peaks.empty());
  EXPECT_THAT(regions_html(regions), HasSubstr("no words, and so no regions"));
}

TEST(DocumentRegions, ContradictionsAreRefused) {
  struct Row {
    std::function<void(RegionsFile&)> change;
    const char* reason;
  };
  const float nan = std::nanf("");
  for (const Row& row : std::vector<Row>{
           {[](RegionsFile& f) { f.metadata.erase("attnscope_regions"); },
            "contains no regions of a document"},
           {[](RegionsFile& f) { f.metadata["kept"] = "91"; },
            "metadata 'kept' is no number from 0 to 90"},
           {[](RegionsFile& f) { f.metadata["document"] = "[1]"; },
            "metadata 'document': entry 0 is no word"},
           {[](RegionsFile& f) { f.metadata["query"] = "{}"; },
            "metadata 'query' is no list of words"},
           {[](RegionsFile& f) { f.counted[1] = 46; }, "names the region 46, and there are 46"},
           {[](RegionsFile& f) { f.counted[1] = 2.5F; }, "names the region 2.5"},
           {[](RegionsFile& f) { f.counted[14] = 46; }, "names the region 46"},
           {[&](RegionsFile& f) { f.regions[3] = nan; },
            "'layer.0.regions' has values that are no numbers"},
           {[](RegionsFile& f) { f.regions.pop_back(); }, "layer.0.regions"},
           {[](RegionsFile& f) { f.weights.pop_back(); }, "layer.0.weights"},
           {[&](RegionsFile& f) { f.score[0] = nan; },
            "'layer.0.score' has values that are no numbers"},
           {[](RegionsFile& f) { f.metadata["unknown"] = "[2]"; },
            "'unknown' names a word that the query of 2 has not"}}) {
    RegionsFile file;
    row.change(file);
    EXPECT_THAT(file.error(), HasSubstr(row.reason));
  }
}

TEST(RegionsHtml, MarksTheBestRegionsAndEscapesText) {
  const DocumentRegions regions = RegionsFile().read().value();
  const std::string html = regions_html(regions);
  for (const char* part :
       {"&lt;b&gt;&amp;", "<td>41 to 70</td>", "<mark style=\"background:#d98a1f\">w40 <u>tall</u>",
        "<p>Score -2.900 = -0.500 (region 1)", "<title>words 41 to 70: -1.000</title>",
        "<span class=\"out\" title=\"in no region\">w90"})
    EXPECT_THAT(html, HasSubstr(part));
  EXPECT_THAT(html, Not(HasSubstr("<b>")));
  EXPECT_THAT(html, Not(HasSubstr("http"))) << "a link to another machine";
  const auto count = [&](const std::string& tag) {
    int found = 0;
    for (auto at = html.find(tag); at != std::string::npos; at = html.find(tag, at + 1)) ++found;
    return found;
  };
  EXPECT_EQ(count("<mark"), count("</mark"));
}

}  // namespace
}  // namespace attnscope
