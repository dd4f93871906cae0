// SPDX-License-Identifier: Apache-2.0
//
// Sweeps and whole models measured in a real worker: stored, listed, exported, imported and
// compared; attention on given tensors; costs and estimates.

#include <cmath>
#include <numeric>

#include "engine/safetensors/safetensors.h"
#include "tests/cli/program.h"

namespace attnscope::testing {
namespace {

using ::testing::ContainsRegex;

class MeasuredRun : public ProgramTest {};
class Attend : public ProgramTest {};
class List : public ProgramTest {};
class Costs : public ProgramTest {};
class Estimate : public ProgramTest {};

const char* const small_sweep = R"({
  "name": "small", "operation": "attention",
  "contenders": ["full/dense", "full/sdpa", "sparse/sdpa-mask", "sparse/windowed", "sparse/segment"],
  "windows": [0, 4], "query_tokens": 5, "sequence_tokens": [32, 50], "heads": 2, "head_dim": 16,
  "stop": {"relative_interval": 0.5, "max_seconds": 0.05, "min_samples": 3, "placements": 2, "processes": 1}
})";

const std::string run_of_32_tokens = "run small.json --only sequence_tokens=32 --quiet";

/// Every column of `table --format json`.
const json columns = json::parse(R"([
    "contender", "name", "implementation", "pattern", "window", "sequence_tokens",
    "query_tokens", "document_tokens", "batch", "heads", "head_dim", "dtype",
    "memory_order", "device", "threads", "operation", "direction", "reason", "median_ms",
    "low_ms", "high_ms", "samples", "placements", "ms_per_document", "peak_bytes",
    "peak_bytes_per_document", "relative_error", "useful_flop", "least_bytes", "limit_ms",
    "share_of_limit", "ratio", "ratio_low", "ratio_high", "verdict", "paired"])");

json table_of(const Program& program, const std::string& more = "") {
  return program.json("table last --format json " + more);
}

TEST_F(MeasuredRun, EverySupportedCellIsOkAndHasAllColumns) {
  program.write("small.json", small_sweep);
  ASSERT_THAT(program.run("run small.json"), Succeeds());
  const json rows = table_of(program, "--baseline full/dense");
  EXPECT_EQ(rows.size(), 2U * (2 + 3 * 2));
  for (const json& row : rows) {
    EXPECT_EQ(row.at("status"), "ok") << row.dump();
    for (const json& key : columns) EXPECT_TRUE(row.contains(key.get<std::string>())) << key;
    EXPECT_GT(row.at("median_ms").get<double>(), 0);
    EXPECT_LT(row.at("relative_error").get<double>(), 3e-6);
    EXPECT_TRUE(row.at("paired").get<bool>());
  }
}

TEST_F(MeasuredRun, SelectsByDocumentsOfAnItem) {
  program.write("lists.json", R"({
    "name": "lists", "contenders": ["listwise/segment", "sparse/segment"], "windows": [4],
    "sequence_tokens": 64, "documents": [1, 4], "heads": 2, "head_dim": 16, "batch": {"max": 2},
    "stop": {"max_seconds": 0.05, "min_samples": 3, "placements": 1, "processes": 1}})");
  ASSERT_THAT(program.run("run lists.json --only documents=4 --quiet"), Succeeds());
  const json rows = table_of(program, "--only documents=4");
  ASSERT_EQ(rows.size(), 2U);
  for (const json& row : rows) {
    EXPECT_EQ(row.at("status"), "ok") << row.dump();
    EXPECT_EQ(row.at("documents"), 4);
    EXPECT_EQ(row.at("batch"), 2);
    EXPECT_DOUBLE_EQ(row.at("ms_per_document").get<double>(),
                     row.at("median_ms").get<double>() / 8);
  }
}

