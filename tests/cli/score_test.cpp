// SPDX-License-Identifier: Apache-2.0
//
// `score`, `profile` and `latency` on a small checkpoint with random weights.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <optional>
#include <sstream>
#include <thread>

#include "engine/worker/turn.h"
#include "tests/base/packed.h"
#include "tests/checkpoint/tiny_checkpoint.h"
#include "tests/cli/program.h"

namespace attnscope::testing {
namespace {

using tests::TinyCheckpoint;

/// A folder with a checkpoint, and pairs of six queries in no order.
class Score : public ProgramTest {
 protected:
  Score() {
    TinyCheckpoint::bert().write(program.path(""));
    program.write("vocab.txt", letters);
    std::string tsv;
    for (int i = 0; i < 60; ++i) {
      const char query = static_cast<char>('a' + i * 7 % 6);
      tsv += fmt::format("q{}\td{}\t{} b\t", query, i, query);
      for (int token = 0; token <= i % 13; ++token) {
        tsv += fmt::format("{} ", static_cast<char>('a' + (i + token * token) % 16));
      }
      tsv += "\n";
    }
    program.write("pairs.tsv", tsv);
  }

  [[nodiscard]] Outcome score(const std::string& more = "",
                              const std::string& pairs = "pairs.tsv") const {
    return program.run(fmt::format("score --checkpoint . --pairs {} ", pairs) + more);
  }
  [[nodiscard]] std::vector<double> scores(const std::string& more = "") const {
    const Outcome outcome = score(more);
    EXPECT_THAT(outcome, Succeeds());
    return scores_in(outcome.out);
  }
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
  const auto all = scores();
  ASSERT_EQ(all.size(), 60U);
  EXPECT_LT(largest_difference(all, scores("--batch-pairs 1 --read-ahead 7")), 1e-5);
  EXPECT_GT(std::fabs(all[0] - all[1]), 1e-3);
}

TEST_F(Score, SharedQueriesScoreAsSinglePairs) {
  const auto sparse = [&](const std::string& more) {
    return scores("--pattern sparse --window 1 " + more);
  };
  const auto all = sparse("");
  EXPECT_LT(largest_difference(all, sparse("--batch-pairs 1 --read-ahead 1")), 1e-5);
  EXPECT_LT(largest_difference(all, sparse("--implementation dense")), 1e-5);
  EXPECT_EQ(all, sparse("--cls-only-last-layer"));
  EXPECT_LT(largest_difference(all, sparse("--whole-last-layer")), 1e-5);
  EXPECT_GT(largest_difference(all, scores()), 1e-3);
}

TEST_F(Score, ReducedPrecisionScoresSimilarlyAndReportsItsCost) {
  const auto exact = scores();
  for (const std::string precision : {"bfloat16", "int8"}) {
    const Outcome outcome = score("--precision " + precision);
    EXPECT_THAT(outcome, Notes(precision + " compared with float32 on 60 pairs: rankings of 6 "
                                           "queries agree"));
    const double apart = largest_difference(exact, scores_in(outcome.out));
    EXPECT_GT(apart, 1e-6) << precision << ": is this float32?";
    EXPECT_LT(apart, 0.1) << precision;
  }
  EXPECT_THAT(score("--precision int8 --precision-sample 7").err,
              HasSubstr("int8 compared with float32 on 7 pairs"));
  EXPECT_EQ(score("--precision int8 --precision-sample 0").err, "");
  program.write("qrels.txt", "qa 0 d0 1\nqb 0 d1 1\nqc 0 d2 1\n");
  EXPECT_THAT(score("--precision int8 --qrels qrels.txt"), Notes("nDCG@10 of 3 judged queries: "));
}

TEST_F(Score, CountsEqualScores) {
  EXPECT_THAT(score("--dtype bfloat16"),
              Notes("pairs of documents share a score, in ", " of 6 queries",
                    "bfloat16 has few digits", "--dtype float32 has more"));
  EXPECT_EQ(score().err, "");
}

TEST_F(Score, RefusesUnsupportedPrecisions) {
  EXPECT_THAT(score("--precision int4"), Refuses("unknown precision 'int4'"));
  EXPECT_THAT(score("--precision int8 --dtype bfloat16"),
              Refuses("products of int8 need a model whose other operations are in float32"));
  EXPECT_THAT(score("--precision int8 --device cuda"),
              Refuses("products of int8 are supported only on the CPU"));
  EXPECT_THAT(score("--qrels qrels.txt"),
              Refuses("--qrels reports what a --precision other than float32 changes"));
  EXPECT_THAT(score("--precision int8 --qrels absent.txt"), Refuses("absent.txt"));
}

TEST_F(Score, CountsTruncatedDocumentsAndQueries) {
  EXPECT_THAT(score("--max-tokens 8"),
              Notes("note: 45 of 60 documents were truncated; a pair has at most 8 tokens"));
  EXPECT_EQ(score().err, "");
  program.write("pairs.tsv", "a\tb\na a a a a a\tb\n");
  EXPECT_THAT(score("--max-tokens 8"),
              Notes("1 of 2 queries was truncated; a pair has at most 8 tokens"));
  EXPECT_THAT(score("--max-tokens 3"),
              FailsWith("line 1: a limit of 3 tokens leaves none for a pair"));
}

TEST_F(Score, ReportsUnusedTensors) {
  const Outcome without = score();
  TinyCheckpoint more = TinyCheckpoint::bert();
  more.tensors["unused"] = {{3}, "U16"};
  more.write(program.path(""));
  const Outcome with = score();
  EXPECT_THAT(with, Notes("note: the model does not use 1 tensor of its files: 'unused'"));
  EXPECT_EQ(with.out, without.out);
}

TEST_F(Score, RefusesToExtendMissingPositions) {
  EXPECT_THAT(program.run("score --pairs pairs.tsv --extend-positions 8000 --checkpoint " +
                          golden("models/tkl").string()),
              FailsWith("has no positions to extend"));
}

TEST_F(Score, ReadsAndWritesJsonLines) {
  program.write("pairs.jsonl", "{\"query\": \"a b\", \"text\": \"c d\", \"docno\": \"x\"}\n");
  EXPECT_THAT(score("--format jsonl", "pairs.jsonl"), Prints("{\"docno\":\"x\",\"score\":"));
}

TEST_F(Score, ReportsIncompleteAndInvalidLinesAndEmptyTexts) {
  EXPECT_THAT(score("--pairs-format tsv", "- </dev/null"),
              FailsWith("standard input: has no pairs"));
  program.write("pairs.tsv", "a\tb\nc\td\nalone\ne\tf\n");
  const Outcome invalid = score();
  EXPECT_THAT(invalid, FailsWith("pairs.tsv, line 3: has 1 columns"));
  EXPECT_EQ(std::ranges::count(invalid.out, '\n'), 2);
  program.write("pairs.tsv", "\tb c\na\tb c\n");
  const Outcome empty = score();
  EXPECT_THAT(empty, Notes("note: pairs.tsv: 1 record has an empty query"));
  EXPECT_EQ(std::ranges::count(empty.out, '\n'), 2);
}

TEST_F(Score, RefusesToRankTwoQueriesWithOneId) {
  program.write("pairs.tsv", "1\tx\ta\tb c\n1\ty\tb\tc d\n");
  EXPECT_THAT(score(), Succeeds());
  for (const std::string ranked : {"--format trec", "--top 1"}) {
    EXPECT_THAT(score(ranked),
                FailsWith("pairs.tsv, line 2: query '1' has a different text in earlier lines"));
  }
}

TEST_F(Score, ReportsAFullStandardOutput) {
  const auto lost = [&](const std::string& more) {
    EXPECT_EQ(program.shell(fmt::format("ATTNSCOPE_WORKER='{}' '{}' score --checkpoint . "
                                        "--pairs pairs.tsv {} >/dev/full 2>err",
                                        ATTNSCOPE_WORKER_PROGRAM, ATTNSCOPE_PROGRAM, more)),
              2)
        << more;
    return program.read("err");
  };
  EXPECT_THAT(lost(""), HasSubstr("(0 scores before it are written)"));
  for (const char* more : {"--explain", "--explain --format jsonl"})
    EXPECT_THAT(lost(more), HasSubstr("could not write to standard output")) << more;
}

TEST_F(Score, WritesARankedTrecRun) {
  EXPECT_THAT(score("--format trec --tag 'a\nq1 Q0 d9 1 99 other'"),
              FailsWith("--tag 'a?q1 Q0 d9 1 99 other' has a blank"));
  program.write("pairs.tsv", "1\tx\ta\tb c\n1\ty\ta\tc d\n2\tx\tb\tc\n");
  EXPECT_THAT(score("--format trec --tag mine"), Prints("1 Q0 ", "2 Q0 x 1 ", " mine\n"));
}

TEST_F(Score, WritesScoresToAFile) {
  const Outcome outcome = score("-o out.tsv");
  EXPECT_THAT(outcome, Succeeds());
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(program.read("out.tsv"), HasSubstr("qa\td0\t"));
  EXPECT_EQ(score("-o -").out, program.read("out.tsv"));
  EXPECT_THAT(score("-o /dev/null"), Succeeds());
  EXPECT_THAT(score("-o /dev/full"),
              FailsWith("/dev/full: cannot be written: No space left on device"));
}

TEST_F(Score, NeverReplacesInputFilesByAnyName) {
  program.write("qrels.txt", "qa 0 d0 1\n");
  program.write("prog.py", "print('nothing')\n");
  fs::create_hard_link(program.path("qrels.txt"), program.path("hard"));
  fs::create_directory(program.path("links"));
  fs::create_directory_symlink(program.path(""), program.path("links/here"));
  for (const auto& [options, out] : std::vector<std::pair<std::string, std::string>>{
           {"--qrels qrels.txt", "qrels.txt"},
           {"--qrels qrels.txt", "hard"},
           {"--qrels qrels.txt", "links/here/qrels.txt"},
           {"--with prog.py", "prog.py"},
           {"--with \"python3 'prog.py' --quiet\"", "./prog.py"},
           {"--worker 'sh prog.py'", "prog.py"},
           {"", "model.safetensors"},
           {"", "vocab.txt"},
           {"", "./pairs.tsv"}}) {
    const std::string before = program.read(out);
    EXPECT_THAT(score(fmt::format("--precision int8 {} -o {}", options, out)),
                FailsWith(out + ": is an input of this command and would be overwritten"));
    EXPECT_EQ(program.read(out), before) << options << " " << out;
  }
  const auto redirected = [&](const std::string& arguments) {
    const std::string pairs = program.read("pairs.tsv");
    EXPECT_NE(program.shell(fmt::format("'{}' score --checkpoint . {} 2>stderr", ATTNSCOPE_PROGRAM,
                                        arguments)),
              0)
        << arguments;
    EXPECT_EQ(program.read("pairs.tsv"), pairs) << arguments;
    return program.read("stderr");
  };
  EXPECT_THAT(redirected("--pairs - -o pairs.tsv <pairs.tsv"),
              HasSubstr("pairs.tsv: is an input of this command"));
  EXPECT_THAT(redirected("--pairs pairs.tsv >>pairs.tsv"), HasSubstr("standard output writes"));
}

TEST_F(Score, AnErrorKeepsTheOldOutput) {
  const std::string packed = tests::packed(program.read("pairs.tsv"));
  program.write("cut.tsv.gz", packed.substr(0, packed.size() / 2));
  for (const std::string out : {"old.gz", "old.tsv"}) {
    program.write(out, "old");
    EXPECT_THAT(score("-o " + out, "cut.tsv.gz"), FailsWith("(" + out + " is unchanged)"));
    EXPECT_EQ(program.read(out), "old");
  }
  ASSERT_THAT(score("-o NEW.GZ"), Succeeds());
  EXPECT_THAT(tests::unpacked(program.path("NEW.GZ")), HasSubstr("qa\td0\t"));
}

TEST_F(Score, ReportsAPairWithoutAScore) {
  // The weights are so large that the token's states are no numbers.
  for (const std::size_t value : {0U, 1U}) {
    tests::set_value(program.path("model.safetensors"), "bert.embeddings.word_embeddings.weight",
                     19 * 8 + value, 3e38F);
  }
  program.write("pairs.tsv", "1\tx\ta\tb c\n1\ty\ta\tp\n2\tx\tb\tc d e\n");
  for (const std::string together : {"1", "64"}) {
    const Outcome outcome = score("--batch-pairs " + together);
    EXPECT_THAT(outcome, FailsWith("pairs.tsv, line 2: the score of query '1' and document 'y' is "
                                   "NaN; are the checkpoint's weights damaged? (1 scores before it "
                                   "are written)"));
    EXPECT_EQ(std::ranges::count(outcome.out, '\n'), 1) << outcome.out;
  }
}

TEST_F(Score, RefusesWeightsThatAreNotFinite) {
  for (const float value : {std::numeric_limits<float>::infinity(), std::nanf("")}) {
    TinyCheckpoint::bert().write(program.path(""));
    // A row that no pair looks at.
    tests::set_value(program.path("model.safetensors"), "bert.embeddings.word_embeddings.weight", 8,
                     value);
    EXPECT_THAT(score(),
                Refuses("the tensor 'embeddings.word_embeddings.weight' of the checkpoint has "
                        "values that are infinite or NaN; the weights are damaged"));
  }
}

TEST_F(Score, RefusesAnEncoderWithoutAHeadAndAnUnsupportedPattern) {
  EXPECT_THAT(score("--pattern sparse --window 4 --implementation sdpa"),
              FailsWith("sdpa supports only full attention"));
  TinyCheckpoint tiny = TinyCheckpoint::bert();
  tiny.config["architectures"] = R"(["BertModel"])";
  tiny.tensors.erase("classifier.weight");
  tiny.tensors.erase("classifier.bias");
  tiny.write(program.path(""));
  EXPECT_THAT(score(), FailsWith("without a classification head"));
}

TEST_F(Score, ProfileReportsTheTimeOfEachPart) {
  const std::string requested = "profile --checkpoint . --pairs pairs.tsv --rounds 2";
  double sum = 0;
  for (const json& row : program.json(requested + " --format json")) {
    if (row.at("part") != "whole") sum += row.at("share").get<double>();
    if (row.at("part") == "feed-forward") {
      EXPECT_GT(row.at("of_ceiling"), 0);
    }
  }
  // Medians of each part, over rounds that differ: near the whole, if not equal to it.
  EXPECT_GT(sum, 0.5);
  EXPECT_THAT(program.run(requested), Prints("60 pairs, ", "Medians of 2 passes"));
  EXPECT_THAT(program.run(requested + " --device cuda"), FailsWith("profile measures on the CPU"));
#ifndef ATTNSCOPE_HAS_GUI
  EXPECT_THAT(program.run(requested + " -o parts.pdf"), FailsWith("has no Qt and cannot draw"));
#endif
  EXPECT_THAT(program.run(requested + " --max-pairs 0"), FailsWith("must be greater than 0"));
  program.write("none.tsv", "");
  EXPECT_THAT(program.run("profile --checkpoint . --pairs none.tsv").err,
              HasSubstr("none.tsv: has no pairs"));
}

TEST_F(Score, FindsAHubNameInTheCacheAndNotesItsRevision) {
  const std::string hash(40, 'c');
  const std::string inside = "cache/models--org--mini/";
  program.write(inside + "refs/main", hash);
  fs::create_directories(program.path(inside + "snapshots/" + hash));
  for (const std::string file : {"config.json", "model.safetensors", "vocab.txt"})
    fs::create_symlink(program.path(file), program.path(inside + "snapshots/" + hash + "/" + file));
  program.write("one.tsv", "q1\td1\ta b\tc d\n");
  const auto scored = [&](const std::string& checkpoint) {
    return program.run(
        fmt::format("score --checkpoint {} --pairs one.tsv --format trec", checkpoint),
        {"HF_HUB_CACHE=" + program.path("cache").string()});
  };
  ASSERT_THAT(scored("org/mini"),
              AllOf(Prints(" org/mini\n"), Notes("note: org/mini is revision " + hash)));
  EXPECT_THAT(scored("org/other"), FailsWith("fetch it: hf download org/other"));
}

// Both time, and so take turns with whatever measures on the machine; `score` does not.
TEST_F(Score, LatencyAndProfileWaitForOtherMeasurements) {
  auto other = Turn::line_up(locks_folder(), "cpu", {.what = "run 'other'", .process = 7});
  ASSERT_TRUE(other) << other.error().message;
  ASSERT_TRUE(other->has_come().value());
  const std::string disturbed = "another measurement ran at the same time: run 'other' (process 7 ";
  EXPECT_THAT(
      program.run(
          "latency --checkpoint . --pairs pairs.tsv --top-k 2 --within 1e9 --queries 2 --now"),
      Prints(disturbed));
  const std::string profile = "profile --checkpoint . --pairs pairs.tsv --rounds 1 --threads 1";
  EXPECT_THAT(program.run(profile + " --now"), Notes(disturbed));
  EXPECT_THAT(score(), Succeeds());

  std::jthread ends_the_other(
      [&, held = std::make_optional(std::move(*other))](const std::stop_token& stop) mutable {
        // It is let go when the program has said that it waits.
        const auto is_reported = [&] {
          return program.read("stderr").find("waiting for run 'other'") != std::string::npos;
        };
        while (!is_reported() && !stop.stop_requested())
          std::this_thread::sleep_for(std::chrono::milliseconds(1));  // between looks
        held.reset();
      });
  const Outcome waited = program.run(profile);
  EXPECT_THAT(waited, Notes("waiting for run 'other'", "--now"));
  EXPECT_THAT(waited.err, Not(HasSubstr("at the same time: ")));
}

TEST_F(Score, LatencyReportsTimesAndTheLargestTopK) {
  const auto latency = [&](const std::string& more, const std::string& pairs = "pairs.tsv") {
    return program.run(fmt::format("latency --checkpoint . --pairs {} ", pairs) + more);
  };
  const Outcome numbers = latency("--top-k 20,2 --within 1e9 --read-ahead 7 --format json");
  ASSERT_THAT(numbers, Notes("54 calls at 2, 20 documents, single stream and offline"));
  const json whole = json::parse(numbers.out);
  EXPECT_EQ(whole.at("queries"), 6);
  ASSERT_EQ(whole.at("top_k").size(), 2U);
  EXPECT_EQ(whole.at("top_k").at(1).at("top_k"), 20);
  EXPECT_EQ(whole.at("top_k").at(1).at("calls"), 54) << "nine times each of six queries";
  EXPECT_GT(whole.at("top_k").at(1).at("offline_pairs_per_second"), 0);
  const auto& largest = whole.at("largest");
  EXPECT_EQ(largest.at("within").at("top_k"), largest.at("most"));
  EXPECT_TRUE(largest.at("beyond").is_null());
  EXPECT_THAT(latency("--top-k 2 --within 1e-9 --queries 2 --quantile p99"),
              Prints("2 queries, ", "Even one document per query takes longer than ",
                     "(p99 of 100 calls of 2 queries: "));
  // Each of the six queries has ten documents.
  EXPECT_THAT(latency("--within 1e9 --quantile p50"), Prints("6 of 6 queries have fewer than "));
  EXPECT_THAT(latency("--within 0"), Refuses("must be greater than 0"));
  EXPECT_THAT(latency("--top-k 5,0"), Refuses("must be greater than 0"));
  for (const std::string number : {"010", "99999999999999999999", "1e3", "2.5"}) {
    EXPECT_THAT(latency("--queries " + number),
                Refuses("--queries: '" + number + "' is not a whole number from -"));
  }
  EXPECT_THAT(latency("--top-k 5,7,5"), Refuses("--top-k contains 5 twice"));
  EXPECT_THAT(latency("--top-k 5,1000"),
              Refuses("all documents of pairs.tsv; give a smaller number"));
  EXPECT_THAT(latency("--quantile p97"), Refuses("--quantile is 'p97'; write p50, p95 or p99"));
  program.write("none.tsv", "");
  EXPECT_THAT(latency("", "none.tsv").err, HasSubstr("none.tsv: has no pairs"));
}

/// In a Set-Encoder, a document's score depends on the query's other documents and nothing else.
TEST_F(Score, SetEncodersScoreAllDocumentsOfAQueryTogether) {
  fs::copy(golden("models/set-encoder"), program.path("set"));
  program.write("set/vocab.txt", letters);
  const std::string first = "a\tb c\na\td\na\te f g\n", second = "b\tb c\nb\td\n";
  program.write("both.tsv", first + second);
  program.write("second.tsv", second);
  program.write("again.tsv", first + second + "a\td\n");
  const auto of_set = [&](const std::string& pairs, const std::string& more = "") {
    return program.run(fmt::format("score --checkpoint set --pairs {} ", pairs) + more);
  };
  const Outcome both = of_set("both.tsv"), alone = of_set("second.tsv");
  ASSERT_THAT(both, Succeeds());
  EXPECT_TRUE(both.out.ends_with(alone.out)) << both.out << alone.out;
  EXPECT_EQ(of_set("both.tsv", "--batch-pairs 1 --batch-tokens 1").out, both.out);

  const Outcome again = of_set("again.tsv");
  EXPECT_THAT(again, FailsWith("again.tsv, line 6: its query was scored already"));
  EXPECT_EQ(again.out, both.out);
  EXPECT_THAT(program.run("latency --checkpoint set --pairs both.tsv --within 1e9 --read-ahead 2"),
              Prints("2 documents per query, the limit of --read-ahead for a set"));
  const Outcome small = of_set("both.tsv", "--read-ahead 2");
  EXPECT_THAT(small, FailsWith("a query has more than 2 documents"));
  EXPECT_EQ(small.out, "") << "no score of a part of a set";
}

}  // namespace
}  // namespace attnscope::testing
