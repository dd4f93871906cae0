// SPDX-License-Identifier: Apache-2.0
#include "engine/checkpoint/family_description.h"

#include <array>

#include "kernels/base/sentences.h"

namespace attnscope {

std::string_view name_of(Kept kept) {
  constexpr std::array<std::string_view, 4> names{"nothing", "vectors", "token vectors",
                                                  "token states"};
  return names.at(static_cast<std::size_t>(kept));
}

std::optional<LayerAttention> layer_attention(const std::optional<LocalAttention>& local) {
  if (!local) return std::nullopt;
  return LayerAttention{find_pattern(local->pattern).value(), local->window};
}

Result<const FamilyDescription*> family_of_model_type(std::string_view model_type) {
  std::vector<std::string_view> known;
  for (const FamilyDescription* family : family_descriptions()) {
    for (const std::string_view type : family->model_types()) {
      if (type == model_type) return family;
      known.push_back(type);
    }
  }
  return fail("is '{}'; models of the types {} are read here", in_a_sentence(model_type),
              fmt::join(known, ", "));
}

Result<ModelConfig> read_model_config(std::string_view json, std::string_view source) {
  return read_json(json, source, [](const JsonField& config) {
    if (!config.is_object()) config.must_be("an object {...}");
    const auto type = config.member("model_type");
    if (!type || type->is_null()) {
      config.wrong("has no 'model_type'; is it a model's config.json?");
    }
    const auto family = family_of_model_type(type->text());
    if (!family) type->wrong(family.error().message);
    ModelConfig model = (*family)->read_config(config, type->text());
    model.family = *family;
    return model;
  });
}

}  // namespace attnscope
