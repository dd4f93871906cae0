// SPDX-License-Identifier: Apache-2.0
//
// Pattern files: what they mean, and what a wrong one is told.
#include "engine/pattern/attention_pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace attnscope {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using enum TokenGroup;

constexpr GroupRule none{};
constexpr GroupRule whole{.kind = GroupRule::Kind::whole};
constexpr GroupRule window{.kind = GroupRule::Kind::window};

std::string error_of(std::string_view json) {
  const auto pattern = parse_pattern(json, "my.json");
  return pattern ? "" : pattern.error().message;
}

AttentionPattern built_in(std::string_view name) {
  return find_pattern(name).value();
}

TEST(AttentionPattern, BuiltInsComeInDisplayOrderWithTitleAndSource) {
  std::vector<std::string> names;
  for (const AttentionPattern& pattern : built_in_patterns()) {
    names.push_back(pattern.name);
    EXPECT_FALSE(pattern.title.empty());
    EXPECT_THAT(pattern.description, ContainsRegex("\\(.* et al\\., .*20[0-9][0-9]"));
  }
  EXPECT_THAT(names, ElementsAre("full", "sparse", "sparse-without-independent-query", "longformer",
                                 "qds", "bigbird", "chunks", "sliding-window", "listwise"));
}

TEST(AttentionPattern, BuiltInsAreTheFilesInResources) {
  for (const AttentionPattern& pattern : built_in_patterns()) {
    const auto file = find_pattern(std::string(ATTNSCOPE_SOURCE_DIR) + "/resources/patterns/" +
                                   pattern.name + ".json");
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_EQ(*file, pattern);
  }
}

TEST(AttentionPattern, SparseIsThePapersFigure1d) {
  const AttentionPattern sparse = built_in("sparse");
  const AttentionPattern expected{.name = sparse.name,
                                  .title = sparse.title,
                                  .description = sparse.description,
                                  .attends = {{{whole, whole, whole, none},
                                               {none, whole, none, none},
                                               {whole, whole, window, none},
                                               {none, none, none, none}}},
                                  .sentence_every = {}};
  EXPECT_EQ(sparse, expected);
  EXPECT_TRUE(sparse.has_window());
  EXPECT_FALSE(sparse.has_sentences());
}

TEST(AttentionPattern, TheAblationDiffersFromSparseOnlyInTheQuerysRules) {
  AttentionPattern ablation = built_in("sparse-without-independent-query");
  EXPECT_THAT(ablation.attends[1], ElementsAre(whole, whole, whole, none));
  ablation.attends[1] = built_in("sparse").attends[1];
  EXPECT_EQ(ablation.attends, built_in("sparse").attends);
}

TEST(AttentionPattern, LongformerHasGlobalClsAndQueryAndNoSentences) {
  const AttentionPattern longformer = built_in("longformer");
  EXPECT_EQ(longformer.attends, built_in("sparse-without-independent-query").attends);
  EXPECT_FALSE(longformer.has_sentences());
}

TEST(AttentionPattern, QdsHasGlobalSentencesEvery30Tokens) {
  const AttentionPattern qds = built_in("qds");
  EXPECT_TRUE(qds.has_sentences());
  EXPECT_EQ(qds.sentence_every, 30);
  for (const TokenGroup from : token_groups) {
    for (const TokenGroup to : token_groups) {
      EXPECT_EQ(qds.rule(from, to), from == document && to == document ? window : whole);
    }
  }
}

TEST(AttentionPattern, BigBirdHasBlocksAndNoRules) {
  const AttentionPattern bigbird = built_in("bigbird");
  EXPECT_EQ(bigbird.blocks, (BlockRule{.length = 64, .random = 3, .seed = 1}));
  EXPECT_EQ(bigbird.blocks->full_attention_up_to(), 704);
  EXPECT_FALSE(bigbird.has_rules());
  EXPECT_FALSE(bigbird.has_window());
  EXPECT_FALSE(bigbird.has_sentences());
}

TEST(AttentionPattern, ListwiseIsSparseWithWholeDocuments) {
  AttentionPattern listwise = built_in("listwise");
  EXPECT_FALSE(listwise.has_window());
  EXPECT_EQ(listwise.rule(document, document), whole);
  listwise.attends[2][2] = window;
  EXPECT_EQ(listwise.attends, built_in("sparse").attends);
}

TEST(AttentionPattern, ChunksAreTklsLocalAttention) {
  const AttentionPattern chunks = built_in("chunks");
  const GroupRule of_chunks{.kind = GroupRule::Kind::chunks, .chunk = {.tokens = 40, .overlap = 5}};
  EXPECT_EQ(chunks.rule(document, document), of_chunks);
  EXPECT_EQ(chunks.attends[1], (std::array<GroupRule, 4>{none, whole, none, none}));
  EXPECT_TRUE(chunks.has_chunks());
  EXPECT_FALSE(chunks.has_window());
  EXPECT_FALSE(built_in("sparse").has_chunks());
}

