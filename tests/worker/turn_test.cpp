// SPDX-License-Identifier: Apache-2.0
//
// One measurement at a time by locks of a file, and what a hostile file can do.
#include "engine/worker/turn.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace attnscope {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

class TurnTest : public testing::Test {
 protected:
  TurnTest() {
    std::string folder = testing::TempDir() + "attnscope-turn-XXXXXX";
    folder_ = mkdtemp(folder.data());
  }
  ~TurnTest() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::filesystem::path file() const { return folder_ / "attnscope-cpu.lock"; }
  [[nodiscard]] Turn turn_of(const std::string& what) const {
    auto turn = Turn::line_up(folder_, "cpu", {.what = what, .process = getpid()});
    if (!turn) throw std::runtime_error(turn.error().message);
    return std::move(*turn);
  }
  [[nodiscard]] std::string refusal() const {
    const auto turn = Turn::line_up(folder_, "cpu", {});
    return turn ? std::string() : turn.error().message;
  }
  static bool comes(Turn& turn) { return turn.has_come().value(); }
  static std::vector<std::string> names(const std::vector<Measurement>& others) {
    std::vector<std::string> names;
    for (const Measurement& other : others) names.push_back(other.what);
    return names;
  }

  std::filesystem::path folder_;
};

TEST_F(TurnTest, TheSecond_WaitsForTheEndOfTheFirst) {
  std::optional<Turn> first = turn_of("run 'first'");
  EXPECT_TRUE(comes(*first));
  Turn second = turn_of("run 'second'");
  EXPECT_FALSE(comes(second));
  ASSERT_TRUE(second.holder());
  EXPECT_EQ(second.holder()->what, "run 'first'");
  EXPECT_EQ(second.holder()->process, getpid());
  EXPECT_FALSE(second.holder()->user.empty());
  EXPECT_GT(second.holder()->since_unix_s, 0);
  EXPECT_THAT(first->others(), IsEmpty());
  first.reset();
  EXPECT_TRUE(comes(second));
  EXPECT_THAT(second.others(), IsEmpty());
}

TEST_F(TurnTest, AnotherDevice_IsMeasuredAtTheSameTime) {
  Turn processor = turn_of("a");
  EXPECT_TRUE(comes(processor));
  auto device = Turn::line_up(folder_, "cuda", {});
  ASSERT_TRUE(device);
  EXPECT_TRUE(comes(*device));
}

TEST_F(TurnTest, WaitingTurns_ComeInTheOrderOfTheirArrival) {
  std::optional<Turn> holder = turn_of("a");
  EXPECT_TRUE(comes(*holder));
  std::optional<Turn> second = turn_of("b");
  std::optional<Turn> gone = turn_of("gone");
  Turn third = turn_of("c");
  holder.reset();
  EXPECT_FALSE(comes(third));  // though it looks first
  gone.reset();
  EXPECT_TRUE(comes(*second));
  EXPECT_FALSE(comes(third));
  second.reset();
  EXPECT_TRUE(comes(third));
}

TEST_F(TurnTest, ChildProcesses_DoNotInheritTheTurn) {
  std::optional<Turn> first = turn_of("first");
  EXPECT_TRUE(comes(*first));
  FILE* outlives = popen("cat", "w");  // until its input is closed
  ASSERT_NE(outlives, nullptr);
  std::fputs("\n", outlives);
  first.reset();
  Turn second = turn_of("second");
  // The child may not have executed its program yet.
  while (!comes(second)) {
  }
  pclose(outlives);
}

TEST_F(TurnTest, AMeasurementThatDoesNotWait_IsReportedToBoth) {
  Turn holder = turn_of("run 'holder'");
  EXPECT_TRUE(comes(holder));
  std::optional<Turn> intruder = turn_of("run 'intruder'");
  intruder->begin_now();
  EXPECT_THAT(names(holder.others()), ElementsAre("run 'intruder'"));
  EXPECT_THAT(names(intruder->others()), ElementsAre("run 'holder'"));
  EXPECT_THAT(names(holder.others()), ElementsAre("run 'intruder'"));  // it still measures
  intruder.reset();
  EXPECT_THAT(holder.others(), IsEmpty());
}

TEST_F(TurnTest, AMeasurementThatHasEnded_IsReportedOnce) {
  Turn holder = turn_of("run 'holder'");
  EXPECT_TRUE(comes(holder));
  for (const char* name : {"a", "b"}) turn_of(name).begin_now();
  EXPECT_THAT(names(holder.others()), ElementsAre("a", "b"));
  EXPECT_THAT(holder.others(), IsEmpty());
}

TEST_F(TurnTest, AMeasurementThatDidNotWait_DelaysOthers) {
  std::optional<Turn> alone = turn_of("run 'alone'");
  alone->begin_now();
  Turn next = turn_of("next");
  EXPECT_FALSE(comes(next));
  ASSERT_TRUE(next.holder());
  EXPECT_EQ(next.holder()->what, "run 'alone'");
  alone.reset();
  EXPECT_TRUE(comes(next));
}

