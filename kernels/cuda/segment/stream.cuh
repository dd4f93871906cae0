#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// How a block's streamed tokens pass by: in slots of 16 tokens of two tensors, several slots a
// stage, two stages in turn, the next one on its way (cp.async) while the present one is used. All
// warps fill; each warp takes the slots that its strip sees.
//
// Shared memory: a word a warp for votes | a WarpState a warp | stage 0 | stage 1 | the strips'
// slabs.

#include "kernels/cuda/segment/products.cuh"
#include "kernels/cuda/segment/sight.cuh"

namespace attnscope::cuda {

/// `RowNumbers`: whether each streamed token brings two floats along (log-sum-exp and D of a
/// query).
template <typename T, int Columns, bool RowNumbers>
struct Stage {
  using Rows = Slab<T, Columns>;
  // About 16 kB a stage, which leaves an SM of an A100 (164 kB) five blocks.
  static constexpr int slots = Rows::bytes > 8192
                                   ? 1
                                   : (8192 / Rows::bytes > 8 ? 8 : 8192 / Rows::bytes);
  static constexpr int number_bytes = RowNumbers ? 2 * slot_tokens * 4 : 0;
  static constexpr int slot_bytes = 2 * Rows::bytes + number_bytes;
  static constexpr int bytes = slots * slot_bytes;

  static __device__ __forceinline__ std::byte* slab(std::byte* slot, int which) {
    return slot + which * Rows::bytes;
  }
  /// 16 log-sum-exps, then 16 D.
  static __device__ __forceinline__ float* numbers(std::byte* slot) {
    return reinterpret_cast<float*>(slot + 2 * Rows::bytes);
  }
};

// Votes of the warps, and the block's arrival; slabs behind them stay aligned to 128 bytes.
inline constexpr int vote_bytes = 128;
inline constexpr int warp_state_bytes = 256;

template <typename T, int Columns, bool RowNumbers>
constexpr std::int64_t shared_bytes(int warps, int stationary_tensors) {
  const int slabs = Products<T, Columns>::in_slab ? stationary_tensors * warps : 0;
  return vote_bytes + warps * warp_state_bytes + 2 * Stage<T, Columns, RowNumbers>::bytes +
         slabs * Slab<T, Columns>::bytes;
}

/// A block's unit, and the warp's strip in it. What is needed only at the beginning or the end is
/// read from the list again: registers decide how many blocks an SM holds.
struct UnitOfBlock {
  const UnitArguments& arguments;
  int number;  // of the unit
  int head, column_part;
  int slots;
  bool has_strip;  // whether the warp has one

  __device__ __forceinline__ UnitOfBlock(const UnitArguments& call, int column_parts)
      : arguments(call) {
    const int block = static_cast<int>(blockIdx.x);
    const int of_unit = block % (call.heads_per_unit * column_parts);
    number = call.first_unit + block / (call.heads_per_unit * column_parts);
    column_part = of_unit % column_parts;
    head = unit().first_head + of_unit / column_parts;
    slots = unit().slots;
    has_strip = run().count > 0;
  }

  [[nodiscard]] __device__ __forceinline__ const WorkUnit& unit() const {
    return arguments.list.units[number];
  }
  [[nodiscard]] __device__ __forceinline__ static int warp() {
    return static_cast<int>(threadIdx.x) >> 5;
  }
  [[nodiscard]] __device__ __forceinline__ static int warps() {
    return static_cast<int>(blockDim.x) >> 5;
  }
  [[nodiscard]] __device__ __forceinline__ bool is_main() const {
    return warp() < arguments.main_warps;
  }
  /// The number of the warp's extra strip, if it has one.
  [[nodiscard]] __device__ __forceinline__ int extra() const {
    return warp() - arguments.main_warps;
  }
  [[nodiscard]] __device__ __forceinline__ const WorkStrip& extra_strip() const {
    return arguments.list.strips[unit().first_extra + extra()];
  }

