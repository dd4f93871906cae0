// Re-rankers over word vectors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <random>

#include "engine/model/tkl/tkl_config.h"
#include "engine/model/words/pooled_documents.h"
#include "engine/model/words/words_description.h"
#include "kernels/cpu/kernel_pooling.h"
#include "tests/model/late_rows.h"

namespace attnscope::test {
namespace {

using testing::HasSubstr;

/// The first implementation of the row's family.
LateCase words_case(const std::string& row) {
  const Family& family = family_of(*parse_model_row(row)->family);
  return {.row = row, .implementation = std::string(family.implementations().front())};
}

ModelShape words_shape() {
  return {.layers = 2,
          .hidden = 60,
          .heads = 6,
          .feed_forward = 20,
          .vocabulary = 200,
          .positions = 1 << 20};
}

std::vector<LateCase> words_cases() {
  std::vector<LateCase> all;
  for (const std::string row :
       {"tkl", "tkl+saturation-idf", "tkl+saturation-linear", "tkl+saturation-log",
        "tkl+as-published", "tkl+saturation-log+as-published", "tk", "knrm", "conv-knrm",
        "match-pyramid", "pacrr", "co-pacrr"}) {
    const Family& family = family_of(*parse_model_row(row)->family);
    for (const std::string_view implementation : family.implementations()) {
      all.push_back({.row = row, .implementation = std::string(implementation)});
      if (row.find('+') != std::string::npos) break;  // the attention is the same
    }
  }
  return all;
}

/// Words with a few that query and document share, one of them unknown.
std::vector<std::int32_t> words(std::int64_t count, std::uint32_t seed) {
  std::mt19937 draw(seed);
  std::uniform_int_distribution<std::int32_t> word(2, 199), common(1, 9), which(0, 4);
  std::vector<std::int32_t> ids;
  ids.reserve(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i)
    ids.push_back(which(draw) == 0 ? common(draw) : word(draw));
  return ids;
}

class WordTexts {
 public:
  WordTexts(std::int64_t query, const std::vector<std::int64_t>& documents)
      : query_(words(query, 1)) {
    for (const std::int64_t length : documents)
      documents_.push_back(words(length, static_cast<std::uint32_t>(length) + 7));
  }
  [[nodiscard]] PairBatch batch() const {
    PairBatch batch{.items = {}, .one_query = true};
    for (const auto& document : documents_) batch.items.push_back({query_, document});
    return batch;
  }

