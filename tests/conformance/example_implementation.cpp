// SPDX-License-Identifier: Apache-2.0
//
// A whole implementation in the shortest honest form: plain loops over the keys that each row sees.
// One of your own is this file in engine/attention/<id>/ and a line in engine/attention/list.cpp.

#include "tests/conformance/example_implementation.h"

#include <algorithm>
#include <cmath>

#include "kernels/plan/counts.h"
#include "kernels/plan/row_intervals.h"

namespace attnscope::example {
namespace {

class PreparedRows final : public PreparedAttention {
 public:
  explicit PreparedRows(const Problem& problem) : problem_(problem) {}
  // Scores of one row, handed in by the caller so that their memory is counted.
  std::int64_t workspace_bytes() const override { return problem_.plan.tokens * 4; }
  std::int64_t predicted_peak_bytes() const override { return workspace_bytes(); }
  bool writes_lse() const override { return false; }
  ExecutedWork executed() const override {
    return {.flop = useful_flop(count(problem_.plan), problem_.head_dim),
            .bytes = least_bytes(problem_.plan, problem_.head_dim, problem_.dtype)};
  }

  Status forward(const ForwardCall& call) override {
    for (const Task& task : problem_.plan.tasks) {
      for (std::int64_t position = 0; position < task.queries.size(); ++position) {
        const std::int64_t query = problem_.plan.token_at(task.queries, position);
        const auto keys = key_intervals(problem_.plan, task, query);
        for (int head = task.heads.begin; head < task.heads.end; ++head) {
          row(call, query, head, keys);
        }
      }
    }
    return {};
  }

 private:
  void row(const ForwardCall& call, std::int64_t query, int head,
           const std::vector<TokenRange>& keys) const {
    auto* weight = reinterpret_cast<float*>(call.workspace.data());
    const float* q = call.q.at<float>(query, head);
    float* o = call.o.at<float>(query, head);
    std::fill_n(o, problem_.head_dim, 0.0F);
    float largest = -INFINITY;
    for (const TokenRange& run : keys) {
      for (std::int64_t key = run.begin; key < run.end; ++key) {
        const float* k = call.k.at<float>(key, head);
        float score = 0;
        for (std::int64_t i = 0; i < problem_.head_dim; ++i) score += q[i] * k[i];
        weight[key] = score * problem_.scale;
        largest = std::max(largest, weight[key]);
      }
    }
    float sum = 0;
    for (const TokenRange& run : keys) {
      for (std::int64_t key = run.begin; key < run.end; ++key) {
        const float* v = call.v.at<float>(key, head);
        const float exponential = std::exp(weight[key] - largest);
        for (std::int64_t i = 0; i < problem_.head_dim; ++i) o[i] += exponential * v[i];
        sum += exponential;
      }
    }
    // A row that sees no key stays 0.
    if (sum > 0) std::for_each_n(o, problem_.head_dim, [sum](float& value) { value /= sum; });
  }

  Problem problem_;
};

class NaiveRows final : public Implementation {
 public:
  std::string_view id() const override { return "naive-rows"; }
  std::string_view summary() const override { return "plain loops over the keys of each row"; }
  Status supports(const Problem& problem) const override {
    if (problem.device != DeviceKind::cpu) return fail("naive-rows runs on the CPU only");
    if (problem.direction != Direction::forward) return fail("naive-rows has no backward pass");
    if (problem.operation != Operation::attention) return fail("naive-rows knows attention only");
    if (problem.dtype != DType::float32) return fail("naive-rows computes in float32 only");
    return {};
  }
  Result<std::unique_ptr<PreparedAttention>> prepare(const Problem& problem) const override {
    return std::make_unique<PreparedRows>(problem);
  }
};

}  // namespace

const Implementation& naive_rows_implementation() {
  static const NaiveRows naive_rows;
  return naive_rows;
}

}  // namespace attnscope::example
