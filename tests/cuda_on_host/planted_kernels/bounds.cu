// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda_on_host/planted_kernels/planted.cuh"

namespace attnscope::cuda::planted {

namespace {

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

__global__ void vector_load_off_its_boundary(Memory memory) {
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

}  // namespace

std::vector<Bug> bounds() {
  return {
      {"ReadPastTheEnd", run<read_past_the_end>,
       "kernel planted, block 1, thread 63: reads 4 bytes outside in, byte 512 of 512"},
      {"ReadBeforeTheBeginning", run<read_before_the_beginning>,
       "block 0, thread 0: reads 4 bytes outside in, byte -4 of 512"},
      {"WritePastTheEnd", run<write_past_the_end>,
       "block 1, thread 63: writes 4 bytes outside out, byte 512 of 512"},
      {"ReadHostMemory", run<read_host_memory>,
       "reads 4 bytes at an address that is neither device nor shared memory"},
      {"ReadWhatNothingWrote", run<read_what_nothing_wrote>,
       "block 0, thread 7: reads out, byte 28 of 512, which nothing has written"},
      {"ReadPastSharedMemory", run<read_past_shared_memory>,
       "thread 63: reads 4 bytes outside shared memory, byte 256 of 256"},
      {"WritePastSharedMemory", run<write_past_shared_memory>,
       "thread 63: writes 4 bytes outside shared memory, byte 256 of 256"},
      {"ReadSharedMemoryOfTheLastBlock", run<read_shared_memory_of_the_last_block>,
       "block 1, thread [0-9]+: reads shared memory, byte [0-9]+ of 256, which nothing has "
       "written"},
      {"VectorLoadOffItsBoundary", run<vector_load_off_its_boundary>,
       "through a type that needs more alignment, at .*bounds.cu:[0-9]+"},
      {"IndexBeyondAnArrayOfRegisters", run<index_beyond_an_array_of_registers>,
       "thread [0-9]+: index 4 is beyond its array, at .*bounds.cu:[0-9]+"},
      {"CopyOfBytesPastTheEnd", run<copy_of_bytes_past_the_end>,
       "block 1, thread [0-9]+: reads 24 bytes outside in"},
  };
}

}  // namespace attnscope::cuda::planted
