// SPDX-License-Identifier: Apache-2.0
#include "app/gui/views/cell_panel.h"

#include <QClipboard>
#include <QLabel>
#include <QPushButton>
#include <algorithm>

#include "app/drawing/chart_style.h"
#include "app/gui/charts/run_chart.h"
#include "app/gui/session/snapshot.h"
#include "engine/report/number_text.h"
#include "tests/gui/gui_test.h"
#include "tests/gui/run_fixture.h"

namespace attnscope::gui {

using report::Quantity;

class CellPanelTest : public StoreSuite {
  Q_OBJECT

  RunPointer run_;
  std::unique_ptr<CellPanel> panel_;

  /// full/dense, full/sdpa and sparse/segment/4 at one length.
  static report::Table table_at(std::int64_t tokens) {
    report::Table table;
    const HeatResult heat = made_up_heat(0, tokens, three_contenders());
    for (const Cell& cell : heat.cells) {
      report::Row row;
      row.cell.cell_number = static_cast<std::int64_t>(table.rows.size()) + 1;
      row.cell.point = heat.point;
      row.cell.cell = cell;
      if (cell.status == CellStatus::ok) {
        row.cell.summary = {.median_ns = 2.41e6,
                            .low_ns = 2.35e6,
                            .high_ns = 2.47e6,
                            .samples = 10,
                            .placements = 2};
      }
      table.rows.push_back(row);
    }
    return table;
  }
  static QString pivot_text(const report::Table& table, Quantity quantity, std::size_t line) {
    const auto pivot = report::make_pivot(table, {.cells = {quantity}});
    return QString::fromStdString(pivot->blocks[0].lines[line].cells[0].text);
  }

 private Q_SLOTS:

  void initTestCase() {
    open();
    run_ = read(add_done_run(*store_, "made-up", {64, 8192}));
    QVERIFY(run_->problem.isEmpty());
  }
  void init() {
    panel_ = std::make_unique<CellPanel>();
    panel_->resize(300, 900);
    panel_->show();
    QVERIFY(QTest::qWaitForWindowExposed(panel_.get()));
    panel_->samples()->resize(600, 300);  // as its owner does
    panel_->samples()->show();
  }
  void cleanup() {
    delete panel_->samples();
    panel_.reset();
  }

  void ShowsEverySectionOfAMeasuredCell() {
    QVERIFY(panel_->text().contains(u"Choose a cell in the table"_s));
    QVERIFY(panel_->samples()->page().empty());
    QVERIFY(panel_->command().isEmpty());
    panel_->show_cell(run_, 2);
    const QString text = panel_->text();
    for (const char* part :
         {"sparse/segment/4", "64 tokens", "95 % interval", "10 in 2 placements of 1 process",
          "round by round", "Measurement conditions", "3.0e-07", "2.5e-06", "Requested", "Reserved",
          "Per document", "GFLOP, 1.95x", "Outliers: 0 of 10"})
      QVERIFY2(text.contains(QLatin1String(part)), part);
  }

  void ExplainsACellOutOfMemory() {
    panel_->show_cell(run_, 3);
    const auto* status = panel_->findChild<QLabel*>(u"cell_status"_s);
    QVERIFY(status->isVisible());
    QVERIFY(status->text().startsWith(u"oom: needs 6.4 GB"_s));
    QVERIFY(panel_->samples()->page().empty());
    QVERIFY(!panel_->text().contains(u"95 % interval"_s));
    QVERIFY(!panel_->command().isEmpty());
  }

  void CopiesTheCommand() {
    panel_->show_cell(run_, 2);
    QTest::mouseClick(panel_->findChild<QPushButton*>(u"copy_command"_s), Qt::LeftButton);
    const QString command = QApplication::clipboard()->text();
    QVERIFY2(command.startsWith(u"attnscope run --again "_s), qPrintable(command));
    QVERIFY(command.contains(u"contender=sparse/segment/4,contender=full/dense"_s));
    QVERIFY(command.contains(u"sequence_tokens=64"_s));
    QVERIFY(command.contains(u"--db "_s));
  }

  void PlotsSamplesByPlacement() {
    panel_->show_cell(run_, 2);
    const charts::ChartDrawing& drawing = panel_->samples()->drawing();
    QCOMPARE(drawing.series().size(), std::size_t{1});
    const charts::DrawnSeries& samples = drawing.series().front();
    QCOMPARE(samples.points.size(), std::size_t{10});
    QVERIFY(samples.lines.empty());
    for (const charts::DrawnPoint& point : samples.points)
      QVERIFY(drawing.plot().contains(point.position));
    // Slower is higher.
    QVERIFY(samples.points[0].position.y() > samples.points[4].position.y());
    QCOMPARE(drawing.marks().size(), std::size_t{2});
    QCOMPARE(drawing.ceilings().size(), std::size_t{3});
    QVERIFY(drawing.ceilings().front().text.startsWith(u"median "_s));
  }

  void ReadsSamplesByMouseAndKeyboard() {
    panel_->show_cell(run_, 2);
    charts::RunChart* chart = panel_->samples();
    const auto& points = chart->drawing().series().front().points;
    const QString first = chart->value_at(points.front().position);
    QVERIFY2(first.contains(u"placement 1, round 1"_s), qPrintable(first));
    chart->setFocus();
    QTest::keyClick(chart, Qt::Key_Down);
    QTest::keyClick(chart, Qt::Key_Right);
    QCOMPARE(chart->current_value(), first);
    for (int i = 0; i < 20; ++i) QTest::keyClick(chart, Qt::Key_Right);
    QVERIFY(chart->current_value().contains(u"placement 2, round 5"_s));
    QCOMPARE(chart->accessibleDescription(), chart->current_value());
  }

