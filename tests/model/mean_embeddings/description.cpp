// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "tests/model/mean_embeddings/mean_embeddings.h"

namespace attnscope {
namespace {

class Description final : public FamilyDescription {
 public:
  [[nodiscard]] std::string_view id() const override { return "mean-embeddings"; }
  [[nodiscard]] Kept keeps() const override { return Kept::vectors; }
  [[nodiscard]] std::vector<std::string_view> model_types() const override { return {id()}; }

  [[nodiscard]] ModelConfig read_config(const JsonField& config,
                                        std::string_view /*model_type*/) const override {
    constexpr std::int64_t most = 1 << 20;
    ModelConfig model;
    model.shape.vocabulary = config["vocab_size"].whole(1, most);
    model.shape.hidden = config["hidden_size"].whole(1, most);
    return model;
  }
  [[nodiscard]] ModelTensors tensors(const ModelConfig& config,
                                     const TensorViews* /*files*/) const override {
    const std::string table(mean_embeddings_table);
    return {.specs = {{table, table, {config.shape.vocabulary, config.shape.hidden}}}};
  }
  [[nodiscard]] bool leaves_out(const ModelConfig& /*config*/,
                                std::string_view /*name*/) const override {
    return false;
  }

  [[nodiscard]] std::vector<FamilyChoice> rows() const override {
    return {
        {.name = id(), .summary = "The mean of a document's rows of a table.", .pattern = "full"}};
  }
  [[nodiscard]] std::vector<FamilyChoice> row_options() const override { return {}; }
  [[nodiscard]] Result<ModelRow> row(std::string_view name,
                                     std::span<const std::string_view> options) const override {
    if (!options.empty()) return fail("has the option '+{}', but there are none", options.front());
    return ModelRow{
        .family = this, .name = std::string(name), .pattern = "full", .weights = std::string(id())};
  }
  [[nodiscard]] ModelConfig config_for(const ModelShape& shape,
                                       std::span<const ModelRow> /*rows*/) const override {
    return {.family = this, .shape = shape};
  }
  [[nodiscard]] Result<ModelOptions> options_for(const ModelConfig& /*config*/,
                                                 const AttentionPattern& /*pattern*/,
                                                 ModelOptions requested) const override {
    return requested;
  }
};

}  // namespace

const FamilyDescription& mean_embeddings_description() {
  static const Description description;
  return description;
}

// Instead of engine/checkpoint/family_list.cpp.
#define FAMILY(folder) const FamilyDescription& folder##_description();
#include "engine/model/list.inc"
#undef FAMILY

std::span<const FamilyDescription* const> family_descriptions() {
#define FAMILY(folder) &folder##_description(),
  static const std::array all{
#include "engine/model/list.inc"
      FAMILY(mean_embeddings)};
#undef FAMILY
  return all;
}

}  // namespace attnscope
