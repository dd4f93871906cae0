// SPDX-License-Identifier: Apache-2.0
#include "engine/pattern/nearest_name.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <vector>

namespace attnscope {
namespace {

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

/// Edits that turn a into b, case aside: insertions, deletions, replacements and swapped neighbours
/// (optimal string alignment).
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = lower(a[i - 1]) == lower(b[j - 1]);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same ? 0 : 1)});
      if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
          lower(a[i - 2]) == lower(b[j - 1])) {
        row[j] = std::min(row[j], before_last[j - 2] + 1);
      }
    }
    std::swap(before_last, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

}  // namespace

std::string suggest(std::string_view unknown, std::span<const std::string_view> known) {
  std::string_view nearest;
  // Beyond a third of its letters a word is another word, not a misspelling.
  std::size_t least = std::max<std::size_t>(1, (unknown.size() + 1) / 3) + 1;
  for (const std::string_view name : known) {
    const std::size_t distance = edit_distance(unknown, name);
    if (distance < least && distance < name.size()) {
      least = distance;
      nearest = name;
    }
  }
  const std::string list = fmt::format("known: {}", fmt::join(known, ", "));
  return nearest.empty() ? list : fmt::format("did you mean '{}'? {}", nearest, list);
}

}  // namespace attnscope
