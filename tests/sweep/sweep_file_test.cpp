// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "engine/heat/axes.h"
#include "engine/pattern/attention_pattern.h"
#include "engine/sweep/sweep.h"
#include "tests/safetensors/scratch_folder.h"

namespace attnscope {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

// Line 1 opens the object, `fields` begin in line 2.
std::string file_with(std::string_view fields) {
  return fmt::format("{{\n{}\n}}", fields);
}

Result<Sweep> parse(std::string_view fields) {
  return parse_sweep(file_with(fields), "my.json");
}

std::string error_of(std::string_view fields) {
  const auto sweep = parse(fields);
  return sweep ? "no error" : sweep.error().message;
}

// A sweep with one field more than it needs.
std::string error_with(std::string_view field) {
  return error_of(fmt::format(
      "\"contenders\": [\"full/dense\", \"sparse/segment\"],\n\"sequence_tokens\": 64,\n"
      "\"windows\": [4],\n{}",
      field));
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

TEST(SweepFile, ContractsExample_IsReadWhole) {
  const auto sweep = parse_sweep(R"({
    "name": "kernels-cpu", "operation": "attention", "direction": "forward",
    "contenders": ["full/dense", "full/sdpa", "sparse/sdpa-mask", "sparse/windowed",
                   {"pattern": "sparse", "implementation": "segment", "name": "Sparse, fused"}],
    "windows": [4, 64, "inf"], "query_tokens": 10, "sequence_tokens": [64, "128:4096:*2"],
    "batch": {"max": 100, "memory_mb": 2048}, "heads": 8, "head_dim": 64, "dtype": "bfloat16",
    "memory_order": "token-major", "cache": "cold", "device": "cuda", "threads": 2, "seed": 7, "shared_query": true,
    "documents": 3,
    "stop": {"relative_interval": 0.03, "max_seconds": 2, "min_samples": 11, "placements": 6,
             "processes": 3} })",
                                 "example.json");
  ASSERT_TRUE(sweep) << sweep.error().message;
  EXPECT_EQ(sweep->name, "kernels-cpu");
  ASSERT_THAT(sweep->heats, SizeIs(7));
  const Heat& last = sweep->heats.back();
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

TEST(SweepFile, ShippedSweeps_AreValid) {
  for (const NamedSweep& named : built_in_sweeps()) {
    const auto sweep = load_sweep(named.name);
    ASSERT_TRUE(sweep) << sweep.error().message;
    EXPECT_EQ(sweep->name, named.name);
    EXPECT_EQ(sweep->text, named.text);
  }
  EXPECT_THAT(load_sweep("quick")->heats, SizeIs(7));
  EXPECT_THAT(load_sweep("quick")->heats[0].contenders, SizeIs(8));
  EXPECT_THAT(load_sweep("paper-fig2a")->heats, SizeIs(7));
  EXPECT_THAT(load_sweep("kernels-cpu")->heats, SizeIs(2 * 7));
  EXPECT_THAT(load_sweep("kernels-cpu")->heats[0].contenders, SizeIs(2 + 3 * 6));
  EXPECT_THAT(load_sweep("kernels-cpu-documents")->heats, SizeIs(2));
  EXPECT_THAT(load_sweep("kernels-cpu-backward")->heats, SizeIs(2 * 7));
  EXPECT_THAT(load_sweep("kernels-cpu-dtypes")->heats, SizeIs(3 * 2 * 2));
  EXPECT_THAT(load_sweep("kernels-cuda")->heats, SizeIs(2 * 5));
  EXPECT_THAT(load_sweep("kernels-cuda-backward")->heats, SizeIs(2 * 2 * 3));
  EXPECT_THAT(load_sweep("baselines-cuda")->heats, SizeIs(2 * 2 * 3));
  EXPECT_THAT(load_sweep("paper-fig2a-cuda")->heats, SizeIs(2 * 7));
  EXPECT_THAT(load_sweep("models-cuda")->heats, SizeIs(2 * 2));
  for (const char* name : {"kernels-cuda", "kernels-cuda-backward", "baselines-cuda",
                           "paper-fig2a-cuda", "models-cuda"}) {
    const auto sweep = load_sweep(name);
    for (const Heat& heat : sweep->heats) EXPECT_EQ(heat.point.device, DeviceKind::cuda);
  }
  for (const char* name : {"kernels-cuda", "kernels-cuda-backward", "baselines-cuda"}) {
    const auto sweep = load_sweep(name);
    for (const Heat& heat : sweep->heats) EXPECT_EQ(heat.point.batch_max, 100);
  }
  EXPECT_THAT(load_sweep("tkl-attention")->heats, SizeIs(6));
  EXPECT_THAT(load_sweep("paper-tkl")->heats, SizeIs(7));
  EXPECT_THAT(load_sweep("against-the-world")->heats, SizeIs(2 * 2));
  EXPECT_THAT(load_sweep("rerankers-against-the-world")->heats, SizeIs(2));
  EXPECT_THAT(load_sweep("train-step")->heats, SizeIs(4));
  EXPECT_THAT(load_sweep("train-step")->heats[0].contenders, SizeIs(8));
  EXPECT_THAT(load_sweep("scaling")->heats, SizeIs(9));
  const auto scaling = load_sweep("scaling");
  for (const Heat& heat : scaling->heats) {
    EXPECT_EQ(heat.point.cache, CacheState::cold);
  }
}

TEST(SweepFile, TheSweepsOfFigure2a_AreThePapers) {
  for (const char* name : {"paper-fig2a", "paper-fig2a-cuda", "paper-fig2a-attention"}) {
    const auto sweep = load_sweep(name);
    ASSERT_TRUE(sweep) << sweep.error().message;
    EXPECT_EQ(sweep->heats.size() % 7, 0U);  // 64 to 4096 tokens
    for (const Heat& heat : sweep->heats) {
      EXPECT_EQ(heat.point.batch_max, 16);
      EXPECT_EQ(heat.point.heads, 12);
      EXPECT_EQ(heat.point.head_dim, 32);
    }
  }
  for (const char* name : {"paper-fig2a", "paper-fig2a-cuda"}) {
    const auto sweep = load_sweep(name);
    EXPECT_EQ(sweep->heats[0].point.operation, Operation::windowed_matmul);
    EXPECT_THAT(names(sweep->heats[0]),
                ElementsAre("Full Attention", "Longformer (PT), w = 4", "Longformer (PT), w = 64",
                            "Longformer (TVM role), w = 4", "Longformer (TVM role), w = 64",
                            "BigBird", "Ours, w = 4", "Ours, w = 64"));
  }
}

TEST(SweepFile, EveryFileInResources_IsCompiledIn) {
  std::size_t files = 0;
  for (const auto& file : std::filesystem::directory_iterator(std::string(ATTNSCOPE_SOURCE_DIR) +
                                                              "/resources/sweeps")) {
    const auto sweep = load_sweep(file.path().string());
    ASSERT_TRUE(sweep) << sweep.error().message;
    EXPECT_EQ(sweep->name, file.path().stem());
    const auto shipped = load_sweep(sweep->name);
    ASSERT_TRUE(shipped) << shipped.error().message;
    EXPECT_EQ(shipped->text, sweep->text);
    ++files;
  }
  EXPECT_EQ(files, built_in_sweeps().size());
}

TEST(SweepFile, ExamplesOfTheDocument_AreValid) {
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

TEST(SweepFile, UnknownSweep_NamesTheNearest) {
  const auto sweep = load_sweep("quikc");
  ASSERT_FALSE(sweep);
  EXPECT_THAT(sweep.error().message, HasSubstr("did you mean 'quick'?"));
}

TEST(SweepFile, Folder_CannotBeRead) {
  const auto sweep = load_sweep(ATTNSCOPE_SOURCE_DIR);
  ASSERT_FALSE(sweep);
  EXPECT_THAT(sweep.error().message, HasSubstr("is not a file; give the path of a sweep file"));
}

TEST(SweepFile, WithoutName_IsNamedAfterItsFile) {
  EXPECT_EQ(parse(R"("contenders": ["full/dense"], "sequence_tokens": 64)")->name, "my");
}

TEST(SweepFile, Lengths_AscendWithinEveryCombinationOfTheOtherAxes) {
  const auto sweep = parse(
      R"("contenders": ["full/dense"], "sequence_tokens": [256, 64], "heads": [12, 2],
         "direction": ["forward", "forward-backward"], "batch": {"max": [1, 8]})");
  ASSERT_TRUE(sweep) << sweep.error().message;
  ASSERT_THAT(sweep->heats, SizeIs(16));
  for (std::size_t i = 0; i < sweep->heats.size(); ++i) {
    const HeatPoint& point = sweep->heats[i].point;
    EXPECT_EQ(sweep->heats[i].index, static_cast<int>(i));
    EXPECT_EQ(point.sequence_tokens, i % 2 == 0 ? 64 : 256);
    EXPECT_EQ(point.batch_max, i / 2 % 2 == 0 ? 1 : 8);
    EXPECT_EQ(point.heads, i / 4 % 2 == 0 ? 12 : 2);
    EXPECT_EQ(point.direction, i < 8 ? Direction::forward : Direction::forward_backward);
  }
}

TEST(SweepFile, EveryAxisThatTakesLists_IsOne) {
  for (const Axis& axis : heat_axes) {
    if (!axis.takes_lists || axis.of == Axis::Of::models || axis.key == "operation") continue;
    const bool number = axis.kind == Axis::Kind::number;
    const nlohmann::json values = number ? nlohmann::json{20, 21}
                                  : axis.kind == Axis::Kind::truth
                                      ? nlohmann::json{false, true}
                                      : nlohmann::json{axis.word(0), axis.word(1)};
    nlohmann::json file{{"contenders", {"full/dense"}}, {"sequence_tokens", 64}};
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

TEST(SweepFile, MoreDocumentsThanTokensForThem_AreRefused) {
  EXPECT_THAT(error_with("\"documents\": [1, 100]"), HasSubstr("each of 100 documents"));
  EXPECT_THAT(error_with("\"documents\": 0"), HasSubstr("documents"));
}

TEST(SweepFile, DefaultNames_ArePatternImplementationAndWindow) {
  const auto sweep = parse(
      R"("contenders": ["full/dense", "sparse/segment"], "windows": 4, "sequence_tokens": 64)");
  ASSERT_TRUE(sweep) << sweep.error().message;
  EXPECT_THAT(names(sweep->heats[0]), ElementsAre("full/dense", "sparse/segment, w = 4"));
}

TEST(SweepFile, ContenderWithItsOwnWindow_NeedsNoneOfTheSweep) {
  const auto sweep = parse(
      R"("contenders": ["sparse/segment/4",
                        {"pattern": "sparse", "implementation": "segment", "window": "inf", "name": "Whole"}],
         "sequence_tokens": 64)");
  ASSERT_TRUE(sweep) << sweep.error().message;
  EXPECT_THAT(ids(sweep->heats[0]), ElementsAre("sparse/segment/4", "sparse/segment/inf"));
  EXPECT_EQ(sweep->heats[0].contenders[1].name, "Whole");
}

TEST(SweepFile, WindowZero_IsAllowed) {
  EXPECT_TRUE(parse(R"("contenders": ["sparse/segment"], "windows": [0], "sequence_tokens": 64)"));
}

TEST(SweepFile, PatternFile_IsFoundBesideTheSweepAndKeptInTheContender) {
  const auto folder = std::filesystem::path(testing::TempDir()) / "sweep_with_pattern";
  std::filesystem::create_directories(folder);
  AttentionPattern own = *find_pattern("sparse");
  own.name = "own";
  own.title = "My own";
  std::ofstream(folder / "own.json") << pattern_json(own);
  std::ofstream(folder / "sweep.json")
      << R"({"contenders": ["own.json/segment/4"], "sequence_tokens": 64})";
  const auto sweep = load_sweep((folder / "sweep.json").string());
  std::filesystem::remove_all(folder);
  ASSERT_TRUE(sweep) << sweep.error().message;
  const Contender& contender = sweep->heats[0].contenders[0];
  EXPECT_EQ(contender.id(), "own.json/segment/4");
  EXPECT_EQ(contender.name, "own/segment, w = 4");
  EXPECT_EQ(parse_pattern(contender.pattern_json, "contender").value(), own);
}

TEST(SweepFile, UnknownField_NamesLineAndNearest) {
  EXPECT_THAT(error_with("\"sequense_tokens\": 3"),
              AllOf(HasSubstr("my.json, line 5"), HasSubstr("'sequense_tokens'"),
                    HasSubstr("did you mean 'sequence_tokens'?")));
}

TEST(SweepFile, UnknownNestedField_NamesItsOwnLine) {
  EXPECT_THAT(error_with("\"stop\": {\n  \"max_seconds\": 1,\n  \"max_second\": 2}"),
              AllOf(HasSubstr("line 7"), HasSubstr("'stop.max_second'"),
                    HasSubstr("did you mean 'max_seconds'?")));
  EXPECT_THAT(error_with("\"batch\": {\n  \"maximum\": 1}"),
              AllOf(HasSubstr("line 6"), HasSubstr("'batch.maximum'")));
}

TEST(SweepFile, UnknownContenderField_NamesItsPlace) {
  EXPECT_THAT(error_of("\"sequence_tokens\": 64,\n\"contenders\": [\"full/dense\",\n"
                       "{\"pattern\": \"full\", \"implementation\": \"sdpa\", \"nam\": \"x\"}]"),
              AllOf(HasSubstr("line 4"), HasSubstr("'contenders[1].nam'"),
                    HasSubstr("did you mean 'name'?")));
}

TEST(SweepFile, FieldGivenTwice_IsAnError) {
  EXPECT_THAT(error_with("\"windows\": [8]"), AllOf(HasSubstr("line 5"), HasSubstr("twice")));
}

TEST(SweepFile, BrokenJson_NamesLine) {
  EXPECT_THAT(error_of("\"sequence_tokens\": [64,\n\"contenders\""), HasSubstr("line 4"));
  EXPECT_FALSE(parse_sweep("", "my.json"));
  EXPECT_FALSE(parse_sweep("[]", "my.json"));
  EXPECT_FALSE(parse_sweep("{} {}", "my.json"));
}

TEST(SweepFile, MissingFields_AreNamed) {
  EXPECT_THAT(error_of("\"sequence_tokens\": 64"), HasSubstr("needs the field 'contenders'"));
  EXPECT_THAT(error_of("\"contenders\": [\"full/dense\"]"),
              HasSubstr("needs the field 'sequence_tokens'"));
}

TEST(SweepFile, NegativeWindow_IsRefused) {
  EXPECT_THAT(error_of("\"contenders\": [\"sparse/segment\"],\n\"sequence_tokens\": 64,\n"
                       "\"windows\": [4,\n-1]"),
              AllOf(HasSubstr("line 5"), HasSubstr("'windows[1]'"), HasSubstr("not -1")));
  EXPECT_THAT(error_of("\"contenders\": [\"sparse/segment/-1\"], \"sequence_tokens\": 64"),
              HasSubstr("window '-1'"));
}

TEST(SweepFile, WrongTypes_AreRefused) {
  EXPECT_THAT(error_with("\"heads\": \"twelve\""), HasSubstr("'twelve' is neither a number"));
  EXPECT_THAT(error_with("\"heads\": 1.5"), HasSubstr("not 1.5"));
  EXPECT_THAT(error_with("\"heads\": {}"), HasSubstr("'heads'"));
  EXPECT_THAT(error_with("\"heads\": 0"), HasSubstr("not 0"));
  EXPECT_THAT(error_with("\"heads\": [[2]]"), HasSubstr("'heads[0]'"));
  EXPECT_THAT(error_with("\"dtype\": 32"), HasSubstr("'dtype' must be a string"));
  EXPECT_THAT(error_with("\"shared_query\": 1"), HasSubstr("true or false"));
  EXPECT_THAT(error_with("\"batch\": 16"), HasSubstr("'batch' must be an object"));
  EXPECT_THAT(error_with("\"stop\": [1]"), HasSubstr("'stop' must be an object"));
  EXPECT_THAT(error_with("\"seed\": -1"), HasSubstr("'seed'"));
  EXPECT_THAT(error_with("\"threads\": -1"), HasSubstr("'threads'"));
  EXPECT_THAT(error_with("\"name\": 1"), HasSubstr("'name' must be a string"));
  EXPECT_THAT(error_with("\"name\": \"\""), HasSubstr("'name' must not be empty"));
  EXPECT_THAT(error_of("\"contenders\": \"full/dense\", \"sequence_tokens\": 64"),
              HasSubstr("'contenders' must be a list"));
  EXPECT_THAT(error_of("\"contenders\": [3], \"sequence_tokens\": 64"),
              HasSubstr("'contenders[0]' must be a string"));
}

TEST(SweepFile, UnknownWords_NameTheNearest) {
  EXPECT_THAT(error_with("\"operation\": \"atention\""), HasSubstr("did you mean 'attention'?"));
  EXPECT_THAT(error_with("\"dtype\": \"float23\""), HasSubstr("did you mean 'float32'?"));
  EXPECT_THAT(error_with("\"cache\": \"clod\""), HasSubstr("did you mean 'cold'?"));
  EXPECT_THAT(error_with("\"device\": \"gpu\""), HasSubstr("known: cpu, cuda"));
}

TEST(SweepFile, StopRule_IsKeptInBounds) {
  EXPECT_THAT(error_with("\"stop\": {\"max_seconds\": 0}"), HasSubstr("'stop.max_seconds'"));
  EXPECT_THAT(error_with("\"stop\": {\"relative_interval\": -0.1}"),
              HasSubstr("'stop.relative_interval'"));
  EXPECT_THAT(error_with("\"stop\": {\"min_samples\": 0}"), HasSubstr("'stop.min_samples'"));
  EXPECT_THAT(error_with("\"stop\": {\"placements\": 1000000}"), HasSubstr("'stop.placements'"));
  EXPECT_THAT(error_with("\"stop\": {\"placements\": 2,\n \"processes\": 3}"),
              AllOf(HasSubstr("line 6"), HasSubstr("at most as many \"processes\"")));
}

TEST(SweepFile, EmptyLists_AreRefused) {
  EXPECT_THAT(error_with("\"heads\": []"), HasSubstr("'heads' is an empty list"));
  EXPECT_THAT(error_of("\"contenders\": [], \"sequence_tokens\": 64"),
              HasSubstr("'contenders' is an empty list"));
  EXPECT_THAT(error_of("\"contenders\": [\"full/dense\"], \"sequence_tokens\": []"),
              HasSubstr("'sequence_tokens' is an empty list"));
}

TEST(SweepFile, EmptyRange_NamesLine) {
  EXPECT_THAT(
      error_of("\"contenders\": [\"full/dense\"],\n\"sequence_tokens\": [64,\n\"4096:64:*2\"]"),
      AllOf(HasSubstr("line 4"), HasSubstr("'sequence_tokens[1]'"), HasSubstr("is empty")));
}

TEST(SweepFile, ValuesGivenTwice_AreRefused) {
  EXPECT_THAT(error_with("\"heads\": [2, 4, 2]"), HasSubstr("gives 2 twice"));
  EXPECT_THAT(error_with("\"dtype\": [\"float32\", \"float32\"]"), HasSubstr("twice"));
  EXPECT_THAT(
      error_of("\"contenders\": [\"full/dense\"], \"sequence_tokens\": [64, \"64:128:*2\"]"),
      HasSubstr("gives 64 twice"));
  EXPECT_THAT(error_of("\"contenders\": [\"sparse/segment\"], \"sequence_tokens\": 64,"
                       "\"windows\": [\"inf\", 4, \"inf\"]"),
              HasSubstr("gives inf twice"));
}

TEST(SweepFile, ContenderGivenTwice_IsRefused) {
  EXPECT_THAT(
      error_of("\"contenders\": [\"full/dense\",\n\"full/dense\"], \"sequence_tokens\": 64"),
      AllOf(HasSubstr("line 3"), HasSubstr("'full/dense' again")));
  EXPECT_THAT(error_of("\"contenders\": [\"sparse/segment\", \"sparse/segment/4\"],"
                       "\"windows\": 4, \"sequence_tokens\": 64"),
              HasSubstr("'sparse/segment/4' again"));
}

TEST(SweepFile, DisplayNameGivenTwice_IsRefused) {
  EXPECT_THAT(error_of(
                  R"("contenders": [{"pattern": "full", "implementation": "dense", "name": "A"},
                            {"pattern": "full", "implementation": "sdpa", "name": "A"}],
             "sequence_tokens": 64)"),
              HasSubstr("the same display name 'A' as 'full/dense'"));
}

TEST(SweepFile, MalformedContender_ShowsTheForm) {
  for (const char* text : {"", "dense", "/dense", "full/", "full//dense/", "4", "/4"}) {
    EXPECT_THAT(error_of(fmt::format(R"("contenders": ["{}"], "sequence_tokens": 64)", text)),
                AllOf(HasSubstr("'contenders[0]'"), testing::Not(testing::Eq("no error"))))
        << text;
  }
}

TEST(SweepFile, UnknownPattern_NamesTheNearest) {
  EXPECT_THAT(error_of("\"contenders\": [\n\"spares/segment\"], \"sequence_tokens\": 64"),
              AllOf(HasSubstr("line 3"), HasSubstr("'contenders[0]'"), HasSubstr("sparse")));
}

TEST(SweepFile, WindowedPatternWithoutWindows_IsAnError) {
  EXPECT_THAT(error_of("\"contenders\": [\"sparse/segment\"], \"sequence_tokens\": 64"),
              AllOf(HasSubstr("needs a window"), HasSubstr("\"windows\": [4, 64]")));
}

TEST(SweepFile, WindowOfAPatternWithoutWindows_IsAnError) {
  EXPECT_THAT(error_of("\"contenders\": [\"full/dense/4\"], \"sequence_tokens\": 64"),
              AllOf(HasSubstr("window 4"), HasSubstr("remove it")));
}

TEST(SweepFile, LengthTooSmallForTheQuery_NamesTheLeast) {
  EXPECT_THAT(
      error_of("\"contenders\": [\"full/dense\"],\n\"query_tokens\": 10,\n"
               "\"sequence_tokens\": [64, 12]"),
      AllOf(HasSubstr("line 4"), HasSubstr("sequence_tokens 12"), HasSubstr("at least 13")));
  EXPECT_TRUE(parse(R"("contenders": ["full/dense"], "query_tokens": 10, "sequence_tokens": 13)"));
}

TEST(SweepFile, AbsurdCounts_AreRefusedBeforeTheyAreBuilt) {
  EXPECT_THAT(error_of(R"("contenders": ["full/dense", "full/sdpa"],
                          "sequence_tokens": "13:60000:+1")"),
              HasSubstr("at most 100000 cells"));
  EXPECT_THAT(error_of(R"("contenders": ["full/dense"], "sequence_tokens": "13:90000:+1",
                          "query_tokens": "0:10:+1")"),
              HasSubstr("at most 100000 cells"));
  EXPECT_THAT(error_of(R"("contenders": ["sparse/segment"], "sequence_tokens": 64,
                          "windows": "0:5000:+1")"),
              HasSubstr("at most 1000 contenders"));
}

TEST(SweepFile, StagesAndCandidates_AreAxesOfModels_OfflineHavingNone) {
  const auto sweep = parse(R"("operation": "model", "contenders": ["dual-bert/segment"],
    "sequence_tokens": 64, "stage": ["offline", "online"], "candidates": [1, 10, 100])");
  ASSERT_TRUE(sweep) << sweep.error().message;
  std::vector<std::pair<Stage, std::int64_t>> points;
  for (const Heat& heat : sweep->heats)
    points.emplace_back(heat.point.stage, heat.point.candidates);
  EXPECT_THAT(points, ElementsAre(std::pair(Stage::offline, 0), std::pair(Stage::online, 1),
                                  std::pair(Stage::online, 10), std::pair(Stage::online, 100)));
  EXPECT_THAT(error_with("\"stage\": \"online\""), HasSubstr("is for operation model"));
  EXPECT_THAT(error_of(R"("operation": "model", "contenders": ["dual-bert/segment"],
    "sequence_tokens": 64, "candidates": [0, 10])"),
              HasSubstr("has 0"));
}

TEST(SweepFile, DocumentTokens_SayHowLongModelsSequencesAre) {
  const auto sweep = parse(R"("operation": "model", "contenders": ["dual-bert/segment"],
    "query_tokens": [10, 18],
    "document_tokens": [{"lognormal": [804, 3267], "max": 2000}, 200, "400:800:*2"])");
  ASSERT_TRUE(sweep) << sweep.error().message;
  std::vector<std::pair<std::int64_t, std::string>> points;
  for (const Heat& heat : sweep->heats)
    points.emplace_back(heat.point.sequence_tokens, text_of(heat.point.document_lengths));
  // [CLS], the query with its [SEP], the words and a [SEP].
  const std::string drawn = "lognormal 804/3267 up to 2000";
  EXPECT_THAT(points,
              ElementsAre(std::pair(213, "alike"), std::pair(413, "alike"), std::pair(813, "alike"),
                          std::pair(2013, drawn), std::pair(221, "alike"), std::pair(421, "alike"),
                          std::pair(821, "alike"), std::pair(2021, drawn)));
}

TEST(SweepFile, DocumentTokens_SayHowLongSequencesOfAttentionAre) {
  const auto sweep = parse(R"("contenders": ["full/dense"], "query_tokens": 20,
                              "document_tokens": [512, "100:200:+100"])");
  ASSERT_TRUE(sweep) << sweep.error().message;
  std::vector<std::int64_t> tokens;
  for (const Heat& heat : sweep->heats) tokens.push_back(heat.point.sequence_tokens);
  EXPECT_THAT(tokens, ElementsAre(123, 223, 535));  // [CLS] + 20 + [SEP] + 512 + [SEP]
  const auto several = parse(R"("contenders": ["full/dense"], "query_tokens": 20, "documents": 4,
                                "document_tokens": 100)");
  ASSERT_TRUE(several) << several.error().message;
  EXPECT_EQ(several->heats.front().point.sequence_tokens, 22 + 4 * 101);
}

TEST(SweepFile, DocumentTokens_StandForSequenceTokens_AndAreDrawnOfModelsAlone) {
  const std::string models = R"("operation": "model", "contenders": ["dual-bert/segment"],)";
  EXPECT_THAT(error_of(R"("contenders": ["full/dense"], "document_tokens":
                          {"lognormal": [804, 3267], "max": 2000})"),
              HasSubstr("is a distribution of lengths, which is for operation model"));
  EXPECT_THAT(error_of(models + R"("sequence_tokens": 64, "document_tokens": 200)"),
              AllOf(HasSubstr("'document_tokens'"), HasSubstr("give only one of them")));
  EXPECT_THAT(error_of(models + R"("document_tokens": [200, "100:200:+100"])"),
              HasSubstr("gives 200 twice"));
  EXPECT_THAT(error_of(models + R"("document_tokens": {"lognormal": [804, 200], "max": 2000})"),
              AllOf(HasSubstr("'document_tokens.lognormal'"), HasSubstr("must be above it")));
  EXPECT_THAT(error_of(models + R"("document_tokens": "0:200:+100")"), HasSubstr("has 0"));
  EXPECT_THAT(error_of(models + R"("document_tokens": 5, "query_tokens": 100000000)"),
              HasSubstr("sequences of 100000008 tokens"));
}

TEST(SweepFile, BatchPerContender_IsForModelsAlone) {
  EXPECT_THAT(error_with("\"batch\": {\"per_contender\": true}"),
              AllOf(HasSubstr("'batch.per_contender'"), HasSubstr("operation model")));
}

constexpr std::string_view with_own_pattern = R"("patterns": [{"name": "near",
  "attends": {"cls": {"document": "whole"}, "document": {"document": "window"}}}],
