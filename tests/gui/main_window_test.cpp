// SPDX-License-Identifier: Apache-2.0
//
// The window by clicks and keys, with runs in other processes.

#include <QComboBox>
#include <QDialogButtonBox>
#include <QFile>
#include <QFileDialog>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QPushButton>
#include <QScrollBar>
#include <QTabBar>
#include <QTabWidget>
#include <QTableView>
#include <QTimer>
#include <QWindow>
#include <algorithm>

#include "app/gui/charts/run_chart.h"
#include "app/gui/views/attention_source.h"
#include "app/gui/views/fields.h"
#include "app/gui/views/figure_dialog.h"
#include "app/gui/views/new_run_dialog.h"
#include "app/gui/views/pattern_masks.h"
#include "app/gui/views/patterns_page.h"
#include "app/gui/views/progress_strip.h"
#include "app/gui/views/run_table.h"
#include "tests/gui/window_suite.h"

namespace attnscope::gui {

constexpr int measuring_timeout_ms = 120'000;

class MainWindowTest : public WindowSuite {
  Q_OBJECT

  [[nodiscard]] QPushButton* cancel_button() const { return find<QPushButton>("cancel"); }
  void activate() const {
    window_->activateWindow();
    QTRY_VERIFY(window_->isActiveWindow());
  }
  /// A run being measured, with sparse/segment at windows 1 to `windows`.
  void add_live_run(int windows, const std::vector<std::int64_t>& lengths) const {
    std::vector<Contender> contenders;
    for (int window = 1; window <= windows; ++window)
      contenders.push_back(contender("sparse", "segment", Window::of(window)));
    Store store = open_store(database());
    const RunId run = begin_run_with(store, "live", {}, 84);
    int index = 0;
    for (const std::int64_t tokens : lengths)
      QVERIFY(store.add_heat(run, made_up_heat(index++, tokens, contenders)).has_value());
  }
  /// Without no-break characters.
  [[nodiscard]] static QString plain(QString text) {
    return text.replace(QChar::Nbsp, u' ').remove(QChar(u'\u2060'));
  }

  /// Fills the form by keyboard and mouse, and starts.
  void start_by_clicks(const QString& name, const QString& lengths) {
    QTRY_VERIFY(window_->commands()->run_button()->isEnabled());
    QTest::mouseClick(window_->commands()->run_button(), Qt::LeftButton);
    auto* dialog = window_->findChild<NewRunDialog*>();
    QVERIFY(dialog != nullptr);
    QTRY_VERIFY(dialog->isVisible());
    dialog->choose_preset(u"quick"_s);
    for (const auto& [field, text] :
         {std::pair{u"sequence_tokens"_s, lengths}, std::pair{u"sweep_name"_s, name}}) {
      auto* edit = dialog->findChild<QLineEdit*>(field);
      edit->selectAll();
      QTest::keyClicks(edit, text);
    }
    QTRY_VERIFY(dialog->is_checked() && dialog->checked().ok());
    QTest::mouseClick(dialog->findChild<QPushButton*>(u"start_run"_s), Qt::LeftButton);
    QVERIFY(!dialog->isVisible());
  }

 private Q_SLOTS:
  void init() { reset(); }
  void cleanup() { window_.reset(); }

  void OffersTheQuickSweep() {
    open_window();
    QTRY_VERIFY(page()->place()->isVisible());  // a published run
    panel()->show_section(RunListPanel::runs_section);
    QTRY_VERIFY(page()->quick_button()->isVisible());
    QTest::mouseClick(page()->quick_button(), Qt::LeftButton);
    QTRY_COMPARE(window_->runs().rowCount(), 1);
    QTRY_COMPARE(status_of(), RunStatus::done);
    QVERIFY(window_->runs().index(0).data().toString().contains(u"quick"_s));
  }

