// SPDX-License-Identifier: Apache-2.0
//
// Checks, lays out weights, and deals pieces of rows and outputs to threads.
#include "kernels/cpu/linear.h"

#include <omp.h>

#include <algorithm>
#include <atomic>

#include "kernels/cpu/kernel_table.h"
#include "kernels/cpu/selected_kernels.h"

namespace attnscope::cpu {
namespace {

/// Pieces for each of several threads: they end together, though the machine may hold one up. Of a
/// few rows, whose weights are read once, they are larger: within one the next panel is asked for.
constexpr std::int64_t pieces_of_a_thread = 4;
constexpr std::int64_t large_pieces_of_a_thread = 2;

std::int64_t panels_of(std::int64_t out) {
  return (out + linear_panel - 1) / linear_panel;
}

std::int64_t parts_of(std::int64_t whole, std::int64_t most) {
  return (whole + most - 1) / most;
}

Status check_linear(const LinearCall& call, int threads, std::span<const float> workspace) {
  if (call.rows < 0 || call.in < 1 || call.out < 1) {
    return fail("a linear layer takes no {} rows of {} numbers to {}", call.rows, call.in,
                call.out);
  }
  const std::int64_t packed = packed_linear_floats(call.out, call.in);
  if (static_cast<std::int64_t>(call.weights.size()) != packed) {
    return fail("packed weights of {} x {} are {} floats, not {}", call.out, call.in, packed,
                call.weights.size());
  }
  if (!call.bias.empty() && static_cast<std::int64_t>(call.bias.size()) != call.out) {
    return fail("a bias of {} outputs has as many floats, not {}", call.out, call.bias.size());
  }
  for (const auto& part : {call.norm.weight, call.norm.bias}) {
    const bool none = call.norm.weight.empty() && part.empty();
    if (!none && static_cast<std::int64_t>(part.size()) != call.out) {
      return fail("the norm of {} outputs has as many weights and biases, not {}", call.out,
                  part.size());
    }
  }
  if (call.rows > 0 && (call.x.data == nullptr || call.y.data == nullptr)) {
    return fail("a linear layer needs memory for its {} rows", call.rows);
  }
  if (threads < 1) return fail("a linear layer needs at least 1 thread, not {}", threads);
  const std::int64_t needed = linear_workspace_floats(call.rows, threads);
  if (static_cast<std::int64_t>(workspace.size()) < needed) {
    return fail("the workspace has {} floats, and {} are needed", workspace.size(), needed);
  }
  return {};
}

/// How rows and panels of outputs are cut. No result depends on it.
struct LinearCut {
  LinearCut(const LinearCall& call, int threads)
      : rows(call.rows),
        panels(panels_of(call.out)),
        row_parts(parts_of(rows, linear_rows)),
        panel_parts(parts_of(panels, linear_outputs / linear_panel)) {
    const std::int64_t wanted =
        threads == 1 ? 1
                     : threads * (row_parts == 1 ? large_pieces_of_a_thread : pieces_of_a_thread);
    if (row_parts * panel_parts < wanted)
      panel_parts = std::min(parts_of(wanted, row_parts), panels);
  }
  [[nodiscard]] std::int64_t pieces() const { return row_parts * panel_parts; }

