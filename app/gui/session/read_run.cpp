// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/session/read_run.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "app/gui/session/text.h"
#include "engine/report/answer.h"
#include "engine/store/locked.h"

namespace attnscope::gui {
namespace {

HeatPoint fixed_part(HeatPoint point, report::XAxis x) {
  if (x == report::XAxis::length) point.sequence_tokens = 0;
  return point;
}

FigureSnapshot draw(const report::Table& table, report::XAxis x, report::YAxis y) {
  FigureSnapshot snapshot;
  if (table.rows.empty()) return snapshot;
  Result<report::Figure> figure = report::make_figure(table, x, y);
  if (figure) {
    snapshot.figure = std::move(*figure);
  } else {
    snapshot.problem = words(figure.error().message);
  }
  return snapshot;
}

QStringList contender_ids(const report::Table& table) {
  QStringList ids;
  for (const report::Row& row : table.rows) {
    const QString id = words(row.cell.cell.contender.id());
    if (!ids.contains(id)) ids.append(id);
  }
  return ids;
}

/// The table against the asked baseline, or against what the request allows in its stead.
Result<report::Table> read_table(const Store& store, const RunInfo& run,
                                 const RunRequest& request) {
  if (!request.baseline.isEmpty()) {
    const std::string id = request.baseline.toStdString();
    if (Result<report::Table> table = report::make_table(store, run, id, {}); table) return table;
  }
  Result<report::Table> table = report::make_table(store, run, std::nullopt, {});
  if (!table || !request.any_baseline) return table;
  const QStringList ids = contender_ids(*table);
  if (ids.isEmpty()) return table;
  const std::string first = ids.front().toStdString();
  return report::make_table(store, run, first, {});
}

/// What the drawn cells answer: first what crosses, then what does not fit; a contender that fits
/// everywhere has no need to be named.
QStringList answers_of(const report::Table& drawn, report::XAxis x) {
  QStringList crossing, unfit, same_all_along;
  for (const std::vector<const report::Row*>& rows : report::rows_by_setting(drawn, x)) {
    if (drawn.baseline) {
      for (const auto& one : report::find_crossover_answers(rows, x, *drawn.baseline))
        (one.found.crossings.empty() ? same_all_along : crossing).append(words(one.sentence));
    }
    if (x != report::XAxis::length) continue;
    for (const auto& fit : report::find_fits(rows, std::nullopt))
      if (fit.next) unfit.append(words(fit.sentence));
  }
  return crossing + unfit + same_all_along;
}

using Describe = std::function<QString(const HeatPoint&)>;

const std::vector<Describe>& axes() {
  static const std::vector<Describe> all = {
      [](const HeatPoint& p) { return QStringLiteral("%1 tokens").arg(p.sequence_tokens); },
      [](const HeatPoint& p) { return words(name_of(p.operation)); },
      [](const HeatPoint& p) { return words(name_of(p.direction)); },
      [](const HeatPoint& p) { return QStringLiteral("query %1").arg(p.query_tokens); },
      [](const HeatPoint& p) {
        return p.shared_query ? QStringLiteral("shared query") : QStringLiteral("own queries");
      },
      [](const HeatPoint& p) {
        return p.documents == 1 ? QStringLiteral("one document an item")
                                : QStringLiteral("%1 documents an item").arg(p.documents);
      },
      [](const HeatPoint& p) { return QStringLiteral("batch up to %1").arg(p.batch_max); },
      [](const HeatPoint& p) { return QStringLiteral("%1 MB batches").arg(p.batch_memory_mb); },
      [](const HeatPoint& p) { return QStringLiteral("%1 heads").arg(p.heads); },
      [](const HeatPoint& p) { return QStringLiteral("head dim %1").arg(p.head_dim); },
      [](const HeatPoint& p) { return words(name_of(p.dtype)); },
      [](const HeatPoint& p) { return words(name_of(p.memory_order)); },
      [](const HeatPoint& p) { return QStringLiteral("%1 caches").arg(words(name_of(p.cache))); },
      [](const HeatPoint& p) { return words(name_of(p.device)); },
      [](const HeatPoint& p) { return QStringLiteral("%1 threads").arg(p.threads); },
      [](const HeatPoint& p) { return QStringLiteral("seed %1").arg(p.seed); },
  };
  return all;
}

}  // namespace

std::vector<HeatPoint> slices_of(const report::Table& table, report::XAxis x) {
  std::vector<HeatPoint> slices;
  for (const report::Row& row : table.rows) {
    const HeatPoint fixed = fixed_part(row.cell.point, x);
    if (std::find(slices.begin(), slices.end(), fixed) == slices.end()) slices.push_back(fixed);
  }
  return slices;
}

QStringList slice_words(const std::vector<HeatPoint>& slices) {
  std::vector<const Describe*> differing;
  for (const Describe& axis : axes()) {
    const bool differs = std::any_of(slices.begin(), slices.end(), [&](const HeatPoint& slice) {
      return axis(slice) != axis(slices.front());
    });
    if (differs) differing.push_back(&axis);
  }
  QStringList all;
  for (const HeatPoint& slice : slices) {
    QStringList parts;
    for (const Describe* axis : differing) parts.append((*axis)(slice));
    all.append(parts.join(QStringLiteral(", ")));
  }
  return all;
}

RunPointer read_run(const Store& store, const RunRequest& request) {
  auto snapshot = std::make_shared<RunSnapshot>();
  snapshot->request = request;
  const Result<RunInfo> run = store.find_run(request.uuid.toStdString());
  if (!run) {
    snapshot->problem = words(run.error().message);
    snapshot->locked = is_locked(run.error());
    return snapshot;
  }
  snapshot->table.run = *run;
  Result<report::Table> table = read_table(store, *run, request);
  if (!table) {
    snapshot->problem = words(table.error().message);
    snapshot->locked = is_locked(table.error());
    return snapshot;
  }
  snapshot->table = std::move(*table);
  snapshot->contenders = contender_ids(snapshot->table);
  snapshot->damaged_cells =
      static_cast<int>(std::count_if(snapshot->table.rows.begin(), snapshot->table.rows.end(),
                                     [](const report::Row& row) { return row.cell.damaged; }));

  const std::vector<HeatPoint> slices = slices_of(snapshot->table, request.x);
  snapshot->slices = slice_words(slices);
  report::Table drawn{snapshot->table.run, {}, snapshot->table.baseline};
  if (!slices.empty()) {
    const auto last = static_cast<int>(slices.size()) - 1;
    snapshot->request.slice = std::clamp(request.slice, 0, last);
    const HeatPoint& wanted = slices[static_cast<std::size_t>(snapshot->request.slice)];
    std::copy_if(
        snapshot->table.rows.begin(), snapshot->table.rows.end(), std::back_inserter(drawn.rows),
        [&](const report::Row& row) { return fixed_part(row.cell.point, request.x) == wanted; });
  }
  snapshot->time = draw(drawn, request.x, report::YAxis::time);
  snapshot->memory = draw(drawn, request.x, report::YAxis::memory);
  snapshot->executed = draw(drawn, request.x, report::YAxis::executed);
  snapshot->answers = answers_of(drawn, request.x);
  return snapshot;
}

Result<RunListPointer> read_run_list(const Store& store) {
  const Result<std::vector<RunInfo>> runs = store.run_list();
  if (!runs) return tl::unexpected(runs.error());
  auto list = std::make_shared<RunListSnapshot>();
  for (const RunInfo& info : *runs) {
    RunEntry entry{info, std::nullopt};
    if (info.status == RunStatus::running) {
      if (const auto progress = store.progress(info.id); progress) entry.progress = *progress;
    }
    list->runs.push_back(std::move(entry));
  }
  std::stable_partition(list->runs.begin(), list->runs.end(), [](const RunEntry& entry) {
    return entry.info.status == RunStatus::running;
  });
  return RunListPointer(std::move(list));
}

}  // namespace attnscope::gui
