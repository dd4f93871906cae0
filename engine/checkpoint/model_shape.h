#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The shape of a BERT-family cross-encoder: what a checkpoint's config.json says of it.

#include <cstdint>

namespace attnscope {

/// By default MiniLM-L6, the model of the paper (Schlatt et al., ECIR 2024, Sec. 3.5).
struct ModelShape {
  std::int64_t layers = 6;
  std::int64_t hidden = 384;  // heads x head dimension
  std::int64_t heads = 12;
  std::int64_t feed_forward = 1536;  // the intermediate layer's width
  std::int64_t vocabulary = 30522;
  std::int64_t positions = 512;  // tokens that can be told apart, [CLS] and both [SEP] among them
  std::int64_t types = 2;        // token types: 0 for [CLS] and query, 1 for the document
  std::int64_t first_position = 0;  // the table's row for [CLS]: 2 where padding has rows before it
  double norm_epsilon = 1e-12;
  [[nodiscard]] std::int64_t head_dim() const { return hidden / heads; }
  friend bool operator==(const ModelShape&, const ModelShape&) = default;
};

}  // namespace attnscope
