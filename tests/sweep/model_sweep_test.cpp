// SPDX-License-Identifier: Apache-2.0
//
// Sweeps of operation model: contenders are rows of the paper's Table 3.
#include <gmock/gmock.h>

#include "engine/heat/model_row.h"
#include "engine/sweep/sweep.h"

namespace attnscope {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Property;
using testing::SizeIs;

Result<Sweep> parse_models(std::string_view contenders, std::string_view more = "") {
  return parse_sweep(fmt::format(R"({{"operation": "model", "contenders": [{}],
"windows": [4], "sequence_tokens": 174{}{}}})",
                                 contenders, more.empty() ? "" : ",\n", more),
                     "my.json");
}

std::string model_sweep_error(std::string_view contenders, std::string_view more = "") {
  const auto sweep = parse_models(contenders, more);
  return sweep ? "no error" : sweep.error().message;
}

std::string error_with_field(std::string_view field) {
  return model_sweep_error(R"("full/sdpa")", field);
}

std::vector<Contender> contenders_of(std::string_view contenders) {
  const auto sweep = parse_models(contenders);
  EXPECT_TRUE(sweep) << sweep.error().message;
  return sweep ? sweep->heats.at(0).contenders : std::vector<Contender>();
}

TEST(ModelRow, TheRowWithoutKernels_HasThePatternSparse) {
  const auto row = parse_model_row("sparse-without-kernel");
  ASSERT_TRUE(row);
  EXPECT_EQ(row->name, "sparse-without-kernel");
  EXPECT_EQ(row->pattern, "sparse");
  EXPECT_THAT(row->options, testing::IsEmpty());
  EXPECT_EQ(row->family->id(), "bert");
}

TEST(ModelRow, LongformerAndQds_ProjectGlobalTokensByTheirOwn) {
  EXPECT_THAT(parse_model_row("longformer")->options, ElementsAre("global-projections"));
  EXPECT_THAT(parse_model_row("qds+cls-only-last-layer")->options,
              ElementsAre("cls-only-last-layer", "global-projections"));
  EXPECT_THAT(parse_model_row("full")->options, testing::IsEmpty());
}

TEST(ModelRow, AnOption_FollowsTheNameAndNeverAFolders) {
  const auto row = parse_model_row("c++/mine.json+cls-only-last-layer");
  ASSERT_TRUE(row);
  EXPECT_EQ(row->pattern, "c++/mine.json");
  EXPECT_THAT(row->options, ElementsAre("cls-only-last-layer"));
  EXPECT_EQ(parse_model_row("c++/a+b.json")->pattern, "c++/a+b.json");
  EXPECT_THAT(parse_model_row("full+int8-products")->options, ElementsAre("int8-products"));
  EXPECT_TRUE(has_narrow_products("sparse+cls-only-last-layer+bfloat16-products"));
  EXPECT_FALSE(has_narrow_products("sparse+cls-only-last-layer"));
  EXPECT_THAT(parse_model_row("full+recompute+int8-products").error().message,
              HasSubstr("which contradict each other"));
  EXPECT_THAT(parse_model_row("sparse+cls-only").error().message,
              AllOf(HasSubstr("'+cls-only'"), HasSubstr("+cls-only-last-layer")));
}

TEST(ModelSweep, ModelsOfOnePattern_AreContendersOfTheirOwn) {
  const auto contenders = contenders_of(
      R"("full/sdpa", "sparse/longformer-chunks", "sparse-without-kernel/longformer-chunks",
         "sparse+cls-only-last-layer/longformer-chunks/64")");
  EXPECT_THAT(
      contenders,
      ElementsAre(Property(&Contender::id, "full/sdpa"),
                  Property(&Contender::id, "sparse/longformer-chunks/4"),
                  Property(&Contender::id, "sparse-without-kernel/longformer-chunks/4"),
                  Property(&Contender::id, "sparse+cls-only-last-layer/longformer-chunks/64")));
  EXPECT_EQ(contenders[2].pattern, "sparse");
  EXPECT_EQ(contenders[2].model, "sparse-without-kernel");
  EXPECT_EQ(contenders[2].name, "sparse-without-kernel/longformer-chunks, w = 4");
  EXPECT_EQ(contenders[0].model, "full");
}

