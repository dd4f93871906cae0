// SPDX-License-Identifier: Apache-2.0
//
// The window as a person drives it: clicks, keys, and runs in other processes.
#include "app/gui/main_window.h"

#include <QComboBox>
#include <QDialogButtonBox>
#include <QFileDialog>
#include <QLabel>
#include <QLineEdit>
#include <QListView>
#include <QMenu>
#include <QPushButton>
#include <QScrollBar>
#include <QSettings>
#include <QTabBar>
#include <QTabWidget>
#include <QTableView>
#include <QTimer>
#include <QWindow>
#include <algorithm>

#include "app/gui/charts/run_chart.h"
#include "app/gui/views/checkpoint_dialog.h"
#include "app/gui/views/command_bar.h"
#include "app/gui/views/compare_page.h"
#include "app/gui/views/fields.h"
#include "app/gui/views/figure_dialog.h"
#include "app/gui/views/heats_view.h"
#include "app/gui/views/message_bar.h"
#include "app/gui/views/new_run_dialog.h"
#include "app/gui/views/pattern_masks.h"
#include "app/gui/views/patterns_page.h"
#include "app/gui/views/progress_strip.h"
#include "app/gui/views/run_list_panel.h"
#include "app/gui/views/run_table.h"
#include "app/gui/views/run_view.h"
#include "app/gui/views/theme.h"
#include "tests/gui/gui_test.h"
#include "tests/gui/run_fixture.h"

namespace attnscope::gui {

constexpr int measuring_patience_ms = 120'000;

class MainWindowTest : public QObject {
  Q_OBJECT

  std::unique_ptr<QTemporaryDir> folder_;
  std::unique_ptr<MainWindow> window_;

  [[nodiscard]] std::filesystem::path database() const {
    return folder_->filePath(QStringLiteral("attnscope.db")).toStdString();
  }
  void open_window(bool start_quick_sweep = false) {
    window_ = std::make_unique<MainWindow>(
        WindowOptions{.database = database(), .start_quick_sweep = start_quick_sweep});
    window_->resize(1280, 800);
    window_->show();
    QVERIFY(QTest::qWaitForWindowExposed(window_.get()));
  }
  [[nodiscard]] ComparePage* page() const { return window_->compare(); }
  [[nodiscard]] QPushButton* cancel_button() const {
    return window_->findChild<QPushButton*>(QStringLiteral("cancel"));
  }
  [[nodiscard]] static RunStatus status_of(const RunListModel& runs) {
    return static_cast<RunStatus>(runs.index(0).data(RunListModel::status_role).toInt());
  }

  /// Without what keeps it together.
  [[nodiscard]] static QString plain(QString text) {
    return text.replace(QChar::Nbsp, QLatin1Char(' ')).remove(QChar(u'\u2060'));
  }

  /// Fills the form by keyboard and mouse, and starts.
  void start_by_clicks(const QString& name, const QString& lengths) {
    QTRY_VERIFY_WITH_TIMEOUT(window_->commands()->run_button()->isEnabled(), patience_ms);
    QTest::mouseClick(window_->commands()->run_button(), Qt::LeftButton);
    auto* dialog = window_->findChild<NewRunDialog*>();
    QVERIFY(dialog != nullptr);
    QTRY_VERIFY(dialog->isVisible());
    dialog->choose_preset(QStringLiteral("quick"));
    for (const auto& [field, text] : {std::pair{QStringLiteral("sequence_tokens"), lengths},
                                      std::pair{QStringLiteral("sweep_name"), name}}) {
      auto* edit = dialog->findChild<QLineEdit*>(field);
      edit->selectAll();
      QTest::keyClicks(edit, text);
    }
    QTRY_VERIFY(dialog->is_checked() && dialog->checked().ok());
    QTest::mouseClick(dialog->findChild<QPushButton*>(QStringLiteral("start_run")), Qt::LeftButton);
    QVERIFY(!dialog->isVisible());
  }

 private Q_SLOTS:

  void init() {
    folder_ = std::make_unique<QTemporaryDir>();
    qputenv("ATTNSCOPE_PROGRAM", FAKE_ATTNSCOPE);
    QSettings().clear();
  }
  void cleanup() { window_.reset(); }

