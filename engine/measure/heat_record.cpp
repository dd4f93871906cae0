// SPDX-License-Identifier: Apache-2.0
#include "engine/measure/heat_record.h"

#include <algorithm>
#include <stdexcept>

#include "engine/measure/available_memory.h"
#include "engine/measure/random.h"
#include "engine/measure/torch_runtime.h"

namespace attnscope::measure {

HeatRecord::HeatRecord(const protocol::HeatRequest& request, const HeatHooks& hooks)
    : request_(request),
      hooks_(hooks),
      device_(heat_device(request.heat.point.device)),
      memory_(device_.memory()),
      beacon_(hooks.beacon != nullptr ? *hooks.beacon : unseen_),
      troubles_(request.heat.contenders.size()) {
  beacon_.idle();
  auto limit = memory_limit_bytes();
  if (!limit) throw std::runtime_error(limit.error().message);
  memory_.empty_cache();
  memory_.set_limit(*limit);
  set_threads(std::max(heat().point.threads, 1));
  cells_.reserve(heat().contenders.size());
  for (const Contender& contender : heat().contenders) {
    Cell cell;
    cell.contender = contender;
    cell.batch = 1;
    cells_.push_back(std::move(cell));
  }
}

bool HeatRecord::cancelled() const {
  return hooks_.cancel != nullptr && hooks_.cancel->load(std::memory_order_relaxed);
}

bool HeatRecord::nobody_left() const {
  return std::all_of(troubles_.begin(), troubles_.end(),
                     [](const auto& trouble) { return trouble.has_value(); });
}

void HeatRecord::tell(std::size_t contender, std::string_view phase) const {
  if (hooks_.on_phase) hooks_.on_phase(static_cast<int>(contender), phase);
}

void HeatRecord::drop_all_left(const Trouble& trouble) {
  for (auto& one : troubles_)
    if (!one) one = trouble;
}

RoundsOptions HeatRecord::rounds(int placement) const {
  return {.memory = memory_,
          .beacon = beacon_,
          .rule = placement_rule(heat().stop),
          .process = request_.process,
          .placement = placement,
          .seed = random_bits(heat().point.seed, static_cast<std::uint64_t>(heat().index)),
          .cancel = hooks_.cancel,
          .on_start = [this](int contender) { tell(static_cast<std::size_t>(contender), "time"); },
          .stopwatch = device_.stopwatch(),
          .conditions = device_.conditions()};
}

void HeatRecord::keep(LaneResult&& result, std::size_t contender) {
  Cell& cell = cells_[contender];
  const bool first = cell.samples.empty();
  cell.samples.insert(cell.samples.end(), result.samples.begin(), result.samples.end());
  cell.settled = result.settled && (first || cell.settled);
  troubles_[contender] = std::move(result.trouble);
}

void HeatRecord::conclude(std::size_t contender) {
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

HeatResult HeatRecord::finish() {
  for (std::size_t i = 0; i < cells_.size(); ++i) conclude(i);
  memory_.empty_cache();
  return {.heat_index = heat().index, .point = heat().point, .cells = std::move(cells_)};
}

}  // namespace attnscope::measure