TEST(ModelSweep, TheObjectForm_SaysTheSame) {
  const auto contenders = contenders_of(
      R"({"model": "sparse", "implementation": "segment", "cls_only_last_layer": true},
         {"model": "sparse", "implementation": "segment", "cls_only_last_layer": false,
          "name": "Sparse"})");
  EXPECT_THAT(contenders,
              ElementsAre(Property(&Contender::id, "sparse+cls-only-last-layer/segment/4"),
                          Property(&Contender::id, "sparse/segment/4")));
  EXPECT_EQ(contenders[1].name, "Sparse, w = 4");
}

TEST(ModelSweep, Defaults_AreThePapersModel) {
  const auto sweep = parse_models(R"("full/sdpa")");
  ASSERT_TRUE(sweep) << sweep.error().message;
  const HeatPoint& point = sweep->heats.at(0).point;
  EXPECT_EQ(point.layers, 6);
  EXPECT_EQ(point.feed_forward, 1536);
  EXPECT_EQ(point.memory_order, MemoryOrder::token_major);
  EXPECT_FALSE(point.batch_per_contender);
}

TEST(ModelSweep, OfWords_DefaultsAreTkls) {
  const auto sweep = parse_models(R"("tkl/segment", "knrm/kernel-pooling")");
  ASSERT_TRUE(sweep) << sweep.error().message;
  const HeatPoint& point = sweep->heats.at(0).point;
  EXPECT_EQ(point.layers, 2);
  EXPECT_EQ(point.heads, 10);
  EXPECT_EQ(point.head_dim, 30);
  EXPECT_EQ(point.feed_forward, 100);
  EXPECT_EQ(parse_models(R"("tkl/segment")", R"("layers": 3)")->heats[0].point.heads, 10);
}

TEST(ModelSweep, OfDifferentUsualSizes_HasToNameThem) {
  const std::string sizes = R"("layers": 2, "heads": 10, "head_dim": 30)";
  EXPECT_THAT(parse_models(R"("tkl/segment", "full/sdpa")").error().message,
              HasSubstr("tkl has layers 2 and full 6"));
  EXPECT_THAT(parse_models(R"("tkl/segment", "full/sdpa")", sizes).error().message,
              HasSubstr("feed_forward 100 and full 1536"));
  EXPECT_TRUE(parse_models(R"("tkl/segment", "full/sdpa")", sizes + R"(, "feed_forward": 100)"));
}

TEST(ModelSweep, LayersAndFeedForward_AreAxes) {
  const auto sweep = parse_models(R"("full/sdpa")",
                                  R"("layers": [1, 2], "feed_forward": [64, 128], "heads": 2,
                              "batch": {"max": 8, "per_contender": true})");
  ASSERT_TRUE(sweep) << sweep.error().message;
  ASSERT_THAT(sweep->heats, SizeIs(4));
  EXPECT_EQ(sweep->heats[1].point.layers, 1);
  EXPECT_EQ(sweep->heats[1].point.feed_forward, 128);
  EXPECT_TRUE(sweep->heats[3].point.batch_per_contender);
  EXPECT_EQ(parse_models(R"("full/sdpa")", R"("heads": 2)")->heats[0].point.feed_forward,
            4 * 2 * 32);
}

TEST(ModelSweep, Only_TakesModelsAndTheirAxes) {
  const auto sweep = parse_models(
      R"("full/sdpa", "sparse/segment", "sparse-without-kernel/segment")", R"("layers": [1, 2])");
  ASSERT_TRUE(sweep) << sweep.error().message;
  const auto kept = only(*sweep, *parse_only("layers=2,model=sparse"));
  ASSERT_TRUE(kept) << kept.error().message;
  ASSERT_THAT(kept->heats, SizeIs(1));
  EXPECT_THAT(kept->heats[0].contenders, ElementsAre(Property(&Contender::id, "sparse/segment/4")));
}

