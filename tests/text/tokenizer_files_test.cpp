// SPDX-License-Identifier: Apache-2.0
//
// The files a checkpoint's folder may have for its tokenizer.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>

#include "engine/text/subword_file.h"
#include "engine/text/subword_tokenizer.h"
#include "engine/text/tokenizer_folder.h"
#include "tests/safetensors/scratch_folder.h"

namespace attnscope {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using tests::ScratchFolder;
using tests::write_bytes;

constexpr std::string_view cased_vocabulary = "[UNK]\n[CLS]\n[SEP]\ne\né\nE\nÉ\nab\n##c\n";

/// The fields of BERT's normalizer are given unless `normalizer` has them.
std::string tokenizer(const std::string& normalizer, const std::string& more = "",
                      const std::string& model = "WordPiece") {
  std::string rules = normalizer;
  for (const std::string name : {"clean_text", "handle_chinese_chars", "lowercase"})
    if (normalizer.find(name) == std::string::npos) rules += ", \"" + name + "\": true";
  return R"({"normalizer": {"type": "BertNormalizer")" + rules +
         R"(}, "pre_tokenizer": {"type": "BertPreTokenizer"}, "padding": null)" + more +
         R"(, "model": {"type": ")" + model +
         R"(", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 3,
            "vocab": {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "e": 3, "é": 4, "E": 5, "É": 6, "ab": 7,
                      "##c": 8}}})";
}

/// A folder's tokenizer.
Result<SubwordTokenizer> open_files(const std::map<std::string, std::string>& files,
                                    const TokenizerExtras& extras = {}) {
  const ScratchFolder folder;
  for (const auto& [name, text] : files) write_bytes(folder / name, text);
  return SubwordTokenizer::open(folder.path(), extras);
}

Result<SubwordTokenizer> open_json(const std::string& text) {
  return open_files({{"tokenizer.json", text}});
}

Result<SubwordTokenizer> open_with(const std::string& json, const std::string& config,
                                   const TokenizerExtras& extras = {}) {
  return open_files({{"tokenizer.json", json}, {"tokenizer_config.json", config}}, extras);
}

std::string tokenizer_error(const std::string& text) {
  const auto opened = open_json(text);
  return opened ? "opened" : opened.error().message;
}

TEST(TokenizerFiles, ReadsAVocabularyUncasedUnlessItsConfigurationStatesCase) {
  const std::string vocabulary(cased_vocabulary);
  const auto pieces = open_files({{"vocab.txt", vocabulary}});
  ASSERT_TRUE(pieces.has_value()) << pieces.error().message;
  EXPECT_THAT(*pieces->tokenize("É abc"), ElementsAre(3, 7, 8));
  const auto with = [&](const std::string& config) {
    return *open_files({{"vocab.txt", vocabulary}, {"tokenizer_config.json", config}})
                ->tokenize("É");
  };
  EXPECT_THAT(with(R"({"do_lower_case": false, "model_max_length": 512})"), ElementsAre(6));
  EXPECT_THAT(with(R"({"do_lower_case": true, "strip_accents": false})"), ElementsAre(4));
}

TEST(TokenizerFiles, TokenizerJsonTakesPrecedenceOverAVocabulary) {
  const auto pieces =
      open_files({{"vocab.txt", "[UNK]\n[CLS]\n[SEP]\n"}, {"tokenizer.json", tokenizer("")}});
  EXPECT_THAT(*pieces->tokenize("É ab"), ElementsAre(3, 7));
  EXPECT_THAT(*pieces->tokenize("abc abcc"), ElementsAre(7, 8, 0)) << "a long word is unknown";
}

TEST(TokenizerFiles, AppliesTheNormalizersRules) {
  for (const auto& [rules, id] : {std::pair(R"(, "lowercase": false)", 6),
                                  std::pair(R"(, "lowercase": false, "strip_accents": true)", 5),
                                  std::pair(R"(, "strip_accents": false)", 4)}) {
    EXPECT_THAT(*open_json(tokenizer(rules))->tokenize("É"), ElementsAre(id)) << rules;
  }
}

TEST(TokenizerFiles, FindsAddedTokensInTheRawText) {
  const auto pieces =
      open_json(tokenizer("", R"(, "added_tokens": [{"id": 9, "content": "<DOC>", "special": true,
                          "normalized": false, "lstrip": false}])"));
  ASSERT_TRUE(pieces.has_value()) << pieces.error().message;
  EXPECT_THAT(*pieces->tokenize("e<DOC>e"), ElementsAre(3, 9, 3));
  EXPECT_EQ(pieces->token(9), "<DOC>");
}

