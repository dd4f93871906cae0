#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Families that are BERT's body and a head and differ from BERT in names, positions or the head
// alone: each is a description that fills in BertConfig, and computes as BERT does.
//
//   class RobertaDescription final : public BertLikeDescription { ... read_config() ... };
//   static const BertLikeFamily family(roberta_description());    // bert_like_family.h

#include <span>
#include <string_view>
#include <vector>

#include "engine/checkpoint/family_description.h"

namespace attnscope {

/// Positions begin behind that of padding (RoBERTa and what is built on it).
void skip_padding_positions(const JsonField& config, ModelShape& shape);

struct BertConfig;
/// config.json of a sequence classifier, or an encoder without a head, with full attention unless
/// it was trained here with another; `adjust` reads what its sizes have beside BERT's. Throws as
/// read_config does.
[[nodiscard]] ModelConfig read_classifier(const JsonField& config, const BertConfig& own,
                                          void (*adjust)(const JsonField&, ModelShape&));

/// Its ModelConfig::own is a BertConfig.
class BertLikeDescription : public FamilyDescription {
 public:
  [[nodiscard]] ModelTensors tensors(const ModelConfig& config,
                                     const TensorViews* files) const override;
  /// Buffers, heads of the pre-training, and a pooler beside a head that has its own.
  [[nodiscard]] bool leaves_out(const ModelConfig& config, std::string_view name) const override;
  /// None: what such a model costs is what BERT's rows cost.
  [[nodiscard]] std::vector<FamilyChoice> rows() const override { return {}; }
  [[nodiscard]] std::vector<FamilyChoice> row_options() const override { return {}; }
  [[nodiscard]] Result<ModelRow> row(std::string_view name,
                                     std::span<const std::string_view> options) const override;
  [[nodiscard]] ModelConfig config_for(const ModelShape& shape,
                                       std::span<const ModelRow> rows) const override;
  [[nodiscard]] Result<ModelOptions> options_for(const ModelConfig& config,
                                                 const AttentionPattern& pattern,
                                                 ModelOptions asked) const override;
};

}  // namespace attnscope
