#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Re-rankers over word vectors: the common path from a batch to its scores. A family adds the
// computation for one query and its documents. Uses LibTorch.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/family.h"
#include "engine/model/model_weights.h"
#include "engine/model/words/words_description.h"

namespace attnscope {

/// Numbers of words of one query and its documents.
struct WordCounts {
  std::int64_t query = 0;
  std::vector<std::int64_t> documents{};
  bool encoded = false;                // the documents come from a cache
  [[nodiscard]] double words() const;  // of all documents
};

class WordsModel : public Model {
 public:
  /// `config` has the options applied.
  WordsModel(std::shared_ptr<const ModelWeights> weights, ModelConfig config,
             const ModelVariant& variant);

  [[nodiscard]] Status supports(const PairBatch& batch) const final;
  [[nodiscard]] Result<std::int64_t> predicted_peak_bytes(const PairBatch& batch) const final;
  [[nodiscard]] Result<ModelWork> work(const PairBatch& batch) const final;
  [[nodiscard]] Result<ModelOutput> score(const PairBatch& batch, const Show& show) final;

 protected:
  /// Scores one query's documents and returns the states as well; with one document, `show`
  /// receives intermediate results. Texts have no padding.
  [[nodiscard]] virtual Result<GroupOutput> score_words(TokenIds query,
                                                        std::span<const TokenIds> documents,
                                                        const Show& show) = 0;
  /// The same for encoded documents.
  [[nodiscard]] virtual Result<GroupOutput> score_encoded(TokenIds query,
                                                          const DocumentCache& documents,
                                                          std::span<const std::int64_t> numbers,
                                                          const Show& show);
  /// Whether the cache was made by this model.
  [[nodiscard]] virtual Status accepts(const DocumentCache& documents);
  [[nodiscard]] virtual ModelWork work_of(const WordCounts& counts) const = 0;
  /// Peak memory in bytes, in addition to the weights.
  [[nodiscard]] virtual std::int64_t peak_bytes(const WordCounts& counts) const = 0;

  /// Ok, or what is wrong with a text: an id outside the vocabulary, padding between words, more
  /// words than the model accepts. `what`: "the query".
  [[nodiscard]] Status check(TokenIds words, std::string_view what, std::int64_t most) const;
  [[nodiscard]] Status check_documents(std::span<const TokenIds> documents) const;

  [[nodiscard]] const ModelWeights& weights() const { return *weights_; }
  [[nodiscard]] const ModelConfig& config() const { return config_; }
  [[nodiscard]] std::int64_t hidden() const { return config_.shape.hidden; }
  [[nodiscard]] int threads() const { return threads_; }
  /// Word vectors [words, hidden] of these texts, concatenated.
  [[nodiscard]] at::Tensor embed(std::span<const TokenIds> texts) const;

 private:
  [[nodiscard]] Status check(const PairBatch& batch) const;
  [[nodiscard]] Result<std::vector<WordCounts>> counts_of(const PairBatch& batch) const;

  std::shared_ptr<const ModelWeights> weights_;
  ModelConfig config_;
  int threads_;
  at::Tensor embeddings_;
};

/// Runs of consecutive documents of at most `most` words, or of a single longer document.
[[nodiscard]] std::vector<std::span<const TokenIds>> pieces_of_words(
    std::span<const TokenIds> documents, std::int64_t most);
/// Normalizes rows to unit length in place; zero rows stay zero.
void to_unit_length(at::Tensor& rows);

/// The text without trailing padding.
[[nodiscard]] TokenIds without_padding(TokenIds text);
[[nodiscard]] std::vector<TokenIds> without_padding(std::span<const TokenIds> texts);
[[nodiscard]] std::int64_t words_in(TokenIds text);
[[nodiscard]] std::vector<std::int64_t> words_in(std::span<const TokenIds> texts);

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
