// SPDX-License-Identifier: Apache-2.0
#include "app/gui/views/run_view.h"

#include <QClipboard>
#include <QComboBox>
#include <QLabel>
#include <QLayout>
#include <QPushButton>
#include <QSignalSpy>
#include <QTabBar>
#include <QTabWidget>
#include <QTableView>
#include <QToolButton>

#include "app/gui/charts/run_chart.h"
#include "app/gui/session/snapshot.h"
#include "app/gui/session/text.h"
#include "app/gui/views/cell_panel.h"
#include "app/gui/views/fields.h"
#include "app/gui/views/figure_dialog.h"
#include "app/gui/views/page.h"
#include "app/gui/views/run_table.h"
#include "tests/gui/gui_test.h"
#include "tests/gui/run_fixture.h"

namespace attnscope::gui {

/// By keyboard, so that `activated` is emitted.
void choose(QComboBox* box, int index) {
  QVERIFY(box != nullptr);
  box->setFocus();
  QTest::keyClick(box, Qt::Key_Home);
  for (int i = 0; i < index; ++i) QTest::keyClick(box, Qt::Key_Down);
  QCOMPARE(box->currentIndex(), index);
}

class RunViewTest : public StoreSuite {
  Q_OBJECT

  QString uuid_, mixed_;
  std::unique_ptr<RunView> view_;
  std::vector<RunRequest> requested_;

  [[nodiscard]] static std::vector<std::size_t> points_of(const report::Figure& figure) {
    std::vector<std::size_t> counts;
    for (const report::Series& series : figure.series) counts.push_back(series.points.size());
    return counts;
  }
  [[nodiscard]] QComboBox* box(const char* name) const {
    return view_->findChild<QComboBox*>(QLatin1String(name));
  }
  [[nodiscard]] QLabel* label(const char* name) const {
    return view_->findChild<QLabel*>(QLatin1String(name));
  }
  void click_tab(int index) const {
    QTabBar* tabs = view_->tabs()->tabBar();
    QTest::mouseClick(tabs, Qt::LeftButton, {}, tabs->tabRect(index).center());
  }
  [[nodiscard]] QTableView* pivot() const { return view_->run_table()->view(); }
  [[nodiscard]] QString pivot_text(int row, int column) const {
    return pivot()->model()->index(row, column).data().toString();
  }

  /// float32 at 64 and 128 tokens with 12 heads; float16 at 64 tokens with 12 and with 4.
  [[nodiscard]] QString add_mixed_run() {
    const RunId run = begin_run_with(*store_, "mixed", {64, 128}, 4);
    for (const std::int64_t heads : {12, 4}) {
      HeatResult half = made_up_heat(heads == 12 ? 2 : 3, 64, three_contenders());
      half.point.dtype = DType::float16;
      half.point.heads = heads;
      if (!store_->add_heat(run, half)) return {};
    }
    return store_->finish_run(run, RunStatus::done) ? QString::fromStdString(run.uuid) : QString();
  }

 private Q_SLOTS:

  void initTestCase() {
    open();
    uuid_ = QString::fromStdString(add_done_run(*store_, "made-up", {64, 128, 8192}).uuid);
    mixed_ = add_mixed_run();
    QVERIFY(!mixed_.isEmpty());
  }
  void init() {
    QSettings().clear();
    requested_.clear();
    view_ = std::make_unique<RunView>();
    view_->resize(1000, 700);
    view_->show();
    QVERIFY(QTest::qWaitForWindowExposed(view_.get()));
    connect(view_.get(), &RunView::run_wanted, view_.get(), [this](const RunRequest& request) {
      requested_.push_back(request);
      view_->show_run(read_run(*store_, request, view_->run()));
    });
    view_->choose_run(uuid_);
  }
  void cleanup() { view_.reset(); }

  void ShowsSeriesAndFailures() {
    for (const report::Figure& figure : view_->chart()->facets().panels) {
      QCOMPARE(points_of(figure), (std::vector<std::size_t>{2, 3, 3}));
      QCOMPARE(figure.series.front().rail.size(), std::size_t{1});
      QCOMPARE(figure.series.front().rail.front().status, CellStatus::oom);
    }
    QCOMPARE(view_->chart()->facets().panels.size(), std::size_t{2});
  }

