#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A family of re-rankers over word vectors, and the operations of its float64 reference: plain,
// without kernels. Uses LibTorch.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/family.h"
#include "engine/model/model_weights.h"
#include "engine/model/words/words_model.h"

namespace attnscope {

/// Plain operations, without kernels, for the float64 references of these families.
class WordsReference {
 public:
  explicit WordsReference(const ModelWeights& weights) : weights_(weights) {}

  [[nodiscard]] const ModelShape& shape() const { return weights_.shape(); }
  [[nodiscard]] at::Tensor tensor(const std::string& name) const;
  [[nodiscard]] at::Tensor linear(const std::string& name, const at::Tensor& x) const;
  [[nodiscard]] at::Tensor norm(const std::string& name, const at::Tensor& x) const;
  /// [words, hidden].
  [[nodiscard]] at::Tensor embed(TokenIds words) const;
  /// One sequence x [words, hidden] through all attention layers.
  [[nodiscard]] at::Tensor contextualize(at::Tensor x) const;
  /// [rows of a, rows of b].
  [[nodiscard]] static at::Tensor cosines(const at::Tensor& a, const at::Tensor& b);
  /// Gaussian kernels of c [...]: [..., 11]; the first kernel has its own width.
  [[nodiscard]] static at::Tensor kernels(const at::Tensor& c, double first_width);
  /// KNRM's sums of kernels of cosines [query words, document words]: [11].
  [[nodiscard]] static at::Tensor log_sums(const at::Tensor& cosines, double first_width);
  /// A convolution of x [channels, rows, columns], zero-padded at the right and the bottom to keep
  /// its size.
  [[nodiscard]] at::Tensor convolve(const std::string& name, const at::Tensor& x) const;
  /// Rows `from` .. `from` + count - 1 of the sinusoidal table: [count, hidden].
  [[nodiscard]] at::Tensor sinusoids(std::int64_t from, std::int64_t count) const;

 private:
  const ModelWeights& weights_;
};

/// A family of re-rankers over word vectors.
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
