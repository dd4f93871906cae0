// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/reference.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <random>

#include "engine/pattern/attention_pattern.h"
#include "engine/pattern/oracle.h"
#include "kernels/plan/key_runs.h"

namespace attnscope::testing {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

struct OracleOfCase {
  AttentionPattern pattern;
  SequenceLayout layout;
  Oracle oracle;
  /// A cache of the requested (token, head): the oracle is slow.
  std::vector<std::optional<std::vector<std::int64_t>>> found;

  OracleOfCase(const std::string& name, std::optional<Window> window, const SequenceLayout& of)
      : pattern(*find_pattern(name)), layout(of), oracle(pattern, window, layout) {}

  [[nodiscard]] std::vector<std::int64_t> keys(std::int64_t token, std::int32_t head) const {
    std::vector<std::int64_t> keys;
    const auto add_allowed = [&](TokenRange range) {
      for (std::int64_t j = range.begin; j < range.end; ++j) {
        if (oracle.allowed(head, token, j)) keys.push_back(j);
      }
    };
    // Tokens of different items never see each other, so only the item is searched: batches may
    // have thousands of items.
    const std::int64_t item = oracle.place_of(token).item;
    if (item < 0) {
      add_allowed({0, layout.tokens()});
    } else {
      add_allowed({0, layout.shared_query()});
      add_allowed(layout.item_tokens(item));
    }
    return keys;
  }
};

void fill(Packed& packed, std::mt19937& random) {
  std::normal_distribution<float> normal;
  for (std::int64_t t = 0; t < packed.tokens; ++t) {
    for (std::int64_t h = 0; h < packed.heads; ++h) {
      for (std::int64_t x = 0; x < packed.head_dim; ++x) packed.at(t, h, x) = normal(random);
    }
  }
}

struct RowWeights {
  std::vector<double> p;
  double lse = -infinity;
};

RowWeights weights(const ExactCase& problem, const Formula& formula, std::int64_t token,
                   std::int64_t head, const std::vector<std::int64_t>& keys) {
  RowWeights row;
  double m = -infinity;
  for (const std::int64_t key : keys) {
    row.p.push_back(formula.scale *
                    dot(problem.q.row(token, head), problem.k.row(key, head), problem.q.head_dim));
    m = std::max(m, row.p.back());
  }
  if (!formula.softmax || keys.empty()) return row;
  double sum = 0;
  for (double& s : row.p) sum += s = std::exp(s - m);
  for (double& s : row.p) s /= sum;
  row.lse = m + std::log(sum);
  return row;
}

/// Calls visit(token, head, its keys) for every row.
template <typename Visit>
void for_each_row(const KeysOf& keys_of, const Values& shape, const Visit& visit) {
  for (std::int64_t t = 0; t < shape.tokens; ++t) {
    for (std::int32_t h = 0; h < shape.heads; ++h) visit(t, h, keys_of(t, h));
  }
}

/// Four units of the type at the largest number, and at least the error of float32 sums. Sums that
/// cancel (the gradients of the only key of a row) have the rounding of terms of size 1.
double bound_of(DType dtype, double largest) {
  return (4 * unit_roundoff(dtype) + 2e-6) * std::max(1.0, largest);
}

}  // namespace

KeysOf keys_from_oracle(const std::string& pattern, std::optional<Window> window,
                        const SequenceLayout& layout) {
  const auto its = std::make_shared<OracleOfCase>(pattern, window, layout);
  return [its](std::int64_t token, std::int32_t head) {
    const std::size_t row = index(head * its->layout.tokens() + token);
    if (its->found.size() <= row) its->found.resize(index((head + 1) * its->layout.tokens()));
    if (!its->found[row]) its->found[row] = its->keys(token, head);
    return *its->found[row];
  };
}

