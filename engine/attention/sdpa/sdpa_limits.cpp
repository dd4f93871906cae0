// SPDX-License-Identifier: Apache-2.0
//
// The conditions are LibTorch's own, from aten/src/ATen/native/transformers/cuda/sdp_utils.cpp of
// version 2.15; comments name the function.
#include "engine/attention/blocks.h"
#include "engine/attention/sdpa/sdpa.h"

namespace attnscope {
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

/// check_flash_attention_hardware_support, check_mem_efficient_hardware_support (whose lower end is
/// below what this program needs) and check_cudnn_hardware_support.
Status device_is_known(std::string_view id, const SdpaDevice& device) {
  if (capability(device) >= 80 && capability(device) <= 121) return {};
  return fail("{} runs on devices of compute capability 8.0 to 12.1, and this one has {}.{}", id,
              device.compute_major, device.compute_minor);
}

/// check_dtypes_low_precision.
Status is_16_bit(std::string_view id, const Problem& problem) {
  if (problem.dtype != DType::float32) return {};
  return fail("{} takes float16 and bfloat16 on CUDA, not float32; sdpa-efficient takes float32",
              id);
}

/// check_for_attn_mask.
Status needs_no_mask(const Problem& problem) {
  if (is_full_attention(problem.layout, problem.plan)) return {};
  return fail(
      "sdpa-flash takes no mask on CUDA, and pattern {} needs one here; sdpa-efficient takes it",
      problem.pattern.name);
}

/// check_head_dim_size_mem_efficient with minimum_gemm_alignment of compute capability 8.0 and
/// newer: 16 bytes.
Status rows_are_aligned(const Problem& problem) {
  const std::int64_t multiple = 16 / size_of(problem.dtype);
  if (problem.head_dim % multiple == 0) return {};
  return fail("sdpa-efficient takes head dimensions that are multiples of {} in {}, not {}",
              multiple, name_of(problem.dtype), problem.head_dim);
}

/// check_cudnn_tensor_shapes.
Status cudnn_takes_shape(const Problem& problem, const std::vector<Block>& blocks) {
  if (problem.head_dim % 8 != 0 || problem.head_dim > largest_cudnn_dim) {
    return fail("sdpa-cudnn takes head dimensions that are multiples of 8 up to {}, not {}",
                largest_cudnn_dim, problem.head_dim);
  }
  for (const Block& block : blocks) {
    if (block.columns() == 1) {
      return fail("sdpa-cudnn takes no item of a single token, and this batch has one");
    }
  }
  return {};
}

Status batch_fits(std::string_view id, const std::vector<Block>& blocks) {
  for (const Block& block : blocks) {
    if (block.batch > largest_batch) {
      return fail("{} takes at most {} items in one call, not {}", id, largest_batch, block.batch);
    }
  }
  return {};
}

Status cudnn_is_there(const SdpaDevice& device) {
  if (device.cudnn_version == 0) return fail("sdpa-cudnn needs a LibTorch with cuDNN");
  if (device.cudnn_version >= oldest_cudnn) return {};
  return fail("sdpa-cudnn needs cuDNN 9.0 or newer, and LibTorch has found {}",
              device.cudnn_version);
}

}  // namespace

Status flash_takes_on_cuda(std::string_view id, const Problem& problem, const SdpaDevice& device) {
  if (Status ok = is_16_bit(id, problem); !ok) return ok;
  if (Status ok = device_is_known(id, device); !ok) return ok;
  if (problem.head_dim > largest_flash_dim) {
    return fail("{} takes head dimensions up to {}, not {}", id, largest_flash_dim,
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

Status sdpa_kernel_takes(SdpaKernel kernel, const Problem& problem, const SdpaDevice& device) {
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
      if (Status ok = flash_takes_on_cuda(id, problem, device); !ok) return ok;
      return needs_no_mask(problem);
    case SdpaKernel::efficient:
      if (Status ok = device_is_known(id, device); !ok) return ok;
      return rows_are_aligned(problem);
    case SdpaKernel::cudnn:
      if (Status ok = is_16_bit(id, problem); !ok) return ok;
      if (Status ok = device_is_known(id, device); !ok) return ok;
      if (Status ok = cudnn_is_there(device); !ok) return ok;
      return cudnn_takes_shape(problem, blocks);
    case SdpaKernel::chosen_by_libtorch:
      break;
  }
  return {};
}

}  // namespace attnscope
