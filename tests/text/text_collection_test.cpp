// SPDX-License-Identifier: Apache-2.0
#include "engine/text/text_collection.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/base/packed.h"
#include "tests/safetensors/scratch_folder.h"

namespace attnscope {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using tests::ScratchFolder;
using tests::write_bytes;

/// Files in a folder of their own, indexes in another.
class Collection : public ::testing::Test {
 protected:
  Collection() { ::setenv("XDG_CACHE_HOME", (folder_ / "cache").c_str(), 1); }
  ~Collection() override { ::unsetenv("XDG_CACHE_HOME"); }
  Collection(const Collection&) = delete;
  Collection& operator=(const Collection&) = delete;

  [[nodiscard]] Result<TextCollection> open(const char* name, std::string_view bytes,
                                            PairParts parts = PairParts::document) const {
    write_bytes(folder_ / name, bytes);
    return TextCollection::open(folder_ / name, parts);
  }
  [[nodiscard]] std::string error_of(const char* name, std::string_view bytes) const {
    const auto collection = open(name, bytes);
    return collection ? "" : collection.error().message;
  }
  /// Opens a file and stores its index, however small the file is.
  [[nodiscard]] Result<TextCollection> open_kept(const char* name) const {
    return TextCollection::open(folder_ / name, PairParts::document, {}, 0);
  }

