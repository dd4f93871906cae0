// SPDX-License-Identifier: Apache-2.0
//
// The texts in a dump's `__metadata__` (docs/attention-dumps.md).
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "engine/inspect/dump.h"
#include "kernels/base/sentences.h"

namespace attnscope {
namespace {

using Metadata = std::map<std::string, std::string>;
using nlohmann::json;

constexpr std::size_t longest_token = 1000;  // bytes
constexpr double largest_scale = 1000;

Result<std::string> text_of(const Metadata& metadata, const char* key, const std::string& file) {
  const auto found = metadata.find(key);
  if (found != metadata.end()) return found->second;
  return fail("{}: has no metadata '{}'; it is no dump of scripts/attnscope_dump.py", file, key);
}

Result<json> list_of(const std::string& text, const char* key, const std::string& file) {
  json list = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!list.is_array()) return fail("{}: metadata '{}' is not a JSON list", file, key);
  return list;
}

Result<std::vector<std::string>> read_tokens(const std::string& text, const std::string& file) {
  const Result<json> list = list_of(text, "tokens", file);
  if (!list) return tl::unexpected(list.error());
  std::vector<std::string> tokens;
  tokens.reserve(list->size());
  for (const json& token : *list) {
    if (!token.is_string() || token.get_ref<const std::string&>().size() > longest_token) {
      return fail("{}: metadata 'tokens': entry {} is not a text of at most {} bytes", file,
                  tokens.size(), longest_token);
    }
    tokens.push_back(token.get<std::string>());
  }
  return tokens;
}

Result<SequenceLayout> read_layout(const std::string& text, const std::string& file) {
  Result<SequenceLayout> layout = parse_layout(text, file + ": metadata 'layout'");
  if (!layout) return layout;
  if (layout->item_count() != 1 || layout->shares_query()) {
    return fail("{}: metadata 'layout' has {} items{}; a dump holds one, with its own query", file,
                layout->item_count(), layout->shares_query() ? " and a shared query" : "");
  }
  if (layout->tokens() < 1 || layout->tokens() > Dump::most_tokens) {
    return fail("{}: metadata 'layout' has {} tokens; a dump has 1 to {}", file, layout->tokens(),
                Dump::most_tokens);
  }
  return layout;
}

std::vector<TokenGroup> groups_of(const SequenceLayout& layout) {
  std::vector<TokenGroup> groups(static_cast<std::size_t>(layout.tokens()), TokenGroup::document);
  const auto paint = [&](TokenRange range, TokenGroup group) {
    for (std::int64_t i = range.begin; i < range.end; ++i) {
      groups[static_cast<std::size_t>(i)] = group;
    }
  };
  paint(layout.cls(0), TokenGroup::cls);
  paint(layout.query(0), TokenGroup::query);
  const std::int64_t first = layout.documents(0).begin;
  for (const std::int64_t start : layout.item(0).sentences) {
    paint({first + start, first + start + 1}, TokenGroup::sentence);
  }
  return groups;
}

Result<AttentionPattern> read_pattern(const std::string& text, const std::string& file) {
  if (text.starts_with('{')) return parse_pattern(text, file + ": metadata 'pattern'");
  for (const AttentionPattern& pattern : built_in_patterns()) {
    if (pattern.name == text) return pattern;
  }
  return fail(
      "{}: metadata 'pattern' is '{}', which is neither a built-in pattern nor a pattern's "
      "JSON",
      file, in_a_sentence(text));
}

/// "4", "inf", or one a layer: "256,256,512".
Result<std::vector<std::optional<Window>>> read_windows(std::string_view text,
                                                        const std::string& file) {
  std::vector<std::optional<Window>> windows;
  while (true) {
    const std::size_t comma = text.find(',');
    const Result<Window> window = parse_window(text.substr(0, comma));
    if (!window) return fail("{}: metadata 'window': {}", file, window.error().message);
    windows.emplace_back(*window);
    if (comma == std::string_view::npos) return windows;
    text.remove_prefix(comma + 1);
  }
}

Result<double> read_scale(const std::string& text, const std::string& file) {
  double scale = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), scale);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  if (whole && scale > 0 && scale <= largest_scale) return scale;
  return fail("{}: metadata 'scale' is '{}', which is no number above 0 and up to {}", file,
              in_a_sentence(text), largest_scale);
}

