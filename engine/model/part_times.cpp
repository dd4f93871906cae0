// SPDX-License-Identifier: Apache-2.0
#include "engine/model/part_times.h"

#include "engine/model/family.h"

namespace attnscope {
namespace {

thread_local PartTimes* times_now = nullptr;
thread_local PartClock* clock_now = nullptr;

}  // namespace

std::string_view name_of(ModelPart part) {
  constexpr std::array<std::string_view, model_parts.size()> names{
      "embeddings", "projections", "attention", "feed-forward", "head"};
  return names[static_cast<std::size_t>(part)];
}

double useful_flop(const ModelWork& work, ModelPart part) {
  switch (part) {
    case ModelPart::projections:
      return work.linear_flop - work.feed_forward_flop;
    case ModelPart::attention:
      return work.attention_flop;
    case ModelPart::feed_forward:
      return work.feed_forward_flop;
    case ModelPart::embeddings:
    case ModelPart::head:
      break;
  }
  return 0;
}

PartTimes::PartTimes() : before_(times_now) {
  times_now = this;
}

PartTimes::~PartTimes() {
  times_now = before_;
}

PartClock::PartClock(ModelPart part) : times_(times_now), part_(part) {
  if (times_ == nullptr) return;
  start_ = std::chrono::steady_clock::now();
  outer_ = clock_now;
  clock_now = this;
  if (outer_ != nullptr) outer_->count_until(start_);
}

PartClock::~PartClock() {
  if (times_ == nullptr) return;
  const Time now = std::chrono::steady_clock::now();
  count_until(now);
  clock_now = outer_;
  if (outer_ != nullptr) outer_->start_ = now;
}

void PartClock::count_until(Time now) {
  times_->seconds_[static_cast<std::size_t>(part_)] +=
      std::chrono::duration<double>(now - start_).count();
}

}  // namespace attnscope
