// Small checkpoints have the scores of Hugging Face's own classes and of reimplementations in
// PyTorch (scripts/dev/golden/make_models.py, make_late_models.py, make_words_models.py).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "engine/model/family.h"
#include "engine/model/model_weights.h"

namespace attnscope {
namespace {

using nlohmann::json;

struct Pair {
  std::vector<std::int32_t> query, document;
};

/// A checkpoint with the pairs and scores of its cases.json.
class Golden {
 public:
  explicit Golden(const std::string& name) {
    const std::filesystem::path folder =
        std::filesystem::path(ATTNSCOPE_SOURCE_DIR) / "tests/golden/models" / name;
    auto checkpoint = Checkpoint::open(folder);
    if (!checkpoint) throw std::runtime_error(checkpoint.error().message);
    auto weights = ModelWeights::of(*checkpoint);
    if (!weights) throw std::runtime_error(weights.error().message);
    weights_ = std::move(*weights);
    std::ifstream file(folder / "cases.json");
    cases_ = json::parse(file);
    for (const json& pair : cases_["pairs"]) {
      pairs_.push_back({pair["query"], pair["document"]});
    }
  }

  [[nodiscard]] const std::shared_ptr<const ModelWeights>& weights() const { return weights_; }
  [[nodiscard]] std::vector<float> scores(const std::string& row) const {
    return cases_["scores"][row];
  }
  [[nodiscard]] PairBatch batch() const {
    PairBatch batch{.items = {}, .cls = cases_["cls"]};
    for (const Pair& pair : pairs_) batch.items.push_back({pair.query, pair.document});
    return batch;
  }

