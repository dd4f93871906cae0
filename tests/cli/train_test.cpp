// SPDX-License-Identifier: Apache-2.0
//
// `train` on a small checkpoint with random weights.

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "tests/checkpoint/tiny_checkpoint.h"
#include "tests/cli/program.h"

namespace attnscope::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class Train : public ::testing::Test {
 protected:
  Train() {
    std::filesystem::create_directory(program_.path("start"));
    tests::TinyCheckpoint::bert().write(program_.path("start"));
    program_.write("start/vocab.txt", letters);
    // A document that begins as its query is relevant.
    std::string triples, ids, queries, documents;
    for (int i = 0; i < 24; ++i) {
      const char a = static_cast<char>('a' + i % 7), b = static_cast<char>('h' + i % 5);
      const std::string query = fmt::format("{} {}", a, b);
      const std::string positive = fmt::format("{} {} o {}", a, b, b);
      const std::string negative = fmt::format("m {} n {} p", b, a);
      triples += fmt::format("{}\t{}\t{}\t{}\n", query, positive, negative, 2 + i % 3);
      ids += fmt::format("q{}\tp{}\tn{}\t{}\n", i, i, i, 2 + i % 3);
      queries += fmt::format("q{}\t{}\n", i, query);
      documents += fmt::format("p{}\t{}\nn{}\t{}\n", i, positive, i, negative);
    }
    program_.write("triples.tsv", triples);
    program_.write("ids.tsv", ids);
    program_.write("queries.tsv", queries);
    program_.write("documents.tsv", documents);
    program_.write("pairs.tsv", "a h\ta h o h\na h\tm h n a p\n");
  }

  [[nodiscard]] Outcome train(const std::string& out, const std::vector<std::string>& more) const {
    return program_.run(joined({"train", "--checkpoint", "start", "--triples", "triples.tsv", "-o",
                                out, "--batch", "4", "--learning-rate", "0.003", "--threads", "2"},
                               more));
  }
  /// `more`, with a validation run.
  [[nodiscard]] std::vector<std::string> validated(std::vector<std::string> more) const {
    std::string run, qrels;
    for (const char* query : {"q0", "q1", "q2"}) {
      for (const char* document : {"n0", "p1", "p0", "n2", "p2"})
        run += fmt::format("{} Q0 {} 1 1 bm25\n", query, document);
      qrels += fmt::format("{} 0 p{} 1\n", query, query[1]);
    }
    program_.write("bm25.trec", run);
    program_.write("qrels.txt", qrels);
    return joined(std::move(more),
                  {"--validate-run", "bm25.trec", "--validate-qrels", "qrels.txt",
                   "--validate-queries", "queries.tsv", "--validate-documents", "documents.tsv"});
  }
  /// Column `at` of every line of a curve, without the header.
  [[nodiscard]] std::vector<std::string> curve(const std::string& out, int at) const {
    std::vector<std::string> values;
    std::istringstream lines(program_.read(out + "/training.tsv"));
    std::string line;
    std::getline(lines, line);
    while (std::getline(lines, line)) {
      std::istringstream columns(line + "\t");
      std::string value;
      for (int i = 0; i <= at; ++i) std::getline(columns, value, '\t');
      values.push_back(value);
    }
    return values;
  }
  [[nodiscard]] std::string weights(const std::string& out) const {
    return program_.read(out + "/model.safetensors");
  }
  /// Arguments for a worker that ends before its eighth step.
  [[nodiscard]] std::vector<std::string> ending_worker() const {
    program_.write("worker.sh",
                   "n=0; while IFS= read -r line; do case $line in *train-step*) n=$((n + 1)); "
                   "[ $n -le 7 ] || exit;; esac; printf '%s\\n' \"$line\"; done");
    return {"--worker", fmt::format("sh worker.sh | {}", ATTNSCOPE_WORKER_PROGRAM)};
  }
  [[nodiscard]] bool is_there(const std::string& name) const {
    return std::filesystem::exists(program_.path(name));
  }

