#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// MaxSim (Khattab and Zaharia, SIGIR 2020, Eq. 3): of each vector of a query the largest product
// with a vector of a document; what models of token vectors have in common. LibTorch inside.

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "engine/model/late/late_model.h"

namespace attnscope {

struct MaxSim {
  Computing computing;
  int threads = 1;
  std::int64_t width = 0;  // of a vector
  float least = 0;         // what stands for a product that is smaller

  /// `query` [vectors, width]. Scores are sums of the maxima, which are the states. `show` is
  /// handed the vectors of a single candidate as queries, keys and values of one head of `layer`:
  /// their products are what the maxima are taken of.
  [[nodiscard]] Result<Interacted> of(const at::Tensor& query, const Candidates& candidates,
                                      std::int64_t layer, const Show& show) const;
  [[nodiscard]] ModelWork work(const InteractionSize& size) const;
  /// Bytes beside the query and the candidates' rows.
  [[nodiscard]] std::int64_t peak_bytes(const InteractionSize& size) const;
  /// Work of a linear layer from `hidden` numbers to a vector for each of so many tokens.
  [[nodiscard]] ModelWork work_of_vectors(std::int64_t tokens, std::int64_t hidden) const;
};

}  // namespace attnscope
