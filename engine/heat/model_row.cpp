// SPDX-License-Identifier: Apache-2.0
#include "engine/heat/model_row.h"

#include <algorithm>

namespace attnscope {
namespace {

/// Where options begin: the first '+' of the last part of a path, unless that names a file.
std::size_t options_of(std::string_view text) {
  if (text.ends_with(".json")) return std::string_view::npos;
  const std::size_t file = text.find(".json+");
  if (file != std::string_view::npos) return text.find('+', file);
  const std::size_t slash = text.rfind('/');
  return text.find('+', slash == std::string_view::npos ? 0 : slash);
}

const FamilyDescription& family_of_row(std::string_view name) {
  for (const FamilyDescription* family : family_descriptions()) {
    const std::vector<std::string_view> rows = family->rows();
    if (std::ranges::find(rows, name) != rows.end()) return *family;
  }
  return *family_descriptions().front();
}

}  // namespace

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