  void CountsDisturbedCells() {
    auto* button = view_->findChild<QPushButton*>(u"measure_disturbed_again"_s);
    QVERIFY(!button->isVisible());
    const RunId run = begin_run_with(*store_, "busy", {}, 1);
    HeatResult heat = made_up_heat(0, 64, three_contenders());
    for (Cell& cell : heat.cells) {
      for (Sample& sample : cell.samples) sample.waited_ns = sample.time_ns / 2;
    }
    QVERIFY(store_->add_heat(run, heat));
    const QString uuid = QString::fromStdString(run.uuid);
    view_->choose_run(uuid);
    QVERIFY2(button->isHidden(), "while it is measured");
    QVERIFY(store_->finish_run(run, RunStatus::done));
    view_->choose_run(uuid);
    QCOMPARE(label("disturbed_cells")->text(), u"3 of 3 cells were disturbed (! in the table)."_s);
    QVERIFY(view_->findChild<QToolButton*>(u"disturbed_hint"_s)
                ->toolTip()
                .contains(u"close the other programs"_s));
    QVERIFY(label("table_marks")->isVisible());
    QVERIFY(label("table_marks")->text().contains(u"! disturbed: "_s));
    QVERIFY2(pivot_text(0, 1).contains(u'!'), qPrintable(pivot_text(0, 1)));
    const QSignalSpy again(view_.get(), &RunView::again_requested);
    button->click();
    QCOMPARE(again.count(), 1);
    QCOMPARE(again.front().front().toString(), uuid);
    view_->choose_run(uuid, /*is_own=*/false);
    QVERIFY2(button->isHidden(), "a published run or one in the trash is not measured again here");
  }

  void ExplainsOnlyMarksInTheTable() {
    const QLabel* marks = label("table_marks");
    QVERIFY(marks->text().startsWith(u"~ drifted: "_s));
    QVERIFY(!marks->text().contains(u"disturbed"_s));
    choose(box("pivot_cells"), 1);
    QVERIFY2(marks->isHidden(), "memory has no marks");
  }

  void ContinuesACancelledRun() {
    auto* button = view_->findChild<QPushButton*>(u"resume_run"_s);
    QVERIFY(button->isHidden());
    const RunId run = begin_run_with(*store_, "ended", {64}, 3);
    QVERIFY(store_->finish_run(run, RunStatus::cancelled));
    view_->choose_run(QString::fromStdString(run.uuid));
    QVERIFY(button->isVisible());
    const QSignalSpy resumed(view_.get(), &RunView::resume_requested);
    QTest::mouseClick(button, Qt::LeftButton);
    QCOMPARE(resumed.count(), 1);
    QCOMPARE(resumed.front().front().toString(), QString::fromStdString(run.uuid));
  }

  void ChoosesAViewForEachChart() {
    QCOMPARE(box("time_view")->currentText(), u"Time"_s);
    QComboBox* right = box("second_view");
    QCOMPARE(right->currentText(), u"Memory"_s);
    QVERIFY(!view_->chart()->figure(1).line_at);
    choose(right, right->findText(u"Executed / useful work"_s));
    const report::Figure& figure = view_->chart()->figure(1);
    QCOMPARE(figure.line_at, std::optional(1.0));
    QCOMPARE(figure.series.back().points.front().y, 1.95);
    QVERIFY(view_->chart()->accessibleName().contains(u", Executed / useful products; "_s));
    choose(right, right->count() - 1);
    QCOMPARE(view_->chart()->facets().panels.size(), std::size_t{1});
  }

