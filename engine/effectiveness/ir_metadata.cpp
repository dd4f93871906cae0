// SPDX-License-Identifier: Apache-2.0
#include "engine/effectiveness/ir_metadata.h"

#include <fmt/format.h>

#include <string_view>

#include "base/json.h"
#include "base/text_file.h"

namespace attnscope::effectiveness {
namespace {

using nlohmann::ordered_json;

/// JSON on one line, which is valid YAML.
std::string in_line(const ordered_json& value) {
  return value.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

/// "number of cores" unchanged; keys with other characters quoted.
std::string key_of(const std::string& key) {
  constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  constexpr std::string_view others = "0123456789_- ";
  const bool is_plain =
      !key.empty() && letters.find(key.front()) != std::string_view::npos && key.back() != ' ' &&
      key.find_first_not_of(std::string(letters).append(others)) == std::string::npos;
  return is_plain ? key : in_line(key);
}

void add_lines(const ordered_json& values, const std::string& margin, std::string& text) {
  for (const auto& item : values.items()) {
    text += margin + (values.is_array() ? "-" : key_of(item.key()) + ":");
    const ordered_json& value = item.value();
    if (value.is_structured() && !value.empty()) {
      text += "\n";
      add_lines(value, margin + "  ", text);
    } else {
      text += fmt::format(" {}\n", in_line(value));
    }
  }
}

}  // namespace

std::string metadata_head(const ordered_json& metadata) {
  std::string text = "# ir_metadata.start\n";
  add_lines(metadata, "# ", text);
  return text + "# ir_metadata.end\n";
}

Result<ordered_json> read_own_metadata(const std::filesystem::path& file) {
  constexpr std::uintmax_t most_bytes = 1 << 20;
  const auto text = read_text_file(file, "metadata file", most_bytes);
  if (!text) return tl::unexpected(text.error());
  return read_json(std::string_view(*text), file.string(), [](const JsonField& root) {
    root.only({"platform", "research goal", "implementation", "method", "actor", "data"});
    for (const JsonField& part : root.members()) static_cast<void>(part.members());
    return ordered_json(root.value());
  });
}

}  // namespace attnscope::effectiveness
