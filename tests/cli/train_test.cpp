// SPDX-License-Identifier: Apache-2.0
//
// `train` on a small checkpoint with random weights.

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <sstream>
#include <tuple>

#include "base/spawn.h"
#include "tests/checkpoint/tiny_checkpoint.h"
#include "tests/cli/program.h"

namespace attnscope::testing {
namespace {

class Train : public ProgramTest {
 protected:
  Train() {
    program.write("start/vocab.txt", letters);
    tests::TinyCheckpoint::bert().write(program.path("start"));
    // A document that begins as its query is relevant.
    std::string triples, ids, queries, documents;
    for (int i = 0; i < 24; ++i) {
      const char a = static_cast<char>('a' + i % 7), b = static_cast<char>('h' + i % 5);
      triples += fmt::format("{0} {1}\t{0} {1} o {1}\tm {1} n {0} p\t{2}\n", a, b, 2 + i % 3);
      ids += fmt::format("q{0}\tp{0}\tn{0}\t{1}\n", i, 2 + i % 3);
      queries += fmt::format("q{}\t{} {}\n", i, a, b);
      documents += fmt::format("p{0}\t{1} {2} o {2}\nn{0}\tm {2} n {1} p\n", i, a, b);
    }
    program.write("triples.tsv", triples);
    program.write("ids.tsv", ids);
    program.write("queries.tsv", queries);
    program.write("documents.tsv", documents);
    program.write("pairs.tsv", "a h\ta h o h\na h\tm h n a p\n");
  }

