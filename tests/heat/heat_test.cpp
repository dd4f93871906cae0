// SPDX-License-Identifier: Apache-2.0
#include "engine/heat/heat.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <vector>

#include "engine/heat/axes.h"
#include "engine/heat/length_distribution.h"
#include "engine/sweep/heat_measurement.h"
#include "engine/sweep/time_left.h"
#include "engine/worker/protocol.h"

namespace attnscope {
namespace {

using std::chrono::seconds;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(Contender, IdEndsWithItsWindow) {
  Contender contender{.pattern = "sparse",
                      .implementation = "segment",
                      .window = Window::of(4),
                      .name = {},
                      .pattern_json = {}};
  EXPECT_EQ(contender.id(), "sparse/segment/4");
  contender.window = Window::infinite();
  EXPECT_EQ(contender.id(), "sparse/segment/inf");
  contender.window.reset();
  EXPECT_EQ(contender.id(), "sparse/segment");
}

TEST(GroupSizes, DividesTheTokensOfASequence) {
  constexpr Operation matmul = Operation::windowed_matmul;
  struct Row {
    HeatPoint point;
    std::int64_t cls, query, document;
    std::vector<std::int64_t> documents;
  };
  for (const Row& row : std::vector<Row>{
           {{.sequence_tokens = 174, .query_tokens = 10}, 1, 11, 162, {162}},
           {{.operation = matmul, .sequence_tokens = 64}, 0, 0, 64, {64}},
           {{.sequence_tokens = 23, .query_tokens = 10, .documents = 4}, 1, 11, 11, {3, 3, 3, 2}},
           {{.sequence_tokens = 16, .query_tokens = 10, .documents = 4}, 1, 11, 4, {1, 1, 1, 1}},
           {{.operation = matmul, .sequence_tokens = 5, .documents = 2}, 0, 0, 5, {3, 2}}}) {
    SCOPED_TRACE(row.point.sequence_tokens);
    const auto sizes = group_sizes(row.point);
    ASSERT_TRUE(sizes) << sizes.error().message;
    EXPECT_EQ(sizes->cls, row.cls);
    EXPECT_EQ(sizes->query, row.query);
    EXPECT_EQ(sizes->document, row.document);
    EXPECT_EQ(sizes->documents, row.documents);
  }
}

TEST(GroupSizes, RefusesFewerTokensThanDocuments) {
  const auto error = [](const HeatPoint& point) { return group_sizes(point).error().message; };
  EXPECT_THAT(error({.sequence_tokens = 15, .query_tokens = 10, .documents = 4}),
              HasSubstr("each of 4 documents need at least 16"));
  EXPECT_THAT(
      error({.operation = Operation::windowed_matmul, .sequence_tokens = 3, .documents = 4}),
      HasSubstr("at least 4, one for each document"));
  EXPECT_FALSE(group_sizes({.sequence_tokens = 64, .documents = 0}));
}

TEST(GroupSizes, DrawnLengthsUseTheLongest) {
  HeatPoint point{.operation = Operation::model,
                  .sequence_tokens = 2013,
                  .document_lengths = {.median = 804, .p90 = 3267, .most = 2000}};
  EXPECT_EQ(tokens_with_words(point, 2000), 2013);
  EXPECT_EQ(group_sizes(point)->document, 2001);
  point.sequence_tokens = 512;
  EXPECT_THAT(group_sizes(point).error().message, HasSubstr("are 2013 sequence_tokens, not 512"));
}

TEST(DividePlacements, GivesEveryProcessAsMany) {
  EXPECT_THAT(divide_placements(5, 2), ElementsAre(ElementsAre(0, 1, 2), ElementsAre(3, 4)));
  EXPECT_THAT(divide_placements(2, 1), ElementsAre(ElementsAre(0, 1)));
  EXPECT_THAT(divide_placements(2, 5), ElementsAre(ElementsAre(0), ElementsAre(1)));
}

TEST(TimeLeft, FollowsTheTimesOfChecksAndTiming) {
  Heat heat;
  heat.contenders.resize(5);
  heat.stop = {.max_seconds = 2, .processes = 1};
  const std::chrono::steady_clock::time_point start{};
  TimeLeft left({heat, heat, heat});
  EXPECT_DOUBLE_EQ(left.seconds(start), 30);  // the bound of timing
  left.heat_started(heat, start);
  left.phase_began("prepare", start);
  for (int check = 0; check < 5; ++check) {
    left.phase_began("check", start + seconds(2 * check));
    if (check > 0) continue;
    // A quarter of the elapsed time is added to the first check; the others take as long.
    EXPECT_DOUBLE_EQ(left.seconds(start + seconds(2)), 30 + 0.5 + 14 * 2);
  }
  left.phase_began("time", start + seconds(10));
  EXPECT_DOUBLE_EQ(left.seconds(start + seconds(10)), 30 + 10 * 2);
  EXPECT_DOUBLE_EQ(left.seconds(start + seconds(14)), 26 + 10 * 2);
  // Four times the bound, also for the other heats.
  EXPECT_DOUBLE_EQ(left.seconds(start + seconds(50)), 10 + 20 * 4 + 10 * 2);
  left.heat_finished(start + seconds(15));
  EXPECT_DOUBLE_EQ(left.seconds(start + seconds(15)), 20 * 0.5 + 10 * 2);
  left.heat_started(heat, start + seconds(15));
  EXPECT_DOUBLE_EQ(left.seconds(start + seconds(15)), 20 * 0.5 + 10 * 2);
}

/// Something that any member of a struct can be initialised with.
struct Anything {
  template <typename T>
  operator T() const;
};
template <typename T, typename... Members>
constexpr std::size_t members_of() {
  if constexpr (requires { T{Members{}..., Anything{}}; }) {
    return members_of<T, Members..., Anything>();
  } else {
    return sizeof...(Members);
  }
}

/// A point that differs from the default only in this axis.
HeatPoint other_in(const Axis& axis) {
  HeatPoint point{.sequence_tokens = 64};
  if (axis.kind == Axis::Kind::lengths) {
    axis.set(point, LengthDistribution{.median = 20, .p90 = 40, .most = 50}.packed());
  } else {
    axis.set(point, axis.kind == Axis::Kind::number ? axis.get(point) + 1 : 1 - axis.get(point));
  }
  return point;
}

TEST(Axes, EveryMemberOfAPointHasARow) {
  EXPECT_EQ(members_of<HeatPoint>(), heat_axes.size());
}

TEST(Axes, KeysAreFoundAndUnique) {
  std::set<std::string_view> keys, fields;
  for (const Axis& axis : heat_axes) {
    keys.insert(axis.key);
    fields.insert(axis.field);
    EXPECT_EQ(find_axis(axis.key), &axis);
  }
  EXPECT_EQ(keys.size(), heat_axes.size());
  EXPECT_EQ(fields.size(), heat_axes.size());
  EXPECT_EQ(find_axis("window"), nullptr);
}

TEST(Axes, EveryAxisIsInThePointKeyAndInMessages) {
  std::set<std::string> keys{point_key({.sequence_tokens = 64})};
  for (const Axis& axis : heat_axes) {
    const HeatPoint sent = other_in(axis);
    keys.insert(point_key(sent));
    const auto received = protocol::from_json<HeatPoint>(protocol::to_json(sent), "point");
    ASSERT_TRUE(received) << received.error().message;
    EXPECT_EQ(*received, sent) << axis.key;
  }
  EXPECT_EQ(keys.size(), heat_axes.size() + 1);
}

TEST(Axes, NeutralDefaultsAreNotInThePointKey) {
  const std::string attention = point_key({.sequence_tokens = 64});
  EXPECT_THAT(attention, AllOf(Not(HasSubstr("cache=")), Not(HasSubstr("batch_per_contender=")),
                               HasSubstr("shared_query=false")));
  const std::string model =
      point_key({.operation = Operation::model, .sequence_tokens = 64, .layers = 6});
  EXPECT_THAT(model, AllOf(HasSubstr("batch_per_contender=false"), Not(HasSubstr("stage=")),
                           Not(HasSubstr("candidates="))));
}

TEST(Axes, MessagesMayOmitOnlyNeutralDefaults) {
  const HeatPoint sent{.sequence_tokens = 64};
  for (const Axis& axis : heat_axes) {
    nlohmann::json message = protocol::to_json(sent);
    message.erase(axis.key);
    const auto received = protocol::from_json<HeatPoint>(message, "point");
    if (axis.at_default == Axis::Default::neutral) {
      ASSERT_TRUE(received) << received.error().message;
      EXPECT_EQ(*received, sent) << axis.key;
    } else {
      ASSERT_FALSE(received) << axis.key;
      EXPECT_THAT(received.error().message, HasSubstr(axis.key));
    }
  }
}

TEST(Axes, TextsAreThoseOfOnly) {
  const HeatPoint point{.shared_query = true, .cache = CacheState::cold, .threads = 2};
  EXPECT_EQ(text_of(*find_axis("shared_query"), point), "true");
  EXPECT_EQ(text_of(*find_axis("cache"), point), "cold");
  EXPECT_EQ(text_of(*find_axis("threads"), point), "2");
  EXPECT_EQ(value_of_text(*find_axis("dtype"), "float16"), 1);
  EXPECT_FALSE(value_of_text(*find_axis("dtype"), "float23"));
}

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
