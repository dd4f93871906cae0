// SPDX-License-Identifier: Apache-2.0
#include "engine/effectiveness/trec_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/safetensors/scratch_folder.h"

namespace attnscope::effectiveness {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;
using testing::UnorderedElementsAre;

template <typename Kind>
Result<Kind> read(std::string_view text) {
  const tests::ScratchFolder folder;
  tests::write_bytes(folder / "file", text);
  return Kind::read(folder / "file");
}

template <typename Kind>
std::string error_of(std::string_view text) {
  const auto kind = read<Kind>(text);
  return kind ? "" : kind.error().message;
}

std::vector<std::string> ids(const TrecRun& run, const std::string& query) {
  std::vector<std::string> ids;
  for (const RankedDocument& document : run.queries.at(query)) ids.push_back(document.id);
  return ids;
}

TEST(TrecRun, RanksByScoreAsFloat32AndTiesByTheGreaterId) {
  const auto run = read<TrecRun>(
      "q\tQ0\ta\t1\t1.00000001\tt\n"
      "q Q0 b 2 1 t\n"
      "  q Q0  z 3 -2 t\r\n"
      "\n"
      "p Q0 a 0 +3e2 last\n");
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_THAT(ids(*run, "q"), ElementsAre("b", "a", "z"));
  EXPECT_THAT(ids(*run, "p"), ElementsAre("a"));
  EXPECT_EQ(run->tag, "last");
  EXPECT_THAT(run->notes, IsEmpty());
}

TEST(TrecRun, ThreeColumnsAreRanksIfTheyCountUp) {
  const auto run = read<TrecRun>("q\ta\t1\nq\tb\t2\np\tb\t1\nq\tc\t3\n");
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_THAT(ids(*run, "q"), ElementsAre("a", "b", "c"));
  EXPECT_EQ(run->tag, "file");
  const tests::ScratchFolder folder;
  tests::write_bytes(folder / "dev.tsv", "q a 2\nq b 1\n");
  EXPECT_THAT(TrecRun::read(folder / "dev.tsv").error().message,
              AllOf(HasSubstr("the third may be a rank or a score"), HasSubstr("--run-columns")));
  EXPECT_THAT(ids(*TrecRun::read(folder / "dev.tsv", ThirdColumn::rank), "q"),
              ElementsAre("b", "a"));
  EXPECT_THAT(ids(*TrecRun::read(folder / "dev.tsv", ThirdColumn::score), "q"),
              ElementsAre("a", "b"));
  EXPECT_THAT(error_of<TrecRun>("q a 1\nq b 0.5\n"), HasSubstr("--run-columns"));
  EXPECT_THAT(error_of<TrecRun>("q a 1\nq b\n"), HasSubstr("line 2 has 2 columns"));
  EXPECT_THAT(error_of<TrecRun>("q a 1\nq a 2\n"), HasSubstr("is already in line 1"));
  tests::write_bytes(folder / "dev.tsv", "q a 1.5\n");
  EXPECT_THAT(TrecRun::read(folder / "dev.tsv", ThirdColumn::rank).error().message,
              HasSubstr("has '1.5' as its rank"));
}

TEST(TrecRun, IgnoredIrregularitiesAreNotes) {
  const auto run = read<TrecRun>(
      "q Q0 a 1 1 t\nq Q0 b 2 5 t\nq Q0 c 3 6 t\np Q0 a 1 3 t\nq Q0 d 4 0 t\np Q0 b 1 2 t");
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_THAT(ids(*run, "q"), ElementsAre("c", "b", "a", "d"));
  EXPECT_THAT(run->notes,
              ElementsAre(AllOf(HasSubstr("line 2: has a higher score"), HasSubstr("2 such lines")),
                          AllOf(HasSubstr("line 5: the lines of query 'q' are interrupted"),
                                HasSubstr("2 such lines")),
                          HasSubstr("line 6 has no line end")));
}

TEST(TrecRun, InvalidLinesAreNamedAndCounted) {
  for (const auto& [text, message] :
       {std::pair("q Q0 a 1 2 t\nq Q0 b 2 nan t\nq Q0 c 3 NaN t\n", "line 2 has NaN"),
        {"q Q0 a 1 2 t\nq Q0 b 2 nan t\nq Q0 c 3 NaN t\n", "2 such lines"},
        {"q Q0 a 1 2x t\n", "a score that is not a number ('2x')"},
        {"q Q0 a 1 1e39 t\n", "outside the range of float32"},
        {"q Q0 a 1 inf t\n", "outside the range of float32"},
        {"q Q0 a b 1 2 t\n", "over 6 columns; a run is QID"},
        {"q 0 a 1\n", "line 1 has 4 columns; a run is QID"},
        {"", "has no lines"},
        {"\n \n", "has no lines"},
        {"q Q0 a 1 2 t\nq Q0 b 2", "line 2 is incomplete: the file is truncated"},
        {"q Q0 a 1 9 t\np Q0 a 1 5 t\nq Q0 b 2 8 t\nq Q0 a 3 7 t\n",
         "line 4: document 'a' of query 'q' is already in line 1"},
        {"q Q0 a 1 9 t\nq Q0 a 2 8 t\nq Q0 b 3 nan t\n", "line 3 has NaN"},
        {"q Q0 a 1 9 t\nq Q0 a 2 8 t\nq Q0 b 3 nan t\n", "document 'a'"}})
    EXPECT_THAT(error_of<TrecRun>(text), HasSubstr(message)) << text;
}

TEST(Qrels, GradesAreAnyWholeNumbers) {
  const auto qrels =
      read<Qrels>("q 0 a 340\nq\t0\tb\t-1287\n10\t0\t7067032\t1\nq 0 c +128\nq 0 d 70000000000\n");
  ASSERT_TRUE(qrels) << qrels.error().message;
  EXPECT_THAT(qrels->queries.at("q"),
              UnorderedElementsAre(Pair("a", 340), Pair("b", -1287), Pair("c", 128),
                                   Pair("d", 70'000'000'000)));
  EXPECT_EQ(qrels->queries.at("10").at("7067032"), 1);
}

TEST(Qrels, MayHaveAHeader) {
  const auto beir = read<Qrels>(
      "query-id\tcorpus-id\tscore\r\nq 1\td 1\t2\r\n\"q \"\"2\"\"\"\td\t1\r\nq 1\td 1\t0\r\n");
  ASSERT_TRUE(beir) << beir.error().message;
  EXPECT_THAT(beir->queries, SizeIs(2));
  EXPECT_EQ(beir->queries.at("q 1").at("d 1"), 0);
  EXPECT_EQ(beir->queries.at("q \"2\"").at("d"), 1);
  EXPECT_THAT(beir->notes, ElementsAre(AllOf(HasSubstr("line 4: document 'd 1'"),
                                             HasSubstr("the last line counts, as in BEIR"))));
  for (const char* text :
       {"query_id corpus_id score\nq d 340\n", "query_id 0 doc_id relevance\nq 0 d 340\n"}) {
    const auto qrels = read<Qrels>(text);
    ASSERT_TRUE(qrels) << qrels.error().message;
    EXPECT_THAT(qrels->queries, ElementsAre(Pair("q", ElementsAre(Pair("d", 340)))));
  }
}

TEST(Qrels, InvalidLinesAreNamedAndCounted) {
  const std::string header = "query-id\tcorpus-id\tscore\n";
  for (const auto& [text, message] : {std::pair(header, "has no lines"),
                                      {header + "q\td\t0.5\n", "line 2 has '0.5'"},
                                      {header + "q\t0\td\t1\n", "over 3 columns"},
                                      {header + "\td\t1\n", "line 2 has an empty id"},
                                      {"q 0 a one\n", "line 1 has 'one' as its relevance"},
                                      {"q 0 a 1.5\n", "line 1 has '1.5' as its relevance"},
                                      {"q 0 a 1\nq 0 b 1.0\n", "line 2 has '1.0'"},
                                      {"q 0 a 9223372036854775808\n", "64-bit integer"},
                                      {"q 0 a 1\nq 0 a 1\nq 0 a 0\n", "line 2: document 'a'"},
                                      {"q 0 a 1\nq 0 a 1\nq 0 a 0\n", "2 such lines"},
                                      {"q a 1\n", "3 columns; qrels are QID"}})
    EXPECT_THAT(error_of<Qrels>(text), HasSubstr(message)) << text;
}

TEST(Mismatches, AreCountedWithTheFirst) {
  const auto run = read<TrecRun>("a Q0 d 1 1 t\nx Q0 d 1 1 t\n");
  const auto qrels = read<Qrels>("a 0 e 1\nb 0 d 1\nc 0 d 1\n");
  ASSERT_TRUE(run && qrels);
  EXPECT_THAT(mismatches(*run, *qrels),
              ElementsAre(HasSubstr("lacks 2 of the 3 judged queries, first 'b'"),
                          HasSubstr("has 1 query not judged in"),
                          HasSubstr("none of its documents is judged")));
  EXPECT_THAT(mismatches(*run, *read<Qrels>("a 0 d 0\nx 0 d 1\n")), IsEmpty());
}

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
