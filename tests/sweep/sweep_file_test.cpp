// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "engine/heat/axes.h"
#include "engine/pattern/attention_pattern.h"
#include "engine/sweep/sweep.h"
#include "tests/safetensors/scratch_folder.h"
#include "tests/sweep/refusals.h"

namespace attnscope {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing::SizeIs;

TEST(Range, GivesItsValues) {
  for (const auto& [text, values] : std::vector<std::pair<const char*, std::vector<std::int64_t>>>{
           {"64", {64}},
           {"64:512:*2", {64, 128, 256, 512}},
           {"64:500:*2", {64, 128, 256}},
           {"1:4:*1.2", {1, 2, 3, 4}},  // rounded, without repetitions
           {"0:64:+16", {0, 16, 32, 48, 64}},
           {"64:200:+64", {64, 128, 192}},
           {"8:8:*2", {8}},
           {"9223372036854775800:9223372036854775807:+5",
            {9223372036854775800, 9223372036854775805}},
           {"9223372036854775807:9223372036854775807:*2", {9223372036854775807}}}) {
    EXPECT_EQ(*parse_range(text), values) << text;
  }
}

TEST(Range, RefusesInvalidTexts) {
  const auto error = [](std::string_view text) { return message_of(parse_range(text)); };
  expect_refused({{"4096:64:*2", {"is empty", "did you mean '64:4096:*2'?"}},
                  {"64:4096:*1", {"factor must be larger than 1"}},
                  {"64:4096:*0.5", {"factor must be larger than 1"}},
                  {"64:4096:*nan", {"factor must be larger than 1"}},
                  {"64:4096:+0", {"step must be 1 or more"}},
                  {"64:4096:+-8", {"step must be 1 or more"}},
                  {"0:64:*2", {"never leaves 0"}},
                  {"0:1000000000:+1", {"more than 100000 values"}},
                  {"1:2:*1.0000000000000002", {"more than 100000 steps"}},
                  {"1:9223372036854775807:*1.0000001", {"more than 100000 steps"}},
                  {"-4", {"negative"}},
                  {"4\n\x1b[2J\xff", {"'4??[2J?'"}}},
                 error);
  EXPECT_LT(error(std::string(100'000, 'x')).size(), 400U);
  for (const char* text : {"", "abc", "64:", "64:128", "64:128:", "64:128:2", "64:128:*", "64::*2",
                           "a:b:*2", "64:128:*2x", "-64:128:*2", "1e3", "64 :128:*2"}) {
    EXPECT_THAT(error(text), HasSubstr("\"64:4096:*2\"")) << text;
  }
}

/// Line 1 opens the object, `fields` begin in line 2.
Result<Sweep> parse(std::string_view fields) {
  return parse_sweep(fmt::format("{{\n{}\n}}", fields), "my.json");
}

Sweep parsed(std::string_view fields) {
  auto sweep = parse(fields);
  EXPECT_TRUE(sweep) << message_of(sweep);
  return sweep.value();
}

std::string error_of(std::string_view fields) {
  return message_of(parse(fields));
}

/// The error of a valid sweep with this additional field, which begins in line 5.
std::string error_with(std::string_view field) {
  return error_of(fmt::format(R"("contenders": ["full/dense", "sparse/segment"],
"sequence_tokens": 64,
"windows": [4],
{})",
                              field));
}

/// The error of a sweep of 64 tokens with these contenders, which begin in line 2.
std::string error_of_contenders(std::string_view contenders) {
  return error_of(fmt::format("\"contenders\": {}, \"sequence_tokens\": 64", contenders));
}

/// What `get` returns for the point of each heat.
template <typename Get>
auto of_points(const Sweep& sweep, Get get) {
  std::vector<std::invoke_result_t<Get, const HeatPoint&>> values;
  values.reserve(sweep.heats.size());
  for (const Heat& heat : sweep.heats) values.push_back(get(heat.point));
  return values;
}

std::vector<std::string> ids(const Heat& heat) {
  std::vector<std::string> all;
  for (const Contender& contender : heat.contenders) all.push_back(contender.id());
  return all;
}

std::vector<std::string> names(const Heat& heat) {
  std::vector<std::string> all;
  for (const Contender& contender : heat.contenders) all.push_back(contender.name);
  return all;
}

TEST(SweepFile, ReadsEveryField) {
  const Sweep sweep = parsed(R"(
    "name": "kernels-cpu", "operation": "attention", "direction": "forward",
    "contenders": ["full/dense", "full/sdpa", "sparse/sdpa-mask", "sparse/windowed",
                   {"pattern": "sparse", "implementation": "segment", "name": "Sparse, fused"}],
    "windows": [4, 64, "inf"], "query_tokens": 10, "sequence_tokens": [64, "128:4096:*2"],
    "batch": {"max": 100, "memory_mb": 2048}, "heads": 8, "head_dim": 64, "dtype": "bfloat16",
    "memory_order": "token-major", "cache": "cold", "device": "cuda", "launch": "graph", "threads": 2,
    "seed": 7, "shared_query": true,
    "documents": 3,
    "stop": {"relative_interval": 0.03, "max_seconds": 2, "min_samples": 11, "placements": 6,
             "processes": 3} )");
  EXPECT_EQ(sweep.name, "kernels-cpu");
  ASSERT_THAT(sweep.heats, SizeIs(7));
  const Heat& last = sweep.heats.back();
  EXPECT_EQ(last.index, 6);
  const HeatPoint expected{.operation = Operation::attention,
                           .direction = Direction::forward,
                           .sequence_tokens = 4096,
                           .query_tokens = 10,
                           .shared_query = true,
                           .documents = 3,
                           .batch_max = 100,
                           .batch_memory_mb = 2048,
                           .heads = 8,
                           .head_dim = 64,
                           .dtype = DType::bfloat16,
                           .memory_order = MemoryOrder::token_major,
                           .cache = CacheState::cold,
                           .device = DeviceKind::cuda,
                           .launch = LaunchMode::graph,
                           .threads = 2,
                           .seed = 7};
  EXPECT_EQ(last.point, expected);
  const StopRule stop{.relative_interval = 0.03,
                      .max_seconds = 2,
                      .min_samples = 11,
                      .placements = 6,
                      .processes = 3};
  EXPECT_EQ(last.stop, stop);
  EXPECT_THAT(ids(last),
              ElementsAre("full/dense", "full/sdpa", "sparse/sdpa-mask/4", "sparse/sdpa-mask/64",
                          "sparse/sdpa-mask/inf", "sparse/windowed/4", "sparse/windowed/64",
                          "sparse/windowed/inf", "sparse/segment/4", "sparse/segment/64",
                          "sparse/segment/inf"));
  EXPECT_EQ(last.contenders.back().name, "Sparse, fused, w = inf");
}

TEST(SweepFile, EveryFileInResourcesIsBuiltIn) {
  const auto folder = std::filesystem::path(ATTNSCOPE_SOURCE_DIR) / "resources/sweeps";
  for (const NamedSweep& named : built_in_sweeps()) {
    for (const std::string& source : {named.name, (folder / (named.name + ".json")).string()}) {
      const auto sweep = load_sweep(source);
      ASSERT_TRUE(sweep) << sweep.error().message;
      EXPECT_EQ(sweep->name, named.name);
      EXPECT_EQ(sweep->text, named.text);
    }
  }
  const auto files = std::distance(std::filesystem::directory_iterator(folder), {});
  EXPECT_THAT(built_in_sweeps(), SizeIs(files));
}

TEST(SweepFile, BuiltInSweepsHaveTheExpectedHeats) {
  struct Row {
    const char* name;
    std::size_t heats, contenders = 0;  // 0: not compared
    std::int64_t batch_max = 0;         // likewise
  };
  for (const Row& row : std::vector<Row>{{"quick", 7, 8},
                                         {"paper-fig2a", 7, 8, 16},
                                         {"paper-fig2a-cuda", 2 * 7, 8, 16},
                                         {"kernels-cpu", 2 * 7, 2 + 3 * 6},
                                         {"kernels-cpu-documents", 2},
                                         {"kernels-cpu-backward", 2 * 7},
                                         {"kernels-cpu-dtypes", 3 * 2 * 2},
                                         {"kernels-cuda", 2 * 5, 0, 100},
                                         {"kernels-cuda-backward", 2 * 2 * 3, 0, 100},
                                         {"kernels-cuda-launch", 2 * 2, 0, 100},
                                         {"baselines-cuda", 2 * 2 * 3, 0, 100},
                                         {"models-cuda", 2 * 2},
                                         {"tkl-attention", 6},
                                         {"paper-tkl", 7},
                                         {"against-the-world", 2 * 2},
                                         {"rerankers-against-the-world", 2},
                                         {"train-step", 4, 8},
                                         {"scaling", 9}}) {
    SCOPED_TRACE(row.name);
    const auto sweep = load_sweep(row.name);
    ASSERT_TRUE(sweep) << sweep.error().message;
    EXPECT_THAT(sweep->heats, SizeIs(row.heats));
    EXPECT_TRUE(row.contenders == 0 || sweep->heats[0].contenders.size() == row.contenders);
    const bool is_cuda = sweep->name.find("cuda") != std::string::npos;
    for (const Heat& heat : sweep->heats) {
      EXPECT_EQ(heat.point.device, is_cuda ? DeviceKind::cuda : DeviceKind::cpu);
      EXPECT_TRUE(sweep->name != "scaling" || heat.point.cache == CacheState::cold);
      EXPECT_TRUE(row.batch_max == 0 || heat.point.batch_max == row.batch_max);
    }
  }
}

TEST(SweepFile, SweepsOfFigure2aMatchThePaper) {
  for (const char* name : {"paper-fig2a", "paper-fig2a-cuda", "paper-fig2a-attention"}) {
    const auto sweep = load_sweep(name);
    ASSERT_TRUE(sweep) << sweep.error().message;
    EXPECT_EQ(sweep->heats.size() % 7, 0U);  // 64 to 4096 tokens
    for (const Heat& heat : sweep->heats) {
      EXPECT_EQ(heat.point.batch_max, 16);
      EXPECT_EQ(heat.point.heads, 12);
      EXPECT_EQ(heat.point.head_dim, 32);
    }
    if (sweep->name == "paper-fig2a-attention") continue;
    EXPECT_EQ(sweep->heats[0].point.operation, Operation::windowed_matmul);
    EXPECT_THAT(names(sweep->heats[0]),
                ElementsAre("Full Attention", "Longformer (PT), w = 4", "Longformer (PT), w = 64",
                            "Longformer (TVM role), w = 4", "Longformer (TVM role), w = 64",
                            "BigBird", "Ours, w = 4", "Ours, w = 64"));
  }
}

TEST(SweepFile, ExamplesOfTheDocumentAreValid) {
  std::ifstream document(std::string(ATTNSCOPE_SOURCE_DIR) + "/docs/sweeps.md");
  std::string line, example;
  int examples = 0;
  const tests::ScratchFolder folder;  // with the files that an example names
  std::filesystem::create_directory(folder / "runs");
  for (const char* file :
       {"qrels.txt", "runs/full.trec", "runs/sparse-4.trec", "runs/sparse-64.trec"})
    tests::write_bytes(folder / file, "");
  while (std::getline(document, line)) {
    const bool is_code = line.starts_with("    ");
    if (is_code && (line.starts_with("    { \"name\"") || !example.empty())) example += line + "\n";
    if (is_code || example.empty()) continue;
    const auto sweep = parse_sweep(example, (folder / "sweeps.md").string());
    EXPECT_TRUE(sweep) << sweep.error().message << "\n" << example;
    ++examples;
    example.clear();
  }
  EXPECT_EQ(examples, 6);
}

TEST(SweepFile, RefusesUnknownNamesAndFolders) {
  EXPECT_THAT(message_of(load_sweep("quikc")), HasSubstr("did you mean 'quick'?"));
  EXPECT_THAT(message_of(load_sweep(ATTNSCOPE_SOURCE_DIR)),
              HasSubstr("is not a file; give the path of a sweep file"));
}

TEST(SweepFile, LengthsAscendWithinEveryCombinationOfTheOtherAxes) {
  const Sweep sweep = parsed(
      R"("contenders": ["full/dense"], "sequence_tokens": [256, 64], "heads": [12, 2],
         "direction": ["forward", "forward-backward"], "batch": {"max": [1, 8]})");
  EXPECT_EQ(sweep.name, "my") << "the name of the file";
  ASSERT_THAT(sweep.heats, SizeIs(16));
  for (std::size_t i = 0; i < sweep.heats.size(); ++i) {
    const HeatPoint& point = sweep.heats[i].point;
    EXPECT_EQ(sweep.heats[i].index, static_cast<int>(i));
    EXPECT_EQ(point.sequence_tokens, i % 2 == 0 ? 64 : 256);
    EXPECT_EQ(point.batch_max, i / 2 % 2 == 0 ? 1 : 8);
    EXPECT_EQ(point.heads, i / 4 % 2 == 0 ? 12 : 2);
    EXPECT_EQ(point.direction, i < 8 ? Direction::forward : Direction::forward_backward);
  }
}

TEST(SweepFile, EveryAxisThatTakesListsAcceptsOne) {
  for (const Axis& axis : heat_axes) {
    if (!axis.takes_lists || axis.of == Axis::Of::models || axis.key == "operation") continue;
    const bool number = axis.kind == Axis::Kind::number;
    const nlohmann::json values = number ? nlohmann::json{20, 21}
                                  : axis.kind == Axis::Kind::truth
                                      ? nlohmann::json{false, true}
                                      : nlohmann::json{axis.word(0), axis.word(1)};
    nlohmann::json file{{"contenders", {"full/dense"}}, {"sequence_tokens", 64}};
    if (axis.key == "launch") file["device"] = "cuda";
    file[nlohmann::json::json_pointer(
        axis.key == "batch_max" ? "/batch/max" : "/" + std::string(axis.key))] = values;
    const auto read = parse_sweep(file.dump(), "my.json");
    ASSERT_TRUE(read) << read.error().message;
    ASSERT_THAT(read->heats, SizeIs(2)) << axis.key;
    for (std::size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(axis.get(read->heats[i].point), static_cast<std::int64_t>(number ? 20 + i : i));
    }
  }
}

TEST(SweepFile, ContendersMayHaveTheirOwnWindowAndName) {
  const Heat heat = parsed(R"("contenders": ["full/dense", "sparse/segment", "sparse/segment/4",
        {"pattern": "sparse", "implementation": "segment", "window": "inf", "name": "Whole"}],
      "windows": 0, "sequence_tokens": 64)")
                        .heats[0];
  EXPECT_THAT(ids(heat), ElementsAre("full/dense", "sparse/segment/0", "sparse/segment/4",
                                     "sparse/segment/inf"));
  EXPECT_THAT(names(heat),
              ElementsAre("full/dense", "sparse/segment, w = 0", "sparse/segment, w = 4", "Whole"));
  EXPECT_EQ(error_of_contenders(R"(["sparse/segment/4"])"), "no error");
}

TEST(SweepFile, PatternFileIsReadFromTheFolderOfTheSweepAndKept) {
  const tests::ScratchFolder folder;
  AttentionPattern own = *find_pattern("sparse");
  own.name = "own";
  own.title = "My own";
  tests::write_bytes(folder / "own.json", pattern_json(own));
  tests::write_bytes(folder / "sweep.json",
                     R"({"contenders": ["own.json/segment/4"], "sequence_tokens": 64})");
  const auto sweep = load_sweep((folder / "sweep.json").string());
  ASSERT_TRUE(sweep) << sweep.error().message;
  const Contender& contender = sweep->heats[0].contenders[0];
  EXPECT_EQ(contender.id(), "own.json/segment/4");
  EXPECT_EQ(contender.name, "own/segment, w = 4");
  EXPECT_EQ(parse_pattern(contender.pattern_json, "contender").value(), own);
}

TEST(SweepFile, InvalidFieldsAreNamedWithTheirLine) {
  expect_refused(
      {{R"("sequense_tokens": 3)",
        {"my.json, line 5", "'sequense_tokens'", "did you mean 'sequence_tokens'?"}},
       {"\"stop\": {\n  \"max_seconds\": 1,\n  \"max_second\": 2}",
        {"line 7", "'stop.max_second'", "did you mean 'max_seconds'?"}},
       {"\"batch\": {\n  \"maximum\": 1}", {"line 6", "'batch.maximum'"}},
       {R"("windows": [8])", {"line 5", "twice"}},
       {R"("heads": "twelve")", {"'twelve' is neither a number"}},
       {R"("heads": 1.5)", {"not 1.5"}},
       {R"("launch": "graph")", {"'launch' has 'graph', which is for \"device\": \"cuda\" alone"}},
       {R"("heads": {})", {"'heads'"}},
       {R"("heads": 0)", {"not 0"}},
       {R"("heads": [[2]])", {"'heads[0]'"}},
       {R"("heads": [])", {"'heads' is an empty list"}},
       {R"("heads": [2, 4, 2])", {"gives 2 twice"}},
       {R"("dtype": 32)", {"'dtype' must be a string"}},
       {R"("dtype": "float23")", {"did you mean 'float32'?"}},
       {R"("dtype": ["float32", "float32"])", {"twice"}},
       {R"("operation": "atention")", {"did you mean 'attention'?"}},
       {R"("cache": "clod")", {"did you mean 'cold'?"}},
       {R"("device": "gpu")", {"known: cpu, cuda"}},
       {R"("shared_query": 1)", {"true or false"}},
       {R"("documents": [1, 100])", {"each of 100 documents"}},
       {R"("documents": 0)", {"documents"}},
       {R"("seed": -1)", {"'seed'"}},
       {R"("threads": -1)", {"'threads'"}},
       {R"("name": 1)", {"'name' must be a string"}},
       {R"("name": "")", {"'name' must not be empty"}},
       {R"("batch": 16)", {"'batch' must be an object"}},
       {R"("batch": {"per_contender": true})", {"'batch.per_contender'", "operation model"}},
       {R"("stage": "online")", {"is for operation model"}},
       {R"("stop": [1])", {"'stop' must be an object"}},
       {R"("stop": {"max_seconds": 0})", {"'stop.max_seconds'"}},
       {R"("stop": {"relative_interval": -0.1})", {"'stop.relative_interval'"}},
       {R"("stop": {"min_samples": 0})", {"'stop.min_samples'"}},
       {R"("stop": {"placements": 1000000})", {"'stop.placements'"}},
       {"\"stop\": {\"placements\": 2,\n \"processes\": 3}",
        {"line 6", "at most as many \"processes\""}},
       {R"("patterns": {"name": "near"})", {"line 5"}},
       {R"("patterns": [{"name": "near", "atends": {}}])",
        {"my.json, line 5", "patterns[0]", "attends"}},
       {R"("patterns": [{"name": "sparse", "global": ["cls"]}])",
        {"'sparse'", "built-in", "another name"}},
       {"\"patterns\": [{\"name\": \"a\", \"global\": [\"cls\"]},\n"
        "{\"name\": \"a\", \"global\": [\"query\"]}]",
        {"line 6", "'a'", "its own name"}}},
      error_with);
}

TEST(SweepFile, InvalidContendersAreNamedWithTheirLine) {
  expect_refused(
      {{R"("full/dense")", {"'contenders' must be a list"}},
       {"[3]", {"'contenders[0]' must be a string"}},
       {"[]", {"'contenders' is an empty list"}},
       {"[\"full/dense\",\n{\"pattern\": \"full\", \"implementation\": \"sdpa\", \"nam\": \"x\"}]",
        {"line 3", "'contenders[1].nam'", "did you mean 'name'?"}},
       {"[\n\"spares/segment\"]", {"line 3", "'contenders[0]'", "sparse"}},
       {"[\"full/dense\",\n\"full/dense\"]", {"line 3", "'full/dense' again"}},
       {R"(["sparse/segment", "sparse/segment/4"], "windows": 4)", {"'sparse/segment/4' again"}},
       {R"([{"pattern": "full", "implementation": "dense", "name": "A"},
            {"pattern": "full", "implementation": "sdpa", "name": "A"}])",
        {"the same display name 'A' as 'full/dense'"}},
       {R"(["sparse/segment"])", {"needs a window", "\"windows\": [4, 64]"}},
       {R"(["full/dense/4"])", {"window 4", "remove it"}},
       {R"(["sparse/segment/-1"])", {"window '-1'"}},
       {"[\"sparse/segment\"],\n\"windows\": [4,\n-1]", {"line 4", "'windows[1]'", "not -1"}},
       {R"(["sparse/segment"], "windows": ["inf", 4, "inf"])", {"gives inf twice"}},
       {R"(["sparse/segment"], "windows": "0:5000:+1")", {"at most 1000 contenders"}}},
      error_of_contenders);
  for (const char* text : {"", "dense", "/dense", "full/", "full//dense/", "4", "/4"}) {
    EXPECT_THAT(error_of_contenders(fmt::format("[\"{}\"]", text)), HasSubstr("'contenders[0]'"))
        << text;
  }
}

