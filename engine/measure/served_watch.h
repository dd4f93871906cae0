#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Guards timed calls of an attention that another process computes (docs/python.md). The inputs
// change before each call, so that cached results are useless; outputs are fetched at times that
// the process cannot predict and are compared completely; and the time of a fetch is limited to
// that of a plain fetch, so that no work is deferred to it.
//
//   ServedWatch watch(tensors, rows);        // outputs are those of the call that was checked
//   watch.enter(prepared);                   // a sample begins
//   watch.before_call(prepared);             // untimed
//   ... the timed call ...
//   Verdict verdict = watch.judge(prepared); // last call; restores the inputs
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
  /// `tensors` and `rows` must outlive it.
  ServedWatch(const CallTensors& tensors, const RowWatch& rows);

  void enter(PreparedAttention& prepared);
  void before_call(PreparedAttention& prepared);
  /// The verdict on the last call's output, or the failure of an earlier one.
  [[nodiscard]] Verdict judge(PreparedAttention& prepared);
  /// Call it also after a call that threw. Stops the process. Returns false if inputs were changed:
  /// the caller must place them again.
  [[nodiscard]] bool leave(PreparedAttention& prepared);

 private:
  void look(PreparedAttention& prepared);
  /// Records the first failure and ignores later ones.
  void blame(Verdict verdict);
  /// Restores the original inputs and verifies them.
  void restore();

  const CallTensors& tensors_;
  const RowWatch& rows_;
  std::vector<std::byte> output_;
  ChannelFactors plain_, factors_;
  std::uint64_t print_ = 0;  // fingerprint of the inputs at this placement
  std::mt19937_64 random_{std::random_device{}()};
  Verdict verdict_;
  bool is_restored_ = true, has_called_ = false, has_changed_inputs_ = false;
  int fetches_ = 0;
  static constexpr double never = std::numeric_limits<double>::infinity();
  double shortest_fetch_ns_ = never, shortest_touch_ns_ = never;
};

}  // namespace attnscope::measure