  void LeadsToAResultInSevenClicks() {
    QSettings().setValue(u"figure/folder"_s, folder_->path());
    open_window();
    int clicks = 0;
    const auto click = [&clicks](QWidget* button, QPoint at = {}) {
      ++clicks;
      QTest::mouseClick(button, Qt::LeftButton, {}, at);
    };
    QTRY_VERIFY(page()->place()->isVisible());
    click(page()->place()->fix_button());  // Run the quick sweep
    QTRY_COMPARE(window_->runs().rowCount(), 1);
    QTRY_COMPARE(status_of(), RunStatus::done);
    auto* offer = find<QPushButton>("export_figure");
    QTRY_VERIFY(offer->isEnabled() && view()->has_figure());
    // The fastest contender and its significance, without a click.
    const QString headline = plain(page()->findChild<QLabel*>(u"verdict"_s)->text());
    QVERIFY2(headline.contains(u" at "_s), qPrintable(headline));
    QVERIFY2(headline.contains(u"as fast as the next, significant"_s) ||
                 headline.contains(u"o clear winner at "_s) ||
                 headline.contains(u"(the only one)"_s),
             qPrintable(headline));

    click(offer);  // Export figure...
    auto* dialog = window_->findChild<FigureDialog*>();
    QVERIFY(dialog && dialog->isVisible());
    const QString file = dialog->file();
    auto* write = dialog->findChild<QPushButton*>(u"write"_s);
    QTRY_VERIFY(write->isEnabled());
    click(write);
    QTRY_VERIFY(file.endsWith(u".pdf"_s) && QFileInfo(file).size() > 1000);

    QTabBar* tabs = view()->tabs()->tabBar();
    click(tabs, tabs->tabRect(1).center());  // Table
    auto* save = find<QPushButton>("save_table");
    QTRY_VERIFY(save->isVisible());
    QTimer chooses;  // Qt before 6.8 returns from the click when the menu has closed, later ones
                     // before it opens
    connect(&chooses, &QTimer::timeout, this, [&] {
      if (!save->menu()->isVisible()) return;
      chooses.stop();
      for (QAction* action : save->menu()->actions()) {
        if (!action->text().contains(u"LaTeX"_s)) continue;
        // By keyboard: Qt 6.8 treats a click of a test as outside the menu.
        save->menu()->setActiveAction(action);
        QTest::keyClick(save->menu(), Qt::Key_Return);
        ++clicks;
        return;
      }
    });
    chooses.start(std::chrono::milliseconds(10));
    click(save);
    QFileDialog* save_as = nullptr;
    QTRY_VERIFY((save_as = window_->findChild<QFileDialog*>()) != nullptr);
    save_as->setDirectory(folder_->path());
    click(save_as->findChild<QDialogButtonBox*>()->button(QDialogButtonBox::Save));
    const QStringList written = QDir(folder_->path()).entryList({u"*.tex"_s}, QDir::Files);
    QCOMPARE(written.size(), 1);
    QCOMPARE(clicks, 7);
  }

  void ShowsAGrowingRun() {
    open_window();
    start_by_clicks(u"by-hand"_s, u"64:256:*2"_s);
    QTRY_COMPARE(window_->runs().rowCount(), 1);
    QTRY_COMPARE(status_of(), RunStatus::done);
    QTRY_VERIFY(view()->isVisible() && shows_rows());
    QTRY_VERIFY(view()->run() && view()->run()->table.run.heats_done == 3);
    QCOMPARE(view()->chart()->figure().series.front().points.size(), std::size_t{3});
    QVERIFY(!view()->chart()->drawing(0).empty());
    QVERIFY(!view()->chart()->drawing(1).empty());
    const QAbstractItemModel* table = view()->run_table()->view()->model();
    QCOMPARE(table->rowCount() * (table->columnCount() - 1),
             static_cast<int>(view()->run()->table.rows.size()));
    QTRY_VERIFY(!page()->progress()->isVisible());
  }

  void LeavesTheRunToTheNextWindow() {
    open_window();
    start_by_clicks(u"until-cancelled"_s, u"64:256:*2"_s);
    QTRY_VERIFY(window_->runs().live() != nullptr);
    restart();
    QTRY_VERIFY(window_->runs().live() != nullptr);
    QTRY_VERIFY(cancel_button()->isVisible());
    QTest::mouseClick(cancel_button(), Qt::LeftButton);
    QTRY_COMPARE(status_of(), RunStatus::cancelled);
  }

