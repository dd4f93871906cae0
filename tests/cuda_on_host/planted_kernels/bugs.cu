// SPDX-License-Identifier: Apache-2.0
//
// Small kernels, each with one bug if `planted` is set, and kernels of single instructions.
#include "kernels/cuda/launch.h"
#include "kernels/cuda/ptx.h"
#include "tests/cuda_on_host/planted_kernels/planted.h"

namespace attnscope::cuda::planted {

namespace {

/// The number of the thread in the grid, and in its block.
__device__ int place() {
  return static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
}
__device__ int thread() {
  return static_cast<int>(threadIdx.x);
}
__device__ float* shared_numbers() {
  return reinterpret_cast<float*>(dynamic_shared());
}

/// Shared memory for one number per thread.
template <void (*kernel)(Memory)>
Status run(const Memory& memory) {
  return launch("planted", kernel, {blocks, threads, threads * 4}, nullptr, memory);
}

// ---- accesses out of bounds, of unwritten bytes, or misaligned

__global__ void read_past_the_end(Memory memory) {
  memory.out[place()] = memory.in[place() + (memory.planted ? 1 : 0)];
}

__global__ void read_before_the_beginning(Memory memory) {
  memory.out[place()] = memory.in[place() - (memory.planted ? 1 : 0)];
}

__global__ void write_past_the_end(Memory memory) {
  memory.out[place()] = memory.in[place()];
  if (memory.planted && place() == numbers - 1) memory.out[numbers] = 0;
}

__global__ void read_host_memory(Memory memory) {
  memory.out[place()] = memory.planted ? *memory.host : memory.in[place()];
}

__global__ void read_what_nothing_wrote(Memory memory) {
  if (!memory.planted || place() != 7) memory.out[place()] = memory.in[place()];
  memory.out[place()] += 1;
}

__global__ void read_past_shared_memory(Memory memory) {
  float* shared = shared_numbers();
  shared[thread()] = memory.in[place()];
  __syncthreads();
  memory.out[place()] = shared[memory.planted ? thread() + 1 : (thread() + 1) % threads];
}

__global__ void write_past_shared_memory(Memory memory) {
  shared_numbers()[thread() + (memory.planted ? 1 : 0)] = 1;
  memory.out[place()] = memory.in[place()];
}

__global__ void read_shared_memory_of_the_last_block(Memory memory) {
  float* shared = shared_numbers();
  if (!memory.planted || blockIdx.x == 0) shared[thread()] = memory.in[place()];
  __syncthreads();
  memory.out[place()] = shared[thread()];
}

__global__ void misaligned_vector_load(Memory memory) {
  if (thread() % 4 != 0 || place() + 4 >= numbers) return;
  const float* from = memory.in + place() + (memory.planted ? 1 : 0);
  const float4 four = *reinterpret_cast<const float4*>(from);
  memory.out[place()] = four.x + four.y + four.z + four.w;
}

__global__ void index_beyond_an_array_of_registers(Memory memory) {
  float registers[4] = {memory.in[place()], 1, 2, 3};
  const int last = memory.planted ? 4 : 3;
  for (int i = 0; i <= last; ++i) registers[i] += static_cast<float>(thread() % (i + 2));
  memory.out[place()] = registers[thread() % 4];
}

__global__ void copy_of_bytes_past_the_end(Memory memory) {
  std::byte wide[24];
  std::size_t bytes = memory.planted ? sizeof wide : sizeof(float);
  memcpy(wide, memory.in + place(), bytes);
  memcpy(memory.out + place(), wide, sizeof(float));
}

// ---- missing barriers

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

/// A shuffle does not order accesses to memory.
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

__global__ void missing_barrier_in_global_memory(Memory memory) {
  memory.out[place()] = memory.in[place()];
  if (!memory.planted) __syncthreads();
  const float other = memory.out[place() ^ 1];
  __syncthreads();
  memory.out[place()] = other;
}

// ---- between blocks

__global__ void two_blocks_write_one_place(Memory memory) {
  memory.out[memory.planted ? thread() : place()] = memory.in[place()];
}

/// Reads the results of the other block, which may not have been written.
__global__ void read_of_another_block(Memory memory) {
  memory.out[place()] = memory.in[place()];
  __syncthreads();
  if (memory.planted && memory.counter[0] == 0) {
    memory.out[place()] += memory.out[(place() + threads) % numbers];
  }
}

/// The block that arrives last adds the results of the others. An atomic operation with fences
/// before and after it, if `first` and `second`, orders the accesses.
__device__ void last_block_adds(const Memory& memory, bool first, bool second) {
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
  last_block_adds(memory, !memory.planted, true);
}

__global__ void missing_fence_after_arrival(Memory memory) {
  last_block_adds(memory, true, !memory.planted);
}

/// Every thread fences its own writes, then one arrives for all.
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

// ---- lanes that diverge

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

/// Lanes that have left a branch may not have met again.
__global__ void product_after_a_branch(Memory memory) {
  float c[4] = {};
  const std::uint32_t a[4] = {0x3c003c00, 0, 0, 0};
  memory.out[place()] = memory.in[place()];
  if (thread() % 32 < 16) memory.out[place()] += 1;
  if (!memory.planted) __syncwarp();
  multiply_add<__half>(c, a, 0x3c003c00, 0);
  memory.out[place()] += c[0];
}

// ---- single instructions

__device__ std::uint32_t pair(std::uint16_t low, std::uint16_t high) {
  return static_cast<std::uint32_t>(high) << 16 | low;
}

template <typename T>
__global__ void multiply_kernel(Product product) {
  const int lane = static_cast<int>(threadIdx.x), g = lane / 4, t = lane % 4;
  std::uint32_t of_a[4], of_b[2];
  for (int i = 0; i < 4; ++i) {
    const std::uint16_t* numbers = product.a + (g + i % 2 * 8) * 16 + 2 * t + i / 2 * 8;
    of_a[i] = pair(numbers[0], numbers[1]);
  }
  for (int i = 0; i < 2; ++i) {
    const std::uint16_t* numbers = product.b + (2 * t + i * 8) * 8 + g;
    of_b[i] = product.fragments == Fragments::pairs_of_b_swapped ? pair(numbers[8], numbers[0])
                                                                 : pair(numbers[0], numbers[8]);
  }
  if (product.fragments == Fragments::registers_of_a_swapped) {
    const std::uint32_t second = of_a[1];
    of_a[1] = of_a[2];
    of_a[2] = second;
  }
  const bool swapped = product.fragments == Fragments::halves_of_b_swapped;
  float c[4] = {};
  multiply_add<T>(c, of_a, of_b[swapped ? 1 : 0], of_b[swapped ? 0 : 1]);
  const int off = product.fragments == Fragments::rows_of_c_one_off ? 1 : 0;
  for (int i = 0; i < 4; ++i) {
    product.c[((lane / 4 + i / 2 * 8 + off) % 16) * 8 + lane % 4 * 2 + i % 2] = c[i];
  }
}

__global__ void powers_kernel(Powers powers) {
  powers.y[threadIdx.x] = exp2_approx(powers.x[threadIdx.x]);
}

}  // namespace

#define ATTNSCOPE_PLANTED(kernel) #kernel, run < kernel>

std::vector<Bug> bugs() {
  const std::string race = "race: .* shared memory, .* nothing orders the two";
  const std::string of_blocks = "race: .* of another block wrote, and nothing orders the two";
  return {
      {ATTNSCOPE_PLANTED(read_past_the_end),
       "kernel planted, block 1, thread 63: reads 4 bytes outside in, byte 512 of 512"},
      {ATTNSCOPE_PLANTED(read_before_the_beginning),
       "block 0, thread 0: reads 4 bytes outside in, byte -4 of 512"},
      {ATTNSCOPE_PLANTED(write_past_the_end),
       "block 1, thread 63: writes 4 bytes outside out, byte 512 of 512"},
      {ATTNSCOPE_PLANTED(read_host_memory),
       "reads 4 bytes at an address that is neither device nor shared memory"},
      {ATTNSCOPE_PLANTED(read_what_nothing_wrote),
       "block 0, thread 7: reads out, byte 28 of 512, which nothing has written"},
      {ATTNSCOPE_PLANTED(read_past_shared_memory),
       "thread 63: reads 4 bytes outside shared memory, byte 256 of 256"},
      {ATTNSCOPE_PLANTED(write_past_shared_memory),
       "thread 63: writes 4 bytes outside shared memory, byte 256 of 256"},
      {ATTNSCOPE_PLANTED(read_shared_memory_of_the_last_block),
       "block 1, thread [0-9]+: reads shared memory, byte [0-9]+ of 256, which nothing has "
       "written"},
      {ATTNSCOPE_PLANTED(misaligned_vector_load),
       "through a type that needs more alignment, at .*bugs.cu:[0-9]+"},
      {ATTNSCOPE_PLANTED(index_beyond_an_array_of_registers),
       "thread [0-9]+: index 4 is beyond its array, at .*bugs.cu:[0-9]+"},
      {ATTNSCOPE_PLANTED(copy_of_bytes_past_the_end),
       "block 1, thread [0-9]+: reads 24 bytes outside in"},

      {ATTNSCOPE_PLANTED(missing_barrier_before_a_read),
       "(race: .* shared memory, .* of this block (wrote|read)|which nothing has written)"},
      {ATTNSCOPE_PLANTED(missing_barrier_before_the_next_write), race},
      {ATTNSCOPE_PLANTED(two_writers),
       "race: writes shared memory, .* of this block wrote, and nothing orders the two"},
      {ATTNSCOPE_PLANTED(missing_warp_barrier), "(" + race + "|which nothing has written)"},
      {ATTNSCOPE_PLANTED(shuffle_for_a_warp_barrier), race},
      {ATTNSCOPE_PLANTED(warp_barrier_for_two_warps), "(" + race + "|which nothing has written)"},
      {ATTNSCOPE_PLANTED(missing_barrier_in_global_memory),
       "(race: .* out, |which nothing has written)"},

      {ATTNSCOPE_PLANTED(two_blocks_write_one_place), of_blocks},
      {ATTNSCOPE_PLANTED(read_of_another_block), "(" + of_blocks + "|nothing has written)"},
      {ATTNSCOPE_PLANTED(missing_fence_before_arrival), of_blocks},
      {ATTNSCOPE_PLANTED(missing_fence_after_arrival), of_blocks},
      {ATTNSCOPE_PLANTED(missing_barrier_before_arrival), of_blocks},
      {ATTNSCOPE_PLANTED(counter_without_atomics), of_blocks},
      {ATTNSCOPE_PLANTED(read_only_load_of_what_is_written),
       "__ldg reads out, byte [0-9]+ of 512, which this launch has written"},

      {ATTNSCOPE_PLANTED(barrier_in_a_branch),
       "lanes of a warp diverged: lane 0 is at __syncthreads, lane 16 at the end of the kernel"},
      {ATTNSCOPE_PLANTED(barrier_for_one_warp), "warp 1 ended while others wait at __syncthreads"},
      {ATTNSCOPE_PLANTED(shuffle_in_a_branch),
       "lane 0 is at __shfl_sync, .* lane 16 at the end of the kernel"},
      {ATTNSCOPE_PLANTED(shuffle_meets_vote),
       "lane 0 is at __shfl_sync, .* lane 1 at __ballot_sync"},
      {ATTNSCOPE_PLANTED(mask_of_half_a_warp), "__shfl_sync with mask 0xffff, not the whole warp"},
      {ATTNSCOPE_PLANTED(product_of_half_a_warp),
       "lane 0 is at mma \\(float16\\), lane 16 at the end of the kernel"},
      {ATTNSCOPE_PLANTED(product_after_a_branch),
       "mma \\(float16\\) without __syncwarp after a branch: lane 0 accessed memory [0-9]+ times, "
       "lane 16 [0-9]+ times"},
  };
}
#undef ATTNSCOPE_PLANTED

Status multiply(const Product& product, DType dtype) {
  const LaunchShape shape{1, 32, 0};
  return dtype == DType::float16
             ? launch("multiply", multiply_kernel<__half>, shape, nullptr, product)
             : launch("multiply", multiply_kernel<__nv_bfloat16>, shape, nullptr, product);
}

Status powers(const Powers& powers) {
  return launch("powers", powers_kernel, {1, 32, 0}, nullptr, powers);
}

}  // namespace attnscope::cuda::planted
