// SPDX-License-Identifier: Apache-2.0
//
// `evaluate` on small runs; a sweep whose contenders name TREC runs, with a measuring process that
// needs no LibTorch.

#include "tests/base/packed.h"
#include "tests/cli/program.h"

namespace attnscope::testing {
namespace {

class Evaluate : public ProgramTest {
 protected:
  Evaluate() {
    program.write("qrels.txt", "1 0 a 2\n1 0 b 0\n2 0 a 1\n3 0 c 1\n");
    program.write("full.trec",
                  "1 Q0 a 1 2 t\n1 Q0 b 2 1 t\n2 Q0 b 1 2 t\n2 Q0 a 2 1 t\n3 Q0 c 1 1 t\n");
    program.write("sparse.trec", "1 Q0 b 1 2 t\n1 Q0 a 2 1 t\n2 Q0 b 1 2 t\n2 Q0 a 2 1 t\n");
  }
  [[nodiscard]] Outcome evaluate(const std::string& more) const {
    return program.run("evaluate --qrels qrels.txt " + more);
  }
};

TEST_F(Evaluate, PrintsTheMeansOfTrecEvalAndMissingQueries) {
  const Outcome outcome = evaluate("sparse.trec --measures RR@10,nDCG@10 --format json");
  EXPECT_THAT(outcome, Notes("note: sparse.trec: lacks 1 of the 3 judged queries"));
  const json rows = json::parse(outcome.out);
  EXPECT_EQ(rows[0]["mean"], 0.5);
  EXPECT_EQ(rows[0]["queries"], 2);
  const json complete = json::parse(evaluate("-c sparse.trec --measures RR@10 --format json").out);
  EXPECT_EQ(complete[0]["mean"], 1.0 / 3);
}

TEST_F(Evaluate, ReadsCompressedRunsAndJudgements) {
  for (const std::string name : {"qrels.txt", "full.trec", "sparse.trec"})
    program.write(name + ".gz", tests::packed(program.read(name)));
  EXPECT_EQ(program.json("evaluate --format json --baseline full.trec.gz sparse.trec.gz "
                         "--qrels qrels.txt.gz"),
            program.json("evaluate --format json --baseline full.trec sparse.trec "
                         "--qrels qrels.txt"));
}

TEST_F(Evaluate, ABaselineThatIsNotAmongTheRunsComesFirst) {
  const Outcome outcome =
      evaluate("sparse.trec --baseline full.trec -c --margin 0.5 --correction bonferroni");
  EXPECT_THAT(outcome, Prints("within ± 0.5", "by Bonferroni"));
  EXPECT_LT(outcome.out.find("full"), outcome.out.find("sparse"));
  const Outcome same = evaluate("sparse.trec full.trec --baseline ./full.trec");
  EXPECT_THAT(same, Succeeds());
  EXPECT_LT(same.out.find("sparse  "), same.out.find("full  "));
  EXPECT_EQ(evaluate("sparse.trec full.trec --baseline full").out, same.out)
      << "the name in the table";
  EXPECT_THAT(evaluate("sparse.trec full.trec --baseline none"), Not(Succeeds()));
}

TEST_F(Evaluate, PrintsValuesPerQueryAndDifferences) {
  EXPECT_THAT(evaluate("full.trec --per-query --measures RR@10 --format csv").out,
              HasSubstr("measure,query,full\r\nRR@10,1,1\r\nRR@10,2,0.5\r\nRR@10,3,1\r\n"));
  EXPECT_THAT(evaluate("sparse.trec --differences --baseline full.trec"), Prints("a 1>2"));
}

TEST_F(Evaluate, RefusesInvalidFilesAndOptions) {
  program.write("nan.trec", "1 Q0 a 1 nan t\n");
  const std::string packed = tests::packed("1 Q0 a 1 2 t\n2 Q0 a 1 2 t\n");
  program.write("cut.trec.gz", packed.substr(0, packed.size() - 4));
  for (const auto& [arguments, words] :
       {std::pair{"nan.trec", "nan.trec, line 1 has NaN"},
        {"cut.trec.gz", "cut.trec.gz: its gzip data are truncated"},
        {"full.trec sparse.trec full.trec", "the run 'full.trec' is given twice"},
        {"full.trec ./full.trec", "given twice, also as './full.trec'"},
        {"gone.trec", "gone.trec: cannot be opened"},
        {"full.trec --measures nDGC", "'nDGC' is not a measure"},
        {"full.trec --correction holm", "known: none, bonferroni"},
        {"full.trec --baseline full.trec", "the only run"},
        {"full.trec --differences", "--baseline RUN"},
        {"full.trec --format pdf", "pdf"}})
    EXPECT_THAT(evaluate(arguments), Refuses(words));
}

class SweepEffectiveness : public ProgramTest {
 protected:
  SweepEffectiveness() {
    std::string qrels, full, sparse;
    for (int query = 0; query < 20; ++query) {
      qrels += fmt::format("{} 0 a 1\n", query);
      full += fmt::format("{0} Q0 a 1 2 t\n{0} Q0 b 2 1 t\n", query);
      sparse += fmt::format("{0} Q0 b 1 {1} t\n{0} Q0 a 2 {2} t\n", query, query == 3 ? 2 : 0, 1);
    }
    program.write("qrels.txt", qrels);
    program.write("full.trec", full);
    program.write("sparse-4.trec", sparse);
    program.write("sweep.json", R"({"name": "worth",
        "contenders": [{"pattern": "full", "implementation": "dense", "run": "full.trec"},
                       {"pattern": "sparse", "implementation": "segment", "run": "sparse-{window}.trec"}],
        "qrels": "qrels.txt", "effectiveness": {"margin": 0.1},
        "windows": [4], "sequence_tokens": 64, "threads": 1,
        "stop": {"min_samples": 3, "placements": 2, "processes": 1}})");
  }
  [[nodiscard]] Outcome run(const std::string& arguments) const {
    return program.run(arguments, {"ATTNSCOPE_WORKER=" FAKE_WORKER_PROGRAM});
  }
  [[nodiscard]] json answered() const {
    return program.json("answer last --sequence-tokens 64 --json").at(0);
  }
};

TEST_F(SweepEffectiveness, AnswersWithoutTheOriginalFiles) {
  ASSERT_THAT(run("run sweep.json --quiet"), Succeeds());
  for (const char* file : {"qrels.txt", "full.trec", "sparse-4.trec"})
    fs::remove(program.path(file));
  const auto check = [&] {
    const json answer = answered();
    for (const json& contender : answer.at("contenders")) {
      const json& measured = contender.at("measured");
      EXPECT_EQ(measured.at("queries"), 20);
      EXPECT_EQ(measured.at("margin"), 0.1);
      if (contender.at("contender") == "full/dense") {
        EXPECT_EQ(measured.at("mean"), 1);
      } else {
        EXPECT_NEAR(measured.at("mean").get<double>(), (19 + 0.63093) / 20, 1e-4);
        EXPECT_EQ(measured.at("equivalent"), true);
      }
    }
  };
  check();
  ASSERT_THAT(run("run --again last --quiet"), Succeeds());
  check();
  ASSERT_THAT(run("export last -o out.attn"), Succeeds());
  EXPECT_THAT(run("answer out.attn:last --sequence-tokens 64"),
              Prints("equivalent", "measured here"));
  EXPECT_THAT(run("show last"), Prints("nDCG@10 of 2 TREC runs, by "));
  EXPECT_THAT(run("table last --cells time,effectiveness"), Prints("nDCG@10 1.0"));
}

TEST_F(SweepEffectiveness, ReadsCompressedRuns) {
  ASSERT_THAT(run("run sweep.json --quiet"), Succeeds());
  const json plain = answered();
  std::string sweep = program.read("sweep.json");
  for (const std::string name : {"full.trec", "sparse-4.trec"}) {
    program.write(name + ".gz", tests::packed(program.read(name)));
    fs::remove(program.path(name));
  }
  for (std::size_t at = 0; (at = sweep.find(".trec\"", at)) != std::string::npos; ++at)
    sweep.insert(at + 5, ".gz");
  program.write("sweep.json", sweep);
  ASSERT_THAT(run("run sweep.json --quiet"), Succeeds());
  const json answer = answered();
  ASSERT_EQ(answer.at("contenders").size(), 2U);
  for (std::size_t i = 0; i < 2; ++i)
    EXPECT_EQ(answer["contenders"][i]["measured"]["mean"],
              plain["contenders"][i]["measured"]["mean"]);
}

TEST_F(SweepEffectiveness, RefusesInvalidFilesBeforeMeasuring) {
  program.write("sparse-4.trec", "0 Q0 a 1 2 t\n1 Q0 a 1 nan t\n");
  EXPECT_THAT(run("run sweep.json --quiet"), FailsWith("sparse-4.trec, line 2", "NaN"));
  fs::remove(program.path("qrels.txt"));
  EXPECT_THAT(run("run sweep.json --quiet"),
              FailsWith("sweep.json, line 4: 'qrels'", "does not exist"));
  EXPECT_EQ(run("list runs --json").out, "[]\n");
}

}  // namespace
}  // namespace attnscope::testing
