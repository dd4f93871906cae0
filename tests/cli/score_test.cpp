// SPDX-License-Identifier: Apache-2.0
//
// `score`, `profile` and `latency` on a small checkpoint with random weights.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "engine/worker/turn.h"
#include "tests/base/packed.h"
#include "tests/checkpoint/tiny_checkpoint.h"
#include "tests/cli/program.h"

namespace attnscope::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using tests::TinyCheckpoint;

/// A folder with a checkpoint, and pairs of six queries in no order.
class Score : public ::testing::Test {
 protected:
  Score() {
    TinyCheckpoint::bert().write(program_.path(""));
    program_.write("vocab.txt", letters);
    std::string tsv;
    for (int i = 0; i < 60; ++i) {
      const char query = static_cast<char>('a' + i * 7 % 6);
      tsv += fmt::format("q{}\td{}\t{} b\t", query, i, query);
      for (int token = 0; token <= i % 13; ++token) {
        tsv += fmt::format("{} ", static_cast<char>('a' + (i + token * token) % 16));
      }
      tsv += "\n";
    }
    program_.write("pairs.tsv", tsv);
  }

  [[nodiscard]] Outcome score(const std::vector<std::string>& more,
                              const std::string& pairs = "pairs.tsv") const {
    return program_.run(joined({"score", "--checkpoint", ".", "--pairs", pairs}, more));
  }
  [[nodiscard]] std::vector<double> scores(const std::vector<std::string>& more) const {
    const Outcome outcome = score(more);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return scores_in(outcome.out);
  }

  Program program_;
};

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  EXPECT_EQ(a.size(), b.size());
  double largest = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    largest = std::fmax(largest, std::fabs(a[i] - b[i]));
  }
  return largest;
}

TEST_F(Score, ScoresAreInInputOrderForAnyBatchSize) {
  const auto all = scores({});
  ASSERT_EQ(all.size(), 60U);
  EXPECT_LT(largest_difference(all, scores({"--batch-pairs", "1", "--read-ahead", "7"})), 1e-5);
  EXPECT_GT(std::fabs(all[0] - all[1]), 1e-3);
}

TEST_F(Score, SharedQueriesScoreAsSinglePairs) {
  const auto sparse = [&](std::vector<std::string> more) {
    more.insert(more.end(), {"--pattern", "sparse", "--window", "1"});
    return scores(more);
  };
  const auto all = sparse({});
  EXPECT_LT(largest_difference(all, sparse({"--batch-pairs", "1", "--read-ahead", "1"})), 1e-5);
  EXPECT_LT(largest_difference(all, sparse({"--implementation", "dense"})), 1e-5);
  EXPECT_EQ(all, sparse({"--cls-only-last-layer"}));
  EXPECT_LT(largest_difference(all, sparse({"--whole-last-layer"})), 1e-5);
  EXPECT_GT(largest_difference(all, scores({})), 1e-3);
}

TEST_F(Score, ReducedPrecisionScoresSimilarlyAndReportsItsCost) {
  const auto exact = scores({});
  for (const std::string precision : {"bfloat16", "int8"}) {
    const double apart = largest_difference(exact, scores({"--precision", precision}));
    EXPECT_GT(apart, 1e-6) << precision << ": is this float32?";
    EXPECT_LT(apart, 0.1) << precision;
    EXPECT_THAT(
        score({"--precision", precision}).err,
        HasSubstr(precision + " compared with float32 on 60 pairs: rankings of 6 queries agree"));
  }
  EXPECT_THAT(score({"--precision", "int8", "--precision-sample", "7"}).err,
              HasSubstr("int8 compared with float32 on 7 pairs"));
  EXPECT_EQ(score({"--precision", "int8", "--precision-sample", "0"}).err, "");
  program_.write("qrels.txt", "qa 0 d0 1\nqb 0 d1 1\nqc 0 d2 1\n");
  EXPECT_THAT(score({"--precision", "int8", "--qrels", program_.path("qrels.txt")}).err,
              HasSubstr("nDCG@10 of 3 judged queries: "));
}

