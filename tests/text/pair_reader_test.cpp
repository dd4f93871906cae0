// SPDX-License-Identifier: Apache-2.0
#include "engine/text/pair_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <vector>

#include "tests/safetensors/scratch_folder.h"

namespace attnscope {
namespace {

using testing::HasSubstr;
using tests::ScratchFolder;
using tests::write_bytes;

struct Read {
  std::vector<TextPair> pairs;
  std::string error;
};

Read read(const char* name, std::string_view bytes) {
  const ScratchFolder folder;
  write_bytes(folder / name, bytes);
  Result<PairReader> reader = PairReader::open(folder / name, std::nullopt);
  if (!reader) return {{}, reader.error().message};
  Read all;
  while (true) {
    auto pair = reader->next();
    if (!pair) {
      all.error = pair.error().message;
      return all;
    }
    if (!*pair) return all;
    all.pairs.push_back(std::move(**pair));
  }
}

std::string error_of(const char* name, std::string_view bytes) {
  return read(name, bytes).error;
}

TEST(PairReader, TwoColumnsAreQueryAndDocument) {
  const Read all = read("a.tsv", "how tall\tvery tall\nwho\t\n");
  EXPECT_EQ(all.error, "");
  ASSERT_EQ(all.pairs.size(), 2U);
  EXPECT_EQ(all.pairs[0].query, "how tall");
  EXPECT_EQ(all.pairs[0].document, "very tall");
  EXPECT_EQ(all.pairs[0].query_id, "");
  EXPECT_EQ(all.pairs[1].document, "");
  EXPECT_EQ(all.pairs[1].line, 2);
}

TEST(PairReader, FourColumnsAreThoseOfMsMarco) {
  const Read all = read("a.tsv", "7\td9\thow tall\tvery tall");
  ASSERT_EQ(all.pairs.size(), 1U);
  EXPECT_EQ(all.pairs[0].query_id, "7");
  EXPECT_EQ(all.pairs[0].document_id, "d9");
  EXPECT_EQ(all.pairs[0].query, "how tall");
}

TEST(PairReader, ABomAndWindowsLineEndsAreNoText) {
  const Read all = read("a.tsv", "\xef\xbb\xbfq\td\r\nq\te\r\n");
  ASSERT_EQ(all.pairs.size(), 2U);
  EXPECT_EQ(all.pairs[0].query, "q");
  EXPECT_EQ(all.pairs[1].document, "e");
}

TEST(PairReader, JsonLinesMayNameTheirFieldsAsDatasetsDo) {
  const Read all =
      read("a.jsonl", R"({"qid": 3, "docno": "d1", "query": "q", "text": "t", "rank": 1})"
                      "\n"
                      R"({"query_id": "x", "doc_id": "d2", "query": "q\t2", "passage": "p"})"
                      "\n");
  EXPECT_EQ(all.error, "");
  ASSERT_EQ(all.pairs.size(), 2U);
  EXPECT_EQ(all.pairs[0].query_id, "3");
  EXPECT_EQ(all.pairs[0].document, "t");
  EXPECT_EQ(all.pairs[1].document_id, "d2");
  EXPECT_EQ(all.pairs[1].query, "q\t2");
}

TEST(PairReader, EmptyLinesAtTheEndAreNoPairs_BetweenPairsAnError) {
  EXPECT_EQ(read("a.tsv", "q\td\n\n\n").pairs.size(), 1U);
  const Read between = read("a.tsv", "q\td\n\nq\te\n");
  EXPECT_EQ(between.pairs.size(), 1U);
  EXPECT_THAT(between.error, HasSubstr("a.tsv, line 2: is empty"));
}

TEST(PairReader, ALineThatIsNoPairIsNamed_AfterThePairsBeforeIt) {
  const Read all = read("a.tsv", "q\td\nq\td\nalone\n");
  EXPECT_EQ(all.pairs.size(), 2U);
  EXPECT_THAT(all.error, HasSubstr("a.tsv, line 3: has 1 columns, and the first line has 2"));
  EXPECT_THAT(error_of("a.tsv", "a\tb\tc\n"), HasSubstr("line 1: has 3 columns; a pair is"));
  EXPECT_THAT(error_of("a.tsv", "\td\n"), HasSubstr("line 1: has an empty query"));
  EXPECT_THAT(error_of("a.jsonl", "{\"query\": \"q\"}\n"), HasSubstr("has no text 'document'"));
  EXPECT_THAT(error_of("a.jsonl", "[1]\n"), HasSubstr("line 1: is no JSON object"));
  EXPECT_THAT(error_of("a.jsonl", R"({"query": "q", "text": "t", "qid": [1]})"),
              HasSubstr("a query id that is neither"));
}

TEST(PairReader, BytesThatAreNoUtf8AreNamedWithTheirPlace) {
  EXPECT_THAT(error_of("a.tsv", "q\td\xff\n"), HasSubstr("line 1: is no UTF-8 from its byte 4 on"));
  EXPECT_THAT(error_of("a.jsonl", "{\"query\": \"\xc3\"}"), HasSubstr("is no UTF-8"));
}

TEST(PairReader, ALineWithoutEndIsNotHeldInMemory) {
  EXPECT_THAT(error_of("a.tsv", std::string(PairReader::longest_line + (1U << 17U), 'a')),
              HasSubstr("line 1: is longer than 33554432 bytes"));
}

TEST(PairReader, LongLinesCrossTheBlocksTheyAreReadIn) {
  const std::string document(200'000, 'x');
  const Read all = read("a.tsv", "q\t" + document + "\nr\t" + document + "y\n");
  ASSERT_EQ(all.pairs.size(), 2U);
  EXPECT_EQ(all.pairs[0].document, document);
  EXPECT_EQ(all.pairs[1].document, document + "y");
}

TEST(PairReader, AnUnknownNameAsksForTheFormat) {
  EXPECT_THAT(error_of("pairs.csv", "q\td\n"), HasSubstr("whether it is tsv or jsonl"));
  EXPECT_FALSE(parse_pair_format("csv").has_value());
}

TEST(PairReader, AMissingFileAndAFolderAreNamed) {
  const ScratchFolder folder;
  const auto missing = PairReader::open(folder / "no.tsv", std::nullopt);
  ASSERT_FALSE(missing.has_value());
  EXPECT_THAT(missing.error().message, HasSubstr("no.tsv: cannot be opened: No such file"));
  const auto directory = PairReader::open(folder.path(), PairFormat::tsv);
  ASSERT_FALSE(directory.has_value());
  EXPECT_THAT(directory.error().message, HasSubstr("is a directory"));
}

TEST(PairReader, ProgressGoesFromNothingToAll) {
  const ScratchFolder folder;
  write_bytes(folder / "a.tsv", "q\td\nq\te\n");
  auto reader = PairReader::open(folder / "a.tsv", std::nullopt);
  EXPECT_EQ(reader->progress(), 0.0);
  static_cast<void>(reader->next());
  EXPECT_EQ(reader->progress(), 0.5);
  static_cast<void>(reader->next());
  EXPECT_EQ(reader->progress(), 1.0);
}

}  // namespace
}  // namespace attnscope
