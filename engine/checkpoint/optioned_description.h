#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Base class for the description of a family whose rows have options after each '+'; a family
// overrides its specific parts.
//
//   mixencoder-b+contexts-4/segment      tkl+saturation-idf/segment

#include <any>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/checkpoint/family_description.h"

namespace attnscope {

/// An option of a family's rows.
struct RowOption {
  std::string_view name, summary;
  std::string_view about;  // a row has at most one option with the same `about`
  bool shapes_weights = false;
  std::string_view pattern = {};  // for an option of rows only: replaces the row's pattern
};

/// A row and the options that it represents.
struct NamedRow {
  std::string_view name, summary;
  std::vector<std::string_view> options{};
  std::string_view pattern = "full";
  std::optional<LocalAttention> local{};
};

class OptionedDescription : public FamilyDescription {
 public:
  [[nodiscard]] std::vector<std::string_view> model_types() const final { return {id()}; }
  [[nodiscard]] std::vector<FamilyChoice> rows() const final;
  [[nodiscard]] std::vector<FamilyChoice> row_options() const final;
  [[nodiscard]] Result<ModelRow> row(std::string_view name,
                                     std::span<const std::string_view> options) const final;
  [[nodiscard]] ModelConfig config_for(const ModelShape& shape,
                                       std::span<const ModelRow> rows) const override;
  [[nodiscard]] Result<ModelOptions> options_for(const ModelConfig& config,
                                                 const AttentionPattern& pattern,
                                                 ModelOptions requested) const final;

  /// The configuration with these options. Errors: an unknown option, or one that the model's
  /// layers have no room for.
  [[nodiscard]] Result<ModelConfig> configured(ModelConfig config,
                                               const ModelOptions& options) const;
  /// Number of parameters of such a model in its authors' implementation.
  [[nodiscard]] virtual std::int64_t parameters(const ModelConfig& config) const;

 protected:
  [[nodiscard]] virtual std::vector<NamedRow> named_rows() const = 0;
  [[nodiscard]] virtual std::vector<RowOption> own_options() const { return {}; }
  /// ModelConfig::own for a model without options.
  [[nodiscard]] virtual std::any own_of(const ModelShape& shape) const;
  /// Applies an element of own_options() without a pattern. Errors continue "option 'x' ".
  [[nodiscard]] virtual Status apply(std::string_view option, const ModelShape& shape,
                                     std::any& own) const;

 private:
  [[nodiscard]] std::optional<RowOption> find_option(std::string_view name) const;
  /// The options of models, and those of rows, which begin with '+'.
  [[nodiscard]] std::string own_options_in_words() const;
  [[nodiscard]] std::string names_of_options() const;
};

/// The number after a prefix of an option: 4 of "contexts-4".
[[nodiscard]] std::optional<std::int64_t> number_after(std::string_view prefix,
                                                       std::string_view option);

}  // namespace attnscope