TEST_F(TurnTest, TheFile_IsWritableByAllUsersDespiteTheMask) {
  const mode_t before = umask(077);
  Turn turn = turn_of("a");
  EXPECT_EQ(umask(before), 077);
  struct stat found = {};
  ASSERT_EQ(stat(file().c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0666);
}

TEST_F(TurnTest, ARemovedFile_IsWaitedForAndThenCreated) {
  std::optional<Turn> holder = turn_of("a");
  EXPECT_TRUE(comes(*holder));
  Turn waiting = turn_of("b");
  std::filesystem::remove(file());
  EXPECT_FALSE(comes(waiting));
  holder.reset();
  EXPECT_FALSE(comes(waiting));  // it lines up at the new file
  EXPECT_TRUE(comes(waiting));
  EXPECT_TRUE(std::filesystem::exists(file()));
}

TEST_F(TurnTest, AFileOfAnotherKind_IsRefusedUnchanged) {
  const auto target = folder_ / "target";
  std::ofstream(target) << "mine";
  std::filesystem::create_symlink(target, file());
  EXPECT_THAT(refusal(), HasSubstr("is a symbolic link"));
  std::filesystem::remove(file());
  std::filesystem::create_hard_link(target, file());
  EXPECT_THAT(refusal(), HasSubstr("has a second hard link"));
  std::filesystem::remove(file());
  std::filesystem::create_directory(file());
  EXPECT_THAT(refusal(), HasSubstr("Is a directory"));
  std::filesystem::remove(file());
  ASSERT_EQ(mkfifo(file().c_str(), 0600), 0);
  EXPECT_THAT(refusal(), HasSubstr("is not a regular file"));
  std::stringstream text;
  text << std::ifstream(target).rdbuf();
  EXPECT_EQ(text.str(), "mine");
}

TEST_F(TurnTest, AMissingFolder_IsNamed) {
  const auto turn = Turn::line_up("/nowhere", "cpu", {});
  ASSERT_FALSE(turn);
  EXPECT_THAT(turn.error().message, HasSubstr("/nowhere/attnscope-cpu.lock"));
}

TEST_F(TurnTest, Garbage_HoldsNoTurn) {
  std::ofstream(file()) << "\x1b[2J\n{\"place\":-1}\n{\"place\":1e300}\n[[[[\n"
                        << std::string(300'000, 'x') << "\n{\"place\":7,\"turn\":true}\n";
  Turn turn = turn_of("a");
  EXPECT_FALSE(turn.holder());
  EXPECT_TRUE(comes(turn));
  Turn waiting = turn_of("b");
  std::ofstream(file(), std::ios::app) << "{\"place\":9223372036854775807,\"turn\":true}\n";
  EXPECT_FALSE(comes(waiting));
  ASSERT_TRUE(waiting.holder());
  EXPECT_EQ(waiting.holder()->what, "a");
  std::filesystem::resize_file(file(), 0);
  EXPECT_FALSE(comes(waiting));
  EXPECT_FALSE(waiting.holder());
}

TEST(Measurement, InWords_OmitsUnknownFactsAndControlCharacters) {
  EXPECT_EQ(in_words({}), "another measurement");
  EXPECT_EQ(in_words({.what = "run 'a'", .process = 12, .user = "ann"}),
            "run 'a' (process 12 of ann)");
  EXPECT_EQ(in_words({.what = "run 'a'", .process = 12, .host = "elsewhere"}),
            "run 'a' (process 12 on elsewhere)");
  EXPECT_THAT(in_words({.what = "a", .since_unix_s = 86'400 * 365}), HasSubstr("since 197"));
  EXPECT_THAT(in_words({.what = "a", .since_unix_s = INT64_MAX}), Not(HasSubstr("since")));
  const std::string hostile =
      in_words({.what = "\x1b[2J" + std::string(1000, 'x'), .user = "\x1b]0;\n"});
  EXPECT_THAT(hostile, Not(HasSubstr("\x1b")));
  EXPECT_THAT(hostile, Not(HasSubstr("\n")));
  EXPECT_THAT(hostile, SizeIs(testing::Lt(300)));
}

TEST(LocksFolder, IsNamedByTheEnvironment) {
  const char* before = std::getenv("ATTNSCOPE_LOCKS");
  const std::optional<std::string> kept = before ? std::optional(before) : std::nullopt;
  setenv("ATTNSCOPE_LOCKS", "/somewhere", 1);
  EXPECT_EQ(locks_folder(), "/somewhere");
  unsetenv("ATTNSCOPE_LOCKS");
  EXPECT_THAT(locks_folder().string(), testing::AnyOf("/run/lock", "/tmp"));
  if (kept) setenv("ATTNSCOPE_LOCKS", kept->c_str(), 1);
}

}  // namespace
}  // namespace attnscope
