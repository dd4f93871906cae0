// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/attention_case.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "engine/pattern/oracle.h"
#include "kernels/cpu/segment.h"
#include "kernels/cpu/windowed.h"

namespace attnscope::testing {
namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN();
/// Token-major rows stand this many floats apart beyond their heads, to catch packed assumptions.
constexpr std::int64_t token_gap = 3;
constexpr std::size_t guard_floats = 64;
constexpr float guard = 1234.5f;

std::size_t index(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

template <typename Byte>
StridedTensor<Byte> strided(const Packed& p, Byte* data) {
  StridedTensor<Byte> t{data, DType::float32, p.head_dim, p.head_dim, p.tokens * p.head_dim, 0, 0};
  if (p.order == Order::token_major) {
    t.token_stride = p.heads * p.head_dim + token_gap;
    t.head_stride = p.head_dim;
  } else if (p.order == Order::head_major_items) {
    t.head_stride = p.item_tokens * p.head_dim;
    t.item_tokens = p.item_tokens;
    t.item_stride = p.heads * p.item_tokens * p.head_dim;
  }
  return t;
}

std::int64_t item_tokens_of(const SequenceLayout& layout) {
  return layout.item_count() > 0 ? layout.item_tokens(0).size() : 0;
}

}  // namespace

Packed::Packed(std::int64_t tokens_in, std::int64_t heads_in, std::int64_t head_dim_in,
               Order order_in, std::int64_t item_tokens_in, float value)
    : data(index(tokens_in * (heads_in * head_dim_in + token_gap)), nan),
      tokens(tokens_in),
      heads(heads_in),
      head_dim(head_dim_in),
      item_tokens(item_tokens_in),
      order(order_in) {
  for (std::int64_t t = 0; t < tokens; ++t) {
    for (std::int64_t h = 0; h < heads; ++h) {
      for (std::int64_t x = 0; x < head_dim; ++x) at(t, h, x) = value;
    }
  }
}

Tensor Packed::tensor() {
  return strided(*this, reinterpret_cast<std::byte*>(data.data()));
}
ConstTensor Packed::view() const {
  return strided(*this, reinterpret_cast<const std::byte*>(data.data()));
}
float& Packed::at(std::int64_t token, std::int64_t head, std::int64_t x) {
  return data[index(view().offset(token, head) + x)];
}
float Packed::at(std::int64_t token, std::int64_t head, std::int64_t x) const {
  return data[index(view().offset(token, head) + x)];
}

std::string AttentionCase::text() const {
  return fmt::format("{} w={} heads={} d={} order={} {}", pattern, window ? window->text() : "none",
                     heads, head_dim, static_cast<int>(order), layout_json(layout));
}

AttentionPlan AttentionCase::plan() const {
  const auto found = find_pattern(pattern);
  EXPECT_TRUE(found) << found.error().message;
  const auto compiled = compile_plan(*found, window, layout, heads);
  EXPECT_TRUE(compiled) << compiled.error().message;
  return *compiled;
}

Inputs random_inputs(std::int64_t tokens, std::int64_t heads, std::int64_t head_dim, Order order,
                     std::int64_t item_tokens, unsigned seed) {
  const Packed empty(tokens, heads, head_dim, order, item_tokens, 0.0f);
  Inputs inputs{empty, empty, empty};
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  for (Packed* p : {&inputs.q, &inputs.k, &inputs.v}) {
    for (std::int64_t t = 0; t < tokens; ++t) {
      for (std::int64_t h = 0; h < heads; ++h) {
        for (std::int64_t x = 0; x < head_dim; ++x) p->at(t, h, x) = normal(random);
      }
    }
  }
  return inputs;
}

Inputs random_inputs(const AttentionCase& problem, unsigned seed) {
  return random_inputs(problem.layout.tokens(), problem.heads, problem.head_dim, problem.order,
                       item_tokens_of(problem.layout), seed);
}

float scale_of(std::int64_t head_dim) {
  return 1.0f / std::sqrt(static_cast<float>(head_dim));
}

Outputs run(Kernel kernel, const AttentionPlan& plan, const Inputs& inputs, int threads) {
  const Packed& q = inputs.q;
  Outputs out{Packed(q.tokens, q.heads, q.head_dim, q.order, q.item_tokens, nan),
              std::vector<float>(index(q.tokens * q.heads), nan)};
  const std::int64_t bytes = kernel == Kernel::segment
                                 ? cpu::segment_workspace_bytes(plan, q.head_dim, threads)
                                 : cpu::windowed_score_elements(plan) * 4;
  EXPECT_EQ(bytes % 4, 0);
  std::vector<float> memory(index(bytes / 4) + guard_floats, guard);
  const std::span<float> workspace(memory.data(), index(bytes / 4));
  const float scale = scale_of(q.head_dim);
  const Status done =
      kernel == Kernel::segment
          ? cpu::segment_forward(plan, q.view(), inputs.k.view(), inputs.v.view(), scale,
                                 out.o.tensor(), out.lse, threads,
                                 std::as_writable_bytes(workspace))
          : cpu::windowed_forward(plan, q.view(), inputs.k.view(), inputs.v.view(), scale,
                                  out.o.tensor(), out.lse, threads, workspace);
  EXPECT_TRUE(done) << done.error().message;
  for (std::size_t i = workspace.size(); i < memory.size(); ++i) {
    EXPECT_EQ(memory[i], guard) << "written " << i - workspace.size() << " floats past the end";
  }
  return out;
}

void reference_row(const Inputs& inputs, std::int64_t token, std::int64_t head,
                   const std::vector<std::int64_t>& keys, double* o, double& lse) {
  const std::int64_t d = inputs.q.head_dim;
  const double scale = scale_of(d);
  std::vector<double> scores;
  double m = -std::numeric_limits<double>::infinity();
  for (const std::int64_t key : keys) {
    double s = 0;
    for (std::int64_t x = 0; x < d; ++x) {
      s += static_cast<double>(inputs.q.at(token, head, x)) * inputs.k.at(key, head, x);
    }
    scores.push_back(scale * s);
    m = std::max(m, scores.back());
  }
  std::fill(o, o + d, 0.0);
  double sum = 0;
  for (const double s : scores) sum += std::exp(s - m);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const double p = std::exp(scores[i] - m) / sum;
    for (std::int64_t x = 0; x < d; ++x) o[x] += p * inputs.v.at(keys[i], head, x);
  }
  lse = keys.empty() ? -std::numeric_limits<double>::infinity() : m + std::log(sum);
}

