#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The part of CUDA's language and runtime that kernels/cuda uses, for g++: the source of a kernel
// compiles unchanged and runs in emulator.h. Features that the kernels must not use are missing, so
// that using them does not compile.

#include <bit>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/cuda/devices.h"
#include "kernels/plan/number_formats.h"
#include "tests/cuda_on_host/emulator.h"

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))

#define threadIdx (::attnscope::on_host::thread_index())
#define blockIdx (::attnscope::on_host::block_index())
#define blockDim (::attnscope::on_host::block_size())
#define gridDim (::attnscope::on_host::grid_size())

// ---- the runtime

using cudaStream_t = attnscope::cuda::Stream;

enum cudaError_t { cudaSuccess = 0, cudaErrorInvalidValue = 1, cudaErrorIllegalAddress = 700 };
enum cudaMemcpyKind {
  cudaMemcpyHostToHost,
  cudaMemcpyHostToDevice,
  cudaMemcpyDeviceToHost,
  cudaMemcpyDeviceToDevice
};

enum cudaStreamCaptureStatus { cudaStreamCaptureStatusNone, cudaStreamCaptureStatusActive };
enum cudaDeviceAttr {
  cudaDevAttrMaxThreadsPerBlock,
  cudaDevAttrMaxSharedMemoryPerBlock,
  cudaDevAttrMaxGridDimX,
  cudaDevAttrMultiProcessorCount
};
struct cudaDeviceProp {
  char name[256];
};

// Their state is runtime() in emulator.h.
cudaError_t cudaGetDevice(int* device);
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device);
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);

const char* cudaGetErrorString(cudaError_t error);
const char* cudaGetErrorName(cudaError_t error);
cudaError_t cudaGetLastError();
cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream = nullptr);
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream = nullptr);

// ---- vectors

struct alignas(8) uint2 {
  unsigned x, y;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
struct alignas(8) float2 {
  float x, y;
};
struct alignas(16) float4 {
  float x, y, z, w;
};

inline float2 make_float2(float x, float y) {
  return {x, y};
}
inline float4 make_float4(float x, float y, float z, float w) {
  return {x, y, z, w};
}

// ---- 16-bit floating-point types, with the rounding of the instructions; tests/attention compares
// number_formats.h with LibTorch

struct alignas(2) __half {
  std::uint16_t bits;
};
struct alignas(2) __nv_bfloat16 {
  std::uint16_t bits;
};
struct alignas(4) __half2 {
  __half x, y;
};
struct alignas(4) __nv_bfloat162 {
  __nv_bfloat16 x, y;
};
using half = __half;
using nv_bfloat16 = __nv_bfloat16;

inline float __half2float(__half x) {
  return attnscope::float_from_float16(x.bits);
}
inline __half __float2half_rn(float x) {
  return {attnscope::float16_from_float(x)};
}
inline float __bfloat162float(__nv_bfloat16 x) {
  return attnscope::float_from_bfloat16(x.bits);
}
inline __nv_bfloat16 __float2bfloat16_rn(float x) {
  return {attnscope::bfloat16_from_float(x)};
}

inline __half2 __floats2half2_rn(float low, float high) {
  return {__float2half_rn(low), __float2half_rn(high)};
}
inline __nv_bfloat162 __floats2bfloat162_rn(float low, float high) {
  return {__float2bfloat16_rn(low), __float2bfloat16_rn(high)};
}

// ---- barriers, shuffles, votes

inline void __syncthreads() {
  attnscope::on_host::synchronise_block();
}
void __syncwarp(unsigned mask = 0xffffffffU);
void __threadfence();

namespace attnscope::on_host {

/// The bits of `value` of lane `from(lane)` of the warp.
[[nodiscard]] std::uint64_t shuffle(const char* name, unsigned mask, std::uint64_t bits, int from);
[[nodiscard]] int lane();

template <typename T>
T shuffle_value(const char* name, unsigned mask, T value, int from) {
  static_assert(sizeof(T) <= sizeof(std::uint64_t));
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  bits = shuffle(name, mask, bits, from);
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}

}  // namespace attnscope::on_host

// Within segments of `width` lanes; a lane whose source is outside its segment gets its own value.
template <typename T>
T __shfl_sync(unsigned mask, T value, int from, int width = 32) {
  const int lane = attnscope::on_host::lane();
  return attnscope::on_host::shuffle_value("__shfl_sync", mask, value,
                                           (lane & ~(width - 1)) | (from & (width - 1)));
}
template <typename T>
T __shfl_xor_sync(unsigned mask, T value, int flipped, int width = 32) {
  const int lane = attnscope::on_host::lane();
  const int from = lane ^ flipped;
  return attnscope::on_host::shuffle_value("__shfl_xor_sync", mask, value,
                                           from > (lane | (width - 1)) ? lane : from);
}
template <typename T>
T __shfl_down_sync(unsigned mask, T value, unsigned distance, int width = 32) {
  const int lane = attnscope::on_host::lane();
  const int from = lane + static_cast<int>(distance);
  return attnscope::on_host::shuffle_value("__shfl_down_sync", mask, value,
                                           from > (lane | (width - 1)) ? lane : from);
}

unsigned __ballot_sync(unsigned mask, int predicate);
inline int __any_sync(unsigned mask, int predicate) {
  return __ballot_sync(mask, predicate) != 0 ? 1 : 0;
}

// ---- memory

int atomicAdd(int* at, int value);
unsigned atomicAdd(unsigned* at, unsigned value);

namespace attnscope::on_host {
/// Reads memory that no thread of the launch writes.
void check_read_only(const void* at, std::size_t bytes);
}  // namespace attnscope::on_host

template <typename T>
T __ldg(const T* at) {
  attnscope::on_host::check_read_only(at, sizeof(T));
  return *at;
}

// ---- numbers

inline float __int_as_float(int bits) {
  return std::bit_cast<float>(bits);
}
inline float __uint_as_float(unsigned bits) {
  return std::bit_cast<float>(bits);
}

/// Bytes of `x` (0 to 3) and `y` (4 to 7): byte i of the result is number `selector >> 4 i & 7`.
constexpr unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
  const std::uint64_t bytes = std::uint64_t{y} << 32 | x;
  unsigned chosen = 0;
  for (unsigned i = 0; i < 4; ++i) {
    chosen |= static_cast<unsigned>(bytes >> 8 * (selector >> 4 * i & 7u) & 0xffu) << 8 * i;
  }
  return chosen;
}

template <std::integral Integer>
constexpr Integer min(Integer a, Integer b) {
  return b < a ? b : a;
}
template <std::integral Integer>
constexpr Integer max(Integer a, Integer b) {
  return a < b ? b : a;
}
