#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Common description of families that encode query and documents separately (late interaction):
// BERT's tensors, whose names begin with a prefix, further parameters of the family, and options
// that rows of sweeps name.
//
//   mixencoder-b+contexts-4/segment      dual-bert+windowed/segment/16

#include <fmt/format.h>

#include <any>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/checkpoint/family_description.h"

namespace attnscope {

class LateDescription : public OptionedDescription {
 public:
  /// An option of every family's rows: texts are encoded with the pattern `sparse` instead of
  /// `full`.
  static constexpr std::string_view windowed = "windowed";

  [[nodiscard]] ModelConfig read_config(const JsonField& config,
                                        std::string_view model_type) const final;
  [[nodiscard]] ModelTensors tensors(const ModelConfig& config,
                                     const TensorViews* files) const final;
  [[nodiscard]] bool leaves_out(const ModelConfig& config, std::string_view name) const final;
  /// No attention is shown, unless query and document attend to each other.
  [[nodiscard]] ShownTokens shows(const ModelConfig& /*config*/,
                                  const ModelOptions& /*options*/) const override {
    return {.some = false};
  }

  /// Parameters of such a model as in the authors' code: BERT's pooler counts although only some
  /// families use it.
  [[nodiscard]] std::int64_t parameters(const ModelConfig& config) const final;

 protected:
  /// Options in addition to `windowed`.
  [[nodiscard]] virtual std::vector<RowOption> late_options() const { return {}; }
  /// Prefix of BERT's tensor names in files.
  [[nodiscard]] virtual std::string_view body_prefix() const { return "bert_model."; }
  [[nodiscard]] virtual bool uses_pooler() const { return false; }
  /// Reads ModelConfig::own from config.json; throws as read_config does.
  virtual void read_own(const JsonField& config, ModelConfig& model) const;
  /// Tensors in addition to BERT's.
  virtual void append_own(const ModelConfig& config, std::vector<TensorSpec>& specs) const;
  /// Whether the authors' classes store this tensor without using it, in addition to those that all
  /// classes store.
  [[nodiscard]] virtual bool is_leftover(std::string_view name) const;

 private:
  [[nodiscard]] std::vector<RowOption> own_options() const final;
};

/// A family whose layers attend across query and document, with a separate [CLS] for the document,
/// and whose score is BERT's pooler and a classifier applied to the first [CLS].
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

/// weight [rows, width] without a bias.
void append_matrix(std::string_view name, std::int64_t rows, std::int64_t width,
                   std::vector<TensorSpec>& specs);

/// ModelConfig::own of ColBERT.
struct ColbertConfig {
  std::int64_t dim = 128;                   // width of a token's vector
  std::vector<std::int64_t> punctuation{};  // ids whose vectors in documents are zero, ascending
};

inline constexpr const char* colbert_linear = "linear.weight";  // [dim, hidden]

/// ModelConfig::own of Deformer.
struct DeformerConfig {
  std::int64_t top_layers = 3;  // layers that attend across query and document
};

/// ModelConfig::own of MixEncoder.
struct MixConfig {
  std::int64_t contexts = 1;  // vectors kept per candidate, the paper's k
  /// How they are computed: learned tokens in place of [CLS] (the paper's S-strategy), or codes
  /// that compose the document's states (C-strategy).
  bool composed = false;
  std::vector<std::int64_t> interaction_layers{};  // ascending, from 0
  bool disentangled = false;  // the last context computes h; the others are the candidate
  bool cosine = false;        // as in the paper; the authors' code uses the product
  bool without_h = false;     // the query stays its [CLS] for all candidates
  bool without_e = false;     // the contexts stay as they were cached
};

inline constexpr const char* mix_learned = "context_cls";            // [contexts, hidden]
inline constexpr const char* mix_codes = "composition_layer.query";  // [contexts, hidden]
inline constexpr const char* mix_gate = "decoder.LSTM.weight_layer";

/// Names of an interaction layer's parts: "decoder.candidate_query.11".
[[nodiscard]] inline std::string name_of_mix_part(std::string_view part, std::int64_t layer) {
  return fmt::format("decoder.{}.{}", part, layer);
}
/// Names of parts that both paths share: "decoder.layer_chunks.11.output.dense".
[[nodiscard]] inline std::string name_of_mix_chunk(std::string_view part, std::int64_t layer) {
  return fmt::format("decoder.layer_chunks.{}.{}", layer, part);
}

/// ModelConfig::own of PolyEncoder.
struct PolyConfig {
  std::int64_t codes = 64;  // number of vectors that represent a query
};

inline constexpr const char* poly_codes = "query_composition_layer.query";  // [codes, hidden]

}  // namespace attnscope
