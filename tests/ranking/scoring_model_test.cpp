// SPDX-License-Identifier: Apache-2.0
#include "engine/ranking/scoring_model.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <utility>

#include "tests/checkpoint/tiny_checkpoint.h"
#include "tests/safetensors/scratch_folder.h"

namespace attnscope {
namespace {

using testing::HasSubstr;
using tests::ScratchFolder;
using tests::TinyCheckpoint;
using tests::write_bytes;

constexpr std::string_view vocabulary = "[PAD]\n[UNK]\n[CLS]\n[SEP]\nhow\ntall\n##er\n";

TinyCheckpoint sparse() {
  TinyCheckpoint tiny = TinyCheckpoint::bert();
  tiny.config.emplace("attention_window_size", "4");
  tiny.config.emplace("query_cls_attention", "false");
  tiny.config.emplace("query_doc_attention", "false");
  return tiny;
}

Result<ScoringModel> open(const TinyCheckpoint& tiny, ModelQuestion question = {}) {
  const ScratchFolder folder;
  tiny.write(folder.path());
  write_bytes(folder / "vocab.txt", vocabulary);
  question.checkpoint = folder.path();
  return ScoringModel::open(question);
}

ScoringModel need(Result<ScoringModel> model) {
  if (!model) throw std::runtime_error(model.error().message);
  return std::move(*model);
}

std::string error_of(const TinyCheckpoint& tiny, const ModelQuestion& question) {
  const auto model = open(tiny, question);
  return model ? "opened" : model.error().message;
}

TEST(ScoringModel, UsesPatternWindowAndLimitsOfTheCheckpoint) {
  const ScoringModel model = need(open(sparse()));
  EXPECT_EQ(model.pattern.name, "sparse");
  EXPECT_EQ(model.window, Window::of(4));
  EXPECT_EQ(model.limits.most_tokens, model.shape.positions);
  EXPECT_EQ(model.limits.most_query_tokens, 31);
  EXPECT_EQ(model.request.window, Window::of(4));
}

/// A golden model with a vocabulary, opened as `question` requests.
Result<ScoringModel> open_golden(const char* name, ModelQuestion question = {}) {
  const ScratchFolder folder;
  std::filesystem::copy(
      std::filesystem::path(ATTNSCOPE_SOURCE_DIR) / "tests/golden/models" / name, folder.path(),
      std::filesystem::copy_options::recursive | std::filesystem::copy_options::overwrite_existing);
  write_bytes(folder / "vocab.txt", vocabulary);
  question.checkpoint = folder.path();
  return ScoringModel::open(question);
}

/// Some of its layers are local.
Result<ScoringModel> open_modern(ModelQuestion question = {}) {
  return open_golden("modernbert", std::move(question));
}

TEST(ScoringModel, LimitsDocumentsInAdditionToPairs) {
  const ScoringModel mono = need(open_golden("mono-bert"));
  EXPECT_EQ(mono.limits.most_query_tokens, 33);
  EXPECT_EQ(mono.limits.most_tokens_of_document, 257);
  PairLimits limits = mono.limits;
  limits.most_tokens_of_document = 3;
  const auto pair = mono.tokenizer->encode("how", "tall tall tall", limits).value();
  EXPECT_EQ(pair.document.size(), 3U);
  EXPECT_TRUE(pair.document_cut);
}

TEST(ScoringModel, RequestedPatternAppliesToLocalLayersUnlessTheyHaveTheirOwn) {
  const ScoringModel own = need(open_modern());
  EXPECT_EQ(own.pattern.name, "full");
  EXPECT_EQ(own.request.local->window, Window::of(64));
  EXPECT_EQ(own.is_local, (std::vector<bool>{false, true, true, false, true}));

  EXPECT_FALSE(open_modern({.pattern = "full"})->request.local);
  EXPECT_EQ(open_modern({.local_window = "16"})->local->window, Window::of(16));
  const ScoringModel both =
      need(open_modern({.pattern = "sparse", .window = "4", .local_pattern = "full"}));
  EXPECT_EQ(both.pattern.name, "sparse");
  EXPECT_EQ(both.local->pattern.name, "full");

  EXPECT_THAT(open_modern({.local_pattern = "full", .local_window = "4"}).error().message,
              HasSubstr("of the local layers: pattern 'full' has no window"));
  EXPECT_THAT(error_of(sparse(), {.local_window = "4"}),
              HasSubstr("all layers of this model have the same attention"));
}

TEST(ScoringModel, DumpNamesPatternAndWindowOfEachLayer) {
  const ScoringModel model = need(open_modern());
  const auto pair = model.tokenizer->encode("how", "tall", model.limits);
  const auto all = dump_metadata(model, *pair, "");
  EXPECT_EQ(all->at("window"), "inf,64,64,inf,64");
  const std::vector<std::int64_t> some{0, 2};
  const auto shown = dump_metadata(model, *pair, "", some);
  EXPECT_EQ(shown->at("pattern"), R"(["full","sliding-window"])");
  EXPECT_EQ(shown->at("window"), "inf,64");
}

TEST(ScoringModel, LimitsSeparatelyEncodedDocumentsSeparately) {
  const ScoringModel dual = need(open(TinyCheckpoint::dual_bert(), {.most_tokens = 20}));
  EXPECT_TRUE(dual.keeps_documents);
  EXPECT_EQ(dual.limits.most_document_tokens, 19);
  const ScoringModel cross = need(open(TinyCheckpoint::cross_bert()));
  EXPECT_FALSE(cross.keeps_documents);
  EXPECT_EQ(cross.limits.most_document_tokens, 0);
  EXPECT_EQ(cross.limits.most_tokens, cross.shape.positions - 1);  // 1 for the document's [CLS]
  EXPECT_FALSE(open(TinyCheckpoint::bert())->keeps_documents);
}

TEST(ScoringModel, RequestedWindowOrPatternReplacesTheCheckpoints) {
  EXPECT_EQ(open(sparse(), {.window = "inf"})->window, Window::infinite());
  const ScoringModel full = need(open(sparse(), {.pattern = "full"}));
  EXPECT_EQ(full.window, std::nullopt);
  EXPECT_FALSE(full.request.window);
}

TEST(ScoringModel, ErrorsNameTheUnsupportedRequest) {
  EXPECT_THAT(error_of(TinyCheckpoint::bert(), {.pattern = "sparse"}),
              HasSubstr("pattern 'sparse' needs a window"));
  EXPECT_THAT(error_of(TinyCheckpoint::bert(), {.window = "4"}),
              HasSubstr("pattern 'full' has no window"));
  EXPECT_THAT(error_of(sparse(), {.dtype = "int8"}), HasSubstr("int8"));
  EXPECT_THAT(error_of(sparse(), {.device = "tpu"}), HasSubstr("tpu"));
  TinyCheckpoint tiny = TinyCheckpoint::bert();
  tiny.config["vocab_size"] = std::to_string(5);
  tiny.tensors["bert.embeddings.word_embeddings.weight"].shape.front() = 5;
  EXPECT_THAT(error_of(tiny, {}), HasSubstr("its tokenizer has 7 tokens, and its model's"));
}

TEST(ScoringModel, ExtendedPositionsAllowLongerPairs) {
  const std::int64_t positions = open(sparse())->shape.positions;
  EXPECT_THAT(error_of(sparse(), {.most_tokens = positions + 1}), HasSubstr("extend them"));
  const ScoringModel extended =
      need(open(sparse(), {.positions = 2 * positions, .most_tokens = positions + 1}));
  EXPECT_EQ(extended.limits.most_tokens, positions + 1);
  EXPECT_EQ(extended.request.positions, 2 * positions);
}

TEST(ScoringModel, LabelErrorNamesTheModulesFileThatIsNotRead) {
  const ScratchFolder folder;
  TinyCheckpoint::bert().write(folder.path());
  write_bytes(folder / "vocab.txt", vocabulary);
  write_bytes(folder / "modules.json", "[]");
  const auto model = ScoringModel::open({.checkpoint = folder.path(), .label = "1"});
  ASSERT_FALSE(model);
  EXPECT_THAT(model.error().message, HasSubstr("modules.json is not read, since there is no "
                                               "config_sentence_transformers.json"));
}

TEST(ScoringModel, AWordModelNeedsItsPatternAndALineForEachVectorExceptPadding) {
  const auto opened = [](int lines, const std::string& pattern = "") {
    const ScratchFolder folder;
    TinyCheckpoint::tkl().write(folder.path());
    std::string list = "@@UNKNOWN@@\n";
    for (int line = 2; line <= lines; ++line) list += fmt::format("word{}\n", line);
    write_bytes(folder / "tokens.txt", list);
    const auto model = ScoringModel::open({.checkpoint = folder.path(), .pattern = pattern});
    return model ? "opened" : model.error().message;
  };
  EXPECT_EQ(opened(19), "opened");
  EXPECT_EQ(opened(19, "chunks"), "opened");
  EXPECT_EQ(opened(19, "sparse"),
            "models of the family tkl have the pattern 'chunks', not 'sparse'; remove the pattern");
  EXPECT_THAT(opened(18), HasSubstr("tokens.txt: has 18 words, and the checkpoint has vectors of "
                                    "19 words and of padding; copy tokens.txt again"));
  EXPECT_THAT(opened(20), HasSubstr("tokens.txt: has 20 words, and the checkpoint has vectors"));
}

TEST(PairDump, MetadataDescribesLayoutTokensAndPattern) {
  const auto model = open(sparse());
  const auto pair = model->tokenizer->encode("how tall", "taller", model->limits);
  const auto metadata = *dump_metadata(*model, *pair, "a note");
  EXPECT_EQ(metadata.at("layout"), R"({"items":[{"cls":1,"document":3,"query":3}]})");
  EXPECT_EQ(metadata.at("tokens"), R"(["[CLS]","how","tall","[SEP]","tall","##er","[SEP]"])");
  EXPECT_EQ(metadata.at("pattern"), "sparse");
  EXPECT_EQ(metadata.at("window"), "4");
  EXPECT_EQ(metadata.at("note"), "a note");
  EXPECT_EQ(metadata.count("global_rows"), 0U);
}

TEST(PairDump, LongformerHasGlobalCls_AndGlobalQueryOnRequest) {
  const auto rows = [](const ModelQuestion& question) {
    const auto model = open(TinyCheckpoint::longformer(), question);
    if (!model) return model.error().message;
    const auto pair = model->tokenizer->encode("how", "tall", model->limits);
    return dump_metadata(*model, *pair, "")->at("global_rows");
  };
  EXPECT_EQ(rows({}), "[0]");
  EXPECT_EQ(rows({.pattern = "longformer"}), "[0,1,2]");
}

}  // namespace
}  // namespace attnscope
