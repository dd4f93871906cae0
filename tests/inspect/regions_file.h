#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A file of a document's regions as a worker writes it, which tests open or damage.

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/inspect/regions.h"
#include "engine/safetensors/safetensors.h"
#include "tests/safetensors/scratch_folder.h"

namespace attnscope::tests {

/// Regions of a document of 95 words, of which the model read 90, and a query of two words.
struct RegionsFile {
  std::map<std::string, std::string> metadata;
  std::vector<float> regions = std::vector<float>(46), counted = std::vector<float>(15),
                     unmatched = std::vector<float>(15), shares = std::vector<float>(15 * 22),
                     weights = std::vector<float>(15), score = {-2.9F};

  RegionsFile() {
    std::vector<std::string> words;
    for (int i = 0; i < 95; ++i) words.push_back("w" + std::to_string(i));
    words[3] = "<b>&";
    words[41] = "tall";
    metadata = {{"attnscope_regions", "1"},
                {"model", "tiny"},
                {"query", nlohmann::json{"how", "tall"}.dump()},
                {"unknown", "[]"},
                {"document", nlohmann::json(words).dump()},
                {"read", "90"},
                {"kept", "90"},
                {"note", ""}};
    for (std::size_t r = 0; r < regions.size(); ++r)
      regions[r] = r < 45 ? static_cast<float>(r) * 0.1F - 3 : 0;
    // Three peaks (regions 20, 2 and 2: the third repeats the second, as in short documents), then
    // their neighbours at -1, +1, -2 and +2.
    counted = {20, 2, 2, 19, 1, 1, 21, 3, 3, 18, 0, 0, 22, 4, 4};
    // In the score of -2.9 the peaks count -0.5, -0.7 and -0.7, and regions 19 and 21 count -0.55
    // and -0.45.
    weights = {0.5, 0.25, 0.25, 0.5, 0, 0, 0.5, 0, 0, 0, 0, 0, 0, 0, 0};
    unmatched[0] = -2.25F;
    unmatched[1] = -2.8F;
    shares[0 * 22 + 11] = 1.5F;  // the second word's, by the first kernel
    shares[0 * 22 + 1] = -0.25F;
  }
  [[nodiscard]] Status write(const std::filesystem::path& file) const {
    const auto size = [](const std::vector<float>& values) {
      return static_cast<std::int64_t>(values.size());
    };
    std::vector<NamedTensor> tensors{{"layer.0.score", {size(score)}, score},
                                     {"layer.0.regions", {size(regions)}, regions},
                                     {"layer.0.counted", {size(counted)}, counted},
                                     {"layer.0.unmatched", {size(unmatched)}, unmatched},
                                     {"layer.0.shares", {size(shares) / 22, 2, 11}, shares}};
    if (!weights.empty()) tensors.push_back({"layer.0.weights", {size(weights)}, weights});
    return write_safetensors(file, tensors, {.metadata = metadata});
  }
  [[nodiscard]] Result<DocumentRegions> read() const {
    const ScratchFolder folder;
    EXPECT_TRUE(write(folder / "r.safetensors"));
    EXPECT_EQ(holds_regions(folder / "r.safetensors"), metadata.contains("attnscope_regions"));
    return read_regions(folder / "r.safetensors");
  }
  [[nodiscard]] std::string error() const {
    const auto read_back = read();
    return read_back ? "read" : read_back.error().message;
  }
};

}  // namespace attnscope::tests