  void AnEmptyDatabase_OffersTheQuickSweep() {
    open_window();
    QTRY_VERIFY_WITH_TIMEOUT(page()->place()->isVisible(), patience_ms);  // a published run
    page()->run_list()->show_section(RunListPanel::runs_section);
    QTRY_VERIFY(page()->quick_button()->isVisible());
    QTest::mouseClick(page()->quick_button(), Qt::LeftButton);
    QTRY_COMPARE_WITH_TIMEOUT(window_->runs().rowCount(), 1, patience_ms);
    QTRY_COMPARE_WITH_TIMEOUT(status_of(window_->runs()), RunStatus::done, patience_ms);
    QVERIFY(window_->runs().index(0).data().toString().contains(QStringLiteral("quick")));
  }

  void SevenClicks_LeadFromTheFirstStartToWhoIsFastest_AFigureAndLatex() {
    QSettings().setValue(QStringLiteral("figure/folder"), folder_->path());
    open_window();
    int clicks = 0;
    const auto click = [&clicks](QWidget* button, QPoint at = {}) {
      ++clicks;
      QTest::mouseClick(button, Qt::LeftButton, {}, at);
    };
    QTRY_VERIFY_WITH_TIMEOUT(page()->place()->isVisible(), patience_ms);
    click(page()->place()->fix_button());  // Run the quick sweep
    QTRY_COMPARE_WITH_TIMEOUT(window_->runs().rowCount(), 1, patience_ms);
    QTRY_COMPARE_WITH_TIMEOUT(status_of(window_->runs()), RunStatus::done, patience_ms);
    auto* offer = window_->findChild<QPushButton*>(QStringLiteral("export_figure"));
    QTRY_VERIFY_WITH_TIMEOUT(offer->isEnabled() && page()->run_view()->has_figure(), patience_ms);
    // Who is fastest at which lengths, and how sure, without a click; who it is was measured here.
    const QString headline = plain(page()->findChild<QLabel*>(QStringLiteral("verdict"))->text());
    QVERIFY2(headline.contains(QStringLiteral(" at ")), qPrintable(headline));
    QVERIFY2(headline.contains(QStringLiteral("as fast as the next, significant")) ||
                 headline.contains(QStringLiteral("o clear winner at ")) ||
                 headline.contains(QStringLiteral("(the only one)")),
             qPrintable(headline));

    click(offer);  // Export figure...
    auto* dialog = window_->findChild<FigureDialog*>();
    QVERIFY(dialog && dialog->isVisible());
    const QString file = dialog->file();
    auto* write = dialog->findChild<QPushButton*>(QStringLiteral("write"));
    QTRY_VERIFY(write->isEnabled());
    click(write);
    QTRY_VERIFY(file.endsWith(QStringLiteral(".pdf")) && QFileInfo(file).size() > 1000);

    QTabBar* tabs = page()->run_view()->tabs()->tabBar();
    click(tabs, tabs->tabRect(1).center());  // Table
    auto* save = window_->findChild<QPushButton*>(QStringLiteral("save_table"));
    QTRY_VERIFY(save->isVisible());
    QTimer chooses;  // Qt before 6.8 returns from the click when the menu has closed, later ones
                     // before it opens
    connect(&chooses, &QTimer::timeout, this, [&] {
      if (!save->menu()->isVisible()) return;
      chooses.stop();
      for (QAction* action : save->menu()->actions()) {
        if (!action->text().contains(QStringLiteral("LaTeX"))) continue;
        // By the keyboard: Qt 6.8 takes a click from a test as one beside the menu.
        save->menu()->setActiveAction(action);
        QTest::keyClick(save->menu(), Qt::Key_Return);
        ++clicks;
        return;
      }
    });
    chooses.start(std::chrono::milliseconds(10));
    click(save);
    QFileDialog* ask = nullptr;
    QTRY_VERIFY((ask = window_->findChild<QFileDialog*>()) != nullptr);
    ask->setDirectory(folder_->path());
    click(ask->findChild<QDialogButtonBox*>()->button(QDialogButtonBox::Save));
    const QStringList written =
        QDir(folder_->path()).entryList({QStringLiteral("*.tex")}, QDir::Files);
    QCOMPARE(written.size(), 1);
    QCOMPARE(clicks, 7);
  }

