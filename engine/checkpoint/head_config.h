#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The tensors that a model needs: their names in the model and in files, and their shapes. And the
// computation of scores from an encoder's last states: pooling over the tokens of a pair, then a
// chain of layers, then the choice among several labels. Classifiers of transformers and the
// modules of sentence-transformers are such chains.
//
//   HeadConfig head = classifier_head({.pooler = "classifier.dense", .hidden = 768});

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/safetensors/safetensors.h"

namespace attnscope {

using TensorViews = std::map<std::string, TensorView, std::less<>>;

struct TensorSpec {
  std::string name;     // the family's name for it
  std::string in_file;  // its name in the checkpoint
  std::vector<std::int64_t> shape;
  double around = 0;  // mean of random weights: 1 for a LayerNorm's factor
};

/// Appends weight [out, in] and bias [out].
void append_linear(std::string_view name, std::string_view in_file, std::int64_t out,
                   std::int64_t in, std::vector<TensorSpec>& specs);
/// Appends weight and bias [width] of a LayerNorm.
void append_norm(std::string_view name, std::string_view in_file, std::int64_t width,
                 std::vector<TensorSpec>& specs);

/// Pooling over the tokens of a pair, special tokens included; in the weighted mean [CLS] has
/// weight 1, the next token 2, and so on.
enum class Pooling : std::uint8_t { cls, max, mean, mean_sqrt_len, weighted_mean, last, sum };

enum class HeadActivation : std::uint8_t {
  identity,
  tanh,
  gelu,  // exact, with erf
  relu,
  sigmoid,
  silu,
  mish,
  leaky_relu,
  elu,
  selu,
  softplus,
  softsign,
  hardswish,
  relu6
};
/// Parses the last part of a class name in torch.nn: "GELU".
[[nodiscard]] std::optional<HeadActivation> parse_activation(std::string_view name);

/// A layer of the chain.
struct HeadStep {
  enum class Kind : std::uint8_t { linear, norm, normalize } kind = Kind::linear;
  std::string name{};     // its tensors in the model: NAME.weight, NAME.bias
  std::string in_file{};  // the same in files
  bool in_body = false;   // in files, the body's prefix precedes it
  std::int64_t in = 0;
  std::int64_t out = 0;  // 0: the number of labels
  bool bias = true;
  HeadActivation activation = HeadActivation::identity;  // applied after a linear layer
  bool residual = false;   // adds the input, projected by NAME.residual.weight if widths differ
  double epsilon = 1e-12;  // epsilon of a norm
};

/// Computes the score from the logits of several labels.
struct LabelChoice {
  enum class Kind : std::uint8_t { none, logit, difference, log_softmax } kind = Kind::none;
  std::int64_t label = 0, other = 0;
  friend bool operator==(const LabelChoice&, const LabelChoice&) = default;
};
/// "1": this logit; "1-0": the difference of two logits; "log-softmax-1": the logarithm of a
/// label's probability.
[[nodiscard]] Result<LabelChoice> parse_label(std::string_view text, std::int64_t labels);

/// Late interaction as in ColBERT: every token has a vector, and the score is the sum over query
/// tokens of the largest product with a document token.
struct MaxSimConfig {
  bool attends_to_expansion = false;  // other tokens attend to the expansion tokens of a query
  bool expansion_scores = true;       // expansion tokens have vectors and count in the score
  bool averages = false;              // the sum is divided by the number of query vectors
  // Whether some tokens (`skipped`) have no vector.
  bool skips_queries = false, skips_documents = true;
  std::vector<std::int32_t> kept{};  // the only ids with vectors in documents; empty: all
  // Token ids from the tokenizer.
  std::int32_t separator = 0;           // the last token before an expansion
  std::vector<std::int32_t> skipped{};  // ids, ascending

  [[nodiscard]] bool is_skipped(std::int64_t id) const {
    return std::ranges::binary_search(skipped, id);
  }
  /// Number of expansion tokens of a query.
  [[nodiscard]] std::int64_t expansion_of(std::span<const std::int32_t> query) const {
    const auto last = std::ranges::find(query.rbegin(), query.rend(), separator);
    return last == query.rend() ? 0 : last - query.rbegin();
  }
  [[nodiscard]] bool has_document_vector(std::int64_t id) const {
    if (skips_documents && is_skipped(id)) return false;
    return kept.empty() || std::ranges::find(kept, id) != kept.end();
  }
};

struct HeadConfig {
  std::vector<Pooling> pooling{Pooling::cls};  // concatenated in this order
  std::vector<HeadStep> steps{};               // empty: the model has no head
  bool needed = false;                         // it is not such a model without its tensors
  std::int64_t labels = 1;
  std::optional<std::int64_t> stated_labels{};  // from config.json
  LabelChoice label{};
  bool pools_prompt = true;               // false: prompt tokens are not pooled
  std::int64_t skipped_tokens = 0;        // number of first tokens of a pair that are not pooled
  std::optional<MaxSimConfig> max_sim{};  // if set, `steps` compute a vector for each token

  /// Whether only the first state of a pair is read.
  [[nodiscard]] bool reads_cls_alone() const {
    return pooling.size() == 1 && pooling.front() == Pooling::cls && skipped_tokens == 0;
  }
};

struct ClassifierNames {
  std::string pooler = "pooler.dense";  // empty: the pooled state is classified directly
  bool pooler_in_body = false;
  HeadActivation activation = HeadActivation::tanh;
  std::string classifier = "classifier";
  bool bias = true;
  std::int64_t hidden = 0;
};
/// The head of a transformers classifier with these layer names: "pooler.dense", "classifier".
[[nodiscard]] HeadConfig classifier_head(const ClassifierNames& names);

/// Whether the files contain the tensors of the head's last layer.
[[nodiscard]] bool has_head(const HeadConfig& head, const TensorViews& files);
/// Takes the number of labels from the files, where config.json does not state it.
void take_labels(const TensorViews& files, HeadConfig& head);
/// Appends its tensors; `prefix` precedes the names of those in the body.
void append_head(const HeadConfig& head, std::string_view prefix, std::vector<TensorSpec>& specs);

}  // namespace attnscope
