// SPDX-License-Identifier: Apache-2.0
#include "base/line_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "base/gzip.h"
#include "base/written_file.h"
#include "tests/base/packed.h"
#include "tests/safetensors/scratch_folder.h"

namespace attnscope {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using namespace std::string_literals;
using tests::packed;

class Gzip : public testing::Test {
 protected:
  /// The lines of a file of these bytes, and in the end the error, if there is one.
  [[nodiscard]] std::vector<std::string> lines_of(std::string_view bytes) const {
    tests::write_bytes(folder_ / "file", bytes);
    auto file = LineFile::open(folder_ / "file");
    EXPECT_TRUE(file) << file.error().message;
    std::vector<std::string> lines;
    while (true) {
      const auto line = file->next();
      if (!line) lines.push_back(line.error().message);
      if (!line || !*line) return lines;
      lines.emplace_back((*line)->text);
    }
  }
  [[nodiscard]] std::string bytes_of(const char* name) const {
    std::ifstream in(folder_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  tests::ScratchFolder folder_;
};

/// Lines of random letters, which hardly compress: many blocks, compressed and decompressed.
std::vector<std::string> drawn_lines() {
  std::mt19937 draw(7);
  std::vector<std::string> lines(20'000);
  for (std::string& line : lines) {
    line.resize(draw() % 60);
    for (char& letter : line) letter = static_cast<char>('!' + draw() % 90);
  }
  return lines;
}

std::string text_of(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

TEST_F(Gzip, ReadsACompressedFileOfAnyName) {
  const std::vector<std::string> lines = drawn_lines();
  EXPECT_EQ(lines_of(packed(text_of(lines))), lines);
}

TEST_F(Gzip, JoinsConsecutiveMembers) {
  EXPECT_EQ(lines_of(packed("one\ntw") + packed("") + packed("o\nthree\n")),
            (std::vector<std::string>{"one", "two", "three"}));
  EXPECT_EQ(lines_of(packed("one\n") + std::string(512, '\0')), std::vector<std::string>{"one"});
}

TEST_F(Gzip, ReportsOffsetsInTheDecompressedText) {
  tests::write_bytes(folder_ / "a", packed("\xef\xbb\xbfone\ntwo"));
  auto file = LineFile::open(folder_ / "a");
  ASSERT_TRUE(file);
  EXPECT_EQ((*file->next())->text, "one");
  EXPECT_EQ((*file->next())->begin, 7);
  EXPECT_FALSE(*file->next());
  EXPECT_EQ(file->progress(), 1.0);
  EXPECT_THAT(file->missing_line_end(), HasSubstr("no line end"));
}

TEST_F(Gzip, ReadsAPlainFileNamedGz) {
  tests::write_bytes(folder_ / "plain.gz", "one\n");
  auto file = LineFile::open(folder_ / "plain.gz");
  EXPECT_EQ((*file->next())->text, "one");
  EXPECT_TRUE(lines_of("").empty());
  EXPECT_EQ(lines_of("\x1f"), std::vector<std::string>{"\x1f"});
}

TEST_F(Gzip, RefusesATruncatedFile) {
  const std::string whole = packed("one\ntwo\n");
  for (std::size_t kept = gzip_mark.size(); kept < whole.size(); ++kept) {
    const auto lines = lines_of(whole.substr(0, kept));
    EXPECT_THAT(lines.back(), AllOf(HasSubstr("/file: its gzip data are truncated"),
                                    HasSubstr(fmt::format("after {} bytes", kept)),
                                    HasSubstr("copy the file again")));
  }
}

TEST_F(Gzip, RefusesDamagedData) {
  const std::string whole = packed("one\ntwo\n");
  for (const std::size_t at : {whole.size() - 8, whole.size() - 1, std::size_t{2}}) {
    std::string hurt = whole;
    hurt[at] = static_cast<char>(hurt[at] ^ 1);
    EXPECT_THAT(lines_of(hurt).back(), AllOf(HasSubstr("/file: its gzip data are damaged"),
                                             HasSubstr("copy or compress it again")));
  }
}

TEST_F(Gzip, RefusesTrailingBytes) {
  for (const std::string& more : {"x"s, "\x1f"s, "three\n"s, std::string(512, '\0') + "x"}) {
    EXPECT_THAT(lines_of(packed("one\n") + more).back(),
                AllOf(HasSubstr("/file: other bytes follow"), HasSubstr("remove")));
  }
}

TEST_F(Gzip, NeverReplacesACompressedDatabase) {
  const std::string database = "SQLite format 3\0 and its pages"s;
  tests::write_bytes(folder_ / "run.trec", packed(database));
  EXPECT_THAT(write_file(folder_ / "run.trec", "1 Q0 d 1 1 a\n").error().message,
              HasSubstr("is a database"));
  EXPECT_EQ(bytes_of("run.trec"), packed(database));
  tests::write_bytes(folder_ / "run.trec", packed("1 Q0 d 1 1 a\n"));
  EXPECT_TRUE(write_file(folder_ / "run.trec", "1 Q0 d 1 1 a\n"));
}

TEST_F(Gzip, SeeksInADecompressedCopy) {
  tests::write_bytes(folder_ / "a.gz", packed("one\ntwo\nthree\n"));
  auto file = LineFile::open_to_seek(folder_ / "a.gz");
  ASSERT_TRUE(file) << file.error().message;
  for (const auto& [begin, text] :
       {std::pair(8, "three"), std::pair(0, "one"), std::pair(4, "two")}) {
    ASSERT_TRUE(file->seek(begin));
    EXPECT_EQ((*file->next())->text, text);
  }
  EXPECT_THAT(file->place(2), HasSubstr("a.gz, line 2"));
  EXPECT_EQ(file->missing_line_end(), "");
  auto in_order = LineFile::open(folder_ / "a.gz");
  EXPECT_THAT(in_order->seek(4).error().message, HasSubstr("cannot be read in random order"));
  EXPECT_FALSE(LineFile::open_to_seek(folder_ / "a.gz", [](double) { return false; }));
}

TEST_F(Gzip, LimitsTheDecompressedSize) {
  constexpr std::int64_t mebibyte = 1 << 20;
  tests::write_bytes(folder_ / "bomb.gz", packed(std::string(3 * mebibyte, '\0')));
  for (const std::int64_t most : {3 * mebibyte, 3 * mebibyte - 1}) {
    const int number = ::open((folder_ / "bomb.gz").c_str(), O_RDONLY | O_CLOEXEC);
    UnpackedBytes bytes(number, "bomb.gz");
    std::int64_t given = 0;
    const Status done = unpack_all(bytes, most, [&](std::span<const char> part) -> Status {
      given += static_cast<std::int64_t>(part.size());
      return {};
    });
    ::close(number);
    EXPECT_LE(given, most);
    EXPECT_EQ(done.has_value(), most == 3 * mebibyte);
    if (!done) {
      EXPECT_EQ(
          done.error().message,
          "bomb.gz: decompresses to more than 2 MiB, which is too much to read at once; decompress "
          "it with gunzip and name the result");
    }
  }
}

TEST_F(Gzip, CompressesAnOutputNamedGz) {
  auto file = WrittenFile::next_to(folder_ / "a.gz");
  ASSERT_TRUE(file);
  EXPECT_TRUE(file->write("one\n"));
  EXPECT_TRUE(file->flush());
  EXPECT_TRUE(file->write("two\n"));
  EXPECT_TRUE(file->commit());
  EXPECT_EQ(lines_of(bytes_of("a.gz")), (std::vector<std::string>{"one", "two"}));
  ASSERT_TRUE(write_file(folder_ / "b.gz", text_of(drawn_lines())));
  EXPECT_EQ(bytes_of("b.gz"), packed(text_of(drawn_lines())));
  ASSERT_TRUE(write_file(folder_ / "empty.gz", ""));
  EXPECT_TRUE(bytes_of("empty.gz").starts_with(gzip_mark));
  EXPECT_TRUE(lines_of(bytes_of("empty.gz")).empty());
}

struct Read {
  std::string text;
  std::int64_t number, begin;
  bool has_end;
  bool operator==(const Read&) const = default;
};

std::vector<Read> rest_of(LineFile& file) {
  std::vector<Read> lines;
  while (true) {
    const auto line = file.next();
    EXPECT_TRUE(line) << line.error().message;
    if (!line || !*line) return lines;
    lines.push_back(
        {std::string((*line)->text), (*line)->number, (*line)->begin, (*line)->has_end});
  }
}

TEST(LineFile, LinesHaveNumbersAndOffsets) {
  const tests::ScratchFolder folder;
  tests::write_bytes(folder / "a", "\xef\xbb\xbfone\r\n\ntwo\nlast");
  auto file = LineFile::open(folder / "a");
  ASSERT_TRUE(file);
  EXPECT_EQ(
      rest_of(*file),
      (std::vector<Read>{
          {"one", 1, 0, true}, {"", 2, 8, true}, {"two", 3, 9, true}, {"last", 4, 13, false}}));
  EXPECT_EQ(file->progress(), 1.0);
  EXPECT_THAT(file->place(3), HasSubstr("a, line 3"));
}

TEST(LineFile, SeekReadsTheLineAtAnOffset) {
  const tests::ScratchFolder folder;
  // Longer than a block that is read at a time.
  const std::string longer(100'000, 'x');
  tests::write_bytes(folder / "a", "one\n" + longer + "\nthree\n");
  auto file = LineFile::open(folder / "a");
  ASSERT_TRUE(file);
  const std::vector<Read> all = rest_of(*file);
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[1].text, longer);
  for (const std::size_t at : {2, 0, 1}) {
    ASSERT_TRUE(file->seek(all[at].begin));
    const auto line = file->next();
    ASSERT_TRUE(line && *line);
    EXPECT_EQ((*line)->text, all[at].text);
    EXPECT_EQ((*line)->begin, all[at].begin);
    EXPECT_EQ((*line)->number, 0);
  }
}

TEST(LineFile, RefusesMissingFilesAndFolders) {
  const tests::ScratchFolder folder;
  EXPECT_THAT(LineFile::open(folder / "none").error().message, HasSubstr("cannot be opened"));
  EXPECT_THAT(LineFile::open(folder.path()).error().message, HasSubstr("is a directory"));
}

}  // namespace
}  // namespace attnscope
