// SPDX-License-Identifier: Apache-2.0
//
// Whatever is wrong with a dump is one sentence that names it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "tests/inspect/dump_bytes.h"

namespace attnscope {
namespace {

using ::testing::HasSubstr;

struct Spoiled {
  const char* name;
  const char* says;
  std::function<void(DumpParts&)> spoil;
};

std::ostream& operator<<(std::ostream& out, const Spoiled& spoiled) {
  return out << spoiled.name;
}

class HostileDump : public ::testing::TestWithParam<Spoiled> {};

TEST_P(HostileDump, IsRefusedWithOneSentence) {
  DumpParts parts = small_dump();
  GetParam().spoil(parts);
  const Result<Dump> dump = parts.read();
  ASSERT_FALSE(dump);
  EXPECT_THAT(dump.error().message, HasSubstr(GetParam().says));
  EXPECT_THAT(dump.error().message, HasSubstr("dump"));
  EXPECT_EQ(dump.error().message.find('\n'), std::string::npos);
  EXPECT_LT(dump.error().message.size(), 400U);
}

std::vector<Spoiled> spoiled() {
  const auto metadata = [](const char* key, const char* value) {
    return [key, value](DumpParts& parts) { parts.metadata[key] = value; };
  };
  const auto without = [](const char* key) {
    return [key](DumpParts& parts) { parts.metadata.erase(key); };
  };
  return {
      {"NoDump", "no dump of scripts/attnscope_dump.py", without("attnscope_dump")},
      {"NewerDump", "version '2'", metadata("attnscope_dump", "2")},
      {"NoLayout", "'layout'", without("layout")},
      {"GarbageLayout", "'layout'", metadata("layout", "{\"items\": [{\"cls\"")},
      {"ShortLayout", "12 token texts, and its layout 11 tokens",
       metadata("layout", R"({"items": [{"query": 3, "document": 7}]})")},
      {"TwoItems", "2 items", metadata("layout", R"({"items": [{"query": 3}, {"document": 7}]})")},
      {"EmptyLayout", "0 tokens", metadata("layout", R"({"items": [{"cls": 0}]})")},
      {"HugeLayout", "99000001 tokens",
       metadata("layout", R"({"items": [{"document": 99000000}]})")},
      {"GarbageTokens", "not a JSON list", metadata("tokens", "[\"a\"")},
      {"TokensOfNumbers", "entry 0", metadata("tokens", "[1, 2]")},
      {"DeepTokens", "not a JSON list",
       [](DumpParts& parts) {
         parts.metadata["tokens"] = std::string(20'000, '[') + std::string(20'000, ']');
       }},
      {"UnknownPattern", "'no-such\?'", metadata("pattern", "no-such\n")},
      {"WindowMissing", "no metadata 'window'", metadata("pattern", "sparse")},
      {"WindowGarbage", "'window'", metadata("window", "4,,4")},
      {"WindowsTooMany", "3 windows for 2 layers", metadata("window", "1,2,3")},
      {"ScaleGarbage", "'scale'", metadata("scale", "one")},
      {"ScaleNaN", "'scale'", metadata("scale", "nan")},
      {"ScaleNegative", "'scale'", metadata("scale", "-1")},
      {"GlobalRowsOutside", "'global_rows'", metadata("global_rows", "[12]")},
      {"GlobalRowsNegative", "'global_rows'", metadata("global_rows", "[-1]")},
      {"GlobalRowsTwice", "'global_rows'", metadata("global_rows", "[1, 1]")},
      {"GlobalVectorsMissing", "'layer.0.q_global'", metadata("global_rows", "[1]")},
      {"NoTensors", "no tensor 'layer.N.q'", [](DumpParts& parts) { parts.tensors.clear(); }},
      {"MissingKeys", "lacks tensor 'layer.2.k'",
       [](DumpParts& parts) { parts.tensors.erase("layer.2.k"); }},
      {"WrongShape", "shape [12, 4, 2]",
       [](DumpParts& parts) {
         parts.tensors["layer.2.k"].shape = {12, 4, 2};
       }},
      {"FlatShape", "shape [96]",
       [](DumpParts& parts) { parts.tensors["layer.0.q"].shape = {96}; }},
      {"NoHeads", "0 heads",
       [](DumpParts& parts) {
         parts.tensors["layer.0.q"] = {.shape = {12, 0, 4}, .values = {}};
       }},
      {"ShapeTooLarge", "more than 2^63 bits",
       [](DumpParts& parts) {
         parts.tensors["layer.0.q"].shape = {1LL << 40, 1LL << 40, 4};
       }},
      {"WholeNumbers", "is I32",
       [](DumpParts& parts) { parts.tensors["layer.0.k"].dtype = "I32"; }},
  };
}

INSTANTIATE_TEST_SUITE_P(Dumps, HostileDump, ::testing::ValuesIn(spoiled()),
                         [](const auto& spoiled_dump) {
                           return std::string(spoiled_dump.param.name);
                           ;
                         });

TEST(HostileDumpBytes, TruncatedBytesAreRefused) {
  const std::vector<std::byte> whole = small_dump().bytes();
  for (std::size_t size = 0; size < whole.size(); size += 13) {
    const std::vector<std::byte> cut(whole.begin(),
                                     whole.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_FALSE(Dump::read(ByteSource::of(cut, "dump"))) << size << " bytes";
  }
}

TEST(HostileDumpBytes, NumbersThatAreNotFiniteAreReportedWithTheirPosition) {
  for (const float bad : {NAN, INFINITY, 1e30F}) {
    DumpParts parts = small_dump();
    parts.tensors["layer.2.k"].values[5 * 8 + 4 + 1] = bad;
    const Result<Dump> dump = parts.read();
    ASSERT_TRUE(dump);
    EXPECT_TRUE(dump->head(1, 0));
    const Result<HeadVectors> head = dump->head(1, 1);
    ASSERT_FALSE(head);
    EXPECT_THAT(head.error().message, HasSubstr("'layer.2.k'"));
    EXPECT_THAT(head.error().message, HasSubstr("token 5, head 1"));
  }
}

TEST(HostileDumpBytes, FoldersAndMissingFilesAreRefused) {
  EXPECT_FALSE(Dump::open(::testing::TempDir()));
  EXPECT_FALSE(Dump::open("/no/such/dump.safetensors"));
}

}  // namespace
}  // namespace attnscope
