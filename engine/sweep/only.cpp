// SPDX-License-Identifier: Apache-2.0
//
// Selects the heats and contenders of a sweep: --only, and "skip" of the file.
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "base/sentences.h"
#include "engine/heat/axes.h"
#include "engine/sweep/sweep.h"

namespace attnscope {
namespace {

// The columns of a table row that are known before measuring, other than the axes.
constexpr std::array<std::string_view, 8> other_keys{"contender",       "name",  "implementation",
                                                     "pattern",         "model", "window",
                                                     "document_tokens", "batch"};

std::optional<std::string> contender_value(const Contender& contender, std::string_view key) {
  if (key == "contender") return contender.id();
  if (key == "name") return contender.name;
  if (key == "implementation") return contender.implementation;
  if (key == "pattern") return contender.pattern;
  if (key == "model") return contender.model;
  if (key == "window") return contender.window ? contender.window->text() : "none";
  return std::nullopt;
}

std::optional<std::string> point_value(const HeatPoint& point, std::string_view key) {
  if (key == "document_tokens") {
    const auto sizes = group_sizes(point);
    return sizes ? std::to_string(sizes->document) : std::string();
  }
  const Axis* const axis = find_axis(key == "batch" ? "batch_max" : key);
  if (axis == nullptr || axis->is_of_every_value(point)) return std::nullopt;
  return text_of(*axis, point);
}

std::vector<std::string_view> known_keys() {
  std::vector<std::string_view> keys(other_keys.begin(), other_keys.end());
  for (const Axis& axis : heat_axes) keys.push_back(axis.key);
  return keys;
}

using Wanted = std::map<std::string, std::set<std::string>, std::less<>>;

/// Keys are joined by "and", values of one key by "or"; `of_every_value`: the result for a point
/// that stands for all values of an axis.
bool matches(const Wanted& wanted, const HeatPoint& point, const Contender& contender,
             bool of_every_value) {
  return std::ranges::all_of(wanted, [&](const auto& term) {
    if (term.first == "contender" && term.second.contains(contender.name)) return true;
    std::optional<std::string> value = contender_value(contender, term.first);
    if (!value) value = point_value(point, term.first);
    return value ? term.second.contains(*value) : of_every_value;
  });
}

// The sweep's values for a key, for the message when nothing is left.
std::string values_in(const Sweep& sweep, std::string_view key) {
  std::vector<std::string> values;
  const auto add = [&values](const std::optional<std::string>& value) {
    if (value && std::ranges::find(values, *value) == values.end()) values.push_back(*value);
  };
  for (const Heat& heat : sweep.heats) {
    add(point_value(heat.point, key));
    for (const Contender& contender : heat.contenders) add(contender_value(contender, key));
  }
  return fmt::format("{}", fmt::join(values, ", "));
}

/// The filter by key; an error names an unknown key, and `option`.
Result<Wanted> wanted_of(const OnlyFilter& filter, std::string_view option) {
  Wanted wanted;
  const std::vector<std::string_view> known = known_keys();
  for (const auto& [key, value] : filter.terms) {
    if (std::ranges::find(known, key) == known.end()) {
      return fail("{}: a sweep has no key '{}'; {}", option, in_a_sentence(key),
                  suggest(in_a_sentence(key), known));
    }
    wanted[key].insert(value);
  }
  return wanted;
}

/// The sweep's values for each key, for the message when nothing is left.
std::string values_of(const Sweep& sweep, const Wanted& wanted) {
  std::string all;
  for (const auto& [key, values] : wanted)
    all += fmt::format("{}{}: {}", all.empty() ? "" : "; ", key, values_in(sweep, key));
  return all;
}

/// The sweep's cells for which `keeps(point, contender)` is true.
template <typename Keeps>
Sweep part_of(const Sweep& sweep, Keeps keeps) {
  Sweep kept{.name = sweep.name,
             .text = sweep.text,
             .heats = {},
             .runs = sweep.runs,
             .measured_runs = sweep.measured_runs};
  for (Heat heat : sweep.heats) {
    std::erase_if(heat.contenders,
                  [&](const Contender& contender) { return !keeps(heat.point, contender); });
    if (heat.contenders.empty()) continue;
    heat.index = static_cast<int>(kept.heats.size());
    kept.heats.push_back(std::move(heat));
  }
  return kept;
}

}  // namespace

namespace {

/// Names may contain commas, followed by "w = 4": "contender=Sparse, fused, w = 4" is one term. It
/// ends where another key begins.
std::size_t end_of_term(std::string_view text) {
  std::size_t comma = text.find(',');
  const std::string_view key = text.substr(0, text.find('='));
  if (key != "contender" && key != "name") return comma;
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz_.";
  while (comma != std::string_view::npos) {
    const std::string_view next = text.substr(comma + 1);
    const std::size_t end = next.find_first_not_of(letters);
    if (end != std::string_view::npos && end > 0 && next[end] == '=') return comma;
    comma = text.find(',', comma + 1);
  }
  return comma;
}

}  // namespace

Result<OnlyFilter> parse_only(std::string_view text, std::string_view option) {
  OnlyFilter filter;
  while (true) {
    const std::size_t comma = end_of_term(text);
    const std::string_view term = text.substr(0, comma);
    const std::size_t equals = term.find('=');
    if (equals == std::string_view::npos || equals == 0 || equals + 1 == term.size()) {
      return fail(
          "{}: '{}' is not KEY=VALUE; write for example window=4,sequence_tokens=512, and repeat "
          "the key for more values",
          option, in_a_sentence(term));
    }
    const std::string_view key = term.substr(0, equals);
    filter.terms.emplace_back(key == "length" ? "sequence_tokens" : key, term.substr(equals + 1));
    if (comma == std::string_view::npos) return filter;
    text.remove_prefix(comma + 1);
  }
}

Result<Sweep> only(const Sweep& sweep, const OnlyFilter& filter) {
  const Result<Wanted> wanted = wanted_of(filter, "--only");
  if (!wanted) return tl::unexpected(wanted.error());
  Sweep kept = part_of(sweep, [&](const HeatPoint& point, const Contender& contender) {
    return matches(*wanted, point, contender, true);
  });
  if (kept.heats.empty()) {
    return fail("--only leaves nothing of sweep '{}', which has {}", sweep.name,
                values_of(sweep, *wanted));
  }
  return kept;
}

Result<Sweep> skip(const Sweep& sweep, const OnlyFilter& filter) {
  const Result<Wanted> wanted = wanted_of(filter, "skip");
  if (!wanted) return tl::unexpected(wanted.error());
  const auto count = [](const Sweep& one) {
    std::size_t cells = 0;
    for (const Heat& heat : one.heats) cells += heat.contenders.size();
    return cells;
  };
  Sweep kept = part_of(sweep, [&](const HeatPoint& point, const Contender& contender) {
    return !matches(*wanted, point, contender, false);
  });
  if (kept.heats.empty()) return fail("skip: removes all cells; skip fewer");
  if (count(kept) == count(sweep)) {
    return fail("skip: removes no cell, because the sweep has {}; correct or remove it",
                values_of(sweep, *wanted));
  }
  return kept;
}

std::vector<Contender> contenders_of(const Sweep& sweep) {
  std::vector<Contender> all;
  std::set<std::string> seen;
  for (const Heat& heat : sweep.heats) {
    for (const Contender& contender : heat.contenders)
      if (seen.insert(contender.id()).second) all.push_back(contender);
  }
  return all;
}

}  // namespace attnscope
