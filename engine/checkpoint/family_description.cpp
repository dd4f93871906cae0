// SPDX-License-Identifier: Apache-2.0
#include "engine/checkpoint/family_description.h"

#include "kernels/base/sentences.h"

namespace attnscope {

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
  const Result<JsonValue> value = parse_json(json, source);
  if (!value) return tl::unexpected(value.error());
  const JsonField config(source, *value);
  if (Status object = config.object(); !object) return tl::unexpected(object.error());
  const auto field = config.member("model_type");
  if (!field || field->value().kind == JsonValue::Kind::null) {
    return config.wrong("has no 'model_type'; is it a model's config.json?");
  }
  const Result<std::string> type = field->text();
  if (!type) return tl::unexpected(type.error());
  const auto family = family_of_model_type(*type);
  if (!family) return field->wrong(family.error().message);
  Result<ModelConfig> model = (*family)->read_config(config, *type);
  if (model) model->family = *family;
  return model;
}

}  // namespace attnscope
