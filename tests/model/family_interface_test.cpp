// The interface of every family, tested with one that is not a cross-encoder.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "engine/documents/document_cache.h"
#include "engine/model/family.h"
#include "engine/model/model_weights.h"
#include "tests/model/late_rows.h"
#include "tests/model/mean_embeddings/mean_embeddings.h"
#include "tests/safetensors/scratch_folder.h"

namespace attnscope::test {
namespace {

using testing::HasSubstr;
using tests::ScratchFolder;
using tests::write_bytes;

const Family& family() {
  return family_of(mean_embeddings_description());
}

std::shared_ptr<const ModelWeights> weights_of(std::uint64_t seed) {
  return ModelWeights::random(mean_embeddings_description().config_for(small_shape(), {}),
                              {.seed = seed, .deviation = 1});
}

ModelVariant variant() {
  return {.pattern = *find_pattern("full")};
}

std::unique_ptr<Model> model_of(const std::shared_ptr<const ModelWeights>& weights) {
  return std::move(*family().make(weights, variant(), "plain"));
}

TEST(FamilyInterface, CachedScoresMatchDirectScoresAndTheReference) {
  const ScratchFolder folder;
  const auto weights = weights_of(3);
  const DrawnPairs pairs({5, 1, 9}, {130, 40, 1});
  const PairBatch batch = pairs.batch();
  const auto model = model_of(weights);
  const auto encoded = model->encode_documents(document_ids(batch), batch.cls);
  ASSERT_TRUE(encoded) << encoded.error().message;
  EXPECT_EQ(encoded->documents(), 3);
  EXPECT_EQ(encoded->bytes(), 3 * 48 * 4);
  ASSERT_TRUE(encoded->write(folder / "documents"));
  const auto mapped = DocumentCache::open(folder / "documents", encoded->maker());
  ASSERT_TRUE(mapped) << mapped.error().message;
  EXPECT_EQ(mapped->bytes(), encoded->bytes());

  const auto direct = model->score(batch);
  const auto cached = model->score(from_cache(batch, *mapped));
  ASSERT_TRUE(direct && cached);
  EXPECT_EQ(cached->scores, direct->scores);
  EXPECT_EQ(cached->states, direct->states);
  const double bound = family().error_bound(DType::float32, weights->shape());
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const auto reference = family().reference(*weights, variant(), pairs.item(i), batch.cls);
    ASSERT_TRUE(reference);
    EXPECT_NEAR(direct->scores[i], reference->score, bound) << i;
  }
}

TEST(FamilyInterface, WorkOfBothStagesAddsUpToDirectWork) {
  const DrawnPairs pairs({5, 1, 9}, {130, 40, 1});
  const PairBatch batch = pairs.batch();
  const auto model = model_of(weights_of(3));
  const auto encoded = model->encode_documents(document_ids(batch), batch.cls);
  const auto online = model->work(from_cache(batch, *encoded));
  const auto offline = model->work_of_documents(document_ids(batch));
  ASSERT_TRUE(online && offline);
  EXPECT_EQ(online->linear_flop + offline->linear_flop, model->work(batch)->linear_flop);
  EXPECT_LT(*model->predicted_peak_bytes(from_cache(batch, *encoded)),
            *model->predicted_peak_bytes(batch));
}

TEST(FamilyInterface, ReportsWhyAVariantIsNotSupported) {
  const ModelConfig config = mean_embeddings_description().config_for(small_shape(), {});
  EXPECT_TRUE(family().supports(config, variant(), "plain"));
  EXPECT_THAT(message_of(family().supports(config, variant(), "segment")),
              HasSubstr("only by 'plain', not by 'segment'"));
  ModelVariant sparse{.pattern = *find_pattern("sparse"), .window = Window::of(4)};
  EXPECT_THAT(message_of(family().supports(config, sparse, "plain")),
              HasSubstr("no attention pattern"));
  EXPECT_THAT(message_of(family().extended_to(weights_of(3), 1000)),
              HasSubstr("mean-embeddings has 300 positions and cannot be extended to 1000"));
}

TEST(FamilyInterface, ConfigSelectsTheFamily) {
  const auto config = read_model_config(
      R"({"model_type": "mean-embeddings", "vocab_size": 7, "hidden_size": 3})", "config.json");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->family, &mean_embeddings_description());
  EXPECT_THAT(config->family->tensors(*config, nullptr).specs.front().shape,
              testing::ElementsAre(7, 3));
  EXPECT_THAT(message_of(read_model_config(R"({"model_type": "deberta"})", "config.json")),
              testing::AllOf(HasSubstr("models of the types bert, longformer, "),
                             HasSubstr(", mean-embeddings are read here")));
}

