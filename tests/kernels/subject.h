#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A subject is an implementation of attention over plans, forward and backward, on any device.
// proof_test.cpp compares every subject of a program with the reference on the same cases.

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "base/result.h"
#include "tests/kernels/cases.h"

namespace attnscope::testing {

struct Call {
  int order = 1;       // threads of a CPU; on a device a seed of the order of blocks and lanes
  bool alone = false;  // only the forward pass, without log-sum-exp
  int repeats = 1;     // on the same workspace and results
};

struct Subject {
  std::string name;
  /// The backward pass recomputes the weights from q, k and lse, and reads o.
  bool recomputes = false;
  /// Slow: only the cases marked `emulated` are run.
  bool emulated = false;

  std::function<Status(const AttentionPlan& plan, std::int64_t head_dim)> supports;
  /// Results are NaN before the call, and workspaces have exactly the requested size. Test failures
  /// report errors, writes beyond workspaces, between rows or to operands, and results that were
  /// not written.
  std::function<Outputs(const AttentionPlan& plan, const Inputs& inputs, const Call& call)> forward;
  std::function<Gradients(const AttentionPlan& plan, const BackwardCase& problem, const Call& call)>
      backward;
  /// Calls `body` with every instruction set that the subject is compiled for selected, and its
  /// name.
  std::function<void(const std::function<void(const std::string& build)>& body)> for_each_build;

  friend std::ostream& operator<<(std::ostream& out, const Subject& subject) {
    return out << subject.name;
  }
};

/// Defined by every test program that contains proof_test.cpp; here the kernels of kernels/cpu.
[[nodiscard]] const std::vector<Subject>& subjects();
/// Calls `body` with every available instruction set selected that has its own attention kernels,
/// then restores the default.
void for_each_instruction_set(const std::function<void(const std::string& set)>& body);

/// Compares the forward pass of every build with the reference, and the backward pass on the
/// results of the first one.
void expect_right(const Subject& subject, const AttentionPlan& plan, const Inputs& inputs,
                  const KeysOf& keys, const std::string& what);
void expect_right(const Subject& subject, const AttentionCase& problem);

/// Plants NaN and infinity in one number of each operand at each token: results that depend on it
/// are NaN, all others keep every bit.
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
