// SPDX-License-Identifier: Apache-2.0
//
// Labels and activations that turn logits into scores, and --explain.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/checkpoint/tiny_checkpoint.h"
#include "tests/cli/program.h"

namespace attnscope::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using tests::TinyCheckpoint;

constexpr const char* some_pieces =
    "[PAD]\n[UNK]\n[CLS]\n[SEP]\na\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl\nm\nn\no\n[MASK]\n";

class Explain : public ::testing::Test {
 protected:
  Explain() {
    program_.write("vocab.txt", some_pieces);
    program_.write("pairs.tsv", "a b\tC d [MASK] e\nb\tc\n");
  }
  [[nodiscard]] Outcome score(const std::vector<std::string>& more) const {
    return program_.run(joined({"score", "--checkpoint", ".", "--pairs", "pairs.tsv"}, more));
  }
  [[nodiscard]] std::vector<double> scores(const std::vector<std::string>& more) const {
    const Outcome outcome = score(more);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return scores_in(outcome.out);
  }

  Program program_;
};

TEST_F(Explain, ScoresTheChosenLabel) {
  TinyCheckpoint tiny = TinyCheckpoint::bert();
  tiny.tensors["classifier.weight"].shape = {2, 8};
  tiny.tensors["classifier.bias"].shape = {2};
  tiny.config["num_labels"] = "2";
  tiny.write(program_.path(""));
  const Outcome none = score({});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_THAT(none.err, AllOf(HasSubstr("has 2 labels"), HasSubstr("--label 1-0")));
  const auto first = scores({"--label", "0"}), second = scores({"--label", "1"});
  const auto difference = scores({"--label", "1-0"});
  const auto probability = scores({"--label", "log-softmax-1"});
  ASSERT_EQ(difference.size(), 2U);
  for (std::size_t i = 0; i < difference.size(); ++i) {
    EXPECT_NEAR(difference[i], second[i] - first[i], 1e-5);
    EXPECT_NEAR(probability[i], -std::log1p(std::exp(-difference[i])), 1e-5);
  }
  EXPECT_THAT(score({"--label", "2"}).err, HasSubstr("label 2 does not exist; the model has 2"));
  EXPECT_THAT(score({"--label", "one"}).err, HasSubstr("'one' is not a label"));
}

TEST_F(Explain, AppliesTheChosenActivation) {
  TinyCheckpoint::bert().write(program_.path(""));
  const auto raw = scores({}), sigmoid = scores({"--activation", "sigmoid"});
  EXPECT_NEAR(sigmoid.at(0), 1 / (1 + std::exp(-raw.at(0))), 1e-6);
  EXPECT_EQ(scores({"--activation", "checkpoint"}), sigmoid);  // predict() of one label
  TinyCheckpoint tiny = TinyCheckpoint::bert();
  tiny.config["sbert_ce_default_activation_function"] = "\"torch.nn.modules.linear.Identity\"";
  tiny.write(program_.path(""));
  EXPECT_EQ(scores({"--activation", "checkpoint"}), raw);
  EXPECT_THAT(score({"--activation", "relu"}).err, HasSubstr("'relu' is unknown"));
}

TEST_F(Explain, PrintsWhichFileEachSettingWasReadFrom) {
  TinyCheckpoint::bert().write(program_.path(""));
  program_.write("tokenizer_config.json", R"({"do_lower_case": false, "model_max_length": 9,
                 "model_input_names": ["input_ids", "attention_mask"]})");
  const Outcome outcome = score({"--explain", "--format", "jsonl"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto stated = nlohmann::json::parse(outcome.out);
  EXPECT_THAT(stated["tokens"].get<std::vector<std::string>>(),
              ElementsAre("[CLS]", "a", "b", "[SEP]", "[UNK]", "d", "[MASK]", "e", "[SEP]"));
  EXPECT_THAT(stated["ids"].get<std::vector<int>>(), ElementsAre(2, 4, 5, 3, 1, 7, 19, 8, 3));
  EXPECT_EQ(stated["types"].back(), 0);
  EXPECT_EQ(stated["positions"].back(), 8);
  const std::string text = score({"--explain"}).out;
  EXPECT_THAT(text, AllOf(HasSubstr("BertTokenizer"), HasSubstr("model_type of config.json"),
                          HasSubstr("9 tokens  (model_max_length of tokenizer_config.json)"),
                          HasSubstr("vocab.txt"), HasSubstr("not given: all are 0"),
                          HasSubstr("(model_input_names of tokenizer_config.json)")));
  EXPECT_THAT(score({"--explain", "--max-tokens", "8"}).out, HasSubstr("8 tokens  (--max-tokens)"));
  std::filesystem::remove(program_.path("tokenizer_config.json"));
  EXPECT_THAT(score({"--explain"}).out, AllOf(HasSubstr("tokens  (the positions of config.json)"),
                                              HasSubstr("(the class BertTokenizer)")));
}

}  // namespace
}  // namespace attnscope::testing