Result<std::vector<std::int64_t>> read_rows(const std::string& text, std::int64_t tokens,
                                            const std::string& file) {
  const Result<json> list = list_of(text, "global_rows", file);
  if (!list) return tl::unexpected(list.error());
  std::vector<std::int64_t> rows;
  rows.reserve(list->size());
  for (const json& row : *list) {
    const bool number = row.is_number_unsigned();
    const std::uint64_t value = number ? row.get<std::uint64_t>() : 0;
    const bool ascending = rows.empty() || value > static_cast<std::uint64_t>(rows.back());
    if (!number || value >= static_cast<std::uint64_t>(tokens) || !ascending) {
      return fail("{}: metadata 'global_rows': entry {} is no ascending token number below {}",
                  file, rows.size(), tokens);
    }
    rows.push_back(static_cast<std::int64_t>(value));
  }
  return rows;
}

}  // namespace

Result<DumpInfo> parse_dump_metadata(const Metadata& metadata, const std::string& file) {
  DumpInfo info;
  const Result<std::string> version = text_of(metadata, "attnscope_dump", file);
  if (!version) return tl::unexpected(version.error());
  if (*version != "1") {
    return fail("{}: is a dump of version '{}'; this program reads version 1", file,
                in_a_sentence(*version));
  }
  for (const char* key : {"model", "layout", "tokens", "pattern", "scale"}) {
    if (const Result<std::string> text = text_of(metadata, key, file); !text) {
      return tl::unexpected(text.error());
    }
  }
  const auto optional_text = [&](const char* key) {
    const auto found = metadata.find(key);
    return found == metadata.end() ? std::string() : found->second;
  };
  constexpr std::size_t longest_note = 400;
  info.model = in_a_sentence(metadata.at("model"), 120);
  info.note = in_a_sentence(optional_text("note"), longest_note);

  Result<SequenceLayout> layout = read_layout(metadata.at("layout"), file);
  if (!layout) return tl::unexpected(layout.error());
  info.layout = *std::move(layout);
  info.groups = groups_of(info.layout);
  Result<std::vector<std::string>> tokens = read_tokens(metadata.at("tokens"), file);
  if (!tokens) return tl::unexpected(tokens.error());
  info.tokens = *std::move(tokens);
  if (static_cast<std::int64_t>(info.tokens.size()) != info.layout.tokens()) {
    return fail("{}: has {} token texts, and its layout {} tokens", file, info.tokens.size(),
                info.layout.tokens());
  }
  Result<AttentionPattern> pattern = read_pattern(metadata.at("pattern"), file);
  if (!pattern) return tl::unexpected(pattern.error());
  info.pattern = *std::move(pattern);
  info.windows = {std::nullopt};
  if (const std::string windows = optional_text("window"); !windows.empty()) {
    Result<std::vector<std::optional<Window>>> read = read_windows(windows, file);
    if (!read) return tl::unexpected(read.error());
    info.windows = *std::move(read);
  } else if (info.pattern.has_window()) {
    return fail("{}: its pattern '{}' has a window and there is no metadata 'window'", file,
                info.pattern.name);
  }
  const Result<double> scale = read_scale(metadata.at("scale"), file);
  if (!scale) return tl::unexpected(scale.error());
  info.scale = *scale;
  if (const std::string rows = optional_text("global_rows"); !rows.empty()) {
    Result<std::vector<std::int64_t>> read = read_rows(rows, info.layout.tokens(), file);
    if (!read) return tl::unexpected(read.error());
    info.global_rows = *std::move(read);
  }
  return info;
}

}  // namespace attnscope