  void AWholeRun_IsStartedByClicksAndGrowsIntoChartsAndTable() {
    open_window();
    start_by_clicks(QStringLiteral("by-hand"), QStringLiteral("64:256:*2"));
    QTRY_COMPARE_WITH_TIMEOUT(window_->runs().rowCount(), 1, patience_ms);
    QTRY_COMPARE_WITH_TIMEOUT(status_of(window_->runs()), RunStatus::done, patience_ms);
    RunView* view = page()->run_view();
    QTRY_VERIFY_WITH_TIMEOUT(view->isVisible() && view->run() && !view->run()->table.rows.empty(),
                             patience_ms);
    QTRY_VERIFY(view->run() && view->run()->table.run.heats_done == 3);
    QCOMPARE(view->chart()->figure().series.front().points.size(), std::size_t{3});
    QVERIFY(!view->chart()->drawing(0).empty());
    QVERIFY(!view->chart()->drawing(1).empty());
    const QAbstractItemModel* table = view->run_table()->view()->model();
    QCOMPARE(table->rowCount() * (table->columnCount() - 1),
             static_cast<int>(view->run()->table.rows.size()));
    QTRY_VERIFY(!page()->progress()->isVisible());
  }

  void ALiveRun_IsShownWithProgressAndCancelled() {
    open_window();
    start_by_clicks(QStringLiteral("until-cancelled"), QStringLiteral("64:256:*2"));
    ProgressStrip* strip = page()->progress();
    QTRY_VERIFY_WITH_TIMEOUT(strip->isVisible() && cancel_button()->isVisible(), patience_ms);
    QTRY_VERIFY(strip->text().contains(QStringLiteral("sparse/segment/4")));
    QVERIFY(strip->text().contains(QStringLiteral("of 3")));
    QVERIFY(strip->text().contains(QStringLiteral("left")));
    QTest::mouseClick(cancel_button(), Qt::LeftButton);
    QTRY_COMPARE_WITH_TIMEOUT(status_of(window_->runs()), RunStatus::cancelled, patience_ms);
    QTRY_VERIFY(!strip->isVisible());
    QCOMPARE(window_->runs().index(0).data(RunListModel::fraction_role).toDouble(), 1.0 / 3);
  }

  void ClosingTheWindow_LeavesTheRunAliveForTheNextWindow() {
    open_window();
    start_by_clicks(QStringLiteral("until-cancelled"), QStringLiteral("64:256:*2"));
    QTRY_VERIFY_WITH_TIMEOUT(window_->runs().live() != nullptr, patience_ms);
    window_->close();
    window_.reset();
    open_window();
    QTRY_VERIFY_WITH_TIMEOUT(window_->runs().live() != nullptr, patience_ms);
    QTRY_VERIFY(cancel_button()->isVisible());
    QTest::mouseClick(cancel_button(), Qt::LeftButton);
    QTRY_COMPARE_WITH_TIMEOUT(status_of(window_->runs()), RunStatus::cancelled, patience_ms);
  }

  void ALiveRun_IsPausedAndGoesOnByKeyAndButton() {
    open_window();
    start_by_clicks(QStringLiteral("pausable"), QStringLiteral("64:256:*2"));
    ProgressStrip* strip = page()->progress();
    QTRY_VERIFY_WITH_TIMEOUT(strip->heats().count(HeatState::done) == 1, patience_ms);
    QCOMPARE(strip->heats().count(HeatState::running), 1);
    QCOMPARE(strip->pause_button()->text(), QStringLiteral("Pause run"));
    window_->activateWindow();
    QTRY_VERIFY(window_->isActiveWindow());
    QTest::keyClick(window_.get(), Qt::Key_P, Qt::ControlModifier);
    QCOMPARE(strip->pause_button()->text(), QStringLiteral("Continue run"));
    QTRY_COMPARE_WITH_TIMEOUT(strip->heats().count(HeatState::paused), 1, patience_ms);
    QVERIFY(strip->text().contains(QStringLiteral("paused")));
    const QModelIndex listed = window_->runs().index(0);
    QTRY_VERIFY(
        listed.data(RunListModel::detail_role).toString().startsWith(QStringLiteral("paused, ")));
    QTRY_VERIFY(page()->run_view()->detail().startsWith(QStringLiteral("paused · ")));
    // The next window finds it paused.
    window_->close();
    window_.reset();
    open_window();
    strip = page()->progress();
    QTRY_COMPARE_WITH_TIMEOUT(strip->heats().count(HeatState::paused), 1, patience_ms);
    QTRY_VERIFY(strip->pause_button()->isVisible());
    QCOMPARE(strip->pause_button()->text(), QStringLiteral("Continue run"));
    QTest::mouseClick(strip->pause_button(), Qt::LeftButton);
    QTRY_COMPARE_WITH_TIMEOUT(status_of(window_->runs()), RunStatus::done, patience_ms);
    QTRY_VERIFY(!strip->isVisible());
    QVERIFY(!strip->pause_action()->isEnabled());
  }

