// SPDX-License-Identifier: Apache-2.0
#include "engine/measure/heat_runner.h"

#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>

#include "engine/attention/cuda_runtime.h"
#include "engine/measure/gate.h"
#include "engine/measure/guard_zones.h"
#include "engine/measure/heat_record.h"
#include "engine/measure/heat_tensors.h"
#include "engine/measure/lineup.h"
#include "engine/measure/model_heat.h"
#include "engine/measure/process_peak.h"
#include "engine/measure/row_watch.h"
#include "kernels/plan/counts.h"

namespace attnscope::measure {
namespace {

CellWork work_of(const HeatPoint& point, const AttentionPlan& plan,
                 const PreparedAttention& prepared) {
  const PlanCounts counts = count(plan);
  const ExecutedWork executed = prepared.executed();
  const bool softmax = point.operation != Operation::windowed_matmul;
  const Passes passes = passes_of(point.direction);
  return {.useful_flop = useful_flop(counts, point.head_dim, passes),
          .least_bytes = least_bytes(plan, point.head_dim, point.dtype, passes),
          .exponentials = softmax ? useful_exponentials(counts, passes) : 0.0,
          .executed_flop = executed.flop,
          .executed_bytes = executed.bytes};
}

/// A heat of attention calls.
class AttentionHeat {
 public:
  explicit AttentionHeat(HeatRecord& record)
      : record_(record),
        heat_(record.heat()),
        device_(record.device()),
        memory_(record.memory()),
        beacon_(record.beacon()),
        troubles_(record.troubles()),
        cells_(record.cells()),
        first_call_ns_(heat_.contenders.size()),
        first_call_blocks_(heat_.contenders.size()) {}

  void measure(const GroupSizes& sizes) {
    const std::unique_ptr<Lineup> lineup = choose_lineup(heat_, sizes, memory_, troubles_);
    if (!lineup) return;
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      cells_[i].batch = lineup->batch();
      if (!troubles_[i])
        cells_[i].work = work_of(heat_.point, lineup->planned(i).plan, *lineup->prepared(i));
    }
    bool checked = false;
    HeatTensors tensors(device_, lineup->shape(), heat_.point.seed);
    References references(*lineup, heat_.point.seed);
    for (const int placement : record_.placements()) {
      if (record_.cancelled() || record_.nobody_left()) return;
      if (const auto trouble = guarded(memory_, [&] {
            tensors.place(placement);
            if (!checked) check_all_left(*lineup, references, tensors, placement);
            checked = true;
            time_all_left(*lineup, references, tensors, placement);
          })) {
        record_.drop_all_left(*trouble);
      }
    }
  }

 private:
  /// One call of what the heat measures: forward, or forward and backward.
  void call(PreparedAttention& prepared, const PlacedTensors& buffers,
            std::span<std::byte> workspace) const {
    require(prepared.forward({.q = buffers.q(),
                              .k = buffers.k(),
                              .v = buffers.v(),
                              .o = buffers.o(),
                              .lse = buffers.lse(),
                              .workspace = workspace}));
    if (heat_.point.direction == Direction::forward) return;
    require(prepared.backward({.tensors = {.q = buffers.q(),
                                           .k = buffers.k(),
                                           .v = buffers.v(),
                                           .o = attnscope::as_const(buffers.o()),
                                           .lse = buffers.lse(),
                                           .grad_o = buffers.grad_o(),
                                           .grad_q = buffers.grad_q(),
                                           .grad_k = buffers.grad_k(),
                                           .grad_v = buffers.grad_v()},
                               .workspace = workspace}));
  }

  static void require(const Status& done) {
    if (!done) throw std::runtime_error(done.error().message);
  }

  void check_all_left(const Lineup& lineup, References& references, HeatTensors& tensors,
                      int placement) {
    const bool gradients = heat_.point.direction == Direction::forward_backward;
    if (gradients) tensors.fill_grad_o(references.rows());
    const std::uint64_t inputs = tensors.input_print();
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      if (troubles_[i] || record_.cancelled()) continue;
      record_.tell(i, "check");
      const char* outside = nullptr;
      troubles_[i] = guarded(memory_, [&] { outside = meter(i, *lineup.prepared(i), tensors); });
      beacon_.idle();
      if (outside != nullptr)
        troubles_[i] = Trouble{CellStatus::wrong, fmt::format("it wrote outside its {}", outside)};
      if (tensors.input_print() != inputs) {
        // They are everybody's, and the reference is computed from them.
        troubles_[i] = Trouble{CellStatus::wrong, "it changed its inputs"};
        tensors.place(placement);
        if (gradients) tensors.fill_grad_o(references.rows());
      }
      if (troubles_[i]) continue;
      const Verdict verdict = judge(references.of(i, tensors.on_host()), tensors.on_host());
      cells_[i].relative_error = verdict.error.error;
      cells_[i].error_bound = verdict.error.bound;
      troubles_[i] = verdict.trouble;
    }
    if (gradients) tensors.fill_grad_o();
  }

