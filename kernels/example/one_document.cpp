// SPDX-License-Identifier: Apache-2.0
//
// The kernels without the engine: a plan written by hand for one item of a sparse cross-encoder
// ([CLS], 10 query tokens, a document with a window of 4), with one forward and one backward call
// on the program's own memory. Every row's weights sum to 1, so the gradients of all values must
// sum to the incoming gradients: the program returns 0 if they do.
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

#include "kernels/cpu/segment.h"
#include "kernels/plan/attention_plan.h"

namespace {

using namespace attnscope;

constexpr std::int64_t query = 10, document = 500, tokens = 1 + query + document;
constexpr std::int64_t heads = 2, head_dim = 32;
constexpr int threads = 2;

AttentionPlan plan_of_item() {
  const TokenRun cls{0, 1}, of_query{1, 1 + query}, of_document{1 + query, tokens};
  AttentionPlan plan;
  plan.tokens = tokens;
  plan.heads = heads;
  plan.segments = {{.keys = {0, tokens}},  // [CLS]: everything
                   {.keys = of_query},     // query: itself
                   {.keys = {0, 1 + query}},
                   {.keys = of_document, .kind = SegmentKind::band, .window = 4}};
  const HeadRange all{0, heads};
  plan.tasks = {{.queries = cls, .heads = all, .item = 0, .first_segment = 0, .segment_count = 1},
                {of_query, all, 0, 1, 1},
                {of_document, all, 0, 2, 2}};
  return plan;
}

std::vector<float> random_tensor(unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<std::size_t>(tokens * heads * head_dim));
  for (float& value : values) value = normal(random);
  return values;
}

/// [tokens, heads, head_dim], the output layout of a model's projections.
Tensor view(std::vector<float>& values) {
  return {reinterpret_cast<std::byte*>(values.data()), DType::float32, head_dim, heads * head_dim,
          head_dim};
}

bool sums_agree(const std::vector<float>& grad_v, const std::vector<float>& grad_o) {
  const auto width = static_cast<std::size_t>(heads * head_dim);
  for (std::size_t column = 0; column < width; ++column) {
    double difference = 0;
    for (std::size_t at = column; at < grad_v.size(); at += width) {
      difference += double{grad_v[at]} - double{grad_o[at]};
    }
    if (!(std::abs(difference) < 1e-3)) return false;
  }
  return true;
}

}  // namespace

int main() {
  const AttentionPlan plan = plan_of_item();
  std::vector<float> q = random_tensor(1), k = random_tensor(2), v = random_tensor(3);
  std::vector<float> grad_o = random_tensor(4);
  std::vector<float> o(q.size()), grad_q(q.size()), grad_k(q.size()), grad_v(q.size());
  std::vector<float> lse(static_cast<std::size_t>(tokens * heads));
  const float scale = 1.0f / std::sqrt(static_cast<float>(head_dim));

  std::vector<std::byte> workspace(
      static_cast<std::size_t>(cpu::segment_workspace_bytes(plan, head_dim, threads)));
  const Status forward =
      cpu::segment_forward(plan, attnscope::as_const(view(q)), attnscope::as_const(view(k)),
                           attnscope::as_const(view(v)), scale, view(o), lse, threads, workspace);
  if (!forward) return std::fprintf(stderr, "%s\n", forward.error().message.c_str()), 1;

  workspace.resize(
      static_cast<std::size_t>(cpu::segment_backward_workspace_bytes(plan, head_dim, threads)));
  const Status backward = cpu::segment_backward(plan,
                                                {.q = attnscope::as_const(view(q)),
                                                 .k = attnscope::as_const(view(k)),
                                                 .v = attnscope::as_const(view(v)),
                                                 .o = attnscope::as_const(view(o)),
                                                 .lse = lse,
                                                 .grad_o = attnscope::as_const(view(grad_o)),
                                                 .grad_q = view(grad_q),
                                                 .grad_k = view(grad_k),
                                                 .grad_v = view(grad_v)},
                                                scale, threads, workspace);
  if (!backward) return std::fprintf(stderr, "%s\n", backward.error().message.c_str()), 1;
  return sums_agree(grad_v, grad_o) ? 0 : 1;
}
