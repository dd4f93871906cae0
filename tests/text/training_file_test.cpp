// Triples as people have them, and what is wrong with a line.
#include "engine/text/training_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/base/packed.h"

namespace attnscope {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr TrainingForm with_margin{.with_margin = true};
constexpr TrainingForm plain{};
constexpr TrainingForm many{.many_negatives = true};

TEST(TrainingLine, ReadsATeachersMarginOrBothScores) {
  using enum PairFormat;
  for (const auto& [text, format] :
       {std::pair("q\tp\tn\t2.5", tsv), std::pair("q\tp\tn\t4\t1.5", tsv),
        std::pair(R"({"query":"q","positive":"p","negative":"n","margin":2.5})", jsonl),
        std::pair(R"({"query":"q","positive":"p","negatives":["n"],"scores":[4,1.5]})", jsonl)}) {
    const auto line = parse_training_line(text, format, with_margin);
    ASSERT_TRUE(line) << line.error().message;
    EXPECT_EQ(line->query, "q");
    EXPECT_THAT(line->documents, ElementsAre("p", "n"));
    EXPECT_EQ(line->margin, 2.5);
  }
}

TEST(TrainingLine, IgnoresATeachersScoresIfNotRequested) {
  const auto line = parse_training_line("q\tp\tn\t4\t1.5", PairFormat::tsv, plain);
  ASSERT_TRUE(line) << line.error().message;
  EXPECT_THAT(line->documents, ElementsAre("p", "n"));
}

TEST(TrainingLine, ReadsManyNegatives) {
  const auto columns = parse_training_line("q\tp\ta\tb\tc", PairFormat::tsv, many);
  EXPECT_THAT(columns->documents, ElementsAre("p", "a", "b", "c"));
  const auto object = parse_training_line(R"({"query":"q","positive":1,"negatives":["a",2]})",
                                          PairFormat::jsonl, many);
  EXPECT_THAT(object->documents, ElementsAre("1", "a", "2"));
}

TEST(TrainingLine, ReadsCommonFieldNames) {
  for (const char* text :
       {R"({"qid":"q","pos":["T p"],"neg":["a","b"]})",
        R"({"query_id":"1","query":"q","positive_passages":[{"docid":"1","title":"T","text":"p"}],
            "negative_passages":[{"docid":"2","title":"","text":"a"},{"text":"b"}]})"}) {
    const auto line = parse_training_line(text, PairFormat::jsonl, many);
    ASSERT_TRUE(line) << line.error().message;
    EXPECT_EQ(line->query, "q");
    EXPECT_THAT(line->documents, ElementsAre("T p", "a", "b"));
  }
}

TEST(TrainingLine, NamesTheError) {
  struct Case {
    const char* line;
    PairFormat format;
    TrainingForm form;
    const char* error;
  };
  using enum PairFormat;
  for (const auto& [line, format, form, error] :
       {Case{"q\tp", tsv, plain, "2 columns"}, Case{"q\tp\tn", tsv, with_margin, "MARGIN"},
        Case{"q\tp\tn\tmuch", tsv, with_margin, "'much'"},
        Case{"q\tp\tn\tnan", tsv, with_margin, "'nan'"},
        Case{"q\tp\tn\t-1e300", tsv, with_margin, "has a margin of -1e+300"},
        Case{"", tsv, plain, "is empty"}, Case{"\tp\tn", tsv, plain, "empty query"},
        Case{"q\tp\t\xff", tsv, plain, "not UTF-8"}, Case{"{", jsonl, plain, "not a JSON object"},
        Case{R"({"query":"q"})", jsonl, plain, "'positive'"},
        Case{R"({"query":"q","positive":"p"})", jsonl, plain, "'negative'"},
        Case{R"({"query":"q","positive":"p","negative":"n"})", jsonl, with_margin, "'margin'"},
        Case{R"({"query":"q","pos":["p","r"],"neg":["n"]})", jsonl, many, "has 2 positives"},
        Case{R"({"query":"q","pos":"p","positive":"r","neg":"n"})", jsonl, many,
             "has 'positive' and 'pos', which differ"}}) {
    const auto parsed = parse_training_line(line, format, form);
    ASSERT_FALSE(parsed) << line;
    EXPECT_THAT(parsed.error().message, HasSubstr(error)) << line;
  }
}

