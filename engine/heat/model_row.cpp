// SPDX-License-Identifier: Apache-2.0
#include "engine/heat/model_row.h"

#include <algorithm>
#include <array>

#include "kernels/base/sentences.h"

namespace attnscope {
namespace {

constexpr std::array<std::string_view, 2> with_global_projections{"longformer", "qds"};

/// Where options begin: the first '+' of the last part of a path, unless that names a file.
std::size_t options_of(std::string_view text) {
  if (text.ends_with(".json")) return std::string_view::npos;
  const std::size_t file = text.find(".json+");
  if (file != std::string_view::npos) return text.find('+', file);
  const std::size_t slash = text.rfind('/');
  return text.find('+', slash == std::string_view::npos ? 0 : slash);
}

}  // namespace

Result<ModelRow> parse_model_row(std::string_view text) {
  const std::size_t plus = options_of(text);
  const std::string_view name = text.substr(0, plus);
  const std::string_view options =
      plus == std::string_view::npos ? std::string_view() : text.substr(plus);
  if (!options.empty() && options != cls_only_option) {
    return fail("has the option '{}', and the option of a model is '{}'", in_a_sentence(options),
                cls_only_option);
  }
  const bool is_without_kernel = name == "sparse-without-kernel";
  return ModelRow{.name = std::string(name),
                  .pattern = std::string(is_without_kernel ? std::string_view("sparse") : name),
                  .global_projections = std::ranges::find(with_global_projections, name) !=
                                        with_global_projections.end(),
                  .cls_only_last_layer = !options.empty()};
}

}  // namespace attnscope
