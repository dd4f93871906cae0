// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/models/pattern_sweep.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/gui/session/text.h"
#include "engine/sweep/sweep.h"

namespace attnscope::gui {
namespace {

using nlohmann::ordered_json;

constexpr const char* full_attention = "full/sdpa";

/// Null where it does not ship under that name.
const AttentionPattern* shipped(const std::string& name) {
  const auto found = std::ranges::find(built_in_patterns(), name, &AttentionPattern::name);
  return found == built_in_patterns().end() ? nullptr : &*found;
}

/// A quarter, a half, once and twice the item's tokens, none too short for its groups.
ordered_json lengths_around(const LayoutItem& item, std::int64_t tokens) {
  const std::int64_t least = 1 + std::max<std::int64_t>(item.query, 1) +
                             2 * static_cast<std::int64_t>(item.documents.size());
  ordered_json lengths = ordered_json::array();
  std::int64_t last = 0;
  for (const std::int64_t length : {tokens / 4, tokens / 2, tokens, 2 * tokens}) {
    const std::int64_t long_enough = std::max(length, least);
    if (long_enough > last) lengths.push_back(long_enough);
    last = std::max(last, long_enough);
  }
  return lengths;
}

}  // namespace

Result<QString> sweep_of(const BenchmarkWish& wish) {
  const auto layout = SequenceLayout::make({wish.item});
  if (!layout) return tl::unexpected(layout.error());
  if (wish.item.sentences_given && wish.source.pattern.has_sentences()) {
    return fail(
        "A sweep has sentence starts at every so many tokens, none listed by hand; choose "
        "\"every\" "
        "to measure the pattern.");
  }
  if (wish.implementations.isEmpty()) {
    return fail("No implementation on this machine takes the pattern at this length.");
  }
  AttentionPattern pattern = wish.source.pattern;
  const AttentionPattern* same_name = shipped(pattern.name);
  const bool ships = same_name != nullptr && *same_name == pattern;
  if (same_name != nullptr && !ships) pattern.name += "-own";

  ordered_json sweep;
  sweep["name"] = "pattern-" + pattern.name;
  if (!ships) {
    sweep["patterns"] = ordered_json::array({ordered_json::parse(pattern_json(pattern))});
  }
  ordered_json contenders = ordered_json::array();
  for (const QString& id : wish.implementations) {
    contenders.push_back(pattern.name + "/" + id.toStdString());
  }
  if (std::ranges::find(contenders, full_attention) == contenders.end()) {
    contenders.push_back(full_attention);
  }
  sweep["contenders"] = std::move(contenders);
  if (wish.source.window) {
    const Window window = *wish.source.window;
    sweep["windows"] = ordered_json::array();
    if (window.is_infinite()) {
      sweep["windows"].push_back("inf");
    } else {
      sweep["windows"].push_back(window.tokens());
    }
  }
  sweep["query_tokens"] = std::max<std::int64_t>(wish.item.query - 1, 0);
  sweep["sequence_tokens"] = lengths_around(wish.item, layout->tokens());
  sweep["documents"] = std::max<std::size_t>(wish.item.documents.size(), 1);
  sweep["batch"] = {{"max", 1}};
  sweep["heads"] = wish.heads;
  sweep["head_dim"] = wish.head_dim;
  const std::string text = sweep.dump(2);
  if (const auto checked = parse_sweep(text, "sweep"); !checked) {
    return tl::unexpected(checked.error());
  }
  return words(text);
}

}  // namespace attnscope::gui
