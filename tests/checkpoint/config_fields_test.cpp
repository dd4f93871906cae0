#include "engine/checkpoint/config_fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "engine/checkpoint/family_description.h"

namespace attnscope {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string bert_with(const std::string& more) {
  return R"({"model_type": "bert", "vocab_size": 10, "hidden_size": 4, "num_hidden_layers": 1,
             "num_attention_heads": 1, "intermediate_size": 4, "max_position_embeddings": 8,
             "type_vocab_size": 2, "layer_norm_eps": 1e-12, "_name_or_path": "x")" +
         more + "}";
}

TEST(ConfigFields, DocumentationHasTheTableOfTheCode) {
  std::ifstream file(std::filesystem::path(ATTNSCOPE_SOURCE_DIR) / "docs/checkpoints.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  EXPECT_THAT(page, HasSubstr(checkpoint_fields_table()));
}

TEST(ConfigFields, NamesUnknownFields) {
  const auto named = read_model_config(bert_with(R"(, "spectral_norm": true)"), "config.json");
  ASSERT_TRUE(named) << named.error().message;
  EXPECT_THAT(named->unknown_fields, ElementsAre("spectral_norm"));
  EXPECT_THAT(read_model_config(bert_with(""), "config.json")->unknown_fields, IsEmpty());
}

TEST(ConfigFields, RefusesFieldsThatChangeLoading) {
  const auto error = [](const std::string& more) {
    const auto read = read_model_config(bert_with(more), "config.json");
    return read ? std::string("read") : read.error().message;
  };
  EXPECT_THAT(error(R"(, "auto_map": {"AutoModel": "code.Model"})"),
              HasSubstr("'auto_map' names code"));
  EXPECT_THAT(error(R"(, "quantization_config": {"bits": 4})"), HasSubstr("are quantized"));
  EXPECT_THAT(error(R"(, "pruned_heads": {"0": [1]})"), HasSubstr("heads were removed"));
  EXPECT_EQ(error(R"(, "pruned_heads": {}, "auto_map": null)"), "read");
}

}  // namespace
}  // namespace attnscope
