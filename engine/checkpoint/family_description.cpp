// SPDX-License-Identifier: Apache-2.0
#include "engine/checkpoint/family_description.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
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
    return fail("is '{}', {}, which no implementation supports; the supported types are {}",
                model_type, reason.why, fmt::join(known, ", "));
  }
  return fail("is '{}'; the supported types are {}", in_a_sentence(model_type),
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

namespace {

bool same_tensors(const std::vector<TensorSpec>& a, const std::vector<TensorSpec>& b) {
  return std::ranges::equal(a, b, [](const TensorSpec& x, const TensorSpec& y) {
    return x.name == y.name && x.shape == y.shape;
  });
}

}  // namespace

std::int64_t OptionedDescription::parameters(const ModelConfig& config) const {
  std::int64_t sum = 0;
  for (const TensorSpec& spec : tensors(config, nullptr).specs) {
    std::int64_t size = 1;
    for (const std::int64_t extent : spec.shape) size *= extent;
    sum += size;
  }
  return sum;
}

std::vector<FamilyChoice> OptionedDescription::rows() const {
  std::vector<FamilyChoice> choices;
  for (const NamedRow& row : named_rows())
    choices.push_back({.name = row.name, .summary = row.summary, .pattern = row.pattern});
  return choices;
}

std::vector<FamilyChoice> OptionedDescription::row_options() const {
  std::vector<FamilyChoice> choices;
  for (const RowOption& option : own_options())
    choices.push_back({.name = option.name, .summary = option.summary});
  return choices;
}

Result<ModelRow> OptionedDescription::row(std::string_view name,
                                          std::span<const std::string_view> options) const {
  const std::vector<NamedRow> rows = named_rows();
  const auto found = std::ranges::find(rows, name, &NamedRow::name);
  if (found == rows.end()) return fail("is not a row of the family {}", id());
  std::map<std::string_view, std::string_view> chosen;  // by `about`
  for (const std::string_view word : options) {
    const auto option = find_option(word);
    if (!option) {
      return fail("has the option '+{}', but the options of {} are {}", in_a_sentence(word), id(),
                  names_of_options());
    }
    const auto [other, is_new] = chosen.emplace(option->about, option->name);
    if (!is_new && other->second == option->name) {
      return fail("has the option '+{}' twice; give it once", option->name);
    }
    if (!is_new) {
      return fail("has the options '+{}' and '+{}', which contradict each other; give one",
                  other->second, option->name);
    }
  }
  for (const std::string_view word : found->options) {
    const auto option = find_option(word);
    if (option) chosen.emplace(option->about, option->name);
  }
  ModelRow row{.family = this,
               .name = std::string(name),
               .pattern = std::string(found->pattern),
               .local = found->local,
               .weights = std::string(id())};
  for (const auto& [about, word] : chosen) {
    const auto option = find_option(word);
    if (!option->pattern.empty()) {
      row.pattern = option->pattern;
      continue;
    }
    row.options.emplace(word);
    if (option->shapes_weights) row.weights += fmt::format("+{}", word);
  }
  return row;
}

ModelConfig OptionedDescription::config_for(const ModelShape& shape,
                                            std::span<const ModelRow> rows) const {
  ModelConfig config{.family = this, .shape = shape, .own = own_of(shape)};
  if (rows.empty()) return config;
  // Options that do not fit the shape are reported by the code that creates the model.
  for (const std::string& word : rows.front().options) {
    const auto option = find_option(word);
    if (!option || !option->shapes_weights) continue;
    std::any own = config.own;
    if (apply(word, shape, own)) config.own = std::move(own);
  }
  return config;
}

Result<ModelOptions> OptionedDescription::options_for(const ModelConfig& config,
                                                      const AttentionPattern& /*pattern*/,
                                                      ModelOptions requested) const {
  if (requested.contains(cls_only_last_layer) && !config.head.reads_cls_alone()) {
    return fail("'{}' is for models that compute the score from [CLS]; this model pools all tokens",
                cls_only_last_layer);
  }
  const auto made = configured(config, requested);
  if (!made) return tl::unexpected(made.error());
  if (!same_tensors(tensors(config, nullptr).specs, tensors(*made, nullptr).specs)) {
    return fail("the options {} require other tensors than this checkpoint has",
                fmt::join(requested, ", "));
  }
  return requested;
}

Result<ModelConfig> OptionedDescription::configured(ModelConfig config,
                                                    const ModelOptions& options) const {
  for (const std::string& word : options) {
    const auto option = find_option(word);
    if (!option || !option->pattern.empty()) {
      return fail("there is no option '{}' for models of the family {}{}", in_a_sentence(word),
                  id(), own_options_in_words());
    }
    const Status applied = apply(word, config.shape, config.own);
    if (!applied) return fail("option '{}' {}", word, applied.error().message);
  }
  return config;
}

std::any OptionedDescription::own_of(const ModelShape& /*shape*/) const {
  return {};
}

Status OptionedDescription::apply(std::string_view /*option*/, const ModelShape& /*shape*/,
                                  std::any& /*own*/) const {
  return {};
}

std::optional<RowOption> OptionedDescription::find_option(std::string_view name) const {
  const std::vector<RowOption> known = own_options();
  const auto found = std::ranges::find(known, name, &RowOption::name);
  if (found == known.end()) return std::nullopt;
  return *found;
}

std::string OptionedDescription::own_options_in_words() const {
  std::vector<std::string_view> names;
  for (const RowOption& option : own_options())
    if (option.pattern.empty()) names.push_back(option.name);
  return names.empty() ? ", which has none" : fmt::format("; it has {}", fmt::join(names, ", "));
}

std::string OptionedDescription::names_of_options() const {
  std::vector<std::string> names;
  for (const FamilyChoice& option : row_options()) names.push_back(fmt::format("+{}", option.name));
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

std::optional<std::int64_t> number_after(std::string_view prefix, std::string_view option) {
  if (!option.starts_with(prefix)) return std::nullopt;
  std::int64_t number = 0;
  const char* end = option.data() + option.size();
  const auto read = std::from_chars(option.data() + prefix.size(), end, number);
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return number;
}

}  // namespace attnscope
