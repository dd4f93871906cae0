// SPDX-License-Identifier: Apache-2.0
//
// The conformance check must be able to fail: it must find the planted fault of each of these
// implementations.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <set>

#include "engine/attention/list.h"
#include "engine/proof/check.h"
#include "kernels/plan/key_runs.h"

namespace attnscope {
namespace {

enum class Fault {
  none,
  reads_one_key_outside,
  misses_one_key,
  writes_nan,
  leaves_a_row_unwritten,
  writes_beyond_workspace,
  writes_beyond_output,
  changes_an_input,
  wrong_lse,
  wrong_second_call,
  fails,
  throws,
  wrong_grad_q,
  wrong_grad_k,
  leaves_a_gradient_unwritten,
  writes_beyond_grad_v,
  changes_the_output_in_backward,
  changes_grad_o,
  fails_in_backward,
};

/// The segment kernels with a planted fault.
class PreparedFaulty final : public PreparedAttention {
 public:
  PreparedFaulty(const Problem& problem, Fault fault)
      : problem_(problem),
        fault_(fault),
        inner_(find_implementation("segment")->prepare(problem).value()) {}
  std::int64_t workspace_bytes() const override { return inner_->workspace_bytes() + 4; }
  ExecutedWork executed() const override { return inner_->executed(); }
  bool writes_lse() const override { return true; }

  Status forward(const ForwardCall& call) override {
    if (fault_ == Fault::fails) return fail("a kernel's own error");
    if (fault_ == Fault::throws) throw std::runtime_error("a library's exception");
    ++calls_;
    const Status done = inner_->forward(call);
    plant(call);
    return done;
  }

  Status backward(const BackwardCall& call) override {
    if (fault_ == Fault::fails_in_backward) return fail("a kernel's own error");
    const Status done = inner_->backward(call);
    plant_in_backward(call.tensors);
    return done;
  }

 private:
  /// Computes the last row in float64 with one key fewer or more than its own.
  void plant_wrong_keys(const ForwardCall& call) const {
    const std::int64_t last = problem_.plan.tokens - 1;
    for (const Task& task : problem_.plan.tasks) {
      for (std::int64_t position = 0; position < task.queries.size(); ++position) {
        if (problem_.plan.token_at(task.queries, position) != last) continue;
        std::vector<std::int64_t> keys;
        for (const TokenRange& run : key_intervals(problem_.plan, task, last)) {
          for (std::int64_t key = run.begin; key < run.end; ++key) keys.push_back(key);
        }
        if (fault_ == Fault::misses_one_key && !keys.empty()) keys.pop_back();
        if (fault_ == Fault::reads_one_key_outside && !keys.empty() && keys.front() > 0) {
          keys.push_back(keys.front() - 1);
        }
        for (int head = task.heads.begin; head < task.heads.end; ++head) {
          row(call, last, head, keys);
        }
      }
    }
  }

  void plant_in_backward(const GradientTensors& t) const {
    const std::int64_t last = problem_.plan.tokens - 1;
    const int head = problem_.plan.heads - 1;
    switch (fault_) {
      case Fault::wrong_grad_q:
        t.grad_q.at<float>(last, head)[0] += 0.01F;
        break;
      case Fault::wrong_grad_k:
        t.grad_k.at<float>(0, 0)[0] += 0.01F;
        break;
      case Fault::leaves_a_gradient_unwritten:
        std::memset(t.grad_v.at<float>(last, 0), 0xFF, 4);
        break;
      case Fault::writes_beyond_grad_v:
        t.grad_v.at<float>(last, head)[problem_.head_dim] = 0;
        break;
      case Fault::changes_the_output_in_backward:
        const_cast<float*>(t.o.at<float>(0, 0))[0] += 1;
        break;
      case Fault::changes_grad_o:
        const_cast<float*>(t.grad_o.at<float>(0, 0))[0] += 1;
        break;
      default:
        break;
    }
  }

  void row(const ForwardCall& call, std::int64_t query, int head,
           const std::vector<std::int64_t>& keys) const {
    const auto dim = problem_.head_dim;
    std::vector<double> sum(static_cast<std::size_t>(dim), 0.0);
    double total = 0;
    for (const std::int64_t key : keys) {
      const float* q = call.q.at<float>(query, head);
      const float* k = call.k.at<float>(key, head);
      double score = 0;
      for (std::int64_t i = 0; i < dim; ++i) score += double{q[i]} * double{k[i]};
      const double weight = std::exp(score * double{problem_.scale});
      total += weight;
      for (std::int64_t i = 0; i < dim; ++i) {
        sum[static_cast<std::size_t>(i)] += weight * double{call.v.at<float>(key, head)[i]};
      }
    }
    for (std::int64_t i = 0; i < dim; ++i) {
      const double value = keys.empty() ? 0.0 : sum[static_cast<std::size_t>(i)] / total;
      call.o.at<float>(query, head)[i] = static_cast<float>(value);
    }
    call.lse[static_cast<std::size_t>(query * problem_.plan.heads + head)] =
        static_cast<float>(std::log(total));
  }

