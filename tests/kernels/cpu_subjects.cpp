// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstring>

#include "kernels/cpu/instruction_set.h"
#include "kernels/cpu/segment.h"
#include "kernels/cpu/windowed.h"
#include "tests/kernels/products.h"
#include "tests/kernels/subject.h"

namespace attnscope::testing {
namespace {

void expect_done(const Status& status) {
  EXPECT_TRUE(status) << status.error().message;
}

Outputs unwritten_outputs(const Packed& shape, const Call& call) {
  const auto rows = static_cast<std::size_t>(call.alone ? 0 : shape.tokens * shape.heads);
  return {like(shape, nan), std::vector<float>(rows, nan)};
}

Gradients unwritten_gradients(const Packed& shape) {
  const Packed empty = like(shape, nan);
  return {empty, empty, empty};
}

GradientTensors tensors_of(const BackwardCase& problem, Gradients& out) {
  return {.q = problem.in.q.view(),
          .k = problem.in.k.view(),
          .v = problem.in.v.view(),
          .o = problem.forward.o.view(),
          .lse = problem.forward.lse,
          .grad_o = problem.grad_o.view(),
          .grad_q = out.q.tensor(),
          .grad_k = out.k.tensor(),
          .grad_v = out.v.tensor()};
}

void expect_memory_kept(const GuardedWorkspace& workspace,
                        std::initializer_list<const Packed*> of_results) {
  EXPECT_TRUE(workspace.guards_are_intact());
  for (const Packed* packed : of_results) EXPECT_TRUE(gaps_are_untouched(*packed));
}

Outputs segment_forward(const AttentionPlan& plan, const Inputs& in, const Call& call) {
  Outputs out = unwritten_outputs(in.q, call);
  const std::int64_t d = in.q.head_dim;
  GuardedWorkspace workspace(cpu::segment_workspace_bytes(plan, d, call.order));
  for (int i = 0; i < call.repeats; ++i) {
    expect_done(cpu::segment_forward(plan, in.q.view(), in.k.view(), in.v.view(), scale_of(d),
                                     out.o.tensor(), out.lse, call.order, workspace.bytes()));
  }
  expect_memory_kept(workspace, {&out.o});
  return out;
}

Gradients segment_backward(const AttentionPlan& plan, const BackwardCase& problem,
                           const Call& call) {
  Gradients out = unwritten_gradients(problem.in.q);
  const std::int64_t d = problem.in.q.head_dim;
  GuardedWorkspace workspace(cpu::segment_backward_workspace_bytes(plan, d, call.order));
  for (int i = 0; i < call.repeats; ++i) {
    expect_done(cpu::segment_backward(plan, tensors_of(problem, out), scale_of(d), call.order,
                                      workspace.bytes()));
  }
  expect_memory_kept(workspace, {&out.q, &out.k, &out.v});
  return out;
}

Outputs windowed_forward(const AttentionPlan& plan, const Inputs& in, const Call& call) {
  Outputs out = unwritten_outputs(in.q, call);
  GuardedWorkspace scores(cpu::windowed_score_elements(plan) * 4);
  for (int i = 0; i < call.repeats; ++i) {
    expect_done(cpu::windowed_forward(plan, in.q.view(), in.k.view(), in.v.view(),
                                      scale_of(in.q.head_dim), out.o.tensor(), out.lse, call.order,
                                      scores.floats()));
  }
  expect_memory_kept(scores, {&out.o});
  out.scores.assign(scores.floats().begin(), scores.floats().end());
  return out;
}

Gradients windowed_backward(const AttentionPlan& plan, const BackwardCase& problem,
                            const Call& call) {
  Gradients out = unwritten_gradients(problem.in.q);
  const std::int64_t d = problem.in.q.head_dim;
  const std::vector<float> weights = problem.forward.scores;
  GuardedWorkspace workspace(cpu::windowed_backward_elements(plan, d) * 4);
  for (int i = 0; i < call.repeats; ++i) {
    expect_done(cpu::windowed_backward(plan, tensors_of(problem, out), scale_of(d), weights,
                                       call.order, workspace.floats()));
  }
  expect_memory_kept(workspace, {&out.q, &out.k, &out.v});
  EXPECT_TRUE(weights.empty() || std::memcmp(weights.data(), problem.forward.scores.data(),
                                             weights.size() * sizeof(float)) == 0);
  return out;
}

Products products(const Band& band, const Inputs& in, const std::vector<float>& weights,
                  int threads) {
  Packed o = like(in.q, untouched);
  GuardedWorkspace scores(cpu::band_elements(band.problem()) * 4);
  expect_done(cpu::windowed_qk(band.problem(), in.q.view(), in.k.view(), products_scale, threads,
                               scores.floats()));
  expect_done(cpu::windowed_pv(band.problem(), weights, in.v.view(), threads, o.tensor()));
  expect_memory_kept(scores, {&o});
  return {{scores.floats().begin(), scores.floats().end()}, o};
}

ProductGradients product_gradients(const Band& band, const Inputs& in,
                                   const std::vector<float>& weights, int threads) {
  Packed q = like(in.q, untouched), k = q, v = q;
  GuardedWorkspace grad_band(cpu::band_elements(band.problem()) * 4);
  expect_done(cpu::windowed_qk_backward(band.problem(), weights, in.q.view(), in.k.view(),
                                        products_scale, threads, q.tensor(), k.tensor()));
  expect_done(cpu::windowed_pv_backward(band.problem(), weights, in.v.view(), in.q.view(), threads,
                                        grad_band.floats(), v.tensor()));
  expect_memory_kept(grad_band, {&q, &k, &v});
  return {q, k, v, {grad_band.floats().begin(), grad_band.floats().end()}};
}

}  // namespace

void for_each_instruction_set(const std::function<void(const std::string& set)>& body) {
  for (const cpu::InstructionSet set : cpu::available_sets()) {
    using enum cpu::InstructionSet;
    if (set == avx512_vnni || set == amx) continue;  // they have no attention kernels of their own
    (void)cpu::select(set);
    body(std::string(cpu::name_of(set)));
  }
  (void)cpu::select(std::nullopt);
}

const std::vector<Subject>& subjects() {
  static const std::vector<Subject> all{{.name = "segment",
                                         .recomputes = true,
                                         .supports = cpu::segment_supports,
                                         .forward = segment_forward,
                                         .backward = segment_backward,
                                         .for_each_build = for_each_instruction_set},
                                        {.name = "windowed",
                                         .supports = cpu::windowed_supports,
                                         .forward = windowed_forward,
                                         .backward = windowed_backward,
                                         .for_each_build = for_each_instruction_set}};
  return all;
}

const ProductSubject& product_subject() {
  static const ProductSubject subject{.name = "windowed",
                                      .forward = products,
                                      .backward = product_gradients,
                                      .for_each_build = for_each_instruction_set};
  return subject;
}

}  // namespace attnscope::testing