  // Of the warp's strip.
  [[nodiscard]] __device__ __forceinline__ WorkRun run() const {
    if (!is_main()) return extra() < unit().extras ? extra_strip().run : WorkRun{};
    const WorkRun tile = unit().run;
    const int first = strip_tokens * warp();
    return {tile.begin + first, max(0, min(strip_tokens, tile.count - first)), tile.listed};
  }
  [[nodiscard]] __device__ __forceinline__ int first_rule() const {
    return is_main() ? unit().first_rule : extra_strip().first_rule;
  }
  [[nodiscard]] __device__ __forceinline__ WorkPart part() const {
    if (!is_main()) return extra_strip().part;
    return {unit().part.merge, unit().part.first_slot + strip_tokens * warp()};
  }
};

/// Walks the spans of a unit as slots go by; in shared memory, one for each warp.
struct SpanCursor {
  int number;      // of the unit's spans
  int first_slot;  // of the unit's slots
  int last_slot;   // exclusive

  __device__ __forceinline__ void set(int to_number, int to_first, int to_last) {
    __syncwarp();
    if ((threadIdx.x & 31u) == 0) {
      number = to_number;
      first_slot = to_first;
      last_slot = to_last;
    }
    __syncwarp();
  }
  __device__ __forceinline__ void reset() { set(-1, 0, 0); }

