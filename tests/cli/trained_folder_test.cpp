// The folder that `train` writes is the trained model: after a step that changes no weight, it has
// the scores of the checkpoint that the training started from.

#include <algorithm>
#include <cctype>
#include <cmath>

#include "base/spawn.h"
#include "tests/cli/program.h"

namespace attnscope::testing {
namespace {

std::string checkpoint(const std::string& name) {
  return golden("checkpoints/" + name).string();
}

class TrainedFolder : public ProgramTest {
 protected:
  TrainedFolder() {
    program.write("triples.tsv",
                  "when does the Ferry leave\tThe ferry leaves at noon.\told Caf\u00e9\n"
                  "old Caf\u00e9\tna\u00efve: the caf\u00e9 at noon, 3 hours\tevery hour\n");
    std::string pairs;
    std::string longer;
    for (int i = 0; i < 60; ++i) longer += "The ferry leaves ";
    for (const auto& [query, document] :
         {std::pair<std::string, std::string>("when does the Ferry leave",
                                              "The ferry leaves the harbour every hour after."),
          {"the [SEP] ferry", "at [MASK] noon <mask> the <pad> hour"},
          {"old harbour", longer},
          {longer, longer}}) {
      pairs += json({{"query", query}, {"text", document}}).dump() + "\n";
    }
    program.write("pairs.jsonl", pairs);
  }

  /// One step that is too short to change a float.
  [[nodiscard]] Outcome train(const std::string& start, const std::string& more = "") const {
    return program.run(
        fmt::format("train --checkpoint {} --triples triples.tsv --ranknet --steps 1 --batch 2 "
                    "--learning-rate 1e-12 --threads 1 -o out {}",
                    start, more));
  }
  [[nodiscard]] std::vector<double> scores(const std::string& start,
                                           const std::string& more = "") const {
    const Outcome outcome = program.run(fmt::format(
        "score --checkpoint {} --pairs pairs.jsonl --format tsv --threads 1 {}", start, more));
    EXPECT_THAT(outcome, Succeeds());
    return scores_in(outcome.out);
  }
  void expect_the_same(const std::vector<double>& was, const std::vector<double>& is) const {
    ASSERT_EQ(was.size(), 4U);
    ASSERT_EQ(was.size(), is.size());
    for (std::size_t i = 0; i < was.size(); ++i)
      EXPECT_NEAR(is[i], was[i], 1e-5 * std::max(1.0, std::fabs(was[i]))) << "pair " << i;
  }
  [[nodiscard]] json json_of(const std::string& file) const {
    return json::parse(program.read(file));
  }
};

struct Start {
  std::string folder;
  std::string arguments = "";    // of train, and of score with the start's folder
  std::string given_again = "";  // of score with the trained one
};
std::ostream& operator<<(std::ostream& out, const Start& start) {
  return out << fmt::format("{} {}", start.folder, start.arguments);
}

class TrainedFrom : public TrainedFolder, public ::testing::WithParamInterface<Start> {};

TEST_P(TrainedFrom, KeepsTheScoresOfTheCheckpoint) {
  program.write("my-pattern.json", R"({"name":"full","description":"d","title":"t","attends":{
      "cls":{"cls":"whole","document":"whole"},"query":{"query":"whole"},
      "document":{"cls":"whole","document":"whole"}}})");
  const std::string start = checkpoint(GetParam().folder);
  ASSERT_THAT(train(start, GetParam().arguments), Succeeds());
  expect_the_same(scores(start, GetParam().arguments), scores("out", GetParam().given_again));
}

const std::string of_a_file = "--pattern my-pattern.json";
const Start starts[] = {{"bert-added-tokens"},
                        {"bert-cased"},
                        {"bert-generic"},
                        {"bert-generic-types"},
                        {"bert-limit"},
                        {"bert-limit-left"},
                        {"bert-one-type"},
                        {"bert-split-special"},
                        {"bert-tokenizer-json-alone"},
                        {"bert-vocabulary"},
                        {"longformer"},
                        {"modules-ignored"},
                        {"prompt-and-limit"},
                        {"bert-limit", "--extend-positions 200"},
                        {"bert-limit", "--max-tokens 90"},
                        {"bert-tokenizer-json-alone", "--max-tokens 20"},
                        {"bert-cased", of_a_file, of_a_file},
                        {"bert-cased", "--pattern sparse --window 2"},
                        {"bert-cased", "--max-query-tokens 7"},
                        {"prompt-and-limit", "--max-tokens 50"},
                        {"prompt-and-limit", "--extend-positions 120"},
                        {"longformer", "--pattern longformer --window 2"},
                        {"longformer", "--window 3"},
                        {"longformer-windows", "--window 1"},
                        {"longformer", "--extend-positions 160"}};

