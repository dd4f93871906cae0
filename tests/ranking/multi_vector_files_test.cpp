// SPDX-License-Identifier: Apache-2.0
//
// Late-interaction encoders whose files request an unsupported computation are refused with file
// and field. tests/golden/checkpoints_test.cpp tests the supported ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <string>

#include "engine/ranking/scoring_model.h"
#include "tests/safetensors/scratch_folder.h"

namespace attnscope {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

class MultiVectorFiles : public testing::Test {
 protected:
  /// A golden folder with one text of one file replaced.
  [[nodiscard]] std::string error_of(const std::string& golden, const std::string& file,
                                     const std::string& text, const std::string& by) const {
    const fs::path from = fs::path(ATTNSCOPE_SOURCE_DIR) / "tests/golden/checkpoints" / golden;
    const fs::path folder = scratch_ / golden;
    fs::remove_all(folder);
    fs::copy(from, folder, fs::copy_options::recursive);
    std::ifstream in(folder / file);
    std::string all{std::istreambuf_iterator<char>(in), {}};
    const std::size_t at = all.find(text);
    EXPECT_NE(at, std::string::npos) << text;
    all.replace(at, text.size(), by);
    std::ofstream(folder / file) << all;
    const auto model = ScoringModel::open({.checkpoint = folder});
    return model ? "" : model.error().message;
  }
  void expect_refused(const std::string& golden, const std::string& file, const std::string& text,
                      const std::string& by, std::initializer_list<const char*> words) const {
    const std::string error = error_of(golden, file, text, by);
    for (const char* each : words) EXPECT_THAT(error, HasSubstr(each)) << golden << ": " << by;
  }

  tests::ScratchFolder scratch_;
};

TEST_F(MultiVectorFiles, UnsupportedValuesAreNamed) {
  expect_refused("pylate-bert", "config_sentence_transformers.json", "[Q] ", "[QUERY]",
                 {"no token '[QUERY]'", "marks"});
  expect_refused("stanford-bert", "artifact.metadata", "cosine", "l2",
                 {"artifact.metadata", "'similarity'", "'l2'"});
  expect_refused("stanford-bert", "artifact.metadata", "{", R"({"config": {}, )",
                 {"artifact.metadata", "top level"});
  expect_refused("pylate-bert", "modules.json", "pylate.models.Dense.Dense",
                 "sentence_transformers.models.Pooling", {"modules.json", "no Dense"});
  expect_refused("encoder-fixed", "modules.json", "multi_vector_mask.MultiVectorMask",
                 "token_pooling.HierarchicalTokenPooling",
                 {"modules.json", "HierarchicalTokenPooling"});
  expect_refused("encoder-fixed", "sentence_bert_config.json", R"("length": 12)",
                 R"("length": 500)", {"500", "has 96 positions"});
  expect_refused("encoder-longer", "sentence_bert_config.json", "[UNK]", "[NONE]",
                 {"'query_expansion.token' is '[NONE]', which is not a token"});
  expect_refused("encoder-longer", "sentence_bert_config.json", "[UNK]", "[SEP]",
                 {"'query_expansion.token' is '[SEP]', which also ends queries"});
  expect_refused("encoder-fixed", "tokenizer.json", R"("padding": null)",
                 R"("padding": {"direction": "Left", "pad_token": "[PAD]"})",
                 {"tokenizer.json: 'padding.direction'", "expanded on the left"});
  expect_refused("encoder-fixed", "tokenizer_config.json", "{",
                 R"({"model_input_names": ["input_ids"], )", {"has no 'attention_mask'"});
  // The mask is normalized to another text.
  expect_refused("pylate-bert", "tokenizer_config.json", "{",
                 R"({"mask_token": {"content": "[MASK]", "normalized": true}, )"
                 R"("added_tokens_decoder": {"4": {"content": "[MASK]", "normalized": true}, )"
                 R"("114": {"content": "[Q] "}, "115": {"content": "[D] "}}, )",
                 {"'mask_token' is '[MASK]'", "'[mask]'"});
}

TEST_F(MultiVectorFiles, ADocumentCutByPositionsMayNotContainThePaddingToken) {
  const fs::path golden =
      fs::path(ATTNSCOPE_SOURCE_DIR) / "tests/golden/checkpoints/pylate-roberta";
  const fs::path folder = scratch_ / "roberta";
  fs::copy(golden, folder, fs::copy_options::recursive);
  const auto error = [&](const std::string& length) {
    tests::write_bytes(folder / "config_sentence_transformers.json",
                       R"({"model_type": "ColBERT", "document_length": )" + length + "}");
    const auto model = ScoringModel::open({.checkpoint = folder});
    if (!model) return model.error().message;
    std::string text = "<pad>";
    for (int i = 0; i < 500; ++i) text += " a";
    const auto ids = model->tokenizer->encode_document(text, model->limits.most_document_tokens);
    return ids ? std::string() : ids.error().message;
  };
  EXPECT_EQ(error("20"), "");
  EXPECT_THAT(error("500"), AllOf(HasSubstr("'<pad>'"), HasSubstr("takes no position")));
}

TEST_F(MultiVectorFiles, ALabelIsRefused) {
  const auto model = ScoringModel::open(
      {.checkpoint = fs::path(ATTNSCOPE_SOURCE_DIR) / "tests/golden/checkpoints/pylate-bert",
       .label = "1"});
  ASSERT_FALSE(model);
  EXPECT_THAT(model.error().message, HasSubstr("remove --label"));
}

}  // namespace
}  // namespace attnscope
