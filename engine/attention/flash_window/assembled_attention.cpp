// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/flash_window/assembled_attention.h"

#include <ATen/ops/addcmul.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/full.h>
#include <ATen/ops/logaddexp.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/zeros.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "engine/attention/flash_window/token_rows.h"
#include "engine/attention/packed_tensor.h"
#include "engine/attention/sdpa/flash_tiles.h"
#include "engine/attention/torch_tensors.h"

namespace attnscope {
namespace {

/// Work in the tiles of LibTorch's flash kernels.
ExecutedWork assembled_work(const Problem& problem, std::span<const RowGroup> groups) {
  const bool backward = problem.direction == Direction::forward_backward;
  const FlashTile forward_tile = flash_forward_tile(problem.head_dim);
  const FlashTile backward_tile = flash_backward_tile(problem.head_dim);
  const auto heads = static_cast<double>(problem.plan.heads);
  const auto element = static_cast<double>(size_of(problem.dtype));
  double flop = 0;
  double values = 0;  // of head_dim elements, read or written in the problem's dtype
  double sums = 0;    // the same in float32
  for (const RowGroup& group : groups) {
    double rows = 0;
    for (const TokenRange& sequence : group.queries) rows += static_cast<double>(sequence.size());
    const auto parts = static_cast<double>(group.parts.size());
    for (const AttentionPart& part : group.parts) {
      double keys = 0;
      for (std::size_t s = 0; s < part.keys.size(); ++s) {
        const FlashPairs pairs{
            .rows = group.queries[s].size(), .keys = part.keys[s].size(), .window = part.window};
        flop += 2 * 2 * pairs_in_tiles(pairs, forward_tile) * static_cast<double>(forward_tile.dim);
        if (backward) {
          flop +=
              2 * 5 * pairs_in_tiles(pairs, backward_tile) * static_cast<double>(backward_tile.dim);
        }
        keys += static_cast<double>(part.keys[s].size());
      }
      // q, k and v are read, o is written; then q, k, v, o and grad_o are read, three gradients
      // written, and the sums of keys' and values' gradients read and written.
      values += 2 * rows + 2 * keys;
      if (backward) values += 4 * rows + 4 * keys;
      if (backward) sums += 2 * 2 * keys;
    }
    // Results are merged in float32, one pass per part, and written to the output.
    values += parts * rows + rows;
    if (parts > 1) sums += (2 * parts - 1) * rows + rows;
    if (backward) values += rows + (parts > 1 ? parts * rows : rows);
  }
  return {.flop = heads * flop,
          .bytes = heads * static_cast<double>(problem.head_dim) *
                   (element * values + static_cast<double>(sizeof(float)) * sums)};
}

/// Bytes of float32 sums that the flash backward allocates for sequences with these rows
/// (mha_varlen_bwd in aten/src/ATen/native/transformers/cuda/flash_attn/flash_api.cpp: 128 extra
/// rows per sequence).
std::int64_t flash_backward_scratch(std::span<const TokenRange> sequences, std::int64_t heads,
                                    std::int64_t head_dim) {
  constexpr std::int64_t more_rows = 128;
  std::int64_t rows = 0;
  for (const TokenRange& sequence : sequences) rows += sequence.size() + more_rows;
  const std::int64_t multiple = head_dim <= 128 ? 32 : 64;
  const std::int64_t dim = (head_dim + multiple - 1) / multiple * multiple;
  return rows * heads * (dim + 1) * static_cast<std::int64_t>(sizeof(float));
}

/// A factor for each row and head, [..., heads, rows], in the shape of values [..., rows, heads,
/// dim].
at::Tensor alongside_values(const at::Tensor& factors) {
  return factors.transpose(-1, -2).unsqueeze(-1);
}

PartResult merge(std::vector<PartResult> parts) {
  if (parts.size() == 1) return std::move(parts.front());
  at::Tensor lse = parts[0].lse;
  for (std::size_t p = 1; p < parts.size(); ++p) lse = at::logaddexp(lse, parts[p].lse);
  const auto weight = [&](const PartResult& part) {
    return alongside_values(at::exp(at::sub(part.lse, lse)));
  };
  at::Tensor o = at::mul(parts[0].o, weight(parts[0]));  // float32 for any dtype of the parts
  for (std::size_t p = 1; p < parts.size(); ++p) o.addcmul_(parts[p].o, weight(parts[p]));
  return {.o = std::move(o), .lse = std::move(lse)};
}

/// The rows of a group and the keys of its parts, bound to the layout.
struct BoundGroup {
  TokenRows rows;
  std::vector<TokenRows> keys;
  std::vector<std::int64_t> windows;
};

/// Data kept from a forward call for its backward.
struct KeptGroup {
  std::vector<PartOperands> operands;  // of each part
  at::Tensor lse;                      // of the whole rows, in the kernel's layout
};

BoundGroup bind(RowGroup group, std::int64_t item_tokens, std::int64_t heads) {
  auto even_rows = even_sequences(group.queries, item_tokens);
  std::vector<std::optional<EvenSequences>> even_keys;
  bool all_even = even_rows.has_value() && (even_rows->distance > 0 || even_rows->count == 1);
  for (const AttentionPart& part : group.parts) {
    even_keys.push_back(even_sequences(part.keys, item_tokens));
    all_even = all_even && even_keys.back().has_value();
  }
  if (!all_even) {
    even_rows.reset();
    for (auto& even : even_keys) even.reset();
  }
  BoundGroup bound{.rows = TokenRows(std::move(group.queries), even_rows, item_tokens, heads),
                   .keys = {},
                   .windows = {}};
  for (std::size_t p = 0; p < group.parts.size(); ++p) {
    bound.keys.emplace_back(std::move(group.parts[p].keys), even_keys[p], item_tokens, heads);
    bound.windows.push_back(group.parts[p].window);
  }
  return bound;
}

class PreparedAssembled final : public PreparedAttention {
 public:
  PreparedAssembled(const Problem& problem, std::vector<RowGroup> groups, const PartKernel& kernel)
      : problem_(problem), heads_(problem.plan.heads), kernel_(kernel) {
    const Tensor like = packed_tensor(problem.layout, heads_, problem.head_dim, problem.dtype,
                                      problem.memory_order, nullptr);
    work_ = assembled_work(problem, groups);
    for (RowGroup& group : groups) {
      groups_.push_back(bind(std::move(group), like.item_tokens, heads_));
    }
  }

