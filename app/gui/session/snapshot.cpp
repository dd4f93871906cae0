// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/session/snapshot.h"

#include <QCoreApplication>
#include <QStringList>
#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "app/gui/session/text.h"
#include "engine/report/answer.h"
#include "engine/report/row_values.h"
#include "engine/report/run_figures.h"
#include "engine/sweep/pause.h"
#include "engine/sweep/run_plan.h"

namespace attnscope::gui {
namespace {

/// Number of panels that fit in a window.
constexpr std::size_t most_panels = 12;

FigureSnapshot draw(const report::Table& table, const RunRequest& request, report::YAxis y) {
  FigureSnapshot snapshot;
  if (table.rows.empty()) return snapshot;
  if (y == report::YAxis::ratio && !table.baseline) {
    snapshot.problem = QCoreApplication::translate(
        "RunView", "Ratios need a baseline: choose one in the bar above.");
    return snapshot;
  }
  if (request.facet.empty()) {
    Result<report::Figure> figure = report::make_figure(table, request.x, y);
    if (figure) {
      report::mark_crossovers(*figure, table, request.x, y);
      snapshot.figure = std::move(*figure);
    } else {
      snapshot.problem = qstring(figure.error().message);
    }
    return snapshot;
  }
  Result<report::Facets> facets = report::make_facets(table, request.x, {y}, request.facet, true);
  if (facets) {
    snapshot.facets = std::move(*facets);
  } else {
    snapshot.problem = qstring(facets.error().message);
  }
  return snapshot;
}

QStringList contender_ids(const report::Table& table) {
  QStringList ids;
  for (const report::Row& row : table.rows) {
    const QString id = qstring(row.cell.cell.contender.id());
    if (!ids.contains(id)) ids.append(id);
  }
  return ids;
}

/// The table with the requested baseline, or with the substitute that the request allows.
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

/// Answers from the drawn cells: first the crossovers, then the lengths that do not fit; contenders
/// that fit everywhere are omitted.
QStringList answers_of(const report::Table& drawn, report::XAxis x) {
  QStringList crossing, unfit, same_all_along;
  for (const std::vector<const report::Row*>& rows : report::rows_by_setting(drawn, x)) {
    if (drawn.baseline) {
      for (const auto& answer : report::find_crossover_answers(rows, x, *drawn.baseline)) {
        (answer.found.crossings.empty() ? same_all_along : crossing)
            .append(qstring(answer.sentence));
      }
    }
    if (x != report::XAxis::length) continue;
    for (const auto& fit : report::find_fits(rows, std::nullopt))
      if (fit.next) unfit.append(qstring(fit.sentence));
  }
  return crossing + unfit + same_all_along;
}

bool is_same_cells(const RunSnapshot& before, const RunInfo& run, const RunRequest& request) {
  const RunInfo& then = before.table.run;
  return before.problem.isEmpty() && run.status != RunStatus::running && then.id == run.id &&
         then.status == run.status && then.heats_done == run.heats_done &&
         then.cells_failed == run.cells_failed && before.request.baseline == request.baseline &&
         before.request.any_baseline == request.any_baseline;
}

/// The requested axis; if it is the length or the candidates and the run has only one value of it,
/// the other of the two.
report::XAxis x_of(const report::Table& table, report::XAxis wanted) {
  const std::vector<std::string> keys = report::varying_keys(table);
  const auto varies = [&keys](report::XAxis x) {
    return std::ranges::find(keys, report::key_along(x)) != keys.end();
  };
  if (wanted == report::XAxis::window || varies(wanted)) return wanted;
  return varies(report::XAxis::candidates) ? report::XAxis::candidates : report::XAxis::length;
}

/// Keys with few enough values for panels, or for rows and columns.
std::vector<std::string> facet_keys(const report::Table& table, report::XAxis x) {
  std::vector<std::string> keys = report::varying_keys(table);
  std::erase_if(keys, [&](const std::string& key) {
    if (key == report::key_along(x)) return true;
    std::set<std::string> values;
    for (const report::Row& row : table.rows) values.insert(report::filter_words(row, key).front());
    return values.size() > most_panels;
  });
  return keys;
}

std::vector<std::string> pivot_keys(const report::Table& table) {
  std::vector<std::string> keys{"contender", "sequence_tokens"};
  for (std::string& key : report::varying_keys(table)) {
    if (key != keys[1]) keys.push_back(std::move(key));
  }
  return keys;
}

/// Rows of the slice; the axes of the table may have any value.
std::vector<report::Row> rows_in(const RunSnapshot& run) {
  std::vector<report::Row> rows;
  for (const report::Row& row : run.table.rows) {
    if (report::is_in(run.slice, row)) rows.push_back(row);
  }
  return rows;
}

/// The rows of every stage. If the slice has several numbers of candidates, or none because it is
/// of the document encoding, the rows with the most candidates.
std::vector<report::Row> rows_of_stages(const RunSnapshot& run) {
  constexpr std::array<std::string_view, 2> free{"stage", "candidates"};
  std::vector<report::Row> encoded, scored, others;
  for (const report::Row& row : run.table.rows) {
    if (!report::is_in(run.slice, row, free)) continue;
    const bool is_of_slice = report::is_in(run.slice, row, std::span(free).first(1));
    (row.cell.point.stage == Stage::offline ? encoded
     : is_of_slice                          ? scored
                                            : others)
        .push_back(row);
  }
  if (scored.empty()) scored = std::move(others);
  std::int64_t most = 0;
  for (const report::Row& row : scored) most = std::max(most, row.cell.point.candidates);
  std::erase_if(scored,
                [most](const report::Row& row) { return row.cell.point.candidates != most; });
  std::ranges::move(scored, std::back_inserter(encoded));
  return encoded;
}

void make_pivot_table(RunSnapshot& run) {
  for (std::string* key : {&run.request.pivot.rows, &run.request.pivot.columns}) {
    if (std::ranges::find(run.pivot_keys, *key) == run.pivot_keys.end()) *key = {};
  }
  report::PivotChoice& choice = run.request.pivot;
  if (choice.rows.empty())
    choice.rows = choice.columns == "contender" ? "sequence_tokens" : "contender";
  if (choice.columns.empty()) {
    choice.columns =
        choice.rows == "contender" ? std::string(report::key_along(run.request.x)) : "contender";
  }
  const std::array<std::string_view, 2> free{choice.rows, choice.columns};
  Result<report::Pivot> pivot = report::make_pivot(run.table, choice, [&](const report::Row& row) {
    return report::is_in(run.slice, row, free);
  });
  if (pivot) {
    run.pivot = std::move(*pivot);
  } else {
    run.pivot_problem = qstring(pivot.error().message);
  }
}

/// The online stage of a re-ranker, for which the user waits, unless more contenders have no
/// stages.
Stage first_stage(const report::Table& table) {
  std::map<Stage, std::set<std::string>> contenders;
  for (const report::Row& row : table.rows)
    contenders[row.cell.point.stage].insert(row.cell.cell.contender.id());
  return contenders[Stage::whole].size() > contenders[Stage::online].size() ? Stage::whole
                                                                            : Stage::online;
}

/// From each setting, provided that several settings are drawn lengths, which are not on a line.
void read_headline(const std::vector<report::Answer>& settings, RunSnapshot& run) {
  if (settings.size() > 1 && !std::ranges::all_of(settings, [](const report::Answer& answer) {
        return answer.point.document_lengths.is_drawn();
      })) {
    return;
  }
  for (const report::Answer& answer : settings) {
    const report::Headline headline = report::headline_of(answer);
    for (const auto& [sentence, all] :
         {std::pair(&headline.sentence, &run.verdict),
          std::pair(&headline.of_all, &run.against_baseline),
          std::pair(&headline.against_baseline, &run.against_baseline)}) {
      if (!sentence->empty())
        *all += (all->isEmpty() ? QString() : QStringLiteral(" ")) + qstring(*sentence);
    }
  }
}

void draw(RunSnapshot& run) {
  RunRequest& request = run.request;
  if (std::ranges::find(run.facet_keys, request.facet) == run.facet_keys.end()) request.facet = {};
  request.slice.values.try_emplace("stage", name_of(first_stage(run.table)));
  std::vector<std::string_view> drawn{report::key_along(request.x)};
  if (!request.facet.empty()) drawn.push_back(request.facet);
  run.slice = report::find_slice(run.table, drawn, request.slice);
  for (const report::SliceAxis& axis : run.slice.axes)
    request.slice.values[axis.key] = axis.values[axis.chosen].value;
  report::Table part = report::without_rows(run.table);
  part.rows = rows_in(run);
  run.answers = answers_of(part, request.x);
  read_headline(report::make_answers(part, request.x), run);
  if (run.verdict.isEmpty())
    run.verdict = qstring(report::nothing_measured(report::all_rows(part.rows)));
  // Figures need only summaries; copies for panels are small without the samples.
  report::Table stages = report::without_rows(run.table);
  if (run.of_models) stages.rows = rows_of_stages(run);
  for (report::Table* table : {&part, &stages})
    for (report::Row& row : table->rows) row.cell.cell.samples = {};
  for (const report::View& view : report::views()) {
    if (view.of_one_length) continue;
    FigureSnapshot& figure = run.figures[view.y];
    if (!view.of_models || run.of_models) {
      figure = draw(view.y == report::YAxis::stages ? stages : part, request, view.y);
    } else {
      figure.problem = QCoreApplication::translate(
          "RunView", "This view needs re-rankers, and the run measures only attention.");
    }
  }
}

/// A question has its own lengths and covers every contender, whatever the charts hold fixed.
constexpr std::array<std::string_view, 3> requested_keys{"sequence_tokens", "query_tokens",
                                                         "window"};

/// Capitalized and with a full stop, for display next to a field.
QString sentence(const std::string& message) {
  QString text = qstring(message);
  if (!text.isEmpty()) text[0] = text[0].toUpper();
  return text.endsWith(QLatin1Char('.')) ? text : text + QLatin1Char('.');
}

}  // namespace

RunInfo shown(RunInfo run) {
  for (std::string* text : {&run.name, &run.tag, &run.note, &run.start.sweep_name})
    *text = harmless(*text);
  return run;
}

QString file_stem(const RunInfo& run, const QString& suffix) {
  constexpr int longest = 80;
  QString stem = QStringLiteral("%1-%2-%3")
                     .arg(qstring(title_of(run)).left(longest))
                     .arg(run.number)
                     .arg(suffix);
  for (QChar& letter : stem) {
    if (!letter.isLetterOrNumber() && letter != QLatin1Char('-')) letter = QLatin1Char('-');
  }
  return stem;
}

RunPointer read_run(const Store& store, const RunRequest& request, const RunPointer& before) {
  auto snapshot = std::make_shared<RunSnapshot>();
  snapshot->request = request;
  snapshot->database = store.file();
  const Result<RunInfo> run = store.find_run(request.uuid.toStdString()).map(shown);
  if (!run) {
    snapshot->problem = qstring(run.error().message);
    snapshot->locked = run.error().kind == ErrorKind::locked;
    return snapshot;
  }
  snapshot->table.run = *run;
  Result<report::Table> table = before && is_same_cells(*before, *run, request)
                                    ? before->table
                                    : read_table(store, *run, request);
  if (!table) {
    snapshot->problem = qstring(table.error().message);
    snapshot->locked = table.error().kind == ErrorKind::locked;
    return snapshot;
  }
  snapshot->table = std::move(*table);
  snapshot->table.run = *run;
  snapshot->contenders = contender_ids(snapshot->table);
  snapshot->damaged_cells =
      static_cast<int>(std::count_if(snapshot->table.rows.begin(), snapshot->table.rows.end(),
                                     [](const report::Row& row) { return row.cell.damaged; }));

  snapshot->of_models = !snapshot->table.rows.empty() &&
                        snapshot->table.rows.front().cell.point.operation == Operation::model;
  snapshot->request.x = x_of(snapshot->table, request.x);
  snapshot->facet_keys = facet_keys(snapshot->table, snapshot->request.x);
  snapshot->pivot_keys = pivot_keys(snapshot->table);
  if (!snapshot->table.rows.empty()) {
    const std::vector<bool> varying = report::varying_axes(snapshot->table.rows);
    snapshot->fixed =
        qstring(report::words_of(snapshot->table.rows.front().cell.point, varying, false));
  }
  draw(*snapshot);
  make_pivot_table(*snapshot);
  return snapshot;
}

Result<RunListPointer> read_run_list(const Store& store) {
  const Result<std::vector<RunInfo>> runs = store.run_list(RunsOf::both);
  if (!runs) return tl::unexpected(runs.error());
  auto list = std::make_shared<RunListSnapshot>();
  for (const RunInfo& info : *runs) {
    RunEntry entry{shown(info), std::nullopt};
    if (is_in_trash(info)) {
      list->trash.push_back(std::move(entry));
      continue;
    }
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

AnswerPointer find_answer(const RunSnapshot& run, const RequestedQuestion& requested) {
  auto answer = std::make_shared<AnswerSnapshot>();
  report::Question question = requested.question;
  if (!requested.lengths_file.isEmpty()) {
    Result<report::DocumentLengths> lengths =
        report::read_document_lengths(requested.lengths_file.toStdString(), question.of_sequences);
    if (!lengths) {
      answer->lengths_problem = sentence(lengths.error().message);
      return answer;
    }
    question.documents = std::move(*lengths);
  }
  std::vector<const report::Row*> rows;
  rows.reserve(run.table.rows.size());
  for (const report::Row& row : run.table.rows) {
    if (report::is_in(run.slice, row, requested_keys)) rows.push_back(&row);
  }
  answer->settings = report::make_advice(run.table.run, run.table.baseline, rows, question);
  if (answer->settings.empty() && !rows.empty())
    answer->problem = qstring(report::no_answer_to_one_length);
  return answer;
}

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
      if (varies || i == report::length_axis) parts.append(qstring(report::words_of(own[i])));
    }
    all.push_back(parts.join(QStringLiteral(", ")));
  }
  return all;
}