  ScratchFolder folder_;
};

std::string text_of(TextCollection& collection, std::string_view id) {
  const auto text = collection.find(id);
  if (!text) return "error: " + text.error().message;
  return *text ? **text : "none";
}

TEST_F(Collection, FindsTextsByTheirIds) {
  auto collection = open("c.tsv", "10\tten\n7\tseven\n07\tnought seven\nd\t\n");
  ASSERT_TRUE(collection) << collection.error().message;
  EXPECT_EQ(collection->size(), 4);
  EXPECT_EQ(text_of(*collection, "7"), "seven");
  EXPECT_EQ(text_of(*collection, "07"), "nought seven");
  EXPECT_EQ(text_of(*collection, "10"), "ten");
  EXPECT_EQ(text_of(*collection, "d"), "");
  EXPECT_EQ(text_of(*collection, "1"), "none");
  EXPECT_FALSE(collection->was_kept());
}

TEST_F(Collection, FindsTextsInACompressedFile) {
  const std::string whole = tests::packed("10\tten\n7\tseven\n07\tnought seven\n");
  auto collection = open("c.tsv.gz", whole);
  ASSERT_TRUE(collection) << collection.error().message;
  EXPECT_EQ(text_of(*collection, "07"), "nought seven");
  EXPECT_EQ(text_of(*collection, "10"), "ten");
  EXPECT_FALSE(open_kept("c.tsv.gz")->was_kept());
  auto again = open_kept("c.tsv.gz");
  EXPECT_TRUE(again->was_kept());
  EXPECT_EQ(text_of(*again, "7"), "seven");
  EXPECT_THAT(error_of("c.tsv.gz", whole.substr(0, whole.size() - 3)), HasSubstr("truncated"));
}

TEST_F(Collection, RefusesAFileReplacedWhileItIsRead) {
  const std::string old_text = tests::packed("5\told\n"),
                    new_text = tests::packed("abc5\tnew\n5\tfive\n");
  write_bytes(folder_ / "c.tsv.gz", old_text);
  const auto replace = [&](double) {
    write_bytes(folder_ / "new", new_text);
    fs::rename(folder_ / "new", folder_ / "c.tsv.gz");
    return true;
  };
  const auto collection =
      TextCollection::open(folder_ / "c.tsv.gz", PairParts::document, replace, 0);
  ASSERT_FALSE(collection);
  EXPECT_THAT(collection.error().message,
              AllOf(HasSubstr("c.tsv.gz: was changed while it was read"), HasSubstr("repeat")));
  auto again = open_kept("c.tsv.gz");
  EXPECT_FALSE(again->was_kept());
  EXPECT_EQ(text_of(*again, "5"), "five");
}

TEST_F(Collection, FindsTextsAmongMany) {
  std::string bytes;
  for (int i = 0; i < 70'000; ++i) bytes += fmt::format("D{}\ttext of {}\n", i * 7, i);
  auto collection = open("many.tsv", bytes);
  ASSERT_TRUE(collection) << collection.error().message;
  for (int i = 0; i < 70'000; i += 997)
    EXPECT_EQ(text_of(*collection, fmt::format("D{}", i * 7)), fmt::format("text of {}", i));
  EXPECT_FALSE(collection->contains("D1"));
}

TEST_F(Collection, FindsTextsInArraysAndNamedColumns) {
  for (const auto& [name, bytes] :
       {std::pair("c.json",
                  "[{\"_id\":\"7\",\"title\":\"T\",\"text\":\"t\"}\n,\n{\"_id\":\"8\","
                  "\"title\":\"\",\"text\":\"u\"}]"),
        std::pair("c.tsv", "text\t_id\ttitle\nt\t7\tT\nu\t8\t\n")}) {
    ASSERT_TRUE(open(name, bytes));
    for (int i = 0; i < 2; ++i) {
      auto collection = open_kept(name);
      ASSERT_TRUE(collection) << collection.error().message;
      EXPECT_EQ(collection->was_kept(), i == 1);
      EXPECT_EQ(collection->size(), 2);
      EXPECT_EQ(text_of(*collection, "8"), "u");
      EXPECT_EQ(text_of(*collection, "7"), "T t");
      EXPECT_EQ(text_of(*collection, "_id"), "none");
    }
  }
  EXPECT_THAT(error_of("d.json", R"([{"id":"7","text":"t"},{"id":7,"text":"u"}])"),
              HasSubstr("d.json, element 2: the id '7' is already used in element 1"));
  EXPECT_THAT(error_of("d.tsv", "id\ttext\n7\tt\n8\tt\n7\tu\n"),
              HasSubstr("d.tsv, line 4: the id '7' is already used in line 2"));
}

TEST_F(Collection, ReusesAnIndexOfMsMarcoDocuments) {
  ASSERT_TRUE(open("d.tsv", "D1\thttp://a\tT\tb\nD2\t\tU\tc\n"));
  for (int i = 0; i < 2; ++i) {
    auto collection = open_kept("d.tsv");
    ASSERT_TRUE(collection) << collection.error().message;
    EXPECT_EQ(text_of(*collection, "D2"), "U c");
  }
}

TEST_F(Collection, PutsTitlesBeforeDocuments) {
  auto tsv = open("d.tsv", "D1\thttp://a\tTitle\tThe body\nD2\thttp://b\t\tAlone\n");
  ASSERT_TRUE(tsv) << tsv.error().message;
  EXPECT_EQ(text_of(*tsv, "D1"), "Title The body");
  EXPECT_EQ(text_of(*tsv, "D2"), "Alone");
  auto jsonl =
      open("d.jsonl",
           "{\"_id\":\"a\",\"title\":\"T\",\"text\":\"x\"}\n{\"id\":7,\"contents\":\"y\"}\n"
           "{\"docid\":\"b\",\"title\":\"\",\"body\":\"z\",\"url\":\"u\"}\n");
  ASSERT_TRUE(jsonl) << jsonl.error().message;
  EXPECT_EQ(text_of(*jsonl, "a"), "T x");
  EXPECT_EQ(text_of(*jsonl, "7"), "y");
  EXPECT_EQ(text_of(*jsonl, "b"), "z");
}

TEST_F(Collection, FindsQueries) {
  auto tsv = open("q.tsv", "1\twhat is it\n2\twhere\n", PairParts::query);
  ASSERT_TRUE(tsv) << tsv.error().message;
  EXPECT_EQ(text_of(*tsv, "2"), "where");
  auto jsonl = open("q.jsonl", "{\"_id\":\"q\",\"text\":\"who\"}\n{\"qid\":3,\"query\":\"why\"}\n",
                    PairParts::query);
  ASSERT_TRUE(jsonl) << jsonl.error().message;
  EXPECT_EQ(text_of(*jsonl, "q"), "who");
  EXPECT_EQ(text_of(*jsonl, "3"), "why");
}

TEST_F(Collection, NamesBothLinesOfADuplicateId) {
  EXPECT_THAT(error_of("c.tsv", "a\tx\nb\ty\na\tz\nb\tw\nb\tv\n"),
              AllOf(HasSubstr("c.tsv, line 3: the id 'a' is already used in line 1"),
                    HasSubstr("3 such lines in all")));
}

TEST_F(Collection, NamesInvalidLines) {
  EXPECT_THAT(error_of("c.tsv", "a\tx\nb\n"), HasSubstr("line 2: has 1 columns"));
  EXPECT_THAT(error_of("c.tsv", "a\tx\n\tb\n"), HasSubstr("line 2: has no document id"));
  EXPECT_THAT(error_of("c.jsonl", "{\"text\":\"x\"}\n"), HasSubstr("line 1: has no document id"));
  EXPECT_THAT(error_of("c.tsv", "a\tx\n\nb\ty\n"), HasSubstr("line 2: is empty"));
  EXPECT_THAT(error_of("c.tsv", ""), HasSubstr("has no texts"));
  EXPECT_THAT(error_of("c.zip", "x"), HasSubstr("tsv or jsonl"));
}

TEST_F(Collection, RebuildsTheIndexOfAChangedFile) {
  write_bytes(folder_ / "c.tsv", "a\tx\nb\ty\n");
  EXPECT_FALSE(open_kept("c.tsv")->was_kept());
  auto again = open_kept("c.tsv");
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->was_kept());
  EXPECT_EQ(text_of(*again, "b"), "y");
  write_bytes(folder_ / "c.tsv", "a\tlonger\nb\tz\n");
  auto changed = open_kept("c.tsv");
  ASSERT_TRUE(changed);
  EXPECT_FALSE(changed->was_kept());
  EXPECT_EQ(text_of(*changed, "b"), "z");
  // The same size at another time.
  EXPECT_TRUE(open_kept("c.tsv")->was_kept());
  fs::last_write_time(folder_ / "c.tsv",
                      fs::last_write_time(folder_ / "c.tsv") - std::chrono::hours(1));
  EXPECT_FALSE(open_kept("c.tsv")->was_kept());
}

TEST_F(Collection, RebuildsTheIndexBeforeAnIdCountsAsMissing) {
  write_bytes(folder_ / "c.tsv", "a\tx\nb\ty\n");
  const auto time = fs::last_write_time(folder_ / "c.tsv");
  EXPECT_FALSE(open_kept("c.tsv")->was_kept());
  write_bytes(folder_ / "c.tsv", "m0\t\nb\tz\n");
  fs::last_write_time(folder_ / "c.tsv", time);
  auto changed = open_kept("c.tsv");
  ASSERT_TRUE(changed);
  EXPECT_TRUE(changed->was_kept());
  EXPECT_EQ(text_of(*changed, "m0"), "");
  EXPECT_EQ(text_of(*changed, "b"), "z");
  EXPECT_EQ(text_of(*changed, "a"), "none");
  auto kept = open_kept("c.tsv");
  EXPECT_TRUE(kept->was_kept());
  EXPECT_EQ(text_of(*kept, "m0"), "");
}

TEST_F(Collection, RebuildsATruncatedIndex) {
  write_bytes(folder_ / "c.tsv", "a\tx\nb\ty\n");
  EXPECT_FALSE(open_kept("c.tsv")->was_kept());
  int indexes = 0;
  for (const auto& entry : fs::directory_iterator(folder_ / "cache/attnscope")) {
    ++indexes;
    fs::resize_file(entry.path(), fs::file_size(entry.path()) - 16);
  }
  EXPECT_EQ(indexes, 1);
  auto again = open_kept("c.tsv");
  ASSERT_TRUE(again);
  EXPECT_FALSE(again->was_kept());
  EXPECT_EQ(text_of(*again, "a"), "x");
}

TEST_F(Collection, RebuildsADamagedIndex) {
  write_bytes(folder_ / "c.tsv", "a\tx\nb\ty\n");
  EXPECT_FALSE(open_kept("c.tsv")->was_kept());
  for (const auto& entry : fs::directory_iterator(folder_ / "cache/attnscope")) {
    std::fstream index(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    index.seekp(-8, std::ios::end);  // where the last text begins, 0 or 4
    index.put(1);
  }
  auto again = open_kept("c.tsv");
  ASSERT_TRUE(again);
  EXPECT_FALSE(again->was_kept());
  for (const auto& [id, text] : {std::pair("a", "x"), std::pair("b", "y")})
    EXPECT_EQ(text_of(*again, id), text);
}

TEST_F(Collection, WorksWithoutACacheFolder) {
  write_bytes(folder_ / "c.tsv", "a\tx\n");
  ::setenv("XDG_CACHE_HOME", "/proc/none", 1);
  for (int time = 0; time < 2; ++time) {
    auto collection = open_kept("c.tsv");
    ASSERT_TRUE(collection) << collection.error().message;
    EXPECT_FALSE(collection->was_kept());
    EXPECT_EQ(text_of(*collection, "a"), "x");
  }
}

TEST_F(Collection, ReportsAFileTruncatedInTheMeantime) {
  auto collection = open("c.tsv", "a\tx\nb\ty\n");
  ASSERT_TRUE(collection);
  fs::resize_file(folder_ / "c.tsv", 4);
  EXPECT_THAT(text_of(*collection, "b"), HasSubstr("became shorter while it was read"));
  EXPECT_EQ(text_of(*collection, "a"), "x");
}

}  // namespace
}  // namespace attnscope