  void ARunThatCannotPause_SaysSoAndTheButtonStays() {
    open_window();
    Store store = open_store(database());
    // This test itself, which takes no such signal.
    static_cast<void>(begin_run_with(store, "foreign", {64}, 3));
    ProgressStrip* strip = page()->progress();
    QTRY_VERIFY_WITH_TIMEOUT(strip->pause_button()->isVisible(), patience_ms);
    QTest::mouseClick(strip->pause_button(), Qt::LeftButton);
    QTRY_VERIFY(page()->messages()->text().contains(QStringLiteral("does not know how to pause")));
    QCOMPARE(strip->pause_button()->text(), QStringLiteral("Pause run"));
  }

  void TheHeatsOfALiveRun_AreReachedByKeys() {
    open_window();
    start_by_clicks(QStringLiteral("until-cancelled"), QStringLiteral("64:256:*2"));
    ProgressStrip* strip = page()->progress();
    QTRY_VERIFY_WITH_TIMEOUT(strip->heats().count(HeatState::done) == 1, patience_ms);
    window_->activateWindow();
    QTRY_VERIFY(window_->isActiveWindow());
    QTest::keyClick(window_.get(), Qt::Key_H, Qt::ControlModifier);
    QTRY_VERIFY(strip->heats_view()->hasFocus());
    auto* sentence = strip->findChild<QLabel*>(QStringLiteral("chosen_heat"));
    QCOMPARE(sentence->text(), QStringLiteral("Heat 2 of 3, 128 tokens: being measured"));
    QTest::keyClick(strip->heats_view(), Qt::Key_Left);
    QVERIFY(sentence->text().startsWith(QStringLiteral("Heat 1 of 3, 64 tokens: measured (")));
    QTest::mouseClick(cancel_button(), Qt::LeftButton);
    QTRY_COMPARE_WITH_TIMEOUT(status_of(window_->runs()), RunStatus::cancelled, patience_ms);
  }

  void TheDialog_OpensByKeyAndAsksWhatIsPossible() {
    open_window();
    QTRY_VERIFY_WITH_TIMEOUT(window_->commands()->run_button()->isEnabled(), patience_ms);
    window_->activateWindow();
    QTRY_VERIFY(window_->isActiveWindow());
    QTest::keyClick(window_.get(), Qt::Key_Return, Qt::ControlModifier);
    auto* dialog = window_->findChild<NewRunDialog*>();
    QVERIFY(dialog && dialog->isVisible());
    // Else it would keep the program when the window is closed.
    QCOMPARE(dialog->windowHandle()->transientParent(), window_->windowHandle());
    auto* hidden = dialog->findChild<QLabel*>(QStringLiteral("contender_reasons"));
    QTRY_COMPARE_WITH_TIMEOUT(hidden->text(),
                              QStringLiteral("sparse/sdpa: sdpa supports only full attention"),
                              patience_ms);
    auto* estimate = dialog->findChild<QLabel*>(QStringLiteral("estimate"));
    QVERIFY2(estimate->text().contains(QStringLiteral("full/dense")), qPrintable(estimate->text()));
    // The same key starts from within, and is not the window's to open what is open.
    QTRY_VERIFY(dialog->is_checked() && dialog->isAncestorOf(QApplication::focusWidget()));
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_Return, Qt::ControlModifier);
    QVERIFY(!dialog->isVisible());
    QTRY_COMPARE_WITH_TIMEOUT(window_->runs().rowCount(), 1, patience_ms);
  }

