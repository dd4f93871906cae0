// SPDX-License-Identifier: Apache-2.0
//
// Checks, packs weights, and distributes pieces of rows and outputs to threads.
#include "kernels/cpu/linear.h"

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

#include "kernels/cpu/kernel_table.h"
#include "kernels/cpu/selected_kernels.h"
#include "kernels/plan/number_formats.h"

namespace attnscope::cpu {
namespace {

/// Pieces per thread: several, so that threads end together although the machine may delay one.
/// With few rows, whose weights are read once, pieces are larger, because the next panel is
/// prefetched only within a piece.
constexpr std::int64_t pieces_of_a_thread = 4;
constexpr std::int64_t large_pieces_of_a_thread = 2;

std::int64_t panels_of(std::int64_t out) {
  return (out + linear_panel - 1) / linear_panel;
}

std::int64_t parts_of(std::int64_t whole, std::int64_t most) {
  return (whole + most - 1) / most;
}

std::int64_t float_bytes(std::int64_t floats) {
  return floats * static_cast<std::int64_t>(sizeof(float));
}

/// Number of groups of 4 bytes: one float, two numbers of 16 bits or four of 8.
std::int64_t groups_of(Products products, std::int64_t in) {
  switch (products) {
    case Products::float32:
      return in;
    case Products::bfloat16:
      return parts_of(in, 2 * narrow_groups_unit) * narrow_groups_unit;
    case Products::int8:
      return parts_of(in, 4 * narrow_groups_unit) * narrow_groups_unit;
  }
  return in;
}

/// Bytes of the panels; they are followed, for int8, by a scale for each output and the excess of
/// its sums.
std::int64_t panel_bytes(Products products, std::int64_t out, std::int64_t in) {
  return float_bytes(panels_of(out) * linear_panel * groups_of(products, in));
}

Status check_packed(Products products, std::int64_t out, std::int64_t in, std::size_t bytes) {
  const std::int64_t wanted = packed_linear_bytes(products, out, in);
  if (static_cast<std::int64_t>(bytes) == wanted) return {};
  return fail("packed weights of {} x {} are {} bytes, not {}", out, in, wanted, bytes);
}

/// Writes an output's weights into groups, `linear_panel` groups apart.
void pack_bfloat16(std::span<const float> row, std::uint16_t* to) {
  for (std::size_t c = 0; c < row.size(); ++c)
    to[c / 2 * (2 * linear_panel) + c % 2] = bfloat16_from_float(row[c]);
}

/// If not all weights are finite, the scale and all results are NaN.
void pack_int8(std::span<const float> row, std::int8_t* to, float& scale, std::int32_t& too_much) {
  float largest = 0;
  bool finite = true;
  for (const float w : row) {
    largest = std::max(largest, std::abs(w));
    finite = finite && std::isfinite(w);
  }
  too_much = 0;
  scale = finite ? 0 : std::numeric_limits<float>::quiet_NaN();
  if (!finite || largest < 1e-30F) return;
  scale = largest / 127;
  for (std::size_t c = 0; c < row.size(); ++c) {
    const auto q =
        static_cast<std::int8_t>(std::clamp(std::nearbyint(row[c] / scale), -127.0F, 127.0F));
    to[c / 4 * (4 * linear_panel) + c % 4] = q;
    too_much += 128 * q;
  }
}

Status check_linear(const LinearCall& call, int threads, std::span<const float> workspace) {
  if (call.rows < 0 || call.in < 1 || call.out < 1) {
    return fail("a linear layer cannot map {} rows of {} numbers to {} outputs", call.rows, call.in,
                call.out);
  }
  if (Status packed = check_packed(call.products, call.out, call.in, call.weights.size()); !packed)
    return packed;
  if (!call.bias.empty() && static_cast<std::int64_t>(call.bias.size()) != call.out) {
    return fail("a bias of {} outputs needs as many floats, not {}", call.out, call.bias.size());
  }
  for (const auto& part : {call.norm.weight, call.norm.bias}) {
    const bool none = call.norm.weight.empty() && part.empty();
    if (!none && static_cast<std::int64_t>(part.size()) != call.out) {
      return fail("the norm of {} outputs needs as many weights and biases, not {}", call.out,
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

std::int64_t most_rows(Products products) {
  switch (products) {
    case Products::float32:
      return linear_rows;
    case Products::bfloat16:
      return narrow_rows;
    case Products::int8:
      return narrow_rows / narrow_parts_of_int8;
  }
  return linear_rows;
}

/// The division of rows and panels of outputs. No result depends on it.
struct LinearCut {
  LinearCut(const LinearCall& call, int threads)
      : rows(call.rows),
        panels(panels_of(call.out)),
        row_unit(call.products == Products::float32 ? linear_rows_unit : narrow_rows_unit),
        row_parts(parts_of(rows, most_rows(call.products))),
        panel_parts(parts_of(panels, linear_outputs / linear_panel)) {
    const std::int64_t wanted =
        threads == 1 ? 1
                     : threads * (row_parts == 1 ? large_pieces_of_a_thread : pieces_of_a_thread);
    if (row_parts * panel_parts < wanted)
      panel_parts = std::min(parts_of(wanted, row_parts), panels);
  }
  [[nodiscard]] std::int64_t pieces() const { return row_parts * panel_parts; }
  /// First row of a part.
  [[nodiscard]] std::int64_t row(std::int64_t part) const {
    return std::min(rows, part * parts_of(rows, row_unit) / row_parts * row_unit);
  }

  std::int64_t rows, panels, row_unit, row_parts, panel_parts;
};

RowNorm norm_of(const LinearCall& call) {
  if (call.norm.weight.empty()) return {};
  return {call.norm.weight.data(), call.norm.bias.data(), call.out, call.norm.epsilon};
}

LinearPiece piece_of(const LinearCall& call, const LinearCut& cut, std::int64_t row_part,
                     std::int64_t panel_part) {
  const std::int64_t row = cut.row(row_part);
  const std::int64_t panel = panel_part * cut.panels / cut.panel_parts;
  const std::int64_t output = panel * linear_panel;
  const std::int64_t end = (panel_part + 1) * cut.panels / cut.panel_parts * linear_panel;
  const float* rest = call.rest.data;
  const std::int64_t groups = groups_of(call.products, call.in);
  const auto* scales = reinterpret_cast<const float*>(
      call.weights.data() + panel_bytes(call.products, call.out, call.in));
  return {.x = call.x.data + row * call.x.stride,
          .x_stride = call.x.stride,
          .rows = cut.row(row_part + 1) - row,
          .in = call.in,
          .products = call.products,
          .weights = call.weights.data() + float_bytes(output * groups),
          .groups = groups,
          .weight_scales = scales + output,
          .sums_too_much =
              reinterpret_cast<const std::int32_t*>(scales + cut.panels * linear_panel) + output,
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

std::int64_t packed_linear_bytes(Products products, std::int64_t out, std::int64_t in) {
  const std::int64_t scales = products == Products::int8 ? 2 * panels_of(out) * linear_panel : 0;
  return panel_bytes(products, out, in) + float_bytes(scales);
}

Status pack_linear(std::span<const float> weights, Products products, std::int64_t out,
                   std::int64_t in, std::span<std::byte> packed) {
  if (out < 1 || in < 1 || static_cast<std::int64_t>(weights.size()) != out * in) {
    return fail("{} floats are not weights of {} x {}", weights.size(), out, in);
  }
  if (Status sizes = check_packed(products, out, in, packed.size()); !sizes) return sizes;
  std::ranges::fill(packed, std::byte{0});
  const std::int64_t groups = groups_of(products, in);
  std::byte* after = packed.data() + panel_bytes(products, out, in);
  auto* scales = reinterpret_cast<float*>(after);
  auto* too_much =
      reinterpret_cast<std::int32_t*>(after + float_bytes(panels_of(out) * linear_panel));
  for (std::int64_t o = 0; o < out; ++o) {
    const std::span row =
        weights.subspan(static_cast<std::size_t>(o * in), static_cast<std::size_t>(in));
    std::byte* to =
        packed.data() + float_bytes(o / linear_panel * linear_panel * groups + o % linear_panel);
    switch (products) {
      case Products::float32:
        for (std::int64_t c = 0; c < in; ++c)
          reinterpret_cast<float*>(to)[c * linear_panel] = row[static_cast<std::size_t>(c)];
        break;
      case Products::bfloat16:
        pack_bfloat16(row, reinterpret_cast<std::uint16_t*>(to));
        break;
      case Products::int8:
        pack_int8(row, reinterpret_cast<std::int8_t*>(to), scales[o], too_much[o]);
        break;
    }
  }
  return {};
}

std::int64_t linear_workspace_floats(std::int64_t rows, int threads) {
  return threads * linear_scratch_floats(rows);
}

Status linear(const LinearCall& call, int threads, std::span<float> workspace) {
  if (Status sizes = check_linear(call, threads, workspace); !sizes) return sizes;
  const Result<const LinearKernels*> kernels = selected_linear_kernels();
  if (!kernels) return tl::unexpected(kernels.error());
  if (call.rows == 0) return {};
  const LinearCut cut(call, threads);
  const int team = static_cast<int>(std::min<std::int64_t>(cut.pieces(), threads));
  const std::int64_t scratch = linear_scratch_floats(call.rows);
  // The norm of rows whose outputs are divided.
  const RowNorm norm_last = cut.panel_parts > 1 ? norm_of(call) : RowNorm{};
  std::atomic<std::int64_t> next{0}, next_row{0};
#pragma omp parallel num_threads(team)
  {
    std::int64_t rows_in_scratch = -1;
    for (std::int64_t i = next++; i < cut.pieces(); i = next++) {
      const std::int64_t row_part = i / cut.panel_parts;
      LinearPiece piece = piece_of(call, cut, row_part, i % cut.panel_parts);
      piece.scratch = workspace.data() + omp_get_thread_num() * scratch;
      piece.in_scratch = row_part == rows_in_scratch && piece.groups <= linear_depth;
      (*kernels)->piece(piece);
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
