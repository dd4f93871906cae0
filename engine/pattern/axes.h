#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The named axes of an experiment, with the words used in sweeps, tables and the database.

#include <cstdint>
#include <string_view>

#include "kernels/base/result.h"
#include "kernels/plan/products.h"
#include "kernels/plan/tensor.h"

namespace attnscope {

/// windowed-matmul: the two products only (the paper's Fig. 2a). attention: with softmax.
/// model: a whole re-ranker (Fig. 2b).
enum class Operation : std::uint8_t { windowed_matmul, attention, model };
enum class Direction : std::uint8_t { forward, forward_backward };
/// head-major: [batch, heads, tokens, dim]; token-major: [tokens, heads, dim].
enum class MemoryOrder : std::uint8_t { head_major, token_major };
/// Where a call finds its inputs and outputs: in the caches as far as they fit, as the call before
/// left them, or in main memory alone.
enum class CacheState : std::uint8_t { warm, cold };
enum class DeviceKind : std::uint8_t { cpu, cuda };
/// Of a re-ranker. whole: from the token ids of query and documents to scores. offline: documents
/// into what is kept of them, before any query is known. load: that from its file into memory.
/// online: a query against what is kept. train-forward: scores with what the way back needs.
/// train-gradients: the same and the way back. train-step: the same and AdamW's update.
/// train-optimizer: that alone.
enum class Stage : std::uint8_t {
  whole,
  offline,
  load,
  online,
  train_step,
  train_forward,
  train_gradients,
  train_optimizer
};
/// Of training.
[[nodiscard]] constexpr bool is_of_training(Stage stage) {
  return stage >= Stage::train_step;
}

[[nodiscard]] std::string_view name_of(Operation value);  // "windowed-matmul", "attention", "model"
[[nodiscard]] std::string_view name_of(Direction value);  // "forward", "forward-backward"
[[nodiscard]] std::string_view name_of(MemoryOrder value);  // "head-major", "token-major"
[[nodiscard]] std::string_view name_of(CacheState value);   // "warm", "cold"
[[nodiscard]] std::string_view name_of(DeviceKind value);   // "cpu", "cuda"
[[nodiscard]] std::string_view name_of(Stage value);        // "whole", "offline", "train-step", ...
[[nodiscard]] std::string_view name_of(DType value);        // "float32", "float16", "bfloat16"

[[nodiscard]] std::string_view name_of(Products value);  // "float32", "bfloat16", "int8"

// Errors list the known names and the nearest.
[[nodiscard]] Result<Operation> parse_operation(std::string_view text);
[[nodiscard]] Result<Direction> parse_direction(std::string_view text);
[[nodiscard]] Result<MemoryOrder> parse_memory_order(std::string_view text);
[[nodiscard]] Result<CacheState> parse_cache(std::string_view text);
[[nodiscard]] Result<DeviceKind> parse_device(std::string_view text);
[[nodiscard]] Result<DType> parse_dtype(std::string_view text);
[[nodiscard]] Result<Products> parse_precision(std::string_view text);

/// Products narrower than a model's dtype are taken on the CPU in float32; an error says so.
[[nodiscard]] Status supports_precision(Products products, DType dtype, DeviceKind device);

}  // namespace attnscope