  void ThinsManySamplesAndPlotsEveryOutlierAsASeries() {
    auto many = std::make_shared<RunSnapshot>(*run_);
    report::Row& row = many->table.rows[2];
    const Sample sample = row.cell.cell.samples.front();
    row.cell.cell.samples.assign(100'000, sample);
    row.cell.outliers.assign(100'000, false);
    row.cell.outliers[77'777] = true;
    panel_->show_cell(many, 2);
    QCOMPARE(panel_->samples()->figure().series.size(), std::size_t{2});
    QVERIFY(panel_->samples()->figure().series.front().points.size() < 5000);
    const auto& outliers = panel_->samples()->drawing().series().back();
    QCOMPARE(outliers.points.size(), std::size_t{1});
    QVERIFY(outliers.points.front().text.contains(u"outlier"_s));
  }

  void ExplainsACellWithoutATime() {
    const report::Table table = table_at(8192);
    for (const Quantity quantity :
         {Quantity::time, Quantity::memory, Quantity::ratio, Quantity::limit, Quantity::error}) {
      QCOMPARE(pivot_text(table, quantity, 0), u"oom"_s);
      QVERIFY(cell_tip(table.rows[0], quantity).startsWith(u"needs 6.4 GB"_s));
    }
  }

  void ShowsNoValueOfADamagedCell() {
    report::Table table = table_at(64);
    table.rows[1].cell.damaged = true;
    for (const Quantity quantity : {Quantity::time, Quantity::memory, Quantity::ratio,
                                    Quantity::limit, Quantity::error, Quantity::executed}) {
      QCOMPARE(pivot_text(table, quantity, 1), u"damaged"_s);
      QVERIFY(cell_tip(table.rows[1], quantity).contains(u"attnscope export"_s));
    }
    QVERIFY(cell_facts(table, table.rows[1]).sections.empty());
    auto damaged = std::make_shared<RunSnapshot>(*run_);
    damaged->table.rows[2].cell.damaged = true;
    panel_->show_cell(damaged, 2);
    QVERIFY(panel_->text().contains(u"damaged: its stored values"_s));
    QVERIFY(!panel_->text().contains(u"GFLOP"_s));
  }

  void ExplainsARatio() {
    using enum statistics::Verdict;
    report::Table table = table_at(64);
    table.baseline = table.rows[1].cell.cell.contender.id();
    report::Row& row = table.rows[2];
    for (const statistics::Ratio& ratio :
         {statistics::Ratio{.ratio = 0.57, .low = 0.55, .high = 0.6, .verdict = faster},
          statistics::Ratio{.ratio = 0.98, .low = 0.9, .high = 1.1},
          statistics::Ratio{.ratio = 64, .low = 0.1, .high = 900},
          statistics::Ratio{.ratio = 64, .low = 2, .high = 900, .verdict = slower}}) {
      row.ratio = ratio;
      const QString message = QString::fromStdString(report::difference_in_words(ratio));
      const QString ends = QString::fromStdString(report::interval_in_words(ratio));
      for (const Quantity quantity : {Quantity::time, Quantity::ratio})
        QVERIFY(cell_tip(row, quantity).contains(ends));
      const auto facts = cell_facts(table, row);
      const auto section =
          std::ranges::find(facts.sections, u"Against the baseline"_s, &CellFacts::Section::name);
      QVERIFY(section != facts.sections.end());
      QCOMPARE(section->facts[0].value, charts::with_minus(message));
      QCOMPARE(section->facts[1].value, charts::with_minus(ends));
      QVERIFY(pivot_text(table, Quantity::ratio, 2).startsWith(message));
    }
  }

  void ExplainsIntervalDisturbancesAndDrift() {
    report::Table table = table_at(64);
    QVERIFY(cell_tip(table.rows[2], Quantity::time)
                .startsWith(u"95 % interval: 2.35 ms to 2.47 ms; 10 samples in 2"_s));
    table.rows[2].cell.cell.samples.front().throttled = true;
    QVERIFY(cell_tip(table.rows[2], Quantity::time).contains(u"; 1 of 10 samples"_s));
    table.rows[2].drift = {.change = 0.031, .is_flagged = true};
    table.rows[2].ratio_drifted = false;
    QVERIFY(pivot_text(table, Quantity::time, 2).endsWith(u" ~"_s));
    QVERIFY(!pivot_text(table, Quantity::time, 0).contains(u'~'));
    const QString tip = cell_tip(table.rows[2], Quantity::time);
    QVERIFY2(tip.contains(u"drifted by +3.1 % during its heat"_s), qPrintable(tip));
  }

  void ExplainsExecutedWorkErrorAndShareOfTheLimit() {
    report::Table table = table_at(64);
    report::Row& row = table.rows[2];
    const QString executed = cell_tip(row, Quantity::executed);
    QVERIFY2(executed.startsWith(u"executes 1.95x the useful products: "_s), qPrintable(executed));
    QVERIFY(executed.contains(u"for 0.00197 useful GFLOP"_s));
    QVERIFY(cell_tip(row, Quantity::error).contains(u"float64 reference"_s));
    row.limit_ms = 1.2;
    QCOMPARE(cell_tip(row, Quantity::limit), u"The machine's ceilings allow 1.20 ms per call"_s);
  }
};

ATTNSCOPE_GUI_TEST(CellPanelTest)

}  // namespace attnscope::gui
#include "cell_panel_test.moc"
