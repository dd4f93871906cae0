#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// One attention on the user's tensors, from file to file (`attnscope attend`).

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "engine/pattern/attention_pattern.h"
#include "engine/pattern/axes.h"

namespace attnscope {

struct AttendRequest {
  std::string in, out;    // safetensors: q, k, v -> o, lse; [tokens, heads, head_dim], float32
  bool backward = false;  // also grad_o -> grad_q, grad_k, grad_v
  AttentionPattern pattern{};
  std::optional<Window> window{};
  std::string layout_json;
  std::string layout_source;  // file name, for messages
  std::string implementation;
  DType dtype = DType::float32;  // of the computation; files are always float32
  DeviceKind device = DeviceKind::cpu;
  int threads = 1;
};

struct AttendOutcome {
  std::int64_t tokens = 0, heads = 0, head_dim = 0;
  // Compared with the float64 reference on sampled rows: values of the tensor closest to its bound.
  double relative_error = 0, error_bound = 0;
  bool lse_written = false;  // false: the implementation computes none, and the file holds only o
};

/// Runs, checks and writes; an output that fails its check is an error and is not written.
[[nodiscard]] Result<AttendOutcome> attend(const AttendRequest& request);

}  // namespace attnscope
