#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Describes a family of models without computing anything: its checkpoints, their tensors and its
// rows in sweeps. A family is a folder of engine/model and one line of engine/model/list.inc; this
// is the interface for programs without LibTorch (<folder>/description.cpp), engine/model/family.h
// the one that computes.
//
//   Result<const FamilyDescription*> family = family_of_model_type("bert");
//   ModelConfig config = (*family)->config_for({.layers = 2}, {});
//   for (const TensorSpec& tensor : (*family)->tensors(config, nullptr).specs) draw(tensor.shape);

#include <any>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "engine/checkpoint/head_config.h"
#include "engine/pattern/attention_pattern.h"
#include "engine/pattern/axes.h"
#include "kernels/plan/tensor.h"

namespace attnscope {

class FamilyDescription;

/// The sizes of a model; a family ignores those that do not apply to it. By default MiniLM-L6, the
/// model of the paper (Schlatt et al., ECIR 2024, Sec. 3.5).
struct ModelShape {
  std::int64_t layers = 6;
  std::int64_t hidden = 384;  // number of heads x head dimension
  std::int64_t heads = 12;
  std::int64_t feed_forward = 1536;  // width of the intermediate layer
  std::int64_t vocabulary = 30522;
  std::int64_t positions = 512;     // maximum number of tokens, including [CLS] and both [SEP]
  std::int64_t types = 2;           // token types: 0 for [CLS] and query, 1 for the document
  std::int64_t first_position = 0;  // the table's row for [CLS]: 2 after rows for padding
  std::int64_t embedding = 0;       // width of the embeddings if projected to `hidden`; 0: hidden
  double norm_epsilon = 1e-12;
  [[nodiscard]] std::int64_t head_dim() const { return hidden / heads; }
  friend bool operator==(const ModelShape&, const ModelShape&) = default;
};

/// Attention of some layers where it differs from the others: ModernBERT's local layers. A built-in
/// pattern by name.
struct LocalAttention {
  std::string pattern;
  std::optional<Window> window{};
};

/// A pattern and its window, if it has one.
struct LayerAttention {
  AttentionPattern pattern;
  std::optional<Window> window{};
  friend bool operator==(const LayerAttention&, const LayerAttention&) = default;
};
/// The same for a LocalAttention, whose pattern is built in.
[[nodiscard]] std::optional<LayerAttention> layer_attention(
    const std::optional<LocalAttention>& local);

/// A model without its weights, as config.json describes it.
struct ModelConfig {
  const FamilyDescription* family = nullptr;
  ModelShape shape{};
  std::string architecture{};  // as in the file; "" if the file has none
  /// The built-in pattern of the training: full, sparse, sparse-without-independent-query,
  /// longformer; and that pattern's one-sided window, if it has one.
  std::string pattern = "full";
  std::optional<Window> window{};
  /// Attention of the layers that do not use `pattern`, and a flag per layer, [layers].
  std::optional<LocalAttention> local{};
  std::vector<bool> is_local{};
  /// Query limit of the training, including [SEP]; 0 if not stated.
  std::int64_t most_query_tokens = 0;
  std::int64_t most_document_tokens = 0;  // the same for a document
  HeadConfig head{};                      // layers that compute the score from the last states
  std::string activation{};               // activation of predict(), if stated
  /// One-sided windows by layer, if they differ; empty: all layers use `window`.
  std::vector<Window> layer_windows{};
  /// Options of a model that uses the checkpoint's own pattern.
  std::set<std::string, std::less<>> own_options{};
  std::vector<std::string> unknown_fields{};  // fields of config.json without effect
  std::any own{};                             // data that only the family reads
  /// The encoder of another family that the model adds its head to, if any.
  std::shared_ptr<const ModelConfig> body{};
};

/// The id of the family of late-interaction encoders on bodies of other families.
inline constexpr std::string_view multi_vector_id = "multi-vector";

/// The attention patterns of its layers, one per kind of layer, with fixed windows: NAME-layers if
/// all are equal, otherwise NAME-global and NAME-local. `name` is the model's.
[[nodiscard]] std::vector<AttentionPattern> layer_patterns(const ModelConfig& config,
                                                           std::string_view name);

struct ModelTensors {
  std::vector<TensorSpec> specs;  // in the order in which random weights are drawn
  bool gives_scores = true;       // false: an encoder without a head, for inspection
};

/// Deviations of a model from its family's default, by the family's names: "cls-only-last-layer".
using ModelOptions = std::set<std::string, std::less<>>;
/// The pattern treats query and document as one text, as in Longformer, where only [CLS] is global.
inline constexpr std::string_view pair_is_one_text = "pair-is-one-text";

/// The last layer computes only the [CLS] state: exact, because nothing else is read after it.
inline constexpr std::string_view cls_only_last_layer = "cls-only-last-layer";
/// For rows of cross-encoders: the data type of products in linear layers of a float32 model.
inline constexpr std::string_view bfloat16_products = "bfloat16-products";
inline constexpr std::string_view int8_products = "int8-products";
/// The data type that the options select; float32 by default.
[[nodiscard]] Products products_of(const ModelOptions& options);

/// A row of a sweep of operation `model`: its family, the pattern of its attention, and its
/// options.
struct ModelRow {
  const FamilyDescription* family = nullptr;
  std::string name;                       // without options: "sparse-without-kernel"
  std::string pattern;                    // built-in name or the path of a JSON file: "sparse"
  std::optional<LocalAttention> local{};  // layers with another pattern
  ModelOptions options{};
  /// Rows of a heat with equal values share one set of random weights.
  std::string weights{};
};

/// A row or an option of rows, as named in sweeps and offered by the window.
struct FamilyChoice {
  std::string_view name, summary;
  std::string_view pattern{};  // for a row: the built-in pattern of its attention
};

/// What a family caches of a document that it encodes before any query is known: nothing, one or
/// several vectors whose number does not depend on its length, a vector for each token, or the
/// states of all tokens.
enum class Kept : std::uint8_t { nothing, vectors, token_vectors, token_states };
[[nodiscard]] std::string_view name_of(Kept kept);  // "nothing", "vectors", "token vectors", ...

/// The attention of a pair that can be shown (docs/attention-dumps.md): the rows of its queries and
/// keys, and which rows attend to which.
struct ShownTokens {
  bool some = true;               // false: query and document never attend to each other
  bool document_has_cls = false;  // its own [CLS] precedes its tokens
  std::int64_t contexts = 0;      // above 0: number of cached vectors, which replace its tokens
  std::string_view pattern = {};  // as JSON; empty: the requested attention
  double scale = 0;               // factor of products; 0: 1 / sqrt(head dimension)
  std::string_view note = {};     // how to read it
};

/// The shown tokens of a model whose score sums the largest products of token vectors (MaxSim).
[[nodiscard]] ShownTokens shown_matches();

/// The regions of a document that can be shown.
struct ShownRegions {
  /// Number of words in regions, out of this many; null: all.
  std::int64_t (*kept)(std::int64_t words) = nullptr;
  std::string_view note = {};  // how to read it
};

class FamilyDescription {
 public:
  virtual ~FamilyDescription() = default;
  [[nodiscard]] virtual std::string_view id() const = 0;  // "bert"

