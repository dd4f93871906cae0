// SPDX-License-Identifier: Apache-2.0
#include "engine/checkpoint/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/checkpoint/tiny_checkpoint.h"
#include "tests/safetensors/scratch_folder.h"

namespace attnscope {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using tests::ScratchFolder;
using tests::TinyCheckpoint;
using tests::write_bytes;

const std::string layer_1 = "encoder.layer.1.";

Checkpoint opened(const TinyCheckpoint& tiny) {
  const ScratchFolder folder;
  tiny.write(folder.path());
  Result<Checkpoint> checkpoint = Checkpoint::open(folder.path());
  if (!checkpoint) throw std::runtime_error(checkpoint.error().message);
  return std::move(*checkpoint);
}

TEST(Checkpoint, ReadsBertForSequenceClassification) {
  const Checkpoint checkpoint = opened(TinyCheckpoint::bert());
  EXPECT_EQ(checkpoint.config.shape, (ModelShape{.layers = 2,
                                                 .hidden = 8,
                                                 .heads = 2,
                                                 .feed_forward = 16,
                                                 .vocabulary = 20,
                                                 .positions = 64}));
  EXPECT_EQ(checkpoint.config.architecture, "BertForSequenceClassification");
  EXPECT_EQ(checkpoint.config.pattern, "full");
  EXPECT_FALSE(checkpoint.config.window);
  EXPECT_EQ(checkpoint.config.most_query_tokens, 0);
  EXPECT_THAT(checkpoint.left_out, IsEmpty());
  EXPECT_TRUE(checkpoint.gives_scores);
  const TensorView& intermediate = checkpoint.tensors.at(layer_1 + "intermediate.dense.weight");
  EXPECT_THAT(intermediate.shape, ElementsAre(16, 8));
  EXPECT_EQ(intermediate.bytes.size(), 16U * 8 * 4);
  EXPECT_FALSE(checkpoint.tensors.contains(layer_1 + "attention.self.query_global.weight"));
  EXPECT_TRUE(checkpoint.tensors.contains("pooler.dense.weight"));
  EXPECT_THAT(checkpoint.tensors.at("classifier.weight").shape, ElementsAre(1, 8));
}

TEST(Checkpoint, ReadsBertModelWithoutAClassifier) {
  TinyCheckpoint tiny = TinyCheckpoint::bert().with_prefix("bert.", "");
  tiny.config["architectures"] = R"(["BertModel"])";
  tiny.tensors.erase("classifier.weight");
  tiny.tensors.erase("classifier.bias");
  tiny.tensors["embeddings.position_ids"] = {{1, 64}, "I64"};
  const Checkpoint checkpoint = opened(tiny);
  EXPECT_TRUE(checkpoint.tensors.contains("pooler.dense.weight"));
  EXPECT_FALSE(checkpoint.gives_scores);
  EXPECT_THAT(checkpoint.left_out, ElementsAre("embeddings.position_ids"));
}

TEST(Checkpoint, ReadsPatternAndWindowOfASparseCrossEncoder) {
  TinyCheckpoint tiny = TinyCheckpoint::bert();
  tiny.config["architectures"] = R"(["SparseCrossEncoderModelForSequenceClassification"])";
  tiny.config["attention_window_size"] = "4";
  tiny.config["query_cls_attention"] = "false";
  tiny.config["query_doc_attention"] = "false";
  tiny.tensors["bert.embeddings.position_ids"] = {{1, 64}, "I64"};
  tiny.tensors["bert.embeddings.token_type_ids"] = {{1, 64}, "I64"};
  const Checkpoint checkpoint = opened(tiny);
  EXPECT_EQ(checkpoint.config.pattern, "sparse");
  EXPECT_EQ(checkpoint.config.window, Window::of(4));
  EXPECT_EQ(checkpoint.config.most_query_tokens, 31);
  EXPECT_EQ(checkpoint.left_out.size(), 2U);
}

TEST(Checkpoint, ASparseCrossEncoderWithoutAWindowHasAnInfiniteOne) {
  TinyCheckpoint tiny = TinyCheckpoint::bert();
  tiny.config["attention_window_size"] = "null";
  tiny.config["query_cls_attention"] = "false";
  tiny.config["query_doc_attention"] = "false";
  EXPECT_EQ(opened(tiny).config.window, Window::infinite());
}

TEST(Checkpoint, AWindowAloneKeepsTheQuerysFullAttention) {
  TinyCheckpoint tiny = TinyCheckpoint::bert();
  tiny.config["attention_window_size"] = "0";
  const Checkpoint checkpoint = opened(tiny);
  EXPECT_EQ(checkpoint.config.pattern, "sparse-without-independent-query");
  EXPECT_EQ(checkpoint.config.window, Window::of(0));
}

TEST(Checkpoint, ReadsALongformersProjectionsAndPositions) {
  TinyCheckpoint tiny = TinyCheckpoint::longformer();
  tiny.tensors["longformer.embeddings.position_ids"] = {{1, 64}, "I64"};
  const Checkpoint checkpoint = opened(tiny);
  EXPECT_EQ(checkpoint.config.pattern, "longformer");
  EXPECT_EQ(checkpoint.config.window, Window::of(4));
  EXPECT_EQ(checkpoint.config.shape.first_position, 2);
  EXPECT_EQ(checkpoint.config.shape.positions, 62);
  EXPECT_EQ(checkpoint.config.shape.types, 1);
  EXPECT_TRUE(checkpoint.tensors.contains(layer_1 + "attention.self.query_global.weight"));
  EXPECT_TRUE(checkpoint.tensors.contains("pooler.dense.weight"));
  EXPECT_THAT(checkpoint.tensors.at("classifier.weight").shape, ElementsAre(1, 8));
}

TEST(Checkpoint, MissingFieldsHaveTheDefaultsOfTransformers) {
  TinyCheckpoint bert = TinyCheckpoint::bert();
  bert.config.erase("type_vocab_size");
  EXPECT_EQ(opened(bert).config.shape.types, 2);
  TinyCheckpoint longformer = TinyCheckpoint::longformer();
  longformer.config.erase("attention_window");
  EXPECT_EQ(opened(longformer).config.window, Window::of(256));
}

TEST(Checkpoint, IgnoresPreTrainingHeads) {
  TinyCheckpoint tiny = TinyCheckpoint::bert();
  tiny.tensors["cls.predictions.bias"] = {{20}};
  const Checkpoint checkpoint = opened(tiny);
  EXPECT_THAT(checkpoint.left_out, ElementsAre("cls.predictions.bias"));
  EXPECT_EQ(checkpoint.note(), "");
}

TEST(Checkpoint, NotesUnusedTensors) {
  TinyCheckpoint tiny = TinyCheckpoint::bert();
  tiny.tensors["bert.adapter.weight"] = {{8, 8}};
  tiny.tensors["quantized"] = {{2}, "U16"};
  Checkpoint checkpoint = opened(tiny);
  EXPECT_THAT(checkpoint.left_out, ElementsAre("bert.adapter.weight", "quantized"));
  EXPECT_EQ(checkpoint.note(),
            "the model does not use 2 tensors of its files: 'bert.adapter.weight', 'quantized'");
  checkpoint.left_out.insert(checkpoint.left_out.end(), 100'000, "x\n");
  EXPECT_EQ(checkpoint.note(),
            "the model does not use 100002 tensors of its files: 'bert.adapter.weight', "
            "'quantized', 'x?' and 99999 more");
}

TEST(Checkpoint, ReadsGammaAndBetaOfOlderFiles) {
  TinyCheckpoint tiny = TinyCheckpoint::bert();
  tiny.tensors.erase("bert.embeddings.LayerNorm.weight");
  tiny.tensors.erase("bert.embeddings.LayerNorm.bias");
  tiny.tensors["bert.embeddings.LayerNorm.gamma"] = {{8}};
  tiny.tensors["bert.embeddings.LayerNorm.beta"] = {{8}};
  EXPECT_THAT(opened(tiny).tensors.at("embeddings.LayerNorm.weight").shape, ElementsAre(8));
}

TEST(Checkpoint, ReadsBfloat16) {
  TinyCheckpoint tiny = TinyCheckpoint::bert();
  for (auto& [name, tensor] : tiny.tensors) tensor.dtype = "BF16";
  EXPECT_EQ(opened(tiny).tensors.at("embeddings.word_embeddings.weight").dtype, "BF16");
}

TEST(Checkpoint, ReadsFloat64) {
  TinyCheckpoint tiny = TinyCheckpoint::bert();
  tiny.tensors["classifier.bias"].dtype = "F64";
  EXPECT_EQ(opened(tiny).tensors.at("classifier.bias").dtype, "F64");
}

/// A tensor may be in another shard than the index states: all shards are read, as by Hugging
/// Face.
TEST(Checkpoint, FindsShardsByTheirIndex) {
  for (const bool states_another : {false, true}) {
    const ScratchFolder folder;
    TinyCheckpoint first = TinyCheckpoint::bert();
    TinyCheckpoint second{first.config, {}};
    std::string map;
    for (const auto& [name, tensor] : TinyCheckpoint::bert().tensors) {
      const bool moves = name.find("layer.1") != std::string::npos;
      if (moves) second.tensors.insert(first.tensors.extract(name));
      map += fmt::format("{}\"{}\": \"{}.safetensors\"", map.empty() ? "" : ",", name,
                         moves == states_another ? "one" : "two");
    }
    write_bytes(folder / "config.json", first.config_json());
    write_bytes(folder / "one.safetensors", first.weights());
    write_bytes(folder / "two.safetensors", second.weights());
    write_bytes(folder / "model.safetensors.index.json", "{\"weight_map\": {" + map + "}}");
    const auto checkpoint = Checkpoint::open(folder.path());
    ASSERT_TRUE(checkpoint.has_value()) << checkpoint.error().message;
    EXPECT_EQ(checkpoint->files.size(), 2U);
  }
}

}  // namespace
}  // namespace attnscope
