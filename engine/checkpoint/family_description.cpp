// SPDX-License-Identifier: Apache-2.0
#include "engine/checkpoint/family_description.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "base/sentences.h"
#include "engine/checkpoint/config_fields.h"

namespace attnscope {

std::string_view name_of(Kept kept) {
  constexpr std::array<std::string_view, 4> names{"nothing", "vectors", "token vectors",
                                                  "token states"};
  return names.at(static_cast<std::size_t>(kept));
}

/// A very sharp softmax, which shows the maximum (the only counted value) and values close to it.
ShownTokens shown_matches() {
  constexpr double sharp = 50;
  return {.document_has_cls = true,
          .pattern = R"json({"name": "matches", "title": "Matches (MaxSim)", "attends": {
                             "cls": {"document": "whole"}, "query": {"document": "whole"}}})json",
          .scale = sharp,
          .note =
              "each query token's match in the document (MaxSim): a softmax of 50 times the "
              "products, whose largest alone counts"};
}

std::optional<LayerAttention> layer_attention(const std::optional<LocalAttention>& local) {
  if (!local) return std::nullopt;
  return LayerAttention{find_pattern(local->pattern).value(), local->window};
}

namespace {

/// The pattern with this window, if it has one.
AttentionPattern with_window(AttentionPattern pattern, const std::optional<Window>& window) {
  if (!window || window->is_infinite()) return pattern;
  const auto fix = [&](GroupRule& rule) {
    if (rule.kind == GroupRule::Kind::window && !rule.fixed_window)
      rule.fixed_window = window->tokens();
  };
  for (auto& row : pattern.attends) std::ranges::for_each(row, fix);
  if (pattern.item) fix(*pattern.item);
  return pattern;
}

/// Layers of one kind: "layers 0, 3 and 6" or, for many, their number and the total.
struct NamedLayers {
  std::string all, in_short;
};

NamedLayers named_layers(const std::vector<bool>& is_local, bool local) {
  constexpr std::size_t few = 4;
  std::vector<std::string> layers;
  for (std::size_t layer = 0; layer < is_local.size(); ++layer) {
    if (is_local[layer] == local) layers.push_back(std::to_string(layer));
  }
  const std::size_t count = layers.size();
  const std::string last = layers.back();
  layers.pop_back();
  const std::string all = layers.empty()
                              ? "layer " + last
                              : fmt::format("layers {} and {}", fmt::join(layers, ", "), last);
  return {all, count <= few ? all : fmt::format("{} of {} layers", count, is_local.size())};
}

}  // namespace

std::vector<AttentionPattern> layer_patterns(const ModelConfig& config, std::string_view name) {
  std::string id;
  for (const char c : name.substr(0, 100)) {
    const bool is_plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                          (c >= 'A' && c <= 'Z') || c == '-' || c == '_';
    id += is_plain ? c : '-';
  }
  std::vector<AttentionPattern> patterns;
  const auto add = [&](const AttentionPattern& pattern, const std::optional<Window>& window,
                       std::string_view suffix, const NamedLayers& layers) {
    AttentionPattern one = with_window(pattern, window);
    one.name = fmt::format("{}-{}", id, suffix);
    one.description =
        fmt::format("{} of {}: {}", layers.all, in_a_sentence(name), pattern.description);
    one.title = fmt::format("{}, {}: {}{}", in_a_sentence(name), layers.in_short, pattern.title,
                            window ? ", w = " + window->text() : "");
    patterns.push_back(std::move(one));
  };
  const AttentionPattern own = find_pattern(config.pattern).value();
  const bool has_global =
      std::ranges::find(config.is_local, false) != config.is_local.end() || !config.local;
  const bool has_local =
      config.local && std::ranges::find(config.is_local, true) != config.is_local.end();
  if (!has_local) {
    add(own, config.window, "layers", {"all layers", "all layers"});
    return patterns;
  }
  if (has_global) add(own, config.window, "global", named_layers(config.is_local, false));
  const auto local = layer_attention(config.local);
  add(local->pattern, local->window, "local", named_layers(config.is_local, true));
  return patterns;
}

Result<const FamilyDescription*> family_of_model_type(std::string_view model_type) {
  std::vector<std::string_view> known;
  for (const FamilyDescription* family : family_descriptions()) {
    for (const std::string_view type : family->model_types()) {
      if (type == model_type) return family;
      known.push_back(type);
    }
  }
  struct Reason {
    std::string_view model_type, why;
  };
  constexpr std::string_view relative = "whose attention adds terms of relative position";
  for (const Reason& reason :
       {Reason{"mpnet", relative}, Reason{"deberta", relative}, Reason{"deberta-v2", relative}}) {
    if (reason.model_type != model_type) continue;
    return fail(
        "is '{}', {}, which no implementation here computes; models of the types {} are "
        "read here",
        model_type, reason.why, fmt::join(known, ", "));
  }
  return fail("is '{}'; models of the types {} are read here", in_a_sentence(model_type),
              fmt::join(known, ", "));
}

Products products_of(const ModelOptions& options) {
  if (options.contains(int8_products)) return Products::int8;
  return options.contains(bfloat16_products) ? Products::bfloat16 : Products::float32;
}

namespace {

/// sentence-transformers' location of predict()'s activation in config.json.
std::string stated_activation(const JsonField& config) {
  std::optional<JsonField> field;
  if (const auto own = config.member("sentence_transformers"); own && own->is_object())
    field = own->member("activation_fn");
  if (!field || !field->is_text()) field = config.member("sbert_ce_default_activation_function");
  return field && field->is_text() ? field->text() : "";
}

}  // namespace

Result<ModelConfig> read_model_config(std::string_view json, std::string_view source) {
  return read_json(json, source, [](const JsonField& config) {
    if (!config.is_object()) config.must_be("an object {...}");
    check_config_fields(config);
    const auto type = config.member("model_type");
    if (!type || type->is_null()) {
      config.wrong("has no 'model_type'; is it a model's config.json?");
    }
    const auto family = family_of_model_type(type->text());
    if (!family) type->wrong(family.error().message);
    ModelConfig model = (*family)->read_config(config, type->text());
    model.family = *family;
    model.activation = stated_activation(config);
    if ((*family)->takes_modules() && !config.member("backbone_model_type"))
      model.unknown_fields = unknown_config_fields(config);
    return model;
  });
}

}  // namespace attnscope
