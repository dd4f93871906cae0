#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The axes of an experiment, with their names in sweeps, tables and the database.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "kernels/plan/tensor.h"

namespace attnscope {

class JsonField;

/// windowed-matmul: the two products only (the paper's Fig. 2a). attention: with softmax.
/// model: a whole re-ranker (Fig. 2b).
enum class Operation : std::uint8_t { windowed_matmul, attention, model };
enum class Direction : std::uint8_t { forward, forward_backward };
/// head-major: [batch, heads, tokens, dim]; token-major: [tokens, heads, dim].
enum class MemoryOrder : std::uint8_t { head_major, token_major };
/// Where a call finds its inputs and outputs. warm: in the caches, as far as they fit, as the
/// previous call left them. cold: in main memory only.
enum class CacheState : std::uint8_t { warm, cold };
enum class DeviceKind : std::uint8_t { cpu, cuda };
/// How the kernels of a call are launched. eager: by the host, one after the other. graph: the call
/// was captured as a CUDA graph, which is replayed; the host then launches once per call.
enum class LaunchMode : std::uint8_t { eager, graph };
/// Stages of a re-ranker. whole: from the token ids of query and documents to scores. offline:
/// documents to their stored representations, before any query is known. load: stored
/// representations from a file into memory. online: a query against the stored representations.
/// train-forward: scores and what the backward pass needs. train-gradients: the forward and the
/// backward pass. train-step: both passes and AdamW's update. train-optimizer: AdamW's update only.
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
/// Whether the stage belongs to training.
[[nodiscard]] constexpr bool is_of_training(Stage stage) {
  return stage >= Stage::train_step;
}

[[nodiscard]] std::string_view name_of(Operation value);  // "windowed-matmul", "attention", "model"
[[nodiscard]] std::string_view name_of(Direction value);  // "forward", "forward-backward"
[[nodiscard]] std::string_view name_of(MemoryOrder value);  // "head-major", "token-major"
[[nodiscard]] std::string_view name_of(CacheState value);   // "warm", "cold"
[[nodiscard]] std::string_view name_of(DeviceKind value);   // "cpu", "cuda"
[[nodiscard]] std::string_view name_of(LaunchMode value);   // "eager", "graph"
[[nodiscard]] std::string_view name_of(Stage value);        // "whole", "offline", "train-step", ...
[[nodiscard]] std::string_view name_of(DType value);        // "float32", "float16", "bfloat16"

[[nodiscard]] std::string_view name_of(Products value);  // "float32", "bfloat16", "int8"

// Errors list the known names and the nearest one.
[[nodiscard]] Result<Operation> parse_operation(std::string_view text);
[[nodiscard]] Result<Direction> parse_direction(std::string_view text);
[[nodiscard]] Result<DeviceKind> parse_device(std::string_view text);
[[nodiscard]] Result<DType> parse_dtype(std::string_view text);
[[nodiscard]] Result<Products> parse_precision(std::string_view text);

/// Returns an error unless products narrower than the model's dtype are used on the CPU with
/// float32.
[[nodiscard]] Status supports_precision(Products products, DType dtype, DeviceKind device);

/// One-sided window width w: token i attends to i-w ... i+w of its own subsequence, 2w+1 tokens in
/// total, cut off (never shifted) at the ends. w = 0 is the token itself, w = inf is the whole
/// subsequence.
class Window {
 public:
  [[nodiscard]] static Window of(std::int64_t tokens) { return Window(tokens); }
  [[nodiscard]] static Window infinite() { return Window(-1); }
  [[nodiscard]] bool is_infinite() const { return tokens_ < 0; }
  /// Only for finite windows.
  [[nodiscard]] std::int64_t tokens() const { return tokens_; }
  /// "4" or "inf".
  [[nodiscard]] std::string text() const {
    return is_infinite() ? std::string("inf") : std::to_string(tokens_);
  }
  friend bool operator==(Window, Window) = default;

 private:
  explicit Window(std::int64_t tokens) : tokens_(tokens) {}
  std::int64_t tokens_;
};

inline constexpr std::int64_t widest_window = 1'000'000'000;  // tokens
/// Parses "4", "0" or "inf"; returns an error for anything else, and above widest_window.
[[nodiscard]] Result<Window> parse_window(std::string_view text);
/// The same for an argument that may be missing: nothing for an empty text.
[[nodiscard]] Result<std::optional<Window>> parse_optional_window(std::string_view text);

/// The window in a JSON field: a number of tokens up to widest_window, or a text for parse_window.
/// Throws a JsonProblem, for read_json to catch.
[[nodiscard]] Window window_in(const JsonField& field);

}  // namespace attnscope
