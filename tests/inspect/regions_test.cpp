#include "engine/inspect/regions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/inspect/regions_file.h"

namespace attnscope {
namespace {

using testing::HasSubstr;
using testing::Not;
using tests::RegionsFile;

TEST(DocumentRegions, AreTheFilesWithWhatMadeThem) {
  const auto regions = RegionsFile().read();
  ASSERT_TRUE(regions) << regions.error().message;
  ASSERT_EQ(regions->peaks.size(), 2U) << "a region that comes twice is one";
  const RegionPeak& best = regions->peaks.front();
  EXPECT_EQ(best.words.begin, 40);
  EXPECT_EQ(best.words.end, 70);
  EXPECT_EQ(best.with_neighbours.begin, 36);
  EXPECT_EQ(best.with_neighbours.end, 74);
  EXPECT_EQ(best.shares.front().query_word, 1);
  EXPECT_EQ(best.unmatched, -2);
  EXPECT_EQ(shares_in_words(*regions, best, 6), "tall near 1 (+1.5), how near 0.9 (-0.25)");
  EXPECT_EQ(shares_in_words(*regions, regions->peaks[1], 6), "nothing of the query matches");
  EXPECT_EQ(regions->words_of(44).end, 90) << "cut at the last word";
  EXPECT_EQ(left_out_in_words(*regions), "The model read the first 90 of 95 words.");
}

TEST(DocumentRegions, WordsInNoChunkAreTold) {
  RegionsFile file;
  file.metadata["read"] = "83";
  file.metadata["kept"] = "80";
  file.regions.resize(26);
  file.counted[0] = 5;
  const auto regions = file.read();
  ASSERT_TRUE(regions) << regions.error().message;
  EXPECT_THAT(left_out_in_words(*regions), HasSubstr("3 words are behind word 80 in no chunk's"));
}

TEST(DocumentRegions, AnEmptyDocumentHasNone) {
  RegionsFile file;
  file.metadata["read"] = file.metadata["kept"] = "0";
  file.metadata["document"] = "[]";
  file.regions.clear();
  file.counted.assign(15, 0);
  const auto regions = file.read();
  ASSERT_TRUE(regions) << regions.error().message;
  EXPECT_TRUE(regions->peaks.empty());
  EXPECT_THAT(regions_html(*regions), HasSubstr("no words, and so no regions"));
}

TEST(DocumentRegions, WhatContradictsItselfIsRefused) {
  RegionsFile file;
  file.metadata.erase("attnscope_regions");
  EXPECT_THAT(file.error(), HasSubstr("holds no regions of a document"));
  file = {};
  file.metadata["kept"] = "91";
  EXPECT_THAT(file.error(), HasSubstr("metadata 'kept' is no number from 0 to 90"));
  file = {};
  file.metadata["document"] = "[1]";
  EXPECT_THAT(file.error(), HasSubstr("metadata 'document': entry 0 is no word"));
  file = {};
  file.metadata["query"] = "{}";
  EXPECT_THAT(file.error(), HasSubstr("metadata 'query' is no list of words"));
  file = {};
  file.counted[1] = 46;
  EXPECT_THAT(file.error(), HasSubstr("names the region 46, and there are 46"));
  file = {};
  file.counted[1] = 2.5F;
  EXPECT_THAT(file.error(), HasSubstr("names the region 2.5"));
  file = {};
  file.regions[3] = std::nanf("");
  EXPECT_THAT(file.error(), HasSubstr("'layer.0.regions' has values that are no numbers"));
  file = {};
  file.regions.pop_back();
  EXPECT_THAT(file.error(), HasSubstr("layer.0.regions"));
}

TEST(RegionsHtml, MarksTheBestRegionsAndTrustsNoText) {
  const auto regions = RegionsFile().read();
  ASSERT_TRUE(regions);
  const std::string html = regions_html(*regions);
  EXPECT_THAT(html, HasSubstr("&lt;b&gt;&amp;"));
  EXPECT_THAT(html, Not(HasSubstr("<b>")));
  EXPECT_THAT(html, HasSubstr("<td>41 to 70</td>"));
  EXPECT_THAT(html, HasSubstr("<mark style=\"background:#e69f00\">w40 w41"));
  EXPECT_THAT(html, HasSubstr("<span class=\"out\" title=\"in no region\">w90"));
  EXPECT_THAT(html, Not(HasSubstr("http"))) << "nothing from outside";
  std::size_t opened = 0, closed = 0;
  for (std::size_t at = html.find("<mark"); at != std::string::npos;
       at = html.find("<mark", at + 1))
    ++opened;
  for (std::size_t at = html.find("</mark"); at != std::string::npos;
       at = html.find("</mark", at + 1))
    ++closed;
  EXPECT_EQ(opened, closed);
}

}  // namespace
}  // namespace attnscope