KeysOf keys_from_plan(const AttentionPlan& plan) {
  const auto none = plan.tasks.size();
  auto task_of = std::make_shared<std::vector<std::size_t>>(index(plan.tokens * plan.heads), none);
  for (std::size_t task = 0; task < plan.tasks.size(); ++task) {
    const Task& t = plan.tasks[task];
    for (std::int64_t i = 0; i < t.queries.size(); ++i) {
      for (std::int32_t h = t.heads.begin; h < t.heads.end; ++h) {
        (*task_of)[index(plan.token_at(t.queries, i) * plan.heads + h)] = task;
      }
    }
  }
  return [&plan, task_of, none](std::int64_t token, std::int32_t head) {
    std::vector<std::int64_t> keys;
    const std::size_t task = (*task_of)[index(token * plan.heads + head)];
    if (task == none) return keys;
    for (const TokenRange& range : key_intervals(plan, plan.tasks[task], token)) {
      for (std::int64_t j = range.begin; j < range.end; ++j) keys.push_back(j);
    }
    return keys;
  };
}

Inputs random_inputs(std::int64_t tokens, std::int64_t heads, std::int64_t head_dim, Order order,
                     std::int64_t item_tokens, unsigned seed, DType dtype) {
  const Packed empty(tokens, heads, head_dim, order, item_tokens, 0.0f, dtype);
  Inputs inputs{empty, empty, empty};
  std::mt19937 random(seed);
  for (Packed* p : {&inputs.q, &inputs.k, &inputs.v}) fill(*p, random);
  return inputs;
}

Packed random_like(const Packed& shape, unsigned seed) {
  Packed packed = shape;
  std::mt19937 random(seed);
  fill(packed, random);
  return packed;
}

float scale_of(std::int64_t head_dim) {
  return 1.0f / std::sqrt(static_cast<float>(head_dim));
}

Formula softmax_of(std::int64_t head_dim) {
  return {.scale = double{scale_of(head_dim)}};
}

bool same_bits(const Outputs& a, const Outputs& b) {
  return a.o.data == b.o.data && a.lse.size() == b.lse.size() &&
         (a.lse.empty() ||
          std::memcmp(a.lse.data(), b.lse.data(), a.lse.size() * sizeof(float)) == 0);
}
bool same_bits(const Gradients& a, const Gradients& b) {
  return a.q.data == b.q.data && a.k.data == b.k.data && a.v.data == b.v.data;
}

ExactCase exact(const BackwardCase& problem) {
  return {Values(problem.in.q), Values(problem.in.k), Values(problem.in.v),
          Values(problem.forward.o), Values(problem.grad_o)};
}

ExactCase exact(const KeysOf& keys, const Inputs& inputs, const Packed& grad_o) {
  ExactCase values{Values(inputs.q), Values(inputs.k), Values(inputs.v), {}, Values(grad_o)};
  values.o = reference(keys, values, softmax_of(inputs.q.head_dim)).o;
  return values;
}

Reference reference(const KeysOf& keys_of, const ExactCase& problem, const Formula& formula) {
  const Values& q = problem.q;
  Reference r{Values(q.tokens, q.heads, q.head_dim), std::vector<double>(index(q.tokens * q.heads)),
              problem.v.largest()};
  for_each_row(keys_of, q,
               [&](std::int64_t t, std::int32_t h, const std::vector<std::int64_t>& keys) {
                 const RowWeights row = weights(problem, formula, t, h, keys);
                 r.lse[index(t * q.heads + h)] = row.lse;
                 for (std::size_t i = 0; i < keys.size(); ++i) {
                   add(row.p[i], problem.v.row(keys[i], h), q.head_dim, r.o.row(t, h));
                 }
               });
  return r;
}

Reference reference(const KeysOf& keys, const Inputs& inputs) {
  return reference(keys, {Values(inputs.q), Values(inputs.k), Values(inputs.v), {}, {}},
                   softmax_of(inputs.q.head_dim));
}

