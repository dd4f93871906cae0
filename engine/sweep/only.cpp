// SPDX-License-Identifier: Apache-2.0
//
// --only on a sweep: the heats and contenders to run.
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "engine/heat/axes.h"
#include "engine/sweep/sweep.h"
#include "kernels/base/sentences.h"

namespace attnscope {
namespace {

// What is known of a table's row before anything is measured, but for the axes.
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
  return axis == nullptr ? std::nullopt : std::optional(text_of(*axis, point));
}

std::vector<std::string_view> known_keys() {
  std::vector<std::string_view> keys(other_keys.begin(), other_keys.end());
  for (const Axis& axis : heat_axes) keys.push_back(axis.key);
  return keys;
}

using Wanted = std::map<std::string, std::set<std::string>, std::less<>>;

// Keys are joined by "and", values of one key by "or".
template <typename Value>
bool matches(const Wanted& wanted, Value value_of) {
  return std::ranges::all_of(wanted, [&](const auto& term) {
    const std::optional<std::string> value = value_of(term.first);
    return !value || term.second.contains(*value);
  });
}

// What the sweep has for a key, for the message when nothing is left.
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

}  // namespace

Result<OnlyFilter> parse_only(std::string_view text) {
  OnlyFilter filter;
  while (true) {
    const std::size_t comma = text.find(',');
    const std::string_view term = text.substr(0, comma);
    const std::size_t equals = term.find('=');
    if (equals == std::string_view::npos || equals == 0 || equals + 1 == term.size()) {
      return fail(
          "--only: '{}' is not KEY=VALUE; write e.g. window=4,sequence_tokens=512, and repeat the "
          "key for more values",
          in_a_sentence(term));
    }
    filter.terms.emplace_back(term.substr(0, equals), term.substr(equals + 1));
    if (comma == std::string_view::npos) return filter;
    text.remove_prefix(comma + 1);
  }
}

Result<Sweep> only(const Sweep& sweep, const OnlyFilter& filter) {
  Wanted wanted;
  const std::vector<std::string_view> known = known_keys();
  for (const auto& [key, value] : filter.terms) {
    if (std::ranges::find(known, key) == known.end()) {
      return fail("--only: there is no key '{}' before a run; {}", in_a_sentence(key),
                  suggest(in_a_sentence(key), known));
    }
    wanted[key].insert(value);
  }
  Sweep kept{.name = sweep.name, .text = sweep.text, .heats = {}};
  for (Heat heat : sweep.heats) {
    if (!matches(wanted, [&](std::string_view key) { return point_value(heat.point, key); }))
      continue;
    std::erase_if(heat.contenders, [&](const Contender& contender) {
      return !matches(wanted,
                      [&](std::string_view key) { return contender_value(contender, key); });
    });
    if (heat.contenders.empty()) continue;
    heat.index = static_cast<int>(kept.heats.size());
    kept.heats.push_back(std::move(heat));
  }
  if (kept.heats.empty()) {
    std::string there_are;
    for (const auto& [key, values] : wanted) {
      there_are +=
          fmt::format("{}{}: {}", there_are.empty() ? "" : "; ", key, values_in(sweep, key));
    }
    return fail("--only leaves nothing of sweep '{}', which has {}", sweep.name, there_are);
  }
  return kept;
}

}  // namespace attnscope
