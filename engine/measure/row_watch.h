#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Right when it is timed, too: the check before timing holds every compared row of one call against
// the reference; afterwards a few of these rows are looked at after every sample, so that none is
// kept whose last call left something else. Of gradients these are rows of grad_q, which depend on
// no other row of grad_o.
//
//   const RowWatch watch(device, reference);
//   watch.poison(buffers);
//   ... timed calls ...
//   if (const auto wrong = watch.judge(buffers)) leave_out(*wrong);

#include <optional>
#include <span>
#include <vector>

#include "engine/measure/gate.h"

namespace attnscope::measure {

class RowWatch {
 public:
  /// The reference must outlive it.
  RowWatch(DeviceKind device, const HeatReference& reference);

  /// NaN in the watched rows of what a call writes.
  void poison(const PlacedTensors& buffers) const;

  struct Wrong {
    double error = 0, bound = 0;
    Trouble trouble;
  };
  [[nodiscard]] std::optional<Wrong> judge(const PlacedTensors& buffers) const;

 private:
  struct Row {
    RowId id;
    std::span<const double> expected;
  };
  struct Watched {
    const char* name;
    bool is_gradient;
    double scale;  // of its errors
    std::vector<Row> rows;
  };
  [[nodiscard]] double error_of(const Watched& watched, const Tensor& tensor) const;

  DeviceKind device_;
  std::vector<Watched> watched_;
};

}  // namespace attnscope::measure
