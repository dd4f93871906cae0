// SPDX-License-Identifier: Apache-2.0
#include "app/gui/views/run_view.h"

#include <QClipboard>
#include <QComboBox>
#include <QLabel>
#include <QMenu>
#include <QPushButton>
#include <QSignalSpy>
#include <QTableView>

#include "app/gui/charts/run_chart.h"
#include "app/gui/session/read_run.h"
#include "app/gui/views/run_export.h"
#include "tests/gui/gui_test.h"
#include "tests/gui/run_fixture.h"

namespace attnscope::gui {

class RunViewTest : public QObject {
  Q_OBJECT

  QTemporaryDir folder_;
  std::unique_ptr<Store> store_;
  QString uuid_;
  std::unique_ptr<RunView> view_;

  [[nodiscard]] RunPointer snapshot(const RunRequest& request) const {
    return read_run(*store_, request);
  }
  [[nodiscard]] static std::vector<std::size_t> points_of(const charts::RunChart* chart) {
    std::vector<std::size_t> counts;
    for (const report::Series& series : chart->figure().series)
      counts.push_back(series.points.size());
    return counts;
  }

 private Q_SLOTS:

  void initTestCase() {
    const QString file = folder_.filePath(QStringLiteral("a.db"));
    store_ = std::make_unique<Store>(open_store(file.toStdString()));
    uuid_ = QString::fromStdString(add_done_run(*store_, "made-up", {64, 128, 8192}).uuid);
  }
  void init() {
    view_ = std::make_unique<RunView>();
    view_->resize(1000, 700);
    view_->show();
    QVERIFY(QTest::qWaitForWindowExposed(view_.get()));
    connect(view_.get(), &RunView::run_wanted, view_.get(),
            [this](const RunRequest& request) { view_->show_run(snapshot(request)); });
    view_->choose_run(uuid_);
  }
  void cleanup() { view_.reset(); }

  void BothCharts_ShowEverySeriesAndTheRailOfFailures() {
    for (const charts::RunChart* chart : {view_->time_chart(), view_->second_chart()}) {
      QCOMPARE(points_of(chart), (std::vector<std::size_t>{2, 3, 3}));
      QCOMPARE(chart->figure().series.front().rail.size(), std::size_t{1});
      QCOMPARE(chart->figure().series.front().rail.front().status, CellStatus::oom);
    }
    QCOMPARE(view_->table()->model()->rowCount(), 9);
  }

  void ExecutedWork_MayStandBesideTheTime() {
    auto* second = view_->findChild<QComboBox*>(QStringLiteral("second_y"));
    QCOMPARE(second->currentText(), QStringLiteral("Memory"));
    QVERIFY(!view_->second_chart()->figure().line_at);
    second->setCurrentIndex(1);
    const report::Figure& figure = view_->second_chart()->figure();
    QCOMPARE(figure.line_at, std::optional(1.0));
    QCOMPARE(figure.series.back().points.front().y, 1.95);
    QCOMPARE(view_->second_chart()->accessibleName(),
             QStringLiteral("Chart: Executed over useful products"));
  }

  void WhatTheChartsAnswer_StandsUnderThem() {
    const auto* answers = view_->findChild<QLabel*>(QStringLiteral("answers"));
    QVERIFY(answers->isVisible());
    const QStringList lines = answers->text().split(QLatin1Char('\n'));
    QVERIFY2(
        lines.front().startsWith(QStringLiteral("full/dense fits 128 tokens, not 8192 (oom: ")),
        qPrintable(lines.front()));
    QCOMPARE(lines.back(),
             QStringLiteral("sparse/segment/4 is slower than full/dense at every measured length "
                            "(64 to 128 tokens)."));
  }

  void ASeriesHiddenInOneChart_IsHiddenInTheOther() {
    Q_EMIT view_->time_chart()->series_toggled(QStringLiteral("full/sdpa"), false);
    QVERIFY(!view_->second_chart()->is_series_visible(QStringLiteral("full/sdpa")));
  }

