#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What a family of models says of itself without computing anything: its checkpoints, the tensors
// they hold and the rows it has in sweeps. A family is a folder of engine/model and one line of
// engine/model/list.inc; this is the face that programs without LibTorch see
// (<folder>/description.cpp), engine/model/family.h the one that computes.
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

#include "engine/checkpoint/head_config.h"
#include "engine/pattern/attention_pattern.h"
#include "engine/pattern/window.h"
#include "engine/safetensors/safetensors.h"
#include "kernels/base/json.h"
#include "kernels/base/result.h"
#include "kernels/plan/products.h"

namespace attnscope {

class FamilyDescription;

/// The sizes of a model; a family leaves be what it has not. By default MiniLM-L6, the model of
/// the paper (Schlatt et al., ECIR 2024, Sec. 3.5).
struct ModelShape {
  std::int64_t layers = 6;
  std::int64_t hidden = 384;  // heads x head dimension
  std::int64_t heads = 12;
  std::int64_t feed_forward = 1536;  // the intermediate layer's width
  std::int64_t vocabulary = 30522;
  std::int64_t positions = 512;  // tokens that can be told apart, [CLS] and both [SEP] among them
  std::int64_t types = 2;        // token types: 0 for [CLS] and query, 1 for the document
  std::int64_t first_position = 0;  // the table's row for [CLS]: 2 where padding has rows before it
  std::int64_t embedding = 0;  // width of the embeddings where a projection widens them; 0: hidden
  double norm_epsilon = 1e-12;
  [[nodiscard]] std::int64_t head_dim() const { return hidden / heads; }
  friend bool operator==(const ModelShape&, const ModelShape&) = default;
};

/// Some layers' attention where others have another: ModernBERT's local layers. A built-in pattern
/// by its name.
struct LocalAttention {
  std::string pattern;
  std::optional<Window> window{};
};

/// A pattern and its window, where it has one.
struct LayerAttention {
  AttentionPattern pattern;
  std::optional<Window> window{};
};
/// The same of a family's own, whose pattern is built in.
[[nodiscard]] std::optional<LayerAttention> layer_attention(
    const std::optional<LocalAttention>& local);

/// A model before its weights, as config.json has it.
struct ModelConfig {
  const FamilyDescription* family = nullptr;
  ModelShape shape{};
  std::string architecture{};  // as in the file; "" where it names none
  /// The built-in pattern it was trained with: full, sparse, sparse-without-independent-query,
  /// longformer; and that pattern's window, one-sided, where it has one.
  std::string pattern = "full";
  std::optional<Window> window{};
  /// Of layers whose attention is another one than `pattern`, and which those are, [layers].
  std::optional<LocalAttention> local{};
  std::vector<bool> is_local{};
  /// With its [SEP]: what the training cut queries to; 0 where nothing is said of it.
  std::int64_t most_query_tokens = 0;
  std::int64_t most_document_tokens = 0;  // likewise of a document
  HeadConfig head{};                      // what makes the score of the last states
  std::string activation{};               // of sentence-transformers' predict(), where it is stated
  /// Windows by layer, one-sided, where they differ; empty: `window` is that of all.
  std::vector<Window> layer_windows{};
  /// Options of a model whose pattern is the checkpoint's own.
  std::set<std::string, std::less<>> own_options{};
  std::vector<std::string> unknown_fields{};  // of config.json, which change nothing
  std::any own{};                             // what the family alone reads
  /// The encoder that the model puts its head on, where that is another family's.
  std::shared_ptr<const ModelConfig> body{};
};

/// The id of the family of late-interaction encoders on other families' bodies.
inline constexpr std::string_view multi_vector_id = "multi-vector";

/// What its layers attend by, a pattern for each kind of them, windows fixed: NAME-layers where
/// they are alike, else NAME-global and NAME-local. `name` is the model's.
[[nodiscard]] std::vector<AttentionPattern> layer_patterns(const ModelConfig& config,
                                                           std::string_view name);

struct TensorSpec {
  std::string name;     // by which the family computes with it
  std::string in_file;  // what the checkpoint calls it
  std::vector<std::int64_t> shape;
  double around = 0;  // when weights are drawn: 1 of a LayerNorm's factor
};

struct ModelTensors {
  std::vector<TensorSpec> specs;  // in the order in which random weights are drawn
  bool gives_scores = true;       // false: an encoder without a head, to be inspected
};

using TensorViews = std::map<std::string, TensorView, std::less<>>;

/// What a model does beside its family's usual, in the family's words: "cls-only-last-layer".
using ModelOptions = std::set<std::string, std::less<>>;
/// Query and document are one text to the pattern, as in Longformer, where [CLS] alone is global.
inline constexpr std::string_view pair_is_one_text = "pair-is-one-text";

/// The last layer computes only what [CLS] needs: exact, because nothing else is read after it.
inline constexpr std::string_view cls_only_last_layer = "cls-only-last-layer";
/// Of cross-encoders' rows: what their linear layers multiply in, in a model of float32.
inline constexpr std::string_view bfloat16_products = "bfloat16-products";
inline constexpr std::string_view int8_products = "int8-products";
/// What the options say of it; float32 where they say nothing.
[[nodiscard]] Products products_of(const ModelOptions& options);

/// A row of a sweep of operation `model`: which family, which pattern its attention has, and what
/// the model does beside it.
struct ModelRow {
  const FamilyDescription* family = nullptr;
  std::string name;                       // without options: "sparse-without-kernel"
  std::string pattern;                    // built-in name or the path of a JSON file: "sparse"
  std::optional<LocalAttention> local{};  // of layers that have another
  ModelOptions options{};
  /// Rows of a heat that say the same here share one set of random weights.
  std::string weights{};
};

/// A row or an option of rows as sweeps name it and the window offers it.
struct FamilyChoice {
  std::string_view name, summary;
  std::string_view pattern{};  // of a row: the built-in pattern of its attention
};

/// What a family keeps of a document that it encodes by itself before any query is known: nothing,
/// a vector or some, of a number that its length has no part in, a vector for each token, or the
/// states of all tokens.
enum class Kept : std::uint8_t { nothing, vectors, token_vectors, token_states };
[[nodiscard]] std::string_view name_of(Kept kept);  // "nothing", "vectors", "token vectors", ...

/// What there is to see of a pair (docs/attention-dumps.md): the rows of its queries and keys, and
/// which rows look at which.
struct ShownTokens {
  bool some = true;               // false: query and document never look at each other
  bool document_has_cls = false;  // of its own, before its tokens
  std::int64_t contexts = 0;      // above 0: the vectors that are kept of it, in its tokens' place
  std::string_view pattern = {};  // as JSON; empty: the attention that was asked for
  double scale = 0;               // of products; 0: 1 / sqrt(head dimension)
  std::string_view note = {};     // how to read it
};

/// What a model shows whose score adds up the largest products of token vectors (MaxSim).
[[nodiscard]] ShownTokens shown_matches();

/// What there is to see of a document's regions.
struct ShownRegions {
  /// Words of so many that are in regions; null: all.
  std::int64_t (*kept)(std::int64_t words) = nullptr;
  std::string_view note = {};  // how to read it
};

class FamilyDescription {
 public:
  virtual ~FamilyDescription() = default;
  [[nodiscard]] virtual std::string_view id() const = 0;  // "bert"

