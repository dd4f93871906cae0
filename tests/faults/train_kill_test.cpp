// SPDX-License-Identifier: Apache-2.0
//
// `train` killed at any moment, by the program and the real worker: it goes on to the weights of a
// training that nobody disturbed.
#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
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
  }

  [[nodiscard]] std::vector<std::string> train(const std::string& out) const {
    return {"train",
            "--checkpoint",
            (folder_ / "start").string(),
            "--triples",
            (folder_ / "triples.tsv").string(),
            "--margin-mse",
            "--steps",
            "400",
            "--batch",
            "4",
            "--save-every",
            "2",
            "--learning-rate",
            "0.002",
            "--threads",
            "2",
            "--events",
            "--worker",
            ATTNSCOPE_WORKER_PROGRAM,
            "-o",
            (folder_ / out).string()};
  }
  [[nodiscard]] std::string errors() const { return (folder_ / "errors").string(); }
  [[nodiscard]] std::string weights(const std::string& out) const {
    std::ifstream file(folder_ / out / "model.safetensors", std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  /// Exit code of a training that is left alone.
  [[nodiscard]] int trained(const std::string& out) const {
    LiveProgram program(train(out), errors());
    program.read_all();
    return program.wait();
  }
};

TEST_F(TrainKill, KilledAtRandomTwentyTimes_GoesOnToTheSameWeights) {
  ASSERT_EQ(trained("whole"), 0);
  std::mt19937 draw(22);
  int kills = 0;
  int most_steps = 0;
  while (kills < 20) {
    LiveProgram program(train("killed"), errors());
    // Behind so many events of this life, wherever that falls between a step and a state.
    program.read(std::uniform_int_distribution<int>(1, 9)(draw));
    program.send(SIGKILL);
    if (program.wait() != -SIGKILL) break;
    ++kills;
    for (const auto& event : program.seen())
      most_steps = std::max(most_steps, event.value("step", 0));
  }
  EXPECT_EQ(kills, 20) << "it had ended by itself";
  EXPECT_GT(most_steps, 10);
  ASSERT_EQ(trained("killed"), 0);
  EXPECT_FALSE(weights("whole").empty());
  EXPECT_EQ(weights("killed"), weights("whole"));
  for (const auto& entry : fs::directory_iterator(folder_ / "killed"))
    EXPECT_EQ(entry.path().string().find(".part-"), std::string::npos) << entry.path();
}

TEST_F(TrainKill, Interrupted_FinishesItsStepAndSaysHowItGoesOn) {
  ASSERT_EQ(trained("whole"), 0);
  {
    LiveProgram program(train("stopped"), errors());
    program.read(3);
    program.send(SIGINT);
    program.read_all();
    EXPECT_EQ(program.wait(), 130);
    EXPECT_EQ(program.seen().back().value("event", ""), "saved");
  }
  std::ifstream file(errors());
  const std::string said{std::istreambuf_iterator<char>(file), {}};
  EXPECT_THAT(said, testing::HasSubstr("the same command goes on"));
  ASSERT_EQ(trained("stopped"), 0);
  EXPECT_EQ(weights("stopped"), weights("whole"));
}

}  // namespace
}  // namespace attnscope
