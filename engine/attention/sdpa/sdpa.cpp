// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/sdpa/sdpa.h"

#include <ATen/detail/CUDAHooksInterface.h>
#include <ATen/ops/_scaled_dot_product_cudnn_attention.h>
#include <ATen/ops/_scaled_dot_product_efficient_attention.h>
#include <ATen/ops/_scaled_dot_product_flash_attention.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/scaled_dot_product_attention.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>

#include "engine/attention/blocks.h"
#include "engine/attention/cuda_runtime.h"
#include "engine/attention/prepared_blocks.h"

namespace attnscope {

// The conditions are LibTorch's own, from aten/src/ATen/native/transformers/cuda/sdp_utils.cpp of
// version 2.15; comments name the function.

namespace {

constexpr std::int64_t largest_flash_dim = 256;  // check_head_dim_size_flash
// check_cudnn_tensor_shapes; a larger dimension depends on cuDNN, its front end and the device, and
// the backward supports only 256.
constexpr std::int64_t largest_cudnn_dim = 128;
constexpr std::int64_t oldest_cudnn = 90000;  // can_use_cudnn_attention
// check_cudnn_tensor_shapes; for the other two kernels it is the limit of a grid's second
// dimension.
constexpr std::int64_t largest_batch = 65535;

int capability(const SdpaDevice& device) {
  return 10 * device.compute_major + device.compute_minor;
}

/// check_flash_attention_hardware_support, check_mem_efficient_hardware_support (whose minimum is
/// lower than the one that this program requires) and check_cudnn_hardware_support.
Status supports_device(std::string_view id, const SdpaDevice& device) {
  if (capability(device) >= 80 && capability(device) <= 121) return {};
  return fail("{} runs on devices of compute capability 8.0 to 12.1, and this one has {}.{}", id,
              device.compute_major, device.compute_minor);
}

/// check_dtypes_low_precision.
Status is_16_bit(std::string_view id, const Problem& problem) {
  if (problem.dtype != DType::float32) return {};
  return fail(
      "{} supports float16 and bfloat16 on CUDA, not float32; sdpa-efficient supports float32", id);
}

/// check_for_attn_mask.
Status needs_no_mask(const Problem& problem) {
  if (is_full_attention(problem.layout, problem.plan)) return {};
  return fail(
      "sdpa-flash supports no mask on CUDA, and pattern {} needs one here; sdpa-efficient supports "
      "it",
      problem.pattern.name);
}

/// check_head_dim_size_mem_efficient with minimum_gemm_alignment of compute capability 8.0 and
/// newer: 16 bytes.
Status rows_are_aligned(const Problem& problem) {
  const std::int64_t multiple = 16 / size_of(problem.dtype);
  if (problem.head_dim % multiple == 0) return {};
  return fail("sdpa-efficient supports head dimensions that are multiples of {} in {}, not {}",
              multiple, name_of(problem.dtype), problem.head_dim);
}

/// check_cudnn_tensor_shapes.
Status cudnn_supports_shape(const Problem& problem, const std::vector<Block>& blocks) {
  if (problem.head_dim % 8 != 0 || problem.head_dim > largest_cudnn_dim) {
    return fail("sdpa-cudnn supports head dimensions that are multiples of 8 up to {}, not {}",
                largest_cudnn_dim, problem.head_dim);
  }
  for (const Block& block : blocks) {
    if (block.columns() == 1) {
      return fail("sdpa-cudnn supports no item of a single token, and this batch has one");
    }
  }
  return {};
}

Status batch_fits(std::string_view id, const std::vector<Block>& blocks) {
  for (const Block& block : blocks) {
    if (block.batch > largest_batch) {
      return fail("{} supports at most {} items in one call, not {}", id, largest_batch,
                  block.batch);
    }
  }
  return {};
}

Status has_cudnn(const SdpaDevice& device) {
  if (device.cudnn_version == 0) return fail("sdpa-cudnn needs a LibTorch with cuDNN");
  if (device.cudnn_version >= oldest_cudnn) return {};
  return fail("sdpa-cudnn needs cuDNN 9.0 or newer, and LibTorch uses version {}",
              device.cudnn_version);
}

}  // namespace

Status flash_supports_on_cuda(std::string_view id, const Problem& problem,
                              const SdpaDevice& device) {
  if (Status ok = is_16_bit(id, problem); !ok) return ok;
  if (Status ok = supports_device(id, device); !ok) return ok;
  if (problem.head_dim > largest_flash_dim) {
    return fail("{} supports head dimensions up to {}, not {}", id, largest_flash_dim,
                problem.head_dim);
  }
  // check_requires_grad_and_head_dim_gt192_constraints_on_sm86_89_or_120: too little shared memory.
  const int sm = capability(device);
  const bool small = (sm >= 86 && sm <= 89) || sm == 120 || sm == 121;
  if (problem.direction == Direction::forward_backward && small && problem.head_dim > 192 &&
      problem.head_dim <= 224) {
    return fail("{} has no gradients for head dimensions 193 to 224 on compute capability {}.{}",
                id, device.compute_major, device.compute_minor);
  }
  return {};
}

Status sdpa_kernel_supports(SdpaKernel kernel, const Problem& problem, const SdpaDevice& device) {
  const std::string_view id = id_of(kernel);
  // On the CPU LibTorch has one fused kernel, which supports every dtype, head dimension and mask
  // (use_flash_attention_cpp in aten/src/ATen/native/transformers/sdp_utils_cpp.cpp).
  if (problem.device == DeviceKind::cpu) {
    if (kernel == SdpaKernel::flash) return {};
    return fail("{} is a CUDA kernel; LibTorch's fused kernel for the CPU is sdpa-flash", id);
  }
  const std::vector<Block> blocks = blocks_of(problem.layout);
  if (Status ok = batch_fits(id, blocks); !ok) return ok;
  switch (kernel) {
    case SdpaKernel::flash:
      if (Status ok = flash_supports_on_cuda(id, problem, device); !ok) return ok;
      return needs_no_mask(problem);
    case SdpaKernel::efficient:
      if (Status ok = supports_device(id, device); !ok) return ok;
      return rows_are_aligned(problem);
    case SdpaKernel::cudnn:
      if (Status ok = is_16_bit(id, problem); !ok) return ok;
      if (Status ok = supports_device(id, device); !ok) return ok;
      if (Status ok = has_cudnn(device); !ok) return ok;
      return cudnn_supports_shape(problem, blocks);
    case SdpaKernel::chosen_by_libtorch:
      break;
  }
  return {};
}

namespace {

FlashTile tile_of(const std::array<FlashTile, 6>& tiles, std::int64_t head_dim) {
  const auto* tile = std::ranges::find_if(
      tiles, [head_dim](const FlashTile& candidate) { return head_dim <= candidate.dim; });
  return tile == tiles.end() ? tiles.back() : *tile;
}

std::int64_t up_to_whole(std::int64_t size, std::int64_t tile) {
  return (size + tile - 1) / tile * tile;
}

}  // namespace

FlashTile flash_forward_tile(std::int64_t head_dim) {
  static constexpr std::array<FlashTile, 6> tiles{{{128, 128, 32},
                                                   {128, 128, 64},
                                                   {128, 64, 96},
                                                   {128, 64, 128},
                                                   {128, 64, 192},
                                                   {128, 64, 256}}};
  return tile_of(tiles, head_dim);
}

FlashTile flash_backward_tile(std::int64_t head_dim) {
  static constexpr std::array<FlashTile, 6> tiles{{{128, 128, 32},
                                                   {128, 128, 64},
                                                   {64, 128, 96},
                                                   {64, 128, 128},
                                                   {64, 64, 192},
                                                   {64, 64, 256}}};
  return tile_of(tiles, head_dim);
}

double pairs_in_tiles(const FlashPairs& pairs, const FlashTile& tile) {
  const std::int64_t all_keys = up_to_whole(pairs.keys, tile.keys);
  std::int64_t sum = 0;
  for (std::int64_t row = 0; row < pairs.rows; row += tile.rows) {
    std::int64_t begin = 0;
    std::int64_t end = all_keys;
    if (pairs.window >= 0) {
      begin = std::max<std::int64_t>(0, row - pairs.window) / tile.keys * tile.keys;
      end = std::min(all_keys, up_to_whole(row + tile.rows + pairs.window, tile.keys));
    }
    sum += tile.rows * std::max<std::int64_t>(0, end - begin);
  }
  return static_cast<double>(sum);
}

namespace {

constexpr double no_dropout = 0.0;
constexpr bool not_causal = false;

/// A mask that all items, or all items and heads, share is stored once; strides of 0 repeat it.
std::optional<at::Tensor> repeated(const SdpaOperands& operands) {
  if (!operands.bias) return std::nullopt;
  const at::Tensor& q = operands.q;
  return operands.bias->expand({q.size(0), q.size(1), q.size(2), operands.k.size(2)});
}

SdpaResult on_cpu(const SdpaOperands& operands, double scale) {
  auto [o, lse] = at::_scaled_dot_product_flash_attention_for_cpu(
      operands.q, operands.k, operands.v, no_dropout, not_causal, repeated(operands), scale);
  return {.o = o, .lse = lse};
}

/// The kernel needs head dimensions that are multiples of 8; LibTorch pads to them in every call,
/// and so does this function.
SdpaResult flash(const SdpaOperands& operands, double scale) {
  const std::int64_t dim = operands.q.size(3);
  const std::int64_t missing = (8 - dim % 8) % 8;
  const auto padded = [&](const at::Tensor& tensor) {
    return missing == 0 ? tensor : at::constant_pad_nd(tensor, {0, missing});
  };
  const auto result = at::_scaled_dot_product_flash_attention(
      padded(operands.q), padded(operands.k), padded(operands.v), no_dropout, not_causal,
      /*return_debug_mask=*/false, scale);
  const at::Tensor& o = std::get<0>(result);
  return {.o = missing == 0 ? o : o.narrow(3, 0, dim), .lse = std::get<1>(result)};
}

SdpaResult efficient(const SdpaOperands& operands, double scale, bool with_lse) {
  auto [o, lse, seed, offset] = at::_scaled_dot_product_efficient_attention(
      operands.q, operands.k, operands.v, repeated(operands), with_lse, no_dropout, not_causal,
      scale);
  // The log-sum-exps are padded to whole tiles.
  return {.o = o, .lse = with_lse ? lse.narrow(2, 0, operands.q.size(2)) : at::Tensor()};
}

/// The operator broadcasts a bias of one item or head itself.
SdpaResult cudnn(const SdpaOperands& operands, double scale, bool with_lse) {
  const auto result = at::_scaled_dot_product_cudnn_attention(
      operands.q, operands.k, operands.v, operands.bias, with_lse, no_dropout, not_causal,
      /*return_debug_mask=*/false, scale);
  // [batch, heads, rows, 1]
  const at::Tensor& lse = std::get<1>(result);
  const at::Tensor& q = operands.q;
  return {.o = std::get<0>(result),
          .lse = with_lse ? lse.view({q.size(0), q.size(1), q.size(2)}) : at::Tensor()};
}

}  // namespace

SdpaResult run_sdpa_kernel(SdpaKernel kernel, const SdpaOperands& operands, double scale,
                           bool with_lse) {
  switch (kernel) {
    case SdpaKernel::flash:
      return operands.q.is_cpu() ? on_cpu(operands, scale) : flash(operands, scale);
    case SdpaKernel::efficient:
      return efficient(operands, scale, with_lse);
    case SdpaKernel::cudnn:
      return cudnn(operands, scale, with_lse);
    case SdpaKernel::chosen_by_libtorch:
      break;
  }
  return {.o = at::scaled_dot_product_attention(operands.q, operands.k, operands.v,
                                                repeated(operands), no_dropout, not_causal, scale),
          .lse = {}};
}

SdpaDevice current_sdpa_device() {
  if (!cuda::usable()) return {};
  const CudaDevice device = cuda_devices().devices.front();
  const at::CUDAHooksInterface& hooks = at::detail::getCUDAHooks();
  return {.compute_major = device.compute_major,
          .compute_minor = device.compute_minor,
          .cudnn_version = hooks.hasCuDNN() ? hooks.versionRuntimeCuDNN() : 0};
}

namespace {

// LibTorch's CPU kernel works in tiles of at most this many rows and keys, one set per thread
// (aten/src/ATen/native/cpu/FlashAttentionKernel.cpp: q_split_size, kv_split_size).
constexpr std::int64_t tile_rows = 256;
constexpr std::int64_t tile_keys = 512;
constexpr std::int64_t packed_keys = 64;  // packb_size there

// A boolean mask would be converted to an additive one in every call. For cuDNN LibTorch used to
// write the lowest float16 value (convert_boolean_attn_mask_cudnn in
// aten/src/ATen/native/transformers/attention.cpp), which every version accepts.
MaskValues additive(SdpaKernel kernel) {
  if (kernel == SdpaKernel::cudnn) return {0.0F, -65504.0F};
  return {0.0F, -std::numeric_limits<float>::infinity()};
}

class PreparedSdpa final : public PreparedBlocks {
 public:
  PreparedSdpa(const Problem& problem, SdpaKernel kernel, bool masked)
      : PreparedBlocks(problem, masked, additive(kernel)), kernel_(kernel) {}

