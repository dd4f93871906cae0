// Checkpoint folders in the layouts that users have get the scores that transformers,
// sentence-transformers and PyLate compute (scripts/dev/golden/make_checkpoints.py,
// make_multi_vector.py).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "engine/model/family.h"
#include "engine/model/model_weights.h"
#include "engine/ranking/explained_pair.h"
#include "engine/ranking/scoring_model.h"

namespace attnscope {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

fs::path root() {
  return fs::path(ATTNSCOPE_SOURCE_DIR) / "tests/golden/checkpoints";
}

std::vector<std::string> folders() {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(root()))
    names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  return names;
}

/// The score matches the float64 reference with `variant`'s pattern in the document encoder.
void expect_reference_score(const Family& family,
                            const std::shared_ptr<const ModelWeights>& weights,
                            const ModelVariant& variant, const PairBatch& batch) {
  const auto model = family.make(weights, variant, "segment");
  ASSERT_TRUE(model) << model.error().message;
  const auto score = (*model)->score(batch);
  ASSERT_TRUE(score) << score.error().message;
  const auto exact = family.reference(*weights, variant, batch.items.front(), batch.cls);
  ASSERT_TRUE(exact) << exact.error().message;
  EXPECT_NEAR(score->scores.front(), exact->score, 1e-5 * std::max(1.0, std::abs(exact->score)));
}

class GoldenCheckpoints : public testing::TestWithParam<std::string> {};

TEST_P(GoldenCheckpoints, ScoresMatchTheLibraries) {
  const fs::path folder = root() / GetParam();
  std::ifstream file(folder / "cases.json");
  const json cases = json::parse(file);
  const auto model =
      ScoringModel::open({.checkpoint = folder, .label = cases.value("label", std::string())});
  ASSERT_TRUE(model) << model.error().message;
  auto checkpoint = Checkpoint::open(folder);
  ASSERT_TRUE(checkpoint) << checkpoint.error().message;
  checkpoint->config.head = model->head;
  const Family& family = family_of(*checkpoint->config.family);
  auto weights = ModelWeights::of(*checkpoint);
  if (weights && model->shape.positions > (*weights)->shape().positions)
    weights = family.extended_to(*weights, model->shape.positions);
  ASSERT_TRUE(weights) << weights.error().message;
  const ModelVariant variant{.pattern = model->pattern,
                             .window = model->window,
                             .local = model->local,
                             .options = model->options,
                             .threads = 1};
  const auto implementation = family.make(*weights, variant, "segment");
  ASSERT_TRUE(implementation) << implementation.error().message;
  ModelVariant sparse = variant;
  sparse.pattern = find_pattern("sparse").value();
  sparse.window = Window::of(2);
  sparse.local.reset();
  for (std::size_t i = 0; i < cases["pairs"].size(); ++i) {
    const std::string query = cases["pairs"][i][0], document = cases["pairs"][i][1];
    SCOPED_TRACE(query + " | " + document);
    const auto pair = model->tokenizer->encode(query, document, model->limits);
    ASSERT_TRUE(pair) << pair.error().message;
    if (cases.contains("ids")) {
      std::vector<std::int32_t> ids;
      for (const ExplainedToken& token : explain_tokens(*model, *pair)) ids.push_back(token.id);
      EXPECT_EQ(ids, cases["ids"][i].get<std::vector<std::int32_t>>());
    }
    PairBatch batch{.items = {{.query = pair->query, .document = pair->document}},
                    .cls = model->tokenizer->cls(),
                    .document_type = static_cast<std::int32_t>(model->document_type)};
    const auto output = (*implementation)->score(batch);
    ASSERT_TRUE(output) << output.error().message;
    const double expected = cases["scores"][i];
    EXPECT_NEAR(output->scores.front(), expected, 1e-5 * std::max(1.0, std::abs(expected)));
    // The float64 reference has the same head.
    if (model->document_type == 1 || model->head.max_sim) {
      const auto exact = family.reference(**weights, variant, batch.items.front(), batch.cls);
      ASSERT_TRUE(exact) << exact.error().message;
      EXPECT_NEAR(exact->score, expected, 1e-5 * std::max(1.0, std::abs(expected)));
    }
    if (model->head.max_sim) expect_reference_score(family, *weights, sparse, batch);
  }
}

INSTANTIATE_TEST_SUITE_P(Folders, GoldenCheckpoints, testing::ValuesIn(folders()),
                         [](const auto& folder) {
                           std::string name = folder.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace attnscope