TEST(TrainingLine, RequiresThatMarginAndScoresAgree) {
  const auto line = [](std::string_view numbers) {
    return parse_training_line(
        std::string(R"({"query":"q","positive":"p","negative":"n",)") + std::string(numbers) + "}",
        PairFormat::jsonl, with_margin);
  };
  EXPECT_EQ(line(R"("margin":2.49,"scores":[4,1.506])")->margin, 2.49);
  EXPECT_EQ(line(R"("margin":null,"scores":[4,1.5])")->margin, 2.5);
  EXPECT_THAT(line(R"("margin":1,"scores":[3,1])").error().message,
              HasSubstr("has the 'margin' 1 and 'scores' whose difference is 2"));
  EXPECT_THAT(line(R"("margin":[2],"scores":[3,1])").error().message,
              HasSubstr("has a 'margin' that is not a number"));
}

class TrainingFileTest : public ::testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }
  void write(const std::string& text) const { std::ofstream(path_, std::ios::binary) << text; }
  std::filesystem::path path_ = ::testing::TempDir() + "training_file_test.tsv";
};

TEST_F(TrainingFileTest, ReadsLinesInAnyOrder) {
  const std::string text = "q1\tp1\tn1\nq2\tp2\tn2\r\nq3\tp3\tn3";
  for (const std::string& bytes : {text, tests::packed(text)}) {
    write(bytes);
    auto file = TrainingFile::open(path_, plain);
    ASSERT_TRUE(file) << file.error().message;
    ASSERT_EQ(file->size(), 3);
    for (const std::int64_t index : {2, 0, 1, 1}) {
      const auto line = file->line(index);
      ASSERT_TRUE(line) << line.error().message;
      EXPECT_EQ(line->query, "q" + std::to_string(index + 1));
      EXPECT_EQ(line->documents[1], "n" + std::to_string(index + 1));
      EXPECT_EQ(line->number, index + 1);
    }
  }
}

TEST_F(TrainingFileTest, ReadsSingleLettersAsColumnNames) {
  write("q\tp\tn\nhow tall\tvery tall\tlow\n");
  auto file = TrainingFile::open(path_, plain);
  ASSERT_TRUE(file) << file.error().message;
  ASSERT_EQ(file->size(), 1);
  EXPECT_THAT(file->line(0)->documents, ElementsAre("very tall", "low"));
  write("query\tpositive\tmargin\nhow\ttall\t1\n");
  EXPECT_THAT(TrainingFile::open(path_, plain).error().message,
              HasSubstr("line 1 names columns but has no text 'negative'"));
  write("how\ttall\t\"He said \"\"noon\"\"\"\n");
  EXPECT_THAT(TrainingFile::open(path_, plain).error().message,
              HasSubstr("line 1: has a field in quotes"));
}

TEST_F(TrainingFileTest, ReadsArraysAndNamedColumns) {
  for (const char* text : {"negative\tquery\tpositive\tmargin\nn1\tq1\tp1\t1\nn2\tq2\tp2\t-2.5\n",
                           R"([{"query":"q1","positive":"p1","negative":"n1","margin":1},
            {"query":"q2","positive":"p2","negative":"n2","margin":-2.5}])"}) {
    path_.replace_extension(text[0] == '[' ? ".json" : ".tsv");
    write(text);
    auto file = TrainingFile::open(path_, with_margin);
    ASSERT_TRUE(file) << file.error().message;
    ASSERT_EQ(file->size(), 2);
    EXPECT_EQ(file->line(1)->margin, -2.5);
    EXPECT_EQ(file->line(0)->query, "q1");
    EXPECT_THAT(file->line(1)->documents, ElementsAre("p2", "n2"));
    EXPECT_EQ(file->notes(), "");
    std::filesystem::remove(path_);
  }
  path_.replace_extension(".tsv");
  EXPECT_THAT(TrainingFile::open("-", plain).error().message,
              HasSubstr("standard input: is read several times"));
}

TEST_F(TrainingFileTest, ErrorsNameTheLine) {
  write("q1\tp1\tn1\nq2\tp2\n");
  EXPECT_THAT(TrainingFile::open(path_, plain).error().message,
              HasSubstr("training_file_test.tsv, line 2: has 2 columns"));
  write("");
  EXPECT_THAT(TrainingFile::open(path_, plain).error().message, HasSubstr("has no line"));
}

TEST(DrawnOrder, IsAPermutationByTheSeedAndTheEpoch) {
  const auto order = drawn_order(1000, 7, 0);
  auto sorted = order;
  std::ranges::sort(sorted);
  for (std::uint32_t i = 0; i < 1000; ++i) ASSERT_EQ(sorted[i], i);
  EXPECT_EQ(order, drawn_order(1000, 7, 0));
  EXPECT_NE(order, drawn_order(1000, 8, 0));
  EXPECT_NE(order, drawn_order(1000, 7, 1));
  EXPECT_THAT(drawn_order(1, 7, 3), ElementsAre(0));
}

}  // namespace
}  // namespace attnscope
