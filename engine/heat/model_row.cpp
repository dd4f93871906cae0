// SPDX-License-Identifier: Apache-2.0
#include "engine/heat/model_row.h"

#include <fmt/format.h>

#include <algorithm>

namespace attnscope {
namespace {

/// The start of options: the first '+' in the last part of a path, unless that names a file.
std::size_t options_of(std::string_view text) {
  if (text.ends_with(".json")) return std::string_view::npos;
  const std::size_t file = text.find(".json+");
  if (file != std::string_view::npos) return text.find('+', file);
  const std::size_t slash = text.rfind('/');
  return text.find('+', slash == std::string_view::npos ? 0 : slash);
}

const FamilyDescription* family_that_names(std::string_view row) {
  for (const FamilyDescription* family : family_descriptions()) {
    const std::vector<FamilyChoice> rows = family->rows();
    if (std::ranges::find(rows, row, &FamilyChoice::name) != rows.end()) return family;
  }
  return nullptr;
}

}  // namespace

const FamilyDescription& family_of_row(std::string_view name) {
  const FamilyDescription* family = family_that_names(name);
  return family != nullptr ? *family : *family_descriptions().front();
}

std::vector<FamilyChoice> rows_with_pattern(std::string_view pattern) {
  std::vector<FamilyChoice> found;
  for (const FamilyDescription* family : family_descriptions()) {
    for (const FamilyChoice& row : family->rows())
      if (row.pattern == pattern) found.push_back(row);
  }
  return found;
}

std::vector<ModelRowOption> model_row_options() {
  std::vector<ModelRowOption> options;
  for (const FamilyDescription* family : family_descriptions()) {
    for (const FamilyChoice& option : family->row_options()) {
      std::string field(option.name);
      std::ranges::replace(field, '-', '_');
      if (std::ranges::find(options, field, &ModelRowOption::field) != options.end()) continue;
      options.push_back({.field = field, .ending = fmt::format("+{}", option.name)});
    }
  }
  return options;
}

bool is_model_row(std::string_view text) {
  return family_that_names(text) != nullptr ||
         std::ranges::any_of(model_row_options(), [&](const ModelRowOption& option) {
           return text.ends_with(option.ending);
         });
}

bool has_narrow_products(std::string_view row) {
  const auto parsed = parse_model_row(row);
  return parsed && products_of(parsed->options) != Products::float32;
}

Result<ModelRow> parse_model_row(std::string_view text) {
  const std::size_t plus = options_of(text);
  const std::string_view name = text.substr(0, plus);
  std::vector<std::string_view> options;
  for (std::size_t at = plus; at != std::string_view::npos;) {
    const std::size_t next = text.find('+', at + 1);
    options.push_back(text.substr(at + 1, next == std::string_view::npos ? next : next - at - 1));
    at = next;
  }
  return family_of_row(name).row(name, options);
}

}  // namespace attnscope
