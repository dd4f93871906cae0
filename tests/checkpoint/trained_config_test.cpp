// config.json of a trained model, read back as any checkpoint's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "engine/checkpoint/family_description.h"
#include "engine/checkpoint/trained_folder.h"
#include "tests/checkpoint/tiny_checkpoint.h"

namespace attnscope {
namespace {

using ::testing::HasSubstr;
using tests::TinyCheckpoint;

ModelConfig read_back(const std::string& config, const TrainedAttention& attention) {
  const auto trained = trained_config(config, attention);
  EXPECT_TRUE(trained) << trained.error().message;
  const auto read = read_model_config(*trained, "config.json");
  EXPECT_TRUE(read) << read.error().message;
  return *read;
}

TEST(TrainedConfig, ReadsBackThePattern) {
  const std::string config = TinyCheckpoint::bert().config_json();
  const TrainedAttention all[] = {{"full", {}, 0, 64},
                                  {"sparse", Window::of(4), 0, 64},
                                  {"sparse", Window::infinite(), 12, 64},
                                  {"sparse-without-independent-query", Window::of(0), 0, 64},
                                  {"longformer", Window::of(16), 0, 64},
                                  {"bigbird", {}, 0, 64}};
  for (const TrainedAttention& attention : all) {
    const ModelConfig read = read_back(config, attention);
    EXPECT_EQ(read.pattern, attention.pattern);
    EXPECT_EQ(read.window, attention.window) << attention.pattern;
    EXPECT_EQ(read.most_query_tokens, attention.most_query_tokens);
  }
}

TEST(TrainedConfig, ReplacesAnEarlierPattern) {
  const auto sparse = trained_config(TinyCheckpoint::bert().config_json(),
                                     {.pattern = "sparse", .window = Window::of(4)});
  const ModelConfig read = read_back(*sparse, {.pattern = "full"});
  EXPECT_EQ(read.pattern, "full");
  EXPECT_FALSE(read.window);
  // A pattern from a file has no name, so that the model is not mistaken for another.
  const auto own = trained_config(*sparse, {.pattern = ""});
  EXPECT_FALSE(nlohmann::json::parse(*own).contains("attnscope"));
  EXPECT_FALSE(nlohmann::json::parse(*own).contains("query_cls_attention"));
}

TEST(TrainedConfig, ReadsBackTheQueryLimitOfAPatternFile) {
  const auto sparse = trained_config(TinyCheckpoint::bert().config_json(),
                                     {.pattern = "sparse", .window = Window::of(4)});
  const ModelConfig read = read_back(*sparse, {.pattern = "", .most_query_tokens = 31});
  EXPECT_EQ(read.pattern, "full");
  EXPECT_EQ(read.most_query_tokens, 31);
}

TEST(TrainedConfig, WritesALongformersWindow) {
  const std::string config = TinyCheckpoint::longformer().config_json();
  const auto trained = trained_config(
      config, {.pattern = "longformer", .window = Window::of(3), .is_one_text = true});
  const auto json = nlohmann::json::parse(*trained);
  EXPECT_EQ(json["attention_window"],
            nlohmann::json(std::vector<int>(json["num_hidden_layers"], 6)));
  const ModelConfig read =
      read_back(config, {.pattern = "longformer", .window = Window::of(3), .is_one_text = true});
  EXPECT_EQ(read.own_options.count(std::string(pair_is_one_text)), 1U);
}

TEST(TrainedConfig, WritesOneLabelAndThePositionsOfTheWeights) {
  const auto trained = trained_config(R"({"model_type":"bert","architectures":["BertModel"],
      "max_position_embeddings":64,"num_labels":2,"id2label":{"0":"a","1":"b"}})",
                                      {.pattern = "full", .positions = 256});
  const auto json = nlohmann::json::parse(*trained);
  EXPECT_EQ(json["architectures"], nlohmann::json({"BertForSequenceClassification"}));
  EXPECT_EQ(json["id2label"], nlohmann::json({{"0", "LABEL_0"}}));
  EXPECT_EQ(json["max_position_embeddings"], 256);
  EXPECT_FALSE(json.contains("num_labels"));
}

TEST(TrainedConfig, CountsPaddingRowsOfALongformer) {
  const std::string config = TinyCheckpoint::longformer().config_json();
  const auto before = read_model_config(config, "config.json");
  ASSERT_TRUE(before) << before.error().message;
  const ModelConfig read =
      read_back(config, {"longformer", before->window, 0, before->shape.positions});
  EXPECT_EQ(read.shape, before->shape);
  EXPECT_EQ(read.architecture, "LongformerForSequenceClassification");
}

TEST(TrainedConfig, RefusesAnUnknownPattern) {
  const auto read = read_model_config(
      R"({"model_type":"bert","num_hidden_layers":2,"hidden_size":8,"num_attention_heads":2,
          "intermediate_size":16,"vocab_size":20,"max_position_embeddings":64,"type_vocab_size":2,
          "attnscope":{"pattern":"none-such","most_query_tokens":0}})",
      "config.json");
  EXPECT_THAT(read.error().message, HasSubstr("a built-in pattern"));
}

}  // namespace
}  // namespace attnscope
