// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/operator/float64_attention.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "kernels/plan/row_intervals.h"

namespace attnscope {
namespace {

using Values = at::TensorAccessor<double, 3>;

void check(const AttentionPlan& plan, std::string_view name, const at::Tensor& tensor,
           const at::Tensor& q) {
  if (!tensor.device().is_cpu()) {
    throw std::invalid_argument(
        fmt::format("segment_attention computes float64, which is for gradcheck, on the CPU, and "
                    "{} is on {}: give float32, float16 or bfloat16 there",
                    name, tensor.device().str()));
  }
  if (tensor.scalar_type() != at::kDouble) {
    throw std::invalid_argument(
        fmt::format("segment_attention: {} is {}, and q is Double: one dtype is needed", name,
                    toString(tensor.scalar_type())));
  }
  if (tensor.dim() != 3 || tensor.size(0) != plan.tokens || tensor.size(1) != plan.heads ||
      tensor.size(2) != q.size(2)) {
    throw std::invalid_argument(
        fmt::format("segment_attention: {} has shape [{}]; the layout and q need [{}, {}, {}]",
                    name, fmt::join(tensor.sizes(), ", "), plan.tokens, plan.heads, q.size(-1)));
  }
}

void check_all(const AttentionPlan& plan, const at::Tensor& q, const at::Tensor& k,
               const at::Tensor& v) {
  check(plan, "q", q, q);
  check(plan, "k", k, q);
  check(plan, "v", v, q);
}

Values values(const at::Tensor& tensor) {
  return tensor.accessor<double, 3>();
}

double dot(const at::TensorAccessor<double, 1>& a, const at::TensorAccessor<double, 1>& b) {
  double sum = 0;
  for (std::int64_t i = 0; i < a.size(0); ++i) sum += a[i] * b[i];
  return sum;
}

/// target += factor * of
void add(at::TensorAccessor<double, 1> target, double factor,
         const at::TensorAccessor<double, 1>& of) {
  for (std::int64_t i = 0; i < target.size(0); ++i) target[i] += factor * of[i];
}

/// Calls visit(query token, head, its key tokens) for every row.
template <typename Visit>
void for_each_row(const AttentionPlan& plan, const Visit& visit) {
  std::vector<std::int64_t> keys;
  for (const Task& task : plan.tasks) {
    for (std::int64_t at = 0; at < task.queries.size(); ++at) {
      const std::int64_t query = plan.token_at(task.queries, at);
      keys.clear();
      for (const TokenRange& run : key_intervals(plan, task, query)) {
        for (std::int64_t key = run.begin; key < run.end; ++key) keys.push_back(key);
      }
      for (std::int32_t head = task.heads.begin; head < task.heads.end; ++head) {
        visit(query, head, keys);
      }
    }
  }
}

}  // namespace

Attended float64_attention(const AttentionPlan& plan, const at::Tensor& q, const at::Tensor& k,
                           const at::Tensor& v, double scale) {
  check_all(plan, q, k, v);
  Attended attended{.o = at::zeros(q.sizes(), q.options()),
                    .lse = at::empty({plan.tokens, plan.heads}, q.options())};
  const Values queries = values(q);
  const Values keys = values(k);
  const Values contents = values(v);
  Values outputs = values(attended.o);
  auto sums = attended.lse.accessor<double, 2>();
  std::vector<double> weights;
  for_each_row(plan,
               [&](std::int64_t query, std::int32_t head, const std::vector<std::int64_t>& seen) {
                 sums[query][head] = -std::numeric_limits<double>::infinity();
                 if (seen.empty()) return;
                 weights.clear();
                 for (const std::int64_t key : seen) {
                   weights.push_back(scale * dot(queries[query][head], keys[key][head]));
                 }
                 const double largest = *std::ranges::max_element(weights);
                 double sum = 0;
                 for (double& weight : weights) sum += weight = std::exp(weight - largest);
                 for (std::size_t j = 0; j < seen.size(); ++j) {
                   add(outputs[query][head], weights[j] / sum, contents[seen[j]][head]);
                 }
                 sums[query][head] = largest + std::log(sum);
               });
  return attended;
}

InputGradients float64_gradients(const AttentionPlan& plan, const at::Tensor& grad_o,
                                 const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                 const Attended& attended, double scale) {
  check_all(plan, q, k, v);
  check(plan, "grad_o", grad_o, q);
  check(plan, "o", attended.o, q);
  if (attended.lse.dim() != 2 || attended.lse.size(0) != plan.tokens ||
      attended.lse.size(1) != plan.heads || attended.lse.scalar_type() != at::kDouble ||
      !attended.lse.device().is_cpu()) {
    throw std::invalid_argument(
        fmt::format("segment_attention: lse is not the float64 tensor [{}, {}] that the forward "
                    "call gave",
                    plan.tokens, plan.heads));
  }
  InputGradients gradients{.q = at::zeros(q.sizes(), q.options()),
                           .k = at::zeros(q.sizes(), q.options()),
                           .v = at::zeros(q.sizes(), q.options())};
  const Values queries = values(q);
  const Values keys = values(k);
  const Values contents = values(v);
  const Values outputs = values(attended.o);
  const Values arriving = values(grad_o);
  const auto sums = attended.lse.accessor<double, 2>();
  Values of_queries = values(gradients.q);
  Values of_keys = values(gradients.k);
  Values of_contents = values(gradients.v);
  for_each_row(plan, [&](std::int64_t query, std::int32_t head,
                         const std::vector<std::int64_t>& seen) {
    const auto row = queries[query][head];
    const auto grad = arriving[query][head];
    const double along_output = dot(grad, outputs[query][head]);
    for (const std::int64_t key : seen) {
      const double weight = std::exp(scale * dot(row, keys[key][head]) - sums[query][head]);
      const double grad_score = scale * weight * (dot(grad, contents[key][head]) - along_output);
      add(of_queries[query][head], grad_score, keys[key][head]);
      add(of_keys[key][head], grad_score, row);
      add(of_contents[key][head], weight, grad);
    }
  });
  return gradients;
}

}  // namespace attnscope
