#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A family of re-rankers over word vectors. LibTorch inside.

#include <memory>
#include <string_view>
#include <vector>

#include "engine/model/words/words_model.h"
#include "engine/model/words/words_reference.h"

namespace attnscope {

class WordsFamily : public Family {
 public:
  [[nodiscard]] const FamilyDescription& description() const final { return words(); }
  /// Float32 on the CPU only: 16 bits cannot resolve differences that the kernels distinguish.
  [[nodiscard]] Status supports(const ModelConfig& config, const ModelVariant& variant,
                                std::string_view implementation) const final;
  [[nodiscard]] Result<std::unique_ptr<Model>> make(
      const std::shared_ptr<const ModelWeights>& weights, const ModelVariant& variant,
      std::string_view implementation) const final;
  [[nodiscard]] Result<ReferenceOutput> reference(const ModelWeights& weights,
                                                  const ModelVariant& variant,
                                                  const PairBatch::Item& item,
                                                  std::int32_t cls) const final;
  [[nodiscard]] double error_bound(DType /*dtype*/, const ModelShape& /*shape*/) const override;

 protected:
  [[nodiscard]] virtual const WordsDescription& words() const = 0;
  /// Ok, or why `implementation`, one of implementations(), does not support such a model.
  [[nodiscard]] virtual Status fits(const ModelConfig& config, const ModelVariant& variant,
                                    std::string_view implementation) const;
  /// `config` has the options applied. Precondition: `fits` and has_tensors returned Ok.
  [[nodiscard]] virtual Result<std::unique_ptr<Model>> model(
      const std::shared_ptr<const ModelWeights>& weights, const ModelConfig& config,
      const ModelVariant& variant, std::string_view implementation) const = 0;
  /// In float64; a direct transcription of the specification. Texts have no padding.
  [[nodiscard]] virtual Result<ReferenceOutput> reference_of(const WordsReference& reference,
                                                             const ModelConfig& config,
                                                             TokenIds query,
                                                             TokenIds document) const = 0;
};

}  // namespace attnscope