TEST(SweepFile, InvalidFilesAndLengthsAreNamedWithTheirLine) {
  const std::string full_dense = "\"contenders\": [\"full/dense\"],\n";
  expect_refused({{"\"sequence_tokens\": [64,\n\"contenders\"", {"line 4"}},
                  {R"("sequence_tokens": 64)", {"needs the field 'contenders'"}},
                  {R"("contenders": ["full/dense"])", {"needs the field 'sequence_tokens'"}}},
                 error_of);
  expect_refused(
      {{R"("sequence_tokens": [])", {"'sequence_tokens' is an empty list"}},
       {"\"sequence_tokens\": [64,\n\"4096:64:*2\"]",
        {"line 4", "'sequence_tokens[1]'", "is empty"}},
       {R"("sequence_tokens": [64, "64:128:*2"])", {"gives 64 twice"}},
       {"\"query_tokens\": 10,\n\"sequence_tokens\": [64, 12]",
        {"line 4", "sequence_tokens 12", "at least 13"}},
       {R"("query_tokens": 10, "sequence_tokens": 13)", {"no error"}},
       {R"("sequence_tokens": "13:90000:+1", "query_tokens": "0:10:+1")",
        {"at most 100000 cells"}}},
      [&](std::string_view fields) { return error_of(full_dense + std::string(fields)); });
  EXPECT_THAT(
      error_of(R"("contenders": ["full/dense", "full/sdpa"], "sequence_tokens": "13:60000:+1")"),
      HasSubstr("at most 100000 cells"));
  for (const char* text : {"", "[]", "{} {}"}) EXPECT_FALSE(parse_sweep(text, "my.json")) << text;
}