/// Number of cells of a heat by status.
using Outcomes = std::map<CellStatus, int>;

HeatState state_of(const Outcomes& ends) {
  if (ends.contains(CellStatus::crashed)) return HeatState::crashed;
  if (ends.contains(CellStatus::wrong)) return HeatState::wrong;
  if (ends.contains(CellStatus::timeout)) return HeatState::timeout;
  if (ends.contains(CellStatus::oom)) return HeatState::too_large;
  return ends.contains(CellStatus::ok) ? HeatState::done : HeatState::skipped;
}

QString words_of(const Outcomes& ends) {
  QStringList parts;
  for (const CellStatus status : all_statuses) {
    if (const auto found = ends.find(status); found != ends.end())
      parts.append(QStringLiteral("%1 %2").arg(found->second).arg(qstring(name_of(status))));
  }
  return parts.join(QStringLiteral(", "));
}

HeatsSnapshot plan_of(const Store& store, const RunEntry& live) {
  HeatsSnapshot plan;
  plan.uuid = qstring(live.info.id.uuid);
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
bool read_outcomes(const Store& store, const RunEntry& live, HeatsSnapshot& heats) {
  const auto cells = store.cells(live.info.id, /*with_samples=*/false);
  if (!cells) return false;
  std::map<std::int64_t, std::pair<std::string, Outcomes>> ends;  // by number: measurement order
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
  const bool same_run = before && before->uuid == qstring(live.info.id.uuid);
  auto heats = std::make_shared<HeatsSnapshot>(same_run ? *before : plan_of(store, live));
  if (heats->heats_done != live.info.heats_done && !read_outcomes(store, live, *heats))
    return before;
  mark_current(live.progress, *heats);
  if (same_run && heats->heats == before->heats && heats->heats_done == before->heats_done)
    return before;
  return heats;
}

}  // namespace attnscope::gui
