// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda_on_host/planted_kernels/planted.cuh"

namespace attnscope::cuda::planted {

namespace {

__global__ void barrier_in_a_branch(Memory memory) {
  memory.out[place()] = memory.in[place()];
  if (!memory.planted || thread() < 48) __syncthreads();
}

__global__ void barrier_for_one_warp(Memory memory) {
  memory.out[place()] = memory.in[place()];
  if (!memory.planted || thread() < 32) __syncthreads();
}

__global__ void shuffle_in_a_branch(Memory memory) {
  float sum = memory.in[place()];
  if (!memory.planted || thread() % 32 < 16) sum += __shfl_xor_sync(0xffffffffu, sum, 1);
  memory.out[place()] = sum;
}

__global__ void shuffle_meets_vote(Memory memory) {
  float sum = memory.in[place()];
  if (!memory.planted || thread() % 2 == 0) {
    sum += __shfl_down_sync(0xffffffffu, sum, 1);
  } else {
    sum += static_cast<float>(__any_sync(0xffffffffu, thread() == 0));
  }
  memory.out[place()] = sum;
}

__global__ void mask_of_half_a_warp(Memory memory) {
  const unsigned mask = memory.planted ? 0xffffu : 0xffffffffu;
  memory.out[place()] = __shfl_sync(mask, memory.in[place()], 0);
}

__global__ void product_of_half_a_warp(Memory memory) {
  float c[4] = {};
  const std::uint32_t a[4] = {0x3c003c00, 0, 0, 0};
  if (!memory.planted || thread() % 32 < 16) multiply_add<__half>(c, a, 0x3c003c00, 0);
  memory.out[place()] = memory.in[place()] + c[0];
}

}  // namespace

std::vector<Bug> divergence() {
  return {
      {"BarrierInABranch", run<barrier_in_a_branch>,
       "lanes of a warp diverged: lane 0 is at __syncthreads, lane 16 at the end of the kernel"},
      {"BarrierForOneWarp", run<barrier_for_one_warp>,
       "warp 1 ended while others wait at __syncthreads"},
      {"ShuffleInABranch", run<shuffle_in_a_branch>,
       "lane 0 is at __shfl_sync, .* lane 16 at the end of the kernel"},
      {"ShuffleMeetsVote", run<shuffle_meets_vote>,
       "lane 0 is at __shfl_sync, .* lane 1 at __ballot_sync"},
      {"MaskOfHalfAWarp", run<mask_of_half_a_warp>,
       "__shfl_sync with mask 0xffff, not the whole warp"},
      {"ProductOfHalfAWarp", run<product_of_half_a_warp>,
       "lane 0 is at mma \\(float16\\), lane 16 at the end of the kernel"},
  };
}

}  // namespace attnscope::cuda::planted
