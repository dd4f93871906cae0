// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/operands.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <limits>

namespace attnscope::cuda {
namespace {

bool is_aligned(const std::byte* data, std::int64_t bytes) {
  return reinterpret_cast<std::uintptr_t>(data) % static_cast<std::uintptr_t>(bytes) == 0;
}

}  // namespace

std::vector<NamedTensor> named(const GradientTensors& t) {
  return {{"q", t.q},
          {"k", t.k},
          {"v", t.v},
          {"grad_o", t.grad_o},
          {"grad_q", as_const(t.grad_q)},
          {"grad_k", as_const(t.grad_k)},
          {"grad_v", as_const(t.grad_v)},
          {"o", t.o}};
}

Operands::Operands(DType dtype, std::int64_t head_dim, std::int64_t tokens,
                   const std::vector<NamedTensor>& tensors)
    : dtype_(dtype), head_dim_(head_dim), tokens_(tokens) {
  for (const NamedTensor& named : tensors) {
    status_ = check(named);
    if (!status_) return;
    const ConstTensor& tensor = named.tensor;
    const std::int64_t size = size_of(dtype);
    const auto fits = [&](std::int64_t stride) { return stride * size % 16 == 0; };
    const bool split = is_split(tensor.item_tokens);
    in_pieces_ = in_pieces_ && is_aligned(tensor.data, 16) && fits(head_dim) &&
                 fits(tensor.token_stride) && fits(tensor.head_stride) &&
                 (!split || fits(tensor.item_stride));
    if (split) item_tokens_ = tensor.item_tokens;
    constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
    short_strides_ = short_strides_ && std::abs(tensor.token_stride) <= most / size;
  }
}

ItemDivision Operands::items() const {
  if (item_tokens_ == 0) return {};
  const auto divisor = static_cast<std::uint32_t>(item_tokens_);
  if (divisor == 1) return {.tokens = 1, .multiplier = 0, .shift = 0};
  const int power = 31 + std::bit_width(divisor - 1);
  const std::uint64_t multiplier = ((std::uint64_t{1} << power) + divisor - 1) / divisor;
  return {.tokens = divisor,
          .multiplier = static_cast<std::uint32_t>(multiplier),
          .shift = static_cast<std::uint32_t>(power - 32)};
}

Status Operands::check(const NamedTensor& named) const {
  const auto& [name, tensor] = named;
  if (tensor.dtype != dtype_) {
    return fail("{} has another dtype than the work list; use one dtype", name);
  }
  if (tensor.head_dim != head_dim_) {
    return fail("{} has head dimension {}, and the work list {}; use one head dimension", name,
                tensor.head_dim, head_dim_);
  }
  if (tensor.data == nullptr && tokens_ > 0) {
    return fail("{} has no data for its {} tokens; pass its device memory", name, tokens_);
  }
  if (!is_aligned(tensor.data, size_of(dtype_))) {
    return fail("{} is not aligned to its numbers of {} bytes; pass aligned memory", name,
                size_of(dtype_));
  }
  if (is_split(tensor.item_tokens) && item_tokens_ != 0 && item_tokens_ != tensor.item_tokens) {
    return fail(
        "{} has items of {} tokens, and an earlier tensor {}; use the same items for all tensors",
        name, tensor.item_tokens, item_tokens_);
  }
  return {};
}

Status check_memory(std::string_view operation, const std::byte* list, std::size_t list_bytes,
                    const std::byte* workspace, std::int64_t workspace_bytes) {
  const auto check = [&](std::string_view name, const std::byte* data, std::int64_t bytes,
                         std::int64_t alignment) -> Status {
    if (bytes == 0 || (data != nullptr && is_aligned(data, alignment))) return {};
    return fail("{} got no {} aligned to {} bytes; pass {} bytes of such device memory", operation,
                name, alignment, bytes);
  };
  if (Status s = check("work list", list, static_cast<std::int64_t>(list_bytes), 256); !s) return s;
  return check("workspace", workspace, workspace_bytes, 16);
}

Status made_for_forward_only(std::string_view operation) {
  return fail(
      "{}: the work list was made for only the forward pass; make it with "
      "Passes::forward_backward",
      operation);
}

Status failed_call(const char* call, const char* file, int line, const char* text,
                   const char* name) {
  return fail("CUDA: {} failed at {}:{}: {} ({}){}", call, file, line, text, name,
              how_to_find_the_launch(name));
}

std::atomic<bool>& synchronises_launches() {
  static std::atomic<bool> set = [] {
    const char* value = std::getenv("ATTNSCOPE_CUDA_SYNC");
    return value != nullptr && std::string_view(value) == "1";
  }();
  return set;
}

std::string_view how_to_find_the_launch(std::string_view name) {
  constexpr std::array<std::string_view, 10> of_kernels{
      "cudaErrorIllegalAddress",     "cudaErrorLaunchFailure",
      "cudaErrorLaunchTimeout",      "cudaErrorAssert",
      "cudaErrorHardwareStackError", "cudaErrorIllegalInstruction",
      "cudaErrorMisalignedAddress",  "cudaErrorInvalidAddressSpace",
      "cudaErrorInvalidPc",          "cudaErrorECCUncorrectable"};
  if (synchronises_launches() || std::ranges::find(of_kernels, name) == of_kernels.end()) return {};
  return "; a kernel queued earlier may be the cause: set ATTNSCOPE_CUDA_SYNC=1 to find the launch";
}

Status no_memory_for(std::string_view operation, std::string_view what, std::int64_t floats) {
  return fail("{}: {} has no memory for its {} floats", operation, what, floats);
}

Status refused_capture(const char* what) {
  return fail("CUDA: {} cannot be captured into a graph; make one call before the capture", what);
}

Status too_large_launch(const char* name, std::int64_t needed, std::string_view what,
                        std::string_view device, std::int64_t most) {
  return fail("CUDA: {} needs {} {}, and {} has at most {}{}", name, needed, what, device, most,
              what == "thread blocks" ? "; use a smaller batch" : "");
}

}  // namespace attnscope::cuda
