#include "engine/inspect/regions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "engine/safetensors/safetensors.h"
#include "tests/safetensors/scratch_folder.h"

namespace attnscope {
namespace {

using testing::HasSubstr;
using testing::Not;
using tests::ScratchFolder;

/// A file of a document of 95 words, of which 90 were read, and a query of two.
struct RegionsFile {
  std::map<std::string, std::string> metadata;
  std::vector<float> regions = std::vector<float>(46), counted = std::vector<float>(15),
                     unmatched = std::vector<float>(15, -2), shares = std::vector<float>(15 * 22);

  RegionsFile() {
    std::vector<std::string> words;
    for (int i = 0; i < 95; ++i) words.push_back("w" + std::to_string(i));
    words[3] = "<b>&";
    metadata = {{"attnscope_regions", "1"},
                {"model", "tiny"},
                {"query", nlohmann::json{"how", "tall"}.dump()},
                {"document", nlohmann::json(words).dump()},
                {"read", "90"},
                {"kept", "90"},
                {"note", ""}};
    for (std::size_t r = 0; r < regions.size(); ++r)
      regions[r] = r < 45 ? static_cast<float>(r) * 0.1F - 3 : 0;
    counted[0] = 20;
    counted[1] = 2;
    counted[2] = 2;              // again, as of short documents
    shares[0 * 22 + 11] = 1.5F;  // of the second word by the first kernel
    shares[0 * 22 + 1] = -0.25F;
  }
  [[nodiscard]] Result<DocumentRegions> read() const {
    const ScratchFolder folder;
    const auto size = [](const std::vector<float>& values) {
      return static_cast<std::int64_t>(values.size());
    };
    const std::vector<NamedTensor> tensors{{"layer.0.regions", {size(regions)}, regions},
                                           {"layer.0.counted", {size(counted)}, counted},
                                           {"layer.0.unmatched", {size(unmatched)}, unmatched},
                                           {"layer.0.shares", {size(shares) / 22, 2, 11}, shares}};
    EXPECT_TRUE(write_safetensors(folder / "r.safetensors", tensors, {.metadata = metadata}));
    EXPECT_TRUE(holds_regions(folder / "r.safetensors") || !metadata.contains("attnscope_regions"));
    return read_regions(folder / "r.safetensors");
  }
  [[nodiscard]] std::string error() const {
    const auto read_back = read();
    return read_back ? "read" : read_back.error().message;
  }
};

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
