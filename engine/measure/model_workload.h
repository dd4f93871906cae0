#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What the models of a heat score, and how their scores are judged: states and scores of some
// documents against the float64 model, and after every timed sample the scores of all documents
// against those of the call that was checked.
//
// Of a re-ranker that encodes documents by themselves, each stage is measured alone: offline calls
// encode_documents, load maps a cache's file and copies what it holds, online scores against it. A
// stage is judged by the scores that come out in the end. A family that keeps nothing of documents
// has no offline and no load stage, and its online stage is all of it.
//
//   const ModelInputs inputs(point, sizes, 100);
//   model->score(inputs.batch_of(8));     // the document compared stands last in every batch

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/heat/heat.h"
#include "engine/measure/workload.h"
#include "engine/model/family.h"
#include "engine/proof/call.h"

namespace attnscope::measure {

/// A text ends in [SEP], which families that read words are not given.
/// One query with as many documents as a batch takes, all of random token ids and all different
/// (Schlatt et al., ECIR 2024, Sec. 4.3). Document i has the same length and ids however many there
/// are: those of the sizes, or what the point's length distribution gives it.
class ModelInputs {
 public:
  /// `most` different documents; larger batches have them again.
  ModelInputs(const HeatPoint& point, const GroupSizes& sizes, std::int64_t most);

  [[nodiscard]] std::int64_t most() const { return most_; }
  /// The last item of every batch is the same document, the first one of all others, so that
  /// contenders with batches of their own share references. Lives as long as the inputs.
  [[nodiscard]] PairBatch batch_of(std::int64_t documents) const;
  /// The different document, below most(), that is that item of a batch of so many.
  [[nodiscard]] std::int64_t document_of(std::int64_t item, std::int64_t documents) const;
  [[nodiscard]] TokenIds document(std::int64_t index) const;
  [[nodiscard]] TokenIds query() const { return query_; }

 private:
  std::int64_t most_;
  std::vector<std::int32_t> query_;
  std::vector<std::size_t> begins_;      // of each document in `documents_`, and the last one's end
  std::vector<std::int32_t> documents_;  // one behind the other
};

[[nodiscard]] ModelShape shape_of(const HeatPoint& point);
[[nodiscard]] Result<ModelVariant> variant_of(const Contender& contender, const ModelRow& row,
                                              const HeatPoint& point);

/// How far states and scores may be off (Family::error_bound), by what the variant multiplies in.
[[nodiscard]] double error_bound(const Family& family, const ModelVariant& variant,
                                 const ModelShape& shape);

/// The attention inside a heat's models, row by row, on one item in the memory order of their
/// projections: a wrong row of one layer may leave the [CLS] state of a random model within
/// rounding. Right where the implementation does not take the item's plan as a whole.
class AttentionInside {
 public:
  AttentionInside(const HeatSetting& setting, Heat of_attention);
  AttentionInside(const AttentionInside&) = delete;
  AttentionInside& operator=(const AttentionInside&) = delete;
  [[nodiscard]] Verdict judge(std::size_t contender);
  /// Its tensors are gone then.
  void let_go() { attention_.reset(); }

 private:
  /// Contenders behind the others for those whose local layers attend by a pattern of their own:
  /// their places, by contender.
  static std::vector<std::optional<std::size_t>> add_local_layers(Heat& heat);
  /// `place` counts the heat's contenders, `contender` the setting's.
  [[nodiscard]] Verdict judge_one(std::size_t place, std::size_t contender);

  HeatSetting setting_;
  Heat heat_;
  std::vector<std::optional<std::size_t>> local_;
  std::unique_ptr<Workload> attention_;
};

/// One for each distinct family, pattern, window and options but shortcuts, and for the last
/// document of a batch and the first of all others, computed when first asked for.
class SharedReferences {
 public:
  [[nodiscard]] const ReferenceOutput& of(const Contender& contender, const Family& family,
                                          const ModelWeights& weights, ModelVariant variant,
                                          bool is_last, const PairBatch::Item& texts);

 private:
  std::map<std::string, ReferenceOutput> known_;
};

/// The first and the last document of a batch; of long ones, whose reference takes seconds, the
/// last alone. `sequence_tokens`: of the first.
[[nodiscard]] std::vector<std::size_t> documents_to_compare(std::int64_t sequence_tokens,
                                                            std::size_t batch);

using ModelReferences = std::vector<std::pair<std::size_t, const ReferenceOutput*>>;  // by item

/// An output of as many documents, with the states of the first and the last alone, against the
/// references of these or of one of them. The error is the worst of states and scores, over the
/// largest number of the state.
[[nodiscard]] Verdict judge(const ModelReferences& references, const ModelOutput& output,
                            std::size_t documents, double bound);

/// The same of scores alone, of all documents, where states are not told.
[[nodiscard]] Verdict judge_scores(const ModelReferences& references, std::span<const float> scores,
                                   double bound);

/// A later call's scores: they may differ from the checked call's by no more than two right
/// computations do.
[[nodiscard]] Verdict judge_again(const ModelOutput& checked, const ModelOutput& later,
                                  double bound);

}  // namespace attnscope::measure