  void SummarizesTheChoices() {
    view_->choose_run(mixed_);
    QCOMPARE(view_->choices()->text(), u"Time and memory along length, heads 12, dtype float32"_s);
    QVERIFY(!box("x_axis")->isVisible());
    QTest::keySequence(view_->chart(), QKeySequence(u"Ctrl+L"_s));
    QVERIFY(box("x_axis")->isVisible());
    QCOMPARE(QApplication::focusWidget(), box("time_view"));
    choose(box("second_view"), box("second_view")->count() - 1);
    choose(box("facets"), 1);
    QCOMPARE(view_->choices()->text(), u"Time along length, panels by heads, dtype float32"_s);
    QTest::keyClick(box("facets"), Qt::Key_Escape);
    QVERIFY(!box("x_axis")->isVisible());
  }

  void OffersEveryView() {
    for (const report::View& view : report::views()) {
      const bool is_offered = !view.of_one_length;
      QCOMPARE(box("time_view")->findText(qstring(view.title)) >= 0, is_offered);
      QCOMPARE(view_->run()->figures.contains(view.y), is_offered);
    }
  }

  void ExportsPanelsByKey() {
    view_->choose_run(mixed_);
    QComboBox* panels = box("facets");
    QVERIFY(!panels->isHidden());
    choose(panels, panels->findData(u"dtype"_s));
    const report::Facets& shown = view_->chart()->facets();
    QCOMPARE(shown.panels.size(), std::size_t{4});
    QCOMPARE(shown.panels[1].title, shown.panels[0].title);
    QVERIFY(shown.panels[1].y_label != shown.panels[0].y_label);
    QVERIFY(shown.panels[2].title != shown.panels[0].title);
    choose(box("time_view"), 1);
    QTest::keyClick(view_->chart(), Qt::Key_E);
    auto* dialog = view_->findChild<FigureDialog*>();
    QVERIFY(dialog && dialog->isVisible());
    QVERIFY(dialog->file().contains(u"memory"_s));
    dialog->reject();
  }

  void ExplainsARatioWithoutBaseline() {
    view_->set_baseline({});
    QComboBox* right = box("second_view");
    choose(right, right->findText(u"Ratio to the baseline"_s));
    QVERIFY(view_->chart()->figure(1).series.empty());
    const QString problem = view_->run()->figures.at(report::YAxis::ratio).problem;
    QVERIFY2(problem.contains(u"choose one in the bar above"_s), qPrintable(problem));
    QCOMPARE(view_->chart()->drawing(1).instead_of_values(), problem);
  }

  void ShowsTheVerdict() {
    const QLabel* verdict = label("verdict");
    QVERIFY(verdict->isVisible());
    // Its patterns have published effectiveness.
    QVERIFY2(verdict->text().startsWith(unbroken(
                 u"Fastest that is equivalent to full attention in nDCG@10 within 0.02 (published, "
                 "not measured here): full/dense at 64 to 128 tokens ("_s)),
             qPrintable(verdict->text()));
    const QStringList lines = verdict->toolTip().split(u'\n');
    QVERIFY2(lines.front().startsWith(u"full/dense fits 128 tokens, not 8192 (oom: "_s),
             qPrintable(lines.front()));
    QCOMPARE(lines.back(),
             u"sparse/segment/4 is slower than full/dense at every measured length "
             "(64 to 128 tokens)."_s);
  }

  void ShowsFiveRowsInASmallWindow() {
    view_->choose_run(mixed_);
    const QSize least = view_->minimumSizeHint();
    QVERIFY2(least.width() <= 640 && least.height() <= 500,
             qPrintable(u"%1x%2"_s.arg(least.width()).arg(least.height())));
    view_->choose_run(uuid_);
    view_->resize(640, 590);
    click_tab(0);
    QTableView* table = pivot();
    QTRY_VERIFY(table->isVisible());
    QTRY_VERIFY(table->viewport()->height() >=
                std::min(5, table->model()->rowCount()) * table->rowHeight(0));
    const QLabel* detail = label("run_detail");
    QCOMPARE(detail->height(), detail->sizeHint().height());
    QVERIFY(detail->toolTip().startsWith(detail->text()));
    QVERIFY(view_->minimumSizeHint().height() <= 590);
  }