  [[nodiscard]] Outcome train(const std::string& out, const std::string& more,
                              const std::string& triples = "triples.tsv") const {
    return program.run(
        fmt::format("train --checkpoint start --triples {} -o {} --batch 4 --learning-rate 0.003 "
                    "--threads 2 {}",
                    triples, out, more));
  }
  /// `more`, with a validation run.
  [[nodiscard]] std::string validated(const std::string& more) const {
    std::string run, qrels;
    for (const char* query : {"q0", "q1", "q2"}) {
      for (const char* document : {"n0", "p1", "p0", "n2", "p2"})
        run += fmt::format("{} Q0 {} 1 1 bm25\n", query, document);
      qrels += fmt::format("{} 0 p{} 1\n", query, query[1]);
    }
    program.write("bm25.trec", run);
    program.write("qrels.txt", qrels);
    return more +
           " --validate-run bm25.trec --validate-qrels qrels.txt --validate-queries queries.tsv "
           "--validate-documents documents.tsv";
  }
  /// Column `at` of every line of a curve, without the header.
  [[nodiscard]] std::vector<std::string> curve(const std::string& out, int at) const {
    std::vector<std::string> values;
    std::istringstream lines(program.read(out + "/training.tsv"));
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
    return program.read(out + "/model.safetensors");
  }
  /// Arguments for a worker that ends before its eighth step.
  [[nodiscard]] std::string ending_worker() const {
    program.write("worker.sh",
                  "n=0; while IFS= read -r line; do case $line in *train-step*) n=$((n + 1)); "
                  "[ $n -le 7 ] || exit;; esac; printf '%s\\n' \"$line\"; done");
    return " --worker " + shell_word("sh worker.sh | " ATTNSCOPE_WORKER_PROGRAM);
  }
};

TEST_F(Train, ReducesTheLossAndWritesAUsableCheckpoint) {
  ASSERT_THAT(train("out", "--margin-mse --pattern sparse --window 2 --steps 60"),
              Notes("60 steps of 4 groups from 24 lines", "step 60 of 60", "tokens a second"));
  const auto losses = curve("out", 1);
  ASSERT_EQ(losses.size(), 60U);
  EXPECT_LT(std::stod(losses.back()), std::stod(losses.front()) / 2);
  EXPECT_TRUE(program.has("out/vocab.txt"));
  EXPECT_FALSE(program.has("out/training-state.safetensors"));
  EXPECT_EQ(json::parse(program.read("out/config.json"))["attnscope"]["pattern"], "sparse");
  const Outcome scored = program.run("score --checkpoint out --pairs pairs.tsv");
  ASSERT_THAT(scored, Succeeds());
  std::istringstream lines(scored.out);
  double positive = 0, negative = 0;
  lines >> positive >> negative;
  EXPECT_GT(positive, negative + 1);
}

TEST_F(Train, AcceptsEveryObjectiveAndFormatOfTriples) {
  program.write("groups.jsonl",
                R"({"query":"a h","positive":"a h o","negatives":["m n","p h","b c d"]})"
                "\n"
                R"({"query":"b i","positive":"b i o","negatives":["m n"]})"
                "\n");
  EXPECT_THAT(train("a", "--ranknet --steps 3"), Succeeds());
  EXPECT_THAT(train("b", "--localized-ce --steps 3 --gradient-accumulation 2 --schedule linear",
                    "groups.jsonl"),
              Succeeds());
  const auto of_ids = [&](const std::string& texts, const std::string& out) {
    return train(out, "--margin-mse --steps 3 " + texts, "ids.tsv");
  };
  EXPECT_THAT(of_ids("--queries queries.tsv --documents documents.tsv", "ids"), Succeeds());
  std::vector<BeirDocument> corpus;
  std::vector<std::pair<std::string, std::string>> queries;
  std::istringstream lines(program.read("documents.tsv")), query_lines(program.read("queries.tsv"));
  for (std::string id, text; std::getline(std::getline(lines, id, '\t'), text);)
    corpus.push_back({id, "", text});
  for (std::string id, text; std::getline(std::getline(query_lines, id, '\t'), text);)
    queries.emplace_back(id, text);
  write_beir(program, corpus, queries, "q1\tp1\t1\n");
  EXPECT_THAT(of_ids("--beir set", "set-model"), Succeeds());
  EXPECT_EQ(weights("ids"), weights("set-model"));
  EXPECT_THAT(of_ids("--beir set --queries queries.tsv", "x"),
              FailsWith("remove --queries and --documents"));
  ASSERT_THAT(train("texts", "--margin-mse --steps 3"), Succeeds());
  EXPECT_EQ(weights("ids"), weights("texts"));
}

TEST_F(Train, IsDeterministicForASeed) {
  const std::string arguments = "--margin-mse --steps 8";
  ASSERT_THAT(train("one", arguments), Succeeds());
  ASSERT_THAT(train("two", arguments), Succeeds());
  EXPECT_EQ(weights("one"), weights("two"));
  EXPECT_EQ(curve("one", 1), curve("two", 1));
  ASSERT_THAT(train("other", "--margin-mse --steps 8 --seed 2"), Succeeds());
  EXPECT_NE(weights("one"), weights("other"));
  ASSERT_THAT(train("again", "--margin-mse --steps 8 --recompute"), Succeeds());
  EXPECT_EQ(weights("one"), weights("again"));
}

TEST_F(Train, ValidationEqualsTheNdcgOfRerank) {
  EXPECT_THAT(train("out", validated("--margin-mse --steps 4 --validate-every 2 --keep last")),
              Notes("the weights of the last step, 4, are kept"));
  const auto ndcg = curve("out", 6);
  ASSERT_EQ(ndcg.size(), 4U);
  EXPECT_EQ(ndcg[0], "");
  EXPECT_NE(ndcg[1], "");
  ASSERT_THAT(program.run("rerank --checkpoint out --run bm25.trec --queries queries.tsv "
                          "--documents documents.tsv -o out.trec"),
              Succeeds());
  const Outcome evaluated =
      program.run("evaluate --qrels qrels.txt out.trec --measures nDCG@10 --format csv");
  const std::string row = evaluated.out.substr(evaluated.out.find("nDCG@10,out,3,") + 14);
  EXPECT_NEAR(std::stod(ndcg[3]), std::stod(row), 5e-5) << evaluated.out;
}

TEST_F(Train, KeepsTheBestValidatedStep) {
  const auto of_steps = [&](int steps) {
    return validated(
        fmt::format("--margin-mse --warmup-steps 1 --validate-every 2 --steps {}", steps));
  };
  const Outcome outcome = train("best", of_steps(40));
  ASSERT_THAT(outcome, Succeeds());
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
  EXPECT_THAT(outcome,
              Notes(fmt::format("the weights of step {} are kept", step), "the best so far"));
  ASSERT_THAT(train("last", of_steps(step) + " --keep last"), Succeeds());
  EXPECT_EQ(weights("best"), weights("last"));
  ASSERT_THAT(train("whole", of_steps(40) + " --keep last"), Succeeds());
  EXPECT_NE(weights("best"), weights("whole"));
  EXPECT_EQ(curve("best", 1), curve("whole", 1));
}

/// A training of twelve steps whose worker ended after the state of step 6 was saved.
class HalfTrained : public Train {
 protected:
  HalfTrained() {
    EXPECT_THAT(train("cut", arguments_ + ending_worker()), FailsWith());
    EXPECT_TRUE(program.has("cut/training-state.safetensors"));
  }
  const std::string arguments_ = validated("--margin-mse --steps 12 --save-every 3");
};

TEST_F(HalfTrained, ResumesFromTheLastStateWithTheSameSettingsOnly) {
  EXPECT_FALSE(program.has("cut/model.safetensors"));
  for (const auto& [setting, words] :
       {std::pair{" --seed 5", "is from a training with seed 1, which is now 5"},
        {" --keep last", "with keep \"best\", which is now not given"},
        {" --validate-every 2", "with validate_every 3, which is now 2"},
        {" --label 0", "is from a training with label"}})
    EXPECT_THAT(train("cut", arguments_ + setting), FailsWith(words));
  EXPECT_THAT(program.run("train --checkpoint start --triples triples.tsv -o cut --batch 4 "
                          "--learning-rate 0.003 --threads 1 " +
                          arguments_),
              FailsWith("is from a training with threads 2, which is now 1; give the same"));
  EXPECT_THAT(train("cut", arguments_), Notes("resuming after step 6"));
  ASSERT_THAT(train("whole", arguments_), Succeeds());
  EXPECT_EQ(weights("cut"), weights("whole"));
  for (const int column : {1, 6}) EXPECT_EQ(curve("cut", column), curve("whole", column));
  EXPECT_THAT(train("cut", arguments_), FailsWith("already contains a model"));
}

TEST_F(HalfTrained, RefusesChangedInputFiles) {
  const std::string triples = program.read("triples.tsv");
  const auto second = triples.find('\n') + 1;
  const std::string turned = triples.substr(second) + triples.substr(0, second);
  std::string other_weights = program.read("start/model.safetensors");
  other_weights.back() = static_cast<char>(other_weights.back() ^ 1);
  for (const auto& [file, name, text] :
       std::vector<std::tuple<std::string, std::string, std::string>>{
           {"triples.tsv", "--triples", turned},
           {"bm25.trec", "--validate-run", program.read("bm25.trec") + "q2 Q0 p5 9 0 bm25\n"},
           {"qrels.txt", "--validate-qrels", program.read("qrels.txt") + "q0 0 n0 1\n"},
           {"queries.tsv", "--validate-queries", program.read("queries.tsv") + "q99\ta\n"},
           {"documents.tsv", "--validate-documents", program.read("documents.tsv") + "p99\ta\n"},
           {"start/vocab.txt", "vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\nb\na\n"},
           {"start/tokenizer_config.json", "tokenizer_config.json", R"({"do_lower_case": true})"},
           {"start/config.json", "config.json", program.read("start/config.json") + "\n"},
           {"start/model.safetensors", "model.safetensors", other_weights}}) {
    const bool existed = program.has(file);
    const std::string before = program.read(file);
    program.write(file, text);
    EXPECT_THAT(train("cut", arguments_),
                FailsWith("is from a training that read other contents of " + name + "; give"))
        << file;
    program.write(file, before);
    if (!existed) fs::remove(program.path(file));
  }
  EXPECT_THAT(train("cut", arguments_), Succeeds());
}

TEST_F(HalfTrained, FindsADamagedState) {
  const std::string state = program.read("cut/training-state.safetensors");
  for (const std::size_t at : {state.size() - 2, state.size() / 2, state.size() / 3 * 2}) {
    std::string damaged = state;
    damaged[at] = static_cast<char>(damaged[at] ^ 4);
    program.write("cut/training-state.safetensors", damaged);
    EXPECT_THAT(train("cut", arguments_),
                FailsWith("training-state.safetensors: i", "damaged", "restart with --restart"));
    EXPECT_FALSE(program.has("cut/model.safetensors"));
  }
  program.write("cut/training-state.safetensors", state);
  EXPECT_THAT(train("cut", arguments_), Succeeds());
}

TEST_F(HalfTrained, RestartRemovesOnlyListedFiles) {
  program.write("cut/notes.txt", "mine");
  const std::string restarted = arguments_ + " --restart";
  for (const auto& how : {arguments_, restarted}) {
    EXPECT_THAT(train("cut", how),
                FailsWith("cut: contains 'notes.txt', which no training has listed"));
    EXPECT_TRUE(program.has("cut/training-state.safetensors"));
    EXPECT_EQ(program.read("cut/notes.txt"), "mine");
  }
  fs::remove(program.path("cut/notes.txt"));
  EXPECT_THAT(train("cut", restarted), Succeeds());
  EXPECT_EQ(curve("cut", 1).size(), 12U);
}

TEST_F(Train, RefusesAFolderWithForeignFiles) {
  fs::create_directory(program.path("out"));
  for (const std::string name : {"training.tsv", "config.json", "validation.trec", "vocab.txt",
                                 "training-state.safetensors", "model.safetensors", "notes.txt"}) {
    program.write("out/" + name, "mine");
    for (const std::string how : {"", "--restart"}) {
      EXPECT_THAT(train("out", "--ranknet --steps 1 " + how),
                  FailsWith("out: contains '" + name + "'"));
      EXPECT_EQ(program.read("out/" + name), "mine");
    }
    fs::remove(program.path("out/" + name));
  }
  EXPECT_THAT(train("out", "--ranknet --steps 1"), Succeeds());
}

TEST_F(Train, NeverReplacesInputFilesInTheFolder) {
  ASSERT_THAT(train("out", "--ranknet --steps 1"), Succeeds());
  const auto refused = [&](const std::string& file, const std::string& arguments) {
    const std::string before = program.read(file);
    const auto all = "train --checkpoint start --ranknet --steps 1 -o out " + arguments;
    for (const auto& how : {all, all + " --restart"}) {
      EXPECT_THAT(program.run(how), FailsWith(file + ": is an input of this command")) << file;
      EXPECT_EQ(program.read(file), before) << file;
    }
  };
  program.write("out/training.tsv", program.read("triples.tsv"));
  refused("out/training.tsv", "--triples out/training.tsv");
  std::string with_run = validated("--triples triples.tsv");
  program.write("out/validation.trec", program.read("bm25.trec"));
  with_run.replace(with_run.find("bm25.trec"), 9, "out/validation.trec");
  refused("out/validation.trec", with_run);
  fs::remove(program.path("out/vocab.txt"));
  fs::create_hard_link(program.path("start/vocab.txt"), program.path("out/vocab.txt"));
  refused("out/vocab.txt", "--triples triples.tsv");
}

TEST_F(Train, PrintsAnEventForEveryStep) {
  const Outcome outcome = train("out", "--ranknet --steps 4 --save-every 2 --events");
  ASSERT_THAT(outcome, Succeeds());
  std::istringstream lines(outcome.out);
  std::vector<std::string> kinds;
  for (std::string line; std::getline(lines, line);) {
    const json event = json::parse(line);
    kinds.push_back(
        fmt::format("{} {}", event["event"].get<std::string>(), event["step"].get<int>()));
  }
  EXPECT_THAT(kinds, ::testing::ElementsAre("step 1", "step 2", "saved 2", "step 3", "step 4"));
}

TEST_F(Train, RefusesContradictoryOptionsAndInvalidFiles) {
  const auto refused = [&](const std::string& more, const char* words) {
    EXPECT_THAT(train("out", more), FailsWith(words));
    EXPECT_FALSE(program.has("out/model.safetensors"));
  };
  refused("--steps 1", "give an objective");
  refused("--steps 1 --margin-mse --ranknet", "give an objective");
  const std::string ranknet = "--ranknet --steps 1 ";
  for (const auto& [more, words] :
       {std::pair{"--dtype float16", "float16"},
        {"--validate-qrels none", "--validate-run"},
        {"--queries queries.tsv", "together"},
        {"--implementation dense", "use segment, windowed, sdpa"},
        {"--keep best", "needs a validation"},
        {"--gradient-accumulation 100000000", "groups that one update may have"},
        {"--max-grad-norm nan", "must be 0 or greater, not 'nan'"},
        {"--extend-positions 10", "positions, which cannot be extended to 10"},
        {"--warmup-steps 50", "--warmup-steps 50 is more than --steps 1"}})
    refused(ranknet + more, words);
  const auto unjudged = validated(ranknet);
  program.write("qrels.txt", "other 0 p1 1\n");
  refused(unjudged, "bm25.trec: none of its queries is judged in qrels.txt");
  program.write("triples.tsv", "a\tb\tc\t1\na\tb\n");
  refused("--steps 1 --margin-mse", "triples.tsv, line 2: has 2 columns");
  EXPECT_THAT(train("start", ranknet), FailsWith());
}

TEST_F(Train, LostEventsAreAnErrorButTheModelIsComplete) {
  EXPECT_EQ(program.shell(fmt::format("ATTNSCOPE_WORKER='{}' '{}' train --checkpoint start "
                                      "--triples triples.tsv --ranknet --steps 2 --events -o out "
                                      ">/dev/full 2>lost",
                                      ATTNSCOPE_WORKER_PROGRAM, ATTNSCOPE_PROGRAM)),
            2);
  EXPECT_THAT(program.read("lost"),
              HasSubstr("some events could not be written to standard output (No space left on "
                        "device); the trained model in out is complete"));
  EXPECT_THAT(program.run("score --checkpoint out --pairs pairs.tsv"), Succeeds());
}

TEST_F(Train, RefusesAFolderOfARunningTraining) {
  const fs::path folder = program.path("out");
  fs::create_directory(folder);
  const int other = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ASSERT_EQ(::flock(other, LOCK_EX), 0);
  EXPECT_THAT(train("out", "--ranknet --steps 1"), FailsWith("another training writes into it"));
  ::close(other);
  EXPECT_THAT(train("out", "--ranknet --steps 1"), Succeeds());
}

}  // namespace
}  // namespace attnscope::testing