TEST(AttentionPattern, ChunksWithoutAnOverlapHaveNone) {
  const auto pattern = parse_pattern(
      R"({"name": "n", "attends": {"document": {"document": {"chunk": 8}}}})", "my.json");
  ASSERT_TRUE(pattern) << pattern.error().message;
  EXPECT_EQ(pattern->rule(document, document).chunk, (ChunkRule{.tokens = 8, .overlap = 0}));
}

TEST(AttentionPattern, FullHasNoWindow) {
  EXPECT_FALSE(built_in("full").has_window());
}

TEST(AttentionPattern, AFixedWindowDoesNotTakeTheSweeps) {
  const auto pattern = parse_pattern(
      R"({"name": "n", "attends": {"document": {"document": {"window": 4}}}})", "my.json");
  ASSERT_TRUE(pattern) << pattern.error().message;
  EXPECT_EQ(pattern->rule(document, document).fixed_window, 4);
  EXPECT_FALSE(pattern->has_window());
  EXPECT_EQ(pattern->title, "n");
}

TEST(AttentionPattern, PrintedPatternReadsBackAsItself) {
  for (const AttentionPattern& pattern : built_in_patterns()) {
    EXPECT_EQ(parse_pattern(pattern_json(pattern), "printed").value(), pattern);
  }
  const auto fixed = parse_pattern(
      R"({"name": "n", "attends": {"sentence": {"document": {"window": 0}, "sentence": "window"}}})",
      "my.json");
  EXPECT_EQ(parse_pattern(pattern_json(*fixed), "printed").value(), *fixed);
  const auto chunks = parse_pattern(
      R"({"name": "n", "attends": {"query": {"query": {"chunk": 3, "overlap": 7}}}})", "my.json");
  ASSERT_TRUE(chunks) << chunks.error().message;
  EXPECT_EQ(parse_pattern(pattern_json(*chunks), "printed").value(), *chunks);
  const auto blocks =
      parse_pattern(R"({"name": "n", "blocks": {"length": 16, "random": 0}})", "my.json");
  ASSERT_TRUE(blocks) << blocks.error().message;
  EXPECT_EQ(parse_pattern(pattern_json(*blocks), "printed").value(), *blocks);
}

TEST(AttentionPatternErrors, UnknownFieldsAtEveryDepthNameLineAndNearest) {
  EXPECT_THAT(error_of("{\"name\": \"n\",\n\"atends\": {}}"),
              AllOf(StartsWith("my.json, line 2: 'atends' is an unknown field"),
                    HasSubstr("did you mean 'attends'?")));
  EXPECT_THAT(error_of("{\"name\": \"n\", \"attends\": {\n\"documnt\": {}}}"),
              AllOf(StartsWith("my.json, line 2: 'attends.documnt'"),
                    HasSubstr("did you mean 'document'?")));
  EXPECT_THAT(error_of("{\"name\": \"n\", \"sentences\": {\"evry\":\n 3}}"),
              AllOf(StartsWith("my.json, line 1: 'sentences.evry'"), HasSubstr("'every'")));
}

TEST(AttentionPatternErrors, AKeyThatOccursSeveralTimesIsFoundWhereItIsWrong) {
  EXPECT_THAT(error_of("{\"name\": \"n\", \"attends\": {\n"
                       "  \"cls\": {\"document\": \"whole\"},\n"
                       "  \"query\": {\"document\": \"whole\"},\n"
                       "  \"document\": {\n"
                       "    \"cls\": \"whole\",\n"
                       "    \"document\": \"windw\"\n"
                       "  }\n"
                       "}}"),
              AllOf(StartsWith("my.json, line 6: 'attends.document.document' is the unknown rule "
                               "'windw'; did you mean 'window'?"),
                    HasSubstr("known: none, whole, window")));
}

TEST(AttentionPatternErrors, AWindowBetweenGroupsWithoutSharedPositionsIsRefused) {
  EXPECT_THAT(
      error_of("{\"name\": \"n\", \"attends\": {\n\"query\": {\n\"document\": \"window\"}}}"),
      StartsWith("my.json, line 3: 'attends.query.document' cannot be a window, because "
                 "query and document tokens share no positions"));
  EXPECT_THAT(error_of(R"({"name": "n", "attends": {"cls": {"query": {"window": 3}}}})"),
              HasSubstr("share no positions"));
  EXPECT_EQ(error_of(R"({"name": "n", "attends": {"document": {"sentence": "window"},
                         "sentence": {"document": "window"}, "query": {"query": "window"}}})"),
            "");
}

