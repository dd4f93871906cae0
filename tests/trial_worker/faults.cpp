// SPDX-License-Identifier: Apache-2.0
#include "tests/trial_worker/faults.h"

#include <array>
#include <memory>
#include <vector>

#include "tests/trial_worker/imitation.h"
#include "tests/trial_worker/trials.h"

namespace attnscope::trial {
namespace {

void do_nothing(const Answered&) {}

constexpr std::array faults{
    Fault{"trial-abort", "aborts in its third call", abort_in_the_third_call},
    Fault{"trial-segfault", "writes to address 0 in its third call", fault_in_the_third_call},
    Fault{"trial-throw", "throws in its third call", throw_in_the_third_call},
    Fault{"trial-killed", "kills its process in its third call", be_killed_in_the_third_call},
    Fault{"trial-hang", "hangs in its first call", hang_at_once},
    Fault{"trial-hang-timed", "hangs in a timed call", hang_when_timed},
    Fault{"trial-abort-afterwards", "aborts when nobody runs any more", do_nothing,
          abort_afterwards},
    Fault{"trial-nan", "leaves NaN in one value of its output", leave_a_nan},
    Fault{"trial-one-mask-cell", "attends to one pair that the mask forbids", add_a_forbidden_pair},
    Fault{"trial-late-wrong", "right in its first call, wrong in all others",
          go_wrong_after_the_first_call},
    Fault{"trial-beyond-output", "writes one value behind its output", write_beyond_the_output},
    Fault{"trial-before-output", "writes one value before its output", write_before_the_output},
    Fault{"trial-beyond-workspace", "writes one byte behind its workspace",
          write_beyond_the_workspace},
    Fault{"trial-changes-input", "adds 1 to the first value of q", change_an_input},
    Fault{"trial-asks-all", "asks the counted memory for more and more",
          allocate_all_counted_memory},
    Fault{"trial-eats-unseen", "takes memory past the counted allocators until there is none",
          allocate_uncounted_memory},
    Fault{"trial-unseen-memory", "takes 100 MiB past the counted allocators in every call",
          allocate_outside_the_workspace},
};

class PreparedFaulty final : public PreparedImitation {
 public:
  PreparedFaulty(const Problem& problem, const Fault& fault,
                 std::unique_ptr<PreparedAttention> imitated)
      : PreparedImitation(std::move(imitated)), problem_(problem), fault_(fault) {}
  PreparedFaulty(const PreparedFaulty&) = delete;
  PreparedFaulty& operator=(const PreparedFaulty&) = delete;
  ~PreparedFaulty() override {
    if (calls_ > 0 && fault_.leave != nullptr) fault_.leave();
  }
  [[nodiscard]] Status forward(const ForwardCall& call) override {
    Status done = PreparedImitation::forward(call);
    if (done) fault_.act({problem_, call, ++calls_});
    return done;
  }

 private:
  Problem problem_;
  const Fault& fault_;
  int calls_ = 0;
};

Implementation faulty_segment(const Fault& fault) {
  return imitation(
      {fault.id, "segment", fault.summary,
       [&fault](const Problem& problem) {
         const bool here = problem.device == DeviceKind::cpu && problem.dtype == DType::float32;
         return here ? Status() : fail("{} goes wrong in float32 on the processor only", fault.id);
       },
       [&fault](const Problem& problem, std::unique_ptr<PreparedAttention> imitated) {
         return std::make_unique<PreparedFaulty>(problem, fault, std::move(imitated));
       }});
}

}  // namespace

std::vector<Implementation> faulty() {
  std::vector<Implementation> list;
  for (const Fault& fault : faults) list.push_back(faulty_segment(fault));
  return list;
}

}  // namespace attnscope::trial
