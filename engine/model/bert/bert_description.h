#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Families that consist of BERT's body and a head and differ from BERT only in names, positions or
// the head: each has a description that fills in BertConfig, and computes as BERT does.
//
//   class RobertaDescription final : public BertLikeDescription { ... read_config() ... };
//   static const BertLikeFamily family(roberta_description());    // bert_family.h

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/checkpoint/family_description.h"

namespace attnscope {

/// ModelConfig::own of cross-encoders that consist of BERT's body and a head.
struct BertConfig {
  std::string_view body = "bert";   // prefix of the body's tensor names, before a '.'
  bool interaction_token = false;   // for Set-Encoders: [INT] follows [CLS]
  bool global_projections = false;  // separate query, key and value for global tokens
};

/// In training, layers keep only their input and are recomputed in the backward pass.
inline constexpr std::string_view recomputed_layers = "recompute";
/// Global tokens have separate projections, as in Longformer and QDS-Transformer, which is built on
/// it.
inline constexpr std::string_view with_global_projections = "global-projections";

/// In every layer, a document attends to one state of each other document of the batch: that of
/// [CLS], or of the token after [CLS] (Set-Encoder).
inline constexpr std::string_view sees_other_documents = "other-documents";
inline constexpr std::string_view by_interaction_token = "interaction-token";

/// Position ids begin after that of padding (RoBERTa and derived models).
void skip_padding_positions(const JsonField& config, ModelShape& shape);

/// Reads the config.json of a sequence classifier, or of an encoder without a head, with full
/// attention unless attnscope trained it with another pattern: `body` is the prefix of the body's
/// tensor names, `head` has the names of the head's, `adjust` reads sizes that BERT's config.json
/// does not have. Throws as read_config does.
[[nodiscard]] ModelConfig read_classifier(const JsonField& config, std::string_view body,
                                          const ModelShape& usual, ClassifierNames head,
                                          void (*adjust)(const JsonField&, ModelShape&));
/// The number of labels in a config.json, from 'num_labels' or 'id2label'.
[[nodiscard]] std::optional<std::int64_t> stated_labels(const JsonField& config);
/// The class that `architectures` names; an error if it is no encoder.
[[nodiscard]] std::string read_architecture(const JsonField& config);

/// ModelConfig::own is a BertConfig.
class BertLikeDescription : public FamilyDescription {
 public:
  [[nodiscard]] ModelTensors tensors(const ModelConfig& config,
                                     const TensorViews* files) const override;
  /// Buffers, pre-training heads, and a pooler that no head reads.
  [[nodiscard]] bool leaves_out(const ModelConfig& config, std::string_view name) const override;
  [[nodiscard]] bool takes_modules() const override { return true; }
  [[nodiscard]] bool reads_token_types() const override { return true; }
  /// None: such a model costs as much as a BERT row.
  [[nodiscard]] std::vector<FamilyChoice> rows() const override { return {}; }
  [[nodiscard]] std::vector<FamilyChoice> row_options() const override { return {}; }
  [[nodiscard]] Result<ModelRow> row(std::string_view name,
                                     std::span<const std::string_view> options) const override;
  [[nodiscard]] ModelConfig config_for(const ModelShape& shape,
                                       std::span<const ModelRow> rows) const override;
  [[nodiscard]] Result<ModelOptions> options_for(const ModelConfig& config,
                                                 const AttentionPattern& pattern,
                                                 ModelOptions requested) const override;
};

/// ModelConfig::own of ModernBERT.
struct ModernBertConfig {
  double full_theta = 160'000, local_theta = 10'000;  // bases of the rotary frequencies
  bool attention_bias = false, mlp_bias = false, norm_bias = false;
};

/// Default window of local attention: tokens on each side.
inline constexpr std::int64_t modern_bert_window = 64;

}  // namespace attnscope
