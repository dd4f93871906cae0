#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Operations for the float64 references of late-interaction families. LibTorch inside.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <string>

#include "engine/model/bert/packed_batch.h"
#include "engine/model/bert/reference.h"
#include "engine/model/family.h"

namespace attnscope {

class LateReference {
 public:
  LateReference(const ModelWeights& weights, const ModelVariant& variant, std::int32_t cls)
      : weights_(weights), variant_(variant), cls_(cls) {}

  [[nodiscard]] const ModelShape& shape() const { return weights_.shape(); }
  /// The tensor, rounded to the variant's dtype.
  [[nodiscard]] at::Tensor tensor(const std::string& name) const;
  [[nodiscard]] at::Tensor linear(const std::string& name, const at::Tensor& x) const;
  [[nodiscard]] at::Tensor norm(const std::string& name, const at::Tensor& x) const;

  /// States [tokens, hidden] of a text before layer `end`. Errors: those of pack_texts.
  [[nodiscard]] Result<at::Tensor> encode(TokenIds text, const TextForm& form, std::int64_t end,
                                          const std::string& learned = {}) const;
  /// Both texts through all layers.
  struct Both {
    at::Tensor query, document;
  };
  [[nodiscard]] Result<Both> encode_both(TokenIds query, TokenIds document) const;
  /// Runs x [tokens, hidden] of that layout through the layers from `first` to the last.
  [[nodiscard]] at::Tensor run_from(const SequenceLayout& layout, const at::Tensor& x,
                                    std::int64_t first) const;

  /// softmax(q k^T * scale) v by head; [rows, hidden] each. With one head and scale 1: a
  /// composition by codes.
  [[nodiscard]] static at::Tensor attend(const at::Tensor& q, const at::Tensor& k,
                                         const at::Tensor& v, std::int64_t heads, double scale);

 private:
  const ModelWeights& weights_;
  const ModelVariant& variant_;
  std::int32_t cls_;
};

}  // namespace attnscope
