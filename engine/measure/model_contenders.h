#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Contenders of operation model, whichever stage is measured: their weights, their inputs, and the
// validation of their scores. States and scores of some documents are compared with the float64
// model, and after every timed sample the scores of all documents are compared with those of the
// checked call.
//
//   const ModelInputs inputs(point, sizes, 100);
//   model->score(inputs.batch_of(8));     // the compared document is the last of every batch

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/heat/heat.h"
#include "engine/heat/model_row.h"
#include "engine/measure/workload.h"
#include "engine/model/family.h"
#include "engine/model/model_weights.h"
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
  /// at least two, so that contenders with different batch sizes share references. The batch refers
  /// to this object's memory.
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

/// A token id of a random word.
[[nodiscard]] std::int32_t random_word(std::uint64_t seed, std::uint64_t counter);

[[nodiscard]] ModelShape shape_of(const HeatPoint& point);

/// The properties of a contender that every stage uses. `contender` must outlive it.
struct ModelContender {
  ModelContender(const Contender& contender_in, const HeatPoint& point);

  /// Whether documents are encoded independently of queries.
  [[nodiscard]] bool keeps_documents() const { return row.family->keeps() != Kept::nothing; }
  /// The text as the family reads it: without [SEP] if the family reads words.
  [[nodiscard]] TokenIds read(TokenIds text) const {
    return row.family->reads_words() ? text.first(text.size() - 1) : text;
  }

  const Contender& contender;
  ModelRow row{};
  const Family* family = nullptr;                 // null if the row cannot be parsed
  Result<ModelVariant> variant{};                 // or an error that states what is not supported
  std::int64_t documents = 0;                     // per call
  std::shared_ptr<const ModelWeights> weights{};  // of the current placement
};

/// Random weights of one placement, drawn once for all rows of a heat that share them.
class SharedWeights {
 public:
  explicit SharedWeights(const Heat& heat);
  [[nodiscard]] std::shared_ptr<const ModelWeights> of(const ModelRow& row);
  void release() { drawn_.clear(); }

 private:
  const HeatPoint& point_;
  std::map<std::string, std::vector<ModelRow>> rows_;  // by name of the weights
  std::map<std::string, std::shared_ptr<const ModelWeights>> drawn_;
};

/// Tolerance of states and scores (Family::error_bound), by the data type of the variant's matrix
/// products.
[[nodiscard]] double error_bound(const Family& family, const ModelVariant& variant,
                                 const ModelShape& shape);

/// Checks every row of the attention of a heat's models, on one item in the memory order of their
/// projections: states and scores do not show every error, because a wrong row in one layer may
/// change the [CLS] state of a random model by less than rounding does. Returns ok for an
/// implementation that does not compute the item's whole plan.
class LayerAttentionCheck {
 public:
  LayerAttentionCheck(const HeatSetting& setting, Heat of_attention);
  LayerAttentionCheck(const LayerAttentionCheck&) = delete;
  LayerAttentionCheck& operator=(const LayerAttentionCheck&) = delete;
  [[nodiscard]] Verdict judge(std::size_t contender);
  /// Frees its tensors.
  void release() { attention_.reset(); }

 private:
  /// Appends a contender for the local layers of each contender that has a separate pattern for
  /// them. Returns the index of the appended contender, for each original contender.
  static std::vector<std::optional<std::size_t>> add_local_layers(Heat& heat);
  /// `place` is an index into the heat's contenders, `contender` into the setting's.
  [[nodiscard]] Verdict judge_layers(std::size_t place, std::size_t contender);

  HeatSetting setting_;
  Heat heat_;
  std::vector<std::optional<std::size_t>> local_;
  std::unique_ptr<Workload> attention_;
};

/// Indices of the first and the last document of a batch; only the last if documents are long,
/// since their references take seconds to compute. `sequence_tokens`: sequence length of the first.
[[nodiscard]] std::vector<std::size_t> documents_to_compare(std::int64_t sequence_tokens,
                                                            std::size_t batch);

using ModelReferences = std::vector<std::pair<std::size_t, const ReferenceOutput*>>;  // by item

/// References, computed on first use: for each distinct combination of family, pattern, window and
/// options other than shortcuts, that of the last document of every batch and that of the first
/// document of all batches of at least two.
class SharedReferences {
 public:
  /// References of the documents_to_compare of a call.
  [[nodiscard]] ModelReferences of_call(const ModelContender& model, const ModelInputs& inputs,
                                        std::int64_t sequence_tokens);

 private:
  const ReferenceOutput& of(const ModelContender& model, bool is_last,
                            const PairBatch::Item& texts);

  std::map<std::string, ReferenceOutput> known_;
};

/// Compares an output of `documents` documents, with the states of the first and the last only,
/// with the references of both or of one of them. The error is the maximum over states and scores,
/// relative to the largest absolute value of the state, or to the score where the state is zero.
[[nodiscard]] Verdict judge(const ModelReferences& references, const ModelOutput& output,
                            std::size_t documents, double bound);

/// Compares only the scores, of all documents, for outputs without states.
[[nodiscard]] Verdict judge_scores(const ModelReferences& references, std::span<const float> scores,
                                   double bound);

/// Error of scores of the same documents from another computation, relative to the largest absolute
/// value of the checked states, or to the checked score where they are zero.
[[nodiscard]] double error_of_scores(const ModelOutput& checked, std::span<const float> scores);

/// Compares the scores of a later call with those of the checked call: they may differ by no more
/// than two correct computations do.
[[nodiscard]] Verdict judge_again(const ModelOutput& checked, const ModelOutput& later,
                                  double bound);

}  // namespace attnscope::measure