TEST_F(Score, CountsEqualScores) {
  std::map<std::string, std::vector<double>> queries;
  const Outcome narrow = score({"--dtype", "bfloat16"});
  std::istringstream lines(narrow.out);
  for (std::string line; std::getline(lines, line);)
    queries[line.substr(0, 2)].push_back(std::stod(line.substr(line.rfind('\t') + 1)));
  int ties = 0, tied_queries = 0;
  for (const auto& [query, scores] : queries) {
    int own = 0;
    for (std::size_t i = 0; i < scores.size(); ++i)
      own += static_cast<int>(std::count(scores.begin(), scores.begin() + i, scores[i]));
    ties += own;
    tied_queries += own > 0 ? 1 : 0;
  }
  ASSERT_GT(ties, 1);
  EXPECT_THAT(narrow.err,
              AllOf(HasSubstr(fmt::format("{} pairs of documents share a score, in {} of 6 queries",
                                          ties, tied_queries)),
                    HasSubstr("bfloat16 has few digits"), HasSubstr("--dtype float32 has more")));
  EXPECT_EQ(score({}).err, "");
}

TEST_F(Score, RefusesUnsupportedPrecisions) {
  EXPECT_THAT(score({"--precision", "int4"}), Refuses("unknown precision 'int4'"));
  EXPECT_THAT(score({"--precision", "int8", "--dtype", "bfloat16"}),
              Refuses("products of int8 need a model whose other operations are in float32"));
  EXPECT_THAT(score({"--precision", "int8", "--device", "cuda"}),
              Refuses("products of int8 are supported only on the CPU"));
  EXPECT_THAT(score({"--qrels", "qrels.txt"}),
              Refuses("--qrels reports what a --precision other than float32 changes"));
  EXPECT_THAT(score({"--precision", "int8", "--qrels", "absent.txt"}), Refuses("absent.txt"));
}

TEST_F(Score, CountsTruncatedDocuments) {
  EXPECT_THAT(score({"--max-tokens", "8"}),
              Notes("note: 45 of 60 documents were truncated; a pair has at most 8 tokens"));
  EXPECT_EQ(score({}).err, "") << "nothing is cut";
}

TEST_F(Score, ReportsUnusedTensors) {
  const Outcome without = score({});
  TinyCheckpoint more = TinyCheckpoint::bert();
  more.tensors["unused"] = {{3}, "U16"};
  more.write(program_.path(""));
  const Outcome with = score({});
  EXPECT_EQ(with.exit_code, 0) << with.err;
  EXPECT_EQ(with.out, without.out);
  EXPECT_THAT(with.err, HasSubstr("note: the model does not use 1 tensor of its files: 'unused'"));
}

TEST_F(Score, RefusesToExtendMissingPositions) {
  for (const char* file : {"config.json", "model.safetensors", "tokens.txt"}) {
    std::filesystem::copy_file(
        std::filesystem::path(ATTNSCOPE_SOURCE_DIR) / "tests/golden/models/tkl" / file,
        program_.path(file), std::filesystem::copy_options::overwrite_existing);
  }
  EXPECT_THAT(score({"--extend-positions", "8000"}), FailsWith("has no positions to extend"));
}

TEST_F(Score, NotesAMissingLastLineEndAndRefusesEmptyInput) {
  program_.write("pairs.tsv", "a\tb\nc\td");
  EXPECT_THAT(score({}), Notes("pairs.tsv: its last line has no line end"));
  EXPECT_THAT(score({"--pairs-format", "tsv"}, "-"), FailsWith("standard input: has no pairs"));
}

TEST_F(Score, ReadsAndWritesJsonLines) {
  program_.write("pairs.jsonl", "{\"query\": \"a b\", \"text\": \"c d\", \"docno\": \"x\"}\n");
  EXPECT_THAT(score({"--format", "jsonl"}, "pairs.jsonl"), Prints("{\"docno\":\"x\",\"score\":"));
}

TEST_F(Score, ReportsAnInvalidLineAndWritesTheScoresBeforeIt) {
  program_.write("pairs.tsv", "a\tb\nc\td\nalone\ne\tf\n");
  const Outcome outcome = score({});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("pairs.tsv, line 3: has 1 columns"));
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 2);
}

TEST_F(Score, CountsTruncatedQueries) {
  program_.write("pairs.tsv", "a\tb\na a a a a a\tb\n");
  EXPECT_THAT(score({"--max-tokens", "8"}),
              Notes("1 of 2 queries was truncated; a pair has at most 8 tokens"));
  EXPECT_THAT(score({"--max-tokens", "3"}),
              FailsWith("line 1: a limit of 3 tokens leaves none for a pair"));
}