  void PausesAndContinuesARun() {
    open_window();
    start_by_clicks(u"pausable"_s, u"64:256:*2"_s);
    ProgressStrip* strip = page()->progress();
    QTRY_VERIFY(strip->heats().count(HeatState::done) == 1);
    QCOMPARE(strip->heats().count(HeatState::running), 1);
    QCOMPARE(strip->pause_button()->text(), u"Pause run"_s);
    activate();
    QTest::keyClick(window_.get(), Qt::Key_P, Qt::ControlModifier);
    QCOMPARE(strip->pause_button()->text(), u"Continue run"_s);
    QTRY_COMPARE(strip->heats().count(HeatState::paused), 1);
    QVERIFY(strip->text().contains(u"paused"_s));
    const QModelIndex listed = window_->runs().index(0);
    QTRY_VERIFY(listed.data(RunListModel::detail_role).toString().startsWith(u"paused, "_s));
    QTRY_VERIFY(view()->detail().startsWith(u"paused · "_s));
    // The next window shows it paused.
    restart();
    strip = page()->progress();
    QTRY_COMPARE(strip->heats().count(HeatState::paused), 1);
    QTRY_VERIFY(strip->pause_button()->isVisible());
    QCOMPARE(strip->pause_button()->text(), u"Continue run"_s);
    QTest::mouseClick(strip->pause_button(), Qt::LeftButton);
    QTRY_COMPARE(status_of(), RunStatus::done);
    QTRY_VERIFY(!strip->isVisible());
    QVERIFY(!strip->pause_action()->isEnabled());
  }

  void ReportsARunThatCannotPause() {
    open_window();
    Store store = open_store(database());
    // Its process is this test, which does not handle the signal.
    static_cast<void>(begin_run_with(store, "foreign", {64}, 3));
    ProgressStrip* strip = page()->progress();
    QTRY_VERIFY(strip->pause_button()->isVisible());
    QTest::mouseClick(strip->pause_button(), Qt::LeftButton);
    QTRY_VERIFY(messages()->text().contains(u"does not support pausing"_s));
    QCOMPARE(strip->pause_button()->text(), u"Pause run"_s);
  }

  void ShowsHeatsByKeysAndCancelsARun() {
    open_window();
    start_by_clicks(u"until-cancelled"_s, u"64:256:*2"_s);
    ProgressStrip* strip = page()->progress();
    QTRY_VERIFY(strip->isVisible() && cancel_button()->isVisible());
    QTRY_VERIFY(strip->text().contains(u"sparse/segment/4"_s));
    QVERIFY(strip->text().contains(u"of 3"_s));
    QVERIFY(strip->text().contains(u"left"_s));
    QTRY_VERIFY(strip->heats().count(HeatState::done) == 1);
    activate();
    QTest::keyClick(window_.get(), Qt::Key_H, Qt::ControlModifier);
    QTRY_VERIFY(strip->heats_view()->hasFocus());
    const auto* sentence = find<QLabel>("chosen_heat");
    QCOMPARE(sentence->text(), u"Heat 2 of 3, 128 tokens: being measured"_s);
    QTest::keyClick(strip->heats_view(), Qt::Key_Left);
    QVERIFY(sentence->text().startsWith(u"Heat 1 of 3, 64 tokens: measured ("_s));
    QTest::mouseClick(cancel_button(), Qt::LeftButton);
    QTRY_COMPARE(status_of(), RunStatus::cancelled);
    QTRY_VERIFY(!strip->isVisible());
    QCOMPARE(window_->runs().index(0).data(RunListModel::fraction_role).toDouble(), 1.0 / 3);
  }

  void OpensTheNewRunDialogByKey() {
    open_window();
    QTRY_VERIFY(window_->commands()->run_button()->isEnabled());
    activate();
    QTest::keyClick(window_.get(), Qt::Key_Return, Qt::ControlModifier);
    auto* dialog = window_->findChild<NewRunDialog*>();
    QVERIFY(dialog && dialog->isVisible());
    // Otherwise it would keep the program running when the window is closed.
    QCOMPARE(dialog->windowHandle()->transientParent(), window_->windowHandle());
    auto* hidden = dialog->findChild<QLabel*>(u"contender_reasons"_s);
    QTRY_COMPARE(hidden->text(), u"sparse/sdpa: sdpa supports only full attention"_s);
    auto* estimate = dialog->findChild<QLabel*>(u"estimate"_s);
    QVERIFY2(estimate->text().contains(u"full/dense"_s), qPrintable(estimate->text()));
    // Inside the dialog the same key starts the run.
    QTRY_VERIFY(dialog->is_checked() && dialog->isAncestorOf(QApplication::focusWidget()));
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_Return, Qt::ControlModifier);
    QVERIFY(!dialog->isVisible());
    QTRY_COMPARE(window_->runs().rowCount(), 1);
  }

