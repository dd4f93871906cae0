// SPDX-License-Identifier: Apache-2.0
//
// Pattern files: their meaning, and the errors of invalid ones.
#include "engine/pattern/attention_pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace attnscope {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
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

TEST(AttentionPattern, BuiltInsHaveTheRulesOfTheirPapersInDisplayOrder) {
  using Rules = std::array<GroupRule, token_group_count>;  // to cls, query, document, sentence
  constexpr GroupRule chunks{.kind = GroupRule::Kind::chunks,
                             .chunk = {.tokens = 40, .overlap = 5}};
  constexpr Rules nothing{}, all{whole, whole, whole, none}, itself{none, whole, none, none},
      near{whole, whole, window, none}, everything{whole, whole, whole, whole};
  struct Row {
    const char* name;
    std::array<Rules, token_group_count> attends;
    bool has_window;
    std::optional<std::int64_t> sentence_every{};
    std::optional<GroupRule> item{};
    std::optional<BlockRule> blocks{};
  };
  const std::vector<Row> rows{
      {"full", {all, all, all, nothing}, false},
      {"sparse", {all, itself, near, nothing}, true},  // Fig. 1d of the paper
      {"sparse-without-independent-query", {all, all, near, nothing}, true},
      {"longformer", {all, all, near, nothing}, true},
      {"qds", {everything, everything, {whole, whole, window, whole}, everything}, true, 30},
      {.name = "bigbird",
       .attends = {},
       .has_window = false,
       .blocks = BlockRule{.length = 64, .random = 3, .seed = 1}},
      {"chunks", {all, itself, {none, none, chunks, none}, nothing}, false},
      {.name = "sliding-window", .attends = {}, .has_window = true, .item = window},
      {"listwise", {all, itself, all, nothing}, false}};
  ASSERT_EQ(built_in_patterns().size(), rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const AttentionPattern& pattern = built_in_patterns()[i];
    const Row& row = rows[i];
    SCOPED_TRACE(row.name);
    const AttentionPattern expected{.name = row.name,
                                    .title = pattern.title,
                                    .description = pattern.description,
                                    .attends = row.attends,
                                    .sentence_every = row.sentence_every,
                                    .item = row.item,
                                    .blocks = row.blocks};
    EXPECT_EQ(pattern, expected);
    EXPECT_FALSE(pattern.title.empty());
    EXPECT_THAT(pattern.description, ContainsRegex("\\(.* et al\\., .*20[0-9][0-9]"));
    EXPECT_EQ(pattern.has_window(), row.has_window);
    EXPECT_EQ(pattern.has_sentences(), row.sentence_every.has_value());
    EXPECT_EQ(pattern.has_chunks(), pattern.name == "chunks");
    EXPECT_EQ(pattern.has_rules(), !row.item && !row.blocks);
    EXPECT_EQ(pattern.knows_no_groups(), row.item || row.blocks);
    EXPECT_EQ(find_pattern(
                  fmt::format("{}/resources/patterns/{}.json", ATTNSCOPE_SOURCE_DIR, pattern.name)),
              pattern);
  }
  EXPECT_EQ(BlockRule{}.full_attention_up_to(), 704);
}

AttentionPattern parsed(std::string_view json) {
  const auto pattern = parse_pattern(json, "my.json");
  EXPECT_TRUE(pattern) << pattern.error().message;
  return pattern.value_or(AttentionPattern{});
}

TEST(AttentionPattern, FieldsHaveDefaults) {
  const AttentionPattern chunked =
      parsed(R"({"name": "n", "attends": {"document": {"document": {"chunk": 8}}}})");
  EXPECT_EQ(chunked.rule(document, document).chunk, (ChunkRule{.tokens = 8, .overlap = 0}));
  EXPECT_EQ(chunked.title, "n");
}

TEST(AttentionPattern, FixedWindowsIgnoreTheWindowOfTheSweep) {
  const AttentionPattern fixed =
      parsed(R"({"name": "n", "attends": {"document": {"document": {"window": 4}}}})");
  EXPECT_EQ(fixed.rule(document, document).fixed_window, 4);
  EXPECT_FALSE(fixed.has_window());
  const AttentionPattern item = parsed(R"({"name": "local", "item": {"window": 64}})");
  EXPECT_EQ(item.item->fixed_window, 64);
  EXPECT_FALSE(item.has_window());
}