  /// LibTorch's own choice returns only o.
  bool writes_lse() const override { return kernel_ != SdpaKernel::chosen_by_libtorch; }

  ExecutedWork executed() const override {
    ExecutedWork work;
    const auto element = static_cast<double>(size_of(problem_.dtype));
    for (const Block& block : blocks_) {
      const auto matrices = static_cast<double>(block.batch * heads_);
      const auto rows = static_cast<double>(block.rows());
      const auto columns = static_cast<double>(block.columns());
      const auto dim = static_cast<double>(problem_.head_dim);
      work.flop += matrices * flop_of(block);
      work.bytes += element * matrices * (with_gradients() ? 2 + 4 : 2) * (rows + columns) * dim;
      // Each matrix reads the mask again, in both passes.
      if (masked_) work.bytes += element * matrices * (with_gradients() ? 2 : 1) * rows * columns;
    }
    return work;
  }

 protected:
  /// Kept: the result, the log-sum-exps, which LibTorch always computes, gathered keys and values,
  /// and operands padded to a head dimension that the CUDA flash kernel supports. Working memory:
  /// keys and values repacked for 16-bit products on the CPU or, in the backward, the incoming
  /// gradient in LibTorch's own order, three outgoing ones and, on CUDA, their sums in float32.
  BlockBytes bytes_of(const Block& block) const override {
    const std::int64_t matrices = block.batch * heads_;
    const std::int64_t element = size_of(problem_.dtype);
    const std::int64_t rows = whole(block.rows(), on_cuda() ? 128 : 1);
    const std::int64_t columns = whole(block.columns(), on_cuda() ? 128 : 64);
    const bool pads = on_cuda() && kernel_ == SdpaKernel::flash && problem_.head_dim % 8 != 0;
    const std::int64_t dim = pads ? whole(problem_.head_dim, 8) : problem_.head_dim;
    const std::int64_t operands = pads ? block.rows() + 2 * block.columns() : 0;
    const std::int64_t gathered = block.shared_keys.empty() ? 0 : 2 * block.columns();
    const std::int64_t kept = (block.rows() + operands + gathered) * dim * element +
                              rows * static_cast<std::int64_t>(sizeof(float));
    std::int64_t working = on_cuda() || element == sizeof(float) ? 0 : 2 * columns * dim * element;
    if (with_gradients()) {
      const std::int64_t gradients = 2 * (block.rows() + block.columns()) * dim * element;
      const std::int64_t sums = on_cuda() ? (rows + 2 * columns) * (whole(dim, 32) + 1) * 4 : 0;
      working = std::max(working, (pads ? 2 : 1) * gradients + sums);
    }
    return {.kept = matrices * kept, .working = matrices * working};
  }

