// BERT's family: every row of the paper compared with the float64 reference.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "engine/documents/document_cache.h"
#include "engine/model/family.h"
#include "engine/model/model_weights.h"
#include "engine/model/part_times.h"
#include "tests/model/drawn_pairs.h"

namespace attnscope::test {
namespace {

const Family& bert() {
  return *families().front();
}

const ModelOptions global{"global-projections"};

/// Every row of the paper, each with implementations that support its pattern.
std::vector<BertRow> rows() {
  std::vector<BertRow> all{{"full", "sdpa"},
                           {"full", "dense"},
                           {"full", "segment"},
                           {"longformer", "longformer-chunks", Window::of(16), global},
                           {"longformer", "longformer-chunks", Window::of(4), global},
                           {"longformer", "segment", Window::of(4), global},
                           {"longformer", "segment", Window::of(0), global},
                           {"qds", "longformer-chunks", Window::of(8), global},
                           {"qds", "segment", Window::of(8), global},
                           {"bigbird", "segment"},
                           {"sparse", "longformer-chunks", Window::of(4)},
                           {"sparse", "windowed", Window::of(4)},
                           {"sparse", "sdpa-mask", Window::of(4)},
                           {"sparse-without-independent-query", "segment", Window::of(4)},
                           {"sparse-without-independent-query", "segment", Window::infinite()}};
  for (const std::int64_t w : {64, 16, 4, 1, 0})
    all.push_back({"sparse", "segment", Window::of(w)});
  all.push_back({"sparse", "segment", Window::infinite()});
  return all;
}

std::unique_ptr<Model> encoder_of(const BertRow& row, bool cls_only = false) {
  ModelVariant variant = variant_of(row);
  if (cls_only) variant.options.emplace("cls-only-last-layer");
  auto encoder = bert().make(drawn_weights(), variant, row.implementation);
  EXPECT_TRUE(encoder) << encoder.error().message;
  return std::move(*encoder);
}

ModelOutput scored(Model& encoder, const PairBatch& batch) {
  auto output = encoder.score(batch);
  EXPECT_TRUE(output) << output.error().message;
  return output ? std::move(*output) : ModelOutput{};
}

std::vector<double> references_of(const BertRow& row, const DrawnPairs& pairs) {
  std::vector<double> scores;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    scores.push_back(
        bert().reference(*drawn_weights(), variant_of(row), pairs.item(i), 101)->score);
  }
  return scores;
}

class EveryRow : public testing::TestWithParam<BertRow> {};

INSTANTIATE_TEST_SUITE_P(CrossEncoder, EveryRow, testing::ValuesIn(rows()), bert_row_name);

TEST_P(EveryRow, MatchesTheFloat64Reference) {
  const DrawnPairs pairs({5, 1, 9}, {130, 40, 1});
  const auto encoder = encoder_of(GetParam());
  const ModelOutput output = scored(*encoder, pairs.batch());
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const auto reference =
        bert().reference(*drawn_weights(), variant_of(GetParam()), pairs.item(i), 101);
    ASSERT_TRUE(reference);
    EXPECT_LT(error_of(output, i, *reference, /*with_score=*/false),
              bert().error_bound(DType::float32, small_shape()))
        << i;
    EXPECT_NEAR(output.scores[i], reference->score, 1e-5) << i;
  }
}

TEST_P(EveryRow, ClsOnlyLastLayerGivesTheSameScores) {
  const DrawnPairs pairs = DrawnPairs::with_one_query(5, {130, 40, 77});
  const auto whole = encoder_of(GetParam());
  const auto cls_only = encoder_of(GetParam(), /*cls_only=*/true);
  const ModelOutput expected = scored(*whole, pairs.batch());
  const ModelOutput output = scored(*cls_only, pairs.batch());
  EXPECT_THAT(output.scores, testing::Pointwise(testing::FloatNear(1e-5F), expected.scores));
  EXPECT_LT(cls_only->work(pairs.batch())->linear_flop, whole->work(pairs.batch())->linear_flop);
}

