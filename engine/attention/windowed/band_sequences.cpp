// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/windowed/band_sequences.h"

#include <algorithm>
#include <optional>

namespace attnscope {

Result<BandSequences> band_sequences(const AttentionPlan& plan) {
  BandSequences result;
  std::optional<std::int64_t> window;
  std::int64_t longest = 0;
  bool any_whole = false;
  for (const Task& task : plan.tasks) {
    if (task.queries.size() == 0) continue;
    const auto segments = plan.segments_of(task);
    const bool own_band = segments.size() == 1 && !task.queries.listed && task.heads.begin == 0 &&
                          task.heads.end == plan.heads && !segments[0].keys.listed &&
                          segments[0].keys.begin == task.queries.begin &&
                          segments[0].keys.end == task.queries.end && segments[0].offset == 0 &&
                          segments[0].kind != SegmentKind::block &&
                          segments[0].skip_begin == segments[0].skip_end;
    if (!own_band) {
      return fail(
          "windowed-matmul needs sequences that attend to nothing but a window on themselves; "
          "tokens "
          "{} to {} do otherwise: use a layout of documents alone, without [CLS] and query",
          task.queries.begin, task.queries.end - 1);
    }
    result.sequences.push_back({task.queries.begin, task.queries.end});
    longest = std::max(longest, task.queries.size());
    if (segments[0].kind == SegmentKind::whole) {
      any_whole = true;
    } else if (window && *window != segments[0].window) {
      return fail("windowed-matmul takes one window, and this pattern has {} and {}", *window,
                  segments[0].window);
    } else {
      window = segments[0].window;
    }
  }
  if (any_whole && window) {
    return fail("windowed-matmul takes one window, and this pattern has {} and inf", *window);
  }
  // A window as long as the longest sequence is the whole sequence.
  result.window = window.value_or(std::max<std::int64_t>(longest - 1, 0));
  return result;
}

}  // namespace attnscope