constexpr std::string_view dual_bert =
    R"("operation": "model", "contenders": ["dual-bert/segment"], )";

TEST(SweepFile, StagesAndCandidatesAreAxesOfModelsAndOfflineHasNoCandidates) {
  const Sweep sweep = parsed(fmt::format(
      R"({}"sequence_tokens": 64, "stage": ["offline", "online"], "candidates": [1, 10, 100])",
      dual_bert));
  EXPECT_THAT(of_points(sweep, [](const HeatPoint& p) { return std::pair(p.stage, p.candidates); }),
              ElementsAre(Pair(Stage::offline, 0), Pair(Stage::online, 1), Pair(Stage::online, 10),
                          Pair(Stage::online, 100)));
}

TEST(SweepFile, DocumentTokensGiveTheLengthsOfSequences) {
  const Sweep models = parsed(fmt::format(R"({}"query_tokens": [10, 18],
    "document_tokens": [{{"lognormal": [804, 3267], "max": 2000}}, 200, "400:800:*2"])",
                                          dual_bert));
  // [CLS], the query with its [SEP], the words and a [SEP].
  const std::string drawn = "lognormal 804/3267 up to 2000";
  EXPECT_THAT(
      of_points(models,
                [](const HeatPoint& p) {
                  return std::pair(p.sequence_tokens, text_of(p.document_lengths));
                }),
      ElementsAre(Pair(213, "alike"), Pair(413, "alike"), Pair(813, "alike"), Pair(2013, drawn),
                  Pair(221, "alike"), Pair(421, "alike"), Pair(821, "alike"), Pair(2021, drawn)));
  const auto tokens = [](const HeatPoint& point) { return point.sequence_tokens; };
  const std::string attention = R"("contenders": ["full/dense"], "query_tokens": 20, )";
  EXPECT_THAT(of_points(parsed(attention + R"("document_tokens": [512, "100:200:+100"])"), tokens),
              ElementsAre(123, 223, 535));
  EXPECT_THAT(of_points(parsed(attention + R"("documents": 4, "document_tokens": 100)"), tokens),
              ElementsAre(22 + 4 * 101));
}