TEST(AttentionPattern, WrittenPatternParsesToItself) {
  for (const AttentionPattern& pattern : built_in_patterns()) {
    EXPECT_EQ(parse_pattern(pattern_json(pattern), "printed").value(), pattern);
  }
  for (
      const char* json :
      {R"({"name": "n", "attends": {"sentence": {"document": {"window": 0}, "sentence": "window"}}})",
       R"({"name": "n", "attends": {"query": {"query": {"chunk": 3, "overlap": 7}}}})",
       R"({"name": "n", "blocks": {"length": 16, "random": 0}})",
       R"({"name": "local", "item": {"window": 64}})"}) {
    const AttentionPattern pattern = parsed(json);
    EXPECT_EQ(parse_pattern(pattern_json(pattern), "printed").value(), pattern);
  }
}

/// A pattern with this rule for the attention of document tokens to document tokens.
std::string with_rule(std::string_view rule) {
  return fmt::format(R"({{"name": "n", "attends": {{"document": {{"document": {}}}}}}})", rule);
}
std::string with_blocks(std::string_view fields) {
  return fmt::format("{{\"name\": \"n\",\n \"blocks\": {{{}}}}}", fields);
}

struct BrokenPattern {
  std::string json, start, part;
};

void expect_errors(std::initializer_list<BrokenPattern> patterns) {
  for (const auto& [json, start, part] : patterns) {
    EXPECT_THAT(error_of(json), AllOf(StartsWith("my.json, line " + start), HasSubstr(part)))
        << json;
  }
}

TEST(PatternErrors, OfFieldsNameTheNearestKnownName) {
  expect_errors(
      {{"{\"name\": \"n\",\n\"atends\": {}}", "2: 'atends' is an unknown field",
        "did you mean 'attends'?"},
       {"{\"name\": \"n\", \"attends\": {\n\"documnt\": {}}}", "2: 'attends.documnt'",
        "did you mean 'document'?"},
       {"{\"name\": \"n\", \"sentences\": {\"evry\":\n 3}}", "1: 'sentences.evry'", "'every'"},
       // A key that occurs several times.
       {"{\"name\": \"n\", \"attends\": {\n  \"cls\": {\"document\": \"whole\"},\n"
        "  \"query\": {\"document\": \"whole\"},\n  \"document\": {\n    \"cls\": \"whole\",\n"
        "    \"document\": \"windw\"\n  }\n}}",
        "6: 'attends.document.document' is the unknown rule 'windw'; did you mean 'window'?",
        "known: none, whole, window"},
       {"{\"attends\": {}}", "1", "has no 'name'"},
       {"{\"name\": 3}", "1", "'name' must be a string"},
       {"{\n\"name\" \"n\"}", "2, column 10: not valid", ""},
       {"[]", "1: the file must be an object", ""},
       {R"({"name": "n"})", "1", "lets no token attend"},
       {R"({"name": "n", "attends": {"cls": {"cls": "none"}}})", "1", "lets no token attend"}});
}

TEST(PatternErrors, OfRulesNameTheCorrection) {
  expect_errors(
      {{"{\"name\": \"n\", \"attends\": {\n\"query\": {\n\"document\": \"window\"}}}",
        "3: 'attends.query.document' cannot be a window, because query and document tokens share "
        "no positions",
        ""},
       {R"({"name": "n", "attends": {"cls": {"query": {"window": 3}}}})", "1",
        "share no positions"},
       {with_rule(R"({"window": "inf"})"), "1", "write \"whole\""},
       {with_rule("{}"), "1", "{\"window\": 4}"},
       {with_rule("4"), "1", "{\"window\": 4}"},
       {with_rule(R"({"overlap": 5})"), "1",
        "has no 'chunk'; write {\"chunk\": 40, \"overlap\": 5}"},
       {with_rule(R"({"chunk": 0})"), "1", "document.chunk' must be a whole number from 1"},
       {with_rule(R"({"chunk": 40, "overlap": -1})"), "1",
        "document.overlap' must be a whole number from 0"},
       {with_rule(R"({"chunk": 40, "window": 5})"), "1", "'attends.document.document.window'"},
       {with_rule(R"({"chunks": 40})"), "1", "did you mean 'chunk'?"},
       {"{\"name\": \"n\", \"attends\": {\n\"cls\": {\"document\":\n{\"chunk\": 40}}}}", "",
        "cannot be chunks, because cls and"},
       {"{\"name\": \"n\", \"global\": [\"cls\"],\n\"attends\": {\n\"document\": "
        "{\"cls\": \"none\"}}}",
        "3: 'attends.document.cls' contradicts 'global', which makes cls whole", ""}});
}

