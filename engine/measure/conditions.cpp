// SPDX-License-Identifier: Apache-2.0
#include "engine/measure/conditions.h"

namespace attnscope::measure {
namespace {

class Unknown final : public ConditionsMeter {
  [[nodiscard]] Conditions read() override { return {}; }
};

}  // namespace

void ConditionsMeter::start() {
  // What passed since is the work between two placements, and belongs to no sample.
  static_cast<void>(read());
  answered_.reset();
}

Conditions ConditionsMeter::since_start() {
  const auto now = Clock::now();
  if (answered_ && now - *answered_ < shortest_window) return last_;
  last_ = read();
  answered_ = now;
  return last_;
}

ConditionsMeter& unknown_conditions() {
  static Unknown unknown;
  return unknown;
}

}  // namespace attnscope::measure