"contenders": ["near/segment", "full/sdpa"], "windows": [4], "sequence_tokens": 64)";

TEST(SweepFile, PatternsOfItsOwn_AreNamedByContendersAndKept) {
  const auto sweep = parse(with_own_pattern);
  ASSERT_TRUE(sweep) << sweep.error().message;
  EXPECT_THAT(ids(sweep->heats.at(0)), ElementsAre("near/segment/4", "full/sdpa"));
  const auto kept = parse_pattern(sweep->heats[0].contenders[0].pattern_json, "kept");
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->rule(TokenGroup::cls, TokenGroup::document).kind, GroupRule::Kind::whole);
  EXPECT_EQ(kept->rule(TokenGroup::query, TokenGroup::query).kind, GroupRule::Kind::none);
}

TEST(SweepFile, MistakesInPatternsOfItsOwn_AreNamedWithTheirLine) {
  EXPECT_THAT(error_with(R"("patterns": {"name": "near"})"), HasSubstr("line 5"));
  EXPECT_THAT(error_with(R"("patterns": [{"name": "near", "atends": {}}])"),
              AllOf(HasSubstr("my.json, line 5"), HasSubstr("patterns[0]"), HasSubstr("attends")));
  EXPECT_THAT(error_with(R"("patterns": [{"name": "sparse", "global": ["cls"]}])"),
              AllOf(HasSubstr("'sparse'"), HasSubstr("built-in"), HasSubstr("another name")));
  EXPECT_THAT(error_with(R"("patterns": [{"name": "a", "global": ["cls"]},
{"name": "a", "global": ["query"]}])"),
              AllOf(HasSubstr("line 6"), HasSubstr("'a'"), HasSubstr("its own name")));
}

}  // namespace
}  // namespace attnscope
