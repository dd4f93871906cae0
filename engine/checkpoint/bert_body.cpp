// SPDX-License-Identifier: Apache-2.0
#include "engine/checkpoint/bert_body.h"

#include "base/sentences.h"

namespace attnscope {
namespace {

void append_layer(const ModelShape& shape, std::string_view prefix, std::int64_t number,
                  std::vector<TensorSpec>& specs) {
  const std::string layer = fmt::format("encoder.layer.{}.", number);
  const auto linear = [&](const std::string& name, std::int64_t out, std::int64_t in) {
    append_linear(layer + name, fmt::format("{}{}{}", prefix, layer, name), out, in, specs);
  };
  const auto norm = [&](const std::string& name) {
    append_norm(layer + name, fmt::format("{}{}{}", prefix, layer, name), shape.hidden, specs);
  };
  for (const char* part : {"query", "key", "value"}) {
    linear(std::string("attention.self.") + part, shape.hidden, shape.hidden);
  }
  linear("attention.output.dense", shape.hidden, shape.hidden);
  norm("attention.output.LayerNorm");
  linear("intermediate.dense", shape.feed_forward, shape.hidden);
  linear("output.dense", shape.hidden, shape.feed_forward);
  norm("output.LayerNorm");
}

}  // namespace

JsonField needed(const JsonField& config, std::string_view name) {
  const auto field = config.present(name);
  if (!field) config.wrong(fmt::format("has no '{}'", name));
  return *field;
}

bool read_flag(const JsonField& config, std::string_view name, bool otherwise) {
  const auto field = config.present(name);
  return field ? field->truth() : otherwise;
}

void must_state(const JsonField& config, std::string_view name, std::string_view only,
                std::string_view why) {
  const auto field = config.present(name);
  if (!field) return;
  const std::string text = field->text();
  if (text == only) return;
  field->wrong(fmt::format("is '{}'; {}", in_a_sentence(text),
                           why.empty() ? fmt::format("only '{}' is supported", only) : why));
}

void check_bert_computation(const JsonField& config) {
  must_state(config, "hidden_act", "gelu", "only BERT's exact gelu (by erf) is supported");
  must_state(config, "position_embedding_type", "absolute",
             "only absolute position embeddings are supported");
  struct Wanted {
    std::string_view name;
    bool value;
  };
  for (const Wanted wanted : {Wanted{"is_decoder", false}, Wanted{"add_cross_attention", false},
                              Wanted{"token_type_embedding", true}}) {
    const bool value = read_flag(config, wanted.name, wanted.value);
    if (value != wanted.value) {
      config[wanted.name].wrong(fmt::format(
          "is {}, which is not supported for cross-encoders of the BERT family", value));
    }
  }
}

void read_encoder_shape(const JsonField& config, std::string_view epsilon_name, ModelShape& shape) {
  shape.layers = size_or(config, "num_hidden_layers", shape.layers, most_layers);
  shape.hidden = size_or(config, "hidden_size", shape.hidden, most_width);
  shape.heads = size_or(config, "num_attention_heads", shape.heads, most_width);
  shape.feed_forward = size_or(config, "intermediate_size", shape.feed_forward, most_width);
  shape.vocabulary = size_or(config, "vocab_size", shape.vocabulary, most_rows);
  shape.positions = size_or(config, "max_position_embeddings", shape.positions, most_rows);
  if (shape.hidden % shape.heads != 0) {
    config.wrong(fmt::format("has a 'hidden_size' of {}, which is not a multiple of its {} heads",
                             shape.hidden, shape.heads));
  }
  if (const auto epsilon = config.present(epsilon_name)) {
    shape.norm_epsilon = epsilon->number();
    if (!(shape.norm_epsilon >= 0 && shape.norm_epsilon < 1)) {
      epsilon->must_be("a number from 0 to 1");
    }
  }
}

void read_bert_shape(const JsonField& config, ModelShape& shape) {
  read_encoder_shape(config, "layer_norm_eps", shape);
  shape.types = size_or(config, "type_vocab_size", shape.types, most_width);
}

std::int64_t size_or(const JsonField& config, std::string_view name, std::int64_t usual,
                     std::int64_t most) {
  const auto field = config.present(name);
  return field ? field->whole(1, most) : usual;
}

void read_embedding_width(const JsonField& config, ModelShape& shape) {
  constexpr std::int64_t usual = 128;
  const std::int64_t tokens = size_or(config, "embedding_size", usual, most_width);
  shape.embedding = tokens == shape.hidden ? 0 : tokens;
}

void append_bert_body(const ModelShape& shape, std::string_view prefix,
                      std::vector<TensorSpec>& specs) {
  const std::int64_t width = shape.embedding > 0 ? shape.embedding : shape.hidden;
  const auto table = [&](const char* name, std::int64_t rows) {
    const std::string weight = fmt::format("embeddings.{}.weight", name);
    specs.push_back({weight, fmt::format("{}{}", prefix, weight), {rows, width}});
  };
  table("word_embeddings", shape.vocabulary);
  table("position_embeddings", shape.first_position + shape.positions);
  table("token_type_embeddings", shape.types);
  append_norm("embeddings.LayerNorm", fmt::format("{}embeddings.LayerNorm", prefix), width, specs);
  if (shape.embedding > 0) {
    append_linear("embeddings_project", fmt::format("{}embeddings_project", prefix), shape.hidden,
                  width, specs);
  }
  for (std::int64_t layer = 0; layer < shape.layers; ++layer)
    append_layer(shape, prefix, layer, specs);
}

}  // namespace attnscope
