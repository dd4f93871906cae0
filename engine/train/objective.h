#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Training objectives. A group consists of a query's documents, the relevant one first. LibTorch
// inside.
//
//   margin-mse      ((s+ - s-) - margin)^2, the margin a teacher's (Hofstaetter et al., 2020)
//   ranknet         log(1 + exp(s- - s+)) (Burges et al., 2005)
//   localized-ce    -log of the softmax over the group at the relevant one (Gao et al., 2021)
//
//   at::Tensor sum = loss_of(Objective::ranknet, scores, {{.documents = 2}});

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <string_view>

#include "base/result.h"

namespace attnscope {

enum class Objective : std::uint8_t { margin_mse, ranknet, localized_ce };
[[nodiscard]] std::string_view name_of(Objective objective);
/// The error lists the known objectives.
[[nodiscard]] Result<Objective> parse_objective(std::string_view text);

struct ScoredGroup {
  std::int64_t documents = 2;  // above 1; 2 for margin-mse and ranknet
  double margin = 0;           // for margin-mse only
};

/// The loss summed over the groups, float32 with the autograd graph of `scores` [documents of all
/// groups, one group after the other].
[[nodiscard]] at::Tensor loss_of(Objective objective, const at::Tensor& scores,
                                 std::span<const ScoredGroup> groups);

}  // namespace attnscope