TEST_F(MeasuredRun, ExportsImportsComparesAndHasNothingToResume) {
  program.write("small.json", small_sweep);
  ASSERT_THAT(program.run(run_of_32_tokens), Succeeds());
  const json here = table_of(program);
  ASSERT_THAT(program.run("export last -o run.attn"), Succeeds());
  EXPECT_EQ(program.run("export last -o run.attn").exit_code, 3);  // never overwritten
  for (int time = 0; time < 2; ++time) {
    EXPECT_THAT(program.run("import run.attn --db other.db"), Succeeds());
  }
  // The same but for how it is repeated, which names the database it lies in.
  json there = table_of(program, "--db other.db");
  ASSERT_EQ(there.size(), here.size());
  for (std::size_t i = 0; i < here.size(); ++i) {
    EXPECT_EQ(there[i].at("provenance"),
              here[i].at("provenance").get<std::string>() + " --db other.db");
    there[i]["provenance"] = here[i].at("provenance");
  }
  EXPECT_EQ(there, here);
  EXPECT_EQ(program.json("list runs --json --db other.db").size(), 1U);
  EXPECT_THAT(program.run("compare last run.attn:last"), Prints("no difference shown"));
  EXPECT_THAT(program.run("run --resume last --quiet"), FailsWith("nothing is left"));
  EXPECT_EQ(table_of(program), here);
}

TEST_F(MeasuredRun, RefusesAnItemThatExceedsTheMemory) {
  program.write("huge.json", R"({
    "name": "huge", "contenders": ["full/sdpa"], "sequence_tokens": [32, 100000000],
    "heads": 64, "head_dim": 128, "threads": 1,
    "stop": {"max_seconds": 0.05, "min_samples": 3, "placements": 1, "processes": 1}})");
  EXPECT_THAT(program.run("run huge.json --quiet"),
              FailsWith("an item of 100000000 tokens takes at least", "--oversize"));
  EXPECT_THAT(program.run("run huge.json --only sequence_tokens=32 --quiet"), Succeeds());
}

TEST_F(MeasuredRun, ContinuesAfterACellOutOfMemory) {
  program.write("large.json", R"({
    "name": "large", "operation": "attention", "contenders": ["full/dense", "sparse/segment"],
    "windows": [4], "sequence_tokens": [64, 8192], "heads": 12, "head_dim": 32,
    "stop": {"max_seconds": 0.05, "min_samples": 3, "placements": 1, "processes": 1}})");
  ASSERT_THAT(program.run("run large.json --quiet", {"ATTNSCOPE_MEMORY_LIMIT_MB=1500"}),
              Succeeds());
  int oom = 0;
  for (const json& row : table_of(program)) {
    const bool too_large = row.at("sequence_tokens") == 8192 && row.at("implementation") == "dense";
    EXPECT_EQ(row.at("status"), too_large ? "oom" : "ok") << row.dump();
    if (too_large) {
      ++oom;
      EXPECT_THAT(row.at("reason").get<std::string>(), HasSubstr("free"));
      EXPECT_TRUE(row.at("median_ms").is_null());
    }
  }
  EXPECT_EQ(oom, 1);
}

TEST_F(MeasuredRun, RefusesAnUnknownImplementationBeforeMeasuring) {
  std::string text = small_sweep;
  text.replace(text.find("sparse/segment"), 14, "sparse/segmint");
  program.write("small.json", text);
  EXPECT_THAT(program.run("run small.json"), FailsWith("segmint", "segment"));
  EXPECT_EQ(program.run("list runs --json").out, "[]\n");
}

/// q, k, v of `tokens` x 2 x 8 with recognisable values.
void write_tensors(const Program& program, std::int64_t tokens, std::int64_t value_tokens) {
  std::vector<float> q(static_cast<std::size_t>(tokens * 16));
  std::vector<float> v(static_cast<std::size_t>(value_tokens * 16));
  for (std::size_t i = 0; i < q.size(); ++i) q[i] = std::sin(static_cast<float>(i));
  std::iota(v.begin(), v.end(), 0.0F);
  const std::vector<std::int64_t> shape{tokens, 2, 8};
  const std::vector<NamedTensor> tensors = {
      {"q", shape, q}, {"k", shape, q}, {"v", {value_tokens, 2, 8}, v}, {"grad_o", shape, q}};
  const Status written = write_safetensors(program.path("in.safetensors"), tensors);
  ASSERT_TRUE(written) << written.error().message;
}

