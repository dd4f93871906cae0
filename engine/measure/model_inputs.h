#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What the models of a heat score: one query with as many documents as a batch takes, all of random
// token ids and all different (Schlatt et al., ECIR 2024, Sec. 4.3).
//
//   const ModelInputs inputs(point, sizes, 100);
//   model->score(inputs.batch_of(8));     // the document compared stands last in every batch

#include <cstdint>
#include <vector>

#include "engine/heat/heat.h"
#include "engine/model/family.h"

namespace attnscope::measure {

class ModelInputs {
 public:
  /// For batches of up to `most` documents.
  ModelInputs(const HeatPoint& point, const GroupSizes& sizes, std::int64_t most);

  [[nodiscard]] std::int64_t most() const { return most_; }
  /// The last item of every batch is the same document, the first one of all others, so that
  /// contenders with batches of their own share references. Lives as long as the inputs.
  [[nodiscard]] PairBatch batch_of(std::int64_t documents) const;

 private:
  [[nodiscard]] std::span<const std::int32_t> document(std::int64_t index) const;

  std::int64_t most_, document_tokens_;
  std::vector<std::int32_t> query_;
  std::vector<std::int32_t> documents_;  // [most, document_tokens]
};

}  // namespace attnscope::measure
