// SPDX-License-Identifier: Apache-2.0
//
// `train` with the real worker, killed at random moments or interrupted: it resumes, ends with the
// weights and the curve of an undisturbed training, and keeps the same step.
#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "tests/checkpoint/tiny_checkpoint.h"
#include "tests/faults/live_program.h"

namespace attnscope {
namespace {

namespace fs = std::filesystem;

class TrainKill : public FaultFixture {
 protected:
  TrainKill() {
    fs::create_directory(folder_ / "start");
    tests::TinyCheckpoint::bert().write(folder_ / "start");
    std::ofstream(folder_ / "start" / "vocab.txt")
        << "[PAD]\n[UNK]\n[CLS]\n[SEP]\na\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl\nm\nn\no\np\n";
    std::ofstream triples(folder_ / "triples.tsv");
    for (int i = 0; i < 30; ++i) {
      const char a = static_cast<char>('a' + i % 7), b = static_cast<char>('h' + i % 5);
      triples << fmt::format("{} {}\t{} {} o\tm {} n {}\t{}\n", a, b, a, b, b, a, 2 + i % 3);
    }
    std::ofstream run(folder_ / "bm25.trec"), qrels(folder_ / "qrels.txt");
    std::ofstream queries(folder_ / "queries.tsv"), documents(folder_ / "documents.tsv");
    for (int i = 0; i < 5; ++i) {
      const char a = static_cast<char>('a' + i), b = static_cast<char>('h' + i);
      queries << fmt::format("q{}\t{} {}\n", i, a, b);
      documents << fmt::format("d{}\t{} {} o m\n", i, a, b);
      qrels << fmt::format("q{} 0 d{} 1\n", i, i);
      for (int d = 0; d < 5; ++d) run << fmt::format("q{} Q0 d{} {} {} bm25\n", i, d, d + 1, -d);
    }
  }

  [[nodiscard]] std::vector<std::string> train(const std::string& out) const {
    std::istringstream words(fmt::format(
        "train --checkpoint {0}/start --triples {0}/triples.tsv --margin-mse --steps 400 --batch 4 "
        "--save-every 2 --learning-rate 0.002 --threads 2 --validate-run {0}/bm25.trec "
        "--validate-qrels {0}/qrels.txt --validate-queries {0}/queries.tsv "
        "--validate-documents {0}/documents.tsv --validate-every 5 --events --worker {1} -o "
        "{0}/{2}",
        folder_.string(), ATTNSCOPE_WORKER_PROGRAM, out));
    return {std::istream_iterator<std::string>(words), {}};
  }
  [[nodiscard]] std::string errors() const { return (folder_ / "errors").string(); }
  [[nodiscard]] std::string weights(const std::string& out) const {
    return text_of(folder_ / out / "model.safetensors");
  }
  /// Every column of its steps but the seconds.
  [[nodiscard]] std::vector<std::string> curve(const std::string& out) const {
    std::vector<std::string> lines;
    std::ifstream file(folder_ / out / "training.tsv");
    for (std::string line; std::getline(file, line);) {
      const std::size_t end = line.rfind('\t'), before = line.rfind('\t', end - 1);
      lines.push_back(line.erase(before, end - before));
    }
    return lines;
  }
  /// Exit code of a training that is left alone.
  [[nodiscard]] int trained(const std::string& out) {
    LiveProgram program(train(out), errors());
    const int exit_code = program.read_to_the_end();
    last_event_ = program.seen().empty() ? nlohmann::json() : program.seen().back();
    return exit_code;
  }
  nlohmann::json last_event_;
};

TEST_F(TrainKill, KilledTwentyTimesOrInterrupted_EndsWithTheSameWeights) {
  ASSERT_EQ(trained("whole"), 0);
  EXPECT_FALSE(weights("whole").empty());
  EXPECT_EQ(curve("whole").size(), 401U);
  const nlohmann::json kept = last_event_;
  EXPECT_EQ(kept.value("event", ""), "kept");
  EXPECT_LT(kept.value("step", 400), 400) << "the best step must not be the last";
  std::mt19937 draw(22);
  int kills = 0;
  int most_steps = 0;
  while (kills < 20) {
    LiveProgram program(train("killed"), errors());
    program.read(std::uniform_int_distribution<int>(1, 9)(draw));
    program.send(SIGKILL);
    if (program.wait() != -SIGKILL) break;
    ++kills;
    for (const auto& event : program.seen())
      most_steps = std::max(most_steps, event.value("step", 0));
  }
  EXPECT_EQ(kills, 20) << "the training ended before";
  EXPECT_GT(most_steps, 10);
  ASSERT_EQ(trained("killed"), 0);
  EXPECT_EQ(weights("killed"), weights("whole"));
  EXPECT_EQ(curve("killed"), curve("whole"));
  EXPECT_EQ(last_event_, kept);
  for (const auto& entry : fs::directory_iterator(folder_ / "killed"))
    EXPECT_EQ(entry.path().string().find(".part-"), std::string::npos) << entry.path();

  {
    LiveProgram program(train("interrupted"), errors());
    program.read(3);
    program.send(SIGINT);
    EXPECT_EQ(program.read_to_the_end(), 130);
    EXPECT_EQ(program.seen().back().value("event", ""), "saved");
  }
  EXPECT_THAT(text_of(errors()), testing::HasSubstr("the same command resumes the training"));
  ASSERT_EQ(trained("interrupted"), 0);
  EXPECT_EQ(weights("interrupted"), weights("whole"));
  EXPECT_EQ(curve("interrupted"), curve("whole"));
}

}  // namespace
}  // namespace attnscope
