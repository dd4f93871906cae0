// SPDX-License-Identifier: Apache-2.0
//
// ModernBERT (Warner et al., 2024) as a sequence classifier, and in sentence-transformers' layout,
// where modules after the encoder compute the score: both forms of config.json, modules.json, and
// tensor names.
#include <algorithm>
#include <any>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "base/sentences.h"
#include "engine/checkpoint/bert_body.h"
#include "engine/checkpoint/family_description.h"
#include "engine/model/bert/bert_description.h"

namespace attnscope {
namespace {

constexpr std::string_view full_layer = "full_attention", local_layer = "sliding_attention";

double positive(const JsonField& field) {
  const double number = field.number();
  if (!(number > 0)) field.must_be("a number above 0");
  return number;
}

/// `layer_types`, a name per layer, or `global_attn_every_n_layers` in older files.
std::vector<bool> read_local_layers(const JsonField& config, std::int64_t layers) {
  std::vector<bool> is_local;
  is_local.reserve(static_cast<std::size_t>(layers));
  if (const auto types = config.present("layer_types")) {
    for (const JsonField& type : types->elements()) {
      const std::string name = type.text();
      if (name != full_layer && name != local_layer) {
        type.must_be(fmt::format("'{}' or '{}'", full_layer, local_layer));
      }
      is_local.push_back(name == local_layer);
    }
    if (static_cast<std::int64_t>(is_local.size()) != layers) {
      types->wrong(fmt::format("names {} layers, and there are {}", is_local.size(), layers));
    }
    return is_local;
  }
  const auto every = config.present("global_attn_every_n_layers");
  const std::int64_t stride = every ? every->whole(1, most_layers) : 3;
  for (std::int64_t layer = 0; layer < layers; ++layer) is_local.push_back(layer % stride != 0);
  return is_local;
}

/// `rope_parameters`, an object per kind of layers, or one field per kind in older files.
void read_rotary(const JsonField& config, ModernBertConfig& own) {
  if (const auto scaling = config.present("rope_scaling")) {
    scaling->wrong("scales positions, which is not supported");
  }
  if (const auto theta = config.present("global_rope_theta")) own.full_theta = positive(*theta);
  const auto local = config.member("local_rope_theta");
  if (local) own.local_theta = local->is_null() ? own.full_theta : positive(*local);
  const auto parameters = config.present("rope_parameters");
  if (!parameters) return;
  const auto read = [&](std::string_view kind, double& theta) {
    const auto of_kind = parameters->present(kind);
    if (!of_kind) return;
    must_state(*of_kind, "rope_type", "default");
    if (const auto base = of_kind->present("rope_theta")) theta = positive(*base);
  };
  read(full_layer, own.full_theta);
  read(local_layer, own.local_theta);
}

void read_shape(const JsonField& config, ModelShape& shape) {
  read_encoder_shape(config, "norm_eps", shape);
  if (shape.head_dim() % 2 != 0) {
    config.wrong(
        fmt::format("has heads of {} numbers, which cannot be rotated in pairs", shape.head_dim()));
  }
}

/// transformers' head: dense, gelu, norm, classifier.
HeadConfig modern_head(std::int64_t hidden, double epsilon, bool dense_bias, bool norm_bias) {
  HeadConfig head;
  head.steps = {{.name = "head.dense",
                 .in_file = "head.dense",
                 .in = hidden,
                 .out = hidden,
                 .bias = dense_bias,
                 .activation = HeadActivation::gelu},
                {.kind = HeadStep::Kind::norm,
                 .name = "head.norm",
                 .in_file = "head.norm",
                 .in = hidden,
                 .bias = norm_bias,
                 .epsilon = epsilon},
                {.name = "classifier", .in_file = "classifier", .in = hidden}};
  return head;
}

class ModernBertDescription final : public OptionedDescription {
 public:
  [[nodiscard]] std::string_view id() const override { return "modernbert"; }
  /// Defaults of ModernBERT-base.
  [[nodiscard]] ModelShape usual_shape() const override {
    return {.layers = 22,
            .hidden = 768,
            .heads = 12,
            .feed_forward = 1152,
            .vocabulary = 50'368,
            .positions = 8192,
            .types = 1,
            .norm_epsilon = 1e-5};
  }

  [[nodiscard]] ModelConfig read_config(const JsonField& config,
                                        std::string_view /*model_type*/) const override {
    ModelConfig model;
    if (const auto list = config.present("architectures"); list && !list->elements().empty()) {
      model.architecture = list->elements().front().text();
    }
    must_state(config, "hidden_activation", "gelu");
    must_state(config, "classifier_activation", "gelu");
    model.shape = usual_shape();
    read_shape(config, model.shape);
    ModernBertConfig own;
    read_rotary(config, own);
    own.attention_bias = read_flag(config, "attention_bias", false);
    own.mlp_bias = read_flag(config, "mlp_bias", false);
    own.norm_bias = read_flag(config, "norm_bias", false);
    model.own = own;
    model.head = modern_head(model.shape.hidden, model.shape.norm_epsilon,
                             read_flag(config, "classifier_bias", false), own.norm_bias);
    model.head.stated_labels = stated_labels(config);
    if (const auto pooling = config.present("classifier_pooling")) {
      constexpr std::array<std::string_view, 2> names{"cls", "mean"};
      model.head.pooling = {pooling->one_of(names, "pooling") == 0 ? Pooling::cls : Pooling::mean};
    }
    model.is_local = read_local_layers(config, model.shape.layers);
    read_window(config, model);
    return model;
  }

