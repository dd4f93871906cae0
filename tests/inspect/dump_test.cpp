// SPDX-License-Identifier: Apache-2.0
#include "engine/inspect/dump.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/inspect/dump_bytes.h"

namespace attnscope {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::filesystem::path written(const std::vector<std::byte>& bytes, const char* name) {
  const std::filesystem::path path = std::filesystem::path(::testing::TempDir()) / name;
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(bytes.data()),
            static_cast<std::streamsize>(bytes.size()));
  return path;
}

TEST(Dump, ReadsItsInfo) {
  const Result<Dump> dump = small_dump().read();
  ASSERT_TRUE(dump) << dump.error().message;
  const DumpInfo& info = dump->info();
  EXPECT_EQ(info.model, "made up");
  EXPECT_EQ(info.note, "pseudo-random numbers");
  EXPECT_EQ(info.layout.tokens(), 12);
  EXPECT_EQ(info.tokens[1], "what");
  EXPECT_EQ(info.groups[0], TokenGroup::cls);
  EXPECT_EQ(info.groups[3], TokenGroup::query);
  EXPECT_EQ(info.groups[4], TokenGroup::document);
  EXPECT_EQ(info.patterns.front().name, "full");
  EXPECT_EQ(info.scale, 0.5);
  EXPECT_THAT(info.layers, ElementsAre(0, 2));
  EXPECT_EQ(info.heads, 2);
  EXPECT_EQ(info.head_dim, 4);
}

TEST(Dump, ReadsOneHead) {
  const DumpParts parts = small_dump();
  const Result<Dump> dump = parts.read();
  ASSERT_TRUE(dump);
  const Result<HeadVectors> head = dump->head(1, 1);
  ASSERT_TRUE(head) << head.error().message;
  const std::vector<float>& q = parts.tensors.at("layer.2.q").values;
  const std::vector<float>& k = parts.tensors.at("layer.2.k").values;
  for (std::size_t token = 0; token < 12; ++token) {
    for (std::size_t d = 0; d < 4; ++d) {
      EXPECT_EQ(head->query(static_cast<std::int64_t>(token))[d], q[token * 8 + 4 + d]);
      EXPECT_EQ(head->keys_for(0)[d * 12 + token], k[token * 8 + 4 + d]);
    }
  }
}

TEST(Dump, ReadsHalfPrecision) {
  DumpParts parts = small_dump();
  for (auto& [name, tensor] : parts.tensors) tensor.dtype = "F16";
  parts.tensors["layer.0.q"].values[0] = 0.1F;
  const Result<Dump> dump = parts.read();
  ASSERT_TRUE(dump) << dump.error().message;
  EXPECT_EQ(dump->head(0, 0)->query(0)[0], 0.0999755859375F);  // the nearest float16
}

TEST(Dump, GlobalRowsHaveSeparateVectors) {
  DumpParts parts = small_dump();
  parts.metadata["pattern"] = "longformer";
  parts.metadata["window"] = "2,4";
  parts.metadata["global_rows"] = "[0, 1, 2, 3]";
  for (const char* layer : {"layer.0.", "layer.2."}) {
    for (const char* part : {"q", "k"}) {
      DumpTensor tensor = parts.tensors[std::string(layer) + part];
      for (float& value : tensor.values) value += 10;
      parts.tensors[std::string(layer) + part + "_global"] = tensor;
    }
  }
  const Result<Dump> dump = parts.read();
  ASSERT_TRUE(dump) << dump.error().message;
  EXPECT_THAT(dump->info().windows, ElementsAre(Window::of(2), Window::of(4)));
  const Result<HeadVectors> head = dump->head(0, 0);
  ASSERT_TRUE(head);
  EXPECT_GT(head->query(3)[0], 7);
  EXPECT_LT(head->query(4)[0], 3);
  EXPECT_NE(head->keys_for(3), head->keys_for(4));
}

TEST(Dump, SentenceStartsAreAGroup) {
  DumpParts parts = small_dump();
  parts.metadata["layout"] =
      R"({"items": [{"cls": 1, "query": 3, "document": 8, "sentences": [0, 5]}]})";
  const Result<Dump> dump = parts.read();
  ASSERT_TRUE(dump) << dump.error().message;
  EXPECT_EQ(dump->info().groups[4], TokenGroup::sentence);
  EXPECT_EQ(dump->info().groups[9], TokenGroup::sentence);
  EXPECT_EQ(dump->info().groups[5], TokenGroup::document);
}

TEST(Dump, ReadsAnEmbeddedPattern) {
  DumpParts parts = small_dump();
  parts.metadata["pattern"] = R"({"name": "own", "global": ["cls"]})";
  const Result<Dump> dump = parts.read();
  ASSERT_TRUE(dump) << dump.error().message;
  EXPECT_EQ(dump->info().patterns.front().name, "own");
}

TEST(Dump, ReadsAFileLikeMemory) {
  const std::filesystem::path path = written(small_dump().bytes(), "small.safetensors");
  const Result<Dump> dump = Dump::open(path);
  ASSERT_TRUE(dump) << dump.error().message;
  const Result<Dump> memory = small_dump().read();
  EXPECT_EQ(dump->head(1, 1)->query(11)[3], memory->head(1, 1)->query(11)[3]);
}

TEST(Dump, FileTruncatedAfterOpeningIsAnError) {
  const std::filesystem::path path = written(small_dump().bytes(), "cut.safetensors");
  const Result<Dump> dump = Dump::open(path);
  ASSERT_TRUE(dump);
  std::filesystem::resize_file(path, 64);
  const Result<HeadVectors> head = dump->head(1, 1);
  ASSERT_FALSE(head);
  EXPECT_THAT(head.error().message, HasSubstr("cut short since it was opened"));
}

}  // namespace
}  // namespace attnscope
