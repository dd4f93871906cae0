// BERT's family: every row of the paper compared with the float64 reference.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "engine/documents/document_cache.h"
#include "engine/model/bert/encoder_layer.h"
#include "engine/model/family.h"
#include "engine/model/model_weights.h"
#include "engine/model/part_times.h"
#include "engine/pattern/compile_plan.h"
#include "kernels/plan/counts.h"
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

double reference_of(const BertRow& row, const DrawnPairs& pairs) {
  return bert().reference(*drawn_weights(), variant_of(row), pairs.item(0), 101)->score;
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

TEST_P(EveryRow, ScoresDoNotDependOnOrderOrOtherPairs) {
  const auto encoder = encoder_of(GetParam());
  // Products of other sizes may sum in a different order.
  const auto near = [](const std::vector<float>& scores) {
    return testing::Pointwise(testing::FloatNear(1e-6F), scores);
  };
  const DrawnPairs shared = DrawnPairs::with_one_query(6, std::vector<std::int64_t>(100, 21));
  const ModelOutput together = scored(*encoder, shared.batch());
  for (std::size_t i = 0; i < shared.size(); i += 9)
    EXPECT_THAT(scored(*encoder, {.items = {shared.item(i)}}).scores, near({together.scores[i]}));
  const DrawnPairs pairs({5, 1, 9, 2}, {130, 40, 1, 66});
  const std::vector<float> scores = scored(*encoder, pairs.batch()).scores;
  EXPECT_THAT(scored(*encoder, {.items = {pairs.item(3), pairs.item(1), pairs.item(0)}}).scores,
              near({scores[3], scores[1], scores[0]}));
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
      reference_of({"full", "sdpa"}, pairs),
      reference_of({"sparse", "segment", Window::of(4)}, pairs),
      reference_of({"sparse", "segment", Window::of(0)}, pairs),
      reference_of({"longformer", "segment", Window::of(4)}, pairs),
      reference_of({"longformer", "segment", Window::of(4), global}, pairs)};
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

TEST(CrossEncoder, RefusesInvalidBatchesAndVariants) {
  const auto encoder = encoder_of({"sparse", "segment", Window::of(4)});
  EXPECT_THAT(message_of(encoder->score({})), testing::HasSubstr("without pairs"));
  const DrawnPairs long_pair({5}, {300}), pairs({5}, {130});
  EXPECT_THAT(message_of(encoder->score(long_pair.batch())),
              testing::HasSubstr("pair 1 has 306 tokens, and the model has 300 positions"));
  const std::vector<std::int32_t> query{200, 102}, document{120, 102};
  EXPECT_THAT(message_of(encoder->score({.items = {{query, document}}})),
              testing::HasSubstr("a token id is 200, and the model's vocabulary ends at 199"));
  const auto plain = ModelWeights::random(small_config(), {.seed = 7});
  const BertRow row{"longformer", "segment", Window::of(4), global};
  EXPECT_THAT(message_of(bert().make(plain, variant_of(row), "segment")),
              testing::HasSubstr("separate projections"));
  const auto sdpa = encoder_of({"sparse", "sdpa", Window::of(4)});
  EXPECT_THAT(message_of(sdpa->supports(pairs.batch())), testing::HasSubstr("sdpa"));
  EXPECT_FALSE(bert().supports(small_config(), variant_of({"sparse", "", Window::of(4)}), "sdpa"));
}

TEST(CrossEncoder, CannotEncodeDocumentsInAdvance) {
  const auto encoder = encoder_of({"full", "sdpa"});
  const std::vector<std::int32_t> document{120, 102};
  const TokenIds ids = document;
  EXPECT_FALSE(encoder->encode_documents({&ids, 1}, 101));
  EXPECT_FALSE(encoder->work_of_documents({&ids, 1}));
}

SequenceLayout two_items() {
  return *SequenceLayout::make(
      {{.cls = 1, .query = 2, .documents = {4}}, {.cls = 1, .query = 1, .documents = {70}}});
}

TEST(PlanRows, SelectedRowsKeepAllTheirKeys) {
  const SequenceLayout layout = two_items();
  for (const char* name : {"full", "sparse", "longformer", "qds", "bigbird"}) {
    const AttentionPattern pattern = *find_pattern(name);
    const AttentionPlan plan = *compile_plan(pattern, Window::of(2), layout, 2);
    const AttentionPlan cls = with_rows(plan, marked(cls_rows(layout), layout.tokens()));
    // In all of them, [CLS] attends to its whole item.
    EXPECT_EQ(count(cls).pairs, 2 * (7 + 72)) << name;
    std::vector<int> covered(static_cast<std::size_t>(2 * layout.tokens()), 0);
    for (const Task& task : cls.tasks) {
      for (std::int32_t h = task.heads.begin; h < task.heads.end; ++h) {
        for (std::int64_t p = 0; p < task.queries.size(); ++p) {
          ++covered[static_cast<std::size_t>(h * layout.tokens() + cls.token_at(task.queries, p))];
        }
      }
    }
    EXPECT_THAT(covered, testing::Each(1)) << name;
  }
}

TEST(PlanRows, SelectedAndRemainingRowsAddUpToThePlan) {
  const SequenceLayout layout = two_items();
  const AttentionPattern pattern = *find_pattern("qds");
  const AttentionPlan plan = *compile_plan(pattern, Window::of(2), layout, 2);
  std::vector<bool> keeps = marked(global_rows(pattern, layout), layout.tokens());
  const std::int64_t global = count(with_rows(plan, keeps)).pairs;
  keeps.flip();
  EXPECT_EQ(global + count(with_rows(plan, keeps)).pairs, count(plan).pairs);
}

TEST(PlanRows, GlobalRowsAttendToAllAndAreAttendedToByAll) {
  const SequenceLayout layout = two_items();
  EXPECT_THAT(global_rows(*find_pattern("longformer"), layout),
              testing::ElementsAre(0, 1, 2, 7, 8));
  EXPECT_THAT(global_rows(*find_pattern("qds"), layout),
              testing::ElementsAre(0, 1, 2, 3, 7, 8, 9, 39, 69));
  EXPECT_THAT(global_rows(*find_pattern("sparse"), layout), testing::IsEmpty());
  EXPECT_EQ(global_rows(*find_pattern("full"), layout).size(), 79U);
}

}  // namespace
}  // namespace attnscope::test
