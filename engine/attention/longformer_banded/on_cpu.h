#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The band's loops on the CPU: a row's scores with one dot product per cell, its softmax, its sum
// of values; for gradients of keys and values the same from the keys. Plain loops over the head
// dimension, compiled twice, for every x86-64 and with AVX2 (kernels/cpu/instruction_set.h);
// threads process short runs of rows or keys one after another. A call allocates nothing.
//
//   BandOnCpu band(plan, passes);
//   band.forward({scale, Weighting::softmax, threads, scores}, {q, k, v}, o, lse);
//   band.backward({scale, Weighting::softmax, threads, scores}, gradients);

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "engine/attention/longformer_banded/plan_lists.h"
#include "kernels/plan/attention_plan.h"
#include "kernels/plan/counts.h"
#include "kernels/plan/tensor.h"

namespace attnscope::longformer_banded {

struct BandCall {
  float scale = 1.0F;
  Weighting weighting = Weighting::softmax;
  int threads = 1;
  float* scores = nullptr;  // windowed_score_elements(plan) floats
};

struct BandInputs {
  ConstTensor q, k, v;
};

/// Piece n of all is piece n - first of the list's entry whose pieces begin at `first`.
class Pieces {
 public:
  void add(std::int64_t count) { firsts_.push_back(firsts_.back() + count); }
  [[nodiscard]] std::int64_t count() const { return firsts_.back(); }
  struct Place {
    std::size_t entry;
    std::int64_t piece;
  };
  [[nodiscard]] Place find(std::int64_t number) const;

 private:
  std::vector<std::int64_t> firsts_{0};
};

class BandOnCpu {
 public:
  /// The plan must outlive this and have a windowed layout.
  BandOnCpu(const AttentionPlan& plan, attnscope::Passes passes);

  /// Head dimensions are 1 to 256. Stores the weights in the scores. `lse` [tokens, heads] may be
  /// empty, and is written only with a softmax.
  [[nodiscard]] Status forward(const BandCall& call, const BandInputs& inputs, const Tensor& o,
                               std::span<float> lse) const;
  /// Reads the weights stored by forward and replaces them with the gradients of the scores.
  [[nodiscard]] Status backward(const BandCall& call, const GradientTensors& tensors) const;

 private:
  class Passes;

  const AttentionPlan& plan_;
  std::vector<std::int64_t> first_scores_;  // of each task
  Pieces row_pieces_;                       // of tasks
  KeyRuns keys_;
  Pieces key_pieces_;  // of keys_.runs
};

}  // namespace attnscope::longformer_banded