  std::int64_t library_bytes() const override {
    return sdpa_tile_bytes(problem_, tile_rows, tile_keys);
  }

 private:
  /// Operations of one matrix: two products in the forward; five in the backward, which computes
  /// the scores again and four gradients. CUDA's flash kernels compute whole tiles.
  double flop_of(const Block& block) const {
    const auto pairs = static_cast<double>(block.rows()) * static_cast<double>(block.columns());
    const auto dim = static_cast<double>(problem_.head_dim);
    if (!on_cuda() || kernel_ != SdpaKernel::flash) {
      return 2 * (with_gradients() ? 2 + 5 : 2) * pairs * dim;
    }
    const FlashPairs all{.rows = block.rows(), .keys = block.columns()};
    const auto products = [&](double count, const FlashTile& tile) {
      return 2 * count * pairs_in_tiles(all, tile) * static_cast<double>(tile.dim);
    };
    const double forward = products(2, flash_forward_tile(problem_.head_dim));
    if (!with_gradients()) return forward;
    return forward + products(5, flash_backward_tile(problem_.head_dim));
  }

  static std::int64_t whole(std::int64_t count, std::int64_t tile) {
    return (count + tile - 1) / tile * tile;
  }

  SdpaResult attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                    const TorchMask* mask, bool with_lse) const {
    std::optional<at::Tensor> bias;
    if (mask != nullptr) bias = mask->mask.unsqueeze(0);
    return run_sdpa_kernel(kernel_, {.q = q, .k = k, .v = v, .bias = bias},
                           static_cast<double>(problem_.scale), with_lse);
  }