Outcome attend(const Program& program, const std::string& implementation, const std::string& window,
               const std::string& more = "") {
  return program.run(fmt::format("attend in.safetensors --pattern sparse --window {} --layout "
                                 "layout.json --implementation {} -o out.safetensors ",
                                 window, implementation) +
                     more);
}

TEST_F(Attend, WindowZeroReturnsValuesAndBackwardTheOutputGradient) {
  program.write("layout.json", R"({"items":[{"cls":0,"query":0,"document":6}]})");
  write_tensors(program, 6, 6);
  for (const char* implementation : {"segment", "windowed", "dense", "sdpa-mask"}) {
    const auto computed = [&](const std::vector<std::string>& names) {
      fs::remove(program.path("out.safetensors"));
      EXPECT_THAT(attend(program, implementation, "0", names.size() > 1 ? "--backward" : ""),
                  Succeeds());
      const auto file = SafetensorsFile::open(program.path("out.safetensors"));
      std::vector<std::vector<float>> tensors;
      for (const std::string& name : names) {
        const auto values = file.value().floats(name, std::vector<std::int64_t>{6, 2, 8});
        tensors.emplace_back(values.value().begin(), values.value().end());
      }
      return tensors;
    };
    const std::vector<float> o = computed({"o"})[0];
    for (std::size_t i = 0; i < o.size(); ++i) EXPECT_NEAR(o[i], static_cast<float>(i), 1e-4);
    const auto gradients = computed({"grad_q", "grad_k", "grad_v"});
    for (std::size_t i = 0; i < o.size(); ++i) {
      // Differences of numbers up to 400 that are equal on paper.
      EXPECT_NEAR(gradients[0][i], 0, 1e-3);
      EXPECT_NEAR(gradients[1][i], 0, 1e-3);
      EXPECT_NEAR(gradients[2][i], std::sin(static_cast<float>(i)), 1e-6);
    }
  }
}

TEST_F(Attend, RefusesWrongShapesAndInvalidFiles) {
  program.write("layout.json", R"({"items":[{"cls":1,"query":2,"document":6}]})");
  const auto refused = [&](const auto&... words) {
    EXPECT_THAT(attend(program, "segment", "4"), FailsWith("attnscope: ", words...));
    EXPECT_FALSE(program.has("out.safetensors"));
  };
  refused("in.safetensors");  // not there
  write_tensors(program, 9, 8);
  refused("v", "8", "9");
  write_tensors(program, 7, 7);
  refused("7", "9");  // the layout has nine tokens
  program.write("in.safetensors", std::string(4, '\0'));
  refused("in.safetensors");
  program.write("in.safetensors", std::string("\xff\xff\xff\xff\xff\xff\xff\x7f{}", 10));
  refused("in.safetensors");
}

TEST_F(Attend, SuggestsTheNearestImplementation) {
  program.write("layout.json", R"({"items":[{"cls":1,"query":2,"document":6}]})");
  write_tensors(program, 9, 9);
  EXPECT_THAT(attend(program, "segmint", "4"), FailsWith("segment"));
}

TEST_F(List, ListsImplementationsAndDevicesOfTheWorker) {
  std::vector<std::string> ids;
  for (const json& row : program.json("list implementations --json")) ids.push_back(row.at("id"));
  EXPECT_THAT(ids, ::testing::IsSupersetOf({"dense", "sdpa", "sdpa-mask", "windowed", "segment"}));
  const json devices = program.json("list devices --json");
  ASSERT_GE(devices.size(), 2U);
  EXPECT_EQ(devices[0].at("kind"), "cpu");
  EXPECT_TRUE(devices[0].at("available").get<bool>());
  EXPECT_NE(devices[1].at("available").get<bool>(), !devices[1].value("reason", "").empty());
}

TEST_F(Costs, ReportsUsefulAndExecutedWork) {
  const json costs =
      program.json("costs sparse --window 1 --query 2 --document 5 --heads 3 --head-dim 16 --json");
  EXPECT_EQ(costs.at("tokens"), 8);
  EXPECT_EQ(costs.at("pairs"), 3 * 40);
  EXPECT_EQ(costs.at("useful_flop"), 4.0 * 16 * 3 * 40);
  for (const json& row : costs.at("implementations")) {
    if (row.at("id") != "dense") continue;
    EXPECT_EQ(row.at("executed_flop"), 4.0 * 16 * 3 * 64);
  }
  EXPECT_THAT(program.run("costs full --document 100"), Prints("1.00"));
}

