// SPDX-License-Identifier: Apache-2.0
//
// Checkpoints that are not what they say: each ends in one sentence with the names.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/checkpoint/checkpoint.h"
#include "tests/checkpoint/tiny_checkpoint.h"
#include "tests/safetensors/scratch_folder.h"

namespace attnscope {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using tests::ScratchFolder;
using tests::TinyCheckpoint;
using tests::write_bytes;

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

TEST(HostileCheckpoint, AMissingTensorIsNamed) {
  TinyCheckpoint tiny = TinyCheckpoint::bert();
  tiny.tensors.erase("bert.encoder.layer.1.output.dense.bias");
  EXPECT_THAT(message_for(tiny), HasSubstr("missing: 'bert.encoder.layer.1.output.dense.bias'"));
}

TEST(HostileCheckpoint, ManyMissingTensorsAreAFewNamesAndACount) {
  EXPECT_THAT(with_config("num_hidden_layers", "3"),
              AllOf(HasSubstr("'bert.encoder.layer.2.attention.self.query.weight'"),
                    HasSubstr(" and 13 more")));
}

TEST(HostileCheckpoint, AnotherShapeIsNamedWithBoth) {
  TinyCheckpoint tiny = TinyCheckpoint::bert();
  tiny.config["num_labels"] = "1";
  tiny.tensors["classifier.weight"] = {{2, 8}};
  EXPECT_THAT(message_for(tiny), HasSubstr("'classifier.weight' [2, 8], not [1, 8]"));
}

TEST(HostileCheckpoint, AnotherTypeIsNamed) {
  TinyCheckpoint tiny = TinyCheckpoint::bert();
  tiny.tensors["classifier.bias"].dtype = "I64";
  EXPECT_THAT(message_for(tiny),
              HasSubstr("convert to contiguous F32, F16, BF16 or F64: 'classifier.bias' I64"));
}

TEST(HostileCheckpoint, EveryKindOfFaultIsSaidAtOnce) {
  TinyCheckpoint tiny = TinyCheckpoint::bert();
  tiny.config["num_labels"] = "1";
  tiny.tensors.erase("classifier.bias");
  tiny.tensors["classifier.weight"] = {{2, 8}};
  EXPECT_THAT(message_for(tiny), AllOf(HasSubstr("missing: 'classifier.bias'"),
                                       HasSubstr("'classifier.weight' [2, 8], not [1, 8]")));
}

TEST(HostileCheckpoint, WhatBertDoesNotComputeIsDeclined) {
  EXPECT_THAT(with_config("hidden_act", "\"relu\""), HasSubstr("'hidden_act' is 'relu'"));
  EXPECT_THAT(with_config("position_embedding_type", "\"relative_key\""),
              HasSubstr("only absolute position embeddings"));
  EXPECT_THAT(with_config("is_decoder", "true"), HasSubstr("'is_decoder' is true"));
  EXPECT_THAT(
      with_config("model_type", "\"deberta\""),
      AllOf(HasSubstr("'model_type' is 'deberta', whose attention adds terms of relative position"),
            HasSubstr(" are read here")));
  EXPECT_THAT(with_config("model_type", "\"t5\""),
              AllOf(HasSubstr("'model_type' is 't5'; models of the types bert, longformer, "),
                    HasSubstr(" are read here")));
  EXPECT_THAT(with_config("architectures", R"(["BertForQuestionAnswering"])"),
              HasSubstr("'BertForQuestionAnswering'"));
}

TEST(HostileCheckpoint, SizesThatContradictEachOtherAreDeclined) {
  EXPECT_THAT(with_config("num_attention_heads", "3"),
              HasSubstr("'hidden_size' of 8, which its 3 heads do not divide"));
  EXPECT_THAT(with_config("hidden_size", "0"), HasSubstr("'hidden_size' must be a whole number"));
  EXPECT_THAT(with_config("vocab_size", "1e300"), HasSubstr("'vocab_size' must be a whole number"));
  EXPECT_THAT(with_config("layer_norm_eps", "\"small\""), HasSubstr("'layer_norm_eps' must be"));
}

TEST(HostileCheckpoint, OtherGroupsThanTheQuerysAreDeclined) {
  EXPECT_THAT(with_config("doc_query_attention", "false"),
              HasSubstr("disables attention between groups other than"));
  EXPECT_THAT(with_config("query_cls_attention", "false"),
              HasSubstr("disables attention between groups other than"));
}

TEST(HostileCheckpoint, ALongformersWindowsAreOneALayer) {
  const TinyCheckpoint tiny = TinyCheckpoint::longformer();
  EXPECT_THAT(with_config("attention_window", "[8, 16, 8]", tiny), HasSubstr("has 3 windows"));
  EXPECT_THAT(with_config("attention_window", "7", tiny), HasSubstr("is odd"));
  EXPECT_THAT(with_config("attention_window", "[]", tiny), HasSubstr("is an empty list"));
  EXPECT_THAT(with_config("pad_token_id", "63", tiny), HasSubstr("leaves no position"));
}

TEST(HostileCheckpoint, AFolderThatIsNoneIsNamed) {
  const ScratchFolder folder;
  EXPECT_THAT(message_in(folder), HasSubstr("there is no model's configuration"));
  write_bytes(folder / "config.json", TinyCheckpoint::bert().config_json());
  EXPECT_THAT(
      message_in(folder),
      HasSubstr("there is none of model.safetensors, model.safetensors.index.json, pytorch_"));
}

TEST(HostileCheckpoint, ALinkThatLeadsNowhereIsNotAFileThatIsAbsent) {
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

TEST(HostileCheckpoint, AnIndexMayNotLeadOutOfTheFolder) {
  const ScratchFolder folder;
  write_bytes(folder / "config.json", TinyCheckpoint::bert().config_json());
  for (const std::string name : {"../x.safetensors", "/etc/passwd", "..", ""}) {
    write_bytes(folder / "model.safetensors.index.json",
                fmt::format(R"({{"weight_map": {{"a": "{}"}}}})", name));
    EXPECT_THAT(message_in(folder), HasSubstr("is no name of a file in its folder")) << name;
  }
  write_bytes(folder / "model.safetensors.index.json", "[]");
  EXPECT_THAT(message_in(folder), HasSubstr("it has no 'weight_map'"));
}

TEST(HostileCheckpoint, AShardThatIsNotThereIsNamed) {
  const ScratchFolder folder;
  write_bytes(folder / "config.json", TinyCheckpoint::bert().config_json());
  write_bytes(folder / "model.safetensors.index.json",
              R"({"metadata": {}, "weight_map": {"x": "a.safetensors"}})");
  EXPECT_THAT(message_in(folder),
              HasSubstr("model.safetensors.index.json: its shard 'a.safetensors' is not in the "
                        "folder; copy it there"));
}

TEST(HostileCheckpoint, ATensorInTwoShardsIsNamed) {
  const ScratchFolder folder;
  const TinyCheckpoint tiny = TinyCheckpoint::bert();
  write_bytes(folder / "config.json", tiny.config_json());
  write_bytes(folder / "a.safetensors", tiny.weights());
  write_bytes(folder / "b.safetensors", tiny.weights());
  write_bytes(folder / "model.safetensors.index.json",
              R"({"weight_map": {"x": "a.safetensors", "y": "b.safetensors"}})");
  EXPECT_THAT(message_in(folder), AllOf(HasSubstr("b.safetensors"), HasSubstr("is given twice")));
}

TEST(HostileCheckpoint, WeightsCutShortEndInASentence) {
  const ScratchFolder folder;
  const TinyCheckpoint tiny = TinyCheckpoint::bert();
  tiny.write(folder.path());
  const std::string whole = tiny.weights();
  write_bytes(folder / "model.safetensors", whole.substr(0, whole.size() - 1));
  EXPECT_THAT(message_in(folder), AllOf(HasSubstr("was cut short"), Not(HasSubstr("\n"))));
}

}  // namespace
}  // namespace attnscope