  void AnotherBaseline_ChangesTheRatios() {
    auto* baseline = view_->findChild<QComboBox*>(QStringLiteral("baseline"));
    QCOMPARE(baseline->currentText(), QStringLiteral("full/dense"));
    const int row = baseline->findText(QStringLiteral("full/sdpa"));
    baseline->setCurrentIndex(row);
    Q_EMIT baseline->activated(row);
    QCOMPARE(view_->run()->table.baseline, std::optional<std::string>("full/sdpa"));
    QCOMPARE(view_->preferred_baseline(), QStringLiteral("full/sdpa"));
    baseline->setCurrentIndex(0);
    Q_EMIT baseline->activated(0);
    QVERIFY(!view_->run()->table.baseline.has_value());
  }

  void WindowsAlongX_AskForOneLength() {
    auto* axis = view_->findChild<QComboBox*>(QStringLiteral("x_axis"));
    auto* slice = view_->findChild<QComboBox*>(QStringLiteral("slice"));
    QVERIFY(!slice->isVisible());
    axis->setCurrentIndex(1);
    Q_EMIT axis->activated(1);
    QVERIFY(slice->isVisible());
    QCOMPARE(slice->count(), 3);
  }

  void ASortedTable_OrdersByNumber() {
    view_->table()->sortByColumn(CellTableModel::tokens, Qt::DescendingOrder);
    const QAbstractItemModel* rows = view_->table()->model();
    QCOMPARE(rows->index(0, CellTableModel::tokens).data().toString(), QStringLiteral("8192"));
    QCOMPARE(rows->index(8, CellTableModel::tokens).data().toString(), QStringLiteral("64"));
  }

  void ACopiedTable_IsOnTheClipboardInItsFormat() {
    view_->copy_table(report::TableFormat::csv);
    const QString csv = QApplication::clipboard()->text();
    QVERIFY(csv.contains(QStringLiteral("contender")));
    QVERIFY(csv.contains(QStringLiteral("sparse/segment/4")));
    view_->copy_table(report::TableFormat::latex);
    QVERIFY(QApplication::clipboard()->text().contains(QStringLiteral("\\toprule")));
  }

  void TheMenus_OfferEveryFormat() {
    QStringList offered;
    for (const QAction* action :
         view_->findChild<QPushButton*>(QStringLiteral("export"))->menu()->actions())
      offered.append(action->text());
    const QString all = offered.join(QLatin1Char('\n'));
    for (const char* format : {"CSV", "Markdown", "LaTeX", "JSON", "PDF", "SVG", "PNG"})
      QVERIFY2(all.contains(QLatin1String(format)), format);
  }

  void FiguresAndTables_AreWrittenToFiles() {
    for (const char* extension : {"pdf", "svg", "png"}) {
      const QString file = folder_.filePath(QStringLiteral("figure.") + QLatin1String(extension));
      const Status written = write_figure_file(*view_->run(), report::YAxis::memory, file);
      QVERIFY2(written.has_value(), written ? "" : written.error().message.c_str());
      QVERIFY(QFileInfo(file).size() > 1000);
    }
    const QString file = folder_.filePath(QStringLiteral("table.csv"));
    QVERIFY(write_text_file(file, "a,b\n").has_value());
    QVERIFY(!write_text_file(QStringLiteral("/nowhere/table.csv"), "a,b\n").has_value());
  }

  void AnAnswerForAnotherRun_IsLeftAlone() {
    const RunPointer before = view_->run();
    auto other = std::make_shared<RunSnapshot>();
    other->request.uuid = QStringLiteral("another");
    view_->show_run(other);
    QCOMPARE(view_->run(), before);
  }
};

}  // namespace attnscope::gui

ATTNSCOPE_GUI_TEST_MAIN(attnscope::gui::RunViewTest)
#include "run_view_test.moc"
