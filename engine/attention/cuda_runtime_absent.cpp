// SPDX-License-Identifier: Apache-2.0
//
// Builds that cannot compute on CUDA. Callers ask usable() first, so that getting here is our own
// mistake.
#include <stdexcept>

#include "engine/attention/cuda_runtime.h"
#include "engine/attention/libtorch_cuda.h"

namespace attnscope::cuda {
namespace {

[[noreturn]] void refuse() {
  throw std::logic_error("CUDA was asked for in a build that cannot use it");
}

}  // namespace

LibTorchCuda libtorch_cuda() {
  return {};
}

std::optional<std::string> lost() {
  return std::nullopt;
}

std::byte* allocate(std::int64_t) {
  refuse();
}

void release(std::byte*) noexcept {}

void copy_to_device(std::byte*, std::span<const std::byte>) {
  refuse();
}

void copy_to_host(std::span<std::byte>, const std::byte*) {
  refuse();
}

void fill(std::byte*, std::int64_t, std::byte) {
  refuse();
}

void wait() {
  refuse();
}

Stream current_stream() {
  refuse();
}

}  // namespace attnscope::cuda
