// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/windowed.h"

#include <atomic>
#include <limits>

#include "kernels/cpu/selected_kernels.h"
#include "kernels/cpu/windowed_steps.h"

namespace attnscope::cpu {
namespace {

Status check_call(const AttentionPlan& plan, const ConstTensor& q, const ConstTensor& k,
                  const ConstTensor& v, const Tensor& o, std::span<const float> lse, int threads,
                  std::span<const float> workspace) {
  if (Status s = windowed_supports(plan, q.head_dim); !s) return s;
  if (Status s = check_attention_call("windowed_forward", plan, q, k, v, o, lse, threads); !s)
    return s;
  const std::int64_t needed = windowed_score_elements(plan);
  if (static_cast<std::int64_t>(workspace.size()) < needed) {
    return fail("The workspace has {} floats; windowed_forward needs {} (windowed_score_elements)",
                workspace.size(), needed);
  }
  return {};
}

}  // namespace

Status windowed_supports(const AttentionPlan& plan, std::int64_t head_dim) {
  if (Status s = check_operands("Windowed attention", head_dim); !s) return s;
  return has_windowed_layout(plan, /*most=*/too_many - 1);
}

Status windowed_forward(const AttentionPlan& plan, const ConstTensor& q, const ConstTensor& k,
                        const ConstTensor& v, float scale, const Tensor& o, std::span<float> lse,
                        int threads, std::span<float> workspace) {
  if (Status s = check_call(plan, q, k, v, o, lse, threads, workspace); !s) return s;
  const Result<const KernelTable*> kernels = selected_kernels();
  if (!kernels) return tl::unexpected(kernels.error());
  WindowedStep scores{.run = (*kernels)->windowed_scores,
                      .q = q,
                      .k = k,
                      .v = v,
                      .o = o,
                      .scores = workspace.data(),
                      .lse = lse.empty() ? nullptr : lse.data(),
                      .scale = scale * static_cast<float>(log2_e),
                      .outside = -std::numeric_limits<float>::infinity()};
  WindowedStep softmax = scores;
  softmax.run = (*kernels)->windowed_softmax;
  WindowedStep values = scores;
  values.run = (*kernels)->windowed_values;
  values.scale = 1.0f;
  std::atomic<std::int64_t> scored{0}, normalized{0}, written{0};
#pragma omp parallel num_threads(threads)
  {
    work_off(plan, scores, scored);
#pragma omp barrier
    work_off(plan, softmax, normalized);
#pragma omp barrier
    work_off(plan, values, written);
  }
  return {};
}

}  // namespace attnscope::cpu