TEST(TokenizerFiles, ReadsPaddingTokenAndSideOfTokenizerJson) {
  std::string json = tokenizer("");
  json.replace(json.find("\"padding\": null"), 15,
               R"("padding": {"strategy": "BatchLongest", "direction": "Left", "pad_to_multiple_of":
                   null, "pad_id": 3, "pad_type_id": 0, "pad_token": "e"})");
  const auto by_json = open_with(json, "{}");
  ASSERT_TRUE(by_json.has_value()) << by_json.error().message;
  EXPECT_THAT(*by_json->tokenize("abe"), ElementsAre(7, 3));
  EXPECT_THAT(by_json->parts().pads_left_by, HasSubstr("tokenizer.json: 'padding.direction'"));
  const auto by_config = open_with(json, R"({"pad_token": null, "padding_side": "right"})");
  EXPECT_THAT(*by_config->tokenize("abe"), ElementsAre(0));
  EXPECT_EQ(by_config->parts().pads_left_by, "");
  const auto padded = open_with(json, "{}", {.is_padded = true});
  EXPECT_THAT(padded.error().message,
              AllOf(HasSubstr("'padding.direction' is left"), HasSubstr("'processing_kwargs'")));
}

TEST(TokenizerFiles, RefusesPaddingWithoutAMask) {
  const std::string config = R"({"model_input_names": ["input_ids"]})";
  EXPECT_FALSE(open_with(tokenizer(""), config)->parts().gives_mask);
  EXPECT_THAT(open_with(tokenizer(""), config, {.is_padded = true}).error().message,
              HasSubstr("has no 'attention_mask'"));
}

TEST(TokenizerFiles, RefusesAClassThatBuildsAnotherModel) {
  EXPECT_THAT(
      open_with(tokenizer(""), R"({"tokenizer_class": "RobertaTokenizer"})").error().message,
      AllOf(HasSubstr("tokenizer.json: its 'model' is not the BPE that RobertaTokenizer"),
            HasSubstr("PreTrainedTokenizerFast")));
}

TEST(TokenizerFiles, TheLastFlagsOfATokenCount) {
  const auto pieces = open_with(tokenizer(""), R"({"eos_token": "ab", "sep_token":
                                    {"content": "ab", "single_word": true, "normalized": false}})");
  ASSERT_TRUE(pieces.has_value()) << pieces.error().message;
  EXPECT_THAT(*pieces->tokenize("eabe"), ElementsAre(0));
}

TEST(TokenizerFiles, AMarkerLosesItsFlags) {
  const auto pieces = open_with(tokenizer("", R"(, "added_tokens": [{"id": 7, "content": "ab",
                                    "single_word": true, "normalized": false}])"),
                                "{}", {.markers = {"ab"}});
  ASSERT_TRUE(pieces.has_value()) << pieces.error().message;
  EXPECT_THAT(*pieces->tokenize("eABe"), ElementsAre(3, 7, 3));
}

TEST(TokenizerFiles, TheLastTokenIsSpecialIfItIsNamed) {
  EXPECT_FALSE(open_with(tokenizer(""), "{}")->parts().last_is_special);
  EXPECT_TRUE(open_with(tokenizer(""), R"({"sep_token": "[SEP]"})")->parts().last_is_special);
}

TEST(TokenizerFiles, RefusesToTruncateAPairWithATokenWithoutPosition) {
  const auto pieces = open_json(tokenizer(""));
  EXPECT_TRUE(pieces->encode("ab", "e ab ab", {.most_tokens = 7, .without_position = 3}));
  EXPECT_TRUE(pieces->encode("ab", "ab ab ab", {.most_tokens = 6, .without_position = 3}));
  const auto cut = pieces->encode("ab", "e ab ab", {.most_tokens = 6, .without_position = 3});
  ASSERT_FALSE(cut);
  EXPECT_THAT(cut.error().message, AllOf(HasSubstr("more than 6 tokens, among them 'e'"),
                                         HasSubstr("model_max_length")));
}