 private:
  std::shared_ptr<const ModelWeights> weights_;
  json cases_;
  std::vector<Pair> pairs_;
};

/// Throws what the family or the model reports.
std::vector<float> scores_of(const Golden& golden, const PairBatch& batch,
                             const ModelVariant& variant, std::string_view implementation) {
  const auto model =
      family_of(*golden.weights()->config().family).make(golden.weights(), variant, implementation);
  if (!model) throw std::runtime_error(model.error().message);
  const auto output = (*model)->score(batch);
  if (!output) throw std::runtime_error(output.error().message);
  return output->scores;
}

auto near(const std::vector<float>& expected) {
  return testing::Pointwise(testing::FloatNear(1e-5F), expected);
}

struct ScoredVariant {
  const char* pattern;
  std::optional<Window> window;
  std::vector<const char*> implementations;
  bool global_projections = false;
};

void expect_scores(const Golden& golden, const ScoredVariant& scored) {
  const std::string row =
      scored.window ? fmt::format("{}/{}", scored.pattern, scored.window->text()) : scored.pattern;
  for (const char* id : scored.implementations) {
    for (const bool cls_only : {false, true}) {
      SCOPED_TRACE(
          fmt::format("{} by {}{}", row, id, cls_only ? ", the last layer for [CLS] only" : ""));
      ModelVariant variant{
          .pattern = *find_pattern(scored.pattern), .window = scored.window, .threads = 2};
      if (scored.global_projections) variant.options.emplace("global-projections");
      if (cls_only) variant.options.emplace("cls-only-last-layer");
      EXPECT_THAT(scores_of(golden, golden.batch(), variant, id), near(golden.scores(row)));
    }
  }
}

TEST(GoldenModels, FullAttentionMatchesTheClassesOfBertsBody) {
  expect_scores(Golden("bert"), {"full", {}, {"sdpa", "dense", "segment"}});
  for (const char* name : {"roberta", "xlm-roberta", "electra", "mono-electra", "mono-bert"}) {
    SCOPED_TRACE(name);
    expect_scores(Golden(name), {"full", {}, {"sdpa", "segment"}});
  }
}

TEST(GoldenModels, SparseMatchesTheMaskedFloat64Model) {
  const Golden bert("bert");
  for (const std::int64_t w : {64, 4, 1, 0}) {
    expect_scores(bert, {"sparse", Window::of(w), {"segment", "windowed", "sdpa-mask"}});
    expect_scores(bert, {"sparse-without-independent-query", Window::of(w), {"segment"}});
  }
  for (const std::int64_t w : {64, 4, 1}) {
    expect_scores(bert, {"sparse", Window::of(w), {"longformer-chunks"}});
  }
}

/// QDS is Longformer with global sentence starts.
TEST(GoldenModels, LongformerAndQdsMatchLongformerForSequenceClassification) {
  const Golden longformer("longformer");
  for (const char* pattern : {"longformer", "qds"})
    expect_scores(longformer, {pattern, Window::of(4), {"longformer-chunks", "segment"}, true});
}

/// The documents of a query attend to each other's [CLS] or interaction token.
TEST(GoldenModels, SetEncoderDocumentsAttendToEachOther) {
  for (const char* name : {"set-encoder", "set-encoder-interaction"}) {
    const Golden golden(name);
    const ModelConfig& config = golden.weights()->config();
    const AttentionPattern full = *find_pattern("full");
    for (const char* id : {"segment", "windowed"}) {
      for (const ModelOptions& extra : {ModelOptions(), ModelOptions{"cls-only-last-layer"}}) {
        const ModelVariant variant{.pattern = full,
                                   .options = *config.family->options_for(config, full, extra),
                                   .threads = 2};
        PairBatch batch = golden.batch();
        batch.one_query = true;
        EXPECT_THAT(scores_of(golden, batch, variant, id), near(golden.scores("full")))
            << name << " by " << id;
        batch.one_query = false;
        EXPECT_ANY_THROW(scores_of(golden, batch, variant, id))
            << "the documents are not of one query";
      }
    }
  }
}

/// Scores with the config's patterns, and with `window` in the local layers.
std::vector<float> modern_scores(const Golden& golden, const char* id, Window window,
                                 const ModelOptions& options = {}) {
  const ModelConfig& config = golden.weights()->config();
  const ModelVariant variant{.pattern = *find_pattern(config.pattern),
                             .local = LayerAttention{*find_pattern(config.local->pattern), window},
                             .options = options,
                             .threads = 2};
  return scores_of(golden, golden.batch(), variant, id);
}

/// For both layouts of config.json and for sentence-transformers' modules; pooled from [CLS] and by
/// the mean.
TEST(GoldenModels, ModernBertMatchesModernBertForSequenceClassification) {
  for (const char* name : {"modernbert", "modernbert-older", "modernbert-modules"}) {
    SCOPED_TRACE(name);
    const Golden golden(name);
    const Window window = *golden.weights()->config().local->window;
    const std::vector<float> expected = golden.scores("full");
    for (const char* id : {"segment", "windowed", "sdpa-mask"})
      EXPECT_THAT(modern_scores(golden, id, window), near(expected)) << id;
    // The window is 64 tokens to each side, not 63 or 65.
    for (const std::int64_t off : {-1, 1}) {
      EXPECT_THAT(modern_scores(golden, "segment", Window::of(window.tokens() + off)),
                  testing::Not(near(expected)));
    }
    if (std::string_view(name) == "modernbert-older") continue;  // its score pools all tokens
    EXPECT_THAT(modern_scores(golden, "segment", window, {"cls-only-last-layer"}), near(expected));
  }
}

TEST(GoldenModels, MeanPoolingRefusesClsOnlyLastLayer) {
  const Golden golden("modernbert-older");
  const ModelConfig& config = golden.weights()->config();
  const auto options =
      config.family->options_for(config, *find_pattern("full"), {"cls-only-last-layer"});
  ASSERT_FALSE(options);
  EXPECT_THAT(options.error().message, testing::HasSubstr("this model pools all tokens"));
}

/// By every implementation of the family (scripts/dev/golden/make_late_models.py,
/// make_words_models.py).
TEST(GoldenModels, ReRankersMatchTheirReimplementation) {
  for (const std::string name : {"dual-bert",    "poly-encoder",     "colbert",
                                 "deformer",     "cross-bert",       "virt-like",
                                 "mixencoder-a", "mixencoder-c",     "mixencoder-composed",
                                 "tkl",          "tkl-as-published", "tkl-idf",
                                 "tkl-linear",   "tkl-log",          "tk",
                                 "knrm",         "conv-knrm",        "match-pyramid",
                                 "pacrr",        "co-pacrr"}) {
    const Golden golden(name);
    const Family& family = family_of(*golden.weights()->config().family);
    const std::vector<float> expected = golden.scores("full");
    const std::string_view pattern = family.description().rows().front().pattern;
    for (const std::string_view id : family.implementations()) {
      const ModelVariant variant{.pattern = *find_pattern(pattern), .threads = 2};
      const std::vector<float> scores = scores_of(golden, golden.batch(), variant, id);
      ASSERT_EQ(scores.size(), expected.size());
      for (std::size_t i = 0; i < expected.size(); ++i) {
        EXPECT_NEAR(scores[i], expected[i], 1e-5 * std::max(1.0F, std::abs(expected[i])))
            << name << " by " << id << ", " << i;
      }
    }
  }
}

}  // namespace
}  // namespace attnscope
