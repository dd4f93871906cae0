// SPDX-License-Identifier: Apache-2.0
#include "engine/checkpoint/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "engine/checkpoint/config_fields.h"
#include "engine/checkpoint/family_description.h"
#include "tests/checkpoint/tiny_checkpoint.h"
#include "tests/safetensors/scratch_folder.h"

namespace attnscope {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
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

TEST(Checkpoint, ReadsAnInfiniteWindowAndAWindowAlone) {
  TinyCheckpoint tiny = TinyCheckpoint::bert();
  tiny.config["attention_window_size"] = "0";
  const Checkpoint alone = opened(tiny);
  EXPECT_EQ(alone.config.pattern, "sparse-without-independent-query");
  EXPECT_EQ(alone.config.window, Window::of(0));
  tiny.config["attention_window_size"] = "null";
  tiny.config["query_cls_attention"] = "false";
  tiny.config["query_doc_attention"] = "false";
  EXPECT_EQ(opened(tiny).config.window, Window::infinite());
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

TEST(Checkpoint, NotesUnusedTensors) {
  TinyCheckpoint tiny = TinyCheckpoint::bert();
  tiny.tensors["cls.predictions.bias"] = {{20}};
  const Checkpoint with_head = opened(tiny);
  EXPECT_THAT(with_head.left_out, ElementsAre("cls.predictions.bias"));
  EXPECT_EQ(with_head.note(), "") << "the head of pre-training is never used";
  tiny.tensors.erase("cls.predictions.bias");
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

TEST(Checkpoint, ReadsOtherFloats) {
  TinyCheckpoint tiny = TinyCheckpoint::bert();
  for (auto& [name, tensor] : tiny.tensors) tensor.dtype = "BF16";
  tiny.tensors["classifier.bias"].dtype = "F64";
  const Checkpoint checkpoint = opened(tiny);
  EXPECT_EQ(checkpoint.tensors.at("embeddings.word_embeddings.weight").dtype, "BF16");
  EXPECT_EQ(checkpoint.tensors.at("classifier.bias").dtype, "F64");
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

// Invalid checkpoints: each is refused in one sentence that names the files, fields or tensors.

std::string message_in(const ScratchFolder& folder) {
  const auto checkpoint = Checkpoint::open(folder.path());
  return checkpoint ? "opened" : checkpoint.error().message;
}

std::string message_for(const TinyCheckpoint& tiny) {
  const ScratchFolder folder;
  tiny.write(folder.path());
  return message_in(folder);
}

std::string with_config(const std::string& field, const std::string& value,
                        TinyCheckpoint tiny = TinyCheckpoint::bert()) {
  tiny.config[field] = value;
  return message_for(tiny);
}

TEST(HostileCheckpoint, NamesMissingTensors) {
  TinyCheckpoint tiny = TinyCheckpoint::bert();
  tiny.tensors.erase("bert.encoder.layer.1.output.dense.bias");
  EXPECT_THAT(message_for(tiny), HasSubstr("missing: 'bert.encoder.layer.1.output.dense.bias'"));
  EXPECT_THAT(with_config("num_hidden_layers", "3"),
              AllOf(HasSubstr("'bert.encoder.layer.2.attention.self.query.weight'"),
                    HasSubstr(" and 13 more")));
}

TEST(HostileCheckpoint, RefusesUnsupportedAndContradictoryFields) {
  struct Case {
    const char *field, *value, *error;
  };
  for (const auto& [field, value, error] : {
           Case{"hidden_act", "\"relu\"", "'hidden_act' is 'relu'"},
           Case{"position_embedding_type", "\"relative_key\"", "only absolute position embeddings"},
           Case{"is_decoder", "true", "'is_decoder' is true"},
           Case{"model_type", "\"deberta\"",
                "'model_type' is 'deberta', whose attention adds terms of relative position"},
           Case{"model_type", "\"deberta\"", "; the supported types are "},
           Case{"model_type", "\"t5\"",
                "'model_type' is 't5'; the supported types are bert, longformer, "},
           Case{"architectures", R"(["BertForQuestionAnswering"])", "'BertForQuestionAnswering'"},
           Case{"num_attention_heads", "3",
                "'hidden_size' of 8, which is not a multiple of its 3 heads"},
           Case{"hidden_size", "0", "'hidden_size' must be a whole number"},
           Case{"vocab_size", "1e300", "'vocab_size' must be a whole number"},
           Case{"layer_norm_eps", "\"small\"", "'layer_norm_eps' must be"},
           Case{"doc_query_attention", "false", "disables attention between other groups than"},
           Case{"query_cls_attention", "false", "disables attention between other groups than"},
       }) {
    EXPECT_THAT(with_config(field, value), HasSubstr(error)) << field;
  }
  for (const auto& [field, value, error] :
       {Case{"attention_window", "[8, 16, 8]", "has 3 windows"},
        Case{"attention_window", "7", "is odd"}, Case{"attention_window", "[]", "is an empty list"},
        Case{"pad_token_id", "63", "leaves no position"}}) {
    EXPECT_THAT(with_config(field, value, TinyCheckpoint::longformer()), HasSubstr(error));
  }
}

TEST(HostileCheckpoint, ReportsAllKindsOfErrorsTogether) {
  TinyCheckpoint tiny = TinyCheckpoint::bert();
  tiny.config["num_labels"] = "1";
  tiny.tensors.erase("classifier.bias");
  tiny.tensors["classifier.weight"] = {{2, 8}};
  tiny.tensors["bert.pooler.dense.bias"].dtype = "I64";
  EXPECT_THAT(
      message_for(tiny),
      AllOf(
          HasSubstr("missing: 'classifier.bias'"),
          HasSubstr("'classifier.weight' [2, 8], not [1, 8]"),
          HasSubstr("convert to contiguous F32, F16, BF16 or F64: 'bert.pooler.dense.bias' I64")));
}

TEST(HostileCheckpoint, NamesTheMissingFilesOfAFolder) {
  const ScratchFolder folder;
  EXPECT_THAT(message_in(folder), HasSubstr("there is no model's configuration"));
  write_bytes(folder / "config.json", TinyCheckpoint::bert().config_json());
  EXPECT_THAT(
      message_in(folder),
      HasSubstr("there is none of model.safetensors, model.safetensors.index.json, pytorch_"));
}

TEST(HostileCheckpoint, RefusesABrokenLink) {
  for (const char* name : {"model.safetensors", "model.safetensors.index.json", "pytorch_model.bin",
                           "pytorch_model.bin.index.json"}) {
    const ScratchFolder folder;
    write_bytes(folder / "config.json", TinyCheckpoint::bert().config_json());
    std::filesystem::create_symlink("../../blobs/4f2a", folder / name);
    EXPECT_THAT(message_in(folder),
                AllOf(HasSubstr(name), HasSubstr("is a link to '../../blobs/4f2a', which does not "
                                                 "exist; copy the file there or remove the link")));
  }
}

TEST(HostileCheckpoint, RefusesAnInvalidIndex) {
  const ScratchFolder folder;
  const TinyCheckpoint tiny = TinyCheckpoint::bert();
  write_bytes(folder / "config.json", tiny.config_json());
  write_bytes(folder / "a.safetensors", tiny.weights());
  write_bytes(folder / "b.safetensors", tiny.weights());
  const auto message = [&](std::string_view index) {
    write_bytes(folder / "model.safetensors.index.json", index);
    return message_in(folder);
  };
  for (const std::string name : {"../x.safetensors", "/etc/passwd", "..", ""}) {
    EXPECT_THAT(message(fmt::format(R"({{"weight_map": {{"a": "{}"}}}})", name)),
                HasSubstr("is not the name of a file in its folder"))
        << name;
  }
  EXPECT_THAT(message("[]"), HasSubstr("it has no 'weight_map'"));
  EXPECT_THAT(message(R"({"metadata": {}, "weight_map": {"x": "c.safetensors"}})"),
              HasSubstr("model.safetensors.index.json: its shard 'c.safetensors' is not in the "
                        "folder; copy it there"));
  EXPECT_THAT(message(R"({"weight_map": {"x": "a.safetensors", "y": "b.safetensors"}})"),
              AllOf(HasSubstr("b.safetensors"), HasSubstr("is given twice")));
}

TEST(HostileCheckpoint, RefusesTruncatedWeights) {
  const ScratchFolder folder;
  const TinyCheckpoint tiny = TinyCheckpoint::bert();
  tiny.write(folder.path());
  const std::string whole = tiny.weights();
  write_bytes(folder / "model.safetensors", whole.substr(0, whole.size() - 1));
  EXPECT_THAT(message_in(folder),
              AllOf(HasSubstr("is damaged or truncated"), Not(HasSubstr("\n"))));
}

std::string bert_with(const std::string& more) {
  return R"({"model_type": "bert", "vocab_size": 10, "hidden_size": 4, "num_hidden_layers": 1,
             "num_attention_heads": 1, "intermediate_size": 4, "max_position_embeddings": 8,
             "type_vocab_size": 2, "layer_norm_eps": 1e-12, "_name_or_path": "x")" +
         more + "}";
}

TEST(ConfigFields, DocumentationHasTheTableOfTheCode) {
  std::ifstream file(std::filesystem::path(ATTNSCOPE_SOURCE_DIR) / "docs/checkpoints.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  EXPECT_THAT(page, HasSubstr(checkpoint_fields_table()));
}

TEST(ConfigFields, NamesUnknownFields) {
  const auto named = read_model_config(bert_with(R"(, "spectral_norm": true)"), "config.json");
  ASSERT_TRUE(named) << named.error().message;
  EXPECT_THAT(named->unknown_fields, ElementsAre("spectral_norm"));
  EXPECT_THAT(read_model_config(bert_with(""), "config.json")->unknown_fields, IsEmpty());
}

TEST(ConfigFields, RefusesFieldsThatChangeLoading) {
  const auto error = [](const std::string& more) {
    const auto read = read_model_config(bert_with(more), "config.json");
    return read ? std::string("read") : read.error().message;
  };
  EXPECT_THAT(error(R"(, "auto_map": {"AutoModel": "code.Model"})"),
              HasSubstr("'auto_map' names code"));
  EXPECT_THAT(error(R"(, "quantization_config": {"bits": 4})"), HasSubstr("are quantized"));
  EXPECT_THAT(error(R"(, "pruned_heads": {"0": [1]})"), HasSubstr("heads were removed"));
  EXPECT_EQ(error(R"(, "pruned_heads": {}, "auto_map": null)"), "read");
}

}  // namespace
}  // namespace attnscope
