// SPDX-License-Identifier: Apache-2.0
//
// Outputs that differ from segment's, and memory written that is not the call's own.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <vector>

#include "kernels/plan/key_runs.h"
#include "tests/trial_worker/faults.h"

namespace attnscope::trial {
namespace {

float* values_of(const Tensor& tensor) {
  return reinterpret_cast<float*>(tensor.data);
}

std::int64_t value_count(const Problem& problem) {
  return problem.plan.tokens * problem.plan.heads * problem.head_dim;
}

struct Row {
  std::int64_t query = 0;
  int head = 0;
  std::vector<std::int64_t> keys;
};

/// A row of an item with the keys it sees and one of the item's that it must not see.
std::optional<Row> row_with_a_forbidden_key(const Problem& problem) {
  for (const Task& task : problem.plan.tasks) {
    if (task.item < 0 || task.queries.size() == 0) continue;
    Row row{.query = problem.plan.token_at(task.queries, 0), .head = task.heads.begin, .keys = {}};
    for (const TokenRange& run : key_intervals(problem.plan, task, row.query))
      for (std::int64_t key = run.begin; key < run.end; ++key) row.keys.push_back(key);
    const TokenRange item = problem.layout.item_tokens(task.item);
    for (std::int64_t key = item.begin; key < item.end; ++key) {
      if (std::ranges::binary_search(row.keys, key)) continue;
      row.keys.push_back(key);
      return row;
    }
  }
  return std::nullopt;
}

void attend(const Problem& problem, const ForwardCall& call, const Row& row) {
  const float* q = call.q.at<float>(row.query, row.head);
  std::vector<double> sum(static_cast<std::size_t>(problem.head_dim), 0.0);
  double total = 0;
  for (const std::int64_t key : row.keys) {
    const float* k = call.k.at<float>(key, row.head);
    const float* v = call.v.at<float>(key, row.head);
    const double weight =
        std::exp(double{problem.scale} * std::inner_product(q, q + problem.head_dim, k, 0.0));
    total += weight;
    for (std::size_t d = 0; d < sum.size(); ++d) sum[d] += weight * double{v[d]};
  }
  float* o = call.o.at<float>(row.query, row.head);
  for (std::size_t d = 0; d < sum.size(); ++d) o[d] = static_cast<float>(sum[d] / total);
}

}  // namespace

void leave_a_nan(const Answered& answered) {
  values_of(answered.call.o)[value_count(answered.problem) / 2] =
      std::numeric_limits<float>::quiet_NaN();
}

void add_a_forbidden_pair(const Answered& answered) {
  if (const auto row = row_with_a_forbidden_key(answered.problem))
    attend(answered.problem, answered.call, *row);
}

void go_wrong_after_the_first_call(const Answered& answered) {
  if (answered.number == 1) return;
  float* const values = values_of(answered.call.o);
  for (std::int64_t i = 0; i < value_count(answered.problem); ++i) values[i] += 0.01F;
}

void write_beyond_the_output(const Answered& answered) {
  values_of(answered.call.o)[value_count(answered.problem)] = 1;
}

void write_before_the_output(const Answered& answered) {
  values_of(answered.call.o)[-1] = 1;
}

void write_beyond_the_workspace(const Answered& answered) {
  const std::span<std::byte> workspace = answered.call.workspace;
  workspace.data()[workspace.size()] = std::byte{1};
}

void change_an_input(const Answered& answered) {
  const_cast<float*>(answered.call.q.at<float>(0, 0))[0] += 1;
}

}  // namespace attnscope::trial
