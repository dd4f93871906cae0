#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Right before fast, for models: states and scores of some documents against the float64
// model, and after every timed sample the scores of all documents against those of the call that
// was checked.
//
//   ModelReferences references(heat.point);
//   const auto reference = references.of(family, *weights, variant, contender, batch, items);
//   const ModelVerdict verdict = judge(*reference, output, bound);

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/heat/heat.h"
#include "engine/measure/trouble.h"
#include "engine/model/family.h"

namespace attnscope::measure {

/// The first and the last document of a batch; of long ones, whose reference takes seconds, the
/// last alone.
[[nodiscard]] std::vector<std::size_t> documents_to_compare(std::int64_t sequence_tokens,
                                                            std::size_t batch);

/// One for each distinct family, pattern, window and options, computed when first asked for.
class ModelReferences {
 public:
  using Outputs = std::vector<std::pair<std::size_t, const ReferenceOutput*>>;  // by item
  [[nodiscard]] Result<Outputs> of(const Family& family, const ModelWeights& weights,
                                   const ModelVariant& variant, const Contender& contender,
                                   const PairBatch& batch, const std::vector<std::size_t>& items);

 private:
  std::map<std::string, ReferenceOutput> known_;
};

struct ModelVerdict {
  double error = 0;  // the worst of states and scores, over the largest number of the state
  double bound = 0;
  std::optional<Trouble> trouble;
};

/// An output of as many documents against the references of some of them.
[[nodiscard]] ModelVerdict judge(const ModelReferences::Outputs& references,
                                 const ModelOutput& output, std::size_t documents, double bound);

/// What is wrong with a later call's scores: they may differ from the checked call's by no more
/// than two right computations do.
[[nodiscard]] std::optional<ModelVerdict> judge_again(const ModelOutput& checked,
                                                      const ModelOutput& later, double bound);

}  // namespace attnscope::measure