  /// Layers and widths of such a model unless a sweep says otherwise: those of MiniLM-L6, which the
  /// paper fine-tunes (Schlatt et al., ECIR 2024, Sec. 3.5).
  [[nodiscard]] virtual ModelShape usual_shape() const { return {}; }
  [[nodiscard]] virtual Kept keeps() const { return Kept::nothing; }
  /// Tokens that it puts into a pair beside those of the tokenizer.
  [[nodiscard]] virtual std::int64_t tokens_of_its_own() const { return 0; }
  /// Its texts are words of a list (tokens.txt), without [CLS] and [SEP]; else pieces of words.
  [[nodiscard]] virtual bool reads_words() const { return false; }
  /// Of a family that keeps something: tokens before those of a document that is encoded by itself,
  /// [CLS] or learned vectors in its place.
  [[nodiscard]] virtual std::int64_t first_tokens_of_document(
      const ModelConfig& /*config*/, const ModelOptions& /*options*/) const {
    return 1;
  }
  /// Of a model with these options, which options_for took.
  [[nodiscard]] virtual ShownTokens shows(const ModelConfig& /*config*/,
                                          const ModelOptions& /*options*/) const {
    return {};
  }

  /// Of a model that scores a document by its regions, or whose score can be told by them.
  [[nodiscard]] virtual std::optional<ShownRegions> regions(const ModelConfig& /*config*/,
                                                            const ModelOptions& /*options*/) const {
    return std::nullopt;
  }