INSTANTIATE_TEST_SUITE_P(Folders, TrainedFrom, ::testing::ValuesIn(starts), [](const auto& start) {
  std::string name = start.param.folder + start.param.arguments;
  std::ranges::replace_if(
      name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return name;
});

TEST_F(TrainedFolder, StoresSettingsForOtherLibraries) {
  const std::string start = checkpoint("prompt-and-limit");
  ASSERT_THAT(train(start), Succeeds());
  EXPECT_EQ(json_of("out/config_sentence_transformers.json").at("default_prompt_name"), "find");
  EXPECT_EQ(json_of("out/sentence_bert_config.json").at("max_seq_length"), 30);
  EXPECT_EQ(json_of("out/modules.json").at(0).at("path"), "");
  EXPECT_EQ(json_of("out/tokenizer_config.json").at("model_max_length"), 30);
  // Files of an earlier checkpoint are removed.
  ASSERT_THAT(train(checkpoint("bert-vocabulary"), "--restart --max-tokens 40"), Succeeds());
  EXPECT_FALSE(program.has("out/modules.json"));
  EXPECT_FALSE(program.has("out/sentence_bert_config.json"));
  EXPECT_FALSE(program.has("out/tokenizer.json"));
  EXPECT_TRUE(program.has("out/vocab.txt"));
  EXPECT_EQ(json_of("out/tokenizer_config.json").at("model_max_length"), 40);
  ASSERT_THAT(train(checkpoint("longformer-windows"), "--restart --window 3"), Succeeds());
  EXPECT_EQ(json_of("out/config.json").at("attention_window"), json({6, 6}));
}

TEST_F(TrainedFolder, FlattensACrossEncoderWithModules) {
  fs::create_directories(program.path("start/0_Transformer"));
  for (const fs::directory_entry& entry : fs::directory_iterator(checkpoint("prompt-and-limit"))) {
    const std::string name = entry.path().filename().string();
    const bool is_listed = name == "modules.json" || name == "config_sentence_transformers.json";
    fs::copy_file(entry.path(),
                  program.path((is_listed ? "start/" : "start/0_Transformer/") + name));
  }
  program.write("start/modules.json",
                R"([{"idx":0,"name":"0","path":"0_Transformer",
                      "type":"sentence_transformers.models.Transformer"}])");
  program.write("start/0_Transformer/sentence_bert_config.json",
                R"({"transformer_task":"sequence-classification","max_seq_length":80,
                     "tokenizer_args":{"model_max_length":26},"do_lower_case":true})");
  for (const std::string more : {"", "--max-tokens 44 "}) {
    ASSERT_THAT(train("start", more + "--restart"), Succeeds());
    expect_the_same(scores("start", more), scores("out"));
  }
}

TEST_F(TrainedFolder, RefusesAFolderThatDiffersFromTheTrainedModel) {
  fs::copy(checkpoint("bert-vocabulary"), program.path("start"));
  // The worker changes files of the folder when the weights are written.
  for (const auto& [change, complaint] : std::vector<std::pair<std::string, std::string>>{
           {"'s/^the$/ferry/;t;s/^ferry$/the/' out/vocab.txt",
            "have other tokens than in training"},
           {"'s/\"layer_norm_eps\": .*,/\"layer_norm_eps\": 0.5,/' out/config.json",
            "in training"}}) {
    program.write("worker.sh", fmt::format("while IFS= read -r line; do case $line in "
                                           "*write-trained*) sed -i {};; esac; "
                                           "printf '%s\\n' \"$line\"; done",
                                           change));
    const Outcome outcome = train(
        "start", "--restart --worker " + shell_word("sh worker.sh | " ATTNSCOPE_WORKER_PROGRAM));
    EXPECT_THAT(outcome, FailsWith("differs from the trained one: the query '", complaint));
    EXPECT_THAT(outcome.err, Not(HasSubstr("out has the trained model")));
  }
}

TEST_F(TrainedFolder, RefusesModelsThatCannotBeTrained) {
  for (const auto& [folder, kind] : std::vector<std::pair<std::string, std::string>>{
           {"stanford-bert", "a late-interaction model (ColBERT)"},
           {"pylate-bert", "a late-interaction model (ColBERT)"},
           {"modernbert-mean", "a model of the family modernbert"},
           {"distilbert", "a model of the family distilbert"},
           {"modules-mean", "a model whose score is computed by modules of sentence-transformers"},
           {"modules-cls-last", "a model whose score is computed by modules"},
           {"bert-log-softmax", "a model with 3 labels"},
           {"bert-two-labels", "a model with 2 labels"}}) {
    const Outcome outcome = train(checkpoint(folder));
    EXPECT_THAT(outcome, FailsWith(fmt::format("'{}' cannot be trained: it is {}", folder, kind),
                                   "BERT and Longformer can, as cross-encoders with one label"));
    EXPECT_THAT(outcome.err, Not(HasSubstr("--label")));
    EXPECT_FALSE(program.has("out")) << folder;
  }
  EXPECT_THAT(train(checkpoint("longformer-windows")), FailsWith("windows differ by layer"));
}

}  // namespace
}  // namespace attnscope::testing