  Program program_;
};

TEST_F(Train, ReducesTheLossAndWritesAUsableCheckpoint) {
  const Outcome outcome =
      train("out", {"--margin-mse", "--pattern", "sparse", "--window", "2", "--steps", "60"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("60 steps of 4 groups from 24 lines"),
                                 HasSubstr("step 60 of 60"), HasSubstr("tokens a second")));
  const auto losses = curve("out", 1);
  ASSERT_EQ(losses.size(), 60U);
  EXPECT_LT(std::stod(losses.back()), std::stod(losses.front()) / 2);
  EXPECT_TRUE(is_there("out/vocab.txt"));
  EXPECT_FALSE(is_there("out/training-state.safetensors"));
  const auto config = nlohmann::json::parse(program_.read("out/config.json"));
  EXPECT_EQ(config["attnscope"]["pattern"], "sparse");
  const Outcome scored = program_.run({"score", "--checkpoint", "out", "--pairs", "pairs.tsv"});
  ASSERT_EQ(scored.exit_code, 0) << scored.err;
  std::istringstream lines(scored.out);
  double positive = 0, negative = 0;
  lines >> positive >> negative;
  EXPECT_GT(positive, negative + 1);
}

TEST_F(Train, AcceptsEveryObjectiveAndFormatOfTriples) {
  program_.write("groups.jsonl",
                 R"({"query":"a h","positive":"a h o","negatives":["m n","p h","b c d"]})"
                 "\n"
                 R"({"query":"b i","positive":"b i o","negatives":["m n"]})"
                 "\n");
  EXPECT_EQ(train("a", {"--ranknet", "--steps", "3"}).exit_code, 0);
  const Outcome groups = program_.run(
      {"train", "--checkpoint", "start", "--triples", "groups.jsonl", "--localized-ce", "--steps",
       "3", "--gradient-accumulation", "2", "--schedule", "linear", "-o", "b"});
  EXPECT_EQ(groups.exit_code, 0) << groups.err;
  const auto of_ids = [&](const std::vector<std::string>& texts, const std::string& out) {
    return program_.run(
        joined({"train", "--checkpoint", "start", "--triples", "ids.tsv", "--margin-mse", "--steps",
                "3", "--batch", "4", "--learning-rate", "0.003", "--threads", "2", "-o", out},
               texts));
  };
  const Outcome ids = of_ids({"--queries", "queries.tsv", "--documents", "documents.tsv"}, "ids");
  EXPECT_EQ(ids.exit_code, 0) << ids.err;
  for (const auto& [tsv, jsonl] : {std::pair("queries.tsv", "set/queries.jsonl"),
                                   std::pair("documents.tsv", "set/corpus.jsonl")}) {
    std::istringstream lines(program_.read(tsv));
    std::string objects;
    for (std::string id, text; std::getline(std::getline(lines, id, '\t'), text);)
      objects += nlohmann::json({{"_id", id}, {"text", text}}).dump() + "\n";
    std::filesystem::create_directories(program_.path("set/qrels"));
    program_.write(jsonl, objects);
  }
  program_.write("set/qrels/test.tsv", "query-id\tcorpus-id\tscore\nq1\tp1\t1\n");
  const Outcome set = of_ids({"--beir", "set"}, "set-model");
  EXPECT_EQ(set.exit_code, 0) << set.err;
  EXPECT_EQ(weights("ids"), weights("set-model"));
  EXPECT_THAT(of_ids({"--beir", "set", "--queries", "queries.tsv"}, "x").err,
              HasSubstr("remove --queries and --documents"));
  ASSERT_EQ(train("texts", {"--margin-mse", "--steps", "3"}).exit_code, 0);
  EXPECT_EQ(weights("ids"), weights("texts"));
}

