#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What a family says of itself that has rows with options behind each '+'; a family fills in what
// is its own.
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
  std::string_view about;  // of each matter a row has at most one option
  bool shapes_weights = false;
  std::string_view pattern = {};  // of an option of rows alone: in place of the row's
};

/// A row, and the options that it stands for.
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
                                                 ModelOptions asked) const final;

  /// A model of that config when these options are asked for. Errors: an option that is none, or
  /// that the model's layers do not have room for.
  [[nodiscard]] Result<ModelConfig> configured(ModelConfig config,
                                               const ModelOptions& options) const;
  /// Parameters of such a model as its authors have it.
  [[nodiscard]] virtual std::int64_t parameters(const ModelConfig& config) const;

 protected:
  [[nodiscard]] virtual std::vector<NamedRow> named_rows() const = 0;
  [[nodiscard]] virtual std::vector<RowOption> own_options() const { return {}; }
  /// ModelConfig::own of a model without options.
  [[nodiscard]] virtual std::any own_of(const ModelShape& shape) const;
  /// One of own_options() without a pattern. Errors go on after "option 'x' ".
  [[nodiscard]] virtual Status apply(std::string_view option, const ModelShape& shape,
                                     std::any& own) const;

 private:
  [[nodiscard]] std::optional<RowOption> find_option(std::string_view name) const;
  /// Those of models, and those of rows, which begin with '+'.
  [[nodiscard]] std::string own_options_in_words() const;
  [[nodiscard]] std::string names_of_options() const;
};

/// The number behind a prefix of an option: 4 of "contexts-4".
[[nodiscard]] std::optional<std::int64_t> number_behind(std::string_view prefix,
                                                        std::string_view option);

}  // namespace attnscope