  void GivesChartsMostOfTheHeight() {
    view_->resize(1000, 740);
    QTRY_VERIFY(view_->chart()->height() >= view_->height() / 2);
  }

  void SharesOneLegend() {
    const charts::ChartPage& page = view_->chart()->page();
    QCOMPARE(static_cast<qsizetype>(page.legend().size()), view_->run()->contenders.size());
    QTest::mouseClick(view_->chart(), Qt::LeftButton, {},
                      page.legend().front().rect.center().toPoint());
    QVERIFY(!view_->chart()->page().legend().front().visible);
    for (const std::size_t panel : {0U, 1U})
      QVERIFY(!view_->chart()->drawing(panel).series().front().visible);
  }

  void OpensACellByMouse() {
    charts::RunChart* chart = view_->chart();
    const auto& series = chart->drawing().series().at(1);
    QVERIFY(series.points.size() > 1);
    const charts::DrawnPoint point = series.points.at(1);
    QTest::mouseClick(chart, Qt::LeftButton, {}, point.position.toPoint());
    QVERIFY(view_->cell_panel()->isVisible());
    QVERIFY(pivot()->currentIndex().isValid());
    const auto number = [](const report::Row& row) { return row.cell.cell_number; };
    QCOMPARE(std::ranges::count(view_->run()->table.rows, point.cell, number), 1);
    view_->show_tab(u"table"_s);
    QVERIFY(!view_->cell_panel()->isVisible());
    chart->setFocus();
    QTest::keyClick(chart, Qt::Key_Down);
    QTest::keyClick(chart, Qt::Key_Right);
    QTest::keyClick(chart, Qt::Key_Return);
    QVERIFY(view_->cell_panel()->isVisible());
  }

  void ChangesTheBaseline() {
    QCOMPARE(view_->baseline(), u"full/dense"_s);
    view_->set_baseline(u"full/sdpa"_s);
    QCOMPARE(view_->run()->table.baseline, std::optional<std::string>("full/sdpa"));
    QCOMPARE(view_->preferred_baseline(), u"full/sdpa"_s);
    view_->set_baseline({});
    QVERIFY(!view_->run()->table.baseline.has_value());
  }

  void SlicesLengthsAlongWindows() {
    QVERIFY(box("slice_sequence_tokens") == nullptr);
    choose(box("x_axis"), 1);
    QComboBox* length = box("slice_sequence_tokens");
    QVERIFY(length != nullptr);
    QCOMPARE(length->count(), 3);
    QCOMPARE(length->accessibleName(), u"Length"_s);
  }

  void SlicesDtypesAndHeadsUntilAnotherRunIsChosen() {
    view_->choose_run(mixed_);
    QComboBox* dtype = box("slice_dtype");
    QComboBox* heads = box("slice_heads");
    QVERIFY(dtype != nullptr && heads != nullptr);
    QCOMPARE(dtype->currentText(), u"float32"_s);
    QCOMPARE(points_of(view_->chart()->figure()), (std::vector<std::size_t>{2, 2, 2}));
    choose(dtype, 1);
    QCOMPARE(points_of(view_->chart()->figure()), (std::vector<std::size_t>{1, 1, 1}));
    view_->choose_run(uuid_);
    QVERIFY(requested_.back().slice.values.empty());
    QVERIFY(box("slice_dtype") == nullptr);
  }

  void MarksValuesOutsideTheSlice() {
    view_->choose_run(mixed_);
    QComboBox* heads = box("slice_heads");
    QVERIFY(heads != nullptr);
    QCOMPARE(heads->itemText(0), u"(4)"_s);
    QCOMPARE(heads->itemText(1), u"12"_s);
    const QLabel* moved = label("slice_moved");
    QVERIFY(moved->isHidden());
    choose(heads, 0);
    QCOMPARE(box("slice_dtype")->currentText(), u"float16"_s);
    QVERIFY(!moved->isHidden());
    QCOMPARE(moved->text(),
             u"Dtype float32 was not measured with Heads 4: showing Dtype float16."_s);
  }

