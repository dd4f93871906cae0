// SPDX-License-Identifier: Apache-2.0
#include "engine/effectiveness/ir_metadata.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "engine/effectiveness/trec_files.h"
#include "tests/safetensors/scratch_folder.h"

namespace attnscope::effectiveness {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(IrMetadata, IsYamlInCommentLines) {
  const nlohmann::ordered_json metadata = {
      {"schema-version", 0.1},
      {"tag", "no"},
      {"platform", {{"hardware", {{"cpu", {{"number of cores", 2}}}, {"ram", "8 GB"}}}}},
      {"research goal", nlohmann::ordered_json::object()},
      {"method",
       {{"automatic", true},
        {"retrieval", {{{"name", "bm25"}}, {{"name", "a: \"b\"\n# c"}, {"reranks", "bm25"}}}}}},
      {"actor", {{"fields", {"ir", "nlp"}}, {"1: é", nullptr}}}};
  EXPECT_EQ(metadata_head(metadata),
            "# ir_metadata.start\n"
            "# schema-version: 0.1\n"
            "# tag: \"no\"\n"
            "# platform:\n"
            "#   hardware:\n"
            "#     cpu:\n"
            "#       number of cores: 2\n"
            "#     ram: \"8 GB\"\n"
            "# research goal: {}\n"
            "# method:\n"
            "#   automatic: true\n"
            "#   retrieval:\n"
            "#     -\n"
            "#       name: \"bm25\"\n"
            "#     -\n"
            "#       name: \"a: \\\"b\\\"\\n# c\"\n"
            "#       reranks: \"bm25\"\n"
            "# actor:\n"
            "#   fields:\n"
            "#     - \"ir\"\n"
            "#     - \"nlp\"\n"
            "#   \"1: é\": null\n"
            "# ir_metadata.end\n");
}

TEST(IrMetadata, UserMetadataHasOnlyTheSixParts) {
  const tests::ScratchFolder folder;
  const auto read = [&](std::string_view text) {
    tests::write_bytes(folder / "own.json", text);
    return read_own_metadata(folder / "own.json");
  };
  const auto own = read(R"({"actor": {"name": "N. N."}, "research goal": {}})");
  ASSERT_TRUE(own) << own.error().message;
  EXPECT_EQ((*own)["actor"]["name"], "N. N.");
  EXPECT_THAT(read(R"({"acter": {}})").error().message,
              AllOf(HasSubstr("own.json"), HasSubstr("acter"), HasSubstr("actor")));
  EXPECT_THAT(read(R"({"actor": "me"})").error().message, HasSubstr("actor"));
  EXPECT_THAT(read_own_metadata(folder / "none.json").error().message, HasSubstr("none.json"));
}

TEST(IrMetadata, IsSkippedWhenARunIsRead) {
  const tests::ScratchFolder folder;
  tests::write_bytes(folder / "run", metadata_head({{"tag", "x"}, {"data", {{"other", {1}}}}}) +
                                         "q Q0 a 1 2 x\n#1 Q0 b 1 1 x\n");
  const auto run = TrecRun::read(folder / "run");
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_EQ(run->queries.size(), 2U);
  EXPECT_TRUE(run->notes.empty());
  tests::write_bytes(folder / "run", "q Q0 a 1 2 x\n# ir_metadata.start\n");
  EXPECT_THAT(TrecRun::read(folder / "run").error().message, HasSubstr("line 2 has 2 columns"));
  tests::write_bytes(folder / "run", metadata_head({{"tag", "x"}}));
  EXPECT_THAT(TrecRun::read(folder / "run").error().message, HasSubstr("has no lines"));
}

}  // namespace
}  // namespace attnscope::effectiveness
