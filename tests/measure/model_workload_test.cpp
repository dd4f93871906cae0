// SPDX-License-Identifier: Apache-2.0
//
// Heats of whole models, small ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "engine/heat/model_row.h"
#include "engine/measure/heat_runner.h"
#include "engine/measure/model_contenders.h"
#include "tests/measure/small_heat.h"

namespace attnscope::measure {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

Contender model(const std::string& row, const std::string& implementation,
                std::optional<Window> window = std::nullopt) {
  Contender made = contender(parse_model_row(row)->pattern, implementation, window);
  made.model = row;
  return made;
}

protocol::HeatRequest model_heat(std::vector<Contender> models) {
  protocol::HeatRequest request = small_heat(std::move(models));
  HeatPoint& point = request.heat.point;
  point.operation = Operation::model;
  point.memory_order = MemoryOrder::token_major;
  point.layers = 2;
  point.feed_forward = 128;
  point.batch_max = 3;
  return request;
}

HeatResult run_models(const protocol::HeatRequest& request) {
  return run_heat(request, {}).value();
}

void expect_correct_and_measured(const HeatResult& result, std::int64_t batch = 3,
                                 std::size_t samples = 3) {
  for (const Cell& cell : result.cells) {
    SCOPED_TRACE(cell.contender.id());
    ASSERT_EQ(cell.status, CellStatus::ok) << cell.reason;
    EXPECT_EQ(cell.batch, batch);
    EXPECT_GE(cell.samples.size(), samples);
    EXPECT_EQ(why_unproven(cell), "");
  }
}

/// Measures whole models, each of which is expected to be correct.
void expect_correct_and_measured(const std::vector<Contender>& rows) {
  const HeatResult result = run_models(model_heat(rows));
  ASSERT_EQ(result.cells.size(), rows.size());
  expect_correct_and_measured(result);
  for (const Cell& cell : result.cells) {
    SCOPED_TRACE(cell.contender.id());
    EXPECT_GT(cell.work.useful_flop, 0);
    EXPECT_GE(cell.work.executed_flop, cell.work.useful_flop);
    EXPECT_GT(cell.memory.requested_bytes, 0);
  }
}

TEST(ModelHeat, EveryRowOfThePaperIsCorrectAndMeasured) {
  expect_correct_and_measured(
      {model("full", "sdpa"), model("longformer", "longformer-chunks", Window::of(16)),
       model("qds", "longformer-chunks", Window::of(16)), model("sparse", "segment", Window::of(4)),
       model("sparse", "segment", Window::infinite()),
       model("sparse-without-kernel", "longformer-chunks", Window::of(4)),
       model("sparse-without-independent-query", "segment", Window::of(4)),
       model("bigbird", "bigbird"), model("sparse+cls-only-last-layer", "segment", Window::of(4)),
       model("longformer+cls-only-last-layer", "longformer-chunks", Window::of(16))});
}

TEST(ModelHeat, NarrowProductsAreCorrectWithinTheirOwnBounds) {
  const std::vector<Contender> rows{
      model("full", "segment"), model("full+bfloat16-products", "segment"),
      model("sparse+cls-only-last-layer+int8-products", "segment", Window::of(4)),
      model("modernbert+int8-products", "segment")};
  expect_correct_and_measured(rows);
  protocol::HeatRequest request = model_heat(rows);
  const HeatResult result = run_models(request);
  EXPECT_GT(*result.cells[1].relative_error, 10 * *result.cells[0].relative_error);
  EXPECT_GT(*result.cells[2].relative_error, 10 * *result.cells[0].relative_error);
  request.heat.point.dtype = DType::bfloat16;
  EXPECT_THAT(run_models(request).cells[2].reason, HasSubstr("float32"));
}

TEST(ModelHeat, EveryStageOfTrainingIsCorrectAndMeasured) {
  double flop_forward = 0;
  for (const Stage stage :
       {Stage::train_forward, Stage::train_gradients, Stage::train_step, Stage::train_optimizer}) {
    SCOPED_TRACE(name_of(stage));
    protocol::HeatRequest request = model_heat(
        {model("sparse", "segment", Window::of(4)), model("full+cls-only-last-layer", "sdpa"),
         model("sparse+cls-only-last-layer+recompute", "segment", Window::of(4)),
         model("sparse+cls-only-last-layer", "windowed", Window::of(4)),
         model("longformer", "segment", Window::of(16))});
    request.heat.point.stage = stage;
    const HeatResult result = run_models(request);
    expect_correct_and_measured(result);
    const CellWork& work = result.cells[0].work;
    if (stage == Stage::train_forward) flop_forward = work.useful_flop;
    for (const Cell& cell : result.cells) {
      if (stage == Stage::train_optimizer) {
        EXPECT_EQ(cell.work.useful_flop, 0);
        EXPECT_GT(cell.work.least_bytes, 0);
      } else {
        EXPECT_GT(cell.memory.requested_bytes, 0);
      }
    }
    if (stage == Stage::train_step) {
      EXPECT_GT(work.useful_flop, 2.9 * flop_forward);
    }
  }
}

TEST(ModelHeat, RecomputedLayersNeedLessMemory) {
  protocol::HeatRequest request =
      model_heat({model("full", "segment"), model("full+recompute", "segment")});
  request.heat.point.stage = Stage::train_gradients;
  request.heat.point.sequence_tokens = 500;
  request.heat.point.layers = 4;
  const HeatResult result = run_models(request);
  expect_correct_and_measured(result, 3, 1);
  EXPECT_LT(static_cast<double>(result.cells[1].memory.requested_bytes),
            0.8 * static_cast<double>(result.cells[0].memory.requested_bytes));
}

TEST(ModelHeat, UnsupportedContendersHaveAReason) {
  struct Row {
    Contender contender;
    const char* reason;
    Stage stage = Stage::whole;
  };
  for (const auto& [contender, reason, stage] : std::vector<Row>{
           {model("sparse", "sdpa", Window::of(4)), "sdpa"},
           {model("full", "sdap"), "did you mean 'sdpa'"},
           {model("mixencoder-b", "segment"),
            "requests interaction in 3 layers, and the model has 2"},
           {model("colbert", "segment"), "models of the family colbert are not trained",
            Stage::train_step},
           {model("full", "dense"), "has no backward pass", Stage::train_step},
           {model("sparse", "sdpa", Window::of(4)), "", Stage::train_step},
           {model("full+int8-products", "segment"), "not in fewer bits", Stage::train_step}}) {
    SCOPED_TRACE(contender.id());
    protocol::HeatRequest request = model_heat({contender, model("full", "sdpa")});
    request.heat.point.stage = stage;
    const HeatResult result = run_models(request);
    EXPECT_EQ(result.cells[0].status, CellStatus::unsupported);
    EXPECT_FALSE(result.cells[0].reason.empty());
    EXPECT_THAT(result.cells[0].reason, HasSubstr(reason));
    EXPECT_EQ(result.cells[1].status, CellStatus::ok) << result.cells[1].reason;
  }
}

TEST(ModelHeat, EveryLateInteractionIsCorrectAndMeasured) {
  expect_correct_and_measured(
      {model("mixencoder-a", "segment"),
       model("mixencoder-a+contexts-2+interaction-layers-2+disentangled", "sdpa"),
       model("mixencoder-a+contexts-3+c-strategy", "dense"), model("dual-bert", "segment"),
       model("dual-bert+windowed", "segment", Window::of(4)), model("poly-encoder-64", "sdpa"),
       model("colbert", "segment"), model("deformer", "segment"), model("virt-like", "segment"),
       model("cross-bert", "segment")});
}

TEST(ModelHeat, EveryReRankerOverWordVectorsIsCorrectAndMeasured) {
  expect_correct_and_measured(
      {model("tkl", "segment"), model("tkl+saturation-log+as-published", "sdpa"),
       model("tk", "dense"), model("knrm", "kernel-pooling"), model("conv-knrm", "kernel-pooling"),
       model("match-pyramid", "libtorch"), model("pacrr", "libtorch"),
       model("co-pacrr", "libtorch")});
}

std::vector<Contender> one_of_each_kept() {
  return {model("cross-bert", "segment"), model("dual-bert", "segment"),
          model("mixencoder-a+contexts-2", "segment"), model("colbert", "segment"),
          model("deformer+top-layers-1", "segment")};
}

/// Cache sizes of one_of_each_kept() for documents of sequences of 64 tokens with 5 in the query.
std::vector<std::int64_t> bytes_kept(std::int64_t documents) {
  const std::int64_t hidden = 64, tokens = 58;
  return {0, documents * hidden * 4, documents * 2 * hidden * 4, documents * tokens * 128 * 4,
          documents * tokens * hidden * 4};
}

TEST(ModelStages, OnlineScoresEveryCandidateAgainstTheCache) {
  auto request = model_heat(one_of_each_kept());
  request.heat.point.stage = Stage::online;
  request.heat.point.candidates = 40;  // more than there are different documents
  const HeatResult result = run_models(request);
  expect_correct_and_measured(result, 40);
  const auto kept = bytes_kept(40);
  for (std::size_t i = 0; i < result.cells.size(); ++i) {
    EXPECT_GT(result.cells[i].work.useful_flop, 0);
    EXPECT_EQ(result.cells[i].memory.cache_bytes.has_value(), kept[i] > 0) << i;
  }
  EXPECT_EQ(result.cells[1].memory.cache_bytes, kept[1]);
  EXPECT_EQ(result.cells[2].memory.cache_bytes, kept[2]);
  const std::vector<PartTime>& parts = result.cells[0].parts;
  ASSERT_EQ(parts.size(), 6U);
  EXPECT_EQ(parts[2].name, "attention");
  EXPECT_GT(parts[2].time_ns, 0);
  EXPECT_GT(parts[2].useful_flop, 0);
  EXPECT_LT(parts[1].useful_flop + parts[2].useful_flop + parts[3].useful_flop,
            1.001 * result.cells[0].work.useful_flop);
  // All of a cross-encoder is computed online.
  EXPECT_GT(result.cells[0].work.useful_flop, 10 * result.cells[1].work.useful_flop);
}

TEST(ModelStages, OfflineAndLoadAreJudgedByTheResultingScores) {
  for (const Stage stage : {Stage::offline, Stage::load}) {
    SCOPED_TRACE(name_of(stage));
    auto request = model_heat(one_of_each_kept());
    request.heat.point.stage = stage;
    if (stage == Stage::load) request.heat.point.candidates = 5;
    HeatResult result = run_models(request);
    EXPECT_EQ(result.cells[0].status, CellStatus::unsupported);
    EXPECT_THAT(result.cells[0].reason, HasSubstr("stores nothing of documents"));
    result.cells.erase(result.cells.begin());
    expect_correct_and_measured(result, stage == Stage::load ? 5 : 3);
    if (stage != Stage::load) continue;
    for (const Cell& cell : result.cells) {
      EXPECT_GE(cell.memory.requested_bytes, 2 * cell.memory.cache_bytes.value_or(0));
      EXPECT_GT(cell.memory.requested_bytes, 0);
    }
  }
}

HeatPoint with_drawn_lengths(HeatPoint point, std::int64_t most) {
  point.document_lengths = {.median = 20, .p90 = 60, .most = most};
  point.sequence_tokens = tokens_with_words(point, most);
  return point;
}

TEST(ModelHeat, StagesWithDrawnLengthsAreCorrectAndCacheTheirDocuments) {
  for (const Stage stage : {Stage::whole, Stage::offline, Stage::online}) {
    auto request = model_heat({model("dual-bert", "segment"), model("colbert", "segment")});
    HeatPoint& point = request.heat.point;
    point = with_drawn_lengths(point, 100);
    point.stage = stage;
    point.batch_max = 8;
    const HeatResult drawn = run_models(request);
    SCOPED_TRACE(name_of(stage));
    expect_correct_and_measured(drawn, 8, 1);
    std::int64_t words = 0;
    for (std::int64_t i = 0; i < 8; ++i) words += point.document_lengths.words_of(i, point.seed);
    for (const Cell& cell : drawn.cells) EXPECT_EQ(cell.document_tokens, 101);
    if (stage == Stage::whole) continue;
    // A vector for each document; 128 numbers for each of its words, [CLS] and [SEP].
    EXPECT_EQ(drawn.cells[0].memory.cache_bytes, 8 * 64 * 4);
    EXPECT_EQ(drawn.cells[1].memory.cache_bytes, (words + 8 * 2) * 128 * 4);
  }
}

TEST(ModelHeat, BatchOfDrawnLengthsFitsTheMemory) {
  auto request = model_heat({model("full", "dense")});
  HeatPoint& point = request.heat.point;
  point.batch_max = 100;
  point.batch_memory_mb = 16;
  point.sequence_tokens = tokens_with_words(point, 500);
  const HeatResult alike = run_models(request);
  point = with_drawn_lengths(point, 500);
  const HeatResult drawn = run_models(request);
  ASSERT_EQ(drawn.cells[0].status, CellStatus::ok) << drawn.cells[0].reason;
  EXPECT_GT(drawn.cells[0].batch, alike.cells[0].batch);
  EXPECT_LE(drawn.cells[0].memory.requested_bytes, 16 << 20);
  EXPECT_LT(drawn.cells[0].work.least_bytes / static_cast<double>(drawn.cells[0].batch),
            alike.cells[0].work.least_bytes / static_cast<double>(alike.cells[0].batch));
}

TEST(ModelStages, CandidatesThatDoNotFitTogetherAreScoredInBatches) {
  auto request = model_heat({model("full", "dense"), model("dual-bert", "segment")});
  HeatPoint& point = request.heat.point;
  point.sequence_tokens = 512;
  point.candidates = 9;
  point.batch_memory_mb = 8;
  const HeatResult alike = run_models(request);
  expect_correct_and_measured(alike, 9, 1);
  for (const Cell& cell : alike.cells) EXPECT_LE(cell.memory.requested_bytes, 9 << 20);
  // With drawn lengths, the batch with the longest document fits as well.
  point = with_drawn_lengths(point, 500);
  point.document_lengths.p90 = 400;
  point.candidates = 12;
  request.heat.contenders.pop_back();
  const HeatResult drawn = run_models(request);
  expect_correct_and_measured(drawn, 12, 1);
  EXPECT_LE(drawn.cells[0].memory.requested_bytes, 8 << 20);
}

TEST(ModelHeat, CommonBatchFitsTheContenderThatNeedsMost) {
  auto request = model_heat({model("full", "dense"), model("sparse", "segment", Window::of(4))});
  request.heat.point.sequence_tokens = 512;
  request.heat.point.batch_max = 100;
  request.heat.point.batch_memory_mb = 16;
  const HeatResult together = run_models(request);
  EXPECT_EQ(together.cells[0].batch, together.cells[1].batch);
  EXPECT_LT(together.cells[0].batch, 100);
  request.heat.point.batch_per_contender = true;
  const HeatResult apart = run_models(request);
  EXPECT_EQ(apart.cells[0].batch, together.cells[0].batch);
  EXPECT_GT(apart.cells[1].batch, apart.cells[0].batch);
  for (const Cell& cell : apart.cells) EXPECT_EQ(cell.status, CellStatus::ok) << cell.reason;
}

TEST(ModelInputs, DocumentsDifferAndEndInSep) {
  const HeatPoint point = model_heat({}).heat.point;
  const ModelInputs inputs(point, *group_sizes(point), 3);
  const PairBatch batch = inputs.batch_of(3);
  ASSERT_EQ(batch.items.size(), 3U);
  EXPECT_TRUE(batch.one_query);
  for (const PairBatch::Item& item : batch.items) {
    EXPECT_EQ(item.query.size(), 6U);
    EXPECT_EQ(item.document.size(), 57U);
    EXPECT_EQ(item.query.back(), 102);
    EXPECT_EQ(item.document.back(), 102);
    EXPECT_THAT(item.document.first(56),
                Each(testing::AllOf(testing::Ge(1000), testing::Lt(30522))));
    EXPECT_EQ(item.query.data(), batch.items[0].query.data());
  }
  EXPECT_THAT(std::vector(batch.items[0].document.begin(), batch.items[0].document.end()),
              Not(testing::ElementsAreArray(batch.items[1].document)));
  EXPECT_EQ(inputs.batch_of(1).items[0].document.data(), batch.items[2].document.data())
      << "the compared document is the last of every batch";
}

TEST(ModelInputs, DrawnDocumentsAreEqualInEveryBatchAndSharedAtItsEnd) {
  const HeatPoint point = with_drawn_lengths(model_heat({}).heat.point, 100);
  const ModelInputs few(point, *group_sizes(point), 3), many(point, *group_sizes(point), 20);
  for (std::int64_t i = 0; i < 3; ++i) {
    const TokenIds document = few.document(i);
    EXPECT_EQ(document.size(), point.document_lengths.words_of(i, point.seed) + 1U);
    EXPECT_EQ(document.back(), 102);
    EXPECT_THAT(std::vector(document.begin(), document.end()),
                testing::ElementsAreArray(many.document(i)));
  }
  EXPECT_NE(few.document(0).size(), few.document(1).size());
  EXPECT_EQ(many.batch_of(1).items[0].document.data(), many.batch_of(9).items[8].document.data());
}

TEST(ModelGate, ComparesFirstAndLastDocumentUnlessTheyAreLong) {
  EXPECT_THAT(documents_to_compare(174, 100), ElementsAre(0, 99));
  EXPECT_THAT(documents_to_compare(174, 1), ElementsAre(0));
  EXPECT_THAT(documents_to_compare(4096, 8), ElementsAre(7));
}

constexpr float nan = std::numeric_limits<float>::quiet_NaN();

TEST(ModelGate, StatesAndScoresAreComparedRelativeToTheState) {
  struct Row {
    const char* name;
    ReferenceOutput reference;  // of the last of two documents
    ModelOutput output;
    double error;  // infinity: the output is wrong without a finite error
  };
  const ReferenceOutput usual{.score = 0.5, .state = {1, -2}};
  const ReferenceOutput zero{.score = 0.25, .state = {0, 0}}, all_zero{.score = 0, .state = {0, 0}};
  const double infinity = std::numeric_limits<double>::infinity();
  for (const Row& row : std::vector<Row>{
           {"exact", usual, {.scores = {0, 0.5F}, .states = {9, 9, 1, -2}}, 0},
           {"state", usual, {.scores = {0, 0.5F}, .states = {9, 9, 1, -2.001F}}, 0.0005},
           {"score", usual, {.scores = {0, 0.6F}, .states = {9, 9, 1, -2}}, 0.05},
           {"score of a zero state", zero, {.scores = {0, 0.26F}, .states = {9, 9, 0, 0}}, 0.04},
           {"exact zeros", all_zero, {.scores = {0, 0}, .states = {9, 9, 0, 0}}, 0},
           {"not zero", all_zero, {.scores = {0, 0}, .states = {9, 9, 0, 1e-9F}}, infinity},
           {"score that is not a number",
            usual,
            {.scores = {nan, 0.5F}, .states = {9, 9, 1, -2}},
            infinity},
           {"missing score", usual, {.scores = {1}, .states = {1, 1}}, infinity}}) {
    SCOPED_TRACE(row.name);
    const Verdict verdict = judge({{1, &row.reference}}, row.output, 2, 1e-5);
    EXPECT_EQ(verdict.wrong.empty(), row.error == 0) << verdict.wrong;
    if (std::isfinite(row.error)) {
      EXPECT_NEAR(verdict.error.error, row.error, 1e-6);
    } else {
      EXPECT_EQ(verdict.error.error, infinity);
    }
  }
  EXPECT_THAT(judge({{1, &usual}}, {.scores = {1}, .states = {1, 1}}, 2, 1e-5).wrong,
              HasSubstr("1 scores for 2 documents"));
}

TEST(ModelGate, ScoresWithoutStatesAreComparedRelativeToTheReferenceState) {
  const ReferenceOutput first{.score = 1, .state = {4, -2}}, last{.score = 0.5, .state = {1, -2}};
  const ReferenceOutput zero{.score = 0.5, .state = {0, 0}};
  const ModelReferences references{{0, &first}, {2, &last}};
  const auto verdict = [&](const std::vector<float>& scores) {
    return judge_scores(references, scores, 1e-5);
  };
  EXPECT_EQ(verdict({1, 7, 0.5F}).wrong, "");
  EXPECT_THAT(verdict({1, 7, 0.6F}).wrong, HasSubstr("scores differ"));
  EXPECT_NEAR(verdict({1, 7, 0.6F}).error.error, 0.05, 1e-6);
  EXPECT_NE(verdict({1, nan, 0.5F}).wrong, "");
  EXPECT_NE(verdict({nan, 7, 0.5F}).wrong, "");
  EXPECT_EQ(judge_scores({{0, &zero}}, std::vector{0.5F}, 1e-5).wrong, "");
  EXPECT_NEAR(judge_scores({{0, &zero}}, std::vector{0.6F}, 1e-5).error.error, 0.2, 1e-6);
}

TEST(ModelGate, LaterScoresMayDifferOnlyByRounding) {
  const auto wrong = [](const ModelOutput& checked, std::vector<float> scores) {
    return judge_again(checked, {.scores = std::move(scores), .states = {1, 1}}, 1e-5).wrong;
  };
  const ModelOutput checked{.scores = {1, 2}, .states = {1, 1}};
  EXPECT_EQ(wrong(checked, {1, 2}), "");
  EXPECT_EQ(wrong(checked, {1, 2.00001F}), "");
  EXPECT_THAT(wrong(checked, {1, 2.1F}), HasSubstr("correct when they were checked"));
  EXPECT_NE(wrong({.scores = {1}, .states = {1}}, {nan}), "");
  EXPECT_EQ(wrong({.scores = {1, 0}, .states = {0, 0}}, {1.00001F, 0}), "");
  EXPECT_NE(wrong({.scores = {1, 0}, .states = {0, 0}}, {1.1F, 0}), "");
}

}  // namespace
}  // namespace attnscope::measure
