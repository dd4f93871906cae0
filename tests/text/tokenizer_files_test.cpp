// SPDX-License-Identifier: Apache-2.0
//
// The files a checkpoint's folder may have for its tokenizer.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/text/word_piece.h"
#include "tests/safetensors/scratch_folder.h"

namespace attnscope {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using tests::ScratchFolder;
using tests::write_bytes;

constexpr std::string_view cased_vocabulary = "[UNK]\n[CLS]\n[SEP]\ne\né\nE\nÉ\nab\n##c\n";

std::string tokenizer(const std::string& normalizer, const std::string& more = "",
                      const std::string& model = "WordPiece") {
  return R"({"normalizer": {"type": "BertNormalizer")" + normalizer +
         R"(}, "pre_tokenizer": {"type": "BertPreTokenizer"}, "padding": null)" + more +
         R"(, "model": {"type": ")" + model +
         R"(", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 3,
            "vocab": {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "e": 3, "é": 4, "E": 5, "É": 6, "ab": 7,
                      "##c": 8}}})";
}

Result<WordPiece> open_json(const std::string& text) {
  const ScratchFolder folder;
  write_bytes(folder / "tokenizer.json", text);
  return WordPiece::open(folder.path());
}

std::string tokenizer_error(const std::string& text) {
  const auto opened = open_json(text);
  return opened ? "opened" : opened.error().message;
}

TEST(TokenizerFiles, AVocabularyAloneIsUncased) {
  const ScratchFolder folder;
  write_bytes(folder / "vocab.txt", cased_vocabulary);
  const auto pieces = WordPiece::open(folder.path());
  ASSERT_TRUE(pieces.has_value()) << pieces.error().message;
  EXPECT_THAT(pieces->tokenize("É abc"), ElementsAre(3, 7, 8));
}

TEST(TokenizerFiles, TheConfigurationBesideAVocabularySaysWhatBecomesOfCapitals) {
  const ScratchFolder folder;
  write_bytes(folder / "vocab.txt", cased_vocabulary);
  write_bytes(folder / "tokenizer_config.json",
              R"({"do_lower_case": false, "model_max_length": 512})");
  const auto cased = WordPiece::open(folder.path());
  ASSERT_TRUE(cased.has_value()) << cased.error().message;
  EXPECT_THAT(cased->tokenize("É"), ElementsAre(6));
  write_bytes(folder / "tokenizer_config.json",
              R"({"do_lower_case": true, "strip_accents": false})");
  EXPECT_THAT(WordPiece::open(folder.path())->tokenize("É"), ElementsAre(4));
}

TEST(TokenizerFiles, TokenizerJsonIsReadBeforeAVocabulary) {
  const ScratchFolder folder;
  write_bytes(folder / "vocab.txt", "[UNK]\n[CLS]\n[SEP]\n");
  write_bytes(folder / "tokenizer.json", tokenizer(""));
  EXPECT_THAT(WordPiece::open(folder.path())->tokenize("É ab"), ElementsAre(3, 7));
}

TEST(TokenizerFiles, TheNormalisersRulesAreHonoured) {
  EXPECT_THAT(open_json(tokenizer(R"(, "lowercase": false)"))->tokenize("É"), ElementsAre(6));
  EXPECT_THAT(open_json(tokenizer(R"(, "lowercase": false, "strip_accents": true)"))->tokenize("É"),
              ElementsAre(5));
  EXPECT_THAT(open_json(tokenizer(R"(, "strip_accents": false)"))->tokenize("É"), ElementsAre(4));
}

TEST(TokenizerFiles, ALongWordIsUnknownByTheFilesOwnMeasure) {
  EXPECT_THAT(open_json(tokenizer(""))->tokenize("abc abcc"), ElementsAre(7, 8, 0));
}

TEST(TokenizerFiles, AddedTokensAreFoundInTheRawText) {
  const auto pieces =
      open_json(tokenizer("", R"(, "added_tokens": [{"id": 9, "content": "<DOC>", "special": true,
                          "normalized": false, "lstrip": false}])"));
  ASSERT_TRUE(pieces.has_value()) << pieces.error().message;
  EXPECT_THAT(pieces->tokenize("e<DOC>e"), ElementsAre(3, 9, 3));
  EXPECT_EQ(pieces->token(9), "<DOC>");
}

TEST(TokenizerFiles, WhatWouldMakeOtherTokensIsDeclined) {
  EXPECT_THAT(tokenizer_error(tokenizer("", "", "BPE")),
              HasSubstr("tokenizer.json: its 'model' is 'BPE', and only BERT's tokenizer"));
  EXPECT_THAT(tokenizer_error(R"({"model": {"type": "WordPiece"}, "normalizer": {"type": "NFC"}})"),
              HasSubstr("its 'normalizer' is 'NFC'"));
  EXPECT_THAT(tokenizer_error(tokenizer("", R"(, "added_tokens": [{"id": 9, "content": "x",
                                             "single_word": true}])")),
              HasSubstr("the added token 'x' is 'single_word'"));
  EXPECT_THAT(tokenizer_error(tokenizer("", R"(, "added_tokens": [{"id": 3, "content": "x"}])")),
              HasSubstr("the added token 'x' has id 3, and its vocabulary says otherwise"));
}

TEST(TokenizerFiles, ABrokenFileEndsInASentence) {
  EXPECT_THAT(tokenizer_error("{"), HasSubstr("tokenizer.json: is no JSON"));
  EXPECT_THAT(tokenizer_error("[]"), HasSubstr("is no JSON object"));
  EXPECT_THAT(tokenizer_error(tokenizer(R"(, "lowercase": 1)")),
              HasSubstr("'lowercase' is neither true nor false"));
}

TEST(TokenizerFiles, AFolderWithoutEitherSaysWhatBelongsThere) {
  const ScratchFolder folder;
  const auto opened = WordPiece::open(folder.path());
  ASSERT_FALSE(opened.has_value());
  EXPECT_THAT(opened.error().message, HasSubstr("neither tokenizer.json nor vocab.txt"));
}

}  // namespace
}  // namespace attnscope
