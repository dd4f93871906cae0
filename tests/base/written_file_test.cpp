// SPDX-License-Identifier: Apache-2.0
#include "base/written_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <fstream>
#include <iterator>

#include "tests/safetensors/scratch_folder.h"

namespace attnscope {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class Written : public testing::Test {
 protected:
  [[nodiscard]] fs::path path(const char* name) const { return folder_ / name; }
  [[nodiscard]] auto files() const {
    return std::distance(fs::directory_iterator(folder_.path()), fs::directory_iterator());
  }
  static std::string read(const fs::path& file) {
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static mode_t mode_of(const fs::path& file) {
    struct stat info {};
    EXPECT_EQ(::stat(file.c_str(), &info), 0);
    return info.st_mode & 0777U;
  }

  tests::ScratchFolder folder_;
};

TEST_F(Written, FileGetsItsNameOnCommit) {
  std::ofstream(path("a")) << "old";
  {
    auto file = WrittenFile::next_to(path("a"));
    ASSERT_TRUE(file);
    EXPECT_TRUE(file->write("ne"));
    EXPECT_TRUE(file->write("w"));
    EXPECT_EQ(read(path("a")), "old");
    EXPECT_TRUE(file->commit());
    EXPECT_EQ(read(path("a")), "new");
  }
  EXPECT_EQ(read(path("a")), "new");
  EXPECT_EQ(files(), 1);
}

TEST_F(Written, UncommittedFileIsRemoved) {
  {
    auto file = WrittenFile::next_to(path("a"));
    ASSERT_TRUE(file);
    EXPECT_TRUE(file->write("half"));
  }
  EXPECT_EQ(files(), 0);
}

TEST_F(Written, FullDiskIsAnErrorAndKeepsTheOldFile) {
  std::signal(SIGXFSZ, SIG_IGN);
  std::ofstream(path("a")) << "old";
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit small = before;
  small.rlim_cur = 4;  // bytes
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const Status written = write_file(path("a"), "more than four");
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  ASSERT_FALSE(written);
  EXPECT_THAT(written.error().message,
              HasSubstr("a: cannot be written: File too large; free disk space"));
  EXPECT_EQ(read(path("a")), "old");
  EXPECT_EQ(files(), 1);
}

TEST_F(Written, ReplacesOnlyRegularFiles) {
  std::ofstream(path("real")) << "kept";
  fs::create_symlink(path("real"), path("link"));
  fs::create_symlink(path("nowhere"), path("dangling"));
  fs::create_directory(path("folder"));
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  for (const auto& [file, words] : {std::pair(path("link"), "is a symbolic link"),
                                    {path("dangling"), "is a symbolic link"},
                                    {path("folder"), "is a directory"},
                                    {path("pipe"), "is a device or a pipe"},
                                    {fs::path("/dev/null"), "is a device or a pipe"}}) {
    const Status written = write_file(file, "text");
    ASSERT_FALSE(written) << file;
    EXPECT_THAT(written.error().message, HasSubstr(file.string() + ": " + words));
  }
  EXPECT_EQ(read(path("real")), "kept");
  EXPECT_FALSE(fs::exists(path("nowhere")));
}

TEST_F(Written, WritesToAStreamOnCommit) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  const int reader = ::open(path("pipe").c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  auto file = WrittenFile::of_output(path("pipe"));
  ASSERT_TRUE(file);
  EXPECT_FALSE(file->replaces());
  EXPECT_TRUE(file->write("whole"));
  std::array<char, 16> text{};
  EXPECT_EQ(::read(reader, text.data(), text.size()), 0);  // nothing yet
  EXPECT_TRUE(file->commit());
  EXPECT_EQ(::read(reader, text.data(), text.size()), 5);
  EXPECT_STREQ(text.data(), "whole");
  ::close(reader);
  EXPECT_EQ(files(), 1);  // the pipe, and no part
  EXPECT_TRUE(write_file("/dev/null", "text", Streams::allowed));
  const Status full = write_file("/dev/full", "text", Streams::allowed);
  ASSERT_FALSE(full);
  EXPECT_THAT(full.error().message, HasSubstr("/dev/full: cannot be written: No space left"));
  EXPECT_TRUE(may_be_written("-", {}, Streams::allowed));
  EXPECT_FALSE(may_be_written("-"));
}

TEST_F(Written, NeverReplacesAnInputUnderAnyName) {
  std::ofstream(path("in")) << "kept";
  fs::create_hard_link(path("in"), path("also"));
  const fs::path inputs[] = {path("other"), path("in")};
  for (const fs::path& name : {path("in"), folder_.path() / "." / "in", path("also")}) {
    const Status allowed = may_be_written(name, inputs);
    ASSERT_FALSE(allowed) << name;
    EXPECT_THAT(allowed.error().message, HasSubstr("is an input of this command"));
  }
  EXPECT_TRUE(may_be_written(path("out"), inputs));
}

TEST_F(Written, NeverReplacesARegisteredFile) {
  std::ofstream(path("in")) << "kept";
  fs::create_hard_link(path("in"), path("also"));
  fs::create_directory_symlink(folder_.path(), path("here"));
  note_read(path("in"));
  note_read(path("to come"));
  for (const fs::path& name :
       {path("in"), path("also"), path("here") / "in", path("to come"), path("here") / "to come"}) {
    const Status written = write_file(name, "new");
    ASSERT_FALSE(written) << name;
    EXPECT_THAT(written.error().message, HasSubstr("is an input of this command"));
  }
  EXPECT_EQ(read(path("in")), "kept");
  EXPECT_FALSE(fs::exists(path("to come")));
}

TEST_F(Written, NeverReplacesAFileRegisteredBeforeCommit) {
  auto file = WrittenFile::next_to(path("a"));
  ASSERT_TRUE(file);
  std::ofstream(path("a")) << "kept";
  note_read(path("a"));
  EXPECT_FALSE(file->commit());
  EXPECT_EQ(read(path("a")), "kept");
}

TEST_F(Written, RemovesOnlyUnlockedPartFiles) {
  for (const char* name : {"a.part-killed", "a.part-killed-journal", "a.part-seven77", "a.part-",
                           "b.part-killed", "a.part"}) {
    std::ofstream(path(name)) << "half";
  }
  fs::create_symlink(path("a.part"), path("a.part-linked"));
  auto other = WrittenFile::next_to(path("a"));  // another one that is being written
  ASSERT_TRUE(other && other->write("other"));
  EXPECT_TRUE(write_file(path("a"), "mine"));
  EXPECT_FALSE(fs::exists(path("a.part-killed")));
  EXPECT_FALSE(fs::exists(path("a.part-killed-journal")));
  for (const char* name : {"a.part-seven77", "a.part-", "b.part-killed", "a.part", "a.part-linked"})
    EXPECT_TRUE(fs::exists(path(name))) << name;
  EXPECT_TRUE(other->commit());
  EXPECT_EQ(read(path("a")), "other");
}

TEST_F(Written, FingerprintCoversAllBytes) {
  std::string text(3'000'001, 'x');
  std::ofstream(path("a")) << text;
  text.back() = 'y';
  std::ofstream(path("b")) << text;
  EXPECT_EQ(*fingerprint_of_file(path("a")), *fingerprint_of_file(path("a")));
  EXPECT_NE(*fingerprint_of_file(path("a")), *fingerprint_of_file(path("b")));
  EXPECT_FALSE(fingerprint_of_file(path("none")));
}

TEST_F(Written, NeverReplacesADatabaseOrItsLog) {
  std::ofstream(path("runs.svg")) << "SQLite format 3" << '\0' << "runs";
  std::ofstream(path("runs.svg-wal")) << "more runs";
  for (const char* name : {"runs.svg", "runs.svg-wal", "runs.svg-journal"}) {
    const Status written = write_file(path(name), "<svg/>");
    ASSERT_FALSE(written) << name;
    EXPECT_THAT(written.error().message, HasSubstr("is a database"));
  }
  EXPECT_EQ(read(path("runs.svg-wal")), "more runs");
}

TEST_F(Written, WritesAllFilesOrNone) {
  std::ofstream(path("a")) << "old";
  const FileText some[] = {{path("a"), "new"}, {path("no") / "such", "new"}};
  EXPECT_FALSE(write_files(some));
  EXPECT_EQ(read(path("a")), "old");
  EXPECT_EQ(files(), 1);
  const FileText all[] = {{path("a"), "1"}, {path("b"), "2"}};
  EXPECT_TRUE(write_files(all));
  EXPECT_EQ(read(path("a")) + read(path("b")), "12");
}

TEST_F(Written, KeepsPermissionsOfAReplacedFile) {
  const mode_t mask = ::umask(022);
  EXPECT_TRUE(write_file(path("new"), ""));
  EXPECT_TRUE(WrittenFile::next_to(path("own"), Readers::owner_only)->commit());
  std::ofstream(path("old")) << "";
  fs::permissions(path("old"), fs::perms(0640));
  EXPECT_TRUE(write_file(path("old"), ""));
  ::umask(mask);
  EXPECT_EQ(mode_of(path("new")), 0644U);
  EXPECT_EQ(mode_of(path("own")), 0600U);
  EXPECT_EQ(mode_of(path("old")), 0640U);
}

}  // namespace
}  // namespace attnscope