TEST(PatternErrors, OfGlobalTokensAndSentencesNameTheField) {
  expect_errors(
      {{"{\"name\": \"n\", \"global\": [\"cls\",\n\"quer\"]}",
        "2: 'global[1]' is the unknown token group 'quer'", "did you mean 'query'?"},
       {R"({"name": "n", "global": ["cls", "cls"]})", "1", "'cls' twice"},
       {R"({"name": "n", "global": "cls"})", "1", "must be a list"},
       {R"({"name": "n", "global": [7]})", "1", "must be a string"},
       {"{\"name\": \"n\", \"global\": [\"cls\"],\n\"sentences\": {\"every\": 30}}",
        "2: 'sentences' makes sentence tokens, but no rule names them", ""},
       {R"({"name": "n", "global": ["sentence"], "sentences": {"every": 0}})", "1",
        "'sentences.every' must be a whole number from 1"},
       {R"({"name": "n", "global": ["sentence"], "sentences": {}})", "1", "has no 'every'"}});
}

TEST(PatternErrors, OfItemsAndBlocksNameTheField) {
  expect_errors(
      {{R"({"name": "a", "item": "whole"})", "1", "must be \"window\" or"},
       {R"({"name": "a", "item": "window", "global": ["cls"]})", "1",
        "'item' cannot be combined with 'global'"},
       {R"({"name": "a", "item": "window", "blocks": {"length": 64, "random": 3}})", "1",
        "cannot be combined with"},
       {"{\"name\": \"n\",\n \"blocks\": {\"length\": 64, \"random\": 3}, "
        "\"attends\": {\"cls\": {\"cls\": \"whole\"}}}",
        "2: 'blocks' cannot be combined with '", ""},
       {"{\"name\": \"n\",\n \"blocks\": {\"length\": 64, \"random\": 3}, \"global\": [\"cls\"]}",
        "2: 'blocks' cannot be combined with '", ""},
       {"{\"name\": \"n\",\n \"blocks\": {\"length\": 64, \"random\": 3}, "
        "\"sentences\": {\"every\": 30}}",
        "2: 'blocks' cannot be combined with '", ""},
       {with_blocks(""), "2", "'blocks' has no 'length'; write {\"length\": 64"},
       {with_blocks(R"("length": 64)"), "2", "has no 'random'"},
       {with_blocks(R"("length": 0, "random": 3)"), "2",
        "'blocks.length' must be a whole number from 1"},
       {with_blocks(R"("length": 64, "random": 257)"), "2",
        "'blocks.random' must be a whole number from 0 to 256"},
       {with_blocks(R"("length": 64, "random": 3, "seed": -1)"), "2",
        "'blocks.seed' must be a whole number from 0"},
       {with_blocks(R"("lenth": 64)"), "2", "did you mean 'length'?"}});
}

TEST(PatternNumbers, MustBeWholeNumbersFromZero) {
  for (const char* tokens : {"-1", "1.5", "null", "99999999999999999999", "[4]"}) {
    EXPECT_THAT(error_of(with_rule(fmt::format(R"({{"window": {}}})", tokens))),
                StartsWith("my.json, line 1: 'attends.document.document.window' must be a whole "
                           "number from 0"))
        << tokens;
  }
}

TEST(PatternNames, MustFitContenders) {
  for (const char* name : {"", "a/b", "a b", "\\u00e4", "a\\n", "a.json"}) {
    EXPECT_THAT(error_of(fmt::format("{{\n\"name\": \"{}\"}}", name)),
                StartsWith("my.json, line 2: 'name' must be made of letters"))
        << name;
  }
}

TEST(PatternRules, WindowsAreAllowedBetweenGroupsThatSharePositions) {
  EXPECT_EQ(error_of(R"({"name": "n", "attends": {"document": {"sentence": "window"},
                         "sentence": {"document": "window"}, "query": {"query": "window"}}})"),
            "");
}

TEST(FindPattern, UnknownNameListsTheNearestAndAllKnownNames) {
  const auto pattern = find_pattern("sparce");
  ASSERT_FALSE(pattern);
  EXPECT_THAT(pattern.error().message,
              AllOf(HasSubstr("unknown pattern 'sparce'; did you mean 'sparse'?"),
                    HasSubstr("full, sparse, sparse-without-independent-query, longformer, qds, "
                              "bigbird, chunks, sliding-window, listwise")));
}

TEST(FindPattern, ReadsAFileByPath) {
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

TEST(FindPattern, UnreadableFileIsAnErrorWithItsName) {
  EXPECT_EQ(find_pattern("no/such.json").error().message,
            "there is no pattern file 'no/such.json'; check the path");
  EXPECT_THAT(find_pattern("missing.json").error().message, HasSubstr("no pattern file"));
  EXPECT_THAT(find_pattern("/").error().message, HasSubstr("'/' is not a file"));
  EXPECT_THAT(find_pattern("/dev/zero").error().message, HasSubstr("is not a file"));
}

}  // namespace
}  // namespace attnscope
