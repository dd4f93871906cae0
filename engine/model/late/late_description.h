#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What families that encode a query and its documents apart, and let them interact late, say of
// themselves: BERT's body behind a prefix, parameters of their own, and options that rows of sweeps
// name. A family fills in what is its own.
//
//   mixencoder-b+contexts-4/segment      dual-bert+windowed/segment/16

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
struct LateOption {
  std::string_view name, summary;
  std::string_view about;  // of each matter a row has at most one option
  bool shapes_weights = false;
};

/// A row, and the options that it stands for.
struct LateRow {
  std::string_view name, summary;
  std::vector<std::string_view> options{};
};

class LateDescription : public FamilyDescription {
 public:
  /// Texts are encoded with the pattern `sparse` in place of `full`; of every family's rows.
  static constexpr std::string_view windowed = "windowed";

  [[nodiscard]] std::vector<std::string_view> model_types() const final { return {id()}; }
  [[nodiscard]] ModelConfig read_config(const JsonField& config,
                                        std::string_view model_type) const final;
  [[nodiscard]] ModelTensors tensors(const ModelConfig& config,
                                     const TensorViews* files) const final;
  [[nodiscard]] bool leaves_out(const ModelConfig& config, std::string_view name) const final;
  [[nodiscard]] std::vector<FamilyChoice> rows() const final;
  [[nodiscard]] std::vector<FamilyChoice> row_options() const final;
  [[nodiscard]] Result<ModelRow> row(std::string_view name,
                                     std::span<const std::string_view> options) const final;
  [[nodiscard]] ModelConfig config_for(const ModelShape& shape,
                                       std::span<const ModelRow> rows) const final;
  [[nodiscard]] Result<ModelOptions> options_for(const ModelConfig& config,
                                                 const AttentionPattern& pattern,
                                                 ModelOptions asked) const final;

  /// Nothing, unless a family lets both texts look at each other.
  [[nodiscard]] ShownTokens shows(const ModelConfig& /*config*/,
                                  const ModelOptions& /*options*/) const override {
    return {.some = false};
  }

  /// A model of that config when these options are asked for. Errors: an option that is none, or
  /// that the model's layers do not have room for.
  [[nodiscard]] Result<ModelConfig> configured(ModelConfig config,
                                               const ModelOptions& options) const;
  /// Parameters of such a model as its authors have it: BERT's pooler counts although only some
  /// families use it.
  [[nodiscard]] std::int64_t parameters(const ModelConfig& config) const;

 protected:
  [[nodiscard]] virtual std::vector<LateRow> late_rows() const = 0;
  [[nodiscard]] virtual std::vector<LateOption> late_options() const { return {}; }
  /// What stands before the names of BERT's tensors in files.
  [[nodiscard]] virtual std::string_view body_prefix() const { return "bert_model."; }
  [[nodiscard]] virtual bool uses_pooler() const { return false; }
  /// ModelConfig::own of a model without options.
  [[nodiscard]] virtual std::any own_of(const ModelShape& shape) const;
  /// The same from config.json; throws as read_config does.
  virtual void read_own(const JsonField& config, ModelConfig& model) const;
  /// One of late_options(). Errors go on after "option 'x' ".
  [[nodiscard]] virtual Status apply(std::string_view option, const ModelShape& shape,
                                     std::any& own) const;
  /// Tensors beside BERT's.
  virtual void append_own(const ModelConfig& config, std::vector<TensorSpec>& specs) const;
  /// What the authors' classes leave in a file and do not use, beside what they all do.
  [[nodiscard]] virtual bool is_leftover(std::string_view name) const;

 private:
  [[nodiscard]] std::optional<LateOption> find_option(std::string_view name) const;
  /// Those of models, and those of rows, which begin with '+'.
  [[nodiscard]] std::string own_options_in_words() const;
  [[nodiscard]] std::string names_of_options() const;
};

/// One whose layers see query and document together, the document with a [CLS] of its own, and
/// whose score is BERT's pooler and a classifier over the first [CLS].
class PooledDescription : public LateDescription {
 public:
  [[nodiscard]] ShownTokens shows(const ModelConfig& /*config*/,
                                  const ModelOptions& /*options*/) const final {
    return {.document_has_cls = true};
  }

 protected:
  [[nodiscard]] std::string_view body_prefix() const final { return "bert_model.bert."; }
  [[nodiscard]] bool uses_pooler() const final { return true; }
  void append_own(const ModelConfig& config, std::vector<TensorSpec>& specs) const final;
};

/// The number behind a prefix of an option: 4 of "contexts-4".
[[nodiscard]] std::optional<std::int64_t> number_behind(std::string_view prefix,
                                                        std::string_view option);

/// weight [rows, width] without a bias.
void append_matrix(std::string_view name, std::int64_t rows, std::int64_t width,
                   std::vector<TensorSpec>& specs);

}  // namespace attnscope
