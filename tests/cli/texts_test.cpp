// SPDX-License-Identifier: Apache-2.0
//
// How a checkpoint reads texts and turns logits into scores: --label, --activation, --explain, and
// `lengths`.

#include <cmath>

#include "tests/checkpoint/tiny_checkpoint.h"
#include "tests/cli/program.h"

namespace attnscope::testing {
namespace {

using ::testing::ElementsAre;
using tests::TinyCheckpoint;

class Explain : public ProgramTest {
 protected:
  Explain() {
    program.write(
        "vocab.txt",
        "[PAD]\n[UNK]\n[CLS]\n[SEP]\na\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl\nm\nn\no\n[MASK]\n");
    program.write("pairs.tsv", "a b\tC d [MASK] e\nb\tc\n");
  }
  [[nodiscard]] Outcome score(const std::string& more = "") const {
    return program.run("score --checkpoint . --pairs pairs.tsv " + more);
  }
  [[nodiscard]] std::vector<double> scores(const std::string& more = "") const {
    const Outcome outcome = score(more);
    EXPECT_THAT(outcome, Succeeds());
    return scores_in(outcome.out);
  }
};

TEST_F(Explain, ScoresTheChosenLabel) {
  TinyCheckpoint tiny = TinyCheckpoint::bert();
  tiny.tensors["classifier.weight"].shape = {2, 8};
  tiny.tensors["classifier.bias"].shape = {2};
  tiny.config["num_labels"] = "2";
  tiny.write(program.path(""));
  EXPECT_THAT(score(), FailsWith("has 2 labels", "--label 1-0"));
  const auto first = scores("--label 0"), second = scores("--label 1");
  const auto difference = scores("--label 1-0");
  const auto probability = scores("--label log-softmax-1");
  ASSERT_EQ(difference.size(), 2U);
  for (std::size_t i = 0; i < difference.size(); ++i) {
    EXPECT_NEAR(difference[i], second[i] - first[i], 1e-5);
    EXPECT_NEAR(probability[i], -std::log1p(std::exp(-difference[i])), 1e-5);
  }
  EXPECT_THAT(score("--label 2").err, HasSubstr("label 2 does not exist; the model has 2"));
  EXPECT_THAT(score("--label one").err, HasSubstr("'one' is not a label"));
}

TEST_F(Explain, AppliesTheChosenActivation) {
  TinyCheckpoint::bert().write(program.path(""));
  const auto raw = scores(), sigmoid = scores("--activation sigmoid");
  EXPECT_NEAR(sigmoid.at(0), 1 / (1 + std::exp(-raw.at(0))), 1e-6);
  EXPECT_EQ(scores("--activation checkpoint"), sigmoid);  // predict() of one label
  TinyCheckpoint tiny = TinyCheckpoint::bert();
  tiny.config["sbert_ce_default_activation_function"] = "\"torch.nn.modules.linear.Identity\"";
  tiny.write(program.path(""));
  EXPECT_EQ(scores("--activation checkpoint"), raw);
  EXPECT_THAT(score("--activation relu").err, HasSubstr("'relu' is unknown"));
}

TEST_F(Explain, PrintsWhichFileEachSettingWasReadFrom) {
  TinyCheckpoint::bert().write(program.path(""));
  program.write("tokenizer_config.json", R"({"do_lower_case": false, "model_max_length": 9,
                 "model_input_names": ["input_ids", "attention_mask"]})");
  const json stated = json::parse(score("--explain --format jsonl").out);
  EXPECT_THAT(stated["tokens"].get<std::vector<std::string>>(),
              ElementsAre("[CLS]", "a", "b", "[SEP]", "[UNK]", "d", "[MASK]", "e", "[SEP]"));
  EXPECT_THAT(stated["ids"].get<std::vector<int>>(), ElementsAre(2, 4, 5, 3, 1, 7, 19, 8, 3));
  EXPECT_EQ(stated["types"].back(), 0);
  EXPECT_EQ(stated["positions"].back(), 8);
  EXPECT_THAT(score("--explain"),
              Prints("BertTokenizer", "model_type of config.json",
                     "9 tokens  (model_max_length of tokenizer_config.json)", "vocab.txt",
                     "not given: all are 0", "(model_input_names of tokenizer_config.json)"));
  EXPECT_THAT(score("--explain --max-tokens 8"), Prints("8 tokens  (--max-tokens)"));
  fs::remove(program.path("tokenizer_config.json"));
  EXPECT_THAT(score("--explain"),
              Prints("tokens  (the positions of config.json)", "(the class BertTokenizer)"));
}

class Lengths : public ProgramTest {
 protected:
  Lengths() {
    tests::TinyCheckpoint::bert().write(program.path(""));
    program.write("vocab.txt", letters);
    std::string words;
    for (int i = 0; i < 300; ++i) words += "a ";
    program.write("pairs.tsv", "a b\tc d e\na\tc\nb c d\t" + words + "\n");
  }
  [[nodiscard]] Outcome lengths(const std::string& more = "") const {
    return program.run("lengths --checkpoint . --pairs pairs.tsv " + more);
  }
};

TEST_F(Lengths, CountsTextsWithoutTruncation) {
  const json counted = json::parse(lengths("--format json").out);
  EXPECT_EQ(counted.at("queries").at("counted"), json::parse("[[1,1],[2,1],[3,1]]"));
  EXPECT_EQ(counted.at("documents").at("counted"), json::parse("[[1,1],[3,1],[300,1]]"));
  // [CLS], the query with its [SEP], the document with its [SEP].
  EXPECT_EQ(counted.at("pairs").at("counted"), json::parse("[[5,1],[8,1],[306,1]]"));
  EXPECT_LT(counted.at("own_limit").get<int>(), 306);
  EXPECT_THAT(lengths(), Prints("3 pairs of pairs.tsv", "the checkpoint's own", "none packed"));
}

TEST_F(Lengths, CountsOnlyTextTokensForLateInteraction) {
  program.write("pairs.tsv", "noon\thour\n");
  for (const std::string name : {"stanford-bert", "pylate-bert", "encoder-fixed"}) {
    const json counted = program.json("lengths --pairs pairs.tsv --format json --checkpoint " +
                                      golden("checkpoints/" + name).string());
    for (const char* part : {"queries", "documents"})
      EXPECT_LT(counted.at(part).at("counted").at(0).at(0).get<int>(), 12) << name << part;
  }
}

TEST_F(Lengths, CountsTheJudgedPairsOfABeirFolder) {
  write_beir(program, {{"1", "a", "b c"}, {"2", "", "d"}}, {{"7", "a b"}, {"8", "a b c d e f"}},
             "7\t1\t1\n7\t2\t0\n7\t3\t1\n", "dev");
  const Outcome outcome =
      program.run("lengths --checkpoint . --beir set --split dev --format json");
  ASSERT_THAT(outcome, Notes("1 judged pairs have no text"));
  const json counted = json::parse(outcome.out);
  EXPECT_EQ(counted.at("queries").at("counted"), json::parse("[[2,2]]"));
  EXPECT_EQ(counted.at("documents").at("counted"), json::parse("[[1,1],[3,1]]"));
  EXPECT_THAT(program.run("lengths --checkpoint .").err,
              HasSubstr("--pairs or --beir is required"));
}

TEST_F(Lengths, RefusesUnreadablePairs) {
  EXPECT_THAT(program.run("lengths --checkpoint . --pairs none.tsv"), FailsWith("none.tsv"));
  program.write("pairs.tsv", "a b\n");
  EXPECT_THAT(lengths().err, HasSubstr("pairs.tsv, line 1"));
  program.write("pairs.tsv", "");
  EXPECT_THAT(lengths(), FailsWith());
}

#ifdef ATTNSCOPE_HAS_GUI
TEST_F(Lengths, DrawsHistograms) {
  ASSERT_THAT(lengths("-o lengths.svg --csv"), Succeeds());
  EXPECT_THAT(program.read("lengths.svg"), HasSubstr("<svg"));
  EXPECT_THAT(program.read("lengths.csv"), AllOf(HasSubstr("Queries"), HasSubstr("Documents")));
}
#endif

}  // namespace
}  // namespace attnscope::testing
