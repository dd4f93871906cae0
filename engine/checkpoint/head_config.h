#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// How scores are made of an encoder's last states: pooling over the tokens of a pair, then a chain
// of layers, then the choice among several labels. Classifiers of transformers and the modules of
// sentence-transformers are both such chains.
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

#include "engine/safetensors/safetensors.h"
#include "kernels/base/result.h"

namespace attnscope {

struct TensorSpec;

/// Over the tokens of a pair, special tokens included; [CLS] has weight 1 in the weighted mean, the
/// token after it 2, and so on.
enum class Pooling : std::uint8_t { cls, max, mean, mean_sqrt_len, weighted_mean, last, sum };

enum class HeadActivation : std::uint8_t {
  identity,
  tanh,
  gelu,  // exact, by erf
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
/// The last part of a class's name in torch.nn: "GELU".
[[nodiscard]] std::optional<HeadActivation> parse_activation(std::string_view name);

/// A layer of the chain.
struct HeadStep {
  enum class Kind : std::uint8_t { linear, norm, normalize } kind = Kind::linear;
  std::string name{};     // of its tensors in the model: NAME.weight, NAME.bias
  std::string in_file{};  // of the same in files
  bool in_body = false;   // files have the body's prefix before it
  std::int64_t in = 0;
  std::int64_t out = 0;  // 0: the number of labels
  bool bias = true;
  HeadActivation activation = HeadActivation::identity;  // after a linear layer
  bool residual = false;   // adds the input, projected by NAME.residual.weight where widths differ
  double epsilon = 1e-12;  // of a norm
};

/// What of several labels' logits is the score.
struct LabelChoice {
  enum class Kind : std::uint8_t { none, logit, difference, log_softmax } kind = Kind::none;
  std::int64_t label = 0, other = 0;
  friend bool operator==(const LabelChoice&, const LabelChoice&) = default;
};
/// "1": that logit; "1-0": the difference of two; "log-softmax-1": the logarithm of a label's
/// probability.
[[nodiscard]] Result<LabelChoice> parse_label(std::string_view text, std::int64_t labels);

/// Late interaction as in ColBERT: every token has a vector, and a score adds up, over the tokens
/// of the query, the largest product with a token of the document.
struct MaxSimConfig {
  bool attends_to_expansion = false;  // tokens that a query is filled up with are seen by others
  bool expansion_scores = true;       // and have vectors of their own
  bool averages = false;              // the sum is divided by the number of the query's vectors
  // Tokens without a vector.
  bool skips_queries = false, skips_documents = true;
  std::vector<std::int32_t> kept{};  // ids that alone have vectors in documents; empty: all
  // What the tokenizer knows of its ids.
  std::int32_t separator = 0;           // the last token before an expansion
  std::vector<std::int32_t> skipped{};  // ids, ascending

  [[nodiscard]] bool is_skipped(std::int64_t id) const {
    return std::ranges::binary_search(skipped, id);
  }
  /// How many tokens a query is filled up with.
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
  bool needed = false;                         // without its tensors it is no such model
  std::int64_t labels = 1;
  std::optional<std::int64_t> stated_labels{};  // by config.json
  LabelChoice label{};
  bool pools_prompt = true;               // false: tokens of the prompt are not pooled
  std::int64_t skipped_tokens = 0;        // first tokens of a pair that are not pooled
  std::optional<MaxSimConfig> max_sim{};  // then `steps` make a vector of every token

  /// Only the first state of a pair is read.
  [[nodiscard]] bool reads_cls_alone() const {
    return pooling.size() == 1 && pooling.front() == Pooling::cls && skipped_tokens == 0;
  }
};

struct ClassifierNames {
  std::string pooler = "pooler.dense";  // empty: the pooled state is classified as it is
  bool pooler_in_body = false;
  HeadActivation activation = HeadActivation::tanh;
  std::string classifier = "classifier";
  bool bias = true;
  std::int64_t hidden = 0;
};
/// The head of a classifier of transformers, as models name its layers: "pooler.dense",
/// "classifier".
[[nodiscard]] HeadConfig classifier_head(const ClassifierNames& names);

/// Whether files have the tensors of the head's last layer.
[[nodiscard]] bool has_head(const HeadConfig& head,
                            const std::map<std::string, TensorView, std::less<>>& files);
/// The number of labels that files have, where config.json states none.
void take_labels(const std::map<std::string, TensorView, std::less<>>& files, HeadConfig& head);
/// Its tensors; `prefix` precedes the names of those in the body.
void append_head(const HeadConfig& head, std::string_view prefix, std::vector<TensorSpec>& specs);

}  // namespace attnscope
