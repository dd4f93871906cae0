// SPDX-License-Identifier: Apache-2.0
//
// The conformance check finds the planted fault of each of these implementations, and none in the
// example of an implementation.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <set>
#include <stdexcept>

#include "engine/attention/list.h"
#include "engine/proof/check.h"
#include "kernels/plan/key_runs.h"
#include "tests/conformance/example_implementation.h"

namespace attnscope {
namespace {

/// A completed call of the segment kernels, whose results a fault then changes.
struct Forward {
  const Problem& problem;
  const ForwardCall& call;
  int number;  // of the call
  Status& done;

  std::int64_t last = problem.plan.tokens - 1;
  float* o = call.o.at<float>(last, 0);
};
struct Backward {
  const Problem& problem;
  const GradientTensors& tensors;
  Status& done;

  std::int64_t last = problem.plan.tokens - 1;
  int last_head = problem.plan.heads - 1;
};
struct Fault {
  std::function<void(const Forward&)> forward = [](const Forward&) {};
  std::function<void(const Backward&)> backward = [](const Backward&) {};
};

class PreparedFaulty final : public PreparedAttention {
 public:
  PreparedFaulty(const Problem& problem, const Fault& fault)
      : problem_(problem),
        fault_(fault),
        inner_(find_implementation("segment")->prepare(problem).value()) {}
  std::int64_t workspace_bytes() const override { return inner_->workspace_bytes() + 4; }
  ExecutedWork executed() const override { return inner_->executed(); }
  bool writes_lse() const override { return true; }

  Status forward(const ForwardCall& call) override {
    Status done = inner_->forward(call);
    fault_.forward({problem_, call, ++calls_, done});
    return done;
  }
  Status backward(const BackwardCall& call) override {
    Status done = inner_->backward(call);
    fault_.backward({problem_, call.tensors, done});
    return done;
  }