TEST(TokenizerFiles, RefusesUnknownPartsByNameAndPlace) {
  for (const auto& [json, error] : {
           std::pair(tokenizer("", "", "Other"),
                     "tokenizer.json, line 1: 'model.type' is the unknown model 'Other'"),
           {R"({"normalizer": {"type": "Sequence", "normalizers": [
                                   {"type": "NFC"}, {"type": "Other"}]}})",
            "line 2: 'normalizer.normalizers[1].type' is the unknown normalizer"},
           {R"({"pre_tokenizer": {"type": "Other"}})",
            "'pre_tokenizer.type' is the unknown pre-tokenizer 'Other'"},
           {tokenizer("", R"(, "post_processor": {"type": "Other"})"),
            "'post_processor.type' is the unknown post-processor 'Other'"},
           {tokenizer("", R"(, "added_tokens": [{"id": 9, "content": "X", "normalized": true},
                                                {"id": 10, "content": "x", "normalized": true}])"),
            "'added_tokens' has several tokens that are 'x' when normalized"},
           {tokenizer("",
                      R"(, "added_tokens": [{"id": 9, "content": "\u0001", "normalized": true}])"),
            "'added_tokens[0]' is a token that the normalizer removes completely"},
           {tokenizer("", R"(, "other": 1)"), "'other' is an unknown field"},
           {tokenizer("", R"(, "version": "2.0")"), "'version' is the unknown version '2.0'"},
           {tokenizer("", R"(, "decoder": {"type": "Other"})"),
            "'decoder.type' is the unknown decoder 'Other'"},
           {"{", "tokenizer.json, line 1"},
           {"[]", "tokenizer.json, line 1: the file"},
           {tokenizer(R"(, "lowercase": 1)"),
            "'normalizer.lowercase' must be true or false, not 1"},
       }) {
    EXPECT_THAT(tokenizer_error(json), HasSubstr(error));
  }
}

TEST(TokenizerFiles, RefusesRulesThatLengthenTextsTooMuch) {
  const std::string longer = R"({"type": "Replace", "pattern": {"String": "a"}, "content": ")" +
                             std::string(200, 'a') + "\"}";
  EXPECT_THAT(tokenizer_error(R"({"normalizer": {"type": "Sequence", "normalizers": [)" + longer +
                              "," + longer + "]}}"),
              HasSubstr("'normalizer.normalizers[1]' would make texts thousands of times as long"));
  std::string marks = R"({"type": "Metaspace", "replacement": "▁"})";
  for (int doubled = 0; doubled < 3; ++doubled) marks += ", " + marks;
  EXPECT_THAT(
      tokenizer_error(R"({"pre_tokenizer": {"type": "Sequence", "pretokenizers": [)" + marks +
                      "]}}"),
      HasSubstr("'pre_tokenizer.pretokenizers[6]' would make texts thousands of times as long"));
}

/// A byte-level tokenizer: pieces of the bytes of "ab é" and of two merges.
std::string byte_pairs(const std::string& model = "", const std::string& parts = "") {
  return R"({"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false},
            "post_processor": {"type": "RobertaProcessing", "cls": ["<s>", 0], "sep": ["</s>", 1],
                                "trim_offsets": true, "add_prefix_space": false}, )" +
         parts + R"("model": {"type": "BPE", )" + model + R"("vocab": {"<s>": 0, "</s>": 1, "a": 2,
            "b": 3, "Ġ": 4, "Ã": 5, "©": 6, "ab": 7, "Ġab": 8, "Ã©": 9},
            "merges": ["a b", ["Ġ", "ab"]]}})";
}

TEST(TokenizerFiles, MergesBytePairsByRankAndShowsThemAsText) {
  const auto pieces = open_json(byte_pairs());
  ASSERT_TRUE(pieces.has_value()) << pieces.error().message;
  EXPECT_THAT(*pieces->tokenize("ab abé"), ElementsAre(7, 8, 5, 6));
  EXPECT_EQ(pieces->token(8), " ab");
  EXPECT_EQ(pieces->token(9), "é");
  EXPECT_EQ(pieces->token(6), "\\xA9");
  EXPECT_EQ(pieces->token(0), "<s>");
  EXPECT_THAT(*open_json(byte_pairs(R"("ignore_merges": true, )"))->tokenize("é"), ElementsAre(9));
}

TEST(TokenizerFiles, BuildsPairsOfRoberta) {
  const auto pieces = open_json(byte_pairs());
  const auto pair = pieces->encode("a", "ab ab", {.most_tokens = 6});
  ASSERT_TRUE(pair.has_value()) << pair.error().message;
  EXPECT_THAT(pair->query, ElementsAre(2, 1, 1));
  EXPECT_THAT(pair->document, ElementsAre(7, 1));
  EXPECT_TRUE(pair->document_cut);
  EXPECT_EQ(pieces->cls(), 0);
  EXPECT_EQ(pieces->document_type(), 0);
  const auto cut = pieces->encode("abab", "a", {.most_tokens = 5});
  EXPECT_THAT(cut->query, ElementsAre(7, 1, 1));
  EXPECT_THAT(cut->document, ElementsAre(1));
  EXPECT_TRUE(cut->query_cut);
  EXPECT_THAT(pieces->encode("abab", "a", {.most_tokens = 4}).error().message,
              HasSubstr("a limit of 4 tokens leaves none for a pair"));
}