TEST_F(Score, ScoresAndNotesAnEmptyQuery) {
  program_.write("pairs.tsv", "\tb c\na\tb c\n");
  const Outcome outcome = score({});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 2);
  EXPECT_THAT(outcome.err, HasSubstr("note: pairs.tsv: 1 record has an empty query"));
}

TEST_F(Score, RefusesToRankTwoQueriesWithOneId) {
  program_.write("pairs.tsv", "1\tx\ta\tb c\n1\ty\tb\tc d\n");
  EXPECT_EQ(score({}).exit_code, 0);
  for (const std::vector<std::string>& ranked :
       {std::vector<std::string>{"--format", "trec"}, std::vector<std::string>{"--top", "1"}}) {
    EXPECT_THAT(score(ranked),
                FailsWith("pairs.tsv, line 2: query '1' has a different text in earlier lines"));
  }
}

TEST_F(Score, ReportsAFullStandardOutput) {
  for (const char* more : {"", " --explain", " --explain --format jsonl"}) {
    const std::string command = fmt::format(
        "ATTNSCOPE_WORKER='{}' '{}' score --checkpoint '{}' --pairs '{}'{} >/dev/full "
        "2>'{}'",
        ATTNSCOPE_WORKER_PROGRAM, ATTNSCOPE_PROGRAM, program_.path("").string(),
        program_.path("pairs.tsv").string(), more, program_.path("err").string());
    const int status = std::system(command.c_str());
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 2) << more;
    EXPECT_THAT(program_.read("err"),
                HasSubstr(more[0] == '\0' ? "(0 scores before it are written)"
                                          : "could not write to standard output"))
        << more;
  }
}

