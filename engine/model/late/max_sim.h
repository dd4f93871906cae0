#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// MaxSim (Khattab and Zaharia, SIGIR 2020, Eq. 3): for each vector of a query, the largest product
// with a vector of a document; shared by models of token vectors. LibTorch inside.

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "engine/model/late/late_model.h"

namespace attnscope {

struct MaxSim {
  Computing computing;
  int threads = 1;
  std::int64_t width = 0;  // width of a vector
  float least = 0;         // lower bound that replaces smaller products

  /// `query` [vectors, width]. Scores are sums of the maxima, which are the states. `show` receives
  /// the vectors of a single candidate as queries, keys and values of one head of `layer`: the
  /// maxima are taken over their products.
  [[nodiscard]] Result<Interacted> of(const at::Tensor& query, const Candidates& candidates,
                                      std::int64_t layer, const Show& show) const;
  [[nodiscard]] ModelWork work(const InteractionSize& size) const;
  /// Peak memory in bytes, in addition to the query and the candidates' rows.
  [[nodiscard]] std::int64_t peak_bytes(const InteractionSize& size) const;
  /// Work of a linear layer from `hidden` to `width` numbers for `tokens` tokens.
  [[nodiscard]] ModelWork work_of_vectors(std::int64_t tokens, std::int64_t hidden) const;
};

}  // namespace attnscope
