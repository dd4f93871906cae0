// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda_on_host/planted_kernels/planted.cuh"

namespace attnscope::cuda::planted {

namespace {

__global__ void missing_barrier_before_a_read(Memory memory) {
  float* shared = shared_numbers();
  shared[thread()] = memory.in[place()];
  if (!memory.planted) __syncthreads();
  memory.out[place()] = shared[threads - 1 - thread()];
}

__global__ void missing_barrier_before_the_next_write(Memory memory) {
  float* shared = shared_numbers();
  float sum = 0;
  for (int round = 0; round < 2; ++round) {
    shared[thread()] = memory.in[place()];
    __syncthreads();
    sum += shared[(thread() + 32) % threads];
    if (!memory.planted) __syncthreads();
  }
  memory.out[place()] = sum;
}

__global__ void two_writers(Memory memory) {
  float* shared = shared_numbers();
  shared[memory.planted ? thread() / 2 : thread()] = memory.in[place()];
  __syncthreads();
  memory.out[place()] = shared[thread() / 2];
}

__global__ void missing_warp_barrier(Memory memory) {
  float* shared = shared_numbers();
  shared[thread()] = memory.in[place()];
  if (!memory.planted) __syncwarp();
  memory.out[place()] = shared[thread() ^ 1];
}

/// A shuffle is no barrier for memory.
__global__ void shuffle_for_a_warp_barrier(Memory memory) {
  float* shared = shared_numbers();
  shared[thread()] = memory.in[place()];
  const float other = __shfl_xor_sync(0xffffffffu, memory.in[place()], 1);
  if (!memory.planted) __syncwarp();
  memory.out[place()] = shared[thread() ^ 1] + other;
}

/// __syncwarp orders one warp, not two.
__global__ void warp_barrier_for_two_warps(Memory memory) {
  float* shared = shared_numbers();
  shared[thread()] = memory.in[place()];
  if (memory.planted) {
    __syncwarp();
  } else {
    __syncthreads();
  }
  memory.out[place()] = shared[(thread() + 32) % threads];
}

__global__ void missing_barrier_before_a_matrix(Memory memory) {
  std::byte* shared = dynamic_shared();
  float* numbers_of_thread = shared_numbers();
  numbers_of_thread[thread()] = memory.in[place()];
  if (!memory.planted) __syncwarp();
  // The rows of 16 bytes that four lanes of this warp have written, each twice over.
  std::uint32_t matrices[4];
  load_matrices(matrices, shared + thread() / 32 * 128 + thread() % 8 * 16);
  memory.out[place()] = __uint_as_float(matrices[0]);
}

__global__ void missing_barrier_in_global_memory(Memory memory) {
  memory.out[place()] = memory.in[place()];
  if (!memory.planted) __syncthreads();
  const float other = memory.out[place() ^ 1];
  __syncthreads();
  memory.out[place()] = other;
}

}  // namespace

std::vector<Bug> barriers() {
  const std::string race = "race: .* shared memory, .* nothing orders the two";
  return {
      {"MissingBarrierBeforeARead", run<missing_barrier_before_a_read>,
       "(race: .* shared memory, .* of this block (wrote|read)|which nothing has written)"},
      {"MissingBarrierBeforeTheNextWrite", run<missing_barrier_before_the_next_write>, race},
      {"TwoWriters", run<two_writers>,
       "race: writes shared memory, .* of this block wrote, and nothing orders the two"},
      {"MissingWarpBarrier", run<missing_warp_barrier>, "(" + race + "|which nothing has written)"},
      {"ShuffleForAWarpBarrier", run<shuffle_for_a_warp_barrier>, race},
      {"WarpBarrierForTwoWarps", run<warp_barrier_for_two_warps>,
       "(" + race + "|which nothing has written)"},
      {"MissingBarrierBeforeAMatrix", run<missing_barrier_before_a_matrix>,
       "(" + race + "|which nothing has written)"},
      {"MissingBarrierInGlobalMemory", run<missing_barrier_in_global_memory>,
       "(race: .* out, |which nothing has written)"},
  };
}

}  // namespace attnscope::cuda::planted
