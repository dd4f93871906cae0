// SPDX-License-Identifier: Apache-2.0
#include "base/sentences.h"

#include <gtest/gtest.h>

namespace attnscope {
namespace {

TEST(InASentence, KeepsPlainText) {
  EXPECT_EQ(in_a_sentence("sparse/segment/4"), "sparse/segment/4");
  EXPECT_EQ(in_a_sentence("Fröbe · 注意力 😀"), "Fröbe · 注意力 😀");
  EXPECT_EQ(in_a_sentence(""), "");
}

TEST(InASentence, ReplacesControlCharacters) {
  using namespace std::string_view_literals;
  EXPECT_EQ(in_a_sentence("a\nb\tc\0d\x1b[2J\x7f"sv), "a?b?c?d?[2J?");
}

TEST(InASentence, ReplacesInvalidUtf8) {
  EXPECT_EQ(in_a_sentence("\xff"), "?");
  EXPECT_EQ(in_a_sentence("\xc3("), "?(");
  EXPECT_EQ(in_a_sentence("a\xe2\x82"), "a??");
  EXPECT_EQ(in_a_sentence("\xc0\xaf"), "??") << "longer than it need be";
  EXPECT_EQ(in_a_sentence("\xed\xa0\x80"), "???") << "a surrogate";
  EXPECT_EQ(in_a_sentence("\xf4\x90\x80\x80"), "????") << "beyond the last code point";
}

TEST(InASentence, ReplacesInvisibleAndReorderingCharacters) {
  EXPECT_EQ(in_a_sentence("a\u0085b\u009b31mc"), "a?b?31mc") << "controls of eight bits";
  EXPECT_EQ(in_a_sentence("\u202etxt.exe\u2066\u061c\u200f"), "?txt.exe???") << "direction";
  EXPECT_EQ(in_a_sentence("a\u2028b\u200bc\ufeff\U000e0041"), "a?b?c??") << "unseen";
  EXPECT_EQ(in_a_sentence("a\u200db"), "a\u200db") << "joins what is written in one";
}

TEST(Visible, KeepsLinesAndTabs) {
  EXPECT_EQ(visible("a\tb\r\n\x1b[0mc\n"), "a\tb\r\n?[0mc\n");
}

TEST(InASentence, CutsLongTextBetweenCharacters) {
  EXPECT_EQ(in_a_sentence("abcdef", 3), "abc...");
  EXPECT_EQ(in_a_sentence("abc", 3), "abc");
  EXPECT_EQ(in_a_sentence("ab😀", 5), "ab...");
  EXPECT_EQ(in_a_sentence(std::string(1'000'000, 'x')).size(), 63U);
}

}  // namespace
}  // namespace attnscope
