// SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <cmath>
#include <optional>

#include "base/sentences.h"
#include "engine/sweep/sweep.h"

namespace attnscope {
namespace {

constexpr std::size_t most_values = 100'000;

template <typename Number>
std::optional<Number> number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

tl::unexpected<Error> not_a_range(std::string_view text) {
  return fail(
      "'{}' is neither a number nor a range; write \"64\", \"64:4096:*2\" (each value doubles the "
      "one before) or \"64:512:+64\" (in steps of 64)",
      text);
}

struct Range {
  std::int64_t first = 0, last = 0;
  char step_kind = '+';
  std::string_view step;
};

std::optional<Range> split(std::string_view text) {
  const std::size_t one = text.find(':');
  const std::size_t two = one == std::string_view::npos ? one : text.find(':', one + 1);
  if (two == std::string_view::npos || two + 2 >= text.size()) return std::nullopt;
  const auto first = number<std::int64_t>(text.substr(0, one));
  const auto last = number<std::int64_t>(text.substr(one + 1, two - one - 1));
  const char kind = text[two + 1];
  if (!first || !last || *first < 0 || *last < 0 || (kind != '*' && kind != '+')) {
    return std::nullopt;
  }
  return Range{*first, *last, kind, text.substr(two + 2)};
}

Result<std::vector<std::int64_t>> geometric(const Range& range, std::string_view text) {
  const auto factor = number<double>(range.step);
  if (!factor) return not_a_range(text);
  if (!(*factor > 1) || !std::isfinite(*factor)) {
    return fail("range '{}' never ends: its factor must be larger than 1, as in \"64:4096:*2\"",
                text);
  }
  if (range.first == 0) {
    return fail("range '{}' never leaves 0: begin at 1 or more, or use steps as in \"0:64:+16\"",
                text);
  }
  std::vector<std::int64_t> values;
  const auto last = static_cast<double>(range.last);
  auto exact = static_cast<double>(range.first);
  for (std::size_t steps = 0; std::round(exact) <= last; exact *= *factor, ++steps) {
    // 2^63 is the double nearest to the largest integer.
    const auto value = exact < 0x1p63 ? static_cast<std::int64_t>(std::round(exact)) : range.last;
    // Factors near 1 may round to the same number twice, and even smaller factors never leave it.
    if (values.empty() || value > values.back()) values.push_back(value);
    if (steps > most_values) {
      return fail("range '{}' has more than {} steps; use a larger factor", text, most_values);
    }
  }
  return values;
}

Result<std::vector<std::int64_t>> arithmetic(const Range& range, std::string_view text) {
  const auto step = number<std::int64_t>(range.step);
  if (!step) return not_a_range(text);
  if (*step < 1) {
    return fail("range '{}' never ends: its step must be 1 or more, as in \"64:512:+64\"", text);
  }
  std::vector<std::int64_t> values;
  for (std::int64_t value = range.first; values.size() <= most_values; value += *step) {
    values.push_back(value);
    if (range.last - value < *step) break;
  }
  return values;
}

}  // namespace

Result<std::vector<std::int64_t>> parse_range(std::string_view given) {
  // A longer text is not a range; messages quote the text shortened.
  const std::string shown = in_a_sentence(given);
  const std::string_view text = shown;
  if (const auto single = number<std::int64_t>(text)) {
    if (*single < 0) return fail("'{}' is negative; give 0 or more", text);
    return std::vector<std::int64_t>{*single};
  }
  const auto range = split(text);
  if (!range) return not_a_range(text);
  if (range->first > range->last) {
    return fail("range '{}' is empty: it begins above its end; did you mean '{}:{}:{}{}'?", text,
                range->last, range->first, range->step_kind, range->step);
  }
  auto values = range->step_kind == '*' ? geometric(*range, text) : arithmetic(*range, text);
  if (values && values->size() > most_values) {
    return fail("range '{}' has more than {} values; use a larger step", text, most_values);
  }
  return values;
}

}  // namespace attnscope
