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
#include <tuple>

#include "engine/inspect/head_weights.h"
#include "engine/pattern/compile_plan.h"
#include "engine/safetensors/safetensors.h"
#include "tests/inspect/dump_bytes.h"

namespace attnscope {
namespace {

using ::testing::AllOf;
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
  DumpParts parts = small_dump();
  const DumpInfo info = parts.read().value().info();
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
  parts.metadata["pattern"] = R"({"name": "own", "global": ["cls"]})";
  EXPECT_EQ(parts.read().value().info().patterns.front().name, "own") << "an embedded pattern";
  parts = small_dump();
  parts.metadata["layout"] =
      R"({"items": [{"cls": 1, "query": 3, "document": 8, "sentences": [0, 5]}]})";
  const DumpInfo sentences = parts.read().value().info();
  EXPECT_EQ(sentences.groups[4], TokenGroup::sentence);
  EXPECT_EQ(sentences.groups[9], TokenGroup::sentence);
  EXPECT_EQ(sentences.groups[5], TokenGroup::document);
}

TEST(Dump, ReadsOneHead) {
  const DumpParts parts = small_dump();
  const HeadVectors head = parts.read().value().head(1, 1).value();
  const std::vector<float>& q = parts.tensors.at("layer.2.q").values;
  const std::vector<float>& k = parts.tensors.at("layer.2.k").values;
  for (std::size_t token = 0; token < 12; ++token) {
    for (std::size_t d = 0; d < 4; ++d) {
      EXPECT_EQ(head.query(static_cast<std::int64_t>(token))[d], q[token * 8 + 4 + d]);
      EXPECT_EQ(head.keys_for(0)[d * 12 + token], k[token * 8 + 4 + d]);
    }
  }
}

TEST(Dump, ReadsHalfPrecision) {
  DumpParts parts = small_dump();
  for (auto& [name, tensor] : parts.tensors) tensor.dtype = "F16";
  parts.tensors["layer.0.q"].values[0] = 0.1F;
  EXPECT_EQ(parts.read().value().head(0, 0)->query(0)[0], 0.0999755859375F);  // the nearest float16
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
  const Dump dump = parts.read().value();
  EXPECT_THAT(dump.info().windows, ElementsAre(Window::of(2), Window::of(4)));
  const HeadVectors head = dump.head(0, 0).value();
  EXPECT_GT(head.query(3)[0], 7);
  EXPECT_LT(head.query(4)[0], 3);
  EXPECT_NE(head.keys_for(3), head.keys_for(4));
}

TEST(Dump, ReadsAFileLikeMemoryAndReportsItsTruncation) {
  const std::filesystem::path path = written(small_dump().bytes(), "small.safetensors");
  const Dump dump = Dump::open(path).value();
  EXPECT_EQ(dump.head(1, 1)->query(11)[3], small_dump().read()->head(1, 1)->query(11)[3]);
  std::filesystem::resize_file(path, 64);
  const Result<HeadVectors> head = dump.head(1, 1);
  ASSERT_FALSE(head);
  EXPECT_THAT(head.error().message, HasSubstr("truncated after it was opened"));
}

void expect_refused(const char* reason, const std::function<void(DumpParts&)>& change) {
  SCOPED_TRACE(reason);
  DumpParts parts = small_dump();
  change(parts);
  const Result<Dump> dump = parts.read();
  ASSERT_FALSE(dump);
  EXPECT_THAT(dump.error().message, AllOf(HasSubstr(reason), HasSubstr("dump")));
  EXPECT_EQ(dump.error().message.find('\n'), std::string::npos);
  EXPECT_LT(dump.error().message.size(), 400U);
}

TEST(HostileDump, InvalidMetadataAreRefusedWithOneSentence) {
  expect_refused("not a dump of scripts/attnscope_dump.py",
                 [](DumpParts& parts) { parts.metadata.erase("attnscope_dump"); });
  expect_refused("'layout'", [](DumpParts& parts) { parts.metadata.erase("layout"); });
  for (const auto& [key, value, reason] : std::vector<std::array<std::string, 3>>{
           {"attnscope_dump", "2", "version '2'"},
           {"layout", "{\"items\": [{\"cls\"", "'layout'"},
           {"layout", R"({"items": [{"query": 3, "document": 7}]})",
            "12 token texts, and its layout 11 tokens"},
           {"layout", R"({"items": [{"query": 3}, {"document": 7}]})", "2 items"},
           {"layout", R"({"items": [{"cls": 0}]})", "0 tokens"},
           {"layout", R"({"items": [{"document": 99000000}]})", "99000001 tokens"},
           {"tokens", "[\"a\"", "not a JSON list"},
           {"tokens", "[1, 2]", "entry 0"},
           {"tokens", std::string(20'000, '[') + std::string(20'000, ']'), "not a JSON list"},
           {"pattern", "no-such\n", "'no-such?'"},
           {"pattern", "sparse", "no metadata 'window'"},
           {"window", "4,,4", "'window'"},
           {"window", "1,2,3", "3 windows for 2 layers"},
           {"scale", "one", "'scale'"},
           {"scale", "nan", "'scale'"},
           {"scale", "-1", "'scale'"},
           {"global_rows", "[12]", "'global_rows'"},
           {"global_rows", "[-1]", "'global_rows'"},
           {"global_rows", "[1, 1]", "'global_rows'"},
           {"global_rows", "[1]", "'layer.0.q_global'"}}) {
    SCOPED_TRACE(key + ": " + value.substr(0, 60));
    expect_refused(reason.c_str(), [&](DumpParts& parts) { parts.metadata[key] = value; });
  }
}

TEST(HostileDump, InvalidTensorsAreRefusedWithOneSentence) {
  expect_refused("no tensor 'layer.N.q'", [](DumpParts& parts) { parts.tensors.clear(); });
  expect_refused("lacks tensor 'layer.2.k'",
                 [](DumpParts& parts) { parts.tensors.erase("layer.2.k"); });
  expect_refused("is I32", [](DumpParts& parts) { parts.tensors["layer.0.k"].dtype = "I32"; });
  using Shape = std::vector<std::int64_t>;
  for (const auto& [name, shape, reason] :
       {std::tuple{"layer.2.k", Shape{12, 4, 2}, "shape [12, 4, 2]"},
        {"layer.0.q", Shape{96}, "shape [96]"},
        {"layer.0.q", Shape{1LL << 40, 1LL << 40, 4}, "more than 2^63 bits"}})
    expect_refused(reason, [&](DumpParts& parts) { parts.tensors[name].shape = shape; });
  expect_refused("0 heads", [](DumpParts& parts) {
    parts.tensors["layer.0.q"] = {.shape = {12, 0, 4}, .values = {}};
  });
}

TEST(HostileDump, TruncatedBytesAreRefused) {
  const std::vector<std::byte> whole = small_dump().bytes();
  for (std::size_t size = 0; size < whole.size(); size += 13) {
    const std::vector<std::byte> cut(whole.begin(),
                                     whole.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_FALSE(Dump::read(ByteSource::of(cut, "dump"))) << size << " bytes";
  }
}

TEST(HostileDump, NumbersThatAreNotFiniteAreReportedWithTheirPosition) {
  for (const float bad : {NAN, INFINITY, 1e30F}) {
    DumpParts parts = small_dump();
    parts.tensors["layer.2.k"].values[5 * 8 + 4 + 1] = bad;
    const Dump dump = parts.read().value();
    EXPECT_TRUE(dump.head(1, 0));
    const Result<HeadVectors> head = dump.head(1, 1);
    ASSERT_FALSE(head);
    EXPECT_THAT(head.error().message,
                AllOf(HasSubstr("'layer.2.k'"), HasSubstr("token 5, head 1")));
  }
}

TEST(HostileDump, FoldersAndMissingFilesAreRefused) {
  EXPECT_FALSE(Dump::open(::testing::TempDir()));
  EXPECT_FALSE(Dump::open("/no/such/dump.safetensors"));
}

/// Weights computed here, times the dumped values, must be the outputs of the dumped model: a tiny
/// random one whose own attention scripts/attnscope_dump.py stored next to the dump.
TEST(GoldenDump, WeightsTimesValuesAreTheOutputsOfTheModel) {
  for (const std::string model : {"bert", "longformer"}) {
    SCOPED_TRACE(model);
    const auto path = std::filesystem::path(GOLDEN_DUMPS) / (model + ".safetensors");
    const Dump dump = Dump::open(path).value();
    const SafetensorsFile file = SafetensorsFile::open(path).value();
    const DumpInfo& info = dump.info();
    const std::array<std::int64_t, 3> shape{info.layout.tokens(), info.heads, info.head_dim};
    ASSERT_EQ(info.layers.size(), 2U);
    for (std::size_t layer = 0; layer < info.layers.size(); ++layer) {
      const std::string number = std::to_string(info.layers[layer]);
      const auto values = file.floats("layer." + number + ".v", shape).value();
      const auto global_values = info.global_rows.empty()
                                     ? values
                                     : file.floats("layer." + number + ".v_global", shape).value();
      const auto expected = file.floats("expected." + number + ".o", shape).value();
      const auto mask = std::make_shared<const Mask>(
          *compile_plan(info.patterns[layer], info.windows[layer], info.layout, info.heads));
      for (std::int32_t head = 0; head < info.heads; ++head) {
        const HeadWeights weights(
            std::make_shared<const HeadVectors>(dump.head(layer, head).value()), mask, head,
            info.scale);
        RowWeights row;
        for (std::int64_t i = 0; i < info.layout.tokens(); ++i) {
          weights.row(i, row);
          const auto& v = std::ranges::binary_search(info.global_rows, i) ? global_values : values;
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
            ASSERT_NEAR(output, static_cast<double>(expected[at(i)]), 2e-5)
                << "layer " << layer << ", head " << head << ", token " << i;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace attnscope