TEST_F(Costs, RefusesWrongUseBeforeStartingAWorker) {
  for (const std::string arguments : {"sparse", "spars --window 4", "full --document -3",
                                      "full --heads 0", "full --layout nowhere.json"})
    EXPECT_THAT(program.run("costs " + arguments), FailsWith("attnscope: "));
  EXPECT_THAT(program.run("check --device tpu"), FailsWith("tpu"));
}

TEST_F(Estimate, EstimatesASweepAndListsUnsupportedCells) {
  const json answer = program.json("estimate quick --no-trial --json");
  EXPECT_EQ(answer.at("largest_tokens"), 4096);
  EXPECT_GT(answer.at("longest_seconds"), 0);
  int requested = 0;
  for (const json& pair : answer.at("pairs")) {
    // Short sequences of bigbird are full attention, which sdpa takes.
    if (pair.at("implementation") != "sdpa" || pair.at("pattern") == "bigbird") continue;
    const bool takes = pair.at("pattern") == "full" || pair.at("pattern") == "chunks";
    EXPECT_EQ(pair.at("reason").get<std::string>().empty(), takes) << pair;
    EXPECT_EQ(pair.value("item_bytes", 0.0) > 0, takes) << pair;
    ++requested;
  }
  EXPECT_GT(requested, 3);
  EXPECT_THAT(program.run("estimate quick --no-trial"), Prints("full/dense"));
  EXPECT_THAT(program.run("estimate nowhere.json"), FailsWith("nowhere.json"));
  program.write("odd.json", R"({"contenders": ["full/spda"], "sequence_tokens": 64})");
  EXPECT_THAT(program.run("estimate odd.json"), FailsWith("did you mean 'sdpa'?"));
}

TEST_F(Estimate, MeasuresTwoLengthsForTheTime) {
  program.write("some.json", R"({"contenders": ["full/sdpa", "sparse/segment"], "windows": [4],
    "sequence_tokens": [16, 32, 64],
    "stop": {"max_seconds": 0.01, "min_samples": 3, "placements": 2, "processes": 1}})");
  const json answer = program.json("estimate some.json --json");
  EXPECT_GT(answer.at("estimated_seconds"), 0);
  EXPECT_EQ(answer.at("trial_tokens"), json({16, 64}));
  EXPECT_THAT(
      program.run("estimate some.json").out,
      ContainsRegex(
          "about [0-9]+ s on this machine in its current state, estimated from trials at 16, 64"));
  EXPECT_FALSE(program.has("attnscope/attnscope.db"));
}

/// Models have implementations and limits of their own, each at the lengths it has in the sweep.
TEST_F(Estimate, EstimatesModelsByTheirFamilies) {
  program.write("words.json", R"({"operation": "model", "document_tokens": [100, 800],
    "contenders": ["knrm/segment", "knrm/kernel-pooling", "tkl/libtorch", "pacrr/libtorch",
                   "tkl+as-published+saturation-log/segment"],
    "skip": ["sequence_tokens=813,model=knrm", "sequence_tokens=113,model=pacrr"]})");
  const Outcome outcome = program.run("estimate words.json --no-trial");
  EXPECT_THAT(outcome, Prints("the family knrm are computed by kernel-pooling, not by",
                              "computed by segment, sdpa, dense, not by 'libtorch'",
                              "has 800 words, and the model accepts 200"));
  EXPECT_THAT(outcome.out, ContainsRegex("knrm/kernel-pooling +[0-9.]+ kB for an item of 113"));
  EXPECT_THAT(outcome.out, ContainsRegex("saturation-log/segment +[0-9.]+ MB for an item of 813"));
}