TEST_P(EveryRow, SharedQueryBatchMatchesSinglePairs) {
  const DrawnPairs pairs = DrawnPairs::with_one_query(6, std::vector<std::int64_t>(100, 21));
  const auto encoder = encoder_of(GetParam());
  const ModelOutput together = scored(*encoder, pairs.batch());
  for (std::size_t i = 0; i < pairs.size(); i += 9) {
    const ModelOutput alone = scored(*encoder, {.items = {pairs.item(i)}});
    // Products of other sizes may sum in a different order.
    EXPECT_NEAR(together.scores[i], alone.scores[0], 1e-6) << i;
  }
}

TEST_P(EveryRow, ScoresDoNotDependOnOrderOrOtherPairs) {
  const DrawnPairs pairs({5, 1, 9, 2}, {130, 40, 1, 66});
  const auto encoder = encoder_of(GetParam());
  const ModelOutput output = scored(*encoder, pairs.batch());
  const ModelOutput turned =
      scored(*encoder, {.items = {pairs.item(3), pairs.item(1), pairs.item(0)}});
  EXPECT_NEAR(turned.scores[0], output.scores[3], 1e-6);
  EXPECT_NEAR(turned.scores[1], output.scores[1], 1e-6);
  EXPECT_NEAR(turned.scores[2], output.scores[0], 1e-6);
}

TEST(CrossEncoder, SparseWithInfiniteWindowAndDependentQueryIsFullAttention) {
  const DrawnPairs pairs({5, 9}, {130, 40});
  const auto sparse =
      encoder_of({"sparse-without-independent-query", "segment", Window::infinite()});
  const auto full = encoder_of({"full", "sdpa"});
  EXPECT_THAT(scored(*sparse, pairs.batch()).scores,
              testing::Pointwise(testing::FloatNear(1e-6F), scored(*full, pairs.batch()).scores));
}

TEST(CrossEncoder, PatternsGiveDifferentScores) {
  const DrawnPairs pairs({5}, {130});
  const std::vector<double> scores{
      references_of({"full", "sdpa"}, pairs)[0],
      references_of({"sparse", "segment", Window::of(4)}, pairs)[0],
      references_of({"sparse", "segment", Window::of(0)}, pairs)[0],
      references_of({"longformer", "segment", Window::of(4)}, pairs)[0],
      references_of({"longformer", "segment", Window::of(4), global}, pairs)[0]};
  for (std::size_t a = 0; a < scores.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b) EXPECT_GT(std::abs(scores[a] - scores[b]), 1e-5) << a << b;
  }
}

TEST(CrossEncoder, CountsAnIndependentQueryOnce) {
  const DrawnPairs pairs = DrawnPairs::with_one_query(50, {10, 10, 10, 10});
  const auto sparse = encoder_of({"sparse", "segment", Window::of(4)});
  PairBatch apart = pairs.batch();
  apart.one_query = false;
  EXPECT_LT(sparse->work(pairs.batch())->linear_flop, 0.45 * sparse->work(apart)->linear_flop);
  const auto full = encoder_of({"full", "sdpa"});
  EXPECT_EQ(full->work(pairs.batch())->linear_flop, full->work(apart)->linear_flop);
}

TEST(CrossEncoder, SixteenBitErrorsStayWithinTheBound) {
  const DrawnPairs pairs({5}, {130});
  for (const DType dtype : {DType::float16, DType::bfloat16}) {
    ModelVariant variant = variant_of({"sparse", "segment", Window::of(4)});
    variant.dtype = dtype;
    const auto reference = bert().reference(*drawn_weights(), variant, pairs.item(0), 101);
    auto encoder = bert().make(drawn_weights(), variant, "segment");
    ASSERT_TRUE(encoder) << encoder.error().message;
    const double error =
        error_of(scored(**encoder, pairs.batch()), 0, *reference, /*with_score=*/false);
    EXPECT_LT(error, bert().error_bound(dtype, small_shape())) << name_of(dtype);
    EXPECT_GT(error, bert().error_bound(DType::float32, small_shape())) << "is this float32?";
  }
}

