// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/torch_tensors.h"

#include <ATen/Parallel.h>
#include <ATen/ops/baddbmm.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>

#include "kernels/plan/number_formats.h"

namespace attnscope {
namespace {

at::Tensor strided_view(void* data, const ConstTensor& tensor, TokenRange range, std::int64_t batch,
                        std::int64_t heads, at::Device device) {
  const std::int64_t item_stride =
      tensor.item_tokens > 0 ? tensor.item_stride : range.size() * tensor.token_stride;
  void* first =
      static_cast<std::byte*>(data) + tensor.offset(range.begin, 0) * size_of(tensor.dtype);
  return at::for_blob(first, {batch, heads, range.size(), tensor.head_dim})
      .strides({{item_stride, tensor.head_stride, tensor.token_stride, 1}})
      .options(at::TensorOptions().dtype(scalar_type(tensor.dtype)).device(device))
      .target_device(device)  // otherwise LibTorch queries the driver for the memory's device
      .make_tensor();
}

}  // namespace

at::ScalarType scalar_type(DType dtype) {
  switch (dtype) {
    case DType::float32:
      return at::kFloat;
    case DType::float16:
      return at::kHalf;
    case DType::bfloat16:
      return at::kBFloat16;
  }
  return at::kFloat;
}

at::Device torch_device(DeviceKind device) {
  if (device == DeviceKind::cpu) return at::kCPU;
  return c10::impl::VirtualGuardImpl(c10::DeviceType::CUDA).getDevice();
}

at::Tensor view_of(const Tensor& tensor, TokenRange range, std::int64_t batch, std::int64_t heads,
                   at::Device device) {
  return strided_view(tensor.data, attnscope::as_const(tensor), range, batch, heads, device);
}

at::Tensor view_of(const ConstTensor& tensor, TokenRange range, std::int64_t batch,
                   std::int64_t heads, at::Device device) {
  // LibTorch has no const tensors; inputs are only read.
  return strided_view(const_cast<std::byte*>(tensor.data), tensor, range, batch, heads, device);
}

at::Tensor columns_of(const ConstTensor& tensor, const Block& block, std::int64_t heads,
                      at::Device device) {
  const at::Tensor own = view_of(tensor, block.own_keys, block.batch, heads, device);
  if (block.shared_keys.empty()) return own;
  return at::cat({view_of(tensor, block.shared_keys, block.batch, heads, device), own}, 2);
}

void use_torch_threads(int threads) {
  if (at::get_num_threads() != threads) at::set_num_threads(threads);
}

TorchMask make_mask(const AttentionPlan& plan, const TaskIndex& tasks, const Block& block,
                    DType dtype, float visible, float hidden, at::Device device) {
  const std::int64_t heads = tasks.differs_by_head() ? plan.heads : 1;
  const std::int64_t rows = block.rows();
  const std::int64_t columns = block.columns();
  const std::int64_t row_stride = device.is_cpu() ? columns : (columns + 7) / 8 * 8;
  TorchMask result;
  result.mask = at::empty({heads, rows, row_stride}, at::TensorOptions().dtype(scalar_type(dtype)));
  at::Tensor empty_rows = at::empty({heads, rows, 1}, at::TensorOptions().dtype(at::kBool));
  auto* data = static_cast<std::byte*>(result.mask.data_ptr());
  bool* empty = empty_rows.data_ptr<bool>();
  bool any_empty = false;
  result.mask.fill_(hidden);
#pragma omp parallel for collapse(2) schedule(static) reduction(|| : any_empty)
  for (std::int64_t head = 0; head < heads; ++head) {
    for (std::int64_t row = 0; row < rows; ++row) {
      auto runs = visible_columns(plan, tasks, block, row, static_cast<std::int32_t>(head));
      const std::int64_t line = (head * rows + row) * row_stride;
      const bool is_empty = runs.empty();
      if (is_empty) runs.push_back({0, columns});
      for (const TokenRange& run : runs) {
        for (std::int64_t c = run.begin; c < run.end; ++c) {
          write_value(data, dtype, line + c, visible);
        }
      }
      empty[head * rows + row] = is_empty;
      any_empty = any_empty || is_empty;
    }
  }
  if (any_empty) result.empty_rows = empty_rows;
  if (!device.is_cpu()) {
    result.mask = result.mask.to(device).narrow(2, 0, columns);
    if (any_empty) result.empty_rows = empty_rows.to(device);
  }
  return result;
}

std::int64_t mask_bytes(const TaskIndex& tasks, const Block& block, DType dtype,
                        std::int64_t heads) {
  return (tasks.differs_by_head() ? heads : 1) * block.rows() * block.columns() * size_of(dtype);
}

at::Tensor as_matrices(const at::Tensor& view) {
  return view.reshape({view.size(0) * view.size(1), view.size(2), view.size(3)});
}

void scaled_product_into(at::Tensor out, const at::Tensor& a, const at::Tensor& b, double scale) {
  at::baddbmm_out(out, out, a, b, /*beta=*/0, scale);
}

at::Tensor scaled_product(const at::Tensor& a, const at::Tensor& b, double scale) {
  at::Tensor result = at::empty({a.size(0), a.size(1), b.size(2)}, a.options());
  scaled_product_into(result, a, b, scale);
  return result;
}

at::Tensor scaled_product_in_graph(const at::Tensor& a, const at::Tensor& b, double scale) {
  // The added tensor is ignored (beta = 0) and only needs a shape.
  const at::Tensor nothing = at::zeros({1, 1, 1}, a.options().requires_grad(false));
  return at::baddbmm(nothing, a, b, /*beta=*/0, scale);
}

}  // namespace attnscope