  std::int64_t workspace_bytes() const override { return 0; }
  bool writes_lse() const override { return true; }
  ExecutedWork executed() const override { return work_; }

  /// Gathered operands, all of them kept for a backward; the parts' results and their float32
  /// merge; gradients of a part in addition to the sums of all.
  std::int64_t allocated_bytes() const override {
    const std::int64_t row = heads_ * problem_.head_dim;
    const std::int64_t in_dtype = row * size_of(problem_.dtype);
    const std::int64_t in_float = row * float_bytes;
    const std::int64_t number = heads_ * float_bytes;
    std::int64_t kept = 0;
    std::int64_t worst = 0;
    for (const BoundGroup& group : groups_) {
      const auto parts = static_cast<std::int64_t>(group.keys.size());
      const std::int64_t rows = group.rows.tokens();
      std::int64_t gathered = group.rows.is_even() ? 0 : rows;
      std::int64_t keys = 0;
      kept += group.rows.list_bytes();
      for (const TokenRows& of_part : group.keys) {
        kept += of_part.list_bytes();
        keys = std::max(keys, of_part.tokens());
        if (!of_part.is_even()) gathered += 2 * of_part.tokens();
      }
      std::int64_t merging = rows * parts * (in_dtype + number);
      if (parts != 1) merging += rows * (2 * in_float + in_dtype + 3 * number);
      if (with_gradients()) {
        kept += gathered * in_dtype + rows * number;
        worst = std::max(
            {worst, merging,
             (3 * rows + 2 * keys) * in_dtype + (rows + keys) * in_float +
                 flash_backward_scratch(group.rows.sequences(), heads_, problem_.head_dim)});
      } else {
        worst = std::max(worst, gathered * in_dtype + merging);
      }
    }
    return kept + worst + (with_gradients() ? 2 * problem_.plan.tokens * in_float : 0);
  }

  Status forward(const ForwardCall& call) override {
    start();
    const c10::InferenceMode no_graph;
    kept_.clear();
    std::vector<KeptGroup> kept;
    for (const BoundGroup& group : groups_) {
      KeptGroup operands{.operands = operands_of(group, call), .lse = {}};
      const PartResult whole = attend(group, operands.operands);
      group.rows.write(call.o, whole.o);
      if (!call.lse.empty()) group.rows.write_numbers(numbers(call.lse), whole.lse);
      if (!with_gradients()) continue;
      operands.lse = whole.lse;
      kept.push_back(std::move(operands));
    }
    kept_ = std::move(kept);
    return {};
  }