  /// Documents of a query see each other: its score of one depends on which others there are.
  [[nodiscard]] virtual bool is_listwise() const { return false; }

  /// The values of config.json's model_type that it reads.
  [[nodiscard]] virtual std::vector<std::string_view> model_types() const = 0;
  /// Throws a JsonProblem, for read_json to catch, at the field that asks for what is not computed
  /// here.
  [[nodiscard]] virtual ModelConfig read_config(const JsonField& config,
                                                std::string_view model_type) const = 0;
  /// It has embeddings of token types, which the tokenizer may give.
  [[nodiscard]] virtual bool reads_token_types() const { return false; }
  /// Positions have no table, so texts may be longer than config.json states.
  [[nodiscard]] virtual bool has_rotary_positions() const { return false; }
  /// Modules of sentence-transformers may take the place of its head.
  [[nodiscard]] virtual bool takes_modules() const { return false; }
  /// The model becomes transformers' bare encoder, as those modules follow it.
  virtual void become_encoder(ModelConfig& /*config*/) const {}
  /// Sizes that config.json leaves to the files.
  virtual void take_sizes(ModelConfig& /*config*/, const TensorViews& /*files*/) const {}
  /// The tensors of such a model; where `files` are given, by the names that those use.
  [[nodiscard]] virtual ModelTensors tensors(const ModelConfig& config,
                                             const TensorViews* files) const = 0;
  /// A tensor that may be in the files and is no part of the model: a buffer, another head.
  [[nodiscard]] virtual bool leaves_out(const ModelConfig& config, std::string_view name) const = 0;

  /// Its rows that are named otherwise than by a pattern.
  [[nodiscard]] virtual std::vector<FamilyChoice> rows() const = 0;
  /// What may stand behind each '+' of a row.
  [[nodiscard]] virtual std::vector<FamilyChoice> row_options() const = 0;
  /// One of them, or, of the first family of the list, a pattern's name or file. `options` are the
  /// words behind each '+'. Errors go on after the row's name: "has the option ...".
  [[nodiscard]] virtual Result<ModelRow> row(std::string_view name,
                                             std::span<const std::string_view> options) const = 0;
  /// A model of that shape whose weights serve all these rows.
  [[nodiscard]] virtual ModelConfig config_for(const ModelShape& shape,
                                               std::span<const ModelRow> rows) const = 0;
  /// What a checkpoint computes with under that pattern, when `asked` for these.
  [[nodiscard]] virtual Result<ModelOptions> options_for(const ModelConfig& config,
                                                         const AttentionPattern& pattern,
                                                         ModelOptions asked) const = 0;
};

/// Every family of this build, one line each in engine/model/list.inc.
[[nodiscard]] std::span<const FamilyDescription* const> family_descriptions();

/// By config.json's model_type; the error lists those that are known.
[[nodiscard]] Result<const FamilyDescription*> family_of_model_type(std::string_view model_type);

/// config.json; `source` names the file in messages.
[[nodiscard]] Result<ModelConfig> read_model_config(std::string_view json, std::string_view source);

}  // namespace attnscope