  /// Default layers and widths of such a model in sweeps: those of MiniLM-L6, which the paper
  /// fine-tunes (Schlatt et al., ECIR 2024, Sec. 3.5).
  [[nodiscard]] virtual ModelShape usual_shape() const { return {}; }
  [[nodiscard]] virtual Kept keeps() const { return Kept::nothing; }
  /// Number of tokens that the family adds to a pair in addition to those of the tokenizer.
  [[nodiscard]] virtual std::int64_t tokens_of_its_own() const { return 0; }
  /// Whether texts are words of a list (tokens.txt), without [CLS] and [SEP]; otherwise subwords.
  [[nodiscard]] virtual bool reads_words() const { return false; }
  /// For a family with cached documents: number of tokens before those of an independently encoded
  /// document, [CLS] or learned vectors that replace it.
  [[nodiscard]] virtual std::int64_t first_tokens_of_document(
      const ModelConfig& /*config*/, const ModelOptions& /*options*/) const {
    return 1;
  }
  /// For a model with these options, which options_for returned.
  [[nodiscard]] virtual ShownTokens shows(const ModelConfig& /*config*/,
                                          const ModelOptions& /*options*/) const {
    return {};
  }

  /// For a model that scores a document by its regions, or whose score can be explained by them.
  [[nodiscard]] virtual std::optional<ShownRegions> regions(const ModelConfig& /*config*/,
                                                            const ModelOptions& /*options*/) const {
    return std::nullopt;
  }

