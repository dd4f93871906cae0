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

/// Null if no pattern of that name is shipped.
const AttentionPattern* shipped(const std::string& name) {
  const auto found = std::ranges::find(built_in_patterns(), name, &AttentionPattern::name);
  return found == built_in_patterns().end() ? nullptr : &*found;
}

/// A quarter, a half, once and twice the item's tokens, at least the minimum for its groups.
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

void add_once(ordered_json& list, ordered_json entry) {
  if (std::ranges::find(list, entry) == list.end()) list.push_back(std::move(entry));
}

/// Adds a pattern's contenders, its window and, unless it is shipped, the pattern itself.
void add_source(ordered_json& sweep, const charts::MaskSource& source,
                const QStringList& implementations) {
  AttentionPattern pattern = source.pattern;
  const AttentionPattern* same_name = shipped(pattern.name);
  const bool ships = same_name != nullptr && *same_name == pattern;
  if (same_name != nullptr && !ships) pattern.name += "-own";
  if (!ships) add_once(sweep["patterns"], ordered_json::parse(pattern_json(pattern)));
  for (const QString& id : implementations) {
    add_once(sweep["contenders"], pattern.name + "/" + id.toStdString());
  }
  if (!source.window) return;
  const Window window = *source.window;
  add_once(sweep["windows"],
           window.is_infinite() ? ordered_json("inf") : ordered_json(window.tokens()));
}

}  // namespace

Result<QString> sweep_of(const RunWish& wish) {
  const auto layout = SequenceLayout::make({wish.item});
  if (!layout) return tl::unexpected(layout.error());
  const bool with_sentences = std::ranges::any_of(
      wish.sources, [](const auto& source) { return source.pattern.has_sentences(); });
  if (wish.item.sentences_given && with_sentences) {
    return fail(
        "A sweep has sentence starts at every so many tokens, none listed by hand; choose "
        "\"every\" to measure the pattern.");
  }
  if (wish.implementations.isEmpty()) {
    return fail("No implementation on this machine takes the pattern at this length.");
  }
  ordered_json sweep;
  sweep["name"] = wish.name;
  for (const charts::MaskSource& source : wish.sources) {
    add_source(sweep, source, wish.implementations);
  }
  add_once(sweep["contenders"], full_attention);
  // A sweep's query length excludes its [SEP].
  sweep["query_tokens"] = std::max<std::int64_t>(wish.item.query - 1, 0);
  sweep["sequence_tokens"] = wish.other_lengths ? lengths_around(wish.item, layout->tokens())
                                                : ordered_json::array({layout->tokens()});
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
