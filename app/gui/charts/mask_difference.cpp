// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/charts/mask_difference.h"

#include <algorithm>
#include <limits>

#include "kernels/plan/key_runs.h"

namespace attnscope::charts {
namespace {

constexpr double most_intervals = 5e8;  // a few seconds' work
constexpr std::int64_t rows_between_looks = 1024;
constexpr std::int64_t beyond = std::numeric_limits<std::int64_t>::max();

}  // namespace

void DifferenceRow::add(bool in_a, bool in_b, TokenRange keys) {
  if (keys.empty() || (!in_a && !in_b)) return;
  const DifferencePart part = in_a && in_b ? DifferencePart::both
                              : in_a       ? DifferencePart::only_a
                                           : DifferencePart::only_b;
  std::vector<TokenRange>& list = parts_[static_cast<std::size_t>(part)];
  if (!list.empty() && list.back().end == keys.begin) {
    list.back().end = keys.end;
  } else {
    list.push_back(keys);
  }
}

void DifferenceRow::split(const MaskProblem& a, const MaskProblem& b, std::int64_t query) {
  for (std::vector<TokenRange>& list : parts_) list.clear();
  a.keys_of(query, a_);
  b.keys_of(query, b_);
  merge_intervals(a_);
  merge_intervals(b_);
  std::size_t i = 0;
  std::size_t j = 0;
  std::int64_t at = 0;
  // From border to border: between two of them membership does not change.
  while (i < a_.size() || j < b_.size()) {
    const bool in_a = i < a_.size() && a_[i].begin <= at;
    const bool in_b = j < b_.size() && b_[j].begin <= at;
    const auto border = [at](const std::vector<TokenRange>& list, std::size_t k, bool inside) {
      if (k == list.size()) return beyond;
      return inside ? list[k].end : std::max(list[k].begin, at);
    };
    const std::int64_t next = std::min(border(a_, i, in_a), border(b_, j, in_b));
    add(in_a, in_b, {at, next});
    at = next;
    if (i < a_.size() && a_[i].end <= at) ++i;
    if (j < b_.size() && b_[j].end <= at) ++j;
  }
}

std::optional<DifferenceCounts> count_difference(const MaskProblem& a, const MaskProblem& b,
                                                 const std::function<bool()>& superseded) {
  const auto intervals =
      static_cast<double>(8 + a.sentence_tokens().size() + b.sentence_tokens().size());
  if (intervals * static_cast<double>(a.tokens()) > most_intervals) return std::nullopt;
  DifferenceCounts counts{};
  DifferenceRow row;
  for (std::int64_t query = 0; query < a.tokens(); ++query) {
    if (query % rows_between_looks == 0 && superseded()) return std::nullopt;
    row.split(a, b, query);
    for (std::size_t part = 0; part < difference_part_count; ++part) {
      for (const TokenRange& keys : row.keys(static_cast<DifferencePart>(part))) {
        counts[part] += keys.size();
      }
    }
  }
  return counts;
}

}  // namespace attnscope::charts
