// SPDX-License-Identifier: Apache-2.0
//
// attnscope_screenshots DATABASE FOLDER [WIDTHxHEIGHT [PERCENT]]: all pages, the new-run dialog and
// a live run of the real window on a real database, light and dark, as PNG, with text of that size.
// QT_SCALE_FACTOR=2 doubles them.

#include "tests/gui/screenshots.h"

#include <QDir>
#include <QSettings>
#include <QTemporaryDir>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <tuple>

#include "app/gui/charts/run_chart.h"
#include "app/gui/main_window.h"
#include "app/gui/session/snapshot.h"
#include "app/gui/views/answer_panel.h"
#include "app/gui/views/compare_page.h"
#include "app/gui/views/fields.h"
#include "app/gui/views/patterns_page.h"
#include "app/gui/views/run_list_panel.h"
#include "app/gui/views/run_view.h"
#include "app/gui/views/training_page.h"
#include "engine/report/training_curve.h"
#include "tests/gui/gui_test.h"

namespace attnscope::gui {

bool save(QWidget& widget, const QString& file) {
  // Layout and polish: labels that wrap ask for their height once they have a width.
  for (int round = 0; round < 5; ++round) QTest::qWait(0);
  if (widget.grab().save(file)) return true;
  std::fprintf(stderr, "Cannot write %s.\n", qPrintable(file));
  return false;
}

namespace {

/// The run for which the criterion is largest, if any.
QString run_of_most(const std::filesystem::path& database,
                    const std::function<std::size_t(const RunSnapshot&)>& speaks_for) {
  const Result<Store> store = Store::open(database, Store::Mode::read_only);
  const auto runs =
      store ? store->run_list() : Result<std::vector<RunInfo>>(std::vector<RunInfo>());
  QString found;
  std::size_t most = 0;
  for (const RunInfo& run : runs.value_or(std::vector<RunInfo>())) {
    const QString uuid = QString::fromStdString(run.id.uuid);
    const std::size_t much = speaks_for(*read_run(*store, {.uuid = uuid}));
    if (much > most) found = uuid;
    most = std::max(most, much);
  }
  return found;
}

struct Chosen {
  QString many_sided;  // the run with the most axes to choose from
  QString judged;      // of contenders whose rankings were evaluated
};

Chosen chosen_of(const std::filesystem::path& database) {
  return {
      .many_sided =
          run_of_most(database, [](const RunSnapshot& run) { return run.slice.axes.size(); }),
      .judged = run_of_most(database, [](const RunSnapshot& run) {
        return static_cast<std::size_t>(std::ranges::count_if(
            run.table.rows, [](const report::Row& row) { return row.effectiveness != nullptr; }));
      })};
}

/// The run page's states: a cell beneath the charts, its samples, the table, one with time against
/// effectiveness, another with windows along x and lengths against contenders.
bool shoot_runs(MainWindow& window, const QString& folder, const QString& suffix,
                const Chosen& chosen) {
  const QString& many_sided = chosen.many_sided;
  RunView* view = window.compare()->run_view();
  const QString first = view->run() ? view->run()->request.uuid : QString();
  view->show_tab(u"cell"_s);
  view->choose_cell(view->run() && view->run()->table.rows.size() > 6 ? 6 : 0);
  bool saved = save(window, folder + u"/compare-cell"_s + suffix);
  view->show_tab(u"samples"_s);
  saved = save(window, folder + u"/compare-samples"_s + suffix) && saved;
  view->show_tab(u"table"_s);
  saved = save(window, folder + u"/compare-table"_s + suffix) && saved;
  const auto is_shown = [&](const QString& uuid) {
    return QTest::qWaitFor([&] { return view->run()->request.uuid == uuid; }, timeout_ms);
  };
  if (!chosen.judged.isEmpty()) {
    window.compare()->choose_run(chosen.judged);
    view->show_tab(QLatin1String(RunView::answer_tab));
    const AnswerPanel* answer = window.compare()->answer();
    saved = is_shown(chosen.judged) &&
            QTest::qWaitFor(
                [&] {
                  return answer->advice() &&
                         answer->advice()->run.id.uuid == chosen.judged.toStdString();
                },
                timeout_ms) &&
            saved;
    saved = save(window, folder + u"/compare-effectiveness"_s + suffix) && saved;
    view->show_tab(u"table"_s);
  }
  if (many_sided.isEmpty()) return saved;
  window.compare()->choose_run(many_sided);
  saved = is_shown(many_sided) && saved;
  saved = save(window, folder + u"/compare-slices"_s + suffix) && saved;
  view->choices()->open();
  auto* fields = view->slice()->window();
  saved = save(*fields, folder + u"/compare-choices"_s + suffix) && saved;
  fields->close();
  window.compare()->choose_run(first);
  return is_shown(first) && saved;
}

/// Two trainings as `train` writes them, one of them not yet at its end.
bool shoot_training(MainWindow& window, const QString& folder, const QString& suffix) {
  const QTemporaryDir trainings;
  for (const auto& [name, steps, slowness] :
       {std::tuple("full", 2000, 1.0), std::tuple("sparse-4", 1430, 1.15)}) {
    const QString place = trainings.filePath(QLatin1String(name));
    QDir().mkpath(place);
    auto curve = TrainingCurveFile::resume(
        std::filesystem::path(place.toStdString()) / training_curve_file, 0);
    for (int step = 1; curve && step <= steps; ++step) {
      const double passed = step / (350.0 * slowness);
      TrainedStep trained{.step = step,
                          .loss = 0.6 + 6 * std::exp(-passed) + 0.5 * std::sin(step * 12.9898),
                          .learning_rate = 7e-6,
                          .gradient_norm = 1,
                          .tokens = 8192,
                          .seconds = 1.4 * slowness};
      if (step % 100 == 0) trained.ndcg = 0.42 - 0.2 * std::exp(-passed) + 0.01 * std::sin(step);
      static_cast<void>(curve->add(trained));
    }
    window.open_file(place);
  }
  const auto* chart = window.training()->chart();
  const bool shown =
      QTest::qWaitFor([&] { return chart->figure().series.size() == 2; }, timeout_ms);
  const bool saved = save(window, folder + u"/training"_s + suffix) && shown;
  while (window.training()->has_table()) window.training()->close_training();
  window.training()->start_training();
  auto* dialog = window.training()->findChild<TrainingDialog*>();
  const bool form = save(*dialog, folder + u"/training-new"_s + suffix);
  dialog->reject();
  return save(window, folder + u"/training-empty"_s + suffix) && form && saved;
}

bool shoot(MainWindow& window, const QString& folder, Theme theme, const Chosen& chosen) {
  window.set_theme(theme);
  const QString suffix = u'-' + name_of(theme) + u".png"_s;
  window.show_page(MainWindow::compare_page);
  bool saved = save(window, folder + u"/compare"_s + suffix);
  saved = shoot_answer(
              window,
              [&](const QString& name) { return save(window, folder + u'/' + name + suffix); }) &&
          saved;
  saved = shoot_runs(window, folder, suffix, chosen) && saved;
  const auto shoot_widget = [&](QWidget& widget, const QString& name) {
    return save(widget, folder + u'/' + name + suffix);
  };
  saved = shoot_run_list(window, shoot_widget) && saved;
  window.show_page(MainWindow::patterns_page);
  saved = shoot_patterns(
              *window.patterns(),
              [&](const QString& name) { return save(window, folder + u'/' + name + suffix); }) &&
          saved;
  shoot_attention(window, [&](QWidget& shown, const QString& name) {
    saved = save(shown, folder + u'/' + name + suffix) && saved;
  });
  saved = shoot_training(window, folder, suffix) && saved;
  const auto shoot_page = [&](const QString& name) {
    return save(window, folder + u'/' + name + suffix);
  };
  window.show_page(MainWindow::compare_page);
  saved = shoot_live_run(window, shoot_page) && saved;
  return shoot_new_run(window, shoot_widget) && saved;
}

/// A window on no runs: a shipped one is shown, then what there is without one.
bool shoot_first_start(const QString& folder, Theme theme, QSize size) {
  const QTemporaryDir home;
  MainWindow window({.database = home.filePath(u"runs.db"_s).toStdString()});
  window.set_theme(theme);
  window.resize(size);
  window.show();
  const QString suffix = u'-' + name_of(theme) + u".png"_s;
  const bool read =
      QTest::qWaitFor([&] { return window.compare()->run_view()->run() != nullptr; }, timeout_ms);
  const bool first = save(window, folder + u"/first-start"_s + suffix);
  window.compare()->run_list()->show_section(RunListPanel::runs_section);
  return save(window, folder + u"/no-runs"_s + suffix) && first && read;
}

int shoot_all(const std::filesystem::path& database, const QString& folder, QSize size) {
  MainWindow window({.database = database});
  window.resize(size);
  window.show();
  const bool shown = QTest::qWaitFor(
      [&] {
        const RunPointer& run = window.compare()->run_view()->run();
        return run && !run->table.rows.empty();
      },
      timeout_ms);
  if (!shown) std::fprintf(stderr, "No run with a finished heat was read; the page is empty.\n");
  const Chosen chosen = chosen_of(database);
  const bool light = shoot_first_start(folder, Theme::light, size) &&
                     shoot(window, folder, Theme::light, chosen) &&
                     shoot_charts(database, folder, u"-light.png"_s);
  const bool dark = shoot_first_start(folder, Theme::dark, size) &&
                    shoot(window, folder, Theme::dark, chosen) &&
                    shoot_charts(database, folder, u"-dark.png"_s);
  return light && dark ? 0 : 1;
}

}  // namespace
}  // namespace attnscope::gui

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "use: attnscope_screenshots DATABASE FOLDER [WIDTHxHEIGHT [PERCENT]]\n");
    return 2;
  }
  const attnscope::gui::TestHome home;
  QApplication application(argc, argv);
  // Otherwise the window would run this program for the list of implementations.
  qputenv("ATTNSCOPE_PROGRAM", QDir(QCoreApplication::applicationDirPath())
                                   .filePath(QStringLiteral("attnscope"))
                                   .toLocal8Bit());
  attnscope::gui::prepare_application();
  attnscope::gui::apply_theme(attnscope::gui::Theme::light);
  if (argc > 4) attnscope::gui::store_text_size(QString::fromLocal8Bit(argv[4]).toInt());
  attnscope::gui::apply_text_size();
  QSize size(1280, 800);
  if (argc > 3) {
    const QStringList sides = QString::fromLocal8Bit(argv[3]).split(u'x');
    if (sides.size() == 2) size = QSize(sides[0].toInt(), sides[1].toInt());
  }
  QDir().mkpath(QString::fromLocal8Bit(argv[2]));
  return attnscope::gui::shoot_all(argv[1], QString::fromLocal8Bit(argv[2]), size);
}
