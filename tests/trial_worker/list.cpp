// SPDX-License-Identifier: Apache-2.0
//
// Replaces engine/attention/list.cpp: a program's own definition has priority over the library's.
#include "engine/attention/list.h"

#include <chrono>
#include <cstdlib>
#include <memory>
#include <utility>

#include "tests/trial_worker/trials.h"

namespace attnscope {
namespace trial {
namespace {

const Implementation& known(std::string_view id) {
  const Implementation* found = find_implementation(id);
  if (found == nullptr) std::abort();
  return *found;
}

/// Takes as long as the imitated call and `slowdown` of it more.
template <typename Call>
Status slowed(double slowdown, const Call& call) {
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
  PreparedSlowed(std::unique_ptr<PreparedAttention> imitated, double slowdown)
      : PreparedImitation(std::move(imitated)), slowdown_(slowdown) {}
  [[nodiscard]] Status forward(const ForwardCall& call) override {
    return slowed(slowdown_, [&] { return PreparedImitation::forward(call); });
  }
  [[nodiscard]] Status backward(const BackwardCall& call) override {
    return slowed(slowdown_, [&] { return PreparedImitation::backward(call); });
  }

 private:
  double slowdown_;
};

Status on_the_processor(const Problem& problem) {
  if (problem.device == DeviceKind::cpu) return {};
  return fail("a slowed call waits on the processor, where a call on CUDA is only queued");
}

Implementation slowed_segment(const char* id, const char* words, double slowdown) {
  return imitation({id, "segment", words, on_the_processor,
                    [slowdown](const Problem&, std::unique_ptr<PreparedAttention> imitated) {
                      return std::make_unique<PreparedSlowed>(std::move(imitated), slowdown);
                    }});
}

}  // namespace

Implementation imitation(const Imitated& one) {
  return {.id = one.id,
          .summary = one.summary,
          .supports =
              [one](const Problem& problem) {
                const Status here = one.only_where ? one.only_where(problem) : Status();
                return here ? known(one.imitated).supports(problem) : here;
              },
          .prepare = [one](const Problem& problem) -> Result<std::unique_ptr<PreparedAttention>> {
            auto prepared = known(one.imitated).prepare(problem);
            if (!prepared || !one.wrap) return prepared;
            return one.wrap(problem, std::move(*prepared));
          }};
}

std::vector<Implementation> twins() {
  return {
      imitation({"segment-twin", "segment", "segment under another id"}),
      imitation({"windowed-twin", "windowed", "windowed under another id"}),
      imitation({"sdpa-twin", "sdpa", "sdpa under another id"}),
      slowed_segment("segment-slowed", "segment, every call slowed by 3%", 0.03),
      slowed_segment("segment-twice", "segment, every call as long again", 1),
  };
}

}  // namespace trial

std::span<const Implementation* const> implementations() {
  static const ImplementationList list = [] {
    ImplementationList all = listed_implementations();
    all.add(trial::twins());
    all.add(trial::faulty());
    return all;
  }();
  return list.all();
}

}  // namespace attnscope