  void HandlesKeysOfANewPage() {
    const auto press_at_start = [this](Qt::Key page_key, Qt::Key key) {
      open_window();
      activate();
      QTest::keyClick(window_.get(), page_key, Qt::ControlModifier);
      QTest::keyClick(window_.get(), key, Qt::ControlModifier);
    };
    press_at_start(Qt::Key_2, Qt::Key_D);
    QVERIFY(window_->patterns()->masks()->is_split());
    QVERIFY(window_->patterns()->isVisible() && !page()->isVisible());
    QTest::keyClick(window_.get(), Qt::Key_1, Qt::ControlModifier);
    QTRY_VERIFY(page()->isVisible());
    press_at_start(Qt::Key_3, Qt::Key_K);
    QVERIFY(window_->findChild<CheckpointDialog*>() != nullptr);
  }

  void MeasuresARunAgain() {
    add_runs({"twice"});
    open_window();
    QTRY_COMPARE(window_->runs().rowCount(), 1);
    panel()->choose(window_->runs().index(0).data(RunListModel::uuid_role).toString());
    const std::unique_ptr<QMenu> menu(panel()->make_menu());
    const QList<QAction*> actions = menu->actions();
    const auto again = std::ranges::find(actions, u"Measure again"_s, &QAction::text);
    QVERIFY(again != actions.end());
    (*again)->trigger();
    QTRY_COMPARE(window_->runs().rowCount(), 2);
    for (int row = 0; row < 2; ++row)
      QVERIFY(window_->runs().index(row).data().toString().contains(u"twice"_s));
  }

  void ReportsARunThatCannotStart() {
    open_window();
    start_by_clicks(u"refused"_s, u"64"_s);
    QTRY_COMPARE(messages()->text(), u"the worker attnscope-worker was not found."_s);
    QVERIFY(!page()->progress()->isVisible());
    qputenv("ATTNSCOPE_PROGRAM", "/nowhere/attnscope");
    start_by_clicks(u"any"_s, u"64"_s);
    QTRY_VERIFY(messages()->text().contains(u"/nowhere/attnscope"_s));
  }

  void ReportsARefusedDatabase() {
    write("attnscope.db", QByteArray(8192, 'x'));
    open_window();
    QTRY_VERIFY(messages()->isVisible());
    QVERIFY(messages()->text().contains(u"attnscope.db"_s));
    QVERIFY(!window_->commands()->run_button()->isEnabled());
    QVERIFY(QFile::remove(path("attnscope.db")));
    QTest::mouseClick(messages()->fix_button(), Qt::LeftButton);
    QTRY_VERIFY(window_->commands()->run_button()->isEnabled());
    QVERIFY(!messages()->isVisible());
  }

  void StartsTheQuickSweepByOption() {
    open_window({.start_quick_sweep = true});
    QTRY_COMPARE(window_->runs().rowCount(), 1);
  }

  void LeavesMostOfTheWindowToCharts() {
    add_runs({"made-up"}, {64, 128, 256});
    open_window();
    QTRY_VERIFY(shows_rows());
    QTRY_VERIFY2(view()->chart()->height() >= window_->height() / 2,
                 qPrintable(QString::number(view()->chart()->height())));
    QTRY_VERIFY(find<QLineEdit>("run_tags")->isVisible());
    QTRY_VERIFY(find<QComboBox>("page_baseline")->isVisible());
    for (const char* tab : {"answer", "table", "cell", "samples"}) {
      view()->show_tab(QLatin1String(tab));
      QStringList controls{u"the pages"_s};
      for (const QWidget* widget : window_->findChildren<QWidget*>()) {
        const bool is_control = qobject_cast<const QAbstractButton*>(widget) ||
                                qobject_cast<const QComboBox*>(widget) ||
                                qobject_cast<const QLineEdit*>(widget) ||
                                qobject_cast<const QTabBar*>(widget);
        // The pages count once, and parts of a control not at all.
        const QWidget* parent = widget->parentWidget();
        const bool is_part = qobject_cast<const QTabBar*>(parent) ||
                             qobject_cast<const QLineEdit*>(parent) ||
                             qobject_cast<const QAbstractItemView*>(parent) ||
                             parent->objectName() == QLatin1String("rail");
        if (is_control && !is_part && widget->isVisible()) controls.append(widget->objectName());
      }
      const qsizetype most = view()->tabs()->currentIndex() == 0 ? 14 : 15;  // at start the first
      QVERIFY2(controls.size() <= most,
               qPrintable(QLatin1String(tab) + QLatin1String(": ") + controls.join(u' ')));
    }
  }