  void ListsContendersByLength() {
    QCOMPARE(pivot()->model()->rowCount(), 3);
    QCOMPARE(pivot()->model()->columnCount(), 4);
    QCOMPARE(pivot_text(0, 0), u"full/dense (baseline)"_s);
    QVERIFY2(pivot_text(1, 1).contains(u"(+"_s), qPrintable(pivot_text(1, 1)));
    QCOMPARE(pivot_text(0, 3), u"oom"_s);
  }

  void ChoosesTheTableByKeyboard() {
    choose(box("pivot_cells"), 2);
    QCOMPARE(pivot()->model()->rowCount(), 6);
    QCOMPARE(pivot_text(1, 1), u"mem/doc"_s);
    // Lengths along rows leave the columns to the contenders.
    choose(box("pivot_rows"), 1);
    QCOMPARE(view_->run()->request.pivot.columns, std::string("contender"));
    QCOMPARE(pivot()->model()->headerData(2, Qt::Horizontal).toString(),
             u"full/dense (baseline)"_s);
    QCOMPARE(pivot_text(0, 0), u"64 tokens"_s);
  }

  void CopiesTheShownTableAndSelectedCells() {
    view_->copy_table(report::TableFormat::csv);
    const auto copied = [] { return QApplication::clipboard()->text(); };
    QVERIFY(copied().startsWith(u"setting,contender,quantity,64,128,8192"_s));
    view_->copy_table(report::TableFormat::latex);
    QVERIFY(copied().contains(u"\\toprule"_s));
    pivot()->setFocus();
    pivot()->setCurrentIndex(pivot()->model()->index(1, 0));
    QTest::keyClick(pivot(), Qt::Key_Right, Qt::ShiftModifier);
    QTest::keySequence(pivot(), QKeySequence::Copy);
    const QStringList lines = copied().split(u'\n');
    QCOMPARE(lines[0], u"Contender\t64 tokens"_s);
    QVERIFY2(lines[1].startsWith(u"full/sdpa\t"_s), qPrintable(lines[1]));
  }

  void OpensACellByReturn() {
    pivot()->setFocus();
    pivot()->setCurrentIndex(pivot()->model()->index(2, 1));
    QTest::keyClick(pivot(), Qt::Key_Right);
    const QString text = view_->cell_panel()->text();
    QVERIFY2(text.startsWith(u"sparse/segment/4\n"_s), qPrintable(text));
    QVERIFY(text.contains(u"128 tokens"_s));
    QVERIFY(!view_->cell_panel()->samples()->page().empty());
    QVERIFY(!view_->cell_panel()->isVisible());
    QTest::keyClick(pivot(), Qt::Key_Return);
    QVERIFY(view_->cell_panel()->isVisible());
    view_->choose_cell(0);
    QCOMPARE(pivot()->currentIndex(), pivot()->model()->index(0, 1));
  }

  void KeepsTheChosenCellAndIgnoresRepliesForAnotherRun() {
    view_->choose_cell(5);
    const QString before = view_->cell_panel()->text();
    view_->choose_run(uuid_);
    QCOMPARE(view_->cell_panel()->text(), before);
    view_->choose_run(mixed_);
    QVERIFY(view_->cell_panel()->text().startsWith(u"No cell chosen"_s));
    const RunPointer before_reply = view_->run();
    auto late = std::make_shared<RunSnapshot>(*before_reply);
    late->request.uuid = uuid_;
    view_->show_run(late);
    QCOMPARE(view_->run(), before_reply);
  }

  void RestoresTheTab() {
    QVERIFY(view_->run_table()->isVisible());
    click_tab(1);
    QVERIFY(view_->cell_panel()->isVisible());
    const RunView another;
    QCOMPARE(another.tabs()->currentWidget(), another.cell_panel());
    QTest::keySequence(view_->chart(), QKeySequence(u"Ctrl+T"_s));
    QVERIFY(view_->run_table()->isVisible());
  }

