#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Timed calls of an attention that another process computes (docs/python.md). Before each call its
// inputs change, so that nothing it remembers helps; what a call left is fetched at times that it
// cannot know and compared as a whole; and fetching may take no longer than fetching does.
//
//   ServedWatch watch(tensors, rows);        // outputs are those of the call that was checked
//   watch.enter(prepared);                   // a sample begins
//   watch.before_call(prepared);             // untimed
//   ... the timed call ...
//   Verdict verdict = watch.judge(prepared); // of the last call; the inputs are plain again
//   watch.leave(prepared);

#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "engine/proof/call.h"

namespace attnscope::measure {

class ServedWatch {
 public:
  /// `tensors` and `rows` outlive it.
  ServedWatch(const CallTensors& tensors, const RowWatch& rows);

  void enter(PreparedAttention& prepared);
  void before_call(PreparedAttention& prepared);
  /// What is wrong with the last call's output, or was with an earlier one's.
  [[nodiscard]] Verdict judge(PreparedAttention& prepared);
  /// Also after a call that threw. The process stops. False where inputs were changed: the caller
  /// places them anew.
  [[nodiscard]] bool leave(PreparedAttention& prepared);

 private:
  void look(PreparedAttention& prepared);
  /// Sets the first reason and keeps it.
  void blame(Verdict verdict);
  /// Plain inputs again, and whether they are what they were.
  void restore();

  const CallTensors& tensors_;
  const RowWatch& rows_;
  std::vector<std::byte> output_;
  ChannelFactors plain_, factors_;
  std::uint64_t print_ = 0;  // of the inputs at this placement
  std::mt19937_64 random_{std::random_device{}()};
  Verdict verdict_;
  bool is_restored_ = true, has_called_ = false, has_changed_inputs_ = false;
  int fetches_ = 0;
  static constexpr double never = std::numeric_limits<double>::infinity();
  double shortest_fetch_ns_ = never, shortest_touch_ns_ = never;
};

}  // namespace attnscope::measure