TEST_F(Train, IsDeterministicForASeed) {
  const std::vector<std::string> arguments{"--margin-mse", "--steps", "8"};
  ASSERT_EQ(train("one", arguments).exit_code, 0);
  ASSERT_EQ(train("two", arguments).exit_code, 0);
  EXPECT_EQ(weights("one"), weights("two"));
  EXPECT_EQ(curve("one", 1), curve("two", 1));
  ASSERT_EQ(train("other", {"--margin-mse", "--steps", "8", "--seed", "2"}).exit_code, 0);
  EXPECT_NE(weights("one"), weights("other"));
  ASSERT_EQ(train("again", {"--margin-mse", "--steps", "8", "--recompute"}).exit_code, 0);
  EXPECT_EQ(weights("one"), weights("again"));
}

TEST_F(Train, ResumesFromTheLastStateAfterTheWorkerEnds) {
  const std::vector<std::string> arguments{"--margin-mse", "--steps", "12", "--save-every", "3"};
  ASSERT_EQ(train("whole", arguments).exit_code, 0);
  EXPECT_THAT(train("cut", joined(arguments, ending_worker())),
              FailsWith("ended before it answered"));
  EXPECT_TRUE(is_there("cut/training-state.safetensors"));
  EXPECT_FALSE(is_there("cut/model.safetensors"));
  const Outcome other = train("cut", {"--margin-mse", "--steps", "12", "--seed", "5"});
  EXPECT_THAT(other.err, AllOf(HasSubstr("is from a training with seed 1, which is now 5")));
  EXPECT_THAT(train("cut", arguments), Notes("resuming after step 6"));
  EXPECT_EQ(weights("whole"), weights("cut"));
  EXPECT_EQ(curve("whole", 1), curve("cut", 1));
  const Outcome again = train("cut", arguments);
  EXPECT_THAT(again.err, HasSubstr("already contains a model"));
}

TEST_F(Train, ValidationEqualsTheNdcgOfRerank) {
  EXPECT_THAT(train("out", validated({"--margin-mse", "--steps", "4", "--validate-every", "2",
                                      "--keep", "last"})),
              Notes("the weights of the last step, 4, are kept"));
  const auto ndcg = curve("out", 6);
  ASSERT_EQ(ndcg.size(), 4U);
  EXPECT_EQ(ndcg[0], "");
  EXPECT_NE(ndcg[1], "");
  ASSERT_EQ(program_
                .run({"rerank", "--checkpoint", "out", "--run", "bm25.trec", "--queries",
                      "queries.tsv", "--documents", "documents.tsv", "-o", "out.trec"})
                .exit_code,
            0);
  const Outcome evaluated = program_.run(
      {"evaluate", "--qrels", "qrels.txt", "out.trec", "--measures", "nDCG@10", "--format", "csv"});
  const std::string row = evaluated.out.substr(evaluated.out.find("nDCG@10,out,3,") + 14);
  EXPECT_NEAR(std::stod(ndcg[3]), std::stod(row), 5e-5) << evaluated.out;
}

TEST_F(Train, KeepsTheBestValidatedStep) {
  const std::vector<std::string> arguments{"--margin-mse", "--warmup-steps", "1",
                                           "--validate-every", "2"};
  const auto of_steps = [&](int steps) {
    return validated(joined(arguments, {"--steps", std::to_string(steps)}));
  };
  const Outcome outcome = train("best", of_steps(40));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto ndcg = curve("best", 6);
  int step = 0;
  double best = -1;
  for (int i = 0; i < 40; ++i) {
    const std::string& value = ndcg[static_cast<std::size_t>(i)];
    if (value.empty() || std::stod(value) <= best) continue;
    best = std::stod(value);
    step = i + 1;
  }
  ASSERT_LT(step, 40) << "the last step is the best, which shows nothing";
  EXPECT_THAT(outcome.err, HasSubstr(fmt::format("the weights of step {} are kept", step)));
  EXPECT_THAT(outcome.err, HasSubstr("the best so far"));
  ASSERT_EQ(train("last", joined(of_steps(step), {"--keep", "last"})).exit_code, 0);
  EXPECT_EQ(weights("best"), weights("last"));
  ASSERT_EQ(train("whole", joined(of_steps(40), {"--keep", "last"})).exit_code, 0);
  EXPECT_NE(weights("best"), weights("whole"));
  EXPECT_EQ(curve("best", 1), curve("whole", 1));
}

