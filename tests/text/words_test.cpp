// SPDX-License-Identifier: Apache-2.0
//
// WordPiece, and the lists of words of re-rankers over word vectors.

#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>

#include "engine/text/word_list.h"
#include "tests/safetensors/scratch_folder.h"
#include "tests/text/golden_texts.h"

namespace attnscope {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using namespace std::string_view_literals;

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
  EXPECT_THAT(*small().tokenize("unaffably tall"), ElementsAre(1, 5)) << "an unknown letter";
  EXPECT_THAT(*small().tokenize("a[SEP]b"), ElementsAre(10, 3, 11)) << "a special token";
  EXPECT_THAT(*small().tokenize("a [sep]"), ElementsAre(10, 1, 1, 1));
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

TEST(WordPiece, TruncatesQueryAndDocumentBeforeTheirSep) {
  struct Case {
    const char *query, *document;
    PairLimits limits;
    bool query_cut, document_cut;
  };
  for (const auto& [query, document, limits, query_cut, document_cut] :
       {Case{"how tall", "a b", {}, false, false},
        Case{"how tall", "a b a b", {.most_tokens = 7}, false, true},
        Case{"how tall is", "a b", {.most_query_tokens = 3}, true, false},
        Case{"how tall", "a b", {.most_query_tokens = 3}, false, false}}) {
    SCOPED_TRACE(fmt::format("{} | {}", query, document));
    const auto pair = small().encode(query, document, limits);
    ASSERT_TRUE(pair.has_value());
    EXPECT_THAT(pair->query, ElementsAre(4, 5, 3));
    EXPECT_THAT(pair->document, ElementsAre(10, 11, 3));
    EXPECT_EQ(pair->query_cut, query_cut);
    EXPECT_EQ(pair->document_cut, document_cut);
  }
}

TEST(WordPiece, RefusesALimitWithoutRoomForTexts) {
  EXPECT_THAT(small().encode("how tall", "a", {.most_tokens = 3}).error().message,
              HasSubstr("a limit of 3 tokens leaves none for a pair"));
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

TEST(WordPiece, RefusesAVocabularyWithoutASpecialToken) {
  EXPECT_THAT(vocabulary_error("[UNK]\n[CLS]\n"),
              HasSubstr("vocab.txt: '[SEP]' is not among its 2 pieces"));
  EXPECT_THAT(vocabulary_error("[CLS]\n[SEP]\n"),
              HasSubstr("vocab.txt: '[UNK]' is not among its 2 pieces"));
  EXPECT_THAT(vocabulary_error(""), HasSubstr("'[UNK]' is not among its 0 pieces"));
  EXPECT_EQ(vocabulary_error("[UNK]\r\n[CLS]\r\n[SEP]\r\na"), "parsed") << "Windows' line ends";
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

std::string split(std::string_view text) {
  return fmt::format("{}", fmt::join(words_of_text(text), " "));
}

// As split by BlingFire, which the authors of TKL use.
TEST(WordsOfText, SplitsAsWordListsDo) {
  EXPECT_EQ(split("This is the Bling-Fire tokenizer, don't you think so?"),
            "this is the bling - fire tokenizer , do n't you think so ?");
  EXPECT_EQ(split("It's U.S.A. 3.14 and 1,000 $5"), "it 's u.s.a . 3.14 and 1,000 $ 5")
      << "except for the last dot of an acronym, which BlingFire keeps";
  EXPECT_EQ(split("a@b.com http://x.org/a?b=c C++"),
            "a @ b . com http : / / x . org / a ? b = c c + +");
  EXPECT_EQ(split("naïve café; (x) foo_bar \"q\" ... -- 50% #tag end."),
            "naïve café ; ( x ) foo_bar \" q \" . . . - - 50 % # tag end .");
  EXPECT_EQ(split("Tom\u2019s we'll can't state-of-the-art"),
            "tom 's we 'll ca n't state - of - the - art");
  EXPECT_EQ(split(" \t\n\x01 "), "");
  EXPECT_EQ(split(""), "");
}

constexpr std::string_view list = "@@UNKNOWN@@\nhow\ntall\nis\nit\n?\n";

TEST(WordList, AssignsIdsFromOneAndOneToUnknownWords) {
  const auto words = WordList::parse(list, "tokens.txt");
  ASSERT_TRUE(words) << words.error().message;
  EXPECT_EQ(words->size(), 7);
  const auto pair = words->encode("How TALL?", "it is 300 metres", {});
  ASSERT_TRUE(pair);
  EXPECT_THAT(pair->query, ElementsAre(2, 3, 6));
  EXPECT_THAT(pair->document, ElementsAre(5, 4, 1, 1));
  EXPECT_EQ(words->token(3), "tall");
  EXPECT_EQ(words->token(0), "");
  EXPECT_EQ(words->token(7), "");
}

TEST(WordList, TruncatesEachTextToItsOwnLimit) {
  const auto words = WordList::parse(list, "tokens.txt");
  const auto pair = words->encode("how tall is it", "how tall",
                                  {.most_query_tokens = 2, .most_document_tokens = 2});
  EXPECT_THAT(pair->query, ElementsAre(2, 3));
  EXPECT_TRUE(pair->query_cut);
  EXPECT_FALSE(pair->document_cut);
  EXPECT_THAT(words->encode_document("how tall is", 2)->document, ElementsAre(2, 3));
  EXPECT_TRUE(words->encode_document("how tall is", 2)->document_cut);
  EXPECT_FALSE(words->encode_document("how tall is", 3)->document_cut);
  EXPECT_THAT(words->encode("how", "", {})->document, ElementsAre());
}

TEST(WordList, NamesTheErrorOfAFile) {
  const auto message = [](std::string_view text) {
    const auto words = WordList::parse(text, "tokens.txt");
    return words ? std::string("read") : words.error().message;
  };
  for (const auto& [text, error] :
       {std::pair(""sv, "tokens.txt: has no words"),
        {"the\n", "tokens.txt, line 1: is 'the', but the first line"},
        {"@@UNKNOWN@@\na\nb\na\n", "line 4: the word 'a' is given twice, first in line 2"},
        {"@@UNKNOWN@@\na\n\nb\n", "line 3: is empty"},
        {"@@UNKNOWN@@\na\n\n", "line 3: is empty"},
        {"@@UNKNOWN@@\na\xff\n", "line 2: is not UTF-8; copy the file"},
        {"@@UNKNOWN@@\na\0b\n"sv, "line 2: has a NUL"},
        {"@@UNKNOWN@@\nb\n a\n", "line 3: has white space around its word"},
        {"@@UNKNOWN@@\nb\na \n", "line 3: has white space around its word"},
        {"@@UNKNOWN@@\nb\na\t\n", "line 3: has white space around its word"},
        {"@@UNKNOWN@@\nb\na\r\r\n", "line 3: has white space around its word"},
        {"@@UNKNOWN@@\n,\nHow\nTALL\n", "line 3: is 'How', but texts are lower-cased"}}) {
    EXPECT_THAT(message(text), HasSubstr(error)) << text;
  }
  for (const char* published :
       {"\r\nwindows\r\n", "\nU.S.\na.m.\n. . .\n\xc2\xa0\n\xe4\xb8\xad\n@@END@@\n",
        "\n,\n\xe4\xb8\xad\n"}) {
    EXPECT_EQ(message(fmt::format("@@UNKNOWN@@{}", published)), "read") << published;
  }
  const tests::ScratchFolder folder;
  EXPECT_THAT(WordList::open(folder.path()).error().message, HasSubstr("tokens.txt"));
  const auto words = WordList::parse(list, "tokens.txt");
  EXPECT_THAT(words->encode(" ", "how", {}).error().message, HasSubstr("the query has no words"));
}

TEST(WordList, FingerprintDependsOnTheWords) {
  const auto one = WordList::parse(list, ""), same = WordList::parse(list, "");
  const auto other = WordList::parse("@@UNKNOWN@@\nhow\ntall\nis\nit\n!\n", "");
  EXPECT_EQ(one->fingerprint(), same->fingerprint());
  EXPECT_NE(one->fingerprint(), other->fingerprint());
}

}  // namespace
}  // namespace attnscope
