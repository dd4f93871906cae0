#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A cell: one contender in one heat, with everything that was measured of it.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/heat/heat.h"

namespace attnscope {

enum class CellStatus : std::uint8_t { ok, unsupported, oom, wrong, crashed, timeout, cancelled };
[[nodiscard]] std::string_view name_of(CellStatus status);
[[nodiscard]] Result<CellStatus> parse_cell_status(std::string_view text);

/// One timed group of iterations. time_ns is per iteration.
struct Sample {
  int process = 0;    // which worker process of the heat
  int placement = 0;  // which set of buffers, counted over all processes
  int round = 0;      // shuffled round within the placement; pairs contenders
  double time_ns = 0;
  int iterations = 1;
  std::int64_t involuntary_switches = 0;
  double foreign_load = 0;  // cores kept busy by other processes during the sample
  // Of the processor's cores in use, or of the device; absent where nobody tells.
  std::optional<double> clock_mhz = {};
  std::optional<double> temperature_c = {};
  bool throttled = false;  // known to have been slowed down for heat or power
  // Of an iteration, over all threads of the process; absent where the system does not tell.
  std::optional<double> cpu_ns = {};     // ran on a core
  std::optional<double> waited_ns = {};  // ready to run, but others had the cores
};

/// Whether something else held the sample up: its threads waited for cores for more than 3% of its
/// time; where that is unknown, it was taken off a core or others kept a tenth of the cores it uses
/// busy; or it was throttled. Such samples are kept, but times rest on the others where there are
/// enough of them (engine/statistics/heat_basis.h).
[[nodiscard]] bool is_disturbed(const Sample& sample, int threads);

struct CellMemory {
  std::int64_t requested_bytes = 0;  // peak above what was live before the call, as asked for
  std::int64_t reserved_bytes = 0;   // the same after rounding and caching by the allocator
  std::int64_t workspace_bytes = 0;  // the part of it handed to the kernel as workspace
  // What the process itself grew by at the call's worst moment, as the system saw it; absent where
  // it was not looked at.
  std::optional<std::int64_t> process_peak_bytes = {};
  // Of what a re-ranker keeps of its documents between the stages offline and online; absent where
  // it keeps nothing.
  std::optional<std::int64_t> cache_bytes = {};
};

/// Whether the process grew by more than its allocators counted: memory that no allocator of ours
/// handed out. Tolerated are 10% of the counted and 32 MiB, for pages of code that run the first
/// time, threads' stacks and libraries' packing buffers.
[[nodiscard]] bool has_unseen_memory(const CellMemory& memory);
/// The peak to show: as counted or, with unseen memory, as the system saw it.
[[nodiscard]] std::int64_t peak_bytes(const CellMemory& memory);

/// Work in one call over the whole batch, from the plan.
struct CellWork {
  double useful_flop = 0;
  double least_bytes = 0;
  double exponentials = 0;
  double executed_flop = 0;
  double executed_bytes = 0;
};

/// What a part of a call took, where the operation knows parts: a model's "embeddings",
/// "projections", "attention", "feed-forward", "head", and "other", which none of them claims. Of a
/// call of its own behind the timed ones, so that their sum is near their time and no more.
struct PartTime {
  std::string name;
  double time_ns = 0;
  double useful_flop = 0;  // 0: it is not counted
};

struct Cell {
  Contender contender;
  CellStatus status = CellStatus::ok;
  std::string reason;             // one sentence when status is not ok
  std::int64_t batch = 0;         // items actually measured together
  std::int64_t query_tokens = 0;  // group sizes of one item, [SEP] included
  std::int64_t document_tokens = 0;
  std::vector<Sample> samples;           // empty unless ok
  std::optional<double> relative_error;  // the worst tensor's, against the float64 reference
  std::optional<double> error_bound;
  CellMemory memory;
  CellWork work;
  bool settled = false;  // the stop rule's interval was reached (else the time limit ended it)
  std::vector<PartTime> parts = {};  // in the order in which a call comes to them
  /// Other measurements of this program that ran at the same time, in words; mostly empty. The
  /// driver's to say.
  std::string disturbed_by = {};
};

/// Why a cell at that point cannot be what it says, whoever says so: "a time of -5 ns". Empty where
/// it can be. Bounds are generous: they tell a lie, a forgery or a broken worker, not an odd
/// machine. Samples are looked at where there are any.
[[nodiscard]] std::string why_impossible(const HeatPoint& point, const Cell& cell);
/// Of a cell that is ok, why its output was not found right: "an error of 0.3, above the bound of
/// 2e-06". Empty where it was.
[[nodiscard]] std::string why_unproven(const Cell& cell);

struct HeatResult {
  int heat_index = 0;
  HeatPoint point;
  std::vector<Cell> cells;  // in the order of the heat's contenders
};

/// Rates the machine can reach, measured beside a run (DESIGN 5.6). One list element per
/// measurement.
struct Ceilings {
  int threads = 0;             // of the processor; 0 for a device
  double flop_per_second = 0;  // float32 fused multiply-adds, counted as two
  double exponentials_per_second = 0;
  struct Copy {
    std::int64_t working_set_bytes = 0;
    double bytes_per_second = 0;  // read plus written
  };
  std::vector<Copy> copy;  // ascending working set
  double seconds_into_run = 0;
  DeviceKind device = DeviceKind::cpu;
  double tensor_flop_per_second = 0;  // of 16-bit factors on tensor cores; 0 without any
};

/// Whether some machine may have these rates.
[[nodiscard]] bool is_possible(const Ceilings& ceilings);

/// Whether these are ceilings of what the point was measured on, in its dtype: of as many threads
/// of the processor in float32, or of the device in float32 and on tensor cores.
[[nodiscard]] bool are_ceilings_of(const Ceilings& ceilings, const HeatPoint& point);

/// limit = max(FLOP, bytes, exponentials over their rates) in ns; 16-bit dtypes take the rate of
/// tensor cores where there are any. The copy rate is that of the
/// smallest measured working set that holds `work.least_bytes`, and with cold caches that of the
/// largest, which the caches do not hold. 0 when no ceilings are known.
[[nodiscard]] double limit_ns(const CellWork& work, const Ceilings& ceilings,
                              CacheState cache = CacheState::warm, DType dtype = DType::float32);

}  // namespace attnscope
