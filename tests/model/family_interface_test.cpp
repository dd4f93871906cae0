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

LateRowModel mean_embeddings() {
  return LateRowModel({.row = "mean-embeddings", .implementation = "plain"});
}

TEST(FamilyInterface, CachedScoresAndWorkMatchDirectOnesAndTheReference) {
  const DrawnPairs pairs({5, 1, 9}, {130, 40, 1});
  const PairBatch batch = pairs.batch();
  const LateRowModel model = mean_embeddings();
  expect_matches_reference(model, batch);
  const auto mapped = through_a_file(model, batch);
  ASSERT_TRUE(mapped);
  EXPECT_EQ(mapped->documents(), 3);
  EXPECT_EQ(mapped->bytes(), 3 * 48 * 4);
  const ModelOutput direct = model.scored(batch), cached = model.scored(from_cache(batch, *mapped));
  EXPECT_EQ(cached.scores, direct.scores);
  EXPECT_EQ(cached.states, direct.states);
  expect_stages_add_up(model, batch, *mapped);
}

TEST(FamilyInterface, ReportsWhyAVariantIsNotSupported) {
  const LateRowModel model = mean_embeddings();
  const Family& family = model.family();
  const ModelConfig& config = model.weights()->config();
  EXPECT_TRUE(family.supports(config, model.variant(), "plain"));
  EXPECT_THAT(message_of(family.supports(config, model.variant(), "segment")),
              HasSubstr("only by 'plain', not by 'segment'"));
  const ModelVariant sparse{.pattern = *find_pattern("sparse"), .window = Window::of(4)};
  EXPECT_THAT(message_of(family.supports(config, sparse, "plain")),
              HasSubstr("no attention pattern"));
  EXPECT_THAT(message_of(family.extended_to(model.weights(), 1000)),
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
              testing::AllOf(HasSubstr("the supported types are bert, longformer, "),
                             HasSubstr(", mean-embeddings")));
}

class DocumentCacheFile : public testing::Test {
 protected:
  DocumentCacheFile() {
    const auto encoded = mean_embeddings()->encode_documents(document_ids(pairs.batch()), 101);
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

  const DrawnPairs pairs{{5, 5}, {12, 7}};
  ScratchFolder folder;
  std::filesystem::path path = folder / "documents";
  DocumentCache::Maker maker;
};

TEST_F(DocumentCacheFile, RefusesAnotherFamilyWeightsOrDtype) {
  DocumentCache::Maker other = maker;
  other.family = "colbert";
  EXPECT_THAT(refused_for(other), HasSubstr("by a model of the family 'mean-embeddings', but this "
                                            "one is of 'colbert'; encode them again"));
  other = maker;
  other.weights += 1;
  EXPECT_THAT(refused_for(other), HasSubstr("with other weights"));
  other = maker;
  other.dtype = DType::float16;
  EXPECT_THAT(refused_for(other), HasSubstr("in float32, but the model computes in float16"));
}

TEST_F(DocumentCacheFile, RefusesOtherVersionsAndDamagedFiles) {
  EXPECT_THAT(refused_after("\"attnscope_documents\":\"4\"", "\"attnscope_documents\":\"3\""),
              HasSubstr("was written by another version of attnscope, whose checksums differ "
                        "('attnscope_documents' is '3', not 4); encode the documents again"));
  EXPECT_THAT(refused_after("\"attnscope_documents\":\"3\"", "\"attnscope_documents\":\"4\""),
              testing::IsEmpty());
  const std::string one_row("\1\0\0\0\0\0\0\0", 8);
  EXPECT_THAT(refused_after(one_row, std::string("\x7f\0\0\0\0\0\0\0", 8)),
              HasSubstr("do not ascend from 0 to its 2 rows"));
  EXPECT_THAT(refused_after("\"offsets\":{\"dtype\":\"I64\"", "\"offsets\":{\"dtype\":\"F64\""),
              HasSubstr("'offsets' is not a list of I64"));
}

}  // namespace
}  // namespace attnscope::test