  [[nodiscard]] bool takes_modules() const override { return true; }
  [[nodiscard]] bool has_rotary_positions() const override { return true; }
  [[nodiscard]] ModelTensors tensors(const ModelConfig& config,
                                     const TensorViews* files) const override {
    const auto& own = std::any_cast<const ModernBertConfig&>(config.own);
    const ModelShape& shape = config.shape;
    const bool has_prefix = files != nullptr && files->contains(prefix + embedding_table);
    ModelTensors found;
    const auto linear = [&](const std::string& name, const std::string& in_file, std::int64_t out,
                            std::int64_t in, bool bias) {
      append_linear(name, in_file, out, in, found.specs);
      if (!bias) found.specs.pop_back();
    };
    const auto norm = [&](const std::string& name, const std::string& in_file, bool bias) {
      append_norm(name, in_file, shape.hidden, found.specs);
      if (!bias) found.specs.pop_back();
    };
    const auto in_file = [&](const std::string& name) { return has_prefix ? prefix + name : name; };
    found.specs.push_back(
        {embedding_table, in_file(embedding_table), {shape.vocabulary, shape.hidden}});
    norm("embeddings.norm", in_file("embeddings.norm"), own.norm_bias);
    for (std::int64_t i = 0; i < shape.layers; ++i) {
      const auto of_layer = [&](const char* part) { return fmt::format("layers.{}.{}", i, part); };
      const auto layer_linear = [&](const char* part, std::int64_t out, std::int64_t in,
                                    bool bias) {
        linear(of_layer(part), in_file(of_layer(part)), out, in, bias);
      };
      if (i > 0) norm(of_layer("attn_norm"), in_file(of_layer("attn_norm")), own.norm_bias);
      layer_linear("attn.Wqkv", 3 * shape.hidden, shape.hidden, own.attention_bias);
      layer_linear("attn.Wo", shape.hidden, shape.hidden, own.attention_bias);
      norm(of_layer("mlp_norm"), in_file(of_layer("mlp_norm")), own.norm_bias);
      layer_linear("mlp.Wi", 2 * shape.feed_forward, shape.hidden, own.mlp_bias);
      layer_linear("mlp.Wo", shape.hidden, shape.feed_forward, own.mlp_bias);
    }
    norm("final_norm", in_file("final_norm"), own.norm_bias);
    found.gives_scores = files == nullptr || config.head.needed || has_head(config.head, *files) ||
                         config.architecture.ends_with("ForSequenceClassification");
    if (found.gives_scores) append_head(config.head, "", found.specs);
    return found;
  }

  /// Tensors of the masked language model's head.
  [[nodiscard]] bool leaves_out(const ModelConfig& /*config*/,
                                std::string_view name) const override {
    return name.starts_with("decoder.") || name.starts_with("head.");
  }

  [[nodiscard]] ModelConfig config_for(const ModelShape& shape,
                                       std::span<const ModelRow> rows) const override {
    ModelConfig config = OptionedDescription::config_for(shape, rows);
    for (std::int64_t layer = 0; layer < shape.layers; ++layer)
      config.is_local.push_back(layer % 3 != 0);
    config.local = {"sliding-window", Window::of(modern_bert_window)};
    config.head = modern_head(shape.hidden, shape.norm_epsilon, false, false);
    return config;
  }

 protected:
  [[nodiscard]] std::vector<NamedRow> named_rows() const override {
    return {{.name = id(),
             .summary = "ModernBERT: every third layer attends to all tokens, the others to 64 "
                        "tokens on each side.",
             .local = LocalAttention{"sliding-window", Window::of(modern_bert_window)}},
            {.name = "modernbert-all-full",
             .summary = "The same model with full attention in all layers."}};
  }
  [[nodiscard]] std::vector<RowOption> own_options() const override {
    return {{cls_only_last_layer, "The last layer computes only what [CLS] needs.", "last layer"},
            {bfloat16_products,
             "Linear layers multiply in bfloat16; for models in float32 on the CPU.", "products"},
            {int8_products, "Linear layers multiply in int8; for models in float32 on the CPU.",
             "products"}};
  }
  [[nodiscard]] std::any own_of(const ModelShape& /*shape*/) const override {
    return ModernBertConfig{};
  }

 private:
  static inline const std::string prefix = "model.";
  static inline const std::string embedding_table = "embeddings.tok_embeddings.weight";

  /// `local_attention` is the sum of both sides of a token.
  static void read_window(const JsonField& config, ModelConfig& model) {
    std::int64_t both_sides = 2 * modern_bert_window;
    if (const auto field = config.present("local_attention")) {
      both_sides = field->whole(0, most_rows);
      if (both_sides % 2 != 0) field->wrong("is odd; it counts both sides of a token");
    }
    model.local = {"sliding-window", Window::of(both_sides / 2)};
  }
};

}  // namespace

const FamilyDescription& modern_bert_description() {
  static const ModernBertDescription description;
  return description;
}

}  // namespace attnscope
