// SPDX-License-Identifier: Apache-2.0
//
// Dumps that the script made of tiny random models, beside the outputs of those models' own
// attention: the weights computed here, times the dumped values, are these outputs.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>

#include "engine/inspect/dump.h"
#include "engine/inspect/head_weights.h"
#include "engine/pattern/compile_plan.h"
#include "engine/safetensors/safetensors.h"

namespace attnscope {
namespace {

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
