#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Re-rankers that look at the cosines of a query's words with a document's as at a picture:
// MatchPyramid, PACRR and CO-PACRR. A family says what it sees in such a map; three linear layers
// make the score of it. LibTorch inside.

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "engine/model/words/words_model.h"
#include "engine/model/words/words_reference.h"

namespace attnscope {

/// The one implementation of such families.
inline constexpr std::string_view map_implementation = "libtorch";

/// A query, a document and their words' cosines. A document without words is one of zeros.
struct MatchMap {
  const at::Tensor& query;     // vectors [query words, hidden]
  const at::Tensor& document;  // vectors [document words, hidden]
  const at::Tensor& cosines;   // [query words, document words]; of equal words to the bit the same
};

class MapModel : public WordsModel {
 public:
  MapModel(std::shared_ptr<const ModelWeights> weights, ModelConfig config,
           const ModelVariant& variant, std::int64_t features);

 protected:
  /// What is seen in a map: [features]. Called by several threads.
  [[nodiscard]] virtual at::Tensor seen_in(const MatchMap& map) const = 0;
  /// Of all before the linear layers and behind the cosines, of one document.
  [[nodiscard]] virtual double flop_of_map(std::int64_t query, std::int64_t document) const = 0;
  /// Likewise, floats of one thread.
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

/// In float64, of what was seen in a map.
[[nodiscard]] ReferenceOutput scored_map(const WordsReference& reference,
                                         const at::Tensor& features);

/// Channels [channels, rows, columns] of a convolution of a map [rows, columns], behind and below
/// which zeros lie. They are handed to `use` some rows at a time with the first one's number:
/// channels of a whole map are never stored.
void convolve_rows(const at::Tensor& map, const LinearWeights& convolution,
                   const std::function<void(std::int64_t, const at::Tensor&)>& use);
/// Floats of it, all rows that are on the way.
[[nodiscard]] std::int64_t floats_of_convolved_rows(std::int64_t rows, std::int64_t columns,
                                                    std::int64_t channels);

}  // namespace attnscope
