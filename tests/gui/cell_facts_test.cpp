// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "app/drawing/chart_style.h"
#include "app/gui/views/cell_panel.h"
#include "engine/report/number_text.h"
#include "tests/gui/gui_test.h"
#include "tests/gui/run_fixture.h"

namespace attnscope::gui {

using report::Quantity;

class CellFactsTest : public QObject {
  Q_OBJECT

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

  void ShowsIntervalAndDisturbances() {
    report::Table table = table_at(64);
    QVERIFY(cell_tip(table.rows[2], Quantity::time)
                .startsWith(u"95 % interval: 2.35 ms to 2.47 ms; 10 samples in 2"_s));
    table.rows[2].cell.cell.samples.front().throttled = true;
    QVERIFY(cell_tip(table.rows[2], Quantity::time).contains(u"; 1 of 10 samples"_s));
  }

  void ExplainsACellWithoutATime() {
    const report::Table table = table_at(8192);
    for (const Quantity quantity :
         {Quantity::time, Quantity::memory, Quantity::ratio, Quantity::limit, Quantity::error}) {
      QCOMPARE(pivot_text(table, quantity, 0), u"oom"_s);
      QVERIFY(cell_tip(table.rows[0], quantity).startsWith(u"needs 6.4 GB"_s));
    }
  }

  void ExplainsADamagedCell() {
    report::Table table = table_at(64);
    table.rows[1].cell.damaged = true;
    for (const Quantity quantity : {Quantity::time, Quantity::memory, Quantity::ratio,
                                    Quantity::limit, Quantity::error, Quantity::executed}) {
      QCOMPARE(pivot_text(table, quantity, 1), u"damaged"_s);
      QVERIFY(cell_tip(table.rows[1], quantity).contains(u"attnscope export"_s));
    }
    QVERIFY(cell_facts(table, table.rows[1]).sections.empty());
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
      const QString stated = QString::fromStdString(report::difference_in_words(ratio));
      const QString ends = QString::fromStdString(report::interval_in_words(ratio));
      for (const Quantity quantity : {Quantity::time, Quantity::ratio})
        QVERIFY(cell_tip(row, quantity).contains(ends));
      const auto facts = cell_facts(table, row);
      const auto section =
          std::ranges::find(facts.sections, u"Against the baseline"_s, &CellFacts::Section::name);
      QVERIFY(section != facts.sections.end());
      QCOMPARE(section->facts[0].value, charts::with_minus(stated));
      QCOMPARE(section->facts[1].value, charts::with_minus(ends));
      QVERIFY(pivot_text(table, Quantity::ratio, 2).startsWith(stated));
    }
  }

  void ExplainsDrift() {
    report::Table table = table_at(64);
    table.rows[2].drift = {.change = 0.031, .is_flagged = true};
    table.rows[2].ratio_drifted = false;
    QVERIFY(pivot_text(table, Quantity::time, 2).endsWith(u" ~"_s));
    QVERIFY(!pivot_text(table, Quantity::time, 0).contains(u'~'));
    const QString tip = cell_tip(table.rows[2], Quantity::time);
    QVERIFY2(tip.contains(u"drifted by +3.1 % over its heat"_s), qPrintable(tip));
  }

  void ExplainsExecutedWorkErrorAndShareOfTheLimit() {
    report::Table table = table_at(64);
    report::Row& row = table.rows[2];
    const QString executed = cell_tip(row, Quantity::executed);
    QVERIFY2(executed.startsWith(u"executes 1.95x the useful products: "_s), qPrintable(executed));
    QVERIFY(executed.contains(u"GFLOP where 0.00197 are useful"_s));
    QVERIFY(cell_tip(row, Quantity::error).contains(u"float64 reference"_s));
    row.limit_ms = 1.2;
    QCOMPARE(cell_tip(row, Quantity::limit), u"The machine's ceilings allow 1.20 ms per call"_s);
  }
};

ATTNSCOPE_GUI_TEST(CellFactsTest)

}  // namespace attnscope::gui
#include "cell_facts_test.moc"