TEST(CrossEncoder, ShowsQueriesKeysAndValuesOfEveryLayer) {
  const DrawnPairs pairs({5}, {130});
  for (const ModelOptions& options : {ModelOptions(), global}) {
    const auto encoder = encoder_of({"longformer", "segment", Window::of(4), options});
    std::vector<Shown> shown;
    const auto output =
        encoder->score(pairs.batch(), [&](Shown tensor) { shown.push_back(std::move(tensor)); });
    ASSERT_TRUE(output);
    EXPECT_EQ(output->scores, scored(*encoder, pairs.batch()).scores);
    std::vector<std::string> names{"q", "k", "v"};
    if (!options.empty()) names.insert(names.end(), {"q_global", "k_global", "v_global"});
    ASSERT_EQ(shown.size(), 3 * names.size());
    for (std::size_t i = 0; i < shown.size(); ++i) {
      EXPECT_EQ(shown[i].layer, static_cast<std::int64_t>(i / names.size()));
      EXPECT_EQ(shown[i].name, names[i % names.size()]);
      EXPECT_THAT(shown[i].shape, testing::ElementsAre(136, 3, 16));
      EXPECT_EQ(shown[i].values.size(), 136U * 48U);
    }
    EXPECT_NE(shown[0].values, shown[1].values);
  }
}

TEST(CrossEncoder, MeasuresTheTimeOfEachPart) {
  const DrawnPairs pairs({3, 5}, {40, 9});
  for (const bool cls_only : {false, true}) {
    const auto encoder = encoder_of({"sparse", "segment", Window::of(4)}, cls_only);
    const auto start = std::chrono::steady_clock::now();
    PartTimes times;
    (void)scored(*encoder, pairs.batch());
    const std::chrono::duration<double> whole = std::chrono::steady_clock::now() - start;
    double sum = 0;
    for (const ModelPart part : model_parts) {
      EXPECT_GT(times.seconds(part), 0) << name_of(part);
      sum += times.seconds(part);
    }
    // Parts inside others count once.
    EXPECT_LE(sum, whole.count());
  }
  const auto work = encoder_of({"full", "segment"})->work(pairs.batch());
  EXPECT_GT(work->feed_forward_flop, 0);
  EXPECT_LT(work->feed_forward_flop, work->linear_flop);
}

TEST(CrossEncoder, RefusesEmptyBatchesLongPairsAndUnknownIds) {
  const auto encoder = encoder_of({"sparse", "segment", Window::of(4)});
  EXPECT_THAT(message_of(encoder->score({})), testing::HasSubstr("without pairs"));
  const DrawnPairs long_pair({5}, {300});
  EXPECT_THAT(message_of(encoder->score(long_pair.batch())),
              testing::HasSubstr("pair 1 has 306 tokens, and the model has 300 positions"));
  const std::vector<std::int32_t> query{200, 102};
  const std::vector<std::int32_t> document{120, 102};
  EXPECT_THAT(message_of(encoder->score({.items = {{query, document}}})),
              testing::HasSubstr("a token id is 200, and the model's vocabulary ends at 199"));
}

TEST(CrossEncoder, RefusesLongformerWithoutGlobalProjections) {
  const auto plain = ModelWeights::random(small_config(), {.seed = 7});
  const BertRow row{"longformer", "segment", Window::of(4), global};
  EXPECT_THAT(message_of(bert().make(plain, variant_of(row), "segment")),
              testing::HasSubstr("separate projections"));
}

TEST(CrossEncoder, ReportsWhyAnImplementationDoesNotSupportThePattern) {
  const auto encoder = encoder_of({"sparse", "sdpa", Window::of(4)});
  const DrawnPairs pairs({5}, {130});
  EXPECT_THAT(message_of(encoder->supports(pairs.batch())), testing::HasSubstr("sdpa"));
  EXPECT_FALSE(bert().supports(small_config(), variant_of({"sparse", "", Window::of(4)}), "sdpa"));
}

TEST(CrossEncoder, CannotEncodeDocumentsInAdvance) {
  const auto encoder = encoder_of({"full", "sdpa"});
  const std::vector<std::int32_t> document{120, 102};
  const TokenIds ids = document;
  EXPECT_FALSE(encoder->encode_documents({&ids, 1}, 101));
  EXPECT_FALSE(encoder->work_of_documents({&ids, 1}));
}

}  // namespace
}  // namespace attnscope::test