  /// The first call of a contender, alone with an empty cache: what it asks for is its memory.
  /// Returns the name of what it wrote outside of, if it did.
  const char* meter(std::size_t contender, PreparedAttention& prepared,
                    const HeatTensors& tensors) {
    tensors.poison_outputs();
    const EmptyCache alone(memory_);
    memory_.reset_peaks();
    const HeatMemory::Counters before = memory_.counters();
    const GuardedWorkspace workspace(memory_, prepared.workspace_bytes());
    GuardZones guards(device_.kind());
    tensors.on_device().watched_by(guards);
    workspace.watched_by(guards);
    const ProcessPeak process;
    beacon_.calling(static_cast<int>(contender));
    const auto start = std::chrono::steady_clock::now();
    call(prepared, tensors.on_device(), workspace.bytes());
    first_call_ns_[contender] =
        std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
    first_call_blocks_[contender] = memory_.cached_blocks();
    first_call_blocks_[contender].push_back(prepared.workspace_bytes());
    tensors.fetch_outputs();
    const HeatMemory::Counters after = memory_.counters();
    CellMemory& memory = cells_[contender].memory;
    memory = {
        .requested_bytes = after.requested_peak - before.requested - workspace.extra_requested(),
        .reserved_bytes = after.reserved_peak - before.reserved - workspace.extra_reserved(),
        .workspace_bytes = prepared.workspace_bytes()};
    // A device's memory is not the process's.
    if (device_.kind() == DeviceKind::cpu) memory.process_peak_bytes = process.grown_bytes();
    return guards.broken();
  }

  void time_all_left(const Lineup& lineup, References& references, const HeatTensors& tensors,
                     int placement) {
    if (record_.cancelled())
      return;  // before references of what was not checked any more are computed
    const PlacedTensors& buffers = tensors.on_device();
    std::vector<Buffer> workspaces(cells_.size());
    std::vector<std::optional<RowWatch>> watches(cells_.size());
    std::vector<Lane> lanes;
    std::function<void()> before_call;
    if (heat_.point.cache == CacheState::cold)
      before_call = [this] { memory_.flush_from_caches(); };
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      if (troubles_[i]) continue;
      memory_.provide(first_call_blocks_[i]);
      PreparedAttention* const prepared = lineup.prepared(i);
      Buffer* const workspace = &workspaces[i];
      const RowWatch& watch =
          watches[i].emplace(device_.kind(), references.of(i, tensors.on_host()));
      lanes.push_back(
          {.contender = static_cast<int>(i),
           .enter =
               [=, this, &watch, &buffers] {
                 *workspace = Buffer(memory_, prepared->workspace_bytes());
                 watch.poison(buffers);
               },
           .before_call = before_call,
           .call = [=, this, &buffers] { call(*prepared, buffers, workspace->bytes()); },
           .leave = [=] { *workspace = Buffer(); },
           .judge = [=, this, &watch, &buffers] { return judge_sample(i, watch, buffers); },
           .earlier_ns = first_call_ns_[i]});
    }
    std::vector<LaneResult> results = run_rounds(lanes, record_.rounds(placement));
    for (std::size_t lane = 0; lane < lanes.size(); ++lane)
      record_.keep(std::move(results[lane]), static_cast<std::size_t>(lanes[lane].contender));
  }

  std::optional<Trouble> judge_sample(std::size_t contender, const RowWatch& watch,
                                      const PlacedTensors& buffers) {
    const auto wrong = watch.judge(buffers);
    if (!wrong) return std::nullopt;
    cells_[contender].relative_error = wrong->error;
    cells_[contender].error_bound = wrong->bound;
    return wrong->trouble;
  }

  HeatRecord& record_;
  const Heat& heat_;
  HeatDevice& device_;
  HeatMemory& memory_;
  Beacon& beacon_;
  std::vector<std::optional<Trouble>>& troubles_;
  std::vector<Cell>& cells_;
  // By contender; on a device that of handing it over, far less.
  std::vector<double> first_call_ns_;
  std::vector<std::vector<std::int64_t>> first_call_blocks_;  // that such a call needs
};

void measure(HeatRecord& record) {
  const auto sizes = group_sizes(record.heat().point);
  if (!sizes) return record.drop_all_left({CellStatus::unsupported, sizes.error().message});
  for (std::size_t i = 0; i < record.cells().size(); ++i) {
    record.cells()[i].query_tokens = sizes->query;
    record.cells()[i].document_tokens = sizes->document;
    record.tell(i, "prepare");
  }
  if (record.heat().point.operation == Operation::model) {
    measure_models(record, *sizes);
  } else {
    AttentionHeat(record).measure(*sizes);
  }
}

/// Pages that are touched from here on: the allocator's advice is heeded, or there are no huge
/// ones. Cached blocks are not in the way, for a worker gives them back between its requests.
void set_page_size(PageSize size) {
  const unsigned long none = size == PageSize::huge ? 0 : 1;
  prctl(PR_SET_THP_DISABLE, none, 0UL, 0UL, 0UL);
}

}  // namespace

HeatResult run_heat(const protocol::HeatRequest& request, const HeatHooks& hooks) {
  set_page_size(request.heat.point.page_size);
  HeatRecord record(request, hooks);
  measure(record);
  return record.finish();
}

}  // namespace attnscope::measure
