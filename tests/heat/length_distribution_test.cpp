// SPDX-License-Identifier: Apache-2.0
#include "engine/heat/length_distribution.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <vector>

namespace attnscope {
namespace {

using testing::HasSubstr;

constexpr LengthDistribution ms_marco{.median = 804, .p90 = 3267, .most = 100'000};

std::vector<std::int64_t> drawn(const LengthDistribution& lengths, std::int64_t count,
                                std::uint64_t seed = 1) {
  std::vector<std::int64_t> words;
  for (std::int64_t i = 0; i < count; ++i) words.push_back(lengths.words_of(i, seed));
  return words;
}

double share_below(const std::vector<std::int64_t>& words, std::int64_t limit) {
  const auto below = std::ranges::count_if(words, [=](auto one) { return one < limit; });
  return static_cast<double>(below) / static_cast<double>(words.size());
}

Result<LengthDistribution> read(const std::string& text) {
  return read_json(std::string_view(text), "my.json", read_lengths);
}

TEST(LengthDistribution, DocumentsHaveTheRequestedMedianAndPercentile) {
  for (const std::uint64_t seed : {1U, 2U, 77U}) {
    const auto words = drawn(ms_marco, 1000, seed);
    EXPECT_NEAR(share_below(words, 804), 0.5, 0.01);
    EXPECT_NEAR(share_below(words, 3267), 0.9, 0.01);
    // exp(-1.2816 sigma) of the median.
    EXPECT_NEAR(share_below(words, 804 * 804 / 3267), 0.1, 0.01);
  }
}

TEST(LengthDistribution, FewDocumentsHaveTheSameShares) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    EXPECT_NEAR(share_below(drawn(ms_marco, 10, seed), 804), 0.5, 0.11) << seed;
    EXPECT_NEAR(share_below(drawn(ms_marco, 32, seed), 3267), 0.9, 0.05) << seed;
  }
}

TEST(LengthDistribution, DocumentsHaveAWordAndAtMostTheMaximum) {
  const auto words = drawn({.median = 2, .p90 = 40, .most = 20}, 500);
  const auto [shortest, longest] = std::ranges::minmax(words);
  EXPECT_EQ(shortest, 1);
  EXPECT_EQ(longest, 20);
  EXPECT_NEAR(share_below(words, 20), 0.84, 0.02) << "longer documents are truncated to 20 words";
}

TEST(LengthDistribution, LengthsDependOnlyOnTheSeed) {
  EXPECT_EQ(drawn(ms_marco, 20), drawn(ms_marco, 20));
  EXPECT_NE(drawn(ms_marco, 20, 1), drawn(ms_marco, 20, 2));
  EXPECT_FALSE(ms_marco.is_one_length());
  EXPECT_FALSE(LengthDistribution{}.is_one_length());
  EXPECT_TRUE(lengths_of_words(2000).is_one_length());
  EXPECT_THAT(drawn(lengths_of_words(2000), 5), testing::Each(2000));
}

TEST(LengthDistribution, PackedValuesAreUnpackedAndAscendWithTheMaximum) {
  for (const auto& lengths : {LengthDistribution{}, ms_marco, lengths_of_words(most_document_words),
                              LengthDistribution{1, 2, 1}})
    EXPECT_EQ(LengthDistribution::unpacked(lengths.packed()), lengths);
  EXPECT_EQ(LengthDistribution{}.packed(), 0);
  EXPECT_LT((LengthDistribution{804, 3267, 2000}.packed()),
            (LengthDistribution{20, 30, 4000}.packed()));
}

TEST(LengthDistribution, ReadsTexts) {
  const LengthDistribution lengths{.median = 804, .p90 = 3267, .most = 2000};
  EXPECT_EQ(text_of(lengths), "lognormal 804/3267 up to 2000");
  EXPECT_EQ(parse_lengths("lognormal 804/3267 up to 2000"), lengths);
  EXPECT_EQ(text_of(LengthDistribution{}), "alike");
  EXPECT_EQ(parse_lengths("alike"), LengthDistribution{});
  EXPECT_EQ(parse_lengths("2000"), lengths_of_words(2000));
  for (const char* text :
       {"", "0", "-5", "lognormal", "lognormal 804/3267", "2000 words", "lognormal 804/3267 up to",
        "lognormal 804/3267 up to 0", "lognormal 3267/804 up to 2000",
        "lognormal 804/3267 up to 2000 ", "lognormal 804/99999999999999999999 up to 2000", "other"})
    EXPECT_EQ(parse_lengths(text), std::nullopt) << text;
}

TEST(LengthDistribution, ReadsJson) {
  const LengthDistribution lengths{.median = 804, .p90 = 3267, .most = 2000};
  const std::string text = R"({"lognormal": [804, 3267], "max": 2000})";
  EXPECT_EQ(json_of(lengths), nlohmann::json::parse(text));
  EXPECT_EQ(read(text).value(), lengths);
  EXPECT_EQ(read("2000").value(), lengths_of_words(2000));
  EXPECT_EQ(read("\"lognormal 804/3267 up to 2000\"").value(), lengths);
}

TEST(LengthDistribution, RefusesInvalidJson) {
  for (const auto& [text, part] : std::vector<std::pair<const char*, const char*>>{
           {R"({"lognormal": [804], "max": 2000})", "as [804, 3267]"},
           {R"({"lognormal": [804, 804], "max": 2000})", "must be above it"},
           {R"({"lognormal": [0, 804], "max": 2000})", "lognormal[0]"},
           {R"({"lognormal": [804, 3267]})", "max"},
           {R"({"lognormal": [804, 3267], "max": 0})", "max"},
           {R"({"normal": [804, 3267], "max": 20})", "lognormal, max"},
           {"\"long\"", "must be words of a document, as 2000 or"},
           {"true", "true"},
           {"0", "0"}}) {
    EXPECT_THAT(read(text).error().message, HasSubstr(part)) << text;
  }
}

}  // namespace
}  // namespace attnscope