TEST(TokenizerFiles, RefusesInvalidBytePairs) {
  EXPECT_THAT(tokenizer_error(byte_pairs(R"("dropout": 0.1, )")),
              HasSubstr("'model.dropout' is not supported"));
  std::string text = byte_pairs();
  text.replace(text.find("a b"), 3, "a c");
  EXPECT_THAT(tokenizer_error(text),
              HasSubstr("'model.merges[0]' needs the piece 'c', which has no id"));
}

TEST(TokenizerFiles, ReadsRobertasVocabularyAndMerges) {
  const ScratchFolder folder;
  write_bytes(folder / "config.json", R"({"model_type": "roberta"})");
  write_bytes(folder / "vocab.json",
              R"({"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3, "a": 4, "b": 5,
                                        "Ġ": 6, "ab": 7, "<mask>": 8})");
  EXPECT_THAT(SubwordTokenizer::open(folder.path()).error().message, HasSubstr("merges.txt"));
  write_bytes(folder / "merges.txt", "#version: 0.2\na b\n");
  const auto pieces = SubwordTokenizer::open(folder.path());
  ASSERT_TRUE(pieces.has_value()) << pieces.error().message;
  EXPECT_THAT(*pieces->tokenize("ab ab <mask>"), ElementsAre(7, 6, 7, 6, 8));
  EXPECT_THAT(pieces->encode("a", "b", {})->query, ElementsAre(4, 2, 2));
  write_bytes(folder / "tokenizer_config.json", R"({"add_prefix_space": true})");
  EXPECT_THAT(*SubwordTokenizer::open(folder.path())->tokenize("ab"), ElementsAre(6, 7));
  write_bytes(folder / "merges.txt", "a b c\n");
  EXPECT_THAT(SubwordTokenizer::open(folder.path()).error().message,
              AllOf(HasSubstr("'model.merges[0]' in "),
                    HasSubstr("vocab.json must be two pieces with a space between")));
}

std::string unigram(const std::string& more, const std::string& normalizer = "null") {
  return R"({"normalizer": )" + normalizer +
         R"(, "pre_tokenizer": {"type": "Metaspace", "replacement": "▁"},
            "post_processor": {"type": "BertProcessing", "cls": ["<s>", 0], "sep": ["</s>", 1]},
            "model": {"type": "Unigram", )" +
         more + R"("vocab": [["<s>", 0], ["</s>", 0], ["<unk>", 0], ["▁", -2], ["a", -2.5],
            ["▁a", -3.0], ["b", -2.9], ["ab", -4]]}})";
}

TEST(TokenizerFiles, UnigramFindsTheBestSegmentation) {
  const auto pieces = open_json(unigram(R"("unk_id": 2, )"));
  ASSERT_TRUE(pieces.has_value()) << pieces.error().message;
  EXPECT_THAT(*pieces->tokenize("ab a"), ElementsAre(5, 6, 5));
  EXPECT_THAT(*pieces->tokenize("aéöa"), ElementsAre(5, 2, 4));
  EXPECT_EQ(pieces->token(5), " a");
}

TEST(TokenizerFiles, RefusesAnInvalidUnigram) {
  EXPECT_THAT(open_json(unigram(""))->tokenize("aéa").error().message,
              HasSubstr("no piece for '▁aéa' and no unknown token"));
  EXPECT_THAT(tokenizer_error(unigram(R"("unk_id": 8, )")),
              HasSubstr("'model.unk_id' must be a whole number from 0 to 7"));
  const auto charsmap = [](const std::string& text) {
    return tokenizer_error(unigram(R"("unk_id": 2, )", R"({"type": "Precompiled",
                                   "precompiled_charsmap": ")" +
                                                           text + "\"}"));
  };
  EXPECT_THAT(charsmap("?"), HasSubstr("precompiled_charsmap' cannot be used: is not base64"));
  EXPECT_THAT(charsmap("AAAA"), HasSubstr("is truncated"));
  EXPECT_THAT(charsmap("CAAAAAAAAAA="), HasSubstr("states a trie of 8 bytes, but 4 follow"));
}

