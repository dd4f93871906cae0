// SPDX-License-Identifier: Apache-2.0
#include "tests/gui/run_fixture.h"

#include <unistd.h>

#include <QAbstractButton>
#include <cmath>
#include <utility>

namespace attnscope::gui {
namespace {

template <typename Outcome>
Outcome needed(Outcome outcome) {
  if (!outcome) qFatal("fixture: %s", outcome.error().message.c_str());
  return outcome;
}

Cell made_up_cell(const Contender& contender, std::int64_t tokens, int place) {
  const auto n = static_cast<double>(tokens);
  const bool full = contender.pattern == "full";
  Cell cell;
  cell.contender = contender;
  cell.batch = 1;
  cell.query_tokens = 11;
  cell.document_tokens = tokens - 12;
  if (contender.implementation == "dense" && tokens > 4096) {
    cell.status = CellStatus::oom;
    cell.reason = "needs 6.4 GB, 2.1 GB are free.";
    return cell;
  }
  const double ns = (full ? 12 * n * n : 4000 * n) * (1 + 0.4 * place);
  for (int placement = 0; placement < 2; ++placement) {
    for (int round = 0; round < 5; ++round)
      cell.samples.push_back({.process = 0,
                              .placement = placement,
                              .round = round,
                              .time_ns = ns * (1 + 0.01 * round + 0.005 * placement)});
  }
  cell.relative_error = 3e-7;
  cell.error_bound = 2.5e-6;
  cell.memory.requested_bytes = static_cast<std::int64_t>(full ? 48 * n * n : 1600 * n);
  cell.memory.reserved_bytes = cell.memory.requested_bytes + 4096;
  cell.work.useful_flop = full ? 4 * 32 * 12 * n * n : 4 * 32 * 12 * n * 20;
  cell.work.least_bytes = 4 * 4 * 32 * 12 * n;
  cell.work.exponentials = cell.work.useful_flop / 128;
  cell.work.executed_flop = cell.work.useful_flop * (full ? 1 : 1.95);
  cell.work.executed_bytes = 2 * cell.work.least_bytes;
  cell.settled = true;
  return cell;
}

}  // namespace

Contender contender(const std::string& pattern, const std::string& implementation,
                    std::optional<Window> window) {
  Contender made;
  made.pattern = pattern;
  made.implementation = implementation;
  made.window = window;
  made.name = made.id();
  made.pattern_json = "{}";
  return made;
}

std::vector<Contender> three_contenders() {
  return {contender("full", "dense"), contender("full", "sdpa"),
          contender("sparse", "segment", Window::of(4))};
}

HeatResult made_up_heat(int index, std::int64_t tokens, const std::vector<Contender>& contenders) {
  HeatResult heat;
  heat.heat_index = index;
  heat.point.sequence_tokens = tokens;
  heat.point.threads = 2;
  int place = 0;
  for (const Contender& each : contenders)
    heat.cells.push_back(made_up_cell(each, tokens, place++));
  return heat;
}

NewRun new_run(const std::string& name, int heats_planned) {
  NewRun run;
  run.sweep_name = name;
  run.sweep_text = "{}";
  run.command_line = "attnscope run " + name;
  run.provenance = R"({"device": "made-up processor"})";
  run.device = "made-up processor";
  run.heats_planned = heats_planned;
  run.process_id = ::getpid();
  run.process_start_ticks = own_process_start_ticks();
  return run;
}

Store open_store(const std::filesystem::path& file) {
  return *needed(Store::open(file, Store::Mode::read_write));
}

RunId begin_run_with(Store& store, const std::string& name,
                     const std::vector<std::int64_t>& lengths, int heats_planned) {
  RunId run = *needed(store.begin_run(new_run(name, heats_planned)));
  int index = 0;
  for (const std::int64_t tokens : lengths)
    needed(store.add_heat(run, made_up_heat(index++, tokens, three_contenders())));
  return run;
}

RunId add_done_run(Store& store, const std::string& name,
                   const std::vector<std::int64_t>& lengths) {
  RunId run = begin_run_with(store, name, lengths, static_cast<int>(lengths.size()));
  needed(store.finish_run(run, RunStatus::done));
  return run;
}

void StoreSuite::open() {
  store_.reset();
  folder_ = std::make_unique<QTemporaryDir>();
  store_ = std::make_unique<Store>(open_store(path("a.db").toStdString()));
}

RunPointer StoreSuite::read(const RunId& run, RunRequest request) const {
  request.uuid = QString::fromStdString(run.uuid);
  return read_run(*store_, request);
}

std::set<QWidget*> reached_by_tab(QWidget* from) {
  std::set<QWidget*> reached;
  from->setFocus();
  for (int i = 0; i < 60 && QApplication::focusWidget(); ++i) {
    reached.insert(QApplication::focusWidget());
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_Tab);
  }
  return reached;
}

bool is_named(const QWidget* widget) {
  const auto* button = qobject_cast<const QAbstractButton*>(widget);
  return !widget->accessibleName().isEmpty() || (button && !button->text().isEmpty());
}

StoreClient::StoreClient(const std::filesystem::path& database)
    : thread_(database), read_(thread_.reader(), &StoreReader::run_read) {
  QObject::connect(thread_.reader(), &StoreReader::runs_changed, &list_, &RunListModel::set_runs);
}

void StoreClient::start(int runs) {
  thread_.start();
  QTRY_COMPARE(list_.rowCount(), runs);
}

const RunEntry* StoreClient::entry(const RunId& run) const {
  return list_.entry(QString::fromStdString(run.uuid));
}

RunPointer StoreClient::last_run() const {
  return read_.all().empty() ? nullptr : std::get<0>(read_.all().back());
}

}  // namespace attnscope::gui