TEST_F(Score, WritesARankedTrecRun) {
  EXPECT_THAT(score({"--format", "trec", "--tag", "a\nq1 Q0 d9 1 99 other"}),
              FailsWith("--tag 'a?q1 Q0 d9 1 99 other' has a blank"));
  program_.write("pairs.tsv", "1\tx\ta\tb c\n1\ty\ta\tc d\n2\tx\tb\tc\n");
  const Outcome outcome = score({"--format", "trec", "--tag", "mine"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("1 Q0 "));
  EXPECT_THAT(outcome.out, HasSubstr("2 Q0 x 1 "));
  EXPECT_THAT(outcome.out, HasSubstr(" mine\n"));
}

TEST_F(Score, WritesScoresToAFile) {
  const Outcome outcome = score({"-o", "out.tsv"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(program_.read("out.tsv"), HasSubstr("qa\td0\t"));
  EXPECT_EQ(score({"-o", "-"}).out, program_.read("out.tsv"));
  EXPECT_EQ(score({"-o", "/dev/null"}).exit_code, 0);
  EXPECT_THAT(score({"-o", "/dev/full"}),
              FailsWith("/dev/full: cannot be written: No space left on device"));
}

TEST_F(Score, NeverReplacesInputFilesByAnyName) {
  program_.write("qrels.txt", "qa 0 d0 1\n");
  program_.write("prog.py", "print('nothing')\n");
  std::filesystem::create_hard_link(program_.path("qrels.txt"), program_.path("hard"));
  std::filesystem::create_directory(program_.path("links"));
  std::filesystem::create_directory_symlink(program_.path(""), program_.path("links/here"));
  for (const auto& [option, value, out] :
       std::vector<std::tuple<std::string, std::string, std::string>>{
           {"--qrels", "qrels.txt", "qrels.txt"},
           {"--qrels", "qrels.txt", "hard"},
           {"--qrels", "qrels.txt", "links/here/qrels.txt"},
           {"--with", "prog.py", "prog.py"},
           {"--with", "python3 'prog.py' --quiet", "./prog.py"},
           {"--worker", "sh prog.py", "prog.py"},
           {"--threads", "1", "model.safetensors"},
           {"--threads", "1", "vocab.txt"},
           {"--threads", "1", "./pairs.tsv"}}) {
    const std::string before = program_.read(out);
    const Outcome outcome = score({"--precision", "int8", option, value, "-o", out});
    EXPECT_EQ(outcome.exit_code, 2) << option << " " << out;
    EXPECT_THAT(outcome.err,
                HasSubstr(out + ": is an input of this command and would be overwritten"))
        << option;
    EXPECT_EQ(program_.read(out), before) << option << " " << out;
  }
  const auto redirected = [&](const std::string& arguments) {
    const std::string pairs = program_.read("pairs.tsv");
    const std::string command =
        fmt::format("cd '{}' && '{}' score --checkpoint . {} 2>stderr", program_.path("").string(),
                    ATTNSCOPE_PROGRAM, arguments);
    EXPECT_NE(std::system(command.c_str()), 0) << arguments;
    EXPECT_EQ(program_.read("pairs.tsv"), pairs) << arguments;
    return program_.read("stderr");
  };
  EXPECT_THAT(redirected("--pairs - -o pairs.tsv <pairs.tsv"),
              HasSubstr("pairs.tsv: is an input of this command"));
  EXPECT_THAT(redirected("--pairs pairs.tsv >>pairs.tsv"), HasSubstr("standard output writes"));
}

TEST_F(Score, AnErrorKeepsTheOldOutput) {
  const std::string packed = tests::packed(program_.read("pairs.tsv"));
  program_.write("cut.tsv.gz", packed.substr(0, packed.size() / 2));
  for (const std::string out : {"old.gz", "old.tsv"}) {
    program_.write(out, "old");
    EXPECT_THAT(score({"-o", out}, "cut.tsv.gz"), FailsWith("(" + out + " is unchanged)"));
    EXPECT_EQ(program_.read(out), "old");
  }
  ASSERT_EQ(score({"-o", "NEW.GZ"}).exit_code, 0);
  EXPECT_THAT(tests::unpacked(program_.path("NEW.GZ")), HasSubstr("qa\td0\t"));
}

TEST_F(Score, ReportsAPairWithoutAScore) {
  // So large that the token's states are no numbers.
  for (const std::size_t value : {0U, 1U}) {
    tests::set_value(program_.path("model.safetensors"), "bert.embeddings.word_embeddings.weight",
                     19 * 8 + value, 3e38F);
  }
  program_.write("pairs.tsv", "1\tx\ta\tb c\n1\ty\ta\tp\n2\tx\tb\tc d e\n");
  for (const char* together : {"1", "64"}) {
    const Outcome outcome = score({"--batch-pairs", together});
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 1) << outcome.out;
    EXPECT_THAT(outcome.err,
                HasSubstr("pairs.tsv, line 2: the score of query '1' and document 'y' is NaN; are "
                          "the checkpoint's weights damaged? (1 scores before it are written)"));
  }
}

TEST_F(Score, RefusesWeightsThatAreNotFinite) {
  for (const float value : {std::numeric_limits<float>::infinity(), std::nanf("")}) {
    TinyCheckpoint::bert().write(program_.path(""));
    // A row that no pair looks at.
    tests::set_value(program_.path("model.safetensors"), "bert.embeddings.word_embeddings.weight",
                     8, value);
    EXPECT_THAT(score({}),
                Refuses("the tensor 'embeddings.word_embeddings.weight' of the checkpoint has "
                        "values that are infinite or NaN; the weights are damaged"));
  }
}

TEST_F(Score, RefusesAnEncoderWithoutAHead) {
  TinyCheckpoint tiny = TinyCheckpoint::bert();
  tiny.config["architectures"] = R"(["BertModel"])";
  tiny.tensors.erase("classifier.weight");
  tiny.tensors.erase("classifier.bias");
  tiny.write(program_.path(""));
  EXPECT_THAT(score({}), FailsWith("without a classification head"));
}

TEST_F(Score, ReportsWhyAnImplementationRefusesThePattern) {
  EXPECT_THAT(score({"--pattern", "sparse", "--window", "4", "--implementation", "sdpa"}),
              FailsWith("sdpa supports only full attention"));
}

TEST_F(Score, ProfileReportsTheTimeOfEachPart) {
  const std::vector<std::string> requested{"profile",   "--checkpoint", ".", "--pairs",
                                           "pairs.tsv", "--rounds",     "2"};
  const Outcome numbers = program_.run(joined(requested, {"--format", "json"}));
  ASSERT_EQ(numbers.exit_code, 0) << numbers.err;
  const auto rows = nlohmann::json::parse(numbers.out);
  double sum = 0;
  for (const auto& row : rows) {
    if (row.at("part") != "whole") sum += row.at("share").get<double>();
    if (row.at("part") == "feed-forward") {
      EXPECT_GT(row.at("of_ceiling"), 0);
    }
  }
  // Medians of each part, over rounds that differ: near the whole, if not equal to it.
  EXPECT_GT(sum, 0.5);
  EXPECT_THAT(program_.run(requested).out,
              AllOf(HasSubstr("60 pairs, "), HasSubstr("Medians of 2 passes")));

  EXPECT_THAT(program_.run(joined(requested, {"--device", "cuda"})),
              FailsWith("profile measures on the CPU"));
#ifndef ATTNSCOPE_HAS_GUI
  EXPECT_THAT(program_.run(joined(requested, {"-o", "parts.pdf"})),
              FailsWith("has no Qt and cannot draw"));
#endif
  EXPECT_THAT(program_.run(joined(requested, {"--max-pairs", "0"})),
              FailsWith("must be greater than 0"));
  program_.write("none.tsv", "");
  EXPECT_THAT(program_.run({"profile", "--checkpoint", ".", "--pairs", "none.tsv"}).err,
              HasSubstr("none.tsv: has no pairs"));
}

TEST_F(Score, FindsAHubNameInTheCacheAndNotesItsRevision) {
  const std::string hash(40, 'c');
  const std::string inside = "cache/models--org--mini/";
  std::filesystem::create_directories(program_.path(inside + "refs"));
  std::filesystem::create_directories(program_.path(inside + "snapshots/" + hash));
  program_.write(inside + "refs/main", hash);
  for (const char* file : {"config.json", "model.safetensors", "vocab.txt"}) {
    std::filesystem::create_symlink(program_.path(file),
                                    program_.path(inside + "snapshots/" + hash + "/" + file));
  }
  program_.write("one.tsv", "q1\td1\ta b\tc d\n");
  const auto scored = [&](const std::string& checkpoint) {
    return program_.run(
        {"score", "--checkpoint", checkpoint, "--pairs", "one.tsv", "--format", "trec"},
        {"HF_HUB_CACHE=" + program_.path("cache").string()});
  };
  const Outcome found = scored("org/mini");
  ASSERT_EQ(found.exit_code, 0) << found.err;
  EXPECT_THAT(found.err, HasSubstr("note: org/mini is revision " + hash));
  EXPECT_THAT(found.out, HasSubstr(" org/mini\n"));
  EXPECT_THAT(scored("org/other"), FailsWith("fetch it: hf download org/other"));
}

// Both time, and so take turns with whatever measures on the machine; `score` does not.
TEST_F(Score, LatencyAndProfileWaitForOtherMeasurements) {
  auto other = Turn::line_up(locks_folder(), "cpu", {.what = "run 'other'", .process = 7});
  ASSERT_TRUE(other) << other.error().message;
  ASSERT_TRUE(other->has_come().value());
  const std::string disturbed = "another measurement ran at the same time: run 'other' (process 7 ";
  EXPECT_THAT(program_.run({"latency", "--checkpoint", ".", "--pairs", "pairs.tsv", "--top-k", "2",
                            "--within", "1e9", "--queries", "2", "--now"}),
              Prints(disturbed));
  const std::vector<std::string> profile{
      "profile", "--checkpoint", ".", "--pairs", "pairs.tsv", "--rounds", "1", "--threads", "1"};
  std::vector<std::string> at_once = profile;
  at_once.emplace_back("--now");
  EXPECT_THAT(program_.run(at_once), Notes(disturbed));
  EXPECT_EQ(score({}).exit_code, 0);

  std::jthread ends_the_other(
      [&, held = std::make_optional(std::move(*other))](const std::stop_token& stop) mutable {
        // It is let go when the program has said that it waits.
        const auto is_reported = [&] {
          return program_.read("stderr").find("waiting for run 'other'") != std::string::npos;
        };
        while (!is_reported() && !stop.stop_requested())
          std::this_thread::sleep_for(std::chrono::milliseconds(1));  // between looks
        held.reset();
      });
  const Outcome waited = program_.run(profile);
  EXPECT_EQ(waited.exit_code, 0) << waited.err;
  EXPECT_THAT(waited.err, AllOf(HasSubstr("waiting for run 'other'"), HasSubstr("--now"),
                                Not(HasSubstr("at the same time: "))));
}

TEST_F(Score, LatencyReportsTimesAndTheLargestTopK) {
  const auto latency = [&](const std::vector<std::string>& more,
                           const std::string& pairs = "pairs.tsv") {
    return program_.run(joined({"latency", "--checkpoint", ".", "--pairs", pairs}, more));
  };
  const Outcome numbers =
      latency({"--top-k", "20,2", "--within", "1e9", "--read-ahead", "7", "--format", "json"});
  ASSERT_EQ(numbers.exit_code, 0) << numbers.err;
  const auto whole = nlohmann::json::parse(numbers.out);
  EXPECT_THAT(numbers.err, HasSubstr("54 calls at 2, 20 documents, single stream and offline"));
  EXPECT_EQ(whole.at("queries"), 6);
  ASSERT_EQ(whole.at("top_k").size(), 2U);
  EXPECT_EQ(whole.at("top_k").at(1).at("top_k"), 20);
  EXPECT_EQ(whole.at("top_k").at(1).at("calls"), 54) << "nine times each of six queries";
  EXPECT_GT(whole.at("top_k").at(1).at("offline_pairs_per_second"), 0);
  const auto& largest = whole.at("largest");
  EXPECT_EQ(largest.at("within").at("top_k"), largest.at("most"));
  EXPECT_TRUE(largest.at("beyond").is_null());
  const Outcome none =
      latency({"--top-k", "2", "--within", "1e-9", "--queries", "2", "--quantile", "p99"});
  EXPECT_THAT(none.out, AllOf(HasSubstr("2 queries, "),
                              HasSubstr("Even one document per query takes longer than "),
                              HasSubstr("(p99 of 100 calls of 2 queries: ")));
  // Each of the six has ten.
  EXPECT_THAT(latency({"--within", "1e9", "--quantile", "p50"}).out,
              HasSubstr("6 of 6 queries have fewer than "));

  EXPECT_THAT(latency({"--within", "0"}), Refuses("must be greater than 0"));
  EXPECT_THAT(latency({"--top-k", "5,0"}), Refuses("must be greater than 0"));
  for (const std::string number : {"010", "99999999999999999999", "1e3", "2.5"}) {
    EXPECT_THAT(latency({"--queries", number}),
                Refuses("--queries: '" + number + "' is not a whole number from -"));
  }
  EXPECT_THAT(latency({"--top-k", "5,7,5"}), Refuses("--top-k contains 5 twice"));
  EXPECT_THAT(latency({"--top-k", "5,1000"}),
              Refuses("all documents of pairs.tsv; give a smaller number"));
  EXPECT_THAT(latency({"--quantile", "p97"}),
              Refuses("--quantile is 'p97'; write p50, p95 or p99"));
  program_.write("none.tsv", "");
  EXPECT_THAT(latency({}, "none.tsv").err, HasSubstr("none.tsv: has no pairs"));
}

/// In a Set-Encoder, a document's score depends on the query's other documents and nothing else.
TEST_F(Score, SetEncodersScoreAllDocumentsOfAQueryTogether) {
  std::filesystem::copy(
      std::filesystem::path(ATTNSCOPE_SOURCE_DIR) / "tests/golden/models/set-encoder",
      program_.path("set"), std::filesystem::copy_options::recursive);
  program_.write("set/vocab.txt", letters);
  const std::string first = "a\tb c\na\td\na\te f g\n", second = "b\tb c\nb\td\n";
  program_.write("both.tsv", first + second);
  program_.write("second.tsv", second);
  program_.write("again.tsv", first + second + "a\td\n");
  const auto of_set = [&](const std::string& pairs, const std::vector<std::string>& more = {}) {
    return program_.run(joined({"score", "--checkpoint", "set", "--pairs", pairs}, more));
  };
  const Outcome both = of_set("both.tsv"), alone = of_set("second.tsv");
  ASSERT_EQ(both.exit_code, 0) << both.err;
  EXPECT_TRUE(both.out.ends_with(alone.out)) << both.out << alone.out;
  EXPECT_EQ(of_set("both.tsv", {"--batch-pairs", "1", "--batch-tokens", "1"}).out, both.out);

  const Outcome again = of_set("again.tsv");
  EXPECT_EQ(again.exit_code, 2);
  EXPECT_EQ(again.out, both.out);
  EXPECT_THAT(again.err, HasSubstr("again.tsv, line 6: its query was scored already"));
  const Outcome timed = program_.run({"latency", "--checkpoint", "set", "--pairs", "both.tsv",
                                      "--within", "1e9", "--read-ahead", "2"});
  EXPECT_THAT(timed.out, HasSubstr("2 documents per query, the limit of --read-ahead for a set"));
  const Outcome small = of_set("both.tsv", {"--read-ahead", "2"});
  EXPECT_EQ(small.exit_code, 2);
  EXPECT_EQ(small.out, "") << "no score of a part of a set";
  EXPECT_THAT(small.err, HasSubstr("a query has more than 2 documents"));
}

}  // namespace
}  // namespace attnscope::testing
