// SPDX-License-Identifier: Apache-2.0
//
// Late-interaction encoders whose files ask for what is not computed here: each is refused with its
// file and field. What is computed is tests/golden/checkpoints_test.cpp.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
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

  tests::ScratchFolder scratch_;
};

TEST_F(MultiVectorFiles, AMarkerThatIsNoTokenIsNamed) {
  EXPECT_THAT(error_of("pylate-bert", "config_sentence_transformers.json", "[Q] ", "[QUERY]"),
              AllOf(HasSubstr("no token '[QUERY]'"), HasSubstr("marks")));
}

TEST_F(MultiVectorFiles, OtherSimilaritiesAndWrappedSettingsAreRefused) {
  EXPECT_THAT(error_of("stanford-bert", "artifact.metadata", "cosine", "l2"),
              AllOf(HasSubstr("artifact.metadata"), HasSubstr("'similarity'"), HasSubstr("'l2'")));
  EXPECT_THAT(error_of("stanford-bert", "artifact.metadata", "{", "{\"config\": {}, "),
              AllOf(HasSubstr("artifact.metadata"), HasSubstr("top level")));
}

TEST_F(MultiVectorFiles, APyLateFolderWithoutDenseWouldBeRandom) {
  EXPECT_THAT(error_of("pylate-bert", "modules.json", "pylate.models.Dense.Dense",
                       "sentence_transformers.models.Pooling"),
              AllOf(HasSubstr("modules.json"), HasSubstr("no Dense")));
}

TEST_F(MultiVectorFiles, ModulesThatAreNotComputedAreNamed) {
  EXPECT_THAT(error_of("encoder-fixed", "modules.json", "multi_vector_mask.MultiVectorMask",
                       "token_pooling.HierarchicalTokenPooling"),
              AllOf(HasSubstr("modules.json"), HasSubstr("HierarchicalTokenPooling")));
}

TEST_F(MultiVectorFiles, AnExpansionIsChecked) {
  EXPECT_THAT(
      error_of("encoder-fixed", "sentence_bert_config.json", "\"length\": 12", "\"length\": 500"),
      AllOf(HasSubstr("500"), HasSubstr("has 96 positions")));
  EXPECT_THAT(error_of("encoder-longer", "sentence_bert_config.json", "[UNK]", "[NONE]"),
              HasSubstr("'query_expansion.token' is '[NONE]', which is not a token"));
  EXPECT_THAT(error_of("encoder-longer", "sentence_bert_config.json", "[UNK]", "[SEP]"),
              HasSubstr("'query_expansion.token' is '[SEP]', which also ends queries"));
}

TEST_F(MultiVectorFiles, PaddingAtTheLeftAndAModelWithoutAMaskAreRefused) {
  EXPECT_THAT(
      error_of("encoder-fixed", "tokenizer.json", "\"padding\": null",
               R"("padding": {"direction": "Left", "pad_token": "[PAD]"})"),
      AllOf(HasSubstr("tokenizer.json: 'padding.direction'"), HasSubstr("expanded on the left")));
  EXPECT_THAT(error_of("encoder-fixed", "tokenizer_config.json", "{",
                       R"({"model_input_names": ["input_ids"], )"),
              HasSubstr("has no 'attention_mask'"));
}

TEST_F(MultiVectorFiles, ADocumentThatIsCutByPositionsHasNoPaddingInIt) {
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

TEST_F(MultiVectorFiles, AMaskThatIsNormalizedToAnotherTextIsRefusedOfPyLate) {
  EXPECT_THAT(
      error_of("pylate-bert", "tokenizer_config.json", "{",
               R"({"mask_token": {"content": "[MASK]", "normalized": true}, )"
               R"("added_tokens_decoder": {"4": {"content": "[MASK]", "normalized": true}, )"
               R"("114": {"content": "[Q] "}, "115": {"content": "[D] "}}, )"),
      AllOf(HasSubstr("'mask_token' is '[MASK]'"), HasSubstr("'[mask]'")));
}

TEST_F(MultiVectorFiles, ALabelIsOfOtherModels) {
  const auto model = ScoringModel::open(
      {.checkpoint = fs::path(ATTNSCOPE_SOURCE_DIR) / "tests/golden/checkpoints/pylate-bert",
       .label = "1"});
  ASSERT_FALSE(model);
  EXPECT_THAT(model.error().message, HasSubstr("remove --label"));
}

}  // namespace
}  // namespace attnscope
