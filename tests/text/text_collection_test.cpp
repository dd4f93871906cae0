// SPDX-License-Identifier: Apache-2.0
#include "engine/text/text_collection.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

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
  struct Case {
    const char *name, *bytes;
    PairParts parts;
    std::vector<std::pair<const char*, const char*>> texts;
  };
  using enum PairParts;
  for (const auto& [name, bytes, parts, texts] :
       {Case{"c.tsv",
             "10\tten\n7\tseven\n07\tnought seven\nd\t\n",
             document,
             {{"7", "seven"}, {"07", "nought seven"}, {"10", "ten"}, {"d", ""}, {"1", "none"}}},
        Case{"d.tsv",
             "D1\thttp://a\tTitle\tThe body\nD2\thttp://b\t\tAlone\n",
             document,
             {{"D1", "Title The body"}, {"D2", "Alone"}}},
        Case{"d.jsonl",
             "{\"_id\":\"a\",\"title\":\"T\",\"text\":\"x\"}\n{\"id\":7,\"contents\":\"y\"}\n"
             "{\"docid\":\"b\",\"title\":\"\",\"body\":\"z\",\"url\":\"u\"}\n",
             document,
             {{"a", "T x"}, {"7", "y"}, {"b", "z"}}},
        Case{"q.tsv", "1\twhat is it\n2\twhere\n", query, {{"2", "where"}}},
        Case{"q.jsonl",
             "{\"_id\":\"q\",\"text\":\"who\"}\n{\"qid\":3,\"query\":\"why\"}\n",
             query,
             {{"q", "who"}, {"3", "why"}}}}) {
    auto collection = open(name, bytes, parts);
    ASSERT_TRUE(collection) << collection.error().message;
    EXPECT_EQ(collection->size(), std::count(bytes, bytes + std::strlen(bytes), '\n')) << bytes;
    EXPECT_FALSE(collection->was_kept());
    for (const auto& [id, text] : texts) EXPECT_EQ(text_of(*collection, id), text) << id;
  }
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

TEST_F(Collection, FindsTextsByAnIndexOfArraysAndColumns) {
  for (const auto& [name, bytes] :
       {std::pair("c.json",
                  "[{\"_id\":\"7\",\"title\":\"T\",\"text\":\"t\"}\n,\n{\"_id\":\"8\","
                  "\"title\":\"\",\"text\":\"u\"}]"),
        std::pair("c.tsv", "text\t_id\ttitle\nt\t7\tT\nu\t8\t\n"),
        std::pair("d.tsv", "7\thttp://a\tT\tt\n8\t\t\tu\n")}) {
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
}

TEST_F(Collection, NamesInvalidLines) {
  for (const auto& [name, bytes, error] :
       {std::tuple("c.tsv", "a\tx\nb\n", "line 2: has 1 columns"),
        std::tuple("c.tsv", "a\tx\n\tb\n", "line 2: has no document id"),
        std::tuple("c.jsonl", "{\"text\":\"x\"}\n", "line 1: has no document id"),
        std::tuple("c.tsv", "a\tx\n\nb\ty\n", "line 2: is empty"),
        std::tuple("c.tsv", "", "has no texts"), std::tuple("c.zip", "x", "tsv or jsonl"),
        std::tuple("d.json", R"([{"id":"7","text":"t"},{"id":7,"text":"u"}])",
                   "d.json, element 2: the id '7' is already used in element 1"),
        std::tuple("d.tsv", "id\ttext\n7\tt\n8\tt\n7\tu\n",
                   "d.tsv, line 4: the id '7' is already used in line 2")}) {
    EXPECT_THAT(error_of(name, bytes), HasSubstr(error));
  }
  EXPECT_THAT(error_of("c.tsv", "a\tx\nb\ty\na\tz\nb\tw\nb\tv\n"),
              AllOf(HasSubstr("c.tsv, line 3: the id 'a' is already used in line 1"),
                    HasSubstr("3 such lines in all")));
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

TEST_F(Collection, RebuildsATruncatedOrDamagedIndex) {
  for (const bool is_truncated : {true, false}) {
    const char* name = is_truncated ? "truncated.tsv" : "damaged.tsv";
    write_bytes(folder_ / name, "a\tx\nb\ty\n");
    EXPECT_FALSE(open_kept(name)->was_kept());
    ASSERT_EQ(std::distance(fs::directory_iterator(folder_ / "cache/attnscope"), {}), 1);
    const fs::path index = fs::directory_iterator(folder_ / "cache/attnscope")->path();
    if (is_truncated) {
      fs::resize_file(index, fs::file_size(index) - 16);
    } else {
      std::fstream file(index, std::ios::in | std::ios::out | std::ios::binary);
      file.seekp(-8, std::ios::end);  // where the last text begins, 0 or 4
      file.put(1);
    }
    {
      auto again = open_kept(name);
      ASSERT_TRUE(again);
      EXPECT_FALSE(again->was_kept()) << name;
      EXPECT_EQ(text_of(*again, "a"), "x");
      EXPECT_EQ(text_of(*again, "b"), "y");
    }
    fs::remove_all(folder_ / "cache/attnscope");
  }
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
