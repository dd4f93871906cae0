#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A checkpoint of two small layers with random weights, written into a folder in the layout of
// Hugging Face, which tests then change.

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace attnscope::tests {

struct TinyTensor {
  std::vector<std::int64_t> shape;
  std::string dtype = "F32";
};

/// hidden 8, 2 heads, feed-forward 16, vocabulary 20, 64 positions.
struct TinyCheckpoint {
  std::map<std::string, std::string> config;  // field -> JSON
  std::map<std::string, TinyTensor> tensors;

  [[nodiscard]] static TinyCheckpoint bert();
  [[nodiscard]] static TinyCheckpoint longformer();
  /// The first two models encode a document separately; cross_bert encodes it with the query.
  [[nodiscard]] static TinyCheckpoint dual_bert();
  [[nodiscard]] static TinyCheckpoint colbert();
  [[nodiscard]] static TinyCheckpoint cross_bert();
  /// A model of words, with 19 words in its list and the saturation that accepts any weights.
  [[nodiscard]] static TinyCheckpoint tkl();

  [[nodiscard]] std::string config_json() const;
  /// The bytes of a safetensors file.
  [[nodiscard]] std::string weights() const;
  /// config.json and model.safetensors.
  void write(const std::filesystem::path& folder) const;
  /// The same with another prefix in place of the model's.
  [[nodiscard]] TinyCheckpoint with_prefix(const std::string& was, const std::string& is) const;
};

/// Another value for one float of a file that was written so.
void set_value(const std::filesystem::path& weights, const std::string& tensor, std::size_t index,
               float value);

}  // namespace attnscope::tests