TEST(SweepFile, InvalidDocumentTokensAndCandidatesAreRefused) {
  expect_refused(
      {{R"("sequence_tokens": 64, "document_tokens": 200)",
        {"'document_tokens'", "give only one of them"}},
       {R"("document_tokens": [200, "100:200:+100"])", {"gives 200 twice"}},
       {R"("document_tokens": {"lognormal": [804, 200], "max": 2000})",
        {"'document_tokens.lognormal'", "must be above it"}},
       {R"("document_tokens": "0:200:+100")", {"has 0"}},
       {R"("document_tokens": 5, "query_tokens": 100000000)", {"sequences of 100000008 tokens"}},
       {R"("sequence_tokens": 64, "candidates": [0, 10])", {"has 0"}}},
      [](std::string_view fields) { return error_of(fmt::format("{}{}", dual_bert, fields)); });
  EXPECT_THAT(error_of(R"("contenders": ["full/dense"], "document_tokens":
                          {"lognormal": [804, 3267], "max": 2000})"),
              HasSubstr("is a distribution of lengths, which is for operation model"));
}

TEST(SweepFile, OwnPatternsAreUsedByContendersAndKept) {
  const Heat heat = parsed(R"("patterns": [{"name": "near",
        "attends": {"cls": {"document": "whole"}, "document": {"document": "window"}}}],
      "contenders": ["near/segment", "full/sdpa"], "windows": [4], "sequence_tokens": 64)")
                        .heats[0];
  EXPECT_THAT(ids(heat), ElementsAre("near/segment/4", "full/sdpa"));
  const auto kept = parse_pattern(heat.contenders[0].pattern_json, "kept");
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->rule(TokenGroup::cls, TokenGroup::document).kind, GroupRule::Kind::whole);
  EXPECT_EQ(kept->rule(TokenGroup::query, TokenGroup::query).kind, GroupRule::Kind::none);
}

}  // namespace
}  // namespace attnscope
