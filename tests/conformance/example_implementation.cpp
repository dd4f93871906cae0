// SPDX-License-Identifier: Apache-2.0
// A complete implementation as plain loops over the keys that each row attends to. To add your own,
// put such a file into engine/attention/<name>/ and a line into engine/attention/list.inc.
#include "tests/conformance/example_implementation.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/plan/counts.h"
#include "kernels/plan/key_runs.h"

namespace attnscope::example {
namespace {

class PreparedRows final : public PreparedAttention {
 public:
  explicit PreparedRows(const Problem& problem) : p_(problem) {}
  std::int64_t workspace_bytes() const override { return 0; }
  bool writes_lse() const override { return false; }
  ExecutedWork executed() const override {
    return {useful_flop(count(p_.plan), p_.head_dim), least_bytes(p_.plan, p_.head_dim, p_.dtype)};
  }
  Status forward(const ForwardCall& call) override {
    for (const Task& task : p_.plan.tasks) {
      for (std::int64_t i = 0; i < task.queries.size(); ++i) {
        const std::int64_t query = p_.plan.token_at(task.queries, i);
        const auto keys = key_intervals(p_.plan, task, query);
        for (int head = task.heads.begin; head < task.heads.end; ++head) {
          attend(call, query, head, keys);
        }
      }
    }
    return {};
  }
  Status backward(const BackwardCall&) override { return fail("naive-rows has no backward pass"); }

 private:
  // Online softmax: earlier sums are rescaled whenever a larger score is found.
  void attend(const ForwardCall& call, std::int64_t query, int head,
              const std::vector<TokenRange>& keys) const {
    const float* q = call.q.at<float>(query, head);
    float* o = call.o.at<float>(query, head);
    std::fill_n(o, p_.head_dim, 0.0F);
    float largest = -INFINITY;
    float sum = 0;
    for (const TokenRange& run : keys) {
      for (std::int64_t key = run.begin; key < run.end; ++key) {
        const float* k = call.k.at<float>(key, head);
        const float* v = call.v.at<float>(key, head);
        const float score = p_.scale * std::inner_product(q, q + p_.head_dim, k, 0.0F);
        const float shrink = std::exp(largest - std::max(largest, score));
        largest = std::max(largest, score);
        const float weight = std::exp(score - largest);
        sum = sum * shrink + weight;
        for (std::int64_t d = 0; d < p_.head_dim; ++d) o[d] = o[d] * shrink + weight * v[d];
      }
    }
    for (std::int64_t d = 0; d < p_.head_dim && sum > 0; ++d) o[d] /= sum;
  }
  Problem p_;
};

}  // namespace

std::vector<Implementation> naive_rows_implementations() {
  return {{.id = "naive-rows",
           .summary = "plain loops over the keys of each row",
           .is_fused = true,
           .supports =
               [](const Problem& p) {
                 const bool known = p.device == DeviceKind::cpu && p.dtype == DType::float32 &&
                                    p.direction == Direction::forward;
                 return known ? Status() : fail("naive-rows supports float32, forward, on the CPU");
               },
           .prepare = [](const Problem& p) { return std::make_unique<PreparedRows>(p); }}};
}

}  // namespace attnscope::example