ReferenceGradients reference_gradients(const KeysOf& keys_of, const ExactCase& problem,
                                       const Formula& formula) {
  const std::int64_t d = problem.q.head_dim;
  const Values zeros(problem.q.tokens, problem.q.heads, d);
  ReferenceGradients sum{zeros, zeros, zeros};
  for_each_row(keys_of, zeros,
               [&](std::int64_t t, std::int32_t h, const std::vector<std::int64_t>& keys) {
                 const std::vector<double> p = weights(problem, formula, t, h, keys).p;
                 const double* grad_o = problem.grad_o.row(t, h);
                 const double delta = formula.softmax ? dot(grad_o, problem.o.row(t, h), d) : 0;
                 for (std::size_t i = 0; i < keys.size(); ++i) {
                   const std::int64_t j = keys[i];
                   const double dp = dot(grad_o, problem.v.row(j, h), d) - delta;
                   const double ds = formula.scale * (formula.softmax ? p[i] * dp : dp);
                   add(p[i], grad_o, d, sum.v.row(j, h));
                   add(ds, problem.k.row(j, h), d, sum.q.row(t, h));
                   add(ds, problem.q.row(t, h), d, sum.k.row(j, h));
                 }
               });
  return sum;
}

ReferenceGradients reference_gradients(const KeysOf& keys, const ExactCase& problem) {
  return reference_gradients(keys, problem, softmax_of(problem.q.head_dim));
}

void expect_near(const Packed& actual, const Values& expected, double bound,
                 const std::string& what) {
  const Values values(actual);
  for (std::size_t i = 0; i < values.data.size(); ++i) {
    // Also fails for NaN.
    if (std::abs(values.data[i] - expected.data[i]) <= bound) continue;
    const auto row = static_cast<std::int64_t>(i) / values.head_dim;
    FAIL() << what << ": token " << row / values.heads << " head " << row % values.heads << " x "
           << static_cast<std::int64_t>(i) % values.head_dim << " is " << values.data[i] << ", not "
           << expected.data[i] << " (bound " << bound << ")";
  }
}

void expect_near(const Outputs& outputs, const Reference& expected, const std::string& what) {
  for (std::size_t row = 0; row < outputs.lse.size(); ++row) {
    const double lse = expected.lse[row];
    const double got = double{outputs.lse[row]};
    ASSERT_TRUE(lse == got || std::abs(lse - got) <= 1e-5)
        << what << ": lse of row " << row << " is " << got << ", not " << lse;
    if (lse != -infinity) continue;
    // Rows without keys have no gradients.
    const auto token = static_cast<std::int64_t>(row) / outputs.o.heads;
    const auto head = static_cast<std::int64_t>(row) % outputs.o.heads;
    for (std::int64_t x = 0; x < outputs.o.head_dim; ++x) {
      ASSERT_EQ(outputs.o.at(token, head, x), 0.0F) << what << ": token " << token;
    }
  }
  expect_near(outputs.o, expected.o, bound_of(outputs.o.dtype, expected.largest_value), what);
}

void expect_near(const Gradients& gradients, const ReferenceGradients& expected,
                 const std::string& what) {
  const DType dtype = gradients.q.dtype;
  expect_near(gradients.q, expected.q, bound_of(dtype, expected.q.largest()), "grad_q " + what);
  expect_near(gradients.k, expected.k, bound_of(dtype, expected.k.largest()), "grad_k " + what);
  expect_near(gradients.v, expected.v, bound_of(dtype, expected.v.largest()), "grad_v " + what);
}

void expect_unseen_zero(const Gradients& gradients, const KeysOf& keys_of,
                        const std::string& what) {
  const Values q(gradients.q), k(gradients.k), v(gradients.v);
  std::vector<bool> sees(q.data.size()), seen(q.data.size());
  for_each_row(keys_of, q,
               [&](std::int64_t t, std::int32_t h, const std::vector<std::int64_t>& keys) {
                 sees[index(t * q.heads + h)] = !keys.empty();
                 for (const std::int64_t key : keys) seen[index(key * q.heads + h)] = true;
               });
  for (std::size_t i = 0; i < q.data.size(); ++i) {
    const std::size_t row = i / index(q.head_dim);
    ASSERT_TRUE(sees[row] || q.data[i] == 0) << what << ": grad_q of row " << row;
    ASSERT_TRUE(seen[row] || (k.data[i] == 0 && v.data[i] == 0)) << what << ": key " << row;
  }
}

}  // namespace attnscope::testing
