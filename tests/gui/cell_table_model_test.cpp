// SPDX-License-Identifier: Apache-2.0
#include "app/gui/models/cell_table_model.h"

#include <QAbstractItemModelTester>
#include <QSignalSpy>
#include <algorithm>

#include "app/gui/models/cell_facts.h"
#include "engine/report/number_text.h"
#include "engine/report/pivot.h"
#include "tests/gui/gui_test.h"
#include "tests/gui/run_fixture.h"

namespace attnscope::gui {

using Column = CellTableModel::Column;

report::Row row_of(const Cell& cell, const HeatPoint& point, std::int64_t number) {
  report::Row row;
  row.cell.cell_number = number;
  row.cell.point = point;
  row.cell.cell = cell;
  row.cell.summary = {
      .median_ns = 2.41e6, .low_ns = 2.35e6, .high_ns = 2.47e6, .samples = 10, .placements = 2};
  return row;
}

RunPointer run_with(const std::vector<std::int64_t>& lengths) {
  auto run = std::make_shared<RunSnapshot>();
  run->request.uuid = QStringLiteral("a");
  std::int64_t number = 1;
  for (const std::int64_t tokens : lengths) {
    const HeatResult heat = made_up_heat(0, tokens, three_contenders());
    for (const Cell& cell : heat.cells)
      run->table.rows.push_back(row_of(cell, heat.point, number++));
  }
  return run;
}

QString text(const CellTableModel& model, int row, Column column) {
  return model.index(row, column).data().toString();
}

class CellTableModelTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:

  void KeepsTheRulesOfItemModels_WhileARunGrows() {
    CellTableModel model;
    QAbstractItemModelTester tester(&model);
    model.set_run(run_with({64}));
    model.set_run(run_with({64, 128}));
    QCOMPARE(model.rowCount(), 6);
    model.set_run(run_with({}));
    QCOMPARE(model.rowCount(), 0);
  }

  void AGrownRun_AddsRowsAndKeepsTheOthers() {
    CellTableModel model;
    model.set_run(run_with({64}));
    const QPersistentModelIndex kept(model.index(2, 0));
    QSignalSpy inserted(&model, &QAbstractItemModel::rowsInserted);
    QSignalSpy reset(&model, &QAbstractItemModel::modelReset);
    model.set_run(run_with({64, 128}));
    QVERIFY(kept.isValid());
    QCOMPARE(inserted.count(), 1);
    QCOMPARE(reset.count(), 0);
  }

  void EveryColumnHasAName() {
    const CellTableModel model;
    for (int column = 0; column < CellTableModel::column_count; ++column) {
      QVERIFY(!model.headerData(column, Qt::Horizontal, Qt::DisplayRole).toString().isEmpty());
    }
  }

  void AnOkCell_ShowsMedianIntervalAndError() {
    CellTableModel model;
    model.set_run(run_with({64}));
    QCOMPARE(text(model, 2, Column::contender), QStringLiteral("sparse/segment/4"));
    QCOMPARE(text(model, 2, Column::window), QStringLiteral("4"));
    QCOMPARE(text(model, 2, Column::tokens), QStringLiteral("64"));
    QCOMPARE(text(model, 2, Column::median), QStringLiteral("2.41 ms ±2.5 %"));
    QCOMPARE(text(model, 2, Column::error), QStringLiteral("3.0e-07"));
    QCOMPARE(text(model, 2, Column::status), QStringLiteral("ok"));
  }

  void ACellWithoutAValue_ShowsItsReasonInsteadOfNumbers() {
    CellTableModel model;
    model.set_run(run_with({8192}));
    QCOMPARE(text(model, 0, Column::median), QStringLiteral("oom"));
    QCOMPARE(text(model, 0, Column::per_document), QStringLiteral("–"));
    QCOMPARE(text(model, 0, Column::memory), QStringLiteral("–"));
    QVERIFY(text(model, 0, Column::status).startsWith(QStringLiteral("oom: needs 6.4 GB")));
  }

  void AThrottledCell_SaysSoBesideItsTime() {
    auto run = std::make_shared<RunSnapshot>(*run_with({64}));
    run->table.rows[2].cell.cell.samples.front().throttled = true;
    CellTableModel model;
    model.set_run(run);
    QCOMPARE(text(model, 1, Column::status), QStringLiteral("ok"));
    QVERIFY(text(model, 2, Column::status).startsWith(QStringLiteral("ok: 1 of 10 samples")));
    QVERIFY(text(model, 2, Column::median).contains(QStringLiteral("2.41 ms")));
  }