  void plant(const ForwardCall& call) const {
    const std::int64_t last = problem_.plan.tokens - 1;
    float* o = call.o.at<float>(last, 0);
    switch (fault_) {
      case Fault::misses_one_key:
      case Fault::reads_one_key_outside:
        plant_wrong_keys(call);
        break;
      case Fault::writes_nan:
        o[problem_.head_dim - 1] = std::numeric_limits<float>::quiet_NaN();
        break;
      case Fault::leaves_a_row_unwritten:
        std::memset(o, 0xFF, 4);
        break;
      case Fault::writes_beyond_workspace:
        std::memset(call.workspace.data() + workspace_bytes(), 0, 4);
        break;
      case Fault::writes_beyond_output:
        call.o.at<float>(last, problem_.plan.heads - 1)[problem_.head_dim] = 0;
        break;
      case Fault::changes_an_input:
        const_cast<float*>(call.k.at<float>(0, 0))[0] += 1;
        break;
      case Fault::wrong_lse:
        call.lse.back() += 0.01F;
        break;
      case Fault::wrong_second_call:
        o[0] += calls_ > 1 ? 0.01F : 0.0F;
        break;
      default:
        break;
    }
  }

  Problem problem_;
  Fault fault_;
  std::unique_ptr<PreparedAttention> inner_;
  int calls_ = 0;
};

Implementation faulty(Fault fault) {
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

Findings check(Fault fault) {
  ImplementationList list;
  list.add({faulty(fault)});
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

using testing::Each;
using testing::HasSubstr;

TEST(ConformanceCheck, FindsNothingWithoutAFault) {
  const Findings findings = check(Fault::none);
  EXPECT_EQ(findings.wrong, 0) << *findings.reasons.begin();
  EXPECT_GT(findings.ok, 300);
}

TEST(ConformanceCheck, FindsOneKeyOutsideTheMask) {
  const Findings findings = check(Fault::reads_one_key_outside);
  EXPECT_GT(findings.wrong, 50);
  EXPECT_THAT(findings.reasons, Each(HasSubstr("first call: the relative error of its output")));
}

TEST(ConformanceCheck, FindsOneMissedKeyInAlmostEveryShape) {
  const Findings findings = check(Fault::misses_one_key);
  EXPECT_GT(findings.wrong, findings.ok);
}

struct Caught {
  Fault fault;
  const char* reason;
};

TEST(ConformanceCheck, FindsAndNamesFaultsOfForward) {
  for (const auto& [fault, reason] : {
           Caught{Fault::writes_nan, "its output has values that are not finite"},
           Caught{Fault::leaves_a_row_unwritten, "rows that were never written"},
           Caught{Fault::writes_beyond_workspace, "it wrote outside its workspace"},
           Caught{Fault::writes_beyond_output, "it wrote outside its output"},
           Caught{Fault::changes_an_input, "it changed its inputs"},
           Caught{Fault::wrong_lse, "the relative error of its log-sum-exp"},
           Caught{Fault::wrong_second_call, "second call: the relative error of its output"},
           Caught{Fault::fails, "a kernel's own error"},
           Caught{Fault::throws, "a library's exception"},
       }) {
    const Findings findings = check(fault);
    EXPECT_EQ(findings.ok, 0) << reason;
    EXPECT_THAT(findings.reasons, Each(HasSubstr(reason)));
  }
}

TEST(ConformanceCheck, FindsAndNamesFaultsOfBackward) {
  for (const auto& [fault, reason] : {
           Caught{Fault::wrong_grad_q, "the relative error of its grad_q"},
           Caught{Fault::wrong_grad_k, "the relative error of its grad_k"},
           Caught{Fault::leaves_a_gradient_unwritten, "its grad_v has values"},
           Caught{Fault::writes_beyond_grad_v, "it wrote outside its grad_v"},
           Caught{Fault::changes_the_output_in_backward, "it changed its inputs"},
           Caught{Fault::changes_grad_o, "it changed its inputs"},
           Caught{Fault::fails_in_backward, "a kernel's own error"},
       }) {
    const Findings findings = check(fault);
    EXPECT_GT(findings.wrong, 100) << reason;
    EXPECT_GT(findings.ok, 300) << "only forward";
    EXPECT_THAT(findings.reasons, Each(HasSubstr(fmt::format("first call: backward: {}", reason))));
  }
}

}  // namespace
}  // namespace attnscope