  void KeepsTheTabBarInPlace() {
    view_->resize(1200, 1000);
    QTRY_VERIFY(view_->tabs()->height() > 240);
    view_->choose_cell(0);
    const QString answer = QLatin1String(RunView::answer_tab);
    view_->add_tab(new QWidget, answer, answer, 0);
    view_->show_tab(answer);
    const int before = view_->tabs()->height();
    QVERIFY(before >= view_->height() * 25 / 100);
    for (const QString& tab : {u"samples"_s, u"table"_s, answer}) {
      view_->show_tab(tab);
      QCoreApplication::sendPostedEvents(nullptr, QEvent::LayoutRequest);
      QCOMPARE(view_->tabs()->height(), before);
    }
  }

  void ShowsChartsAsATabInALowWindow() {
    QTabWidget* tabs = view_->tabs();
    QCOMPARE(tabs->indexOf(view_->chart()), -1);
    view_->resize(700, 100);  // its least height is larger
    QTRY_COMPARE(tabs->indexOf(view_->chart()), tabs->count() - 1);
    QVERIFY(view_->run_table()->isVisible() && !view_->chart()->isVisible());
    QVERIFY(view_->height() < 500);
    click_tab(tabs->count() - 1);
    QTRY_VERIFY(view_->chart()->isVisible() && !view_->run_table()->isVisible());
    // A clicked value shows its cell.
    Q_EMIT view_->chart()->cell_chosen(1);
    QTRY_VERIFY(view_->cell_panel()->isVisible());
    // Choosing a view shows the charts.
    Q_EMIT box("time_view")->activated(box("time_view")->currentIndex());
    QTRY_VERIFY(view_->chart()->isVisible() && !view_->cell_panel()->isVisible());
    Q_EMIT view_->chart()->cell_chosen(1);
    QTRY_VERIFY(view_->cell_panel()->isVisible());
    view_->resize(1000, 900);
    QTRY_COMPARE(tabs->indexOf(view_->chart()), -1);
    QTRY_VERIFY(view_->chart()->isVisible() && view_->cell_panel()->isVisible());
    QVERIFY(view_->chart()->height() > 200);
  }

  void NamesEveryControlAndReachesItByTab() {
    view_->choose_run(mixed_);
    view_->choose_cell(0);
    std::set<QWidget*> reached;
    for (const char* tab : {"table", "cell", "samples"}) {
      view_->show_tab(QLatin1String(tab));
      reached.merge(reached_by_tab(view_->choices()));
    }
    view_->show_tab(u"table"_s);
    for (const char* button : {"chart_choices", "table_choices"}) {
      QTest::keyClick(view_->findChild<QPushButton*>(QLatin1String(button)), Qt::Key_Space);
      reached.merge(reached_by_tab(QApplication::focusWidget()));
      QTest::keyClick(QApplication::focusWidget(), Qt::Key_Escape);
    }
    for (const char* name : {"x_axis", "slice_dtype", "slice_heads", "time_view", "second_view",
                             "run_chart", "pivot_rows", "pivot_columns", "pivot_cells",
                             "save_table", "pivot", "samples", "repeat_command", "copy_command"}) {
      auto* widget = view_->findChild<QWidget*>(QLatin1String(name));
      QVERIFY2(reached.contains(widget), name);
      QVERIFY2(is_named(widget), name);
    }
  }

  void PlacesTheButtonOfAMessage() {
    MessageBar bar(nullptr);
    bar.show_offer(QString(300, u'm').replace(u"mmm"_s, u"me "_s), u"Run the quick sweep"_s, {},
                   [] {});
    const auto* label = bar.findChild<QLabel*>();
    const QPushButton* button = bar.fix_button();
    const auto lay_out = [&](int width) {
      bar.resize(width, bar.heightForWidth(width));
      bar.layout()->activate();
    };
    lay_out(6 * button->sizeHint().width());
    QVERIFY(button->x() >= label->geometry().right());
    lay_out(2 * button->sizeHint().width());
    QVERIFY(button->y() >= label->geometry().bottom());
    QVERIFY(label->width() > button->width());
  }
};

ATTNSCOPE_GUI_TEST(RunViewTest)

}  // namespace attnscope::gui
#include "run_view_test.moc"