  std::int64_t rows, panels, row_parts, panel_parts;
};

RowNorm norm_of(const LinearCall& call) {
  if (call.norm.weight.empty()) return {};
  return {call.norm.weight.data(), call.norm.bias.data(), call.out, call.norm.epsilon};
}

LinearPiece piece_of(const LinearCall& call, const LinearCut& cut, std::int64_t row_part,
                     std::int64_t panel_part) {
  const std::int64_t row = row_part * cut.rows / cut.row_parts;
  const std::int64_t panel = panel_part * cut.panels / cut.panel_parts;
  const std::int64_t output = panel * linear_panel;
  const std::int64_t end = (panel_part + 1) * cut.panels / cut.panel_parts * linear_panel;
  const float* rest = call.rest.data;
  return {.x = call.x.data + row * call.x.stride,
          .x_stride = call.x.stride,
          .rows = (row_part + 1) * cut.rows / cut.row_parts - row,
          .in = call.in,
          .weights = call.weights.data() + output * call.in,
          .outputs = std::min(end, call.out) - output,
          .bias = call.bias.empty() ? nullptr : call.bias.data() + output,
          .gelu = call.activation == Activation::gelu,
          .relu = call.activation == Activation::relu,
          .rest = rest == nullptr ? nullptr : rest + row * call.rest.stride + output,
          .rest_stride = call.rest.stride,
          .rest_multiplies = call.rest_multiplies,
          .norm = cut.panel_parts == 1 ? norm_of(call) : RowNorm{},
          .y = call.y.data + row * call.y.stride + output,
          .y_stride = call.y.stride,
          .scratch = nullptr,
          .in_scratch = false};
}

}  // namespace

std::int64_t packed_linear_floats(std::int64_t out, std::int64_t in) {
  return panels_of(out) * linear_panel * in;
}

Status pack_linear(std::span<const float> weights, std::int64_t out, std::int64_t in,
                   std::span<float> packed) {
  if (out < 1 || in < 1 || static_cast<std::int64_t>(weights.size()) != out * in) {
    return fail("{} floats are no weights of {} x {}", weights.size(), out, in);
  }
  if (static_cast<std::int64_t>(packed.size()) != packed_linear_floats(out, in)) {
    return fail("packed weights of {} x {} are {} floats, not {}", out, in,
                packed_linear_floats(out, in), packed.size());
  }
  float* to = packed.data();
  for (std::int64_t first = 0; first < out; first += linear_panel) {
    const float* from = weights.data() + first * in;
    const std::int64_t count = std::min(linear_panel, out - first);
    for (std::int64_t c = 0; c < in; ++c, to += linear_panel) {
      for (std::int64_t o = 0; o < count; ++o) to[o] = from[o * in + c];
      std::fill(to + count, to + linear_panel, 0.0F);
    }
  }
  return {};
}

std::int64_t linear_workspace_floats(std::int64_t rows, int threads) {
  return threads * std::min(rows, linear_rows) * (linear_pitch + linear_outputs);
}

Status linear(const LinearCall& call, int threads, std::span<float> workspace) {
  if (Status sizes = check_linear(call, threads, workspace); !sizes) return sizes;
  const Result<const KernelTable*> kernels = selected_kernels();
  if (!kernels) return tl::unexpected(kernels.error());
  if (call.rows == 0) return {};
  const LinearCut cut(call, threads);
  const int team = static_cast<int>(std::min<std::int64_t>(cut.pieces(), threads));
  const std::int64_t scratch = linear_workspace_floats(call.rows, 1);
  // Of rows whose outputs are cut, too.
  const RowNorm norm_last = cut.panel_parts > 1 ? norm_of(call) : RowNorm{};
  std::atomic<std::int64_t> next{0}, next_row{0};
#pragma omp parallel num_threads(team)
  {
    std::int64_t rows_in_scratch = -1;
    for (std::int64_t i = next++; i < cut.pieces(); i = next++) {
      const std::int64_t row_part = i / cut.panel_parts;
      LinearPiece piece = piece_of(call, cut, row_part, i % cut.panel_parts);
      piece.scratch = workspace.data() + omp_get_thread_num() * scratch;
      piece.in_scratch = row_part == rows_in_scratch && call.in <= linear_depth;
      (*kernels)->linear_piece(piece);
      rows_in_scratch = row_part;
    }
    if (norm_last.weight != nullptr) {
#pragma omp barrier
      for (std::int64_t row = next_row++; row < call.rows; row = next_row++)
        (*kernels)->normalise_row(norm_last, call.y.data + row * call.y.stride);
    }
  }
  return {};
}

}  // namespace attnscope::cpu
