// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <charconv>
#include <map>

#include "base/sentences.h"
#include "engine/checkpoint/bert_body.h"
#include "engine/model/late/late_description.h"

namespace attnscope {
namespace {

/// Parameters of the authors' classes that they do not use.
constexpr std::array<std::string_view, 3> leftovers{"classifier.", "value_layer.",
                                                    "self_attention_weight_layer."};

}  // namespace

ModelConfig LateDescription::read_config(const JsonField& config,
                                         std::string_view /*model_type*/) const {
  ModelConfig model;
  check_bert_computation(config);
  model.shape = bert_base;
  read_bert_shape(config, model.shape);
  model.own = own_of(model.shape);
  read_own(config, model);
  return model;
}

ModelTensors LateDescription::tensors(const ModelConfig& config,
                                      const TensorViews* /*files*/) const {
  ModelTensors found;
  append_bert_body(config.shape, body_prefix(), found.specs);
  if (uses_pooler()) {
    append_linear("pooler.dense", fmt::format("{}pooler.dense", body_prefix()), config.shape.hidden,
                  config.shape.hidden, found.specs);
  }
  append_own(config, found.specs);
  return found;
}

bool LateDescription::leaves_out(const ModelConfig& /*config*/, std::string_view name) const {
  if (name.ends_with("embeddings.position_ids") || name.ends_with("embeddings.token_type_ids"))
    return true;
  if (name.starts_with(fmt::format("{}pooler.", body_prefix()))) return true;
  return is_leftover(name) || std::ranges::any_of(leftovers, [&](std::string_view prefix) {
           return name.starts_with(prefix);
         });
}

std::int64_t LateDescription::parameters(const ModelConfig& config) const {
  const std::int64_t pooler = uses_pooler() ? 0 : config.shape.hidden * (config.shape.hidden + 1);
  return OptionedDescription::parameters(config) + pooler;
}

std::vector<RowOption> LateDescription::own_options() const {
  std::vector<RowOption> options = late_options();
  options.push_back({.name = windowed,
                     .summary = "Texts are encoded with the pattern sparse: a document's tokens "
                                "attend to [CLS] and a window.",
                     .about = "pattern",
                     .pattern = "sparse"});
  return options;
}

void LateDescription::read_own(const JsonField& /*config*/, ModelConfig& /*model*/) const {}

void LateDescription::append_own(const ModelConfig& /*config*/,
                                 std::vector<TensorSpec>& /*specs*/) const {}

bool LateDescription::is_leftover(std::string_view /*name*/) const {
  return false;
}

void PooledDescription::append_own(const ModelConfig& config,
                                   std::vector<TensorSpec>& specs) const {
  append_linear("classifier", "bert_model.classifier", 1, config.shape.hidden, specs);
}

void append_matrix(std::string_view name, std::int64_t rows, std::int64_t width,
                   std::vector<TensorSpec>& specs) {
  specs.push_back({std::string(name), std::string(name), {rows, width}});
}

}  // namespace attnscope
