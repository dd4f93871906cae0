// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/session/heats.h"

#include <QStringList>
#include <algorithm>
#include <array>
#include <map>

#include "app/gui/session/text.h"
#include "engine/report/row_values.h"
#include "engine/sweep/pause.h"
#include "engine/sweep/run_plan.h"

namespace attnscope::gui {
namespace {

constexpr std::array all_statuses{
    CellStatus::ok,      CellStatus::unsupported, CellStatus::oom,      CellStatus::wrong,
    CellStatus::crashed, CellStatus::timeout,     CellStatus::cancelled};

/// The length, and every other axis in which the heats differ.
std::vector<QString> words_of(const std::vector<Heat>& heats) {
  std::vector<std::vector<report::AxisValue>> axes;
  axes.reserve(heats.size());
  for (const Heat& heat : heats) axes.push_back(report::axes_of(heat.point));
  std::vector<QString> all;
  all.reserve(heats.size());
  for (const auto& own : axes) {
    QStringList parts;
    for (std::size_t i = 0; i < own.size(); ++i) {
      const bool varies = std::ranges::any_of(
          axes, [&](const auto& other) { return other[i].value != own[i].value; });
      if (varies || i == report::length_axis) parts.append(words(report::words_of(own[i])));
    }
    all.push_back(parts.join(QStringLiteral(", ")));
  }
  return all;
}

/// Number of cells of a heat by status.
using Ends = std::map<CellStatus, int>;

HeatState state_of(const Ends& ends) {
  if (ends.contains(CellStatus::crashed)) return HeatState::crashed;
  if (ends.contains(CellStatus::wrong)) return HeatState::wrong;
  if (ends.contains(CellStatus::timeout)) return HeatState::timeout;
  if (ends.contains(CellStatus::oom)) return HeatState::too_large;
  return ends.contains(CellStatus::ok) ? HeatState::done : HeatState::skipped;
}

QString words_of(const Ends& ends) {
  QStringList parts;
  for (const CellStatus status : all_statuses) {
    if (const auto found = ends.find(status); found != ends.end())
      parts.append(QStringLiteral("%1 %2").arg(found->second).arg(words(name_of(status))));
  }
  return parts.join(QStringLiteral(", "));
}

HeatsSnapshot plan_of(const Store& store, const RunEntry& live) {
  HeatsSnapshot plan;
  plan.uuid = words(live.info.id.uuid);
  const Result<RunInfo> whole = store.find_run(live.info.id.uuid);  // lists omit the plan
  const Result<std::vector<Heat>> heats =
      whole ? stored_heats(*whole) : tl::unexpected(whole.error());
  if (!heats) {
    plan.heats.resize(static_cast<std::size_t>(std::max(0, live.info.start.heats_planned)));
    return plan;
  }
  plan.keys.reserve(heats->size());
  plan.heats.reserve(heats->size());
  for (QString& point : words_of(*heats)) plan.heats.push_back({.point = std::move(point)});
  for (const Heat& heat : *heats) plan.keys.push_back(point_key(heat.point));
  return plan;
}

/// False if the store does not respond at the moment.
bool read_ends(const Store& store, const RunEntry& live, HeatsSnapshot& heats) {
  const auto cells = store.cells(live.info.id, /*with_samples=*/false);
  if (!cells) return false;
  std::map<std::int64_t, std::pair<std::string, Ends>> ends;  // by number: measurement order
  for (const StoredCell& cell : *cells) {
    auto& [key, of_heat] = ends[cell.heat_number];
    if (key.empty()) key = point_key(cell.point);
    ++of_heat[cell.cell.status];
  }
  std::size_t measured = 0;
  for (const auto& [number, heat] : ends) {
    std::size_t place = measured++;
    if (!heats.keys.empty()) {
      place =
          static_cast<std::size_t>(std::ranges::find(heats.keys, heat.first) - heats.keys.begin());
    }
    if (place >= heats.heats.size()) continue;
    heats.heats[place].state = state_of(heat.second);
    heats.heats[place].outcome = words_of(heat.second);
  }
  heats.heats_done = live.info.heats_done;
  return true;
}

/// Heats are measured in order, so the first unfinished one is the current one.
void mark_current(const std::optional<Progress>& progress, HeatsSnapshot& heats) {
  for (HeatEntry& heat : heats.heats) {
    if (heat.outcome.isEmpty()) heat.state = HeatState::waiting;
  }
  const auto next = std::ranges::find(heats.heats, HeatState::waiting, &HeatEntry::state);
  if (next == heats.heats.end() || !progress) return;
  if (is_paused(*progress)) {
    next->state = HeatState::paused;
  } else if (!progress->current.empty() && !progress->current.starts_with("ceilings") &&
             !is_waiting(*progress)) {
    next->state = HeatState::running;
  }
}

}  // namespace

HeatsPointer read_heats(const Store& store, const RunEntry& live, const HeatsPointer& before) {
  const bool same_run = before && before->uuid == words(live.info.id.uuid);
  auto heats = std::make_shared<HeatsSnapshot>(same_run ? *before : plan_of(store, live));
  if (heats->heats_done != live.info.heats_done && !read_ends(store, live, *heats)) return before;
  mark_current(live.progress, *heats);
  if (same_run && heats->heats == before->heats && heats->heats_done == before->heats_done)
    return before;
  return heats;
}

}  // namespace attnscope::gui