TEST(AttentionPatternErrors, ImpossibleWindowsAreRefused) {
  for (const char* tokens : {"-1", "1.5", "null", "99999999999999999999", "[4]"}) {
    EXPECT_THAT(
        error_of(fmt::format(
            R"({{"name": "n", "attends": {{"document": {{"document": {{"window": {}}}}}}}}})",
            tokens)),
        StartsWith("my.json, line 1: 'attends.document.document.window' must be a whole "
                   "number from 0"))
        << tokens;
  }
  EXPECT_THAT(
      error_of(R"({"name": "n", "attends": {"document": {"document": {"window": "inf"}}}})"),
      HasSubstr("write \"whole\""));
  EXPECT_THAT(error_of(R"({"name": "n", "attends": {"document": {"document": {}}}})"),
              HasSubstr("{\"window\": 4}"));
  EXPECT_THAT(error_of(R"({"name": "n", "attends": {"document": {"document": 4}}})"),
              HasSubstr("{\"window\": 4}"));
}

TEST(AttentionPatternErrors, ImpossibleChunksAreRefused) {
  const auto chunks = [](const char* fields) {
    return error_of(fmt::format(
        R"({{"name": "n", "attends": {{"document": {{"document": {{{}}}}}}}}})", fields));
  };
  EXPECT_THAT(chunks(R"("overlap": 5)"),
              HasSubstr("has no 'chunk'; write {\"chunk\": 40, \"overlap\": 5}"));
  EXPECT_THAT(chunks(R"("chunk": 0)"), HasSubstr("document.chunk' must be a whole number from 1"));
  EXPECT_THAT(chunks(R"("chunk": 40, "overlap": -1)"),
              HasSubstr("document.overlap' must be a whole number from 0"));
  EXPECT_THAT(chunks(R"("chunk": 40, "window": 5)"),
              HasSubstr("'attends.document.document.window'"));
  EXPECT_THAT(chunks(R"("chunks": 40)"), HasSubstr("did you mean 'chunk'?"));
  EXPECT_THAT(error_of("{\"name\": \"n\", \"attends\": {\n\"cls\": {\"document\":\n"
                       "{\"chunk\": 40}}}}"),
              AllOf(StartsWith("my.json, line "), HasSubstr("cannot be chunks, because cls and")));
}

TEST(AttentionPatternErrors, NamesMustFitContenders) {
  for (const char* name : {"", "a/b", "a b", "\\u00e4", "a\\n", "a.json"}) {
    EXPECT_THAT(error_of(fmt::format("{{\n\"name\": \"{}\"}}", name)),
                StartsWith("my.json, line 2: 'name' must be made of letters"))
        << name;
  }
  EXPECT_THAT(error_of("{\"attends\": {}}"), HasSubstr("has no 'name'"));
  EXPECT_THAT(error_of("{\"name\": 3}"), HasSubstr("'name' must be a string"));
}

TEST(AttentionPatternErrors, GlobalNamesKnownGroupsOnce) {
  EXPECT_THAT(error_of("{\"name\": \"n\", \"global\": [\"cls\",\n\"quer\"]}"),
              AllOf(StartsWith("my.json, line 2: 'global[1]' is the unknown token group 'quer'"),
                    HasSubstr("did you mean 'query'?")));
  EXPECT_THAT(error_of(R"({"name": "n", "global": ["cls", "cls"]})"), HasSubstr("'cls' twice"));
  EXPECT_THAT(error_of(R"({"name": "n", "global": "cls"})"), HasSubstr("must be a list"));
  EXPECT_THAT(error_of(R"({"name": "n", "global": [7]})"), HasSubstr("must be a string"));
}

TEST(AttentionPatternErrors, ARuleAgainstGlobalIsAContradiction) {
  EXPECT_THAT(
      error_of("{\"name\": \"n\", \"global\": [\"cls\"],\n\"attends\": {\n\"document\": "
               "{\"cls\": \"none\"}}}"),
      StartsWith("my.json, line 3: 'attends.document.cls' contradicts 'global', which makes "
                 "cls whole"));
}

TEST(AttentionPatternErrors, SentencesThatNoRuleNamesAreRefused) {
  EXPECT_THAT(error_of("{\"name\": \"n\", \"global\": [\"cls\"],\n\"sentences\": {\"every\": 30}}"),
              StartsWith("my.json, line 2: 'sentences' makes sentence tokens that no rule names"));
  EXPECT_THAT(error_of(R"({"name": "n", "global": ["sentence"], "sentences": {"every": 0}})"),
              HasSubstr("'sentences.every' must be a whole number from 1"));
  EXPECT_THAT(error_of(R"({"name": "n", "global": ["sentence"], "sentences": {}})"),
              HasSubstr("has no 'every'"));
}

