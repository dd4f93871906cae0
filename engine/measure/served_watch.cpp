// SPDX-License-Identifier: Apache-2.0
#include "engine/measure/served_watch.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "engine/attention/served/served_process.h"
#include "engine/measure/workload.h"

namespace attnscope::measure {
namespace {

// Samples of short calls have about 70 calls: one is checked in addition to the last.
constexpr std::uint64_t calls_a_look = 64;
// A fetch copies one tensor and touching reads all: the minimum of a few fetches is shorter, also
// on a busy machine.
constexpr int least_fetches = 5;
constexpr double touches_a_fetch = 4;
constexpr double fetch_ns = 5e5;

template <typename Action>
double nanoseconds_of(const Action& action) {
  const auto start = std::chrono::steady_clock::now();
  action();
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

ServedWatch::ServedWatch(const CallTensors& tensors, const RowWatch& rows)
    : tensors_(tensors),
      rows_(rows),
      plain_(ChannelFactors::plain(tensors.shape())),
      factors_(plain_) {
  const std::byte* const output = tensors.on_host().o.data;
  output_.assign(output, output + tensors.shape().tensor_bytes().value());
}

void ServedWatch::enter(PreparedAttention& prepared) {
  tensors_.poison(Pass::both);
  print_ = tensors_.print_of_inputs(Pass::both);
  is_restored_ = has_called_ = false;
  require(prepared.keep_outputs(true));
}

void ServedWatch::before_call(PreparedAttention& prepared) {
  if (has_called_ && random_() % calls_a_look == 0) {
    look(prepared);
    tensors_.poison(Pass::both);
    require(prepared.keep_outputs(true));
  }
  const ChannelFactors next = ChannelFactors::drawn(tensors_.shape(), [this] { return random_(); });
  tensors_.change_inputs(factors_, next);
  factors_ = next;
  shortest_touch_ns_ =
      std::min(shortest_touch_ns_, nanoseconds_of([&] { require(prepared.touch_inputs()); }));
  has_called_ = true;  // the timed call is next
}

void ServedWatch::look(PreparedAttention& prepared) {
  ++fetches_;
  shortest_fetch_ns_ =
      std::min(shortest_fetch_ns_, nanoseconds_of([&] { require(prepared.keep_outputs(false)); }));
  blame(rows_.judge(tensors_.on_device(), &factors_));
  const DType dtype = tensors_.shape().dtype;
  blame(rows_.judge_distance(tensors_.distance_of_output(output_, factors_), dtype));
  if (const char* name = tensors_.not_finite(Pass::both); name != nullptr)
    blame({.error = {}, .wrong = fmt::format("its {} holds values that are not finite", name)});
  if (fetches_ >= least_fetches &&
      shortest_fetch_ns_ > fetch_ns + touches_a_fetch * shortest_touch_ns_) {
    blame({.error = {},
           .wrong = fmt::format("it computes after its calls have returned: fetching an output "
                                "took {:.3g} ms at least, and reading all inputs {:.3g} ms",
                                shortest_fetch_ns_ / 1e6, shortest_touch_ns_ / 1e6)});
  }
}

void ServedWatch::blame(Verdict verdict) {
  if (verdict_.wrong.empty() && !verdict.wrong.empty()) {
    verdict_ = std::move(verdict);
    verdict_.wrong = "it was right when it was checked and wrong in timed calls: " + verdict_.wrong;
  }
}

void ServedWatch::restore() {
  if (std::exchange(is_restored_, true)) return;
  tensors_.change_inputs(factors_, plain_);
  factors_ = plain_;
  has_changed_inputs_ = tensors_.print_of_inputs(Pass::both) != print_;
  if (has_changed_inputs_ && verdict_.wrong.empty())
    verdict_.wrong = "it changed its inputs after it was checked";
}

Verdict ServedWatch::judge(PreparedAttention& prepared) {
  look(prepared);
  restore();
  return verdict_;
}

bool ServedWatch::leave(PreparedAttention& prepared) {
  restore();
  try {
    static_cast<void>(prepared.keep_outputs(false));
  } catch (const ServedProcessEnded&) {  // the next call restarts it
  }
  prepared.stop();
  return !has_changed_inputs_;
}

}  // namespace attnscope::measure
