// SPDX-License-Identifier: Apache-2.0
//
// `lengths` on a small checkpoint.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/checkpoint/tiny_checkpoint.h"
#include "tests/cli/program.h"

namespace attnscope::testing {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

class Lengths : public ::testing::Test {
 protected:
  Lengths() {
    tests::TinyCheckpoint::bert().write(program_.path(""));
    program_.write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\na\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl\n");
    std::string words;
    for (int i = 0; i < 300; ++i) words += "a ";
    program_.write("pairs.tsv", "a b\tc d e\na\tc\nb c d\t" + words + "\n");
  }
  [[nodiscard]] Outcome lengths(const std::vector<std::string>& more) const {
    return program_.run(joined({"lengths", "--checkpoint", ".", "--pairs", "pairs.tsv"}, more));
  }

  Program program_;
};

TEST_F(Lengths, CountsTextsWithoutTruncation) {
  const Outcome outcome = lengths({"--format", "json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const json counted = json::parse(outcome.out);
  EXPECT_EQ(counted.at("queries").at("counted"), json::parse("[[1,1],[2,1],[3,1]]"));
  EXPECT_EQ(counted.at("documents").at("counted"), json::parse("[[1,1],[3,1],[300,1]]"));
  // [CLS], the query with its [SEP], the document with its [SEP].
  EXPECT_EQ(counted.at("pairs").at("counted"), json::parse("[[5,1],[8,1],[306,1]]"));
  EXPECT_LT(counted.at("own_limit").get<int>(), 306);
  EXPECT_THAT(lengths({}).out, AllOf(HasSubstr("3 pairs of pairs.tsv"),
                                     HasSubstr("the checkpoint's own"), HasSubstr("none packed")));
}

TEST_F(Lengths, CountsOnlyTextTokensForLateInteraction) {
  const auto checkpoints = std::filesystem::path(ATTNSCOPE_SOURCE_DIR) / "tests/golden/checkpoints";
  program_.write("pairs.tsv", "noon\thour\n");
  for (const char* name : {"stanford-bert", "pylate-bert", "encoder-fixed"}) {
    const Outcome outcome = program_.run({"lengths", "--checkpoint", (checkpoints / name).string(),
                                          "--pairs", "pairs.tsv", "--format", "json"});
    ASSERT_EQ(outcome.exit_code, 0) << name << ": " << outcome.err;
    const json counted = json::parse(outcome.out);
    for (const char* part : {"queries", "documents"})
      EXPECT_LT(counted.at(part).at("counted").at(0).at(0).get<int>(), 12) << name << part;
  }
}

TEST_F(Lengths, CountsTheJudgedPairsOfABeirFolder) {
  std::filesystem::create_directories(program_.path("set/qrels"));
  program_.write("set/corpus.jsonl", R"({"_id": "1", "title": "a", "text": "b c"})"
                                     "\n"
                                     R"({"_id": "2", "title": "", "text": "d"})"
                                     "\n");
  program_.write("set/queries.jsonl", R"({"_id": "7", "text": "a b"})"
                                      "\n"
                                      R"({"_id": "8", "text": "a b c d e f"})"
                                      "\n");
  program_.write("set/qrels/dev.tsv", "query-id\tcorpus-id\tscore\n7\t1\t1\n7\t2\t0\n7\t3\t1\n");
  const std::vector<std::string> requested{"lengths", "--checkpoint", ".",        "--beir", "set",
                                           "--split", "dev",          "--format", "json"};
  const Outcome outcome = program_.run(requested);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("1 judged pairs have no text"));
  const json counted = json::parse(outcome.out);
  EXPECT_EQ(counted.at("queries").at("counted"), json::parse("[[2,2]]"));
  EXPECT_EQ(counted.at("documents").at("counted"), json::parse("[[1,1],[3,1]]"));
  EXPECT_THAT(program_.run({"lengths", "--checkpoint", "."}).err,
              HasSubstr("--pairs or --beir is required"));
}

TEST_F(Lengths, RefusesUnreadablePairs) {
  EXPECT_THAT(program_.run({"lengths", "--checkpoint", ".", "--pairs", "none.tsv"}),
              FailsWith("none.tsv"));
  program_.write("pairs.tsv", "a b\n");
  EXPECT_THAT(lengths({}).err, HasSubstr("pairs.tsv, line 1"));
  program_.write("pairs.tsv", "");
  EXPECT_EQ(lengths({}).exit_code, 2);
}

#ifdef ATTNSCOPE_HAS_GUI
TEST_F(Lengths, DrawsHistograms) {
  const Outcome outcome = lengths({"-o", "lengths.svg", "--csv"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(program_.read("lengths.svg"), HasSubstr("<svg"));
  EXPECT_THAT(program_.read("lengths.csv"), AllOf(HasSubstr("Queries"), HasSubstr("Documents")));
}
#endif

}  // namespace
}  // namespace attnscope::testing
