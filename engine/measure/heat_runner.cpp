// SPDX-License-Identifier: Apache-2.0
#include "engine/measure/heat_runner.h"

#include <algorithm>
#include <chrono>
#include <stdexcept>

#include "engine/attention/cuda_runtime.h"
#include "engine/measure/available_memory.h"
#include "engine/measure/beacon.h"
#include "engine/measure/gate.h"
#include "engine/measure/guard_zones.h"
#include "engine/measure/heat_device.h"
#include "engine/measure/heat_tensors.h"
#include "engine/measure/lineup.h"
#include "engine/measure/process_peak.h"
#include "engine/measure/random.h"
#include "engine/measure/rounds.h"
#include "engine/measure/row_watch.h"
#include "engine/measure/torch_runtime.h"
#include "engine/sweep/heartbeat.h"
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

class HeatRun {
 public:
  HeatRun(const protocol::HeatRequest& request, const HeatHooks& hooks)
      : request_(request),
        heat_(request.heat),
        hooks_(hooks),
        device_(heat_device(heat_.point.device)),
        memory_(device_.memory()),
        beacon_(request.beacon, request.beacon_nonce, hooks.own_beacon),
        troubles_(heat_.contenders.size()),
        first_call_ns_(heat_.contenders.size()),
        first_call_blocks_(heat_.contenders.size()) {
    if (hooks.on_alive && !beacon_.is_shared())
      heartbeat_.emplace(protocol::alive_interval, [this] { hooks_.on_alive(beacon_.read()); });
    auto limit = memory_limit_bytes();
    if (!limit) throw std::runtime_error(limit.error().message);
    memory_.empty_cache();
    memory_.set_limit(*limit);
    set_threads(std::max(heat_.point.threads, 1));
    for (const Contender& contender : heat_.contenders) {
      Cell cell;
      cell.contender = contender;
      cell.batch = 1;
      cells_.push_back(std::move(cell));
    }
  }

  /// Throws cuda::DeviceLost, with the beacon left at the contender that lost the device.
  HeatResult run() {
    try {
      measure_all();
    } catch (const cuda::DeviceLost&) {
      beacon_.leave_lit();
      throw;
    }
    for (std::size_t i = 0; i < cells_.size(); ++i) conclude(i);
    memory_.empty_cache();
    return {.heat_index = heat_.index, .point = heat_.point, .cells = std::move(cells_)};
  }

 private:
  [[nodiscard]] bool cancelled() const {
    return hooks_.cancel != nullptr && hooks_.cancel->load(std::memory_order_relaxed);
  }

  void tell(std::size_t contender, std::string_view phase) const {
    if (hooks_.on_phase) hooks_.on_phase(static_cast<int>(contender), phase);
  }

  void measure_all() {
    if (const auto sizes = group_sizes(heat_.point)) {
      measure(*sizes);
    } else {
      for (auto& trouble : troubles_)
        trouble = Trouble{CellStatus::unsupported, sizes.error().message};
    }
  }

  void measure(const GroupSizes& sizes) {
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      cells_[i].query_tokens = sizes.query;
      cells_[i].document_tokens = sizes.document;
      tell(i, "prepare");
    }
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
    for (const int placement : request_.placements) {
      if (cancelled() || nobody_left()) return;
      if (const auto trouble = guarded(memory_, [&] {
            tensors.place(placement);
            if (!checked) check_all_left(*lineup, references, tensors, placement);
            checked = true;
            time_all_left(*lineup, references, tensors, placement);
          })) {
        drop_all_left(*trouble);
      }
    }
  }

  [[nodiscard]] bool nobody_left() const {
    return std::all_of(troubles_.begin(), troubles_.end(),
                       [](const auto& trouble) { return trouble.has_value(); });
  }

  void drop_all_left(const Trouble& trouble) {
    for (auto& one : troubles_)
      if (!one) one = trouble;
  }

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
      if (troubles_[i] || cancelled()) continue;
      tell(i, "check");
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
    if (cancelled()) return;  // before references of what was not checked any more are computed
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
    const RoundsOptions options{
        .memory = memory_,
        .beacon = beacon_,
        .rule = placement_rule(heat_.stop),
        .process = request_.process,
        .placement = placement,
        .seed = random_bits(heat_.point.seed, static_cast<std::uint64_t>(heat_.index)),
        .cancel = hooks_.cancel,
        .on_start = [&](int contender) { tell(static_cast<std::size_t>(contender), "time"); },
        .stopwatch = device_.stopwatch(),
        .conditions = device_.conditions()};
    std::vector<LaneResult> results = run_rounds(lanes, options);
    for (std::size_t lane = 0; lane < lanes.size(); ++lane)
      keep(static_cast<std::size_t>(lanes[lane].contender), std::move(results[lane]));
  }

  std::optional<Trouble> judge_sample(std::size_t contender, const RowWatch& watch,
                                      const PlacedTensors& buffers) {
    const auto wrong = watch.judge(buffers);
    if (!wrong) return std::nullopt;
    cells_[contender].relative_error = wrong->error;
    cells_[contender].error_bound = wrong->bound;
    return wrong->trouble;
  }

  void keep(std::size_t contender, LaneResult&& result) {
    Cell& cell = cells_[contender];
    const bool first = cell.samples.empty();
    cell.samples.insert(cell.samples.end(), result.samples.begin(), result.samples.end());
    cell.settled = result.settled && (first || cell.settled);
    troubles_[contender] = std::move(result.trouble);
  }

  /// A cell has samples or a reason, never both. A cancelled heat is measured again whole.
  void conclude(std::size_t contender) {
    Cell& cell = cells_[contender];
    if (troubles_[contender]) {
      cell.status = troubles_[contender]->status;
      cell.reason = troubles_[contender]->reason;
    } else if (cancelled()) {
      cell.status = CellStatus::cancelled;
      cell.reason = "cancelled before the heat was complete";
    }
    if (cell.status == CellStatus::ok) return;
    cell.samples.clear();
    cell.settled = false;
  }

  const protocol::HeatRequest& request_;
  const Heat& heat_;
  const HeatHooks& hooks_;
  HeatDevice& device_;
  HeatMemory& memory_;
  BeaconFile beacon_;
  std::vector<std::optional<Trouble>> troubles_;
  std::vector<Cell> cells_;
  // By contender; on a device that of handing it over, far less.
  std::vector<double> first_call_ns_;
  std::vector<std::vector<std::int64_t>> first_call_blocks_;  // that such a call needs
  std::optional<Heartbeat> heartbeat_;  // the last member: it ends before what it reads
};

}  // namespace

HeatResult run_heat(const protocol::HeatRequest& request, const HeatHooks& hooks) {
  return HeatRun(request, hooks).run();
}

}  // namespace attnscope::measure
