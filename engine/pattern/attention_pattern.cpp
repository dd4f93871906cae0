// SPDX-License-Identifier: Apache-2.0
#include "engine/pattern/attention_pattern.h"

#include <algorithm>
#include <stdexcept>

#include "base/sentences.h"
#include "base/text_file.h"
#include "engine/pattern/built_in_patterns.h"

namespace attnscope {
namespace {

constexpr std::uintmax_t max_file_bytes = 1 << 20;

template <typename Holds>
bool any_rule(const AttentionPattern& pattern, Holds holds) {
  return std::ranges::any_of(pattern.attends,
                             [&](const auto& row) { return std::ranges::any_of(row, holds); });
}

}  // namespace

std::string_view name_of(TokenGroup group) {
  constexpr std::array<std::string_view, token_group_count> names{"cls", "query", "document",
                                                                  "sentence"};
  return names[static_cast<std::size_t>(group)];
}

bool share_positions(TokenGroup a, TokenGroup b) {
  const auto in_document = [](TokenGroup group) {
    return group == TokenGroup::document || group == TokenGroup::sentence;
  };
  return a == b || (in_document(a) && in_document(b));
}

bool AttentionPattern::has_rules() const {
  return any_rule(*this, [](const GroupRule& rule) { return rule.kind != GroupRule::Kind::none; });
}

bool AttentionPattern::has_window() const {
  const auto takes_window = [](const GroupRule& rule) {
    return rule.kind == GroupRule::Kind::window && !rule.fixed_window;
  };
  return (item && takes_window(*item)) || any_rule(*this, takes_window);
}

bool AttentionPattern::has_chunks() const {
  return any_rule(*this,
                  [](const GroupRule& rule) { return rule.kind == GroupRule::Kind::chunks; });
}

bool AttentionPattern::has_sentences() const {
  for (const TokenGroup group : token_groups) {
    if (rule(group, TokenGroup::sentence).kind != GroupRule::Kind::none) return true;
    if (rule(TokenGroup::sentence, group).kind != GroupRule::Kind::none) return true;
  }
  return false;
}

const std::vector<AttentionPattern>& built_in_patterns() {
  static const std::vector<AttentionPattern> patterns = [] {
    std::vector<AttentionPattern> parsed;
    for (const BuiltInPattern& source : built_in_pattern_sources()) {
      Result<AttentionPattern> pattern = parse_pattern(source.json, source.file);
      if (!pattern) throw std::logic_error(pattern.error().message);
      parsed.push_back(std::move(*pattern));
    }
    return parsed;
  }();
  return patterns;
}

Result<AttentionPattern> find_pattern(std::string_view name_or_path) {
  if (name_or_path.find('/') != std::string_view::npos || name_or_path.ends_with(".json")) {
    Result<std::string> json = read_text_file(name_or_path, "pattern file", max_file_bytes);
    if (!json) return tl::unexpected(json.error());
    return parse_pattern(*json, name_or_path);
  }
  std::vector<std::string_view> known;
  for (const AttentionPattern& pattern : built_in_patterns()) {
    if (pattern.name == name_or_path) return pattern;
    known.emplace_back(pattern.name);
  }
  return fail("unknown pattern '{}'; {}; a file of your own is given as a path that ends in .json",
              in_a_sentence(name_or_path), suggest(in_a_sentence(name_or_path), known));
}

}  // namespace attnscope
