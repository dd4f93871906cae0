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

Status on_the_processor(const Problem& problem) {
  if (problem.device == DeviceKind::cpu) return {};
  return fail("segment-slowed waits on the processor, where a call on CUDA is only queued");
}

}  // namespace

std::vector<Implementation> twins() {
  return {
      imitation({"segment-twin", "segment", "segment under another id"}),
      imitation({"windowed-twin", "windowed", "windowed under another id"}),
      imitation({"sdpa-twin", "sdpa", "sdpa under another id"}),
      imitation({"segment-slowed", "segment", "segment, every call slowed by 3%", on_the_processor,
                 [](const Problem&, std::unique_ptr<PreparedAttention> imitated) {
                   return std::make_unique<PreparedSlowed>(std::move(imitated));
                 }})};
}

}  // namespace attnscope::trial