  [[nodiscard]] __device__ __forceinline__ const WorkSpan& span(const UnitOfBlock& block) const {
    return block.arguments.list.spans[block.unit().first_span + number];
  }
  /// To the span that holds `slot`; true if it was another one. By all lanes of the warp.
  __device__ __forceinline__ bool advance(const UnitOfBlock& block, int slot) {
    int last = last_slot;
    if (slot < last) return false;
    const WorkSpan* spans = block.arguments.list.spans + block.unit().first_span;
    int next = number;
    int first = last;
#pragma unroll 1
    while (slot >= last) {
      ++next;
      first = last;
      last += (spans[next].run.count + slot_tokens - 1) / slot_tokens;
    }
    set(next, first, last);
    return true;
  }
};

struct WarpState {
  SpanCursor filling, taking;
  Sight sight;
};
static_assert(sizeof(WarpState) <= warp_state_bytes);

__device__ __forceinline__ WarpState& state_of_warp() {
  return *reinterpret_cast<WarpState*>(dynamic_shared() + vote_bytes +
                                       UnitOfBlock::warp() * warp_state_bytes);
}

__device__ __forceinline__ std::byte* stages_of_block() {
  return dynamic_shared() + vote_bytes + UnitOfBlock::warps() * warp_state_bytes;
}

/// What streams: the rows of two tensors, and with keys units two numbers a token.
struct Streamed {
  HeadRows<const std::byte> rows[2];
  const float* lse = nullptr;   // [tokens, heads], of the block's head; null: none
  const float* dots = nullptr;  // alike
};

template <typename Stage>
__device__ __forceinline__ void fill_stage(const UnitOfBlock& block, const Streamed& streamed,
                                           std::byte* stage, int first_slot) {
  SpanCursor& cursor = state_of_warp().filling;
  using Rows = typename Stage::Rows;
  const int slots = min(Stage::slots, block.slots - first_slot);
  const int lane = static_cast<int>(threadIdx.x) & 31;
#pragma unroll 1
  for (int i = block.warp(); i < slots * Rows::fills; i += block.warps()) {
    const int slot = i / Rows::fills;
    const int part = i % Rows::fills;
    cursor.advance(block, first_slot + slot);
    const int position = (first_slot + slot - cursor.first_slot) * slot_tokens;
    const WorkRun run = cursor.span(block).run;
    const int count = min(slot_tokens, run.count - position);
    std::byte* memory = stage + slot * Stage::slot_bytes;
    Rows::template fill<2>(memory, streamed.rows, {0, Rows::bytes}, run, position, count,
                           part * Rows::filled_rows, block.arguments);
    if (Stage::number_bytes > 0 && streamed.lse != nullptr && part == 0) {
      const int row = lane & 15;
      const bool valid = row < count;
      const float* from = lane < 16 ? streamed.lse : streamed.dots;
      const std::int64_t token =
          valid ? token_of(run, block.arguments.list.indices, position + row) : 0;
      copy_async<4>(Stage::numbers(memory) + lane, from + token * block.arguments.heads, valid);
    }
  }
}

/// The stage's slots that the warp's strip sees, two at a time where the program takes two.
template <typename Program>
__device__ __forceinline__ void take_stage(const UnitOfBlock& block, Program& program,
                                           std::byte* stage, int first_slot, bool careful) {
  using Stage = typename Program::Stage;
  SpanCursor& cursor = state_of_warp().taking;
  Sight& sight = state_of_warp().sight;
  const DeviceList& list = block.arguments.list;
  const int end = min(first_slot + Stage::slots, block.slots);
  int slot = first_slot;
#pragma unroll 1
  while (slot < end) {
    if (cursor.advance(block, slot)) {
      sight.look(list, block.unit().first_span + cursor.number, block.first_rule() + cursor.number,
                 block.run());
    }
    const int stop = min(end, cursor.last_slot);
    slot = max(slot, cursor.first_slot + sight.first_slot);
    const int last = min(stop, cursor.first_slot + sight.last_slot);
    const auto memory = [&](int of) { return stage + (of - first_slot) * Stage::slot_bytes; };
    const auto position = [&](int of) { return (of - cursor.first_slot) * slot_tokens; };
    if constexpr (Program::slots_at_once == 2) {
#pragma unroll 1
      for (; slot + 2 <= last; slot += 2) {
        program.template take<2>(block, sight, position(slot), memory(slot), careful);
      }
    }
#pragma unroll 1
    for (; slot < last; ++slot) {
      program.template take<1>(block, sight, position(slot), memory(slot), careful);
    }
    slot = stop;
  }
}

/// Streams all slots of the unit past the program, whose slabs are filled with the first stage.
template <typename Program>
__device__ __forceinline__ void stream_past(const UnitOfBlock& block, const Streamed& streamed,
                                            Program& program, bool careful) {
  using Stage = typename Program::Stage;
  std::byte* stages = stages_of_block();
  state_of_warp().filling.reset();
  state_of_warp().taking.reset();
  const int slots = block.slots;
  fill_stage<Stage>(block, streamed, stages, 0);
  commit_copies();
  if (slots == 0) {
    wait_for_copies<0>();
    __syncthreads();
  }
#pragma unroll 1
  for (int first = 0; first < slots; first += Stage::slots) {
    const int turn = first / Stage::slots & 1;
    if (first + Stage::slots < slots) {
      fill_stage<Stage>(block, streamed, stages + (turn ^ 1) * Stage::bytes, first + Stage::slots);
    }
    commit_copies();
    wait_for_copies<1>();
    __syncthreads();
    if (block.has_strip) {
      take_stage(block, program, stages + turn * Stage::bytes, first, careful);
    }
    // The stage is filled anew while the next one is used.
    if (first + 2 * Stage::slots < slots) __syncthreads();
  }
}

/// Whether the warp has a vote; to be called by all warps of the block.
__device__ __forceinline__ bool any_warp(const UnitOfBlock& block, int* votes, bool vote) {
  const bool of_warp = __any_sync(all_lanes, vote ? 1 : 0) != 0;
  if ((threadIdx.x & 31u) == 0) votes[block.warp()] = of_warp ? 1 : 0;
  __syncthreads();
  bool any = false;
  for (int w = 0; w < block.warps(); ++w) any = any || votes[w] != 0;
  return any;
}

}  // namespace attnscope::cuda