/// A training of twelve steps whose worker ended after the state of step 6 was saved.
class HalfTrained : public Train {
 protected:
  HalfTrained() {
    EXPECT_EQ(train("cut", joined(arguments_, ending_worker())).exit_code, 2);
    EXPECT_TRUE(is_there("cut/training-state.safetensors"));
  }
  const std::vector<std::string> arguments_ =
      validated({"--margin-mse", "--steps", "12", "--save-every", "3"});
};

TEST_F(HalfTrained, SettingsOfTheKeptStepCannotChange) {
  EXPECT_THAT(train("cut", joined(arguments_, {"--keep", "last"})).err,
              HasSubstr("with keep \"best\", which is now not given"));
  EXPECT_THAT(train("cut", joined(arguments_, {"--validate-every", "2"})).err,
              HasSubstr("with validate_every 3, which is now 2"));
  ASSERT_EQ(train("cut", arguments_).exit_code, 0);
  ASSERT_EQ(train("whole", arguments_).exit_code, 0);
  EXPECT_EQ(weights("cut"), weights("whole"));
  EXPECT_EQ(curve("cut", 6), curve("whole", 6));
}

TEST_F(HalfTrained, RefusesChangedInputFiles) {
  const std::string triples = program_.read("triples.tsv");
  const auto second = triples.find('\n') + 1;
  const std::string turned = triples.substr(second) + triples.substr(0, second);
  const std::string weights = program_.read("start/model.safetensors");
  std::string other_weights = weights;
  other_weights.back() = static_cast<char>(other_weights.back() ^ 1);
  for (const auto& [file, name, text] :
       std::vector<std::tuple<std::string, std::string, std::string>>{
           {"triples.tsv", "--triples", turned},
           {"bm25.trec", "--validate-run", program_.read("bm25.trec") + "q2 Q0 p5 9 0 bm25\n"},
           {"qrels.txt", "--validate-qrels", program_.read("qrels.txt") + "q0 0 n0 1\n"},
           {"queries.tsv", "--validate-queries", program_.read("queries.tsv") + "q99\ta\n"},
           {"documents.tsv", "--validate-documents", program_.read("documents.tsv") + "p99\ta\n"},
           {"start/vocab.txt", "vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\nb\na\n"},
           {"start/tokenizer_config.json", "tokenizer_config.json", R"({"do_lower_case": true})"},
           {"start/config.json", "config.json", program_.read("start/config.json") + "\n"},
           {"start/model.safetensors", "model.safetensors", other_weights}}) {
    const bool was_there = is_there(file);
    const std::string before = was_there ? program_.read(file) : "";
    program_.write(file, text);
    EXPECT_THAT(train("cut", arguments_),
                FailsWith("is from a training that read other contents of " + name + "; give"))
        << file;
    program_.write(file, before);
    if (!was_there) std::filesystem::remove(program_.path(file));
  }
  EXPECT_THAT(train("cut", joined(arguments_, {"--label", "0"})).err,
              HasSubstr("is from a training with label"));
  EXPECT_THAT(program_
                  .run(joined({"train", "--checkpoint", "start", "--triples", "triples.tsv", "-o",
                               "cut", "--batch", "4", "--learning-rate", "0.003", "--threads", "1"},
                              arguments_))
                  .err,
              HasSubstr("is from a training with threads 2, which is now 1; give the same"));
  EXPECT_EQ(train("cut", arguments_).exit_code, 0);
}