  void APagesKeys_WorkAsSoonAsItIsThere() {
    const auto press_at_start = [this](Qt::Key page_key, Qt::Key key) {
      open_window();
      window_->activateWindow();
      QTRY_VERIFY(window_->isActiveWindow());
      QTest::keyClick(window_.get(), page_key, Qt::ControlModifier);
      QTest::keyClick(window_.get(), key, Qt::ControlModifier);
    };
    press_at_start(Qt::Key_2, Qt::Key_D);
    QVERIFY(window_->patterns()->masks()->is_split());
    press_at_start(Qt::Key_3, Qt::Key_K);
    QVERIFY(window_->findChild<CheckpointDialog*>() != nullptr);
  }

  void AFinishedRun_IsMeasuredAgainFromItsMenu() {
    Store store = open_store(database());
    static_cast<void>(add_done_run(store, "twice", {64}));
    open_window();
    QTRY_COMPARE_WITH_TIMEOUT(window_->runs().rowCount(), 1, patience_ms);
    RunListPanel* list = page()->run_list();
    list->choose(window_->runs().index(0).data(RunListModel::uuid_role).toString());
    const std::unique_ptr<QMenu> menu(list->make_menu());
    const QList<QAction*> actions = menu->actions();
    const auto again = std::find_if(actions.begin(), actions.end(), [](const QAction* action) {
      return action->text() == QStringLiteral("Measure again");
    });
    QVERIFY(again != actions.end());
    (*again)->trigger();
    QTRY_COMPARE_WITH_TIMEOUT(window_->runs().rowCount(), 2, patience_ms);
    for (int row = 0; row < 2; ++row)
      QVERIFY(window_->runs().index(row).data().toString().contains(QStringLiteral("twice")));
  }

  void ARunThatCannotBegin_SaysWhyOnThePage() {
    open_window();
    start_by_clicks(QStringLiteral("refused"), QStringLiteral("64"));
    QTRY_COMPARE_WITH_TIMEOUT(page()->messages()->text(),
                              QStringLiteral("the worker attnscope-worker was not found."),
                              patience_ms);
    QVERIFY(!page()->progress()->isVisible());
  }

  void AMissingProgram_SaysWhyOnThePage() {
    qputenv("ATTNSCOPE_PROGRAM", "/nowhere/attnscope");
    open_window();
    start_by_clicks(QStringLiteral("any"), QStringLiteral("64"));
    QTRY_VERIFY(page()->messages()->text().contains(QStringLiteral("/nowhere/attnscope")));
  }

  void ARefusedDatabase_SaysWhyAndStopsNewRuns() {
    QFile foreign(QString::fromStdString(database().string()));
    QVERIFY(foreign.open(QIODevice::WriteOnly));
    foreign.write(QByteArray(8192, 'x'));
    foreign.close();
    open_window();
    QTRY_VERIFY(page()->messages()->isVisible());
    QVERIFY(page()->messages()->text().contains(QStringLiteral("attnscope.db")));
    QVERIFY(!window_->commands()->run_button()->isEnabled());
    QVERIFY(foreign.remove());
    QTest::mouseClick(page()->messages()->fix_button(), Qt::LeftButton);
    QTRY_VERIFY(window_->commands()->run_button()->isEnabled());
    QVERIFY(!page()->messages()->isVisible());
  }

  void TheQuickSweep_StartsByItselfWhenAsked() {
    open_window(/*start_quick_sweep=*/true);
    QTRY_COMPARE_WITH_TIMEOUT(window_->runs().rowCount(), 1, patience_ms);
  }

