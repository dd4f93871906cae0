// Families that encode query and documents separately.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <any>
#include <cmath>
#include <filesystem>

#include "engine/model/late/late_description.h"
#include "tests/model/late_rows.h"
#include "tests/safetensors/scratch_folder.h"

namespace attnscope::test {
namespace {

using testing::HasSubstr;
using tests::ScratchFolder;

std::vector<LateCase> late_cases() {
  std::vector<LateCase> all;
  const auto add = [&](const std::string& row, std::initializer_list<const char*> options) {
    all.push_back({.row = row});
    for (const char* option : options) all.push_back({.row = row + option});
  };
  add("mixencoder-a", {"+contexts-2", "+contexts-3", "+contexts-4", "+contexts-10", "+c-strategy",
                       "+contexts-3+c-strategy", "+disentangled", "+contexts-3+disentangled",
                       "+cosine", "+without-h", "+contexts-2+without-e", "+interaction-layers-2"});
  add("mixencoder-b", {"+contexts-3", "+without-h", "+without-e", "+c-strategy"});
  add("mixencoder-c", {"+contexts-4+cosine", "+c-strategy", "+without-h", "+without-e"});
  add("deformer", {"+top-layers-1"});
  add("cross-bert", {"+cls-only-last-layer"});
  for (const char* row :
       {"dual-bert", "poly-encoder-64", "poly-encoder-360", "colbert", "virt-like"})
    add(row, {});
  for (const char* row : {"mixencoder-b", "dual-bert", "colbert", "deformer", "cross-bert"}) {
    for (const char* implementation : {"sdpa", "dense"})
      all.push_back({.row = row, .implementation = implementation});
    for (const char* implementation : {"segment", "windowed", "sdpa-mask"}) {
      all.push_back({.row = std::string(row) + "+windowed",
                     .implementation = implementation,
                     .window = Window::of(4)});
    }
  }
  return all;
}

/// Scores that are equal except for the rounding of sums in a different order, which depends on the
/// lengths of the vectors whose product is the score, not on the score.
void expect_alike(const std::vector<float>& found, const std::vector<float>& expected,
                  double relative = 2e-6) {
  const float length = std::sqrt(static_cast<float>(small_shape().hidden));
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i)
    EXPECT_NEAR(found[i], expected[i], relative * std::max(length, std::abs(expected[i]))) << i;
}

class LateRows : public testing::TestWithParam<LateCase> {};

INSTANTIATE_TEST_SUITE_P(Every, LateRows, testing::ValuesIn(late_cases()), [](const auto& of) {
  return identifier(of.param.row + "_" + of.param.implementation);
});

TEST_P(LateRows, MatchTheFloat64Reference) {
  const DrawnPairs pairs({5, 1, 9}, {130, 40, 1});
  expect_matches_reference(LateRowModel(GetParam()), pairs.batch());
}

TEST_P(LateRows, SupportADocumentWithoutTokens) {
  const std::vector<std::int32_t> query{120, 130, 102}, document{125, 102};
  expect_matches_reference(LateRowModel(GetParam()),
                           {.items = {{query, {}}, {query, document}}, .one_query = true});
}

TEST_P(LateRows, AThousandCandidatesMatchSinglePairs) {
  std::vector<std::int64_t> tokens;
  for (std::int64_t i = 0; i < 1000; ++i) tokens.push_back(1 + i * 7 % 13);
  const DrawnPairs pairs = DrawnPairs::with_one_query(6, tokens);
  const LateRowModel model(GetParam());
  const ModelOutput together = model.scored(pairs.batch());
  ASSERT_EQ(together.scores.size(), 1000U);
  for (const std::size_t i : {std::size_t{0}, std::size_t{499}, std::size_t{999}}) {
    const ModelOutput alone = model.scored({.items = {pairs.item(i)}});
    expect_alike({together.scores[i]}, alone.scores);
    EXPECT_LT(error_of(together, i, model.reference(pairs.item(i))), model.bound()) << i;
  }
}

TEST_P(LateRows, DoNotDependOnOrderOtherPairsOrThreads) {
  const DrawnPairs pairs({5, 1, 9, 2}, {130, 40, 1, 66});
  const LateRowModel model(GetParam());
  const std::vector<float> scores = model.scored(pairs.batch()).scores;
  const ModelOutput turned = model.scored({.items = {pairs.item(3), pairs.item(1), pairs.item(0)}});
  expect_alike(turned.scores, {scores[3], scores[1], scores[0]});
  LateCase one_thread = GetParam();
  one_thread.threads = 1;
  expect_alike(LateRowModel(one_thread, model.weights()).scored(pairs.batch()).scores, scores);
}

TEST_P(LateRows, CachedScoresMatchDirectScores) {
  const DrawnPairs pairs({5, 1, 9}, {130, 40, 1});
  const PairBatch batch = pairs.batch();
  const LateRowModel model(GetParam());
  const auto mapped = through_a_file(model, batch);
  if (!mapped) return;
  const ModelOutput direct = model.scored(batch);
  expect_alike(model.scored(from_cache(batch, *mapped)).scores, direct.scores, 1e-6);
  // A selection in another order, one of them twice.
  const PairBatch cached = from_cache(batch, *mapped);
  const PairBatch some{.items = {{batch.items[2].query, {}, 2},
                                 {batch.items[0].query, {}, 0},
                                 {batch.items[2].query, {}, 2}},
                       .documents = &*mapped};
  expect_alike(model.scored(some).scores, {direct.scores[2], direct.scores[0], direct.scores[2]});
  std::int64_t bytes = 0;
  for (const PairBatch::Item& item : batch.items) {
    const auto kept = model->cached_rows(static_cast<std::int64_t>(item.document.size()));
    bytes += kept->rows * kept->width * 4;
  }
  EXPECT_EQ(mapped->bytes(), bytes);
  expect_stages_add_up(model, batch, *mapped);
}

TEST_P(LateRows, Bfloat16ErrorsStayWithinTheBound) {
  LateCase sixteen = GetParam();
  sixteen.dtype = DType::bfloat16;
  const LateRowModel model(sixteen);
  const DrawnPairs pairs({5}, {60});
  const double error = error_of(model.scored(pairs.batch()), 0, model.reference(pairs.item(0)));
  EXPECT_LT(error, model.bound());
  EXPECT_GT(error, 1e-6) << "is this float32?";
}

ModelShape bert_base() {
  return {.layers = 12, .hidden = 768, .heads = 12, .feed_forward = 3072};
}

std::int64_t parameters_of(const std::string& row) {
  const ModelRow parsed = *parse_model_row(row);
  const auto& family = dynamic_cast<const LateDescription&>(*parsed.family);
  return family.parameters(family.config_for(bert_base(), {&parsed, 1}));
}

TEST(LateSizes, ParametersMatchThePaper) {
  constexpr std::int64_t bert = 109'482'240;
  for (const auto& [row, parameters] : std::initializer_list<std::pair<const char*, std::int64_t>>{
           {"dual-bert", bert},
           {"mixencoder-a", 118'931'712},
           {"mixencoder-b", 134'288'640},
           {"mixencoder-c", bert + 24'807'168},
           {"mixencoder-a+contexts-10", bert + 9'456'384},
           {"poly-encoder-64", bert + 49'152},
           {"poly-encoder-360", bert + 276'480},
           {"colbert", bert + 98'304},
           {"deformer", 109'483'009},
           {"cross-bert", 109'483'009}}) {
    EXPECT_EQ(parameters_of(row), parameters) << row;
  }
}

/// BERT-base with few words, positions and layers: lower layers do not process candidates.
ModelShape top_of_bert_base() {
  return {.layers = 3,
          .hidden = 768,
          .heads = 12,
          .feed_forward = 3072,
          .vocabulary = 200,
          .positions = 200};
}

/// Bytes of 100 queries x 1000 candidates of 180 tokens, including [CLS], in float32.
double cache_bytes_of(const std::string& row) {
  const LateRowModel model({.row = row}, top_of_bert_base());
  const auto kept = model->cached_rows(179);
  return 100.0 * 1000.0 * 4.0 * static_cast<double>(kept->rows * kept->width);
}

TEST(LateSizes, CacheSizesMatchThePaper) {
  EXPECT_EQ(cache_bytes_of("dual-bert"), 307'200'000);
  EXPECT_EQ(cache_bytes_of("mixencoder-a"), 307'200'000);
  EXPECT_EQ(cache_bytes_of("mixencoder-c"), 2 * 307'200'000);
  EXPECT_EQ(cache_bytes_of("colbert"), 9'216'000'000);  // 8.58 GiB
  EXPECT_NEAR(cache_bytes_of("deformer") / 0x1p20, 52'734, 1);
}

/// FLOP of 1000 candidates with a query of 20 tokens, without the query's encoding.
double flop_of_thousand(const std::string& row) {
  const LateRowModel model({.row = row}, top_of_bert_base());
  const auto kept = model->cached_rows(179);
  std::vector<std::int64_t> offsets(1001);
  for (std::size_t i = 0; i < offsets.size(); ++i)
    offsets[i] = static_cast<std::int64_t>(i) * kept->rows;
  const DocumentCache cache(
      {}, kept->width, offsets,
      std::vector<std::byte>(static_cast<std::size_t>(1000 * kept->rows * kept->width * 4)));
  const std::vector<std::int32_t> query = drawn_ids(19, 1);
  const auto flop = [&](std::size_t candidates) {
    PairBatch batch{.items = {}, .one_query = true, .documents = &cache};
    for (std::size_t i = 0; i < candidates; ++i)
      batch.items.push_back({query, {}, static_cast<std::int64_t>(i)});
    const auto work = model->work(batch);
    return work->linear_flop + work->attention_flop;
  };
  return (flop(1000) - flop(1)) / 999 * 1000;
}

TEST(LateSizes, OnlineWorkMatchesThePaper) {
  constexpr double giga = 1e9;
  for (const auto& [row, gigaflop] :
       std::initializer_list<std::pair<const char*, double>>{{"mixencoder-a", 29.6},
                                                             {"mixencoder-a+contexts-2", 43.8},
                                                             {"mixencoder-a+contexts-3", 58.1},
                                                             {"mixencoder-a+contexts-4", 72.3},
                                                             {"mixencoder-a+contexts-10", 157.9},
                                                             {"mixencoder-b", 88.9}}) {
    EXPECT_NEAR(flop_of_thousand(row) / giga, gigaflop, 0.05) << row;
  }
  // In the last layer its second context computes no query, because its output is unused.
  const double unread = 2e3 * (10 * 768.0 * 768.0 + 2 * 22 * 768.0);
  EXPECT_NEAR((flop_of_thousand("mixencoder-c") + unread) / giga, 131.5, 0.05);
  EXPECT_NEAR(flop_of_thousand("dual-bert"), 2e3 * 768, 1);
  EXPECT_NEAR(flop_of_thousand("colbert"), 2e3 * 180 * 20 * 128, 1e3);
}

TEST(LateSizes, CrossBertWorkMatchesThePaper) {
  const LateRowModel model({.row = "cross-bert"}, top_of_bert_base());
  const DrawnPairs pair({19}, {179});
  const auto work = model->work(pair.batch());
  const double layers = 12.0 / 3.0;
  EXPECT_NEAR(layers * (work->linear_flop + work->attention_flop) / 1e9, 35.4, 0.06);
}

TEST(LateSizes, EncodesTheQueryOnceWithOnlyKeysAndValuesInTheLastLayer) {
  const LateRowModel model({.row = "mixencoder-a"}, top_of_bert_base());
  const DrawnPairs one = DrawnPairs::with_one_query(19, {30});
  const auto encoded = model->encode_documents(document_ids(one.batch()), 101);
  const double d = 768;
  const double candidate = 2 * (25 * d * d + d);
  const double query = 2 * 20 * (2 * 12 * d * d + 2 * d * d);
  EXPECT_DOUBLE_EQ(model->work(from_cache(one.batch(), *encoded))->linear_flop, query + candidate);
}

/// The product of two rows of one head.
double product(const Shown& q, std::int64_t row, const Shown& k, std::int64_t key,
               std::int64_t head) {
  const std::int64_t heads = q.shape[1], dim = q.shape[2];
  double sum = 0;
  for (std::int64_t i = 0; i < dim; ++i) {
    sum += double{q.values[static_cast<std::size_t>((row * heads + head) * dim + i)]} *
           double{k.values[static_cast<std::size_t>((key * heads + head) * dim + i)]};
  }
  return sum;
}

TEST(LateShow, ColbertShowsTokenVectors) {
  const LateRowModel model({.row = "colbert"});
  const std::vector<std::int32_t> text{120, 130, 140, 102};
  const auto shown = shown_of(model, {.items = {{text, text}}});
  ASSERT_EQ(shown.size(), 3U);
  const Shown& q = shown.at("2.q");
  EXPECT_THAT(q.shape, testing::ElementsAre(5 + 5, 1, 128));
  // Each token of a text matches itself.
  for (std::int64_t row = 0; row < 5; ++row)
    EXPECT_NEAR(product(q, row, shown.at("2.k"), 5 + row, 0), 1, 1e-5);
}

TEST(LateShow, MixEncoderShowsAttentionOfItsContexts) {
  const LateRowModel model({.row = "mixencoder-b+contexts-2"});
  const DrawnPairs pairs({5}, {20});
  const auto shown = shown_of(model, pairs.batch());
  ASSERT_EQ(shown.size(), 9U);
  for (const char* layer : {"0", "1", "2"}) {
    const Shown& q = shown.at(fmt::format("{}.q", layer));
    EXPECT_EQ(q.shape[0], 6 + 2);  // [CLS] and query, contexts
    EXPECT_EQ(product(q, 0, q, 0, 0), 0);
    EXPECT_GT(product(q, 7, q, 7, 1), 0);
    EXPECT_EQ(shown.at(fmt::format("{}.k", layer)).shape, q.shape);
  }
}

TEST(LateShow, DeformerShowsUpperLayersOfAllTokens) {
  const LateRowModel model({.row = "deformer+top-layers-2"});
  const DrawnPairs pairs({5}, {20});
  const auto shown = shown_of(model, pairs.batch());
  ASSERT_EQ(shown.size(), 6U);
  EXPECT_EQ(shown.at("1.q").shape[0], 6 + 21);
  // Showing does not change the score.
  const auto seen = model->score(pairs.batch(), [](const Shown&) {});
  EXPECT_NEAR(seen->scores[0], model->score(pairs.batch())->scores[0], 1e-5);
}

std::string config_json(const std::string& own) {
  return fmt::format(R"({{"num_hidden_layers": 3, "hidden_size": 48, "num_attention_heads": 3,
      "intermediate_size": 96, "vocab_size": 200, "max_position_embeddings": 300,
      "type_vocab_size": 2, {}}})",
                     own);
}

TEST(Colbert, PunctuationVectorsAreZeroAndMaximaStartAtZero) {
  const auto config = read_model_config(
      config_json(R"("model_type": "colbert", "output_dim": 8, "punctuation_ids": [150, 102])"),
      "config.json");
  ASSERT_TRUE(config) << config.error().message;
  const auto weights = ModelWeights::random(*config, {.seed = 3, .deviation = 0.1});
  const LateRowModel model({.row = "colbert"}, weights);
  const std::vector<std::int32_t> query{120, 130}, marks{150, 102};
  const PairBatch batch{.items = {{query, marks}}};
  const auto encoded = model->encode_documents(document_ids(batch), batch.cls);
  EXPECT_THAT(encoded->document(0).subspan(32), testing::Each(std::byte{0}));
  expect_matches_reference(model, batch);
  for (const float maximum : model.scored(batch).states) EXPECT_GE(maximum, 0);
  EXPECT_EQ(config->family->tensors(*config, nullptr).specs.back().shape.front(), 8);
}

class LateErrors : public testing::Test {
 protected:
  const DrawnPairs pairs = DrawnPairs::with_one_query(5, {20, 30, 7});
  const PairBatch batch = pairs.batch();

  [[nodiscard]] DocumentCache cache_of(const LateRowModel& model) const {
    return std::move(*model->encode_documents(document_ids(batch), batch.cls));
  }
  /// A model's error for the cache of another model.
  [[nodiscard]] std::string refused(const LateRowModel& model, const LateRowModel& other) const {
    const DocumentCache cache = cache_of(other);
    return message_of(model->score(from_cache(batch, cache)));
  }
};

TEST_F(LateErrors, RefusesACacheOfAnotherModel) {
  const LateRowModel dual({.row = "dual-bert"}), colbert({.row = "colbert"});
  EXPECT_THAT(refused(LateRowModel({.row = "poly-encoder-64"}), dual),
              HasSubstr("by a model of the family 'dual-bert', but this one is of 'poly-encoder'"));
  EXPECT_THAT(refused(LateRowModel({.row = "dual-bert"}, small_shape(), /*seed=*/8), dual),
              HasSubstr("with other weights"));
  EXPECT_THAT(
      refused(LateRowModel({.row = "dual-bert+windowed", .window = Window::of(4)}, dual.weights()),
              dual),
      HasSubstr("encoded as 'full, 3 heads, epsilon 1e-12', but the model encodes them as "
                "'sparse, w = 4, 3 heads, epsilon 1e-12'"));
  ModelConfig config = dual.weights()->config();
  config.shape.heads = 6;
  EXPECT_THAT(refused(LateRowModel({.row = "dual-bert"}, with_config(config, dual)), dual),
              HasSubstr("but the model encodes them as 'full, 6 heads, "));
  config = colbert.weights()->config();
  std::any_cast<ColbertConfig&>(config.own).punctuation = {5};
  EXPECT_THAT(refused(LateRowModel({.row = "colbert"}, with_config(config, colbert)), colbert),
              HasSubstr("; punctuation 5'; encode them again"));
  const LateRowModel top_two({.row = "deformer+top-layers-2"});
  EXPECT_THAT(refused(LateRowModel({.row = "deformer+top-layers-1"}, top_two.weights()), top_two),
              HasSubstr("encoded as 'full, 3 heads, epsilon 1e-12; 1 of 3 layers', but the model "
                        "encodes them as 'full, 3 heads, epsilon 1e-12; 2 of 3 layers'; encode "
                        "them again"));
  EXPECT_THAT(refused(LateRowModel({.row = "mixencoder-a+contexts-2"}),
                      LateRowModel({.row = "mixencoder-a"})),
              HasSubstr("encode them again"));
}

TEST_F(LateErrors, ReportsDocumentsMissingFromTheCache) {
  const LateRowModel model({.row = "mixencoder-a"});
  const DocumentCache cache = cache_of(model);
  PairBatch cached = from_cache(batch, cache);
  cached.items[1].cached = 3;
  EXPECT_THAT(message_of(model->score(cached)),
              HasSubstr("document 3 is not among the 3 encoded ones"));
  EXPECT_THAT(message_of(model->work(cached)), HasSubstr("document 3"));
}

TEST_F(LateErrors, ReportsInvalidOptions) {
  struct Row {
    const char *row, *option, *message;
    std::int64_t layers = 3;
  };
  for (const auto& [row, option, message, layers] : std::vector<Row>{
           {"mixencoder-a", "contexts-2", "'context_cls' is [1, 48] in these weights"},
           {"mixencoder-a", "interaction-layers-3", "these weights have no 'decoder."},
           {"mixencoder-a", "contexts-5",
            "there is no option 'contexts-5' for models of the family mixencoder; it has "
            "contexts-1, "},
           {"dual-bert", "cosine",
            "there is no option 'cosine' for models of the family dual-bert, which has none"},
           {"mixencoder-a", "interaction-layers-3",
            "requests interaction in 3 layers, and the model has 2", 2},
           {"deformer", "top-layers-3",
            "leaves none of the 3 layers to encode query and document separately"}}) {
    ModelShape shape = small_shape();
    shape.layers = layers;
    const LateRowModel model({.row = row}, shape);
    ModelVariant variant = model.variant();
    variant.options = {option};
    EXPECT_THAT(message_of(model.family().make(model.weights(), variant, "segment")),
                HasSubstr(message))
        << option;
  }
  for (const auto& [row, message] : std::initializer_list<std::pair<const char*, const char*>>{
           {"mixencoder-a+contexts-2+contexts-3", "contradict each other"},
           {"dual-bert+contexts-2",
            "has the option '+contexts-2', but the options of dual-bert are"},
           {"mixencoder-a+without-h+without-e", "contradict each other"}}) {
    EXPECT_THAT(message_of(parse_model_row(row)), HasSubstr(message)) << row;
  }
}

TEST_F(LateErrors, ReportsLongTextsAndUnknownIds) {
  const LateRowModel model({.row = "dual-bert"});
  const DrawnPairs long_document({5}, {300});
  EXPECT_THAT(message_of(model->score(long_document.batch())),
              HasSubstr("document 1 has 301 tokens, and the model has 300 positions"));
  const std::vector<std::int32_t> query{200, 102}, document{120, 102};
  EXPECT_THAT(message_of(model->score({.items = {{query, document}}})),
              HasSubstr("a token id is 200, and the model's vocabulary ends at 199"));
  EXPECT_THAT(message_of(model->score({})), HasSubstr("without pairs"));
}

class SmallerCaches : public LateErrors, public testing::WithParamInterface<std::string> {};

INSTANTIATE_TEST_SUITE_P(Every, SmallerCaches,
                         testing::Values("mixencoder-c", "dual-bert", "poly-encoder-64", "colbert",
                                         "deformer", "virt-like"),
                         [](const auto& of) { return identifier(of.param); });

TEST_P(SmallerCaches, ScoresStayCloseAndErrorsAreReported) {
  const LateRowModel model({.row = GetParam()});
  const DocumentCache whole = cache_of(model);
  EXPECT_FALSE(whole.error());
  const std::vector<float> expected = model.scored(from_cache(batch, whole)).scores;
  for (const VectorFormat format : {VectorFormat::float16, VectorFormat::int8}) {
    const auto smaller = whole.narrowed(format);
    ASSERT_TRUE(smaller) << smaller.error().message;
    const std::int64_t rows = whole.bytes() / (4 * whole.width());
    const std::int64_t scales = format == VectorFormat::int8 ? 4 * rows : 0;
    EXPECT_EQ(smaller->bytes(), rows * whole.width() * size_of(format) + scales);
    ASSERT_TRUE(smaller->error());
    const double most = format == VectorFormat::int8 ? 2e-2 : 1e-3;
    EXPECT_GT(smaller->error()->mean, 0);
    EXPECT_LE(smaller->error()->mean, smaller->error()->largest);
    EXPECT_LT(smaller->error()->largest, most);

    const ScratchFolder folder;
    ASSERT_TRUE(smaller->write(folder / "documents"));
    const auto mapped = DocumentCache::open(folder / "documents", whole.maker());
    ASSERT_TRUE(mapped) << mapped.error().message;
    EXPECT_EQ(mapped->error(), smaller->error());
    EXPECT_EQ(mapped->format(), format);
    const std::vector<float> scores = model.scored(from_cache(batch, *mapped)).scores;
    for (std::size_t i = 0; i < scores.size(); ++i)
      EXPECT_NEAR(scores[i], expected[i], 4 * most * std::max(1.0F, std::abs(expected[i]))) << i;
    EXPECT_NE(scores, expected);
    EXPECT_THAT(message_of(mapped->narrowed(format)), HasSubstr("do not take less space"));
  }
}

TEST_F(LateErrors, RefusesUnusableSmallerCaches) {
  const DocumentCache whole = cache_of(LateRowModel({.row = "dual-bert"}));
  const ScratchFolder folder;
  const std::filesystem::path path = folder / "documents";
  for (const VectorFormat format : {VectorFormat::float16, VectorFormat::int8}) {
    ASSERT_TRUE(whole.narrowed(format)->write(path));
    std::filesystem::resize_file(path, std::filesystem::file_size(path) - 10);
    EXPECT_THAT(message_of(DocumentCache::open(path, whole.maker())), HasSubstr("documents"));
  }
  EXPECT_THAT(message_of(whole.narrowed(VectorFormat::bfloat16)),
              HasSubstr("in float16 or int8 to save space, not in bfloat16"));
  const std::vector<float> values{1e5F, 1.0F};
  const auto bytes = std::as_bytes(std::span(values));
  const DocumentCache large({.family = "x"}, 2, {0, 1}, {bytes.begin(), bytes.end()});
  EXPECT_THAT(message_of(large.narrowed(VectorFormat::float16)),
              HasSubstr("float16 has no number as large as 100000"));
  EXPECT_TRUE(large.narrowed(VectorFormat::int8));
}

TEST_F(LateErrors, NanRowsStayNanInEveryFormat) {
  const LateRowModel model({.row = "colbert"});
  const DocumentCache whole = cache_of(model);
  std::vector<std::byte> bytes(whole.document(0).begin(), whole.document(0).end());
  reinterpret_cast<float*>(bytes.data())[whole.width() + 3] = std::nanf("");
  const DocumentCache damaged(whole.maker(), whole.width(), {0, whole.rows_of(0)}, bytes);
  for (const VectorFormat format :
       {VectorFormat::float32, VectorFormat::float16, VectorFormat::int8}) {
    std::optional<DocumentCache> smaller;
    if (format != VectorFormat::float32) smaller.emplace(std::move(*damaged.narrowed(format)));
    EXPECT_TRUE(!smaller || std::isnan(smaller->error()->largest));
    const PairBatch cached{.items = {{batch.items[0].query, {}, 0}},
                           .documents = smaller ? &*smaller : &damaged};
    EXPECT_TRUE(std::isnan(model.scored(cached).scores.front()));
  }
}

/// Other fields of config.json are covered by tests/golden/models.
TEST(LateConfigs, ReadsWhichPartsOfMixEncoderAreLeftOut) {
  for (const char* part : {"without_H", "without_E"}) {
    const auto config = read_model_config(
        config_json(fmt::format(
            R"("model_type": "mixencoder", "contexts": 1, "interaction_layers": [1], "{}": true)",
            part)),
        "config.json");
    ASSERT_TRUE(config) << config.error().message;
    const auto& own = std::any_cast<const MixConfig&>(config->own);
    EXPECT_EQ(own.without_h, part == std::string("without_H"));
    EXPECT_EQ(own.without_e, part == std::string("without_E"));
  }
}

TEST(LateConfigs, RefusesContradictoryFields) {
  for (const auto& [own, message] : std::initializer_list<std::pair<const char*, const char*>>{
           {R"("model_type": "mixencoder", "contexts": 2)", "has no 'interaction_layers'"},
           {R"("model_type": "mixencoder", "contexts": 2, "interaction_layers": [3])",
            "interaction_layers"},
           {R"("model_type": "mixencoder", "contexts": 2, "interaction_layers": [2, 1])",
            "does not ascend"},
           {R"("model_type": "mixencoder", "contexts": 1, "interaction_layers": [2],
               "without_H": true, "without_E": true)",
            "no interaction is left"},
           {R"("model_type": "deformer", "top_layers": 3)", "top_layers"},
           {R"("model_type": "poly-encoder")", "has no 'codes'"}}) {
    EXPECT_THAT(message_of(read_model_config(config_json(own), "config.json")), HasSubstr(message))
        << own;
  }
}

TEST(LateSweepRows, RowsWithTheSameTensorsShareWeights) {
  const auto row = [](const char* text) { return *parse_model_row(text); };
  EXPECT_THAT(row("mixencoder-c+contexts-4").options,
              testing::ElementsAre("contexts-4", "disentangled", "interaction-layers-3"));
  EXPECT_EQ(row("mixencoder-a+cosine").weights, row("mixencoder-a").weights);
  EXPECT_NE(row("mixencoder-a+contexts-2").weights, row("mixencoder-a").weights);
  EXPECT_EQ(row("deformer+top-layers-2").weights, row("deformer").weights);
  EXPECT_EQ(row("dual-bert+windowed").pattern, "sparse");
  EXPECT_THAT(row("dual-bert+windowed").options, testing::IsEmpty());
}

}  // namespace
}  // namespace attnscope::test
