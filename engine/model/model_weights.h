#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A cross-encoder's weights as LibTorch tensors, float32 on the CPU; encoders take from them what
// they need in their own dtype, device and packing.

#include <cstdint>
#include <memory>

#include "engine/checkpoint/checkpoint.h"
#include "engine/checkpoint/model_shape.h"
#include "kernels/base/result.h"

namespace attnscope {

struct RandomWeights {
  std::uint64_t seed = 1;
  bool global_projections = true;
  /// Of every weight and bias; 0.02 is what BERT is initialised with. In small models attention is
  /// then nearly uniform.
  double deviation = 0.02;
};

class ModelWeights {
 public:
  /// Normal, biases alike, LayerNorm around 1; a head of one label behind a pooler.
  [[nodiscard]] static std::shared_ptr<const ModelWeights> random(const ModelShape& shape,
                                                                  const RandomWeights& options);
  /// A copy of the checkpoint's tensors. An error when it has no classification head.
  [[nodiscard]] static Result<std::shared_ptr<const ModelWeights>> of(const Checkpoint& checkpoint);
  /// The same of a checkpoint that may have no head: its scores are then 0, its states those of
  /// the encoder.
  [[nodiscard]] static std::shared_ptr<const ModelWeights> encoder_of(const Checkpoint& checkpoint);
  /// The same with as many positions, made by linear interpolation between the first and the last
  /// (Schlatt et al., Sec. 3.5); global projections, where there are none, are copies of the
  /// others, as Longformer's training starts.
  [[nodiscard]] std::shared_ptr<const ModelWeights> extended_to(std::int64_t positions) const;
  [[nodiscard]] std::shared_ptr<const ModelWeights> with_global_projections() const;

  [[nodiscard]] const ModelShape& shape() const;
  [[nodiscard]] bool has_global_projections() const;

  struct Tensors;
  explicit ModelWeights(std::unique_ptr<const Tensors> tensors);
  ~ModelWeights();
  [[nodiscard]] const Tensors& tensors() const { return *tensors_; }

 private:
  std::unique_ptr<const Tensors> tensors_;
};

}  // namespace attnscope