  /// Whether documents of a query attend to each other: a score then depends on the other
  /// documents.
  [[nodiscard]] virtual bool is_listwise() const { return false; }

  /// The supported values of config.json's model_type.
  [[nodiscard]] virtual std::vector<std::string_view> model_types() const = 0;
  /// Throws a JsonProblem, which read_json catches, at a field that requests an unsupported
  /// feature.
  [[nodiscard]] virtual ModelConfig read_config(const JsonField& config,
                                                std::string_view model_type) const = 0;
  /// Whether it has embeddings of token types, which the tokenizer may provide.
  [[nodiscard]] virtual bool reads_token_types() const { return false; }
  /// Whether positions have no table, so that texts may exceed the length in config.json.
  [[nodiscard]] virtual bool has_rotary_positions() const { return false; }
  /// Whether modules of sentence-transformers may replace its head.
  [[nodiscard]] virtual bool takes_modules() const { return false; }
  /// Converts the model to transformers' bare encoder, which those modules expect.
  virtual void become_encoder(ModelConfig& /*config*/) const {}
  /// Takes sizes that config.json does not state from the files.
  virtual void take_sizes(ModelConfig& /*config*/, const TensorViews& /*files*/) const {}
  /// The tensors of such a model; if `files` are given, by the names in these files.
  [[nodiscard]] virtual ModelTensors tensors(const ModelConfig& config,
                                             const TensorViews* files) const = 0;
  /// Whether a tensor in the files may be ignored because it is not part of the model: a buffer,
  /// another head.
  [[nodiscard]] virtual bool leaves_out(const ModelConfig& config, std::string_view name) const = 0;

  /// Its rows that are not named after a pattern.
  [[nodiscard]] virtual std::vector<FamilyChoice> rows() const = 0;
  /// Values that may follow each '+' of a row.
  [[nodiscard]] virtual std::vector<FamilyChoice> row_options() const = 0;
  /// A row of rows() or, for the first family of the list, a pattern's name or file. `options` are
  /// the words after each '+'. Errors continue the row's name: "has the option ...".
  [[nodiscard]] virtual Result<ModelRow> row(std::string_view name,
                                             std::span<const std::string_view> options) const = 0;
  /// A model of this shape whose weights serve all these rows.
  [[nodiscard]] virtual ModelConfig config_for(const ModelShape& shape,
                                               std::span<const ModelRow> rows) const = 0;
  /// The options of a checkpoint under this pattern, given the requested ones.
  [[nodiscard]] virtual Result<ModelOptions> options_for(const ModelConfig& config,
                                                         const AttentionPattern& pattern,
                                                         ModelOptions requested) const = 0;
};

/// All families of this build, one line each in engine/model/list.inc.
[[nodiscard]] std::span<const FamilyDescription* const> family_descriptions();

/// The family by config.json's model_type; the error lists the known ones.
[[nodiscard]] Result<const FamilyDescription*> family_of_model_type(std::string_view model_type);

/// Reads config.json; `source` names the file in messages.
[[nodiscard]] Result<ModelConfig> read_model_config(std::string_view json, std::string_view source);

// Families whose rows have options after each '+': OptionedDescription is the base class of their
// descriptions; a family overrides its specific parts.
//
//   mixencoder-b+contexts-4/segment      tkl+saturation-idf/segment

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
