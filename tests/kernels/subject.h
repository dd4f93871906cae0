#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What is held against the reference: an implementation of attention over plans, forward and
// backward, wherever it runs. proof_test.cpp holds every subject of a program against the same
// cases.

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "base/result.h"
#include "tests/kernels/cases.h"

namespace attnscope::testing {

struct Call {
  int order = 1;       // threads of a CPU; on a device a draw of the order of blocks and lanes
  bool alone = false;  // the forward pass alone, without log-sum-exp
  int repeats = 1;     // on the same workspace and results
};

struct Subject {
  std::string name;
  /// The backward pass computes its weights again, from q, k and lse, and reads o.
  bool recomputes = false;
  /// Slow where others are quick: it takes the cases that are chosen for that.
  bool emulated = false;

  std::function<Status(const AttentionPlan& plan, std::int64_t head_dim)> supports;
  /// Results are NaN before the call, workspaces of exactly the size asked for. Test failures tell
  /// of errors, of memory touched beyond workspaces, between rows or in operands, and of results
  /// not written.
  std::function<Outputs(const AttentionPlan& plan, const Inputs& inputs, const Call& call)> forward;
  std::function<Gradients(const AttentionPlan& plan, const BackwardCase& problem, const Call& call)>
      backward;
  /// Calls `body` for every way in which the subject is compiled - instruction sets - with its name
  /// and that way selected.
  std::function<void(const std::function<void(const std::string& build)>& body)> for_each_build;

  friend std::ostream& operator<<(std::ostream& out, const Subject& subject) {
    return out << subject.name;
  }
};

/// The program's; each room of tests that has proof_test.cpp defines them.
[[nodiscard]] const std::vector<Subject>& subjects();

/// The kernels of kernels/cpu.
[[nodiscard]] const std::vector<Subject>& cpu_subjects();
/// Calls `body` with every available instruction set selected, then restores the default.
void for_each_instruction_set(const std::function<void(const std::string& set)>& body);

/// Forward on every build, and backward of what the first one left, against the reference.
void expect_right(const Subject& subject, const AttentionPlan& plan, const Inputs& inputs,
                  const KeysOf& keys, const std::string& what);
void expect_right(const Subject& subject, const AttentionCase& problem);

/// Plants NaN and infinity in one number of each operand at the tokens in turn: results that depend
/// on it show a NaN, all others keep every bit.
void expect_confined(const Subject& subject, const AttentionPlan& plan, const Inputs& inputs,
                     const KeysOf& keys, const std::vector<std::int64_t>& tokens,
                     const std::string& what);
void expect_confined(const Subject& subject, const AttentionCase& problem,
                     const std::vector<std::int64_t>& tokens);

/// Outputs and gradients have the same bits in every order, for the forward pass alone, and when a
/// call is repeated.
void expect_same_bits(const Subject& subject, const AttentionPlan& plan, const Inputs& inputs,
                      const std::vector<int>& orders, const std::string& what);

}  // namespace attnscope::testing
