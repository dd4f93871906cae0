// SPDX-License-Identifier: Apache-2.0
#include "base/line_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/safetensors/scratch_folder.h"

namespace attnscope {
namespace {

using ::testing::HasSubstr;

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

TEST(LineFile, EachLineHasItsNumberAndItsPlace) {
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

TEST(LineFile, ASoughtLineIsThatOfItsPlace_WithoutANumber) {
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

TEST(LineFile, WhatCannotBeReadIsNamed) {
  const tests::ScratchFolder folder;
  EXPECT_THAT(LineFile::open(folder / "none").error().message, HasSubstr("cannot be opened"));
  EXPECT_THAT(LineFile::open(folder.path()).error().message, HasSubstr("is a directory"));
}

}  // namespace
}  // namespace attnscope