TEST(AttentionPatternErrors, AWindowOverWholeItemsStandsAlone) {
  const auto pattern = parse_pattern(R"({"name": "local", "item": {"window": 64}})", "my.json");
  ASSERT_TRUE(pattern) << pattern.error().message;
  EXPECT_FALSE(pattern->has_window());
  EXPECT_FALSE(pattern->has_rules());
  EXPECT_TRUE(pattern->knows_no_groups());
  EXPECT_EQ(parse_pattern(pattern_json(*pattern), "again"), *pattern);

  EXPECT_THAT(error_of(R"({"name": "a", "item": "whole"})"), HasSubstr("must be \"window\" or"));
  EXPECT_THAT(error_of(R"({"name": "a", "item": "window", "global": ["cls"]})"),
              HasSubstr("'item' cannot be combined with 'global'"));
  EXPECT_THAT(error_of(R"({"name": "a", "item": "window", "blocks": {"length": 64, "random": 3}})"),
              HasSubstr("cannot be combined with"));
}

TEST(AttentionPatternErrors, BlocksStandAlone) {
  for (const char* other : {R"("attends": {"cls": {"cls": "whole"}})", R"("global": ["cls"])",
                            R"("sentences": {"every": 30})"}) {
    EXPECT_THAT(
        error_of(fmt::format(
            "{{\"name\": \"n\",\n \"blocks\": {{\"length\": 64, \"random\": 3}}, {}}}", other)),
        StartsWith("my.json, line 2: 'blocks' cannot be combined with '"))
        << other;
  }
}

TEST(AttentionPatternErrors, ImpossibleBlocksAreRefused) {
  const auto blocks = [](const char* fields) {
    return error_of(fmt::format("{{\"name\": \"n\", \"blocks\": {{{}}}}}", fields));
  };
  EXPECT_THAT(blocks(""), HasSubstr("'blocks' has no 'length'; write {\"length\": 64"));
  EXPECT_THAT(blocks(R"("length": 64)"), HasSubstr("has no 'random'"));
  EXPECT_THAT(blocks(R"("length": 0, "random": 3)"),
              HasSubstr("'blocks.length' must be a whole number from 1"));
  EXPECT_THAT(blocks(R"("length": 64, "random": 257)"),
              HasSubstr("'blocks.random' must be a whole number from 0 to 256"));
  EXPECT_THAT(blocks(R"("length": 64, "random": 3, "seed": -1)"),
              HasSubstr("'blocks.seed' must be a whole number from 0"));
  EXPECT_THAT(blocks(R"("lenth": 64)"), HasSubstr("did you mean 'length'?"));
}

TEST(AttentionPatternErrors, APatternWithoutRulesIsRefused) {
  EXPECT_THAT(error_of(R"({"name": "n"})"), HasSubstr("lets no token attend"));
  EXPECT_THAT(error_of(R"({"name": "n", "attends": {"cls": {"cls": "none"}}})"),
              HasSubstr("lets no token attend"));
}

TEST(AttentionPatternErrors, BrokenJsonNamesLineAndColumn) {
  EXPECT_THAT(error_of("{\n\"name\" \"n\"}"), StartsWith("my.json, line 2, column 10: not valid"));
  EXPECT_THAT(error_of("[]"), StartsWith("my.json, line 1: the file must be an object"));
}

TEST(FindPattern, AnUnknownNameListsTheKnownAndTheNearest) {
  const auto pattern = find_pattern("sparce");
  ASSERT_FALSE(pattern);
  EXPECT_THAT(pattern.error().message,
              AllOf(HasSubstr("unknown pattern 'sparce'; did you mean 'sparse'?"),
                    HasSubstr("full, sparse, sparse-without-independent-query, longformer, qds, "
                              "bigbird, chunks, sliding-window, listwise")));
}

TEST(FindPattern, APathReadsAPersonsOwnFile) {
  const std::filesystem::path path =
      std::filesystem::path(::testing::TempDir()) / "attnscope-own-pattern.json";
  std::ofstream(path) << R"({"name": "own", "global": ["cls"]})";
  const auto pattern = find_pattern(path.string());
  std::filesystem::remove(path);
  ASSERT_TRUE(pattern) << pattern.error().message;
  EXPECT_EQ(pattern->name, "own");
  EXPECT_EQ(pattern->rule(document, cls), whole);
  EXPECT_EQ(pattern->rule(document, document), none);
}

TEST(FindPattern, WhatIsNoReadableFileIsAnErrorThatNamesIt) {
  EXPECT_EQ(find_pattern("no/such.json").error().message,
            "there is no pattern file 'no/such.json'; check the path");
  EXPECT_THAT(find_pattern("missing.json").error().message, HasSubstr("no pattern file"));
  EXPECT_THAT(find_pattern("/").error().message, HasSubstr("'/' is not a file"));
  EXPECT_THAT(find_pattern("/dev/zero").error().message, HasSubstr("is not a file"));
}

}  // namespace
}  // namespace attnscope
