// SPDX-License-Identifier: Apache-2.0
#include "engine/checkpoint/optioned_description.h"

#include <algorithm>
#include <charconv>
#include <map>

#include "base/sentences.h"

namespace attnscope {
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
  if (found == rows.end()) return fail("is no row of the family {}", id());
  std::map<std::string_view, std::string_view> chosen;  // by `about`
  for (const std::string_view word : options) {
    const auto option = find_option(word);
    if (!option) {
      return fail("has the option '+{}', and the options of {} are {}", in_a_sentence(word), id(),
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
    return fail("the options {} are of models with other tensors than this checkpoint has",
                fmt::join(requested, ", "));
  }
  return requested;
}

Result<ModelConfig> OptionedDescription::configured(ModelConfig config,
                                                    const ModelOptions& options) const {
  for (const std::string& word : options) {
    const auto option = find_option(word);
    if (!option || !option->pattern.empty()) {
      return fail("there is no option '{}' of a model of the family {}{}", in_a_sentence(word),
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
