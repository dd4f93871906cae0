#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The queries and keys of one head. Keys are kept with the token as the fastest index, so that the
// scores of one row are computed for neighbouring keys at once.

#include <cstdint>
#include <span>
#include <vector>

namespace attnscope {

class HeadVectors {
 public:
  HeadVectors(std::int64_t tokens, std::int64_t head_dim) : tokens_(tokens), head_dim_(head_dim) {}

  /// `q` and `k`: [tokens, head_dim].
  void set(std::span<const float> q, std::span<const float> k);
  /// Rows whose scores come from projections of their own, both [tokens, head_dim].
  void set_global(std::span<const std::int64_t> rows, std::span<const float> q,
                  std::span<const float> k);

  [[nodiscard]] std::int64_t tokens() const { return tokens_; }
  [[nodiscard]] std::int64_t head_dim() const { return head_dim_; }
  /// [head_dim]
  [[nodiscard]] const float* query(std::int64_t row) const;
  /// [head_dim, tokens]: the keys that this row's query is held against.
  [[nodiscard]] const float* keys_for(std::int64_t row) const;

 private:
  [[nodiscard]] bool is_global(std::int64_t row) const {
    return !global_.empty() && global_[static_cast<std::size_t>(row)];
  }

  std::int64_t tokens_;
  std::int64_t head_dim_;
  std::vector<float> q_, k_;
  std::vector<float> q_global_, k_global_;
  std::vector<bool> global_;  // by row; empty: none
};

}  // namespace attnscope
