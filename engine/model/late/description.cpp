// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <charconv>
#include <map>

#include "engine/checkpoint/bert_body.h"
#include "engine/model/late/late_description.h"
#include "kernels/base/sentences.h"

namespace attnscope {
namespace {

constexpr LateOption windowed_option{
    .name = LateDescription::windowed,
    .summary =
        "Texts are encoded with the pattern sparse: a document's tokens see [CLS] and a "
        "window.",
    .about = "pattern"};

/// What the authors' classes have beside what they compute with.
constexpr std::array<std::string_view, 3> leftovers{"classifier.", "value_layer.",
                                                    "self_attention_weight_layer."};

std::vector<std::int64_t> sizes_of(const std::vector<TensorSpec>& specs) {
  std::vector<std::int64_t> sizes;
  for (const TensorSpec& spec : specs) {
    std::int64_t size = 1;
    for (const std::int64_t extent : spec.shape) size *= extent;
    sizes.push_back(size);
  }
  return sizes;
}

bool same_tensors(const std::vector<TensorSpec>& a, const std::vector<TensorSpec>& b) {
  return std::ranges::equal(a, b, [](const TensorSpec& x, const TensorSpec& y) {
    return x.name == y.name && x.shape == y.shape;
  });
}

}  // namespace

ModelConfig LateDescription::read_config(const JsonField& config,
                                         std::string_view /*model_type*/) const {
  ModelConfig model;
  check_bert_computation(config);
  read_bert_shape(config, model.shape);
  model.own = own_of(model.shape);
  read_own(config, model);
  return model;
}

ModelTensors LateDescription::tensors(const ModelConfig& config,
                                      const TensorViews* /*files*/) const {
  ModelTensors found;
  append_bert_body(config.shape, body_prefix(), found.specs);
  if (uses_pooler()) {
    append_linear("pooler.dense", fmt::format("{}pooler.dense", body_prefix()), config.shape.hidden,
                  config.shape.hidden, found.specs);
  }
  append_own(config, found.specs);
  return found;
}

bool LateDescription::leaves_out(const ModelConfig& /*config*/, std::string_view name) const {
  if (name.ends_with("embeddings.position_ids") || name.ends_with("embeddings.token_type_ids"))
    return true;
  if (name.starts_with(fmt::format("{}pooler.", body_prefix()))) return true;
  return is_leftover(name) || std::ranges::any_of(leftovers, [&](std::string_view prefix) {
           return name.starts_with(prefix);
         });
}

std::vector<FamilyChoice> LateDescription::rows() const {
  std::vector<FamilyChoice> choices;
  for (const LateRow& row : late_rows())
    choices.push_back({.name = row.name, .summary = row.summary, .pattern = "full"});
  return choices;
}

std::vector<FamilyChoice> LateDescription::row_options() const {
  std::vector<FamilyChoice> choices;
  for (const LateOption& option : late_options())
    choices.push_back({.name = option.name, .summary = option.summary});
  choices.push_back({.name = windowed_option.name, .summary = windowed_option.summary});
  return choices;
}

Result<ModelRow> LateDescription::row(std::string_view name,
                                      std::span<const std::string_view> options) const {
  const std::vector<LateRow> rows = late_rows();
  const auto found = std::ranges::find(rows, name, &LateRow::name);
  if (found == rows.end()) return fail("is no row of the family {}", id());
  std::map<std::string_view, std::string_view> chosen;  // by matter
  for (const std::string_view word : options) {
    const auto option = find_option(word);
    if (!option) {
      return fail("has the option '+{}', and the options of {} are {}", in_a_sentence(word), id(),
                  names_of_options());
    }
    const auto [other, is_new] = chosen.emplace(option->about, option->name);
    if (!is_new) {
      return fail("has the options '+{}' and '+{}', which contradict each other; give one",
                  other->second, option->name);
    }
  }
  for (const std::string_view word : found->options) {
    const auto option = find_option(word);
    if (option) chosen.emplace(option->about, option->name);
  }
  ModelRow row{
      .family = this, .name = std::string(name), .pattern = "full", .weights = std::string(id())};
  for (const auto& [about, word] : chosen) {
    if (word == windowed) {
      row.pattern = "sparse";
      continue;
    }
    row.options.emplace(word);
    if (find_option(word)->shapes_weights) row.weights += fmt::format("+{}", word);
  }
  return row;
}

ModelConfig LateDescription::config_for(const ModelShape& shape,
                                        std::span<const ModelRow> rows) const {
  ModelConfig config{.family = this, .shape = shape, .own = own_of(shape)};
  if (rows.empty()) return config;
  // Options that do not fit the shape are told by whoever makes the model.
  for (const std::string& word : rows.front().options) {
    const auto option = find_option(word);
    if (!option || !option->shapes_weights) continue;
    std::any own = config.own;
    if (apply(word, shape, own)) config.own = std::move(own);
  }
  return config;
}

Result<ModelOptions> LateDescription::options_for(const ModelConfig& config,
                                                  const AttentionPattern& /*pattern*/,
                                                  ModelOptions asked) const {
  const auto made = configured(config, asked);
  if (!made) return tl::unexpected(made.error());
  if (!same_tensors(tensors(config, nullptr).specs, tensors(*made, nullptr).specs)) {
    return fail("the options {} are of models with other tensors than this checkpoint has",
                fmt::join(asked, ", "));
  }
  return asked;
}

Result<ModelConfig> LateDescription::configured(ModelConfig config,
                                                const ModelOptions& options) const {
  for (const std::string& word : options) {
    if (!find_option(word) || word == windowed) {
      return fail("there is no option '{}' of a model of the family {}{}", in_a_sentence(word),
                  id(), own_options_in_words());
    }
    const Status applied = apply(word, config.shape, config.own);
    if (!applied) return fail("option '{}' {}", word, applied.error().message);
  }
  return config;
}

std::int64_t LateDescription::parameters(const ModelConfig& config) const {
  std::int64_t sum = 0;
  for (const std::int64_t size : sizes_of(tensors(config, nullptr).specs)) sum += size;
  if (!uses_pooler()) sum += config.shape.hidden * (config.shape.hidden + 1);
  return sum;
}

std::any LateDescription::own_of(const ModelShape& /*shape*/) const {
  return {};
}

void LateDescription::read_own(const JsonField& /*config*/, ModelConfig& /*model*/) const {}

Status LateDescription::apply(std::string_view /*option*/, const ModelShape& /*shape*/,
                              std::any& /*own*/) const {
  return {};
}

void LateDescription::append_own(const ModelConfig& /*config*/,
                                 std::vector<TensorSpec>& /*specs*/) const {}

bool LateDescription::is_leftover(std::string_view /*name*/) const {
  return false;
}

std::optional<LateOption> LateDescription::find_option(std::string_view name) const {
  if (name == windowed) return windowed_option;
  const std::vector<LateOption> known = late_options();
  const auto found = std::ranges::find(known, name, &LateOption::name);
  if (found == known.end()) return std::nullopt;
  return *found;
}

std::string LateDescription::own_options_in_words() const {
  std::vector<std::string_view> names;
  for (const LateOption& option : late_options()) names.push_back(option.name);
  return names.empty() ? ", which has none" : fmt::format("; it has {}", fmt::join(names, ", "));
}

std::string LateDescription::names_of_options() const {
  std::vector<std::string> names;
  for (const FamilyChoice& option : row_options()) names.push_back(fmt::format("+{}", option.name));
  return fmt::format("{}", fmt::join(names, ", "));
}

void PooledDescription::append_own(const ModelConfig& config,
                                   std::vector<TensorSpec>& specs) const {
  append_linear("classifier", "bert_model.classifier", 1, config.shape.hidden, specs);
}

std::optional<std::int64_t> number_behind(std::string_view prefix, std::string_view option) {
  if (!option.starts_with(prefix)) return std::nullopt;
  std::int64_t number = 0;
  const char* end = option.data() + option.size();
  const auto read = std::from_chars(option.data() + prefix.size(), end, number);
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return number;
}

void append_matrix(std::string_view name, std::int64_t rows, std::int64_t width,
                   std::vector<TensorSpec>& specs) {
  specs.push_back({std::string(name), std::string(name), {rows, width}});
}

}  // namespace attnscope
