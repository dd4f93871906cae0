#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Inputs of a heat's models and validation of their scores: states and scores of some documents are
// compared with the float64 model, and after every timed sample the scores of all documents are
// compared with those of the checked call.
//
// For a re-ranker that encodes documents independently, each stage is measured separately: offline
// calls encode_documents, load maps a cache file and copies its contents, online scores against it.
// A stage is validated by the resulting scores. A family that caches no documents has neither an
// offline nor a load stage, and its online stage is the whole computation.
//
//   const ModelInputs inputs(point, sizes, 100);
//   model->score(inputs.batch_of(8));     // the compared document is the last of every batch

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

/// One query with as many documents as a batch holds, all of random token ids and all different
/// (Schlatt et al., ECIR 2024, Sec. 4.3). A text ends in [SEP], which is omitted for families that
/// read words. The length and ids of document i do not depend on the number of documents: the
/// length is that of the sizes, or is drawn from the point's length distribution.
class ModelInputs {
 public:
  /// `most`: number of different documents; larger batches repeat them.
  ModelInputs(const HeatPoint& point, const GroupSizes& sizes, std::int64_t most);

  [[nodiscard]] std::int64_t most() const { return most_; }
  /// The last item of every batch is the same document, and so is the first one of all batches of
  /// at least two, so that contenders with different batch sizes share references. Valid as long as
  /// the inputs.
  [[nodiscard]] PairBatch batch_of(std::int64_t documents) const;
  /// The index, below most(), of the distinct document at this position of a batch of `documents`.
  [[nodiscard]] std::int64_t document_of(std::int64_t item, std::int64_t documents) const;
  [[nodiscard]] TokenIds document(std::int64_t index) const;
  [[nodiscard]] TokenIds query() const { return query_; }

 private:
  std::int64_t most_;
  std::vector<std::int32_t> query_;
  std::vector<std::size_t> begins_;      // start of each document; end of the last
  std::vector<std::int32_t> documents_;  // concatenated
};

[[nodiscard]] ModelShape shape_of(const HeatPoint& point);
[[nodiscard]] Result<ModelVariant> variant_of(const Contender& contender, const ModelRow& row,
                                              const HeatPoint& point);

/// Tolerance of states and scores (Family::error_bound), by the data type of the variant's matrix
/// products.
[[nodiscard]] double error_bound(const Family& family, const ModelVariant& variant,
                                 const ModelShape& shape);

/// Checks the attention of a heat's models row by row, on one item in the memory order of their
/// projections: a wrong row of one layer may change the [CLS] state of a random model by less than
/// rounding. Returns ok for an implementation that does not take the item's plan as a whole.
class AttentionInside {
 public:
  AttentionInside(const HeatSetting& setting, Heat of_attention);
  AttentionInside(const AttentionInside&) = delete;
  AttentionInside& operator=(const AttentionInside&) = delete;
  [[nodiscard]] Verdict judge(std::size_t contender);
  /// Frees its tensors.
  void let_go() { attention_.reset(); }

 private:
  /// Appends a contender for each one whose local layers use a pattern of their own; returns the
  /// positions of these, by contender.
  static std::vector<std::optional<std::size_t>> add_local_layers(Heat& heat);
  /// `place` is an index into the heat's contenders, `contender` into the setting's.
  [[nodiscard]] Verdict judge_one(std::size_t place, std::size_t contender);

  HeatSetting setting_;
  Heat heat_;
  std::vector<std::optional<std::size_t>> local_;
  std::unique_ptr<Workload> attention_;
};

/// References, computed on first use: one for each distinct combination of family, pattern, window
/// and options other than shortcuts, for the last document of a batch and the first of all others.
class SharedReferences {
 public:
  [[nodiscard]] const ReferenceOutput& of(const Contender& contender, const Family& family,
                                          const ModelWeights& weights, ModelVariant variant,
                                          bool is_last, const PairBatch::Item& texts);

 private:
  std::map<std::string, ReferenceOutput> known_;
};

/// The first and the last document of a batch; only the last one of long documents, whose reference
/// takes seconds. `sequence_tokens`: sequence length of the first.
[[nodiscard]] std::vector<std::size_t> documents_to_compare(std::int64_t sequence_tokens,
                                                            std::size_t batch);

using ModelReferences = std::vector<std::pair<std::size_t, const ReferenceOutput*>>;  // by item

/// Compares an output of `documents` documents, with the states of the first and the last only,
/// with the references of both or of one of them. The error is the maximum over states and scores,
/// relative to the largest absolute value of the state.
[[nodiscard]] Verdict judge(const ModelReferences& references, const ModelOutput& output,
                            std::size_t documents, double bound);

/// Compares only the scores, of all documents, for outputs without states.
[[nodiscard]] Verdict judge_scores(const ModelReferences& references, std::span<const float> scores,
                                   double bound);

/// Compares the scores of a later call with those of the checked call: they may differ by no more
/// than two correct computations do.
[[nodiscard]] Verdict judge_again(const ModelOutput& checked, const ModelOutput& later,
                                  double bound);

}  // namespace attnscope::measure