 private:
  Problem problem_;
  Fault fault_;
  std::unique_ptr<PreparedAttention> inner_;
  int calls_ = 0;
};

/// Adds a key to the softmax of a row (sign 1) or removes one (-1).
void change_row(const Forward& f, int head, std::int64_t key, float sign) {
  const std::int64_t dim = f.problem.head_dim;
  const float* q = f.call.q.at<float>(f.last, head);
  const float* v = f.call.v.at<float>(key, head);
  float* o = f.call.o.at<float>(f.last, head);
  float& lse = f.call.lse[static_cast<std::size_t>(f.last * f.problem.plan.heads + head)];
  const float score = std::inner_product(q, q + dim, f.call.k.at<float>(key, head), 0.0F);
  const float weight = sign * std::exp(score * f.problem.scale - lse);
  for (std::int64_t i = 0; i < dim; ++i) o[i] = (o[i] + weight * v[i]) / (1 + weight);
  lse += std::log1p(weight);
}

/// Removes the last key of the last row, or adds the one before its first.
void change_keys(const Forward& f, float sign) {
  const AttentionPlan& plan = f.problem.plan;
  for (const Task& task : plan.tasks) {
    for (std::int64_t position = 0; position < task.queries.size(); ++position) {
      if (plan.token_at(task.queries, position) != f.last) continue;
      const std::vector<TokenRange> keys = key_intervals(plan, task, f.last);
      if (keys.empty() || (sign > 0 && keys.front().begin == 0)) continue;
      const std::int64_t key = sign < 0 ? keys.back().end - 1 : keys.front().begin - 1;
      for (int head = task.heads.begin; head < task.heads.end; ++head) {
        change_row(f, head, key, sign);
      }
    }
  }
}

Implementation faulty(const Fault& fault) {
  return {.id = "faulty",
          .summary = "right except for one fault",
          .is_fused = true,
          .supports =
              [](const Problem& problem) {
                const bool fits = problem.device == DeviceKind::cpu &&
                                  problem.dtype == DType::float32 && problem.plan.tokens < 60;
                return fits ? Status() : fail("not part of this test");
              },
          .prepare =
              [fault](const Problem& problem) {
                return std::make_unique<PreparedFaulty>(problem, fault);
              }};
}

struct Findings {
  int ok = 0;
  int wrong = 0;
  std::set<std::string> reasons;
};

Findings check(std::vector<Implementation> implementations) {
  ImplementationList list;
  list.add(std::move(implementations));
  Findings findings;
  const int wrong = check_implementations(list.all(), DeviceKind::cpu, 1, [&](const CheckRow& row) {
    if (row.outcome == CheckRow::Outcome::ok) ++findings.ok;
    if (row.outcome != CheckRow::Outcome::wrong) return;
    ++findings.wrong;
    findings.reasons.insert(row.reason);
  });
  EXPECT_EQ(wrong, findings.wrong);
  return findings;
}
Findings check(const Fault& fault) {
  return check(std::vector{faulty(fault)});
}

using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(ConformanceCheck, FindsNothingWithoutAFault) {
  const Findings findings = check(Fault{});
  EXPECT_THAT(findings.reasons, IsEmpty());
  EXPECT_GT(findings.ok, 300);
}

TEST(ConformanceCheck, FindsNothingInTheExample) {
  const Findings findings = check(example::naive_rows_implementations());
  EXPECT_THAT(findings.reasons, IsEmpty());
  EXPECT_GT(findings.ok, 500);
}

TEST(ConformanceCheck, FindsOneKeyOutsideTheMask) {
  const Findings findings = check({.forward = [](const Forward& f) { change_keys(f, 1); }});
  EXPECT_GT(findings.wrong, 50);
  EXPECT_THAT(findings.reasons, Each(HasSubstr("first call: the relative error of its output")));
}

TEST(ConformanceCheck, FindsOneMissedKeyInAlmostEveryShape) {
  const Findings findings = check({.forward = [](const Forward& f) { change_keys(f, -1); }});
  EXPECT_GT(findings.wrong, findings.ok);
}

TEST(ConformanceCheck, FindsAndNamesFaultsOfForward) {
  struct Row {
    std::string reason;
    std::function<void(const Forward&)> plant;
  };
  for (const auto& [reason, plant] : std::vector<Row>{
           {"its output has values that are not finite",
            [](const Forward& f) { f.o[f.problem.head_dim - 1] = NAN; }},
           {"rows that were never written", [](const Forward& f) { std::memset(f.o, 0xFF, 4); }},
           {"it wrote outside its workspace",
            [](const Forward& f) {
              std::memset(f.call.workspace.data() + f.call.workspace.size(), 0, 4);
            }},
           {"it wrote outside its output",
            [](const Forward& f) {
              f.call.o.at<float>(f.last, f.problem.plan.heads - 1)[f.problem.head_dim] = 0;
            }},
           {"it wrote outside its log-sum-exp",
            [](const Forward& f) { f.call.lse.data()[f.call.lse.size()] = 0; }},
           {"it changed its inputs",
            [](const Forward& f) { const_cast<float*>(f.call.k.at<float>(0, 0))[0] += 1; }},
           {"the relative error of its log-sum-exp",
            [](const Forward& f) { f.call.lse.back() += 0.01F; }},
           {"second call: the relative error of its output",
            [](const Forward& f) { f.o[0] += f.number > 1 ? 0.01F : 0.0F; }},
           {"a kernel's own error",
            [](const Forward& f) { f.done = fail("a kernel's own error"); }},
           {"a library's exception",
            [](const Forward&) { throw std::runtime_error("a library's exception"); }},
       }) {
    const Findings findings = check({.forward = plant});
    EXPECT_EQ(findings.ok, 0) << reason;
    EXPECT_THAT(findings.reasons, Each(HasSubstr(reason)));
  }
}

TEST(ConformanceCheck, FindsAndNamesFaultsOfBackward) {
  struct Row {
    std::string reason;
    std::function<void(const Backward&)> plant;
  };
  for (const auto& [reason, plant] : std::vector<Row>{
           {"the relative error of its grad_q",
            [](const Backward& b) { b.tensors.grad_q.at<float>(b.last, b.last_head)[0] += 0.01F; }},
           {"the relative error of its grad_k",
            [](const Backward& b) { b.tensors.grad_k.at<float>(0, 0)[0] += 0.01F; }},
           {"its grad_v has values",
            [](const Backward& b) { std::memset(b.tensors.grad_v.at<float>(b.last, 0), 0xFF, 4); }},
           {"it wrote outside its grad_v",
            [](const Backward& b) {
              b.tensors.grad_v.at<float>(b.last, b.last_head)[b.problem.head_dim] = 0;
            }},
           {"it changed its inputs",
            [](const Backward& b) { const_cast<float*>(b.tensors.o.at<float>(0, 0))[0] += 1; }},
           {"it changed its inputs",
            [](const Backward& b) {
              const_cast<float*>(b.tensors.grad_o.at<float>(0, 0))[0] += 1;
            }},
           {"a kernel's own error",
            [](const Backward& b) { b.done = fail("a kernel's own error"); }},
       }) {
    const Findings findings = check({.backward = plant});
    EXPECT_GT(findings.wrong, 100) << reason;
    EXPECT_GT(findings.ok, 300) << "only forward";
    EXPECT_THAT(findings.reasons, Each(HasSubstr("first call: backward: " + reason)));
  }
}

}  // namespace
}  // namespace attnscope
