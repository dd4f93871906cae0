// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/text/golden_texts.h"

namespace attnscope {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// ids         0      1      2      3     4   5     6      7  8
constexpr std::string_view vocabulary =
    "[PAD]\n[UNK]\n[CLS]\n[SEP]\nhow\ntall\nis\nun\n##aff\n##able\na\nb\n[MASK]\n";

SubwordTokenizer small() {
  return std::move(tests::bert_tokenizer(std::string(vocabulary)).value());
}

std::string vocabulary_error(std::string_view text) {
  const auto parsed = tests::bert_tokenizer(std::string(text));
  return parsed ? "parsed" : parsed.error().message;
}

TEST(WordPiece, TakesTheLongestPiecesFromTheLeft) {
  EXPECT_THAT(*small().tokenize("How unaffable"), ElementsAre(4, 7, 8, 9));
}

TEST(WordPiece, AWordWithAnUnknownLetterIsUnknown) {
  EXPECT_THAT(*small().tokenize("unaffably tall"), ElementsAre(1, 5));
}

TEST(WordPiece, ASpecialTokenInATextIsThatToken) {
  EXPECT_THAT(*small().tokenize("a[SEP]b"), ElementsAre(10, 3, 11));
  EXPECT_THAT(*small().tokenize("a [sep]"), ElementsAre(10, 1, 1, 1));
}

TEST(WordPiece, AnEmptyTextHasNoPieces) {
  EXPECT_THAT(*small().tokenize(""), IsEmpty());
}

TEST(WordPiece, FindsPiecesByTheirIds) {
  const SubwordTokenizer pieces = small();
  EXPECT_EQ(pieces.token(8), "##aff");
  EXPECT_EQ(pieces.token(-1), "");
  EXPECT_EQ(pieces.token(13), "");
  EXPECT_EQ(pieces.size(), 13);
  EXPECT_EQ(pieces.cls(), 2);
  EXPECT_EQ(pieces.sep(), 3);
}

TEST(WordPiece, EachPartOfAPairEndsWithItsSep) {
  const auto pair = small().encode("how tall", "a b", {});
  ASSERT_TRUE(pair.has_value());
  EXPECT_THAT(pair->query, ElementsAre(4, 5, 3));
  EXPECT_THAT(pair->document, ElementsAre(10, 11, 3));
  EXPECT_FALSE(pair->document_cut);
  EXPECT_FALSE(pair->query_cut);
}

TEST(WordPiece, TruncatesTheDocument) {
  const auto pair = small().encode("how tall", "a b a b", {.most_tokens = 7});
  ASSERT_TRUE(pair.has_value());
  EXPECT_THAT(pair->query, ElementsAre(4, 5, 3));
  EXPECT_THAT(pair->document, ElementsAre(10, 11, 3));
  EXPECT_TRUE(pair->document_cut);
}

TEST(WordPiece, TruncatesTheQueryToItsOwnLimit) {
  const auto pair = small().encode("how tall is", "a", {.most_query_tokens = 3});
  ASSERT_TRUE(pair.has_value());
  EXPECT_THAT(pair->query, ElementsAre(4, 5, 3));
  EXPECT_TRUE(pair->query_cut);
  const auto fits = small().encode("how tall", "a", {.most_query_tokens = 3});
  ASSERT_TRUE(fits.has_value());
  EXPECT_THAT(fits->query, ElementsAre(4, 5, 3));
  EXPECT_FALSE(fits->query_cut);
}

TEST(WordPiece, RefusesALimitWithoutRoomForTexts) {
  EXPECT_THAT(small().encode("how tall", "a", {.most_tokens = 3}).error().message,
              HasSubstr("a limit of 3 tokens leaves no room for a pair"));
  const auto pair = small().encode("how tall", "a", {.most_tokens = 5});
  ASSERT_TRUE(pair.has_value());
  EXPECT_THAT(pair->query, ElementsAre(4, 3));
  EXPECT_THAT(pair->document, ElementsAre(10, 3));
}

TEST(WordPiece, TruncatesASeparateDocumentToItsOwnLimit) {
  const PairLimits apart{.most_tokens = 5, .most_document_tokens = 4};
  for (const char* query : {"how", "how tall"}) {
    const auto pair = small().encode(query, "a b a b", apart);
    ASSERT_TRUE(pair.has_value());
    EXPECT_EQ(pair->document, small().encode_document("a b a b", 4)->document);
    EXPECT_THAT(pair->document, ElementsAre(10, 11, 10, 3));
    EXPECT_TRUE(pair->document_cut);
  }
  EXPECT_TRUE(small().encode("how tall is", "a", apart).has_value());
  EXPECT_THAT(small().encode("how tall is how", "a", apart).error().message,
              HasSubstr("the query has 5 tokens including [SEP], but the model reads at most 4"));
}

TEST(WordPiece, ReadsAVocabularyWithWindowsLineEnds) {
  EXPECT_EQ(vocabulary_error("[UNK]\r\n[CLS]\r\n[SEP]\r\na"), "parsed");
}

TEST(WordPiece, RefusesAVocabularyWithoutASpecialToken) {
  EXPECT_THAT(vocabulary_error("[UNK]\n[CLS]\n"),
              HasSubstr("vocab.txt: '[SEP]' is not among its 2 pieces"));
  EXPECT_THAT(vocabulary_error("[CLS]\n[SEP]\n"),
              HasSubstr("vocab.txt: '[UNK]' is not among its 2 pieces"));
  EXPECT_THAT(vocabulary_error(""), HasSubstr("'[UNK]' is not among its 0 pieces"));
}

TEST(WordPiece, TheLastLineOfADuplicatePieceCounts) {
  const auto pieces = read_vocabulary("[UNK]\n[CLS]\n[SEP]\na\n\nb\na\n", "v.txt");
  ASSERT_TRUE(pieces.has_value()) << pieces.error().message;
  EXPECT_EQ(pieces->id("a"), 6);
  EXPECT_EQ(pieces->id("b"), 5);
  EXPECT_EQ(pieces->id(""), 4);
  EXPECT_EQ(pieces->size(), 7);
}

TEST(WordPiece, StripsWhiteSpaceAfterAPieceOnly) {
  const auto pieces = read_vocabulary(
      "\uFEFF[PAD]\n[UNK]\n[CLS]\n[SEP] \t\u00A0\u2028\r\n \u00A0a\nb\u0085", "v.txt");
  ASSERT_TRUE(pieces.has_value()) << pieces.error().message;
  EXPECT_EQ(pieces->piece(0), "\uFEFF[PAD]");
  EXPECT_EQ(pieces->piece(3), "[SEP]");
  EXPECT_EQ(pieces->piece(4), " \u00A0a");
  EXPECT_EQ(pieces->piece(5), "b");
  EXPECT_THAT(vocabulary_error("[UNK]\n\xFF\n"), HasSubstr("vocab.txt, line 2: is not UTF-8"));
}

}  // namespace
}  // namespace attnscope