class DocumentCacheFile : public testing::Test {
 protected:
  DocumentCacheFile() {
    const DrawnPairs pairs({5, 5}, {12, 7});
    const auto encoded =
        model_of(weights_of(3))->encode_documents(document_ids(pairs.batch()), 101);
    maker = encoded->maker();
    EXPECT_TRUE(encoded->write(path));
  }
  [[nodiscard]] std::string refused_for(const DocumentCache::Maker& other) const {
    return message_of(DocumentCache::open(path, other));
  }
  [[nodiscard]] std::string refused_after(const std::string& was, const std::string& is) const {
    std::ifstream file(path, std::ios::binary);
    std::string bytes(std::istreambuf_iterator<char>(file), {});
    const std::size_t at = bytes.find(was);
    EXPECT_NE(at, std::string::npos) << was;
    write_bytes(path, bytes.replace(at, was.size(), is));
    return refused_for(maker);
  }

  ScratchFolder folder;
  std::filesystem::path path = folder / "documents";
  DocumentCache::Maker maker;
};

TEST_F(DocumentCacheFile, RefusesAnotherFamilyWeightsOrDtype) {
  DocumentCache::Maker other = maker;
  other.family = "colbert";
  EXPECT_THAT(refused_for(other), HasSubstr("by a model of the family 'mean-embeddings', and this "
                                            "one is of 'colbert'; encode them again"));
  other = maker;
  other.weights += 1;
  EXPECT_THAT(refused_for(other), HasSubstr("with other weights"));
  other = maker;
  other.dtype = DType::float16;
  EXPECT_THAT(refused_for(other), HasSubstr("in float32, and the model computes in float16"));
}

TEST_F(DocumentCacheFile, RefusesOtherVersionsAndDamagedFiles) {
  EXPECT_THAT(refused_after("\"attnscope_documents\":\"4\"", "\"attnscope_documents\":\"3\""),
              HasSubstr("was written by another version of attnscope, whose checksums are others "
                        "('attnscope_documents' is '3', not 4); encode the documents again"));
  EXPECT_THAT(refused_after("\"attnscope_documents\":\"3\"", "\"attnscope_documents\":\"4\""),
              testing::IsEmpty());
  const std::string one_row("\1\0\0\0\0\0\0\0", 8);
  EXPECT_THAT(refused_after(one_row, std::string("\x7f\0\0\0\0\0\0\0", 8)),
              HasSubstr("do not ascend from 0 to its 2 rows"));
  EXPECT_THAT(refused_after("\"offsets\":{\"dtype\":\"I64\"", "\"offsets\":{\"dtype\":\"F64\""),
              HasSubstr("'offsets' is no list of I64"));
}

TEST_F(DocumentCacheFile, ScoringRefusesACacheOfOtherWeights) {
  const auto mapped = DocumentCache::open(path, maker);
  const DrawnPairs pairs({5, 5}, {12, 7});
  EXPECT_THAT(message_of(model_of(weights_of(4))->score(from_cache(pairs.batch(), *mapped))),
              HasSubstr("the documents were encoded with other weights"));
}

}  // namespace
}  // namespace attnscope::test
