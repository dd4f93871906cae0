// SPDX-License-Identifier: Apache-2.0
#include "engine/measure/row_watch.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "engine/attention/cuda_runtime.h"
#include "kernels/base/number_formats.h"

namespace attnscope::measure {
namespace {

// Reading a row costs two cache misses, or a copy of about 10 us from a device, beside samples of a
// millisecond and more.
constexpr std::size_t rows_on_processor = 16;
constexpr std::size_t rows_on_device = 4;

std::span<std::byte> row_of(const Tensor& tensor, const RowId& id) {
  return {tensor.data + tensor.offset(id.token, id.head) * size_of(tensor.dtype),
          static_cast<std::size_t>(tensor.head_dim * size_of(tensor.dtype))};
}

}  // namespace

RowWatch::RowWatch(DeviceKind device, const HeatReference& reference) : device_(device) {
  const ReferenceRows& all = reference.rows;
  const std::size_t dim = static_cast<std::size_t>(all.head_dim);
  const std::size_t count =
      std::min(all.rows.size(), device == DeviceKind::cpu ? rows_on_processor : rows_on_device);
  Watched output{"output", false, all.scale_of_error, {}};
  Watched gradient{"grad_q", true, 1, {}};
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t r = i * all.rows.size() / count;
    const RowId id = all.rows[r];
    output.rows.push_back({id, std::span(all.output).subspan(r * dim, dim)});
    if (!reference.gradients) continue;
    const HeadGradients& head = reference.gradients->heads[static_cast<std::size_t>(id.head)];
    const std::int64_t place = head.query_place[static_cast<std::size_t>(id.token)];
    if (place < 0) continue;
    gradient.rows.push_back(
        {id, std::span(head.grad_q).subspan(static_cast<std::size_t>(place) * dim, dim)});
  }
  watched_.push_back(std::move(output));
  if (!reference.gradients) return;
  gradient.scale = reference.gradients->scale_of_grad_q;
  watched_.push_back(std::move(gradient));
}

void RowWatch::poison(const PlacedTensors& buffers) const {
  constexpr std::byte nan{0xFF};
  for (const Watched& watched : watched_) {
    const Tensor tensor = watched.is_gradient ? buffers.grad_q() : buffers.o();
    for (const Row& row : watched.rows) {
      const std::span<std::byte> bytes = row_of(tensor, row.id);
      if (device_ == DeviceKind::cpu) {
        std::ranges::fill(bytes, nan);
      } else {
        cuda::fill(bytes.data(), static_cast<std::int64_t>(bytes.size()), nan);
      }
    }
  }
}

double RowWatch::error_of(const Watched& watched, const Tensor& tensor) const {
  std::vector<std::byte> fetched;
  double largest = 0;
  for (const Row& row : watched.rows) {
    const std::span<std::byte> bytes = row_of(tensor, row.id);
    const std::byte* values = bytes.data();
    if (device_ != DeviceKind::cpu) {
      fetched.resize(bytes.size());
      cuda::copy_to_host(fetched, bytes.data());
      values = fetched.data();
    }
    for (std::size_t i = 0; i < row.expected.size(); ++i) {
      const double value = read_value(values, tensor.dtype, static_cast<std::int64_t>(i));
      if (!std::isfinite(value)) return std::numeric_limits<double>::infinity();
      largest = std::max(largest, std::abs(value - row.expected[i]));
    }
  }
  return largest / watched.scale;
}

std::optional<RowWatch::Wrong> RowWatch::judge(const PlacedTensors& buffers) const {
  for (const Watched& watched : watched_) {
    const Tensor tensor = watched.is_gradient ? buffers.grad_q() : buffers.o();
    const double error = error_of(watched, tensor);
    const double bound =
        watched.is_gradient ? gradient_error_bound(tensor.dtype) : error_bound(tensor.dtype);
    if (error <= bound) continue;
    return Wrong{error, bound,
                 Trouble{CellStatus::wrong,
                         fmt::format("its {} was right when it was checked and wrong after timed "
                                     "calls: the relative error is {:.3g}, above {:.3g}",
                                     watched.name, error, bound)}};
  }
  return std::nullopt;
}

}  // namespace attnscope::measure
