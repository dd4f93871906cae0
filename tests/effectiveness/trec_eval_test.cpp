// SPDX-License-Identifier: Apache-2.0
//
// trec_eval's results on 1,000 random rankings (scripts/dev/golden/make_effectiveness.py), equal to
// the last digit.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <optional>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "base/line_file.h"
#include "engine/effectiveness/measures.h"
#include "tests/safetensors/scratch_folder.h"

namespace attnscope::effectiveness {
namespace {

std::vector<std::string> parts_of(const std::string& text, char between) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, between);) parts.push_back(part);
  return parts;
}

/// The fixture as qrels and run files.
struct Golden {
  std::vector<Measure> measures;
  std::vector<std::vector<std::string>> values;  // of each query in the run
  std::vector<std::string> mean, complete;
  TrecRun run;
  Qrels qrels;
};

Golden read_golden(const std::string& name) {
  Golden golden;
  auto file = LineFile::open(ATTNSCOPE_SOURCE_DIR "/tests/effectiveness/golden/" + name).value();
  std::string run, qrels;
  const auto next = [&] {
    const auto line = file.next().value();
    return line ? std::optional(std::string(line->text)) : std::nullopt;
  };
  const std::vector<std::string> head = parts_of(next().value(), '\t');
  for (std::size_t i = 1; i < head.size(); ++i) {
    const auto measure = parse_measure(head[i]);
    EXPECT_TRUE(measure) << head[i];
    golden.measures.push_back(measure.value());
  }
  int query = -1;
  while (const auto line = next()) {
    ++query;
    std::vector<std::string> fields = parts_of(*line, '\t');
    const std::vector<std::string> documents = parts_of(fields.front(), ' ');
    fields.erase(fields.begin());
    if (documents.front() == "mean" || documents.front() == "complete") {
      (documents.front() == "mean" ? golden.mean : golden.complete) = fields;
      continue;
    }
    for (const std::string& text : documents) {
      const std::size_t first = text.find(':'), second = text.find(':', first + 1);
      const std::string id = text.substr(0, first), level = text.substr(second + 1);
      const std::string score = text.substr(first + 1, second - first - 1);
      if (!score.empty()) run += fmt::format("q{:04} Q0 {} 0 {} drawn\n", query, id, score);
      if (!level.empty()) qrels += fmt::format("q{:04}\t0\t{}\t{}\n", query, id, level);
    }
    if (fields.front() != "missing") golden.values.push_back(fields);
  }
  const tests::ScratchFolder folder;
  tests::write_bytes(folder / "run.trec", run);
  tests::write_bytes(folder / "qrels.txt", qrels);
  auto read_run = TrecRun::read(folder / "run.trec");
  auto read_qrels = Qrels::read(folder / "qrels.txt");
  EXPECT_TRUE(read_run) << read_run.error().message;
  EXPECT_TRUE(read_qrels) << read_qrels.error().message;
  golden.run = std::move(read_run.value());
  golden.qrels = std::move(read_qrels.value());
  return golden;
}

/// The clicks are grades as large as they get.
TEST(TrecEval, EveryMeasureAndMeanIsTheSameToTheLastDigit) {
  for (const auto& [name, measures, queries] :
       {std::tuple("runs.tsv.gz", 29U, 950U), {"clicks.tsv", 28U, 180U}}) {
    SCOPED_TRACE(name);
    const Golden golden = read_golden(name);
    ASSERT_EQ(golden.measures.size(), measures);
    ASSERT_GT(golden.values.size(), queries);
    const Evaluation some = evaluate(golden.run, golden.qrels, golden.measures, {});
    ASSERT_EQ(some.queries.size(), golden.values.size());
    std::size_t at = 0;
    for (const auto& [query, values] : some.queries) {
      const std::vector<std::string>& expected = golden.values[at++];
      ASSERT_EQ(expected.size(), values.size());
      for (std::size_t i = 0; i < values.size(); ++i) {
        EXPECT_EQ(values[i], std::stod(expected[i])) << query << " " << golden.measures[i].name();
      }
    }
    const Evaluation all = evaluate(golden.run, golden.qrels, golden.measures, {.complete = true});
    EXPECT_GT(all.queries.size(), some.queries.size());
    for (std::size_t i = 0; i < golden.measures.size(); ++i) {
      EXPECT_EQ(some.mean(i), std::stod(golden.mean[i])) << golden.measures[i].name();
      EXPECT_EQ(all.mean(i), std::stod(golden.complete[i])) << golden.measures[i].name();
    }
  }
}

TEST(TrecEval, JudgedOnlyForAll_IsJudgedOnlyOfEach) {
  const Golden golden = read_golden("runs.tsv.gz");
  const auto with = [&](const char* names, bool judged_only) {
    return evaluate(golden.run, golden.qrels, parse_measures(names).value(),
                    {.judged_only = judged_only})
        .queries;
  };
  EXPECT_EQ(with("nDCG@5,Judged@5", true), with("nDCG(judged_only=True)@5,Judged@5", false));
  EXPECT_NE(with("nDCG@5,Judged@5", true), with("nDCG@5,Judged@5", false));
}

}  // namespace
}  // namespace attnscope::effectiveness