  void run(const ForwardCall& call, const Block& block, const TorchMask* mask) const override {
    const at::Tensor q = view(call.q, block.queries, block.batch);
    const at::Tensor k = view_columns(call.k, block);
    const at::Tensor v = view_columns(call.v, block);
    at::Tensor o = view(call.o, block.queries, block.batch);
    const SdpaResult result = attend(q, k, v, mask, !call.lse.empty());
    o.copy_(result.o);
    if (mask != nullptr && mask->empty_rows.defined()) o.masked_fill_(mask->empty_rows, 0);
    write_lse(call, block, result.lse, mask);
  }

  Attended graph(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                 const Block& /*block*/, const TorchMask* mask) const override {
    SdpaResult result = attend(q, k, v, mask, /*with_lse=*/true);
    if (mask != nullptr && mask->empty_rows.defined()) {
      result.o = result.o.masked_fill(mask->empty_rows, 0);
    }
    return {.o = std::move(result.o), .lse = std::move(result.lse)};
  }

  SdpaKernel kernel_;
};

}  // namespace

/// Tiles of all threads: scores and sums and, in the backward, the gradient of the weights; for
/// 16-bit types also rounded copies of them. Processors that multiply 16-bit tiles (AMX) also pack
/// queries and a block of keys.
std::int64_t sdpa_tile_bytes(const Problem& problem, std::int64_t rows, std::int64_t columns) {
  if (problem.device == DeviceKind::cuda) return 0;
  rows = std::min(rows, tile_rows);
  columns = std::min(columns, tile_keys);
  const bool with_gradients = problem.direction == Direction::forward_backward;
  const std::int64_t floats = (with_gradients ? 2 : 1) * columns + problem.head_dim + 2;
  std::int64_t bytes = rows * floats * static_cast<std::int64_t>(sizeof(float));
  if (problem.dtype != DType::float32 && with_gradients) {
    bytes += bytes / 2 + product_blocks_of_a_thread;
  } else if (problem.dtype != DType::float32) {
    const std::int64_t packed =
        rows * problem.head_dim + 2 * packed_keys * std::max(problem.head_dim, packed_keys);
    bytes += (rows * columns + packed) * size_of(problem.dtype);
  }
  return problem.threads * bytes;
}

std::unique_ptr<PreparedAttention> prepare_sdpa(const Problem& problem, SdpaKernel kernel,
                                                bool masked) {
  return std::make_unique<PreparedSdpa>(problem, kernel, masked);
}

}  // namespace attnscope
