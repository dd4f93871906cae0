// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/models/cell_facts.h"

#include <fmt/format.h>

#include <QCoreApplication>
#include <algorithm>
#include <set>

#include "app/drawing/chart_style.h"
#include "app/gui/session/text.h"
#include "engine/report/axes_in_words.h"
#include "engine/report/conditions.h"
#include "engine/report/model_profile.h"
#include "engine/report/number_text.h"

namespace attnscope::gui {
namespace {

using Section = CellFacts::Section;

QString tr(const char* text) {
  return QCoreApplication::translate("CellFacts", text);
}

QString time(double ns) {
  return words(report::format_time(ns));
}

QString bytes(double count) {
  return words(report::format_bytes(count));
}

QString three(double value) {
  return words(report::three_digits(value));
}

QString joined(const std::vector<std::string>& notes) {
  return words(fmt::format("{}", fmt::join(notes, "; ")));
}

/// The number of samples used for the time, out of all samples.
QString samples_in_words(const report::Row& row) {
  const auto all = static_cast<qint64>(row.cell.cell.samples.size());
  const QString used = QString::number(row.cell.summary.samples);
  return all == row.cell.summary.samples ? used : tr("%1 of %2 taken").arg(used).arg(all);
}

QString time_tip(const report::Row& row) {
  const std::vector<std::string> notes = report::notes_on_time(row);
  QString tip = tr("95 % interval: %1; %2 samples in %3 placements")
                    .arg(words(report::time_interval_in_words(row.cell.summary)))
                    .arg(row.cell.summary.samples)
                    .arg(row.cell.summary.placements);
  if (!row.cell.cell.settled) tip += tr("; stopped by its time limit");
  if (!notes.empty()) tip += QStringLiteral("; ") + joined(notes);
  return tip;
}

QString memory_tip(const report::Row& row) {
  const CellMemory& memory = row.cell.cell.memory;
  if (has_unseen_memory(memory)) return joined(report::notes_on_memory(row));
  return tr("Peak above what was live before the call; %1 reserved, %2 workspace")
      .arg(bytes(static_cast<double>(memory.reserved_bytes)),
           bytes(static_cast<double>(memory.workspace_bytes)));
}

QString ratio_tip(const report::Row& row) {
  if (!row.ratio || report::against_baseline(row) == "baseline") return {};
  return tr("Per document, 95 % interval: %1; %2")
      .arg(words(report::interval_in_words(*row.ratio)),
           row.ratio->paired ? tr("paired") : tr("unpaired"));
}

QString executed_tip(const report::Row& row) {
  if (!report::executed_ratio(row)) return {};
  const CellWork& work = row.cell.cell.work;
  return tr("%1: %2 GFLOP where %3 are useful; it moves %4, and %5 is the least")
      .arg(words(report::executed_in_words(row)), three(work.executed_flop / 1e9),
           three(work.useful_flop / 1e9), bytes(work.executed_bytes), bytes(work.least_bytes));
}

QString error_tip(const report::Row& row) {
  if (!row.cell.cell.error_bound) return {};
  return tr("Largest deviation from the float64 reference over max|V|; allowed %1")
      .arg(QString::number(*row.cell.cell.error_bound, 'e', 1));
}

Section time_section(const report::Row& row) {
  const statistics::Summary& summary = row.cell.summary;
  const double documents = report::documents_of(row);
  std::set<int> processes;
  for (const Sample& sample : row.cell.cell.samples) processes.insert(sample.process);
  const bool settled = row.cell.cell.settled;
  return {
      tr("Time"),
      {{tr("Median of a call"), time(summary.median_ns)},
       {tr("95 % interval"), words(report::time_interval_in_words(summary))},
       {tr("Per document"), tr("%1, of %2")
                                .arg(time(summary.median_ns / documents))
                                .arg(counted(static_cast<qint64>(documents), tr("document a call"),
                                             tr("documents a call")))},
       {tr("Samples"),
        tr("%1 in %2 of %3")
            .arg(samples_in_words(row))
            .arg(counted(summary.placements, tr("placement"), tr("placements")),
                 counted(static_cast<qint64>(processes.size()), tr("process"), tr("processes")))},
       {tr("Stopped"),
        settled ? tr("when its interval was narrow enough") : tr("by its time limit"), !settled}}};
}

Section ratio_section(const report::Table& table, const report::Row& row) {
  Section section{tr("Against the baseline"), {}};
  if (!table.baseline || !row.ratio) return section;
  if (row.cell.cell.contender.id() == *table.baseline) {
    section.facts = {{tr("Baseline"), tr("this one")}};
    return section;
  }
  section.facts = {{words(*table.baseline), words(report::difference_in_words(*row.ratio))},
                   {tr("95 % interval"), words(report::interval_in_words(*row.ratio))},
                   {tr("Compared"),
                    row.ratio->paired ? tr("round by round, in the same heat")
                                      : tr("unpaired: not with the same batch"),
                    !row.ratio->paired}};
  return section;
}

Section conditions_section(const report::Row& row) {
  Section section{tr("While it was measured"), {}};
  const auto add = [&section](const QString& name, const QString& value, bool warns = false) {
    section.facts.push_back({name, value, warns});
  };
  for (const std::string& note : report::notes_on_time(row)) add(tr("Note"), words(note), true);
  if (section.facts.empty()) add(tr("Note"), tr("no drift and no disturbance found"));
  add(tr("Outliers"),
      tr("%1 of %2").arg(report::outlier_samples(row)).arg(row.cell.summary.samples));
  if (const auto clock = report::median_clock_mhz(row))
    add(tr("Clock"), tr("%1 MHz").arg(*clock, 0, 'f', 0));
  if (const auto warmth = report::median_temperature_c(row))
    add(tr("Temperature"), tr("%1 °C").arg(*warmth, 0, 'f', 0));
  add(tr("Others kept busy"), tr("%1 of a core").arg(three(report::median_foreign_load(row))));
  add(tr("Taken off a core"), counted(report::involuntary_switches(row), tr("time"), tr("times")));
  return section;
}

Section error_section(const report::Row& row) {
  Section section{tr("Error against the float64 reference"), {}};
  const Cell& cell = row.cell.cell;
  if (!cell.relative_error) return section;
  const bool wrong = cell.error_bound && *cell.relative_error > *cell.error_bound;
  section.facts = {
      {tr("Largest, over max|V|"), QString::number(*cell.relative_error, 'e', 1), wrong}};
  if (cell.error_bound)
    section.facts.push_back({tr("Allowed"), QString::number(*cell.error_bound, 'e', 1)});
  return section;
}

Section memory_section(const report::Row& row) {
  const CellMemory& memory = row.cell.cell.memory;
  const auto peak = static_cast<double>(peak_bytes(memory));
  const auto of = [](std::int64_t count) { return bytes(static_cast<double>(count)); };
  Section section{tr("Memory of a call"),
                  {{tr("Peak"), bytes(peak), has_unseen_memory(memory)},
                   {tr("Per document"), bytes(peak / report::documents_of(row))},
                   {tr("Requested"), of(memory.requested_bytes)},
                   {tr("Reserved"), of(memory.reserved_bytes)},
                   {tr("Workspace in it"), of(memory.workspace_bytes)}}};
  if (memory.process_peak_bytes)
    section.facts.push_back({tr("Process grew by"), of(*memory.process_peak_bytes)});
  for (const std::string& note : report::notes_on_memory(row))
    section.facts.push_back({tr("Note"), words(note), true});
  return section;
}

Section work_section(const report::Row& row) {
  const CellWork& work = row.cell.cell.work;
  Section section{tr("Work of a call"), {}};
  const auto add = [&section](const QString& name, const QString& value, bool warns = false) {
    section.facts.push_back({name, value, warns});
  };
  if (!(work.useful_flop > 0)) return section;
  add(tr("Useful"), tr("%1 GFLOP").arg(three(work.useful_flop / 1e9)));
  if (const auto executed = report::executed_ratio(row)) {
    add(tr("Executed"),
        tr("%1 GFLOP, %2")
            .arg(three(work.executed_flop / 1e9), words(report::format_times(*executed))));
  }
  add(tr("Least traffic"), bytes(work.least_bytes));
  if (work.executed_bytes > 0) add(tr("Its traffic"), bytes(work.executed_bytes));
  add(tr("Exponentials"), tr("%1 million").arg(three(work.exponentials / 1e6)));
  if (row.limit_ms) add(tr("Machine's limit"), time(*row.limit_ms * 1e6));
  if (row.share_of_limit) {
    add(tr("Reached of it"), tr("%1 %").arg(three(100 * *row.share_of_limit)),
        report::is_beyond_limit(row));
  }
  if (report::is_measured(row) && row.cell.summary.median_ns > 0) {
    add(tr("Rate"),
        tr("%1 useful GFLOP/s").arg(three(work.useful_flop / row.cell.summary.median_ns)));
  }
  return section;
}

Section parts_section(const report::Table& table, const report::Row& row) {
  Section section{tr("Where the time goes"), {}};
  for (const report::ProfiledPart& part : report::parts_of(table, row)) {
    section.facts.push_back(
        {words(part.name),
         tr("%1, %2").arg(time(1e9 * part.seconds), words(report::share_in_words(part)))});
  }
  return section;
}

}  // namespace

CellFacts cell_facts(const report::Table& table, const report::Row& row) {
  const report::Outcome outcome = report::outcome_of(row);
  const std::vector<bool> none(report::axes_of({}).size(), false);
  std::vector<bool> telling = report::varying_axes(table.rows);
  telling[report::length_axis] = true;
  CellFacts facts{.title = words(row.cell.cell.contender.name),
                  .brief = words(report::words_of(row.cell.point, telling, true)),
                  .setting = words(report::words_of(row.cell.point, none, false)),
                  .status = words(outcome.status),
                  .failed = !report::is_measured(row),
                  .sections = {}};
  if (!outcome.reason.empty() && facts.failed)
    facts.status += QStringLiteral(": ") + words(outcome.reason);
  // Values of a damaged cell are not reliable.
  if (row.cell.damaged) return facts;
  std::vector<Section> all;
  if (!facts.failed) all = {time_section(row), ratio_section(table, row), conditions_section(row)};
  all.push_back(error_section(row));
  if (!facts.failed) all.push_back(memory_section(row));
  all.push_back(work_section(row));
  all.push_back(parts_section(table, row));
  for (Section& section : all) {
    for (CellFact& fact : section.facts) fact.value = charts::with_minus(std::move(fact.value));
    if (!section.facts.empty()) facts.sections.push_back(std::move(section));
  }
  return facts;
}

QString cell_tip(const report::Row& row, report::Quantity quantity) {
  if (row.cell.damaged) {
    return tr("Not shown: %1; what else the run has can be kept: attnscope export RUN -o "
              "FILE.attn, or Export run in the list.")
        .arg(words(damage_in_words(row.cell)));
  }
  // A planned cell has its work, and a wrong one its error.
  if (quantity == report::Quantity::executed) return executed_tip(row);
  if (quantity == report::Quantity::error && row.cell.cell.relative_error) return error_tip(row);
  if (!report::is_measured(row)) return words(report::outcome_of(row).reason);
  if (quantity == report::Quantity::memory) return memory_tip(row);
  if (quantity == report::Quantity::ratio) return ratio_tip(row);
  if (quantity == report::Quantity::limit && row.limit_ms)
    return tr("The machine's ceilings allow %1 a call").arg(time(*row.limit_ms * 1e6));
  if (quantity != report::Quantity::time) return {};
  const QString ratio = ratio_tip(row);
  return ratio.isEmpty() ? time_tip(row) : time_tip(row) + QLatin1Char('\n') + ratio;
}

}  // namespace attnscope::gui