TEST(TokenizerFiles, ReportsAnExpressionThatExceedsItsLimits) {
  const auto with = [](const std::string& normalizer) {
    return open_json(unigram(R"("unk_id": 2, )", normalizer));
  };
  const auto slow =
      with(R"({"type": "Replace", "pattern": {"Regex": "(?:(?:a|a)*)*(?<=a)c"}, "content": "b"})");
  ASSERT_TRUE(slow.has_value()) << slow.error().message;
  EXPECT_THAT(*slow->tokenize("ac"), ElementsAre(3, 6));
  const std::string text = std::string(60, 'a') + "dc";
  EXPECT_THAT(
      slow->tokenize(text).error().message,
      HasSubstr("regular expression '(?:(?:a|a)*)*(?<=a)c' exceeds its limits on the text"));
  EXPECT_THAT(slow->encode("a", text, {}).error().message,
              HasSubstr("the document: the tokenizer's regular expression"));
  EXPECT_THAT(slow->encode_document(text, 9).error().message, HasSubstr("the document: "));
  EXPECT_THAT(
      with(R"({"type": "Replace", "pattern": {"Regex": "(a"}, "content": "b"})").error().message,
      HasSubstr("'normalizer.pattern.Regex' is a regular expression that is not supported: "
                "end pattern with unmatched parenthesis"));
}

TEST(TokenizerFiles, OnlyAVocabularyMayHaveDuplicateFields) {
  std::string text = tokenizer("");
  text.replace(text.find("\"e\": 3"), 6, "\"e\": 3, \"E\": 3, \"e\": 8");
  EXPECT_THAT(*open_json(text)->tokenize("e"), ElementsAre(8));
  EXPECT_THAT(tokenizer_error(tokenizer("", R"(, "truncation": {"a": 1, "a": 2})")),
              HasSubstr("field 'a' is given twice"));
}

TEST(TokenizerFiles, RefusesOtherTemplates) {
  const auto with_pair = [](const std::string& pair) {
    return tokenizer_error(tokenizer("", R"(, "post_processor": {"type": "TemplateProcessing",
        "single": [], "special_tokens": {"S": {"id": "S", "ids": [1], "tokens": ["[CLS]"]}},
        "pair": [)" + pair + "]}"));
  };
  const auto part = [](const std::string& kind, const std::string& id, int type) {
    return "{\"" + kind + R"(": {"id": ")" + id + R"(", "type_id": )" + std::to_string(type) + "}}";
  };
  const auto s = [&](int type) { return part("SpecialToken", "S", type); };
  const std::string a = part("Sequence", "A", 0), b = part("Sequence", "B", 1);
  EXPECT_EQ(with_pair(s(0) + "," + a + "," + s(0) + "," + b + "," + s(1)), "opened");
  EXPECT_THAT(with_pair(s(0) + "," + b + "," + s(0) + "," + a + "," + s(1)),
              HasSubstr("'post_processor.pair' is not '[CLS] query [SEP] document [SEP]'"));
  EXPECT_THAT(with_pair(a + "," + b), HasSubstr("'post_processor.pair' is not"));
  EXPECT_THAT(with_pair(s(0) + "," + a + "," + s(0) + "," + b + "," + s(2)),
              HasSubstr("'post_processor.pair' has other token types"));
  EXPECT_THAT(with_pair(part("SpecialToken", "T", 0)), HasSubstr("needs the field 'T'"));
}

TEST(TokenizerFiles, NamesTheMissingFilesOfAFolder) {
  const auto opened = open_files({});
  ASSERT_FALSE(opened.has_value());
  EXPECT_THAT(opened.error().message, HasSubstr("and no vocab.txt or vocab.json"));
}

TEST(TokenizerFiles, RefusesABrokenLink) {
  for (const char* name : {"tokenizer.json", "tokenizer_config.json", "vocab.txt", "vocab.json"}) {
    const ScratchFolder folder;
    if (std::string_view(name) == "tokenizer_config.json") {
      write_bytes(folder / "vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n");
    }
    std::filesystem::create_symlink("../../blobs/4f2a", folder / name);
    const auto opened = SubwordTokenizer::open(folder.path());
    ASSERT_FALSE(opened.has_value()) << name;
    EXPECT_THAT(opened.error().message, AllOf(HasSubstr(name), HasSubstr("is a link to"))) << name;
  }
}

}  // namespace
}  // namespace attnscope