TEST_F(HalfTrained, FindsADamagedState) {
  const std::string state = program_.read("cut/training-state.safetensors");
  for (const std::size_t at : {state.size() - 2, state.size() / 2, state.size() / 3 * 2}) {
    std::string damaged = state;
    damaged[at] = static_cast<char>(damaged[at] ^ 4);
    program_.write("cut/training-state.safetensors", damaged);
    const Outcome outcome = train("cut", arguments_);
    EXPECT_EQ(outcome.exit_code, 2) << at;
    EXPECT_THAT(outcome.err, AllOf(HasSubstr("training-state.safetensors: i"), HasSubstr("damaged"),
                                   HasSubstr("restart with --restart")));
    EXPECT_FALSE(is_there("cut/model.safetensors"));
  }
  program_.write("cut/training-state.safetensors", state);
  EXPECT_EQ(train("cut", arguments_).exit_code, 0);
}

TEST_F(HalfTrained, RestartRemovesOnlyListedFiles) {
  program_.write("cut/notes.txt", "mine");
  const auto anew = joined(arguments_, {"--restart"});
  for (const auto& how : {arguments_, anew}) {
    EXPECT_THAT(train("cut", how),
                FailsWith("cut: contains 'notes.txt', which no training has listed"));
    EXPECT_TRUE(is_there("cut/training-state.safetensors"));
    EXPECT_EQ(program_.read("cut/notes.txt"), "mine");
  }
  std::filesystem::remove(program_.path("cut/notes.txt"));
  const Outcome outcome = train("cut", anew);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(curve("cut", 1).size(), 12U);
}

TEST_F(Train, RefusesAFolderWithForeignFiles) {
  std::filesystem::create_directory(program_.path("out"));
  for (const std::string name : {"training.tsv", "config.json", "validation.trec", "vocab.txt",
                                 "training-state.safetensors", "model.safetensors", "notes.txt"}) {
    program_.write("out/" + name, "mine");
    for (const std::vector<std::string>& how : {std::vector<std::string>{}, {"--restart"}}) {
      EXPECT_THAT(train("out", joined({"--ranknet", "--steps", "1"}, how)),
                  FailsWith(fmt::format("out: contains '{}'", name)))
          << name;
      EXPECT_EQ(program_.read("out/" + name), "mine");
    }
    std::filesystem::remove(program_.path("out/" + name));
  }
  EXPECT_EQ(train("out", {"--ranknet", "--steps", "1"}).exit_code, 0);
}

TEST_F(Train, NeverReplacesInputFilesInTheFolder) {
  ASSERT_EQ(train("out", {"--ranknet", "--steps", "1"}).exit_code, 0);
  const auto refused = [&](const std::string& file, const std::vector<std::string>& arguments) {
    const std::string before = program_.read(file);
    const auto all = joined(
        {"train", "--checkpoint", "start", "--ranknet", "--steps", "1", "-o", "out"}, arguments);
    for (const auto& how : {all, joined(all, {"--restart"})}) {
      EXPECT_THAT(program_.run(how), FailsWith(file + ": is an input of this command")) << file;
      EXPECT_EQ(program_.read(file), before) << file;
    }
  };
  program_.write("out/training.tsv", program_.read("triples.tsv"));
  refused("out/training.tsv", {"--triples", "out/training.tsv"});
  std::vector<std::string> with_run = validated({"--triples", "triples.tsv"});
  program_.write("out/validation.trec", program_.read("bm25.trec"));
  *(std::ranges::find(with_run, "bm25.trec")) = "out/validation.trec";
  refused("out/validation.trec", with_run);
  std::filesystem::remove(program_.path("out/vocab.txt"));
  std::filesystem::create_hard_link(program_.path("start/vocab.txt"),
                                    program_.path("out/vocab.txt"));
  refused("out/vocab.txt", {"--triples", "triples.tsv"});
}

