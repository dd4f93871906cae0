#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A cell: one contender in one heat, with all its measurements.

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
  int process = 0;    // index of the worker process within the heat
  int placement = 0;  // index of the set of buffers, counted over all processes
  int round = 0;      // shuffled round within the placement; pairs contenders
  double time_ns = 0;
  int iterations = 1;
  std::int64_t involuntary_switches = 0;
  double foreign_load = 0;  // cores kept busy by other processes during the sample
  // Clock rate of the processor's cores in use, or of the device; absent where it cannot be read.
  std::optional<double> clock_mhz = {};
  std::optional<double> temperature_c = {};
  bool throttled = false;  // known to have been slowed down because of heat or power
  // Per iteration, summed over all threads of the process; absent where the system does not report
  // it.
  std::optional<double> cpu_ns = {};     // time on a core
  std::optional<double> waited_ns = {};  // time ready to run while others had the cores
  std::optional<double> power_w = {};  // power draw of the device; absent where it is not reported
};

/// Whether a sample was disturbed: its threads waited for cores for more than 3% of its time; where
/// that is unknown, it was preempted or other processes kept a tenth of the cores it uses busy; or
/// it was throttled. Disturbed samples are kept, but times are computed from the others if there
/// are enough of them (engine/statistics/summary.h).
[[nodiscard]] bool is_disturbed(const Sample& sample, int threads);

struct CellMemory {
  std::int64_t requested_bytes = 0;  // peak above the memory in use before the call, as requested
  std::int64_t reserved_bytes = 0;   // the same after rounding and caching by the allocator
  std::int64_t workspace_bytes = 0;  // the part of it passed to the kernel as workspace
  // Largest growth of the process during the call, as measured by the system; absent where it was
  // not measured.
  std::optional<std::int64_t> process_peak_bytes = {};
  // Size of what a re-ranker stores of its documents between the stages offline and online; absent
  // where it stores nothing.
  std::optional<std::int64_t> cache_bytes = {};
};

/// Whether the process grew by more than its allocators counted, so that memory came from
/// elsewhere. The tolerance is 10% of the counted memory plus 32 MiB, for pages of code that run
/// for the first time, thread stacks and libraries' packing buffers.
[[nodiscard]] bool has_unseen_memory(const CellMemory& memory);
/// The peak to display: the counted one or, with unseen memory, the one measured by the system.
[[nodiscard]] std::int64_t peak_bytes(const CellMemory& memory);

/// Work in one call over the whole batch, from the plan.
struct CellWork {
  double useful_flop = 0;
  double least_bytes = 0;
  double exponentials = 0;
  double executed_flop = 0;
  double executed_bytes = 0;
};

/// Time of a part of a call, for operations with parts: a model has "embeddings", "projections",
/// "attention", "feed-forward", "head", and "other" for the rest. Measured in a separate call after
/// the timed ones, so the sum of the parts is close to the timed call but not equal to it.
struct PartTime {
  std::string name;
  double time_ns = 0;
  double useful_flop = 0;  // 0: not counted
};

struct Cell {
  Contender contender;
  CellStatus status = CellStatus::ok;
  std::string reason;             // one sentence when status is not ok; else what was selected
  std::int64_t batch = 0;         // items measured together
  std::int64_t query_tokens = 0;  // group sizes of one item, [SEP] included
  std::int64_t document_tokens = 0;
  std::vector<Sample> samples;           // empty unless ok
  std::optional<double> relative_error;  // the worst tensor's, against the float64 reference
  std::optional<double> error_bound;
  CellMemory memory;
  CellWork work;
  bool settled = false;  // the stop rule's interval was reached (else the time limit ended it)
  std::vector<PartTime> parts = {};  // in the order of execution
  /// Other measurements of this program that ran at the same time, in words; usually empty. Set by
  /// the driver.
  std::string disturbed_by = {};
};

/// Why the cell's values are impossible at that point, from any source: "a time of -5 ns"; empty if
/// they are possible. The bounds are generous: they detect a forgery or a broken worker, not
/// an unusual machine. Samples are checked if there are any.
[[nodiscard]] std::string why_impossible(const HeatPoint& point, const Cell& cell);
/// Why the output of a cell with status ok is not proven correct: "an error of 0.3, above the bound
/// of 2e-06"; empty if it is.
[[nodiscard]] std::string why_unproven(const Cell& cell);

struct HeatResult {
  int heat_index = 0;
  HeatPoint point;
  std::vector<Cell> cells;  // in the order of the heat's contenders
};

/// Rates the machine can reach, measured during a run (DESIGN 5.6). One list element per
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
  double tensor_flop_per_second = 0;  // for 16-bit operands on tensor cores; 0 without tensor cores
};

/// Whether a machine with these rates can exist.
[[nodiscard]] bool is_possible(const Ceilings& ceilings);

/// Whether these ceilings apply to the point's device and dtype: on the processor float32 with the
/// same number of threads; on the device float32 and the dtypes of tensor cores.
[[nodiscard]] bool are_ceilings_of(const Ceilings& ceilings, const HeatPoint& point);

/// limit = max(FLOP, bytes, exponentials over their rates) in ns; 16-bit dtypes take the rate of
/// tensor cores where there are any. The copy rate is that of the smallest measured working set
/// that holds `work.least_bytes`; with cold caches it is that of the largest, which does not fit
/// into the caches. 0 if no ceilings are known.
[[nodiscard]] double limit_ns(const CellWork& work, const Ceilings& ceilings,
                              CacheState cache = CacheState::warm, DType dtype = DType::float32);

}  // namespace attnscope
