#include "engine/text/word_list.h"

#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/safetensors/scratch_folder.h"

namespace attnscope {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string split(std::string_view text) {
  return fmt::format("{}", fmt::join(words_of_text(text), " "));
}

// As BlingFire, by which the authors of TKL cut their texts, cuts these.
TEST(WordsOfText, AreThoseThatWordListsHave) {
  EXPECT_EQ(split("This is the Bling-Fire tokenizer, don't you think so?"),
            "this is the bling - fire tokenizer , do n't you think so ?");
  EXPECT_EQ(split("It's U.S.A. 3.14 and 1,000 $5"), "it 's u.s.a . 3.14 and 1,000 $ 5")
      << "but for the last dot of an acronym, which BlingFire leaves with it";
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

TEST(WordList, GivesIdsFromOneOnAndOneToUnknownWords) {
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

TEST(WordList, CutsEachTextByItsOwnLimit) {
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

TEST(WordList, SaysWhatIsWrongWithAFile) {
  const auto message = [](std::string_view text) {
    const auto words = WordList::parse(text, "tokens.txt");
    return words ? std::string("read") : words.error().message;
  };
  EXPECT_THAT(message(""), HasSubstr("tokens.txt: has no words"));
  EXPECT_THAT(message("the\n"), HasSubstr("tokens.txt, line 1: is 'the', and the first word"));
  EXPECT_THAT(message("@@UNKNOWN@@\na\nb\na\n"),
              HasSubstr("line 4: the word 'a' is given twice, first in line 2"));
  EXPECT_EQ(message("@@UNKNOWN@@\r\nwindows\r\n"), "read");
  EXPECT_THAT(message("@@UNKNOWN@@\na\n\nb\n"), HasSubstr("line 3: is empty"));
  EXPECT_THAT(message("@@UNKNOWN@@\na\n\n"), HasSubstr("line 3: is empty"));
  EXPECT_THAT(message("@@UNKNOWN@@\na\xff\n"), HasSubstr("line 2: is not UTF-8; copy the file"));
  EXPECT_THAT(message({"@@UNKNOWN@@\na\0b\n", 16}), HasSubstr("line 2: has a NUL"));
  for (const char* blank : {" a", "a ", "a\t", "a\r\r"}) {
    EXPECT_THAT(message(fmt::format("@@UNKNOWN@@\nb\n{}\n", blank)),
                HasSubstr("line 3: has white space around its word"));
  }
  EXPECT_THAT(message("@@UNKNOWN@@\n,\nHow\nTALL\n"),
              HasSubstr("line 3: is 'How', and no word of the list is in lower case"));
  // As lists of authors have them.
  EXPECT_EQ(message("@@UNKNOWN@@\nU.S.\na.m.\n. . .\n\xc2\xa0\n\xe4\xb8\xad\n@@END@@\n"), "read");
  EXPECT_EQ(message("@@UNKNOWN@@\n,\n\xe4\xb8\xad\n"), "read") << "without case";
  const tests::ScratchFolder folder;
  EXPECT_THAT(WordList::open(folder.path()).error().message, HasSubstr("tokens.txt"));
  const auto words = WordList::parse(list, "tokens.txt");
  EXPECT_THAT(words->encode(" ", "how", {}).error().message, HasSubstr("the query has no words"));
}

TEST(WordList, IsKnownByItsWords) {
  const auto one = WordList::parse(list, ""), same = WordList::parse(list, "");
  const auto other = WordList::parse("@@UNKNOWN@@\nhow\ntall\nis\nit\n!\n", "");
  EXPECT_EQ(one->fingerprint(), same->fingerprint());
  EXPECT_NE(one->fingerprint(), other->fingerprint());
}

}  // namespace
}  // namespace attnscope
