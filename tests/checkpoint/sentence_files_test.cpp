// SPDX-License-Identifier: Apache-2.0
//
// What is read from sentence-transformers' files, without weights.
// tests/golden/checkpoints_test.cpp compares scores.
#include "engine/checkpoint/sentence_files.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "tests/safetensors/scratch_folder.h"

namespace attnscope {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const std::string pooling = R"({"embedding_dimension": 8, "pooling_mode": "cls"})";
const std::string dense = R"({"in_features": 8, "out_features": 8})";
const std::string scores =
    R"({"in_features": 8, "out_features": 1, "module_output_name": "scores"})";

struct Module {
  std::string type, config{};
};

/// A folder's files; modules.json lists these modules after the encoder.
Result<SentenceFiles> read(const std::vector<Module>& modules,
                           std::map<std::string, std::string> files = {}) {
  const tests::ScratchFolder folder;
  files.try_emplace("config_sentence_transformers.json", R"({"model_type": "CrossEncoder"})");
  files.try_emplace("config.json", "{}");
  std::string list = R"([{"type": "sentence_transformers.models.Transformer", "path": ""})";
  int number = 0;
  for (const Module& module : modules) {
    const std::string path = fmt::format("{}_{}", ++number, module.type);
    list += fmt::format(R"(, {{"type": "sentence_transformers.models.{}", "path": "{}"}})",
                        module.type, path);
    std::filesystem::create_directory(folder / path);
    if (!module.config.empty()) files.emplace(path + "/config.json", module.config);
  }
  files.try_emplace("modules.json", list + "]");
  for (const auto& [name, text] : files)
    if (!text.empty()) tests::write_bytes(folder / name, text);
  return read_sentence_files(folder.path());
}

std::string error_of(const std::vector<Module>& modules,
                     const std::map<std::string, std::string>& files = {}) {
  const auto found = read(modules, files);
  return found ? "read" : found.error().message;
}

std::vector<std::string> steps_of(const std::vector<Module>& modules) {
  const auto found = read(modules);
  if (!found) return {found.error().message};
  std::vector<std::string> steps;
  for (const HeadStep& step : found->head.steps)
    steps.push_back(step.kind == HeadStep::Kind::normalize ? "normalize" : step.in_file);
  return steps;
}

TEST(SentenceFiles, TheLastDenseNamedScoresComputesTheScores) {
  using testing::ElementsAre;
  EXPECT_THAT(steps_of({{"Pooling", pooling}, {"Normalize"}, {"Dense", scores}}),
              ElementsAre("normalize", "3_Dense.linear"));
  EXPECT_THAT(steps_of({{"Pooling", pooling}, {"Dense", scores}, {"Normalize"}}),
              ElementsAre("2_Dense.linear"));
  EXPECT_THAT(steps_of({{"Pooling", pooling}, {"Dense", scores}, {"Dense", scores}}),
              ElementsAre("3_Dense.linear"));
  EXPECT_THAT(
      steps_of({{"Pooling", pooling}, {"Dense", scores}, {"Dense", dense}, {"Dense", scores}}),
      ElementsAre("3_Dense.linear", "4_Dense.linear"));
  EXPECT_EQ(read({{"Pooling", pooling}, {"Dense", scores}, {"Dense", dense}})->head.stated_labels,
            1);
}

TEST(SentenceFiles, ANormalizeOfAnotherValueIsIgnoredOrRefused) {
  const auto normalized = [](const std::string& config) {
    return steps_of({{"Pooling", pooling}, {"Normalize", config}, {"Dense", scores}});
  };
  EXPECT_EQ(normalized(R"({"module_input_name": "token_embeddings"})").size(), 1U);
  EXPECT_EQ(normalized(R"({"module_output_name": null})").size(), 2U);
  EXPECT_THAT(normalized(R"({"module_input_name": "scores"})").front(),
              AllOf(HasSubstr("2_Normalize/config.json"), HasSubstr("'module_input_name'")));
  EXPECT_THAT(normalized(R"({"module_output_name": "other"})").front(),
              HasSubstr("'module_output_name' is 'other'"));
}

TEST(SentenceFiles, RefusesTwoMasks) {
  const std::string config = R"({"model_type": "MultiVectorEncoder"})";
  EXPECT_THAT(error_of({{"MultiVectorMask"}, {"MultiVectorMask"}},
                       {{"config_sentence_transformers.json", config}}),
              AllOf(HasSubstr("modules.json"), HasSubstr("MultiVectorMask twice")));
}

TEST(SentenceFiles, IgnoresAPromptWithoutModulesJson) {
  const auto files = read({}, {{"modules.json", ""},
                               {"config_sentence_transformers.json",
                                R"({"model_type": "CrossEncoder", "prompts": {"q": "old "},
                                   "default_prompt_name": "q"})"}});
  ASSERT_TRUE(files) << files.error().message;
  EXPECT_FALSE(files->counts);
  EXPECT_EQ(files->tokenizer.prompt, "");
}

TEST(SentenceFiles, StatesWhyModulesAreIgnored) {
  const auto reason = [](const std::string& config) {
    return read({{"Pooling", pooling}}, {{"config_sentence_transformers.json", config}})
        ->unread_modules;
  };
  EXPECT_THAT(reason("{}"), HasSubstr("config_sentence_transformers.json has no 'model_type'"));
  EXPECT_THAT(reason(R"({"model_type": "SparseEncoder"})"),
              HasSubstr("has the model_type 'SparseEncoder'"));
  EXPECT_THAT(reason(""), HasSubstr("there is no config_sentence_transformers.json"));
}

TEST(SentenceFiles, RefusesAnotherOutputOfTheEncoder) {
  const auto with = [](const std::string& output, const std::string& name) {
    return error_of({{"Pooling", pooling}, {"Dense", scores}},
                    {{"sentence_bert_config.json",
                      fmt::format(R"({{"modality_config": {{"text": {{"method": "forward",
                                      "method_output_name": {}}}}}, "module_output_name": "{}"}})",
                                  output, name)}});
  };
  EXPECT_EQ(with("\"last_hidden_state\"", "token_embeddings"), "read");
  EXPECT_EQ(with("[\"last_hidden_state\"]", "token_embeddings"), "read");
  EXPECT_THAT(with("[\"hidden_states\", 0]", "token_embeddings"),
              AllOf(HasSubstr("'modality_config.text.method_output_name'"),
                    HasSubstr("only 'last_hidden_state'")));
  EXPECT_THAT(with("\"last_hidden_state\"", "scores"), HasSubstr("'module_output_name'"));
}

TEST(SentenceFiles, AcceptsConfigArgumentsEqualToConfigJson) {
  const auto with = [](const std::string& arguments) {
    return error_of({{"Pooling", pooling}, {"Dense", scores}},
                    {{"config.json", R"({"num_labels": 1})"},
                     {"sentence_bert_config.json", R"({"config_args": )" + arguments + "}"}});
  };
  EXPECT_EQ(with(R"({"num_labels": 1, "trust_remote_code": false})"), "read");
  EXPECT_THAT(with(R"({"num_labels": 2})"), HasSubstr("'config_args.num_labels'"));
}

TEST(SentenceFiles, ReadsPaddingToALength) {
  const auto with = [](const std::string& text) {
    return read({{"Pooling", pooling}, {"Dense", scores}},
                {{"sentence_bert_config.json", R"({"processing_kwargs": {"text": )" + text + "}}"}})
        ->tokenizer.is_padded;
  };
  EXPECT_FALSE(with(R"({"padding": true})"));
  EXPECT_TRUE(with(R"({"padding": "max_length"})"));
  EXPECT_TRUE(with(R"({"pad_to_multiple_of": 8})"));
}

}  // namespace
}  // namespace attnscope
