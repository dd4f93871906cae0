// SPDX-License-Identifier: Apache-2.0
#include "engine/measure/lineup.h"

#include <algorithm>
#include <limits>

#include "engine/attention/cuda_runtime.h"
#include "engine/attention/list.h"
#include "engine/measure/available_memory.h"
#include "engine/measure/flush_caches.h"
#include "engine/pattern/compile_plan.h"

namespace attnscope::measure {
namespace {

// More items than any measurement needs; a layout of them still takes no memory to speak of.
constexpr std::int64_t most_items = std::int64_t{1} << 20;

Result<SequenceLayout> layout_of(const HeatPoint& point, const GroupSizes& sizes,
                                 std::int64_t batch) {
  LayoutItem item;
  item.cls = sizes.cls;
  item.query = point.shared_query ? 0 : sizes.query;
  item.documents = sizes.documents;
  return SequenceLayout::make(std::vector<LayoutItem>(static_cast<std::size_t>(batch), item),
                              point.shared_query ? sizes.query : 0);
}

/// What no implementation of this build can do, in the words shown to the user.
std::optional<std::string> reason_against(const HeatPoint& point, const SequenceLayout& layout) {
  if (point.device == DeviceKind::cuda && !cuda::usable()) return cuda::usable().error().message;
  if (point.cache == CacheState::cold && point.device == DeviceKind::cpu && !can_flush_caches())
    return "this processor does not let a program empty its caches; use cache warm";
  if (point.memory_order == MemoryOrder::head_major && !layout.is_uniform()) {
    return "head-major memory needs a query of its own in every item; use memory_order token-major "
           "with a shared query";
  }
  return std::nullopt;
}

bool any_left(const std::vector<std::optional<Trouble>>& troubles) {
  return std::any_of(troubles.begin(), troubles.end(),
                     [](const auto& trouble) { return !trouble.has_value(); });
}

/// Contenders whose needs exceed what the machine has leave before anything is allocated.
void rule_out_oversized(const Lineup& lineup, std::int64_t free,
                        std::vector<std::optional<Trouble>>& troubles) {
  for (std::size_t i = 0; i < troubles.size(); ++i) {
    if (troubles[i]) continue;
    const auto needed = lineup.needed_bytes(i);
    if (needed && *needed <= free) continue;
    troubles[i] =
        Trouble{CellStatus::oom, fmt::format("one item would ask for {} when {} are free",
                                             needed ? bytes_in_words(*needed)
                                                    : std::string("more bytes than can be counted"),
                                             bytes_in_words(free))};
  }
}

/// A lineup of that batch, if all contenders without trouble so far fit into `budget` there.
std::unique_ptr<Lineup> lineup_within(const Heat& heat, const GroupSizes& sizes, std::int64_t batch,
                                      std::int64_t budget, HeatMemory& memory,
                                      const std::vector<std::optional<Trouble>>& troubles) {
  const auto layout = layout_of(heat.point, sizes, batch);
  if (!layout) return nullptr;
  std::vector<std::optional<Trouble>> here = troubles;
  auto lineup = std::make_unique<Lineup>(heat, *layout, memory, here);
  for (std::size_t i = 0; i < troubles.size(); ++i) {
    if (troubles[i]) continue;
    if (here[i]) return nullptr;
    const auto needed = lineup->needed_bytes(i);
    if (!needed || *needed > budget) return nullptr;
  }
  return lineup;
}

}  // namespace

Lineup::Lineup(const Heat& heat, SequenceLayout layout, HeatMemory& memory,
               std::vector<std::optional<Trouble>>& troubles)
    : point_(heat.point),
      layout_(std::move(layout)),
      shape_{.tokens = layout_.tokens(),
             .items = layout_.item_count(),
             .heads = heat.point.heads,
             .head_dim = heat.point.head_dim,
             .dtype = heat.point.dtype,
             .memory_order = heat.point.memory_order,
             .direction = heat.point.direction},
      planned_(heat.contenders.size(), nullptr),
      prepared_(heat.contenders.size()) {
  const auto against_all = reason_against(point_, layout_);
  for (std::size_t i = 0; i < heat.contenders.size(); ++i) {
    if (troubles[i]) continue;
    if (against_all) {
      troubles[i] = Trouble{CellStatus::unsupported, *against_all};
      continue;
    }
    troubles[i] = prepare(i, heat.contenders[i], memory);
  }
}

std::optional<Trouble> Lineup::prepare(std::size_t index, const Contender& contender,
                                       HeatMemory& memory) {
  const auto planned = plan_for(contender);
  if (!planned) return Trouble{CellStatus::unsupported, planned.error().message};
  planned_[index] = *planned;
  const auto implementation = implementation_named(contender.implementation);
  if (!implementation) return Trouble{CellStatus::unsupported, implementation.error().message};
  if (const Status able = (*implementation)->supports(problem(index)); !able)
    return Trouble{CellStatus::unsupported, able.error().message};
  std::optional<Trouble> refused;
  const auto thrown = guarded(memory, [&] {
    auto prepared = (*implementation)->prepare(problem(index));
    if (prepared) {
      prepared_[index] = std::move(*prepared);
    } else {
      refused = Trouble{CellStatus::unsupported, prepared.error().message};
    }
  });
  return thrown ? thrown : refused;
}

Result<const PlannedPattern*> Lineup::plan_for(const Contender& contender) {
  const std::string key = fmt::format("{}\n{}", contender.window ? contender.window->text() : "",
                                      contender.pattern_json);
  if (const auto known = plans_.find(key); known != plans_.end()) return known->second.get();
  if (point_.heads > std::numeric_limits<std::int32_t>::max()) {
    return fail("heads is {}; at most {} can be planned", point_.heads,
                std::numeric_limits<std::int32_t>::max());
  }
  auto pattern = parse_pattern(contender.pattern_json, contender.pattern);
  if (!pattern) return tl::unexpected(pattern.error());
  auto plan =
      compile_plan(*pattern, contender.window, layout_, static_cast<std::int32_t>(point_.heads));
  if (!plan) return tl::unexpected(plan.error());
  auto planned = std::make_unique<const PlannedPattern>(
      PlannedPattern{std::move(*pattern), contender.window, std::move(*plan)});
  return plans_.emplace(key, std::move(planned)).first->second.get();
}

Problem Lineup::problem(std::size_t contender) const {
  const PlannedPattern& planned = *planned_[contender];
  return {.pattern = planned.pattern,
          .window = planned.window,
          .layout = layout_,
          .plan = planned.plan,
          .head_dim = point_.head_dim,
          .dtype = point_.dtype,
          .memory_order = point_.memory_order,
          .device = point_.device,
          .operation = point_.operation,
          .direction = point_.direction,
          .scale = scale_of(point_.operation, point_.head_dim),
          .threads = std::max(point_.threads, 1)};
}

std::optional<std::int64_t> Lineup::needed_bytes(std::size_t contender) const {
  const auto buffers = buffer_bytes(shape_);
  const std::int64_t predicted = prepared_[contender]->predicted_peak_bytes();
  std::int64_t needed = 0;
  // A prediction below 0 has overflowed.
  if (!buffers || predicted < 0 || __builtin_add_overflow(*buffers, predicted, &needed))
    return std::nullopt;
  return needed;
}

std::unique_ptr<Lineup> choose_lineup(const Heat& heat, const GroupSizes& sizes, HeatMemory& memory,
                                      std::vector<std::optional<Trouble>>& troubles) {
  const auto layout = layout_of(heat.point, sizes, 1);
  if (!layout) {
    for (auto& trouble : troubles)
      trouble = Trouble{CellStatus::unsupported, layout.error().message};
    return nullptr;
  }
  auto single = std::make_unique<Lineup>(heat, *layout, memory, troubles);
  const std::int64_t free = memory.free_bytes();
  rule_out_oversized(*single, free, troubles);
  if (!any_left(troubles)) return single;

  const std::int64_t mebibytes =
      std::min(heat.point.batch_memory_mb, std::numeric_limits<std::int64_t>::max() >> 20);
  const std::int64_t budget = std::min(free, mebibytes << 20);
  const std::int64_t item_bytes = single->shape().tensors() * size_of(heat.point.dtype) *
                                  single->shape().tokens * heat.point.heads * heat.point.head_dim;
  const std::int64_t most =
      std::min({heat.point.batch_max, most_items, std::max<std::int64_t>(budget / item_bytes, 1)});
  if (most <= 1) return single;
  const auto within = [&](std::int64_t batch) {
    return lineup_within(heat, sizes, batch, budget, memory, troubles);
  };
  if (auto all = within(most)) return all;
  std::int64_t fits = 1;
  std::int64_t too_many = most;
  while (too_many - fits > 1) {
    const std::int64_t middle = fits + (too_many - fits) / 2;
    if (auto lineup = within(middle)) {
      single = std::move(lineup);
      fits = middle;
    } else {
      too_many = middle;
    }
  }
  return single;
}

}  // namespace attnscope::measure