  Status backward(const BackwardCall& call) override {
    if (kept_.size() != groups_.size()) return fail("backward needs a forward call before it");
    start();
    const c10::InferenceMode no_graph;
    const std::vector<KeptGroup> kept = std::exchange(kept_, {});
    const GradientTensors& t = call.tensors;
    const std::int64_t tokens = problem_.plan.tokens;
    const auto options = at::TensorOptions().dtype(at::kFloat).device(device());
    const at::Tensor sums_k = at::zeros({tokens, heads_, problem_.head_dim}, options);
    const at::Tensor sums_v = at::zeros({tokens, heads_, problem_.head_dim}, options);
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      const BoundGroup& group = groups_[g];
      const at::Tensor grad_o = group.rows.read(t.grad_o);
      const PartResult whole{.o = group.rows.read(t.o), .lse = kept[g].lse};
      at::Tensor grad_q;
      for (std::size_t p = 0; p < group.keys.size(); ++p) {
        const PartGradients part = kernel_.backward(kept[g].operands[p], grad_o, whole);
        grad_q = p == 0   ? part.q
                 : p == 1 ? grad_q.to(at::kFloat).add_(part.q)
                          : grad_q.add_(part.q);
        group.keys[p].add(sums_k, part.k);
        group.keys[p].add(sums_v, part.v);
      }
      group.rows.write(t.grad_q, grad_q.defined() ? grad_q : at::zeros(whole.o.sizes(), options));
    }
    write_all(t.grad_k, sums_k);
    write_all(t.grad_v, sums_v);
    return {};
  }

 private:
  static constexpr auto float_bytes = static_cast<std::int64_t>(sizeof(float));

  [[nodiscard]] bool with_gradients() const {
    return problem_.direction == Direction::forward_backward;
  }
  [[nodiscard]] at::Device device() const { return torch_device(problem_.device); }

  /// Makes the lists for the layout in the first call.
  void start() {
    if (problem_.device == DeviceKind::cpu) use_torch_threads(problem_.threads);
    for (BoundGroup& group : groups_) {
      group.rows.prepare(device());
      for (TokenRows& keys : group.keys) keys.prepare(device());
    }
  }

  [[nodiscard]] std::vector<PartOperands> operands_of(const BoundGroup& group,
                                                      const ForwardCall& call) const {
    std::vector<PartOperands> parts;
    if (group.keys.empty()) return parts;
    const at::Tensor q = group.rows.read(call.q);
    for (std::size_t p = 0; p < group.keys.size(); ++p) {
      const TokenRows& keys = group.keys[p];
      // A window wider than every sequence has the effect of the widest sequence.
      const std::int64_t window = std::min(group.windows[p], keys.longest());
      parts.push_back({.q = q,
                       .k = keys.read(call.k),
                       .v = keys.read(call.v),
                       .row_borders = group.rows.borders(),
                       .key_borders = keys.borders(),
                       .longest_rows = group.rows.longest(),
                       .longest_keys = keys.longest(),
                       .window = window,
                       .scale = static_cast<double>(problem_.scale)});
    }
    return parts;
  }

  [[nodiscard]] PartResult attend(const BoundGroup& group,
                                  const std::vector<PartOperands>& parts) const {
    if (parts.empty()) return nothing(group);
    std::vector<PartResult> results;
    results.reserve(parts.size());
    for (const PartOperands& part : parts) results.push_back(kernel_.forward(part));
    return merge(std::move(results));
  }

  /// Result for rows without keys.
  [[nodiscard]] PartResult nothing(const BoundGroup& group) const {
    const auto options = at::TensorOptions().dtype(at::kFloat).device(device());
    const std::int64_t dim = problem_.head_dim;
    if (!group.rows.is_even()) {
      return {.o = at::zeros({group.rows.tokens(), heads_, dim}, options),
              .lse = at::full({heads_, group.rows.tokens()}, minus_infinity, options)};
    }
    const auto batch = static_cast<std::int64_t>(group.rows.sequences().size());
    return {.o = at::zeros({batch, group.rows.longest(), heads_, dim}, options),
            .lse = at::full({batch, heads_, group.rows.longest()}, minus_infinity, options)};
  }

  [[nodiscard]] at::Tensor numbers(std::span<float> lse) const {
    return at::for_blob(lse.data(), {problem_.plan.tokens, heads_})
        .options(at::TensorOptions().dtype(at::kFloat).device(device()))
        .target_device(device())
        .make_tensor();
  }

  void write_all(const Tensor& target, const at::Tensor& sums) const {
    const at::Tensor all =
        all_tokens(attnscope::as_const(target), problem_.plan.tokens, heads_, device());
    all.copy_(sums.view(all.sizes()));
  }

  Problem problem_;
  std::int64_t heads_;
  const PartKernel& kernel_;
  ExecutedWork work_;
  std::vector<BoundGroup> groups_;
  std::vector<KeptGroup> kept_;  // from a forward call to its backward
};

}  // namespace

std::unique_ptr<PreparedAttention> prepare_assembled(const Problem& problem,
                                                     std::vector<RowGroup> groups,
                                                     const PartKernel& kernel) {
  return std::make_unique<PreparedAssembled>(problem, std::move(groups), kernel);
}

}  // namespace attnscope