TEST(ModelSweep, WhatAModelDoesNotTake_IsRefusedWithTheReason) {
  EXPECT_THAT(error_with_field(R"("direction": "forward-backward")"),
              AllOf(HasSubstr("line 3"), HasSubstr("'direction'"), HasSubstr("only scores")));
  EXPECT_THAT(error_with_field(R"("memory_order": "head-major")"), HasSubstr("token-major"));
  EXPECT_THAT(error_with_field(R"("cache": "cold")"), HasSubstr("'cache' must be warm"));
  EXPECT_THAT(error_with_field(R"("shared_query": true)"),
              HasSubstr("one query with many documents"));
  EXPECT_THAT(error_with_field(R"("documents": 2)"), HasSubstr("scores pairs"));
  EXPECT_EQ(error_with_field(R"("memory_order": "token-major", "shared_query": false)"),
            "no error");
}

TEST(ModelSweep, ModelsBesideOtherOperations_AreRefused) {
  EXPECT_THAT(parse_sweep(R"({"operation": ["attention", "model"], "contenders": ["full/sdpa"],
                              "sequence_tokens": 64})",
                          "my.json")
                  .error()
                  .message,
              AllOf(HasSubstr("'operation'"), HasSubstr("their own sweep")));
}

TEST(ModelSweep, AContendersMistake_IsNamed) {
  EXPECT_THAT(model_sweep_error(R"("sparse+last/segment")"),
              AllOf(HasSubstr("'contenders[0]' is 'sparse+last'"), HasSubstr("option")));
  EXPECT_THAT(model_sweep_error(R"({"pattern": "sparse", "implementation": "segment"})"),
              AllOf(HasSubstr("'contenders[0].pattern'"), HasSubstr("\"model\"")));
  EXPECT_THAT(model_sweep_error(R"("spares/segment")"), HasSubstr("did you mean 'sparse'?"));
  EXPECT_THAT(model_sweep_error(R"("TKL/segment")"),
              HasSubstr("'contenders[0]' is the unknown model 'TKL'; did you mean 'tkl'? known: "));
  EXPECT_THAT(model_sweep_error(R"("tkl")"),
              HasSubstr("is 'tkl', but a contender is \"MODEL/IMPLEMENTATION\" or"));
  EXPECT_THAT(model_sweep_error(R"("tkl+as-published+as-published/segment")"),
              HasSubstr("has the option '+as-published' twice; give it once"));
  EXPECT_THAT(model_sweep_error(R"("sparse/segment", "sparse/segment")"),
              HasSubstr("again; give every contender once"));
}

TEST(ModelSweep, WordsOfModels_AreErrorsInOtherOperations) {
  const auto message = [](std::string_view contender, std::string_view more) {
    const auto sweep = parse_sweep(fmt::format(R"({{"contenders": [{}], "windows": [4],
                                   "sequence_tokens": 64{}}})",
                                               contender, more),
                                   "my.json");
    return sweep ? "no error" : sweep.error().message;
  };
  EXPECT_THAT(message(R"("sparse-without-kernel/longformer-chunks")", ""),
              AllOf(HasSubstr("whole model"), HasSubstr("\"operation\": \"model\"")));
  EXPECT_THAT(message(R"("sparse+cls-only-last-layer/segment")", ""), HasSubstr("whole model"));
  EXPECT_THAT(message(R"({"model": "sparse", "implementation": "segment"})", ""),
              HasSubstr("operation model"));
  EXPECT_THAT(message(R"("full/sdpa")", R"(, "layers": 6)"), HasSubstr("operation model"));
}

}  // namespace
}  // namespace attnscope