Reference reference(const AttentionCase& problem, const Inputs& inputs) {
  const auto pattern = find_pattern(problem.pattern);
  const Oracle oracle(*pattern, problem.window, problem.layout);
  const std::int64_t tokens = problem.layout.tokens(), d = problem.head_dim;
  Reference r;
  r.o.resize(index(tokens * problem.heads * d));
  r.lse.resize(index(tokens * problem.heads));
  for (const float v : inputs.v.data) {
    if (std::isfinite(v)) r.largest_value = std::max(r.largest_value, std::abs(double{v}));
  }
  std::vector<std::int64_t> keys;
  for (std::int64_t t = 0; t < tokens; ++t) {
    for (std::int32_t h = 0; h < problem.heads; ++h) {
      keys.clear();
      for (std::int64_t j = 0; j < tokens; ++j) {
        if (oracle.allowed(h, t, j)) keys.push_back(j);
      }
      const std::size_t row = index(t * problem.heads + h);
      reference_row(inputs, t, h, keys, r.o.data() + row * index(d), r.lse[row]);
    }
  }
  return r;
}

void expect_near(const Outputs& outputs, const Reference& expected, std::int64_t head_dim,
                 const std::string& what) {
  // Four units of float32 at the largest value, and a floor for the sums.
  const double bound = (4 * std::numeric_limits<float>::epsilon() / 2 + 2e-6) *
                       std::max(1.0, expected.largest_value);
  const Packed& o = outputs.o;
  for (std::int64_t t = 0; t < o.tokens; ++t) {
    for (std::int64_t h = 0; h < o.heads; ++h) {
      const std::size_t row = index(t * o.heads + h);
      const double lse = expected.lse[row];
      if (std::isinf(lse)) {
        ASSERT_EQ(outputs.lse[row], lse) << what << " lse of token " << t << " head " << h;
      } else {
        ASSERT_NEAR(outputs.lse[row], lse, 1e-5) << what << " lse of token " << t << " head " << h;
      }
      for (std::int64_t x = 0; x < head_dim; ++x) {
        ASSERT_NEAR(o.at(t, h, x), expected.o[row * index(head_dim) + index(x)], bound)
            << what << " token " << t << " head " << h << " x " << x;
      }
    }
  }
}

void expect_right(const AttentionCase& problem) {
  const Inputs inputs = random_inputs(problem);
  const Reference expected = reference(problem, inputs);
  const AttentionPlan plan = problem.plan();
  for_each_instruction_set([&](cpu::InstructionSet set) {
    for (const Kernel kernel : {Kernel::segment, Kernel::windowed}) {
      const std::string what =
          fmt::format("{} {} {}", kernel == Kernel::segment ? "segment" : "windowed",
                      cpu::name_of(set), problem.text());
      expect_near(run(kernel, plan, inputs, 1), expected, problem.head_dim, what);
    }
  });
}

}  // namespace attnscope::testing
