#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What a faulty implementation does after it has computed what segment computes.

#include "engine/attention/implementation.h"

namespace attnscope::trial {

/// A forward call that segment has just answered. In a heat the first call is the one that is
/// checked; warm-up and timed calls follow, and one more check.
struct Answered {
  const Problem& problem;
  const ForwardCall& call;
  int number = 1;
};

struct Fault {
  std::string_view id, summary;
  void (*act)(const Answered&);
  /// When what was prepared, and called, goes out of use.
  void (*leave)() = nullptr;
};

// endings.cpp
void abort_in_the_third_call(const Answered&);
void fault_in_the_third_call(const Answered&);
void throw_in_the_third_call(const Answered&);
void be_killed_in_the_third_call(const Answered&);
void hang_at_once(const Answered&);
void hang_when_timed(const Answered&);
void abort_afterwards();

// wrong_outputs.cpp
void leave_a_nan(const Answered&);
void add_a_forbidden_pair(const Answered&);
void go_wrong_after_the_first_call(const Answered&);
void write_beyond_the_output(const Answered&);
void write_before_the_output(const Answered&);
void write_beyond_the_workspace(const Answered&);
void change_an_input(const Answered&);

// memory_eaters.cpp
void allocate_all_counted_memory(const Answered&);
void allocate_uncounted_memory(const Answered&);
void allocate_outside_the_workspace(const Answered&);

}  // namespace attnscope::trial