  void ACompletedRun_HasFewControlsAroundChartsThatHaveMostOfTheWindow() {
    {
      Store store = open_store(database());
      QVERIFY(!add_done_run(store, "made-up", {64, 128, 256}).uuid.empty());
    }
    open_window();
    RunView* view = page()->run_view();
    QTRY_VERIFY_WITH_TIMEOUT(view->run() && !view->run()->table.rows.empty(), patience_ms);
    QTRY_VERIFY2(view->chart()->height() >= window_->height() / 2,
                 qPrintable(QString::number(view->chart()->height())));
    QTRY_VERIFY(window_->findChild<QLineEdit*>(QStringLiteral("run_tags"))->isVisible());
    QTRY_VERIFY(window_->findChild<QComboBox*>(QStringLiteral("page_baseline"))->isVisible());
    for (const char* tab : {"answer", "table", "cell", "samples"}) {
      view->show_tab(QLatin1String(tab));
      QStringList controls{QStringLiteral("the pages")};
      for (const QWidget* widget : window_->findChildren<QWidget*>()) {
        const bool is_control = qobject_cast<const QAbstractButton*>(widget) ||
                                qobject_cast<const QComboBox*>(widget) ||
                                qobject_cast<const QLineEdit*>(widget) ||
                                qobject_cast<const QTabBar*>(widget);
        // The pages are one bar, and a control's own parts are parts of it.
        const QWidget* parent = widget->parentWidget();
        const bool is_part = qobject_cast<const QTabBar*>(parent) ||
                             qobject_cast<const QLineEdit*>(parent) ||
                             qobject_cast<const QAbstractItemView*>(parent) ||
                             parent->objectName() == QLatin1String("rail");
        if (is_control && !is_part && widget->isVisible()) controls.append(widget->objectName());
      }
      const qsizetype most = view->tabs()->currentIndex() == 0 ? 14 : 15;  // at start the first
      QVERIFY2(controls.size() <= most, qPrintable(QLatin1String(tab) + QLatin1String(": ") +
                                                   controls.join(QLatin1Char(' '))));
    }
  }

  void TextOfTwiceTheSize_IsCutNowhereInASmallWindow() {
    std::vector<Contender> twenty;
    for (int window = 1; window <= 20; ++window)
      twenty.push_back(contender("sparse", "segment", Window::of(window)));
    {
      Store store = open_store(database());
      const RunId run = begin_run_with(store, "live", {}, 84);
      QVERIFY(store.add_heat(run, made_up_heat(0, 64, twenty)).has_value());
      QVERIFY(store.add_heat(run, made_up_heat(1, 4096, twenty)).has_value());
    }
    struct LargeText {
      LargeText() { use(200); }
      ~LargeText() { use(100); }
      static void use(int percent) {
        keep_text_size(percent);
        apply_text_size();
      }
    } const large;
    open_window();
    window_->resize(1000, 650);
    RunView* view = page()->run_view();
    QTRY_VERIFY_WITH_TIMEOUT(view->run() && !view->run()->table.rows.empty(), patience_ms);
    QTRY_VERIFY(page()->progress()->isVisible());
    for (const auto at : {MainWindow::compare_page, MainWindow::patterns_page,
                          MainWindow::attention_page, MainWindow::training_page}) {
      window_->show_page(at);
      QTRY_COMPARE(window_->size(), QSize(1000, 650));
      const auto cut = [this] {
        QStringList labels;
        for (const QLabel* label : window_->findChildren<QLabel*>()) {
          // What an ellipsis ends is whole in its tool tip.
          if (dynamic_cast<const LineLabel*>(label) && label->toolTip().contains(label->text()))
            continue;
          const bool is_low = label->wordWrap()
                                  ? label->height() < label->heightForWidth(label->width())
                                  : label->width() < label->sizeHint().width();
          if (label->isVisible() && !label->text().isEmpty() && is_low)
            labels.append(QStringLiteral("%1, %2 of %3: %4")
                              .arg(label->objectName())
                              .arg(label->height())
                              .arg(label->heightForWidth(label->width()))
                              .arg(label->text()));
        }
        return labels;
      };
      QTRY_VERIFY2(cut().isEmpty(), qPrintable(cut().join(QLatin1Char('\n'))));
    }
    window_->show_page(MainWindow::patterns_page);
    window_->patterns()->masks()->compare_with(QStringLiteral("Longformer"));
    const auto* panel = window_->findChild<QWidget*>(QStringLiteral("pattern_panel"));
    QTRY_COMPARE(panel->width(), panel->parentWidget()->width());  // nothing scrolls sideways
    QCOMPARE(window_->size(), QSize(1000, 650));
  }

