#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Re-rankers that process the cosines of a query's words with a document's words as an image:
// MatchPyramid, PACRR and CO-PACRR. A family extracts features from such a map; three linear layers
// compute the score. Uses LibTorch.

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "engine/model/words/words_model.h"

namespace attnscope {

/// The only implementation of these families.
inline constexpr std::string_view map_implementation = "libtorch";

/// A query, a document and the cosines of their words. A document without words is a single zero
/// vector.
struct MatchMap {
  const at::Tensor& query;     // vectors [query words, hidden]
  const at::Tensor& document;  // vectors [document words, hidden]
  const at::Tensor& cosines;   // [query words, document words]; bitwise equal for equal words
};

class MapModel : public WordsModel {
 public:
  MapModel(std::shared_ptr<const ModelWeights> weights, ModelConfig config,
           const ModelVariant& variant, std::int64_t features);

 protected:
  /// Features of a map: [features]. Called by several threads.
  [[nodiscard]] virtual at::Tensor seen_in(const MatchMap& map) const = 0;
  /// Operations between the cosines and the linear layers, for one document.
  [[nodiscard]] virtual double flop_of_map(std::int64_t query, std::int64_t document) const = 0;
  /// Number of temporary floats of that part, per thread.
  [[nodiscard]] virtual std::int64_t floats_of_map(std::int64_t query,
                                                   std::int64_t document) const = 0;

  [[nodiscard]] Result<GroupOutput> score_words(TokenIds query, std::span<const TokenIds> documents,
                                                const Show& show) final;
  [[nodiscard]] ModelWork work_of(const WordCounts& counts) const final;
  [[nodiscard]] std::int64_t peak_bytes(const WordCounts& counts) const final;

 private:
  [[nodiscard]] at::Tensor scores_of(const at::Tensor& features) const;

  std::int64_t features_;
  LinearWeights first_, second_;
  at::Tensor last_;
};

/// The score of a map's features in float64.
[[nodiscard]] ReferenceOutput scored_map(const WordsReference& reference,
                                         const at::Tensor& features);

/// Output channels [channels, rows, columns] of a convolution of a map [rows, columns], zero-padded
/// at the right and the bottom. Passes them to `use` in blocks of rows with the number of the first
/// row: the channels of a whole map are never stored.
void convolve_rows(const at::Tensor& map, const LinearWeights& convolution,
                   const std::function<void(std::int64_t, const at::Tensor&)>& use);
/// Number of floats in one block of rows, including temporaries.
[[nodiscard]] std::int64_t floats_of_convolved_rows(std::int64_t rows, std::int64_t columns,
                                                    std::int64_t channels);

}  // namespace attnscope
