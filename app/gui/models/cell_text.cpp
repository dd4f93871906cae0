// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/models/cell_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "app/gui/session/text.h"
#include "engine/report/conditions.h"
#include "engine/report/number_text.h"

namespace attnscope::gui {
namespace {

using Column = CellTableModel::Column;

QString percent(double share) {
  return QString::number(share * 100, 'f', share < 0.1 ? 1 : 0) + QStringLiteral(" %");
}

QString gflop(double flop) {
  return words(report::three_digits(flop / 1e9));
}

/// Whether the row's numbers may be shown: those of a damaged cell may be anything.
bool is_ok(const report::Row& row) {
  return row.cell.cell.status == CellStatus::ok && !row.cell.damaged;
}

QString status_of(const report::Row& row) {
  return words(row.cell.damaged ? report::damaged_status : name_of(row.cell.cell.status));
}

QString damage_of(const report::Row& row) {
  return QStringLiteral(
             "Not shown: %1; what else the run has can be kept: attnscope export RUN -o FILE.attn, "
             "or Export run in the list.")
      .arg(words(damage_in_words(row.cell)));
}

double ns_per_document(const report::Row& row) {
  return row.cell.summary.median_ns / report::documents_of(row);
}

/// Half of the interval, relative to the median.
QString spread(const statistics::Summary& summary) {
  if (summary.median_ns <= 0) return {};
  if (!is_known(report::relative_interval(summary)))
    return QStringLiteral(" (%1)").arg(words(report::too_few_samples));
  const double half = (summary.high_ns - summary.low_ns) / 2 / summary.median_ns;
  return QStringLiteral(" ±%1 %").arg(QString::number(half * 100, 'f', 1));
}

QString in_words(const std::vector<std::string>& notes) {
  return words(fmt::format("{}", fmt::join(notes, "; ")));
}

/// " ~!" of a cell that drifted and was disturbed.
QString marks(const report::Row& row) {
  const std::string text = report::marks_of(row);
  return text.empty() ? QString() : QStringLiteral(" ") + words(text);
}

QString measured_text(const report::Row& row, Column column) {
  const StoredCell& stored = row.cell;
  switch (column) {
    case Column::median:
      return words(report::format_time(stored.summary.median_ns)) + spread(stored.summary) +
             marks(row);
    case Column::per_document:
      return words(report::format_time(ns_per_document(row)));
    case Column::memory:
      return words(report::format_bytes(static_cast<double>(peak_bytes(stored.cell.memory))));
    case Column::against_baseline:
      return words(report::against_baseline(row));
    case Column::share_of_limit:
      return row.share_of_limit ? percent(*row.share_of_limit) : QString();
    case Column::executed: {
      const std::optional<double> ratio = report::executed_ratio(row);
      return ratio ? words(report::format_times(*ratio)) : QString();
    }
    default:
      return {};
  }
}

}  // namespace

QString cell_text(const report::Row& row, Column column) {
  const Cell& cell = row.cell.cell;
  switch (column) {
    case Column::contender:
      return words(cell.contender.name);
    case Column::window:
      return cell.contender.window ? words(cell.contender.window->text()) : QStringLiteral("–");
    case Column::tokens:
      return QString::number(row.cell.point.sequence_tokens);
    case Column::batch:
      return row.cell.damaged ? QStringLiteral("–") : QString::number(cell.batch);
    case Column::error:
      if (row.cell.damaged) return QStringLiteral("–");
      return cell.relative_error ? QString::number(*cell.relative_error, 'e', 1) : QString();
    case Column::status:
      // A time with something to know about it says so where others say why they have none.
      for (const QString& why : {words(cell.reason), in_words(report::notes_on(row))}) {
        if (!row.cell.damaged && !why.isEmpty()) return status_of(row) + QStringLiteral(": ") + why;
      }
      return status_of(row);
    case Column::median:
      return is_ok(row) ? measured_text(row, column) : status_of(row);
    default:
      return is_ok(row) ? measured_text(row, column) : QStringLiteral("–");
  }
}

QVariant cell_sort_key(const report::Row& row, Column column) {
  constexpr double last = std::numeric_limits<double>::max();
  const Cell& cell = row.cell.cell;
  const bool ok = is_ok(row);
  switch (column) {
    case Column::window:
      if (!cell.contender.window) return -1.0;
      return cell.contender.window->is_infinite()
                 ? last
                 : static_cast<double>(cell.contender.window->tokens());
    case Column::tokens:
      return static_cast<qlonglong>(row.cell.point.sequence_tokens);
    case Column::batch:
      return row.cell.damaged ? qlonglong{-1} : static_cast<qlonglong>(cell.batch);
    case Column::median:
      return ok ? row.cell.summary.median_ns : last;
    case Column::per_document:
      return ok ? ns_per_document(row) : last;
    case Column::memory:
      return ok ? static_cast<double>(peak_bytes(cell.memory)) : last;
    case Column::against_baseline:
      return row.ratio ? row.ratio->ratio : last;
    case Column::share_of_limit:
      return row.share_of_limit.value_or(-1);
    case Column::executed:
      return report::executed_ratio(row).value_or(-1);
    case Column::error:
      return row.cell.damaged ? -1 : cell.relative_error.value_or(-1);
    default:
      return cell_text(row, column);
  }
}

QString cell_tip(const report::Row& row, Column column) {
  const Cell& cell = row.cell.cell;
  if (row.cell.damaged && column != Column::contender) return damage_of(row);
  switch (column) {
    case Column::contender:
      return words(cell.contender.id());
    case Column::median:
    case Column::per_document: {
      if (!is_ok(row)) return words(cell.reason);
      const std::vector<std::string> notes = report::notes_on_time(row);
      return QStringLiteral("95 % interval: %1; %2 samples in %3 placements%4%5")
          .arg(words(report::time_interval_in_words(row.cell.summary)))
          .arg(row.cell.summary.samples)
          .arg(row.cell.summary.placements)
          .arg(cell.settled ? QString() : QStringLiteral("; stopped by its time limit"),
               notes.empty() ? QString() : QStringLiteral("; ") + in_words(notes));
    }
    case Column::memory:
      if (has_unseen_memory(cell.memory)) return in_words(report::notes_on_memory(row));
      return QStringLiteral("Peak above what was live before the call; %1 reserved, %2 workspace")
          .arg(words(report::format_bytes(static_cast<double>(cell.memory.reserved_bytes))),
               words(report::format_bytes(static_cast<double>(cell.memory.workspace_bytes))));
    case Column::against_baseline:
      if (!row.ratio) return {};
      return QStringLiteral("Per document, 95 % interval: %1; %2")
          .arg(words(report::interval_in_words(*row.ratio)),
               row.ratio->paired ? QStringLiteral("paired") : QStringLiteral("unpaired"));
    case Column::executed: {
      if (!report::executed_ratio(row)) return {};
      const CellWork& work = cell.work;
      return QStringLiteral("%1: %2 GFLOP where %3 are useful; it moves %4, and %5 is the least")
          .arg(words(report::executed_in_words(row)), gflop(work.executed_flop),
               gflop(work.useful_flop), words(report::format_bytes(work.executed_bytes)),
               words(report::format_bytes(work.least_bytes)));
    }
    case Column::error:
      if (!cell.error_bound) return {};
      return QStringLiteral("Largest deviation from the float64 reference over max|V|; allowed %1")
          .arg(QString::number(*cell.error_bound, 'e', 1));
    case Column::status:
      return words(cell.reason);
    default:
      return {};
  }
}

}  // namespace attnscope::gui
