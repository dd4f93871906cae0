// SPDX-License-Identifier: Apache-2.0
#include "engine/inspect/dump.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>

#include "engine/inspect/head_weights.h"
#include "engine/pattern/compile_plan.h"
#include "engine/safetensors/safetensors.h"
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
  EXPECT_THAT(head.error().message, HasSubstr("truncated after it was opened"));
}

struct InvalidDump {
  const char* name;
  const char* reason;
  std::function<void(DumpParts&)> change;
};

std::ostream& operator<<(std::ostream& out, const InvalidDump& dump) {
  return out << dump.name;
}

class HostileDump : public ::testing::TestWithParam<InvalidDump> {};

TEST_P(HostileDump, IsRefusedWithOneSentence) {
  DumpParts parts = small_dump();
  GetParam().change(parts);
  const Result<Dump> dump = parts.read();
  ASSERT_FALSE(dump);
  EXPECT_THAT(dump.error().message, HasSubstr(GetParam().reason));
  EXPECT_THAT(dump.error().message, HasSubstr("dump"));
  EXPECT_EQ(dump.error().message.find('\n'), std::string::npos);
  EXPECT_LT(dump.error().message.size(), 400U);
}

std::vector<InvalidDump> invalid_dumps() {
  const auto metadata = [](const char* key, const char* value) {
    return [key, value](DumpParts& parts) { parts.metadata[key] = value; };
  };
  const auto without = [](const char* key) {
    return [key](DumpParts& parts) { parts.metadata.erase(key); };
  };
  return {
      {"NoDump", "not a dump of scripts/attnscope_dump.py", without("attnscope_dump")},
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

INSTANTIATE_TEST_SUITE_P(Dumps, HostileDump, ::testing::ValuesIn(invalid_dumps()),
                         [](const auto& dump) { return std::string(dump.param.name); });

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

/// Weights computed here, times the dumped values, must be the outputs of the dumped model: a tiny
/// random one whose own attention scripts/attnscope_dump.py stored next to the dump.
class GoldenDump : public ::testing::TestWithParam<const char*> {};

TEST_P(GoldenDump, WeightsTimesValuesAreTheOutputsOfTheModel) {
  const auto path =
      std::filesystem::path(GOLDEN_DUMPS) / (std::string(GetParam()) + ".safetensors");
  const Result<Dump> dump = Dump::open(path);
  ASSERT_TRUE(dump) << dump.error().message;
  const auto file = SafetensorsFile::open(path);
  ASSERT_TRUE(file) << file.error().message;
  const DumpInfo& info = dump->info();
  const std::array<std::int64_t, 3> shape{info.layout.tokens(), info.heads, info.head_dim};
  ASSERT_EQ(info.layers.size(), 2U);
  for (std::size_t layer = 0; layer < info.layers.size(); ++layer) {
    const std::string number = std::to_string(info.layers[layer]);
    const auto values = file->floats("layer." + number + ".v", shape);
    ASSERT_TRUE(values) << values.error().message;
    const auto global_values =
        info.global_rows.empty() ? values : file->floats("layer." + number + ".v_global", shape);
    ASSERT_TRUE(global_values) << global_values.error().message;
    const auto expected = file->floats("expected." + number + ".o", shape);
    ASSERT_TRUE(expected) << expected.error().message;
    const auto mask = std::make_shared<const Mask>(
        *compile_plan(info.patterns[layer], info.windows[layer], info.layout, info.heads));
    for (std::int32_t head = 0; head < info.heads; ++head) {
      const Result<HeadVectors> vectors = dump->head(layer, head);
      ASSERT_TRUE(vectors) << vectors.error().message;
      const HeadWeights weights(std::make_shared<const HeadVectors>(*vectors), mask, head,
                                info.scale);
      RowWeights row;
      for (std::int64_t i = 0; i < info.layout.tokens(); ++i) {
        weights.row(i, row);
        const auto& v = std::ranges::binary_search(info.global_rows, i) ? *global_values : *values;
        for (std::int64_t d = 0; d < info.head_dim; ++d) {
          const auto at = [&](std::int64_t token) {
            return static_cast<std::size_t>((token * info.heads + head) * info.head_dim + d);
          };
          double output = 0;
          for (const TokenRange& keys : row.keys) {
            for (std::int64_t j = keys.begin; j < keys.end; ++j) {
              output += static_cast<double>(row.weights[static_cast<std::size_t>(j)]) *
                        static_cast<double>(v[at(j)]);
            }
          }
          ASSERT_NEAR(output, static_cast<double>((*expected)[at(i)]), 2e-5)
              << "layer " << layer << ", head " << head << ", token " << i;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, GoldenDump, ::testing::Values("bert", "longformer"),
                         [](const auto& model) { return std::string(model.param); });

}  // namespace
}  // namespace attnscope
