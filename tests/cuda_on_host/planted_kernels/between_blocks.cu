// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda_on_host/planted_kernels/planted.cuh"

namespace attnscope::cuda::planted {

namespace {

__global__ void two_blocks_write_one_place(Memory memory) {
  memory.out[memory.planted ? thread() : place()] = memory.in[place()];
}

/// Reads the other block's results, which may be there or not.
__global__ void read_of_another_block(Memory memory) {
  memory.out[place()] = memory.in[place()];
  __syncthreads();
  if (memory.planted && memory.counter[0] == 0) {
    memory.out[place()] += memory.out[(place() + threads) % numbers];
  }
}

/// The block that arrives last adds what the others have left. Its atomic operation and fences on
/// both sides of it order the accesses; `first` and `second` leave one fence out.
template <bool first, bool second>
__device__ void last_block_adds(const Memory& memory) {
  auto* last = reinterpret_cast<unsigned*>(dynamic_shared());
  memory.out[place()] = memory.in[place()];
  __syncthreads();
  if (thread() == 0) {
    if (first) __threadfence();
    *last = atomicAdd(memory.counter, 1u) == blocks - 1 ? 1u : 0u;
    if (second) __threadfence();
  }
  __syncthreads();
  if (*last == 0) return;
  const float sum = memory.out[thread()] + memory.out[threads + thread()];
  __syncthreads();
  memory.out[thread()] = sum;
  if (thread() == 0) *memory.counter = 0;
}

__global__ void missing_fence_before_arrival(Memory memory) {
  if (memory.planted) {
    last_block_adds<false, true>(memory);
  } else {
    last_block_adds<true, true>(memory);
  }
}

__global__ void missing_fence_behind_arrival(Memory memory) {
  if (memory.planted) {
    last_block_adds<true, false>(memory);
  } else {
    last_block_adds<true, true>(memory);
  }
}

/// Every thread fences what it wrote itself, then one arrives for all.
__global__ void missing_barrier_before_arrival(Memory memory) {
  auto* last = reinterpret_cast<unsigned*>(dynamic_shared());
  memory.out[place()] = memory.in[place()];
  __threadfence();
  if (!memory.planted) __syncthreads();
  if (thread() == 0) *last = atomicAdd(memory.counter, 1u) == blocks - 1 ? 1u : 0u;
  __threadfence();
  __syncthreads();
  if (*last == 0) return;
  __threadfence();
  memory.out[thread()] += memory.out[threads + thread()];
  if (thread() == 0) *memory.counter = 0;
}

__global__ void counter_without_atomics(Memory memory) {
  memory.out[place()] = memory.in[place()];
  if (thread() != 0) return;
  if (memory.planted) {
    ++*memory.counter;
  } else {
    atomicAdd(memory.counter, 1u);
  }
}

__global__ void read_only_load_of_what_is_written(Memory memory) {
  memory.out[place()] = __ldg(memory.in + place());
  if (memory.planted) memory.out[place()] += __ldg(memory.out + place());
}

}  // namespace

std::vector<Bug> between_blocks() {
  const std::string race = "race: .* of another block wrote, and nothing orders the two";
  return {
      {"TwoBlocksWriteOnePlace", run<two_blocks_write_one_place>, race},
      {"ReadOfAnotherBlock", run<read_of_another_block>, "(" + race + "|nothing has written)"},
      {"MissingFenceBeforeArrival", run<missing_fence_before_arrival>, race},
      {"MissingFenceBehindArrival", run<missing_fence_behind_arrival>, race},
      {"MissingBarrierBeforeArrival", run<missing_barrier_before_arrival>, race},
      {"CounterWithoutAtomics", run<counter_without_atomics>, race},
      {"ReadOnlyLoadOfWhatIsWritten", run<read_only_load_of_what_is_written>,
       "__ldg reads out, byte [0-9]+ of 512, which this launch has written"},
  };
}

}  // namespace attnscope::cuda::planted
