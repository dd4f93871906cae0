// SPDX-License-Identifier: Apache-2.0
#include <chrono>

#include "tests/trial_worker/imitation.h"
#include "tests/trial_worker/trials.h"

namespace attnscope::trial {
namespace {

constexpr double slowdown = 0.03;

/// Takes as long as the imitated call and `slowdown` of it more.
template <typename Call>
Status slowed(const Call& call) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  Status done = call();
  const auto end = Clock::now();
  const auto until = end + std::chrono::duration_cast<Clock::duration>((end - start) * slowdown);
  while (Clock::now() < until) {
  }
  return done;
}

class PreparedSlowed final : public PreparedImitation {
 public:
  using PreparedImitation::PreparedImitation;
  [[nodiscard]] Status forward(const ForwardCall& call) override {
    return slowed([&] { return PreparedImitation::forward(call); });
  }
  [[nodiscard]] Status backward(const BackwardCall& call) override {
    return slowed([&] { return PreparedImitation::backward(call); });
  }
};

class Slowed final : public Imitation {
 public:
  using Imitation::Imitation;
  [[nodiscard]] Status supports(const Problem& problem) const override {
    if (problem.device != DeviceKind::cpu)
      return fail("{} waits on the processor, where a call on CUDA is only queued", id());
    return Imitation::supports(problem);
  }

 protected:
  [[nodiscard]] std::unique_ptr<PreparedAttention> wrap(
      const Problem&, std::unique_ptr<PreparedAttention> imitated) const override {
    return std::make_unique<PreparedSlowed>(std::move(imitated));
  }
};

}  // namespace

const std::vector<const Implementation*>& twins() {
  static const Imitation segment("segment-twin", "segment", "segment under another id");
  static const Imitation windowed("windowed-twin", "windowed", "windowed under another id");
  static const Imitation sdpa("sdpa-twin", "sdpa", "sdpa under another id");
  static const Slowed slow("segment-slowed", "segment", "segment, every call slowed by 3%");
  static const std::vector<const Implementation*> all{&segment, &windowed, &sdpa, &slow};
  return all;
}

}  // namespace attnscope::trial
