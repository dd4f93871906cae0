#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Common description of re-rankers over word vectors (TKL, TK, KNRM and the baselines of the TKL
// paper): a word list, a table of word vectors, and their own parameters. A family adds its own
// part.
//
//   tkl+saturation-idf/segment      knrm/kernel-pooling

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/checkpoint/family_description.h"

namespace attnscope {

/// Ids of words: padding, which only follows a text's words and is not part of the text, and the
/// word for all words that are not in the list.
inline constexpr std::int32_t padding_word = 0, unknown_word = 1;

// Names of tensors, as their files have them.
inline constexpr const char* word_embeddings = "word_embeddings.weight";  // [vocabulary, hidden]
inline constexpr const char* word_idfs = "word_idfs.weight";              // [vocabulary, 1]
// For KNRM and CONV-KNRM: [1, 11] for each pair of compared texts.
inline constexpr const char* kernel_weights = "dense.weight";

class WordsDescription : public OptionedDescription {
 public:
  /// TKL's shape (Hofstaetter et al., SIGIR 2020, Sec. 4; widths from the authors' program).
  [[nodiscard]] ModelShape usual_shape() const final {
    return {.layers = 2, .hidden = 300, .heads = 10, .feed_forward = 100};
  }
  [[nodiscard]] bool reads_words() const final { return true; }
  [[nodiscard]] std::int64_t first_tokens_of_document(const ModelConfig& /*config*/,
                                                      const ModelOptions& /*options*/) const final {
    return 0;
  }
  [[nodiscard]] ShownTokens shows(const ModelConfig& /*config*/,
                                  const ModelOptions& /*options*/) const override {
    return {.some = false};
  }
  [[nodiscard]] ModelConfig read_config(const JsonField& config,
                                        std::string_view model_type) const final;
  [[nodiscard]] ModelConfig config_for(const ModelShape& shape,
                                       std::span<const ModelRow> rows) const final;
  void take_sizes(ModelConfig& config, const TensorViews& files) const final;
  [[nodiscard]] ModelTensors tensors(const ModelConfig& config,
                                     const TensorViews* files) const final;
  [[nodiscard]] bool leaves_out(const ModelConfig& config, std::string_view name) const final;
  /// All trained parameters except word vectors and IDFs, including those that the authors' classes
  /// do not use.
  [[nodiscard]] std::int64_t parameters(const ModelConfig& config) const final;

 protected:
  /// Whether the family has attention layers over words (encoded_model.h).
  [[nodiscard]] virtual bool has_layers() const { return false; }
  /// Default for config.json: maximum number of words of a document; 0: no limit.
  [[nodiscard]] virtual std::int64_t most_document_words() const { return 0; }
  [[nodiscard]] virtual bool uses_idfs(const ModelConfig& /*config*/) const { return false; }
  /// Reads ModelConfig::own from config.json; throws as read_config does.
  virtual void read_own(const JsonField& /*config*/, ModelConfig& /*model*/) const {}
  virtual void take_own_sizes(ModelConfig& /*config*/, const TensorViews& /*files*/) const {}
  /// Tensors in addition to word vectors, IDFs and the layers.
  virtual void append_own(const ModelConfig& config, std::vector<TensorSpec>& specs) const = 0;
  /// Parameters that the authors' class has but does not use.
  struct Unused {
    std::string_view name;
    std::int64_t size;
  };
  [[nodiscard]] virtual std::vector<Unused> unused(const ModelConfig& /*config*/) const {
    return {};
  }
};

/// A tensor with the same name in files, initialised around `around`.
void append_tensor(std::string_view name, std::vector<std::int64_t> shape, double around,
                   std::vector<TensorSpec>& specs);

/// A tensor of a layer of attention over words, as PyTorch's TransformerEncoder names it.
[[nodiscard]] inline std::string name_in_contextualizer(std::int64_t layer, std::string_view part) {
  return fmt::format("contextualizer.layers.{}.{}", layer, part);
}

// The layers that compute a score from a map's features (map_model.h).
namespace map_names {
inline constexpr const char* first = "dense";         // [100, features], bias
inline constexpr const char* second = "dense2";       // [10, 100], bias
inline constexpr const char* last = "dense3.weight";  // [1, 10]
inline constexpr std::int64_t first_width = 100, second_width = 10;
}  // namespace map_names

/// Appends the tensors of these layers.
void append_map_layers(std::int64_t features, std::vector<TensorSpec>& specs);

/// weight [out, in, size, ...] and bias [out] of a convolution. Weights are drawn around the mean
/// over their inputs, so that a model with random weights also passes its input on.
void append_convolution(const std::string& name, const std::vector<std::int64_t>& shape,
                        std::vector<TensorSpec>& specs);

/// Tensors of TK.
namespace tk_names {

inline constexpr const char* scale = "nn_scaler";          // [1], for both sums
inline constexpr const char* mixer = "mixer";              // [1, 1, 1]
inline constexpr const char* logarithms = "dense.weight";  // [1, 11]
inline constexpr const char* means = "dense_mean.weight";  // [1, 11]
inline constexpr const char* both = "dense_comb.weight";   // [1, 2]

}  // namespace tk_names

/// CONV-KNRM compares n-grams.
namespace ngrams {

/// N-grams of 1, 2 and 3 words are compared, each as a vector of this width.
inline constexpr std::int64_t longest_gram = 3, gram_width = 128;

/// Convolution over `words` consecutive words: weight [128, hidden, words], bias.
[[nodiscard]] inline std::string convolution(std::int64_t words) {
  return fmt::format("convolutions.{}.1", words - 1);
}

}  // namespace ngrams

/// The convolutions of MatchPyramid.
namespace pyramid {

inline constexpr std::int64_t channels = 16, extent = 3;  // of a convolution
struct Pooled {
  std::int64_t rows, columns;
};
/// Output size of the pooling after each convolution.
inline constexpr std::array<Pooled, 5> pooled{{{36, 90}, {18, 60}, {9, 30}, {6, 20}, {3, 10}}};
inline constexpr std::int64_t features = channels * pooled.back().rows * pooled.back().columns;

/// Prefix of the names of a convolution's tensors, weight [16, 1 or 16, 3, 3] and bias. The
/// authors' names contain a space.
[[nodiscard]] inline std::string convolution(std::size_t number) {
  return fmt::format("conv_layers.conv {}", number);
}

}  // namespace pyramid

}  // namespace attnscope
