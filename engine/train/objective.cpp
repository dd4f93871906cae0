// SPDX-License-Identifier: Apache-2.0
#include "engine/train/objective.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/softplus.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "base/sentences.h"

namespace attnscope {
namespace {

struct NamedObjective {
  Objective objective;
  std::string_view name;
};
constexpr NamedObjective objectives[] = {{Objective::margin_mse, "margin-mse"},
                                         {Objective::ranknet, "ranknet"},
                                         {Objective::localized_ce, "localized-ce"}};

/// s+ - s- for each group.
at::Tensor differences(const at::Tensor& scores, std::span<const ScoredGroup> groups) {
  if (std::ranges::any_of(groups, [](const ScoredGroup& group) { return group.documents != 2; }))
    throw std::logic_error("a group of this objective must have two documents");
  const at::Tensor pairs = scores.view({-1, 2});
  return pairs.select(1, 0) - pairs.select(1, 1);
}

at::Tensor squared_margins(const at::Tensor& scores, std::span<const ScoredGroup> groups) {
  std::vector<double> margins;
  margins.reserve(groups.size());
  for (const ScoredGroup& group : groups) margins.push_back(group.margin);
  const at::Tensor wanted = at::tensor(margins, at::kDouble).to(scores.device(), at::kFloat);
  return (differences(scores, groups) - wanted).square().sum();
}

at::Tensor cross_entropy(const at::Tensor& scores, std::span<const ScoredGroup> groups) {
  at::Tensor sum = at::zeros({}, scores.options());
  std::int64_t first = 0;
  for (const ScoredGroup& group : groups) {
    sum = sum - at::log_softmax(scores.narrow(0, first, group.documents), 0).select(0, 0);
    first += group.documents;
  }
  return sum;
}

}  // namespace

std::string_view name_of(Objective objective) {
  return std::ranges::find(objectives, objective, &NamedObjective::objective)->name;
}

Result<Objective> parse_objective(std::string_view text) {
  std::vector<std::string_view> known;
  for (const NamedObjective& named : objectives) {
    if (named.name == text) return named.objective;
    known.push_back(named.name);
  }
  return fail("there is no objective '{}'; {}", in_a_sentence(text), suggest(text, known));
}

at::Tensor loss_of(Objective objective, const at::Tensor& scores,
                   std::span<const ScoredGroup> groups) {
  switch (objective) {
    case Objective::margin_mse:
      return squared_margins(scores, groups);
    case Objective::ranknet:
      return at::softplus(-differences(scores, groups)).sum();
    case Objective::localized_ce:
      break;
  }
  return cross_entropy(scores, groups);
}

}  // namespace attnscope
