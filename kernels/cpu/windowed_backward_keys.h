#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Who sees the keys of a plan: for each chunk of tokens, the parts of tasks whose rows see it, in
// the plan's order. The gradients of keys and values are gathered along it, a chunk and head at a
// time. A chunk that far more rows see than others ([CLS] and the query, which every document token
// sees) is cut into portions of their own, whose sums are added up in order; the cuts follow from
// the plan alone.
//
//   KeyIndex index(plan, head_dim, memory.first(KeyIndex::floats(plan, head_dim)));
//   for (std::int64_t unit = 0; unit < index.units(); ++unit) {
//     const KeyUnit keys = index.unit(unit);
//     index.for_each_part(keys, [&](const KeyPart& part) { ... });
//   }

#include <cstdint>
#include <cstring>
#include <span>

#include "kernels/plan/attention_plan.h"

namespace attnscope::cpu {

/// Rows of a task that see some keys of a chunk through one segment.
struct KeyPart {
  const Task* task = nullptr;
  const Segment* segment = nullptr;
  std::int64_t first_key = 0;  // positions of the segment's key run
  std::int64_t last_key = 0;
  std::int64_t first_score = 0;  // of the task's first row and head, at the segment's first column
  std::int64_t columns = 0;      // of the task
  std::int64_t first_row = 0;    // of the task's rows
  std::int64_t last_row = 0;
};

/// A portion of the rows that see a chunk of keys; one head of it is one piece of work.
struct KeyUnit {
  TokenRange tokens;
  std::int64_t first_part = 0, last_part = 0;  // of the chunk, in the index
  std::int64_t first_pair = 0, last_pair = 0;  // of the portion
  std::int64_t portions = 1;                   // of the chunk
  std::int64_t slot = 0;                       // for the sums of this portion, if there are several
};

class KeyIndex {
 public:
  /// Memory the index takes; too_many (windowed_layout.h) where that cannot be counted.
  [[nodiscard]] static std::int64_t floats(const AttentionPlan& plan, std::int64_t head_dim);
  /// No index of this plan has more slots for sums of portions.
  [[nodiscard]] static std::int64_t most_slots(const AttentionPlan& plan, std::int64_t head_dim);

  KeyIndex(const AttentionPlan& plan, std::int64_t head_dim, std::span<float> memory);

  [[nodiscard]] std::int64_t units() const { return units_; }
  [[nodiscard]] std::int64_t slots() const { return slots_; }
  [[nodiscard]] KeyUnit unit(std::int64_t number) const;

  template <typename Visit>
  void for_each_part(const KeyUnit& unit, const Visit& visit) const {
    std::int64_t before = 0;
    for (std::int64_t p = unit.first_part; p < unit.last_part; ++p) {
      KeyPart part = this->part(p);
      const std::int64_t pairs = pairs_of(part);
      if (take_rows(unit, before, part)) visit(part);
      before += pairs;
    }
  }

 private:
  /// What is known of a chunk of keys.
  struct Chunk {
    std::int64_t first_part = 0, last_part = 0;
    std::int64_t pairs = 0;
    std::int64_t first_unit = 0, portions = 1;
    std::int64_t first_slot = 0;
  };

  template <typename T>
  [[nodiscard]] static T read(const float* from, std::int64_t i) {
    T value;
    std::memcpy(static_cast<void*>(&value), from + i * floats_of<T>, sizeof(T));
    return value;
  }
  template <typename T>
  static void write(float* to, std::int64_t i, const T& value) {
    std::memcpy(to + i * floats_of<T>, &value, sizeof(T));
  }
  template <typename T>
  static constexpr std::int64_t floats_of = sizeof(T) / sizeof(float);

  [[nodiscard]] Chunk chunk(std::int64_t i) const { return read<Chunk>(chunk_memory_, i); }
  [[nodiscard]] KeyPart part(std::int64_t i) const { return read<KeyPart>(part_memory_, i); }
  static std::int64_t pairs_of(const KeyPart& part);
  static bool take_rows(const KeyUnit& unit, std::int64_t before, KeyPart& part);
  template <typename Visit>
  static void for_each_run(const AttentionPlan& plan, std::int64_t chunk_tokens,
                           const Visit& visit);
  void count_parts(std::int64_t portion_pairs);
  void place_parts();

  const AttentionPlan& plan_;
  std::int64_t chunk_tokens_;
  std::int64_t chunks_;
  std::int64_t units_ = 0;
  std::int64_t slots_ = 0;
  float* chunk_memory_;
  float* part_memory_;
};

}  // namespace attnscope::cpu
