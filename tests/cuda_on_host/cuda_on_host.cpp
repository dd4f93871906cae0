// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda_on_host/cuda_on_host.h"

#include "tests/cuda_on_host/grid.h"
#include "tests/cuda_on_host/memory_watch.h"

using attnscope::on_host::runtime;

cudaError_t cudaGetDevice(int* device) {
  *device = runtime().device;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  const attnscope::on_host::Device& of = runtime().devices.at(static_cast<std::size_t>(device));
  *value = attribute == cudaDevAttrMaxGridDimX           ? of.blocks
           : attribute == cudaDevAttrMaxThreadsPerBlock  ? of.threads
           : attribute == cudaDevAttrMultiProcessorCount ? of.processors
                                                         : of.shared_bytes;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  const std::string& name = runtime().devices.at(static_cast<std::size_t>(device)).name;
  name.copy(properties->name, sizeof properties->name - 1);
  return cudaSuccess;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus* status) {
  *status = runtime().is_capturing ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t) {
  ++runtime().synchronisations;
  return runtime().kernels_fail ? cudaErrorIllegalAddress : cudaSuccess;
}

const char* cudaGetErrorString(cudaError_t error) {
  if (error == cudaErrorIllegalAddress) return "an illegal memory access was encountered";
  return error == cudaSuccess ? "no error" : "invalid argument";
}
const char* cudaGetErrorName(cudaError_t error) {
  if (error == cudaErrorIllegalAddress) return "cudaErrorIllegalAddress";
  return error == cudaSuccess ? "cudaSuccess" : "cudaErrorInvalidValue";
}
cudaError_t cudaGetLastError() {
  return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t) {
  std::memset(to, value, bytes);
  attnscope::on_host::set_by_host(to, static_cast<std::int64_t>(bytes));
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t) {
  std::memcpy(to, from, bytes);
  if (kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice) {
    attnscope::on_host::set_by_host(to, static_cast<std::int64_t>(bytes));
  }
  return cudaSuccess;
}

namespace attnscope::on_host {

namespace {

constexpr unsigned full_mask = 0xffffffffU;

void check_mask(const char* name, unsigned mask) {
  const OnHost on_host;
  if (mask != full_mask) misuse(fmt::format("{} with mask {:#x}, not the whole warp", name, mask));
}

struct Shuffled {
  std::uint64_t bits;
  int from;
  std::uint64_t received;
};

void exchange(void* const (&given)[warp_lanes]) {
  for (void* mine : given) {
    auto& shuffle = *static_cast<Shuffled*>(mine);
    shuffle.received = static_cast<const Shuffled*>(given[shuffle.from])->bits;
  }
}

const Collective shuffled{"__shfl_sync, __shfl_xor_sync or __shfl_down_sync", exchange};

struct Vote {
  bool given;
  unsigned all;
};

void count_votes(void* const (&given)[warp_lanes]) {
  unsigned all = 0;
  for (int lane = 0; lane < warp_lanes; ++lane) {
    if (static_cast<const Vote*>(given[lane])->given) all |= 1U << lane;
  }
  for (void* mine : given) static_cast<Vote*>(mine)->all = all;
}

const Collective voted{"__ballot_sync, __any_sync or __all_sync", count_votes};

template <typename Integer>
Integer add(Integer* at, Integer value) {
  check_atomic(at, sizeof(Integer));
  const Integer before = *at;
  *at = static_cast<Integer>(static_cast<unsigned>(before) + static_cast<unsigned>(value));
  return before;
}

}  // namespace

int lane() {
  return grid().thread % warp_lanes;
}

std::uint64_t shuffle(const char* name, unsigned mask, std::uint64_t bits, int from) {
  check_mask(name, mask);
  Shuffled mine{bits, from, 0};
  meet(shuffled, &mine);
  return mine.received;
}

}  // namespace attnscope::on_host

using namespace attnscope::on_host;

void __syncwarp(unsigned mask) {
  check_mask("__syncwarp", mask);
  synchronise_warp();
}

void __threadfence() {
  fence_of_thread();
}

unsigned __ballot_sync(unsigned mask, int predicate) {
  check_mask("a vote", mask);
  Vote vote{predicate != 0, 0};
  meet(voted, &vote);
  return vote.all;
}

int atomicAdd(int* at, int value) {
  return add(at, value);
}
unsigned atomicAdd(unsigned* at, unsigned value) {
  return add(at, value);
}