  void ShowsLargeTextInASmallWindow() {
    add_live_run(20, {64, 4096});
    const LargeText large;
    open_window();
    window_->resize(1000, 650);
    QTRY_VERIFY(shows_rows());
    QTRY_VERIFY(page()->progress()->isVisible());
    for (const auto at : {MainWindow::compare_page, MainWindow::patterns_page,
                          MainWindow::attention_page, MainWindow::training_page}) {
      window_->show_page(at);
      QTRY_COMPARE(window_->size(), QSize(1000, 650));
      const auto cut = [this] {
        QStringList labels;
        for (const QLabel* label : window_->findChildren<QLabel*>()) {
          // Elided text is complete in its tooltip.
          if (dynamic_cast<const LineLabel*>(label) && label->toolTip().contains(label->text()))
            continue;
          const bool is_low = label->wordWrap()
                                  ? label->height() < label->heightForWidth(label->width())
                                  : label->width() < label->sizeHint().width();
          if (label->isVisible() && !label->text().isEmpty() && is_low)
            labels.append(u"%1, %2 of %3: %4"_s.arg(label->objectName())
                              .arg(label->height())
                              .arg(label->heightForWidth(label->width()))
                              .arg(label->text()));
        }
        return labels;
      };
      QTRY_VERIFY2(cut().isEmpty(), qPrintable(cut().join(u'\n')));
    }
    window_->show_page(MainWindow::patterns_page);
    window_->patterns()->masks()->compare_with(u"Longformer"_s);
    const auto* panel = find<QWidget>("pattern_panel");
    QTRY_COMPARE(panel->width(), panel->parentWidget()->width());  // nothing scrolls sideways
    QCOMPARE(window_->size(), QSize(1000, 650));
  }

  void NestsNoScrollAreas() {
    add_live_run(6, {64});
    open_window();
    window_->resize(1000, 650);
    QTRY_VERIFY(shows_rows());
    QTRY_VERIFY(page()->progress()->isVisible());
    auto* around =
        qobject_cast<SideArea*>(page()->progress()->parentWidget()->parentWidget()->parentWidget());
    QVERIFY(around != nullptr);
    QTabBar* tabs = view()->tabs()->tabBar();
    for (int tab = 0; tab < tabs->count(); ++tab) {
      if (view()->tabs()->widget(tab) == view()->chart()) continue;
      QTest::mouseClick(tabs, Qt::LeftButton, {}, tabs->tabRect(tab).center());
      QCOMPARE(tabs->currentIndex(), tab);
      QTRY_VERIFY2(!around->verticalScrollBar()->isVisible(), qPrintable(tabs->tabText(tab)));
    }
  }

  void DrawsDarkCharts() {
    open_window();
    window_->set_theme(Theme::dark);
    QTRY_COMPARE(charts::theme_of(view()->chart()->palette()), charts::ChartTheme::dark);
    window_->set_theme(Theme::light);
    QTRY_COMPARE(charts::theme_of(view()->chart()->palette()), charts::ChartTheme::light);
  }

  void ShowsARunOfTheRealWorker() {
#if HAS_REAL_WORKER
    qputenv("ATTNSCOPE_PROGRAM", REAL_ATTNSCOPE);
    open_window();
    start_by_clicks(u"real"_s, u"64, 128"_s);
    QTRY_COMPARE_WITH_TIMEOUT(window_->runs().rowCount(), 1, measuring_timeout_ms);
    QTRY_COMPARE_WITH_TIMEOUT(status_of(), RunStatus::done, measuring_timeout_ms);
    QTRY_VERIFY(view()->run() && view()->run()->table.run.heats_done == 2);
    for (const report::Row& row : view()->run()->table.rows) {
      QCOMPARE(row.cell.cell.status, CellStatus::ok);
      QVERIFY(row.cell.summary.median_ns > 0);
    }
#else
    QSKIP("This build has no worker.");
#endif
  }
};

ATTNSCOPE_GUI_TEST(MainWindowTest)

}  // namespace attnscope::gui
#include "main_window_test.moc"