  void NothingScrollsInAPageThatScrolls() {
    std::vector<Contender> six;
    for (int window = 1; window <= 6; ++window)
      six.push_back(contender("sparse", "segment", Window::of(window)));
    {
      Store store = open_store(database());
      const RunId run = begin_run_with(store, "live", {}, 84);
      QVERIFY(store.add_heat(run, made_up_heat(0, 64, six)).has_value());
    }
    open_window();
    window_->resize(1000, 650);
    RunView* view = page()->run_view();
    QTRY_VERIFY_WITH_TIMEOUT(view->run() && !view->run()->table.rows.empty(), patience_ms);
    QTRY_VERIFY(page()->progress()->isVisible());
    auto* around =
        qobject_cast<SideArea*>(page()->progress()->parentWidget()->parentWidget()->parentWidget());
    QVERIFY(around != nullptr);
    QTabBar* tabs = view->tabs()->tabBar();
    for (int tab = 0; tab < tabs->count(); ++tab) {
      if (view->tabs()->widget(tab) == view->chart()) continue;
      QTest::mouseClick(tabs, Qt::LeftButton, {}, tabs->tabRect(tab).center());
      QCOMPARE(tabs->currentIndex(), tab);
      QTRY_VERIFY2(!around->verticalScrollBar()->isVisible(), qPrintable(tabs->tabText(tab)));
    }
  }

  void Keys_SwitchPages() {
    open_window();
    QTest::keyClick(window_.get(), Qt::Key_2, Qt::ControlModifier);
    QTRY_VERIFY(window_->patterns()->isVisible());
    QVERIFY(!page()->isVisible());
    QTest::keyClick(window_.get(), Qt::Key_1, Qt::ControlModifier);
    QTRY_VERIFY(page()->isVisible());
  }

  void TheSearchField_NarrowsTheList() {
    {
      Store store = open_store(database());
      (void)add_done_run(store, "alpha", {64});
      (void)add_done_run(store, "beta", {64});
    }
    open_window();
    QListView* list = page()->run_list()->list();
    QTRY_COMPARE(list->model()->rowCount(), 2);
    QTest::keyClicks(page()->run_list()->search(), QStringLiteral("ALPHA"));
    QCOMPARE(list->model()->rowCount(), 1);
    QVERIFY(list->model()->index(0, 0).data().toString().contains(QStringLiteral("alpha")));
  }

  void PageAndBaseline_AreRememberedForTheNextWindow() {
    open_window();
    window_->show_page(MainWindow::patterns_page);
    page()->run_view()->set_preferred_baseline(QStringLiteral("full/sdpa"));
    window_->close();
    window_.reset();
    open_window();
    QVERIFY(window_->patterns()->isVisible());
    QCOMPARE(page()->run_view()->preferred_baseline(), QStringLiteral("full/sdpa"));
  }

  void TheDarkTheme_MakesTheChartsDarkToo() {
    open_window();
    window_->set_theme(Theme::dark);
    QTRY_COMPARE(charts::theme_of(page()->run_view()->chart()->palette()),
                 charts::ChartTheme::dark);
    window_->set_theme(Theme::light);
    QTRY_COMPARE(charts::theme_of(page()->run_view()->chart()->palette()),
                 charts::ChartTheme::light);
  }

  void ARealRun_IsMeasuredByTheWorkerAndShown() {
#if HAS_REAL_WORKER
    qputenv("ATTNSCOPE_PROGRAM", REAL_ATTNSCOPE);
    open_window();
    start_by_clicks(QStringLiteral("real"), QStringLiteral("64, 128"));
    QTRY_COMPARE_WITH_TIMEOUT(window_->runs().rowCount(), 1, measuring_patience_ms);
    QTRY_COMPARE_WITH_TIMEOUT(status_of(window_->runs()), RunStatus::done, measuring_patience_ms);
    RunView* view = page()->run_view();
    QTRY_VERIFY_WITH_TIMEOUT(view->run() && view->run()->table.run.heats_done == 2, patience_ms);
    for (const report::Row& row : view->run()->table.rows) {
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