const char* const small_models = R"({
  "name": "models", "operation": "model", "layers": 1, "heads": 2, "head_dim": 16,
  "contenders": ["full/sdpa", "longformer/longformer-chunks/16", "sparse/segment/4",
                 "sparse-without-kernel/longformer-chunks/4",
                 {"model": "sparse", "implementation": "segment", "window": 4,
                  "cls_only_last_layer": true}],
  "query_tokens": 5, "sequence_tokens": [64, 174], "batch": {"max": 3, "per_contender": true},
  "stop": {"relative_interval": 0.5, "max_seconds": 0.05, "min_samples": 3, "placements": 1, "processes": 1}
})";

class MeasuredModels : public ::testing::Test {
 protected:
  /// Measured once for all tests of this file.
  static void SetUpTestSuite() {
    program_ = new Program;
    program_->write("models.json", small_models);
    ASSERT_THAT(program_->run("run models.json --quiet"), Succeeds());
  }
  static void TearDownTestSuite() {
    delete program_;
    program_ = nullptr;
  }
  static json rows(const std::string& more = "") { return table_of(*program_, more); }

  static Program* program_;
};
Program* MeasuredModels::program_ = nullptr;

TEST_F(MeasuredModels, EveryCellIsOkAndNamesModelAndImplementation) {
  const json all = rows("--baseline full/sdpa");
  ASSERT_EQ(all.size(), 2U * 5);
  for (const json& row : all) {
    EXPECT_EQ(row.at("status"), "ok") << row.dump();
    EXPECT_EQ(row.at("operation"), "model");
    EXPECT_EQ(row.at("layers"), 1);
    EXPECT_EQ(row.at("feed_forward"), 4 * 2 * 16);
    EXPECT_EQ(row.at("memory_order"), "token-major");
    EXPECT_EQ(row.at("batch"), 3);
    EXPECT_GT(row.at("ms_per_document").get<double>(), 0);
    EXPECT_GT(row.at("peak_bytes_per_document").get<double>(), 0);
    EXPECT_TRUE(row.at("ratio").is_number());
  }
  EXPECT_EQ(all[3].at("contender"), "sparse-without-kernel/longformer-chunks/4");
  EXPECT_EQ(all[3].at("model"), "sparse-without-kernel");
  EXPECT_EQ(all[3].at("implementation"), "longformer-chunks");
  EXPECT_EQ(all[4].at("model"), "sparse+cls-only-last-layer");
  EXPECT_EQ(rows("--only model=sparse").size(), 2U);
  EXPECT_EQ(rows("--only model=sparse+cls-only-last-layer,sequence_tokens=64").size(), 1U);
  EXPECT_EQ(program_->json("compare last last --format json").at("cells").size(), 2U * 5);
}

TEST_F(MeasuredModels, PrintsPublishedNumbersNextToMeasuredOnes) {
  const Outcome outcome = program_->run("table last --published ecir24-table3");
  EXPECT_THAT(outcome, Prints("Passages, 174 tokens", "368", "published, not measured here"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("64 tokens")));
  EXPECT_THAT(program_->run("table last --published no-such-table"), FailsWith("ecir24-table3"));
}

TEST_F(MeasuredModels, AnAnswerStatesThatTimesAreOfWholeModels) {
  const Outcome outcome =
      program_->run("answer last --baseline full/sdpa --document-tokens 100 --query-tokens 5");
  EXPECT_THAT(outcome, Prints("whole model", "in addition to the weights"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("tensors themselves")));
}

TEST_F(MeasuredModels, EstimatesModelsByTheirNames) {
  const json pairs = program_->json("estimate models.json --no-trial --json").at("pairs");
  const auto pair_of = [&](const std::string& model, const std::string& implementation) {
    for (const json& pair : pairs) {
      if (pair.at("pattern") == model && pair.at("implementation") == implementation) return pair;
    }
    return json();
  };
  EXPECT_EQ(pair_of("sparse-without-kernel", "longformer-chunks").at("reason"), "");
  EXPECT_GT(pair_of("sparse+cls-only-last-layer", "segment").at("item_bytes").get<double>(), 0);
  EXPECT_NE(pair_of("sparse", "sdpa").at("reason"), "");
}

}  // namespace
}  // namespace attnscope::testing
