#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The lists of a plan that the band's loops and kernels read. Like the original's index lists, they
// depend only on the layout and are made once.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "kernels/plan/attention_plan.h"
#include "kernels/plan/counts.h"

namespace attnscope::longformer_banded {

/// The operation between the two products.
enum class Weighting : std::uint8_t { softmax, none };

inline constexpr std::int64_t largest_head_dim = 256;

// A plan by its keys: the rows whose scores contain a key's column. The gradients of keys and
// values are sums over these rows, one number per thread, in a fixed order and without atomics.

/// A segment of a task that contains the keys of a run.
struct KeyView {
  std::int64_t task = 0;     // index into plan.tasks
  std::int64_t segment = 0;  // index into plan.segments
  std::int64_t column = 0;   // whole: that of the run's first key; band and block: the segment's
                             // first
};

/// Adjacent keys contained in the same segments, for a range of heads.
struct KeyRun {
  TokenRange keys{};
  std::int64_t first_head = 0;
  std::int64_t heads = 0;
  std::int64_t first_view = 0;
  std::int64_t view_count = 0;  // 0: no row attends to them, their gradients are 0
};

/// Every (token, head) is in exactly one run.
struct KeyRuns {
  std::vector<KeyRun> runs;
  std::vector<KeyView> views;
};

/// Only plans with a windowed layout are supported.
[[nodiscard]] KeyRuns key_runs_of(const AttentionPlan& plan);

// A plan in the form that the kernels read: bytes that are copied to the device once. A launch's
// blocks are numbered task by task (or key run by key run); `firsts` has the first block of each.
//
//   Result<DeviceLists> lists = DeviceLists::make(plan, head_dim, Passes::forward);
//   copy(lists->bytes(), to_device);
//   ListsOnDevice there = lists->at(on_device);

inline constexpr int block_threads = 256;
inline constexpr int rows_of_warps = block_threads / 32;  // rows of a block with one warp per row

struct DeviceTask {
  std::int64_t first_score = 0;
  std::int64_t first_row = 0;  // rows of all heads of the preceding tasks
  std::int32_t rows = 0;       // per head
  std::int32_t columns = 0;
  std::int32_t queries = 0;  // the first token or, if listed, the first index
  std::int32_t listed = 0;
  std::int32_t first_head = 0, heads = 0;
  std::int32_t first_segment = 0, segments = 0;
  std::int32_t parts = 1;  // threads that share the sum of one number
  std::int32_t sums = 1;   // rows whose sums a block computes, one thread per part of a number
};

struct DeviceSegment {
  SegmentKind kind = SegmentKind::whole;
  std::int32_t listed = 0;
  std::int32_t begin = 0, end = 0;  // keys, or indices of keys
  std::int32_t columns = 0;
  std::int32_t offset = 0;
  std::int32_t shift = 0;   // band: the first key that query 0 attends to, before cutting at the
                            // run's ends
  std::int32_t reach = 0;   // band: number of keys that a query attends to from there
  std::int32_t by_key = 0;  // 1: columns are the run's keys (kernels/plan/attention_plan.h)
  std::int32_t skip_begin = 0, skip_end = 0;  // indices
};

struct DeviceKeyRun {
  std::int32_t begin = 0, end = 0;
  std::int32_t first_head = 0, heads = 0;
  std::int32_t first_view = 0, views = 0;
  std::int32_t parts = 1, sums = 1;  // like a task's, for keys
};

struct DeviceKeyView {
  std::int32_t task = 0, segment = 0, column = 0;  // like KeyView
};

/// Finds the entry of a block: the last entry whose first block is not after it.
struct Firsts {
  const std::int64_t* firsts = nullptr;
  std::int32_t entries = 0;
};

struct ListsOnDevice {
  const DeviceTask* tasks = nullptr;
  const DeviceSegment* segments = nullptr;
  const std::int32_t* indices = nullptr;
  const DeviceKeyRun* runs = nullptr;
  const DeviceKeyView* views = nullptr;
  Firsts cells;     // by task: a block is block_threads cells
  Firsts rows;      // by task: a block is rows_of_warps rows
  Firsts row_sums;  // by task: a block is `sums` rows of the task
  Firsts key_sums;  // by run: a block is `sums` keys of the run
};

/// The number of blocks of a launch over tasks or runs.
struct Blocks {
  std::int64_t cells = 0, rows = 0, row_sums = 0, key_sums = 0;
};

class DeviceLists {
 public:
  /// Errors: numbers that do not fit 32 bits on the device.
  [[nodiscard]] static Result<DeviceLists> make(const AttentionPlan& plan, std::int64_t head_dim,
                                                Passes passes);
  /// Why the lists cannot be made, without making them.
  [[nodiscard]] static Status fit(const AttentionPlan& plan);

  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }
  [[nodiscard]] ListsOnDevice at(const std::byte* list) const;
  [[nodiscard]] const Blocks& blocks() const { return blocks_; }
  /// Total over all heads.
  [[nodiscard]] std::int64_t row_count() const { return row_count_; }
  [[nodiscard]] std::int64_t score_count() const { return score_count_; }

 private:
  /// Position of a list in the bytes.
  struct Place {
    std::size_t offset = 0;
    std::int32_t entries = 0;
  };
  template <typename T>
  Place append(const std::vector<T>& values);
  [[nodiscard]] Firsts firsts_at(const std::byte* list, const Place& place) const;

  void add_tasks(const AttentionPlan& plan, std::int64_t head_dim);
  void add_key_runs(const AttentionPlan& plan, std::int64_t head_dim);

  std::vector<std::byte> bytes_;
  Place tasks_, segments_, indices_, runs_, views_, cells_, rows_, row_sums_, key_sums_;
  Blocks blocks_;
  std::int64_t row_count_ = 0;
  std::int64_t score_count_ = 0;
};

}  // namespace attnscope::longformer_banded