 private:
  std::vector<std::int32_t> query_;
  std::vector<std::vector<std::int32_t>> documents_;
};

class WordsRows : public testing::TestWithParam<LateCase> {};

INSTANTIATE_TEST_SUITE_P(Every, WordsRows, testing::ValuesIn(words_cases()), [](const auto& of) {
  return identifier(of.param.row + "_" + of.param.implementation);
});

TEST_P(WordsRows, MatchTheFloat64ReferenceAtEveryLength) {
  const WordTexts texts(7, {0, 1, 4, 5, 6, 39, 40, 41, 42, 43, 44, 45, 46, 85, 200});
  const LateRowModel model(GetParam(), words_shape());
  const PairBatch batch = texts.batch();
  expect_matches_reference(model, batch);
  EXPECT_EQ(model.scored(batch).states.size(),
            batch.items.size() * model.reference(batch.items.front()).state.size());
}

TEST_P(WordsRows, DoNotDependOnOtherDocumentsOrThreads) {
  const WordTexts texts(9, {130, 41, 1, 0, 85});
  const LateRowModel model(GetParam(), words_shape());
  const PairBatch batch = texts.batch();
  const std::vector<float> together = model.scored(batch).scores;
  LateCase one_thread = GetParam();
  one_thread.threads = 1;
  const LateRowModel slow(one_thread, model.weights());
  for (std::size_t i = 0; i < batch.items.size(); ++i) {
    const float alone = slow.scored({.items = {batch.items[i]}}).scores.front();
    EXPECT_NEAR(together[i], alone, 1e-5F * std::max(1.0F, std::abs(alone))) << i;
  }
}

TEST_P(WordsRows, IgnoreTrailingPadding) {
  const WordTexts texts(5, {43});
  const LateRowModel model(GetParam(), words_shape());
  const PairBatch::Item item = texts.batch().items.front();
  std::vector<std::int32_t> query(item.query.begin(), item.query.end());
  std::vector<std::int32_t> document(item.document.begin(), item.document.end());
  query.resize(query.size() + 3, padding_word);
  document.resize(document.size() + 20, padding_word);
  EXPECT_EQ(model.scored({.items = {{query, document}}}).scores,
            model.scored({.items = {item}}).scores);
  document[4] = padding_word;
  EXPECT_THAT(message_of(model->score({.items = {{query, document}}})),
              HasSubstr("padding (id 0) between its words"));
}

TEST_P(WordsRows, ReportInvalidIds) {
  const LateRowModel model(GetParam(), words_shape());
  const std::vector<std::int32_t> good{5, 6}, outside{5, 200}, negative{5, -1}, none;
  const auto message = [&](TokenIds query, TokenIds document) {
    return message_of(model->score({.items = {{query, document}}}));
  };
  EXPECT_THAT(message(good, outside), HasSubstr("the word id 200, and the list of words ends at"));
  EXPECT_THAT(message(negative, good), HasSubstr("the word id -1"));
  EXPECT_THAT(message(none, good), HasSubstr("a query without words"));
  EXPECT_FALSE(model->score({.items = {}}));
}

TEST_P(WordsRows, CachedScoresMatchDirectScores) {
  const WordTexts texts(6, {130, 40, 1, 43, 0});
  const PairBatch batch = texts.batch();
  const LateRowModel model(GetParam(), words_shape());
  const auto mapped = through_a_file(model, batch);
  if (!mapped) return;
  const ModelOutput direct = model.scored(batch);
  EXPECT_EQ(model.scored(from_cache(batch, *mapped)).scores, direct.scores);
  const auto smaller = mapped->narrowed(VectorFormat::float16);
  ASSERT_TRUE(smaller);
  const ModelOutput from_smaller = model.scored(from_cache(batch, *smaller));
  for (std::size_t i = 0; i < direct.scores.size(); ++i)
    EXPECT_NEAR(from_smaller.scores[i], direct.scores[i], 0.02 * (1 + std::abs(direct.scores[i])));
  expect_stages_add_up(model, batch, *mapped);
}

TEST_P(WordsRows, ReportUnsupportedDtypesDevicesAndImplementations) {
  const LateRowModel model(GetParam(), words_shape());
  ModelVariant variant = model.variant();
  variant.dtype = DType::bfloat16;
  const auto& config = model.weights()->config();
  EXPECT_THAT(message_of(model.family().supports(config, variant, GetParam().implementation)),
              HasSubstr("compute in float32"));
  variant = model.variant();
  variant.device = DeviceKind::cuda;
  EXPECT_FALSE(model.family().supports(config, variant, GetParam().implementation));
  EXPECT_THAT(message_of(model.family().supports(config, model.variant(), "longformer-chunks")),
              HasSubstr("not by 'longformer-chunks'"));
}

TEST_P(WordsRows, MemoryGrowsLinearlyWithDocuments) {
  if (GetParam().implementation == "dense") return;  // stores the scores of all pairs of words
  const LateRowModel model(GetParam(), words_shape());
  const auto bytes = [&](std::int64_t words) {
    return model->predicted_peak_bytes(WordTexts(10, {words}).batch());
  };
  if (!bytes(20'000)) return;  // does not support such documents
  const auto growth = static_cast<double>(*bytes(40'000)) / static_cast<double>(*bytes(20'000));
  EXPECT_LE(growth, 2.05);
}

std::int64_t words_parameters(const std::string& row) {
  const ModelRow parsed = *parse_model_row(row);
  const auto& family = dynamic_cast<const WordsDescription&>(*parsed.family);
  const ModelShape shape{.layers = 2, .hidden = 300, .heads = 10, .feed_forward = 100};
  return family.parameters(family.config_for(shape, {&parsed, 1}));
}

TEST(WordsSizes, ParametersMatchThePaper) {
  for (const auto& [row, parameters] : std::initializer_list<std::pair<const char*, std::int64_t>>{
           {"tkl", 1'469'986},
           {"tkl+saturation-idf", 1'469'986},
           {"tkl+saturation-linear", 1'469'986},
           {"tkl+saturation-log", 1'469'986},
           {"tk", 845'626},
           {"knrm", 11},
           {"conv-knrm", 230'883},
           {"match-pyramid", 58'560},
           {"pacrr", 46'600},
           {"co-pacrr", 361'600}}) {
    EXPECT_EQ(words_parameters(row), parameters) << row;
  }
}

TEST(WordsSizes, ConvKnrmWorkMatchesTheSpecification) {
  const WordTexts texts(10, {200});
  const LateRowModel model(words_case("conv-knrm"), {.hidden = 300, .vocabulary = 200});
  const PairBatch batch = texts.batch();
  const double grams = 2.0 * 6 * 300 * 128, pairs = 9 * 10 * 200;
  EXPECT_DOUBLE_EQ(model->work(batch)->linear_flop, 210 * grams + 2 * 128 * pairs);
  EXPECT_DOUBLE_EQ(model->work(batch)->exponentials, 11 * pairs);
}

TEST(WordsSizes, TklWorkMatchesTheSpecification) {
  const WordTexts texts(10, {2000});
  const LateRowModel model(
      words_case("tkl"),
      {.layers = 2, .hidden = 300, .heads = 10, .feed_forward = 100, .vocabulary = 200});
  const PairBatch batch = texts.batch();
  const auto offline = model->work_of_documents(document_ids(batch));
  EXPECT_NEAR((offline->linear_flop + offline->attention_flop) / 1e9, 4.5, 0.05);
  const auto encoded = model->encode_documents(document_ids(batch), 0);
  const auto online = model->work(from_cache(batch, *encoded));
  const auto query = model->work_of_documents(std::vector<TokenIds>{batch.items[0].query});
  EXPECT_NEAR((online->linear_flop - query->linear_flop) / 1e9, 0.012, 0.001);
}

TEST(Tkl, OnlyAsPublishedDropsTheTail) {
  for (const std::int64_t length : {41, 42, 43, 44, 84}) {
    EXPECT_EQ(chunks_of(length, true) * 40, length / 40 * 40) << length;
    EXPECT_EQ(kept_words(length, false), length);
  }
  for (const std::int64_t length : {1, 5, 6, 39, 40, 45, 80, 85})
    EXPECT_EQ(kept_words(length, true), length);
  // The last words are kept only with the full tail, but neighbouring chunks attend to them.
  const std::vector<std::int32_t> query{3, 4};
  std::vector<std::int32_t> document = words(42, 5), other = document;
  other.back() = 3;
  document.back() = 150;
  for (const char* row : {"tkl", "tkl+as-published"}) {
    const LateRowModel model(words_case(row), words_shape());
    const auto kept = model->encode_documents(std::vector<TokenIds>{document}, 0);
    EXPECT_EQ(kept->rows_of(0), row == std::string("tkl") ? 42 : 40);
    EXPECT_NE(model.scored({.items = {{query, document}}}).scores,
              model.scored({.items = {{query, other}}}).scores)
        << "a chunk attends to neighbouring words, dropped or not";
  }
}

TEST(Tkl, LongDocumentsMatchTheFloat64Reference) {
  const WordTexts texts(7, {2000, 4000, 5003});
  const LateRowModel model(words_case("tkl"), words_shape());
  expect_matches_reference(model, texts.batch());
  const std::vector<std::int32_t> query{3, 4};
  EXPECT_EQ(model.scored({.items = {{query, {}}}}).scores.front(), 0.0F) << "an empty document";
}

TEST(Tkl, NanVectorGivesANanScoreAtAnyPosition) {
  const LateRowModel model(words_case("tkl"), words_shape());
  const WordTexts texts(4, {200, 90});
  const PairBatch batch = texts.batch();
  const auto kept = model->encode_documents(document_ids(batch), 0);
  ASSERT_TRUE(kept);
  const std::vector<float> sound = model.scored(from_cache(batch, *kept)).scores;
  const auto width = static_cast<std::size_t>(kept->width());
  for (const std::size_t word : {0U, 31U, 150U, 199U}) {
    std::vector<std::byte> rows;
    for (const std::int64_t document : {0, 1}) {
      const auto own = kept->document(document);
      rows.insert(rows.end(), own.begin(), own.end());
    }
    const float nan = std::numeric_limits<float>::quiet_NaN();
    std::memcpy(rows.data() + word * width * sizeof(float), &nan, sizeof(nan));
    const DocumentCache spoilt(kept->maker(), kept->width(), {0, 200, 290}, std::move(rows));
    EXPECT_EQ(spoilt.first_not_finite(), 0);
    const std::vector<float> scores = model.scored(from_cache(batch, spoilt)).scores;
    EXPECT_TRUE(std::isnan(scores[0])) << word;
    EXPECT_EQ(scores[1], sound[1]) << word;
  }
}

TEST(Tkl, RefusesACacheOfOtherHeadsAndLongQueries) {
  const LateRowModel six(words_case("tkl"), words_shape());
  ModelConfig config = six.weights()->config();
  config.shape.heads = 3;
  const LateRowModel three(words_case("tkl"), with_config(config, six));
  const WordTexts texts(4, {50});
  const PairBatch batch = texts.batch();
  const auto kept = six->encode_documents(document_ids(batch), 0);
  ASSERT_TRUE(kept);
  EXPECT_THAT(message_of(three->score(from_cache(batch, *kept))),
              HasSubstr("encoded as 'chunks of 40 words, 6 heads', but the model encodes them as "
                        "'chunks of 40 words, 3 heads'; encode them again"));
  EXPECT_THAT(message_of(six->score(WordTexts(31, {10}).batch())),
              HasSubstr("a query has 31 words, and the model accepts 30"));
}

TEST(Tkl, BestRegionsDoNotOverlapAndPreferTheFirst) {
  std::vector<float> scores(100, 1.0F);
  scores[50] = 3;
  scores[60] = 2;  // too near
  scores[20] = 1.5F;
  const BestRegions best = best_regions(scores);
  EXPECT_THAT(std::vector(best.region.begin(), best.region.begin() + 3),
              testing::ElementsAre(50, 20, 0));
  EXPECT_THAT(std::vector(best.region.begin() + 3, best.region.end()),
              testing::ElementsAre(49, 19, 0, 51, 21, 1, 48, 18, 0, 52, 22, 2));
  EXPECT_EQ(best.score[0], 3.0F);
  EXPECT_EQ(best_regions({}).score[0], 0.0F);
}

TEST(Tk, RegionOfTheWholeDocumentHasItsScore) {
  const LateRowModel model(words_case("tk"), words_shape());
  const WordTexts texts(4, {25});
  const std::vector<float> regions = shown_of(model, texts.batch()).at("0.regions").values;
  ASSERT_EQ(regions.size(), 6U);
  const float score = model.scored(texts.batch()).scores[0];
  EXPECT_NEAR(regions[0], score, 1e-5 * std::abs(score));
}

TEST(Tkl, ShowsRegionsWithTheirShares) {
  const LateRowModel model(words_case("tkl"), words_shape());
  const WordTexts texts(4, {200});
  const auto shown = shown_of(model, texts.batch());
  const ModelOutput output = model.scored(texts.batch());
  ASSERT_EQ(shown.at("0.regions").shape, std::vector<std::int64_t>{cpu::regions_of(200)});
  const Shown& shares = shown.at("0.shares");
  ASSERT_THAT(shares.shape, testing::ElementsAre(15, 4, 11));
  for (std::size_t i = 0; i < 15; ++i) {
    double sum = shown.at("0.unmatched").values[i];
    for (std::size_t j = 0; j < 44; ++j) sum += shares.values[i * 44 + j];
    const auto region = static_cast<std::size_t>(shown.at("0.counted").values[i]);
    EXPECT_NEAR(sum, shown.at("0.regions").values[region], 1e-4 * std::abs(sum)) << i;
    EXPECT_NEAR(sum, output.states[i], 1e-4 * std::abs(sum)) << i;
  }
  double score = 0;
  for (std::size_t i = 0; i < 15; ++i) {
    score += static_cast<double>(shown.at("0.weights").values[i]) *
             static_cast<double>(output.states[i]);
  }
  EXPECT_NEAR(score, output.scores[0], 1e-5 * std::abs(score));
  EXPECT_THAT(shown.at("0.score").values, testing::ElementsAre(output.scores[0]));
}

/// A narrow kernel counts equal words only if rounding does not separate their cosines from 1.
TEST(Knrm, EqualWordsCountFully) {
  const LateRowModel model(words_case("knrm"), {.hidden = 300, .vocabulary = 200});
  const std::vector<std::int32_t> query = {2, 17, 101, 1, 60};
  std::vector<std::int32_t> document = words(400, 3);
  document.insert(document.end(), query.begin(), query.end());
  std::vector<float> sums;
  const auto output = model->score({.items = {{query, document}}},
                                   [&](const Shown& shown) { sums = shown.values; });
  ASSERT_TRUE(output);
  ASSERT_EQ(sums.size(), query.size() * 11);
  for (std::size_t i = 0; i < query.size(); ++i) {
    // A cosine within 1e-6 of 1 gives a kernel within 5e-5.
    const auto counted = static_cast<double>(std::ranges::count(document, query[i]));
    EXPECT_NEAR(sums[i * 11], counted, 5e-5 * counted) << i;
  }
}

TEST(Pacrr, RefusesMoreThanTwoHundredWords) {
  for (const char* row : {"pacrr", "co-pacrr"}) {
    const LateRowModel model(words_case(row), words_shape());
    EXPECT_THAT(message_of(model->score(WordTexts(5, {201}).batch())),
                HasSubstr("a document has 201 words, and the model accepts 200; truncate it"));
    EXPECT_THAT(message_of(model->supports(WordTexts(31, {9}).batch())),
                HasSubstr("a query has 31 words, and the model accepts 30"));
    const std::string config = fmt::format(
        R"({{"model_type": "{}", "embedding_dim": 8, "max_document_tokens": 400}})", row);
    EXPECT_THAT(message_of(read_model_config(config, "config.json")),
                HasSubstr(fmt::format("is 400, and models of the family {} take 200 words", row)));
  }
}

TEST(Pacrr, ShowsItsMapOfCosines) {
  const LateRowModel model(words_case("pacrr"), words_shape());
  const std::vector<std::int32_t> query{5, 6}, document{7, 6, 8};
  const auto shown = shown_of(model, {.items = {{query, document}}});
  ASSERT_EQ(shown.size(), 1U);
  EXPECT_THAT(shown.at("0.cosines").shape, testing::ElementsAre(2, 3));
  EXPECT_NEAR(shown.at("0.cosines").values[4], 1, 1e-6);  // the word 6 with itself
}

}  // namespace
}  // namespace attnscope::test
