// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/sentences.h"
#include "engine/checkpoint/bert_body.h"
#include "engine/model/words/words_description.h"

namespace attnscope {
namespace {

constexpr std::int64_t most_words = 100'000'000;

/// Larger than any text: position tables do not limit words, except by a family's own limit.
constexpr std::int64_t any_position = 1 << 20;

void read_layers_of_words(const JsonField& config, ModelShape& shape) {
  const auto size = [&](std::string_view name, std::int64_t otherwise, std::int64_t most) {
    const auto field = config.present(name);
    return field ? field->whole(1, most) : otherwise;
  };
  shape.heads = size("attention_heads", 10, most_width);
  shape.layers = size("attention_layers", 2, most_layers);
  shape.feed_forward = size("feed_forward", 100, most_width);
  if (shape.hidden % shape.heads != 0) {
    const auto heads = config.present("attention_heads");
    (heads ? *heads : config["embedding_dim"])
        .wrong(fmt::format("does not fit: {} heads do not divide vectors of {} numbers",
                           shape.heads, shape.hidden));
  }
}

void append_layers_of_words(const ModelShape& shape, std::vector<TensorSpec>& specs) {
  const std::int64_t hidden = shape.hidden, wide = shape.feed_forward;
  for (std::int64_t layer = 0; layer < shape.layers; ++layer) {
    const auto name = [&](std::string_view part) { return name_in_contextualizer(layer, part); };
    append_tensor(name("self_attn.in_proj_weight"), {3 * hidden, hidden}, 0, specs);
    append_tensor(name("self_attn.in_proj_bias"), {3 * hidden}, 0, specs);
    const auto linear = [&](std::string_view part, std::int64_t out, std::int64_t in) {
      append_linear(name(part), name(part), out, in, specs);
    };
    linear("self_attn.out_proj", hidden, hidden);
    linear("linear1", wide, hidden);
    linear("linear2", hidden, wide);
    append_norm(name("norm1"), name("norm1"), hidden, specs);
    append_norm(name("norm2"), name("norm2"), hidden, specs);
  }
}

}  // namespace

ModelConfig WordsDescription::read_config(const JsonField& config,
                                          std::string_view /*model_type*/) const {
  ModelConfig model;
  model.shape = {.layers = 0, .hidden = needed(config, "embedding_dim").whole(1, most_width)};
  model.shape.heads = 1;
  model.shape.positions = any_position;
  model.shape.vocabulary = 0;  // determined by the number of vectors
  if (const auto size = config.present("vocab_size"))
    model.shape.vocabulary = size->whole(2, most_rows);
  if (has_layers()) read_layers_of_words(config, model.shape);
  const auto most = [&](std::string_view name, std::int64_t otherwise) {
    const auto field = config.present(name);
    return field ? field->whole(1, most_words) : otherwise;
  };
  constexpr std::int64_t usual_query = 30;
  model.most_query_tokens = most("max_query_tokens", usual_query);
  model.most_document_tokens = most("max_document_tokens", most_document_words());
  model.pattern = named_rows().front().pattern;
  model.own = own_of(model.shape);
  read_own(config, model);
  return model;
}

ModelConfig WordsDescription::config_for(const ModelShape& shape,
                                         std::span<const ModelRow> rows) const {
  ModelConfig config = OptionedDescription::config_for(shape, rows);
  config.most_document_tokens = most_document_words();
  return config;
}

void WordsDescription::take_sizes(ModelConfig& config, const TensorViews& files) const {
  const auto table = files.find(word_embeddings);
  // A table with a shape other than [words, numbers] is reported with all other tensors.
  if (config.shape.vocabulary == 0 && table != files.end() && !table->second.shape.empty())
    config.shape.vocabulary = table->second.shape.front();
  take_own_sizes(config, files);
}

ModelTensors WordsDescription::tensors(const ModelConfig& config,
                                       const TensorViews* /*files*/) const {
  ModelTensors found;
  append_tensor(word_embeddings, {config.shape.vocabulary, config.shape.hidden}, 0, found.specs);
  // About the IDF of a word that occurs in one of 150 documents.
  if (uses_idfs(config)) append_tensor(word_idfs, {config.shape.vocabulary, 1}, 5, found.specs);
  if (has_layers()) append_layers_of_words(config.shape, found.specs);
  append_own(config, found.specs);
  return found;
}

bool WordsDescription::leaves_out(const ModelConfig& config, std::string_view name) const {
  if (name == "mu" || name == "sigma" || name == word_idfs) return true;
  return std::ranges::any_of(unused(config),
                             [&](const Unused& parameter) { return parameter.name == name; });
}

std::int64_t WordsDescription::parameters(const ModelConfig& config) const {
  std::int64_t sum = OptionedDescription::parameters(config) -
                     config.shape.vocabulary * (config.shape.hidden + (uses_idfs(config) ? 1 : 0));
  for (const Unused& parameter : unused(config)) sum += parameter.size;
  return sum;
}

void append_tensor(std::string_view name, std::vector<std::int64_t> shape, double around,
                   std::vector<TensorSpec>& specs) {
  specs.push_back({std::string(name), std::string(name), std::move(shape), around});
}

void append_map_layers(std::int64_t features, std::vector<TensorSpec>& specs) {
  const auto layer = [&](const std::string& name, std::int64_t out, std::int64_t in) {
    append_tensor(name + ".weight", {out, in}, 1 / static_cast<double>(in), specs);
    append_tensor(name + ".bias", {out}, 0, specs);
  };
  layer(map_names::first, map_names::first_width, features);
  layer(map_names::second, map_names::second_width, map_names::first_width);
  append_tensor(map_names::last, {1, map_names::second_width},
                1 / static_cast<double>(map_names::second_width), specs);
}

void append_convolution(const std::string& name, const std::vector<std::int64_t>& shape,
                        std::vector<TensorSpec>& specs) {
  double seen = 1;
  for (std::size_t i = 1; i < shape.size(); ++i) seen *= static_cast<double>(shape[i]);
  append_tensor(name + ".weight", shape, 1 / seen, specs);
  append_tensor(name + ".bias", {shape.front()}, 0, specs);
}

}  // namespace attnscope
