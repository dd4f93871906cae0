// SPDX-License-Identifier: Apache-2.0
#include "engine/inspect/head_vectors.h"

#include <cassert>

namespace attnscope {
namespace {

/// [tokens, dim] to [dim, tokens].
std::vector<float> turned(std::span<const float> values, std::int64_t tokens, std::int64_t dim) {
  std::vector<float> turned(values.size());
  for (std::int64_t token = 0; token < tokens; ++token) {
    for (std::int64_t d = 0; d < dim; ++d) {
      turned[static_cast<std::size_t>(d * tokens + token)] =
          values[static_cast<std::size_t>(token * dim + d)];
    }
  }
  return turned;
}

}  // namespace

void HeadVectors::set(std::span<const float> q, std::span<const float> k) {
  assert(static_cast<std::int64_t>(q.size()) == tokens_ * head_dim_ && q.size() == k.size());
  q_.assign(q.begin(), q.end());
  k_ = turned(k, tokens_, head_dim_);
}

void HeadVectors::set_global(std::span<const std::int64_t> rows, std::span<const float> q,
                             std::span<const float> k) {
  assert(static_cast<std::int64_t>(q.size()) == tokens_ * head_dim_ && q.size() == k.size());
  q_global_.assign(q.begin(), q.end());
  k_global_ = turned(k, tokens_, head_dim_);
  global_.assign(static_cast<std::size_t>(tokens_), false);
  for (const std::int64_t row : rows) global_[static_cast<std::size_t>(row)] = true;
}

const float* HeadVectors::query(std::int64_t row) const {
  return (is_global(row) ? q_global_ : q_).data() + row * head_dim_;
}

const float* HeadVectors::keys_for(std::int64_t row) const {
  return (is_global(row) ? k_global_ : k_).data();
}

}  // namespace attnscope
