// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/work/unseen_tokens.h"

#include <algorithm>

#include "kernels/cuda/work/rules.h"

namespace attnscope::cuda {

UnseenTokens::UnseenTokens(std::span<const DirectedSegment> segments) {
  for (const DirectedSegment& segment : segments) {
    const WorkRun& run = segment.run;
    stretches_[{run.listed, run.begin}] = {.end = run.begin + run.count,
                                           .skips = segment.span.skips,
                                           .skip_origin = segment.span.skip_origin};
    count_ += run.count;
  }
}

std::optional<WorkRule> UnseenTokens::take(const WorkSpan& staged, Indices indices) {
  const std::int32_t listed = staged.run.listed;
  const TokenInterval offered{staged.run.begin, staged.run.begin + staged.run.count};
  auto found = stretches_.upper_bound({listed, offered.begin});
  if (found != stretches_.begin()) {
    const auto before = std::prev(found);
    if (before->first.first == listed && before->second.end > offered.begin) found = before;
  }
  for (; found != stretches_.end(); ++found) {
    const auto [place, stretch] = *found;
    if (place.first != listed || place.second >= offered.end) break;
    // Left-out tokens are known by the span's bitmap alone.
    if (stretch.skips >= 0 && stretch.skips != staged.skips) continue;
    const TokenInterval taken{std::max(place.second, offered.begin),
                              std::min(stretch.end, offered.end)};
    stretches_.erase(found);
    if (place.second < taken.begin) {
      stretches_[place] = {taken.begin, stretch.skips, stretch.skip_origin};
    }
    if (taken.end < stretch.end) stretches_[{listed, taken.end}] = stretch;
    count_ -= taken.size();
    WorkRule rule = whole_of(hull_of({taken.begin, taken.size(), listed}, indices));
    rule.skips = stretch.skips >= 0 ? 1 : 0;
    return rule;
  }
  return std::nullopt;
}

std::vector<WorkSpan> UnseenTokens::take_rest() {
  std::vector<WorkSpan> spans;
  for (const auto& [place, stretch] : stretches_) {
    spans.push_back({.run = {place.second, stretch.end - place.second, place.first},
                     .skips = stretch.skips,
                     .skip_origin = stretch.skip_origin});
  }
  stretches_.clear();
  count_ = 0;
  return spans;
}

}  // namespace attnscope::cuda