  void ADamagedCell_IsShownAsDamaged() {
    const RunPointer good = run_with({64});
    auto damaged = std::make_shared<RunSnapshot>(*good);
    damaged->table.rows[1].cell.damaged = true;
    CellTableModel model;
    model.set_run(damaged);
    for (const Column column : {Column::status, Column::median}) {
      QCOMPARE(text(model, 1, column), QStringLiteral("damaged"));
    }
    for (const Column column : {Column::per_document, Column::memory, Column::batch, Column::error,
                                Column::executed, Column::share_of_limit}) {
      QCOMPARE(text(model, 1, column), QStringLiteral("–"));
    }
    QCOMPARE(model.index(1, Column::batch).data(sort_role).toLongLong(), -1);
  }

  void ARatio_IsShownInPercentWithItsVerdict() {
    auto run = std::make_shared<RunSnapshot>(*run_with({64}));
    run->table.rows[2].ratio = statistics::Ratio{.ratio = 0.57,
                                                 .low = 0.55,
                                                 .high = 0.6,
                                                 .paired = true,
                                                 .verdict = statistics::Verdict::faster};
    CellTableModel model;
    model.set_run(run);
    QVERIFY(text(model, 2, Column::against_baseline).contains(QStringLiteral("43")));
    QVERIFY(text(model, 1, Column::against_baseline).isEmpty());
  }

  void WhatARatioSays_IsInTheWordsOfTheTables() {
    using enum statistics::Verdict;
    auto run = std::make_shared<RunSnapshot>(*run_with({64}));
    report::Table& table = run->table;
    table.baseline = table.rows[1].cell.cell.contender.id();
    report::Row& row = table.rows[2];
    for (const statistics::Ratio& ratio :
         {statistics::Ratio{.ratio = 0.57, .low = 0.55, .high = 0.6, .verdict = faster},
          statistics::Ratio{.ratio = 0.98, .low = 0.9, .high = 1.1},
          statistics::Ratio{.ratio = 64, .low = 0.1, .high = 900},
          statistics::Ratio{.ratio = 64, .low = 2, .high = 900, .verdict = slower}}) {
      row.ratio = ratio;
      const QString said = QString::fromStdString(report::difference_in_words(ratio));
      CellTableModel model;
      model.set_run(run);
      QCOMPARE(text(model, 2, Column::against_baseline), said);
      const QString ends = QString::fromStdString(report::interval_in_words(ratio));
      QVERIFY(
          model.index(2, Column::against_baseline).data(Qt::ToolTipRole).toString().contains(ends));
      const auto facts = cell_facts(table, row);
      const auto section = std::ranges::find(facts.sections, QStringLiteral("Against the baseline"),
                                             &CellFacts::Section::name);
      QVERIFY(section != facts.sections.end());
      QCOMPARE(section->facts[0].value, said);
      QCOMPARE(section->facts[1].value, ends);
      const auto pivot = report::make_pivot(table, {.cells = {report::Quantity::ratio}});
      QVERIFY(pivot.has_value());
      QVERIFY(QString::fromStdString(pivot->blocks[0].lines[2].cells[0].text).startsWith(said));
    }
  }

  void ACellThatDrifted_IsMarkedAndItsTipSaysHow() {
    auto run = std::make_shared<RunSnapshot>(*run_with({64}));
    run->table.rows[2].drift = {.change = 0.031, .is_flagged = true};
    run->table.rows[2].ratio_drifted = false;
    CellTableModel model;
    model.set_run(run);
    QVERIFY(text(model, 2, Column::median).endsWith(QStringLiteral(" ~")));
    QVERIFY(!text(model, 0, Column::median).contains(QLatin1Char('~')));
    const QString tip = model.index(2, Column::median).data(Qt::ToolTipRole).toString();
    QVERIFY2(tip.contains(QStringLiteral("drifted by +3.1 % over its heat")), qPrintable(tip));
  }

  void ExecutedWork_IsANumberAndASentence() {
    CellTableModel model;
    model.set_run(run_with({64}));
    QCOMPARE(text(model, 0, Column::executed), QStringLiteral("1.00x"));
    QCOMPARE(text(model, 2, Column::executed), QStringLiteral("1.95x"));
    const QString tip = model.index(2, Column::executed).data(Qt::ToolTipRole).toString();
    QVERIFY2(tip.startsWith(QStringLiteral("executes 1.95x the useful products: ")),
             qPrintable(tip));
    QVERIFY(tip.contains(QStringLiteral("GFLOP where 0.00197 are useful")));
  }

  void NumbersSortAsNumbers() {
    CellTableModel model;
    model.set_run(run_with({64, 128, 1024}));
    const auto key = [&](int row) { return model.index(row, Column::tokens).data(sort_role); };
    QVERIFY(key(0).toLongLong() < key(3).toLongLong());
    QVERIFY(key(3).toLongLong() < key(6).toLongLong());
  }
};

ATTNSCOPE_GUI_TEST(CellTableModelTest)

}  // namespace attnscope::gui
#include "cell_table_model_test.moc"
