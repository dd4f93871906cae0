// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda_on_host/planted_kernels/planted.cuh"

namespace attnscope::cuda::planted {

namespace {

__global__ void missing_wait(Memory memory) {
  float* shared = shared_numbers();
  copy_async<4>(shared + thread(), memory.in + place(), true);
  commit_copies();
  if (!memory.planted) wait_for_copies<0>();
  memory.out[place()] = shared[thread()];
}

/// The wait leaves the latest group under way, and it is the one that is read.
__global__ void wait_for_too_few(Memory memory) {
  float* shared = shared_numbers();
  if (thread() < 32) copy_async<4>(shared + thread(), memory.in + place(), true);
  commit_copies();
  if (thread() >= 32) copy_async<4>(shared + thread(), memory.in + place(), true);
  commit_copies();
  if (memory.planted) {
    wait_for_copies<1>();
  } else {
    wait_for_copies<0>();
  }
  memory.out[place()] = shared[thread()];
}

__global__ void copy_outside_of_a_group(Memory memory) {
  float* shared = shared_numbers();
  copy_async<4>(shared + thread(), memory.in + place(), true);
  if (!memory.planted) commit_copies();
  wait_for_copies<0>();
  memory.out[place()] = shared[thread()];
}

/// A thread waits for its own copies only.
__global__ void missing_barrier_behind_the_wait(Memory memory) {
  float* shared = shared_numbers();
  copy_async<4>(shared + thread(), memory.in + place(), true);
  commit_copies();
  wait_for_copies<0>();
  if (!memory.planted) __syncthreads();
  memory.out[place()] = shared[threads - 1 - thread()];
}

__global__ void copy_over_what_is_read(Memory memory) {
  float* shared = shared_numbers();
  shared[thread()] = memory.in[place()];
  __syncthreads();
  const float other = shared[threads - 1 - thread()];
  if (!memory.planted) __syncthreads();
  copy_async<4>(shared + thread(), memory.in + place(), true);
  commit_copies();
  wait_for_copies<0>();
  memory.out[place()] = other + shared[thread()];
}

__global__ void copy_past_the_end(Memory memory) {
  float* shared = shared_numbers();
  const int from = place() + (memory.planted ? 1 : 0);
  copy_async<4>(shared + thread(), memory.in + from, from <= numbers);
  commit_copies();
  wait_for_copies<0>();
  memory.out[place()] = shared[thread()];
}

/// A copy that is not valid reads nothing, wherever it points, and leaves zeros.
__global__ void invalid_copy_taken_for_valid(Memory memory) {
  float* shared = shared_numbers();
  copy_async<4>(shared + thread(), memory.in + numbers + 64 + thread(), memory.planted);
  commit_copies();
  wait_for_copies<0>();
  memory.out[place()] = shared[thread()];
}

__global__ void copy_off_its_boundary(Memory memory) {
  float* shared = shared_numbers();
  if (thread() % 4 == 0) {
    const int last = numbers - 8;
    const int from = place() < last ? place() : last;
    copy_async<16>(shared + thread(), memory.in + from + (memory.planted ? 2 : 0), true);
  }
  commit_copies();
  wait_for_copies<0>();
  __syncthreads();
  memory.out[place()] = shared[thread()];
}

}  // namespace

std::vector<Bug> copies() {
  const std::string under_way = "a copy that thread [0-9]+ has started and not waited for";
  return {
      {"MissingWait", run<missing_wait>, "reads shared memory, .* which " + under_way},
      {"WaitForTooFew", run<wait_for_too_few>, "reads shared memory, .* which " + under_way},
      {"CopyOutsideOfAGroup", run<copy_outside_of_a_group>, "which " + under_way},
      {"MissingBarrierBehindTheWait", run<missing_barrier_behind_the_wait>,
       "(race: reads shared memory|which nothing has written|" + under_way + ")"},
      {"CopyOverWhatIsRead", run<copy_over_what_is_read>,
       "(race: writes shared memory, .* read|" + under_way + "|race: reads shared memory)"},
      {"CopyPastTheEnd", run<copy_past_the_end>, "reads 4 bytes outside in, byte 512 of 512"},
      {"InvalidCopyTakenForValid", run<invalid_copy_taken_for_valid>, "reads 4 bytes outside in"},
      {"CopyOffItsBoundary", run<copy_off_its_boundary>,
       "cp.async reads at an address that is not a multiple of 16"},
  };
}

}  // namespace attnscope::cuda::planted