TEST_F(Train, PrintsAnEventForEveryStep) {
  const Outcome outcome =
      train("out", {"--ranknet", "--steps", "4", "--save-every", "2", "--events"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  std::istringstream lines(outcome.out);
  std::string line;
  std::vector<std::string> kinds;
  while (std::getline(lines, line)) {
    const auto event = nlohmann::json::parse(line);
    kinds.push_back(
        fmt::format("{} {}", event["event"].get<std::string>(), event["step"].get<int>()));
  }
  EXPECT_THAT(kinds, ::testing::ElementsAre("step 1", "step 2", "saved 2", "step 3", "step 4"));
}

TEST_F(Train, RefusesContradictoryOptionsAndInvalidFiles) {
  const auto refused = [&](const std::vector<std::string>& more, const char* words) {
    EXPECT_THAT(train("out", more), FailsWith(words));
    EXPECT_FALSE(is_there("out/model.safetensors"));
  };
  refused({"--steps", "1"}, "give an objective");
  refused({"--steps", "1", "--margin-mse", "--ranknet"}, "give an objective");
  const auto ranknet = [](const std::vector<std::string>& more) {
    return joined({"--ranknet", "--steps", "1"}, more);
  };
  for (const auto& [more, words] : std::vector<std::pair<std::vector<std::string>, const char*>>{
           {{"--dtype", "float16"}, "float16"},
           {{"--validate-qrels", "none"}, "--validate-run"},
           {{"--queries", "queries.tsv"}, "together"},
           {{"--implementation", "dense"}, "use segment, windowed, sdpa"},
           {{"--keep", "best"}, "needs a validation"},
           {{"--gradient-accumulation", "100000000"}, "groups that one update may have"},
           {{"--max-grad-norm", "nan"}, "must be 0 or greater, not 'nan'"},
           {{"--extend-positions", "10"}, "positions, which cannot be extended to 10"},
           {{"--warmup-steps", "50"}, "--warmup-steps 50 is more than --steps 1"}})
    refused(ranknet(more), words);
  const auto unjudged = validated(ranknet({}));
  program_.write("qrels.txt", "other 0 p1 1\n");
  refused(unjudged, "bm25.trec: none of its queries is judged in qrels.txt");
  program_.write("triples.tsv", "a\tb\tc\t1\na\tb\n");
  refused({"--steps", "1", "--margin-mse"}, "triples.tsv, line 2: has 2 columns");
  EXPECT_EQ(train("start", ranknet({})).exit_code, 2);
  program_.write("triples.jsonl",
                 R"({"query":"a","positive":"b","negative":"c","margin":2,"scores":[3,1]})"
                 "\n"
                 R"({"query":"a","positive":"b","negative":"c","margin":1,"scores":[3,1]})"
                 "\n");
  EXPECT_THAT(
      program_.run({"train", "--checkpoint", "start", "--triples", "triples.jsonl", "--margin-mse",
                    "--steps", "2", "-o", "out"}),
      FailsWith("triples.jsonl, line 2: has the 'margin' 1 and 'scores' whose difference is "
                "2"));
}

TEST_F(Train, LostEventsAreAnErrorButTheModelIsComplete) {
  const std::string command = fmt::format(
      "cd '{}' && ATTNSCOPE_WORKER='{}' '{}' train --checkpoint start --triples triples.tsv "
      "--ranknet --steps 2 --events -o out >/dev/full 2>lost",
      program_.path("").string(), ATTNSCOPE_WORKER_PROGRAM, ATTNSCOPE_PROGRAM);
  const int status = std::system(command.c_str());
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 2);
  EXPECT_THAT(program_.read("lost"),
              HasSubstr("some events could not be written to standard output (No space left on "
                        "device); the trained model in out is complete"));
  EXPECT_EQ(program_.run({"score", "--checkpoint", "out", "--pairs", "pairs.tsv"}).exit_code, 0);
}

TEST_F(Train, RefusesAFolderOfARunningTraining) {
  const std::filesystem::path folder = program_.path("out");
  std::filesystem::create_directory(folder);
  const int other = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ASSERT_EQ(::flock(other, LOCK_EX), 0);
  EXPECT_THAT(train("out", {"--ranknet", "--steps", "1"}),
              FailsWith("another training writes into it"));
  ::close(other);
  EXPECT_EQ(train("out", {"--ranknet", "--steps", "1"}).exit_code, 0);
}

}  // namespace
}  // namespace attnscope::testing
