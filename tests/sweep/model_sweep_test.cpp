// SPDX-License-Identifier: Apache-2.0
//
// Sweeps of operation model: contenders are rows of the paper's Table 3.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "engine/heat/model_row.h"
#include "engine/sweep/sweep.h"
#include "tests/sweep/refusals.h"

namespace attnscope {
namespace {

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

std::vector<Heat> model_heats(std::string_view contenders, std::string_view more = "") {
  const auto sweep = parse_models(contenders, more);
  EXPECT_TRUE(sweep) << sweep.error().message;
  return sweep->heats;
}

TEST(ModelRow, HasAPatternAndOptions) {
  struct Row {
    const char *text, *pattern;
    std::vector<std::string> options;
  };
  for (const auto& [text, pattern, options] : std::vector<Row>{
           {"full", "full", {}},
           {"full+int8-products", "full", {"int8-products"}},
           {"sparse-without-kernel", "sparse", {}},
           {"longformer", "longformer", {"global-projections"}},
           {"qds+cls-only-last-layer", "qds", {"cls-only-last-layer", "global-projections"}},
           {"c++/mine.json+cls-only-last-layer", "c++/mine.json", {"cls-only-last-layer"}},
           {"c++/a+b.json", "c++/a+b.json", {}}}) {
    const auto row = parse_model_row(text);
    ASSERT_TRUE(row) << row.error().message;
    EXPECT_EQ(row->pattern, pattern) << text;
    EXPECT_THAT(row->options, testing::ElementsAreArray(options)) << text;
    EXPECT_EQ(row->family->id(), "bert");
  }
  EXPECT_EQ(parse_model_row("sparse-without-kernel")->name, "sparse-without-kernel");
  EXPECT_TRUE(has_narrow_products("sparse+cls-only-last-layer+bfloat16-products"));
  EXPECT_FALSE(has_narrow_products("sparse+cls-only-last-layer"));
  expect_refused({{"full+recompute+int8-products", {"which contradict each other"}},
                  {"sparse+cls-only", {"'+cls-only'", "+cls-only-last-layer"}}},
                 [](std::string_view row) { return message_of(parse_model_row(row)); });
}

TEST(ModelSweep, RowsOfTheSamePatternAreDifferentContenders) {
  const auto contenders =
      model_heats(
          R"("full/sdpa", "sparse/longformer-chunks", "sparse-without-kernel/longformer-chunks",
                  "sparse+cls-only-last-layer/longformer-chunks/64")")
          .at(0)
          .contenders;
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

TEST(ModelSweep, ContendersMayBeObjects) {
  const auto contenders =
      model_heats(
          R"({"model": "sparse", "implementation": "segment", "cls_only_last_layer": true},
             {"model": "sparse", "implementation": "segment", "cls_only_last_layer": false,
              "name": "Sparse"})")
          .at(0)
          .contenders;
  EXPECT_THAT(contenders,
              ElementsAre(Property(&Contender::id, "sparse+cls-only-last-layer/segment/4"),
                          Property(&Contender::id, "sparse/segment/4")));
  EXPECT_EQ(contenders[1].name, "Sparse, w = 4");
}

TEST(ModelSweep, DefaultSizesAreThoseOfTheModels) {
  const HeatPoint bert = model_heats(R"("full/sdpa")").at(0).point;
  EXPECT_EQ(bert.layers, 6);
  EXPECT_EQ(bert.feed_forward, 1536);
  EXPECT_EQ(bert.memory_order, MemoryOrder::token_major);
  EXPECT_FALSE(bert.batch_per_contender);
  EXPECT_EQ(model_heats(R"("full/sdpa")", R"("heads": 2)")[0].point.feed_forward, 4 * 2 * 32);
  const HeatPoint tkl = model_heats(R"("tkl/segment", "knrm/kernel-pooling")").at(0).point;
  EXPECT_EQ(tkl.layers, 2);
  EXPECT_EQ(tkl.heads, 10);
  EXPECT_EQ(tkl.head_dim, 30);
  EXPECT_EQ(tkl.feed_forward, 100);
  EXPECT_EQ(model_heats(R"("tkl/segment")", R"("layers": 3)")[0].point.heads, 10);
}

TEST(ModelSweep, ModelsOfDifferentDefaultSizesNeedExplicitOnes) {
  expect_refused(
      {{"", {"tkl has layers 2 and full 6"}},
       {R"("layers": 2, "heads": 10, "head_dim": 30)", {"feed_forward 100 and full 1536"}},
       {R"("layers": 2, "heads": 10, "head_dim": 30, "feed_forward": 100)", {"no error"}}},
      [](std::string_view sizes) {
        return message_of(parse_models(R"("tkl/segment", "full/sdpa")", sizes));
      });
}

TEST(ModelSweep, LayersAndFeedForwardAreAxes) {
  const auto heats = model_heats(R"("full/sdpa")",
                                 R"("layers": [1, 2], "feed_forward": [64, 128], "heads": 2,
                                 "batch": {"max": 8, "per_contender": true})");
  ASSERT_THAT(heats, SizeIs(4));
  EXPECT_EQ(heats[1].point.layers, 1);
  EXPECT_EQ(heats[1].point.feed_forward, 128);
  EXPECT_TRUE(heats[3].point.batch_per_contender);
}

TEST(ModelSweep, OnlySelectsModelsAndTheirAxes) {
  const auto sweep = parse_models(
      R"("full/sdpa", "sparse/segment", "sparse-without-kernel/segment")", R"("layers": [1, 2])");
  ASSERT_TRUE(sweep) << sweep.error().message;
  const auto kept = only(*sweep, *parse_only("layers=2,model=sparse"));
  ASSERT_TRUE(kept) << kept.error().message;
  ASSERT_THAT(kept->heats, SizeIs(1));
  EXPECT_THAT(kept->heats[0].contenders, ElementsAre(Property(&Contender::id, "sparse/segment/4")));
}

TEST(ModelSweep, RefusesFieldsOfOtherOperations) {
  expect_refused(
      {{R"("direction": "forward-backward")", {"line 3", "'direction'", "only scores"}},
       {R"("memory_order": "head-major")", {"token-major"}},
       {R"("cache": "cold")", {"'cache' must be warm"}},
       {R"("shared_query": true)", {"one query with many documents"}},
       {R"("documents": 2)", {"scores pairs"}},
       {R"("launch": "graph", "device": "cuda")", {"'launch' must be eager"}},
       {R"("memory_order": "token-major", "shared_query": false)", {"no error"}}},
      [](std::string_view field) { return message_of(parse_models(R"("full/sdpa")", field)); });
}

TEST(ModelSweep, RefusesInvalidContenders) {
  expect_refused({{R"("sparse+last/segment")", {"'contenders[0]' is 'sparse+last'", "option"}},
                  {R"({"pattern": "sparse", "implementation": "segment"})",
                   {"'contenders[0].pattern'", "\"model\""}},
                  {R"("spares/segment")", {"did you mean 'sparse'?"}},
                  {R"("TKL/segment")",
                   {"'contenders[0]' is the unknown model 'TKL'; did you mean 'tkl'? known: "}},
                  {R"("tkl")", {"is 'tkl', but a contender is \"MODEL/IMPLEMENTATION\" or"}},
                  {R"("tkl+as-published+as-published/segment")",
                   {"has the option '+as-published' twice; give it once"}},
                  {R"("sparse/segment", "sparse/segment")", {"again; give every contender once"}}},
                 [](std::string_view contenders) { return message_of(parse_models(contenders)); });
}

TEST(ModelSweep, OtherOperationsRefuseModels) {
  expect_refused(
      {{R"("contenders": ["sparse-without-kernel/longformer-chunks"])",
        {"whole model", "\"operation\": \"model\""}},
       {R"("contenders": ["sparse+cls-only-last-layer/segment"])", {"whole model"}},
       {R"("contenders": [{"model": "sparse", "implementation": "segment"}])", {"operation model"}},
       {R"("contenders": ["full/sdpa"], "layers": 6)", {"operation model"}},
       {R"("contenders": ["full/sdpa"], "operation": ["attention", "model"])",
        {"'operation'", "their own sweep"}}},
      [](std::string_view fields) {
        return message_of(parse_sweep(
            fmt::format(R"({{{}, "windows": [4], "sequence_tokens": 64}})", fields), "my.json"));
      });
}

}  // namespace
}  // namespace attnscope
