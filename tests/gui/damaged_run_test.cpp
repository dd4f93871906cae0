// SPDX-License-Identifier: Apache-2.0
//
// The window shows a flipped bit in the database as damage, never as a value.

#include <QClipboard>
#include <QComboBox>
#include <QFile>
#include <QLabel>
#include <QTableView>
#include <bit>
#include <cmath>

#include "app/gui/charts/run_chart.h"
#include "app/gui/views/run_table.h"
#include "tests/gui/window_suite.h"

namespace attnscope::gui {

class DamagedRunTest : public WindowSuite {
  Q_OBJECT

  /// Replaces every occurrence of `before` in the file; how many there were.
  qsizetype replace(const QByteArray& before, const QByteArray& after) const {
    QFile file(path("attnscope.db"));
    if (!file.open(QIODevice::ReadWrite)) return 0;
    QByteArray bytes = file.readAll();
    const qsizetype count = bytes.count(before);
    bytes.replace(before, after);
    file.seek(0);
    return file.write(bytes) == bytes.size() ? count : 0;
  }
  [[nodiscard]] QString labels() const {
    QStringList texts;
    for (const QLabel* label : view()->findChildren<QLabel*>()) texts.append(label->text());
    return texts.join(u'\n');
  }
  [[nodiscard]] QModelIndex pivot(int row, int column) const {
    return view()->run_table()->view()->model()->index(row, column);
  }

 private Q_SLOTS:
  void init() { reset(); }
  void cleanup() { window_.reset(); }

  void HidesTheValueOfADamagedCell() {
    constexpr int row = 4;  // full/sdpa at 128 tokens
    double time_ns = 0;
    {
      Store store = open_store(database());
      const RunId run = add_done_run(store, "made-up", {64, 128});
      const auto cells = store.cells(run, true);
      QVERIFY(cells.has_value());
      const StoredCell& damaged = cells->at(row);
      QCOMPARE(damaged.cell.contender.id(), std::string("full/sdpa"));
      time_ns = damaged.cell.samples.at(3).time_ns;
    }
    // SQLite stores a real as its bits, the highest byte first, unless it is a whole number.
    QVERIFY(time_ns != std::floor(time_ns));
    const auto bits = std::bit_cast<std::uint64_t>(time_ns);
    QByteArray stored;
    for (int byte = 7; byte >= 0; --byte) stored.append(static_cast<char>(bits >> (8 * byte)));
    QByteArray flipped = stored;
    flipped[2] = static_cast<char>(flipped[2] ^ 0x08);
    QVERIFY(replace(stored, flipped) > 0);

    open_window();
    QTRY_VERIFY(shows_rows());
    QCOMPARE(pivot(1, 2).data().toString(), u"damaged"_s);
    QVERIFY(pivot(1, 2).data(Qt::ToolTipRole).toString().contains(u"attnscope export"_s));
    QVERIFY(!pivot(0, 2).data().toString().contains(u"damaged"_s));

    for (const std::size_t panel : {0U, 1U}) {
      const charts::RunChart* chart = view()->chart();
      const report::Series& series = chart->figure(panel).series.at(1);
      QCOMPARE(series.points.size(), std::size_t{1});
      QCOMPARE(series.rail.size(), std::size_t{1});
      QCOMPARE(chart->drawing(panel).rail_lanes().front().label, u"damaged"_s);
      QVERIFY(chart->drawing(panel).series().at(1).rail.front().text.contains(
          u"do not match their fingerprint"_s));
    }
    QVERIFY(labels().contains(u"1 damaged cell"_s));

    view()->copy_table(report::TableFormat::text);
    QVERIFY(QApplication::clipboard()->text().contains(u"damaged"_s));
  }

  void MarksARunWithADamagedStart() {
    add_runs({"made-up"});
    QVERIFY(replace("made-up processor", "made-up qrocessor") > 0);
    open_window();
    QTRY_VERIFY(shows_rows());
    QVERIFY(labels().contains(u"damaged, done"_s));
    QTRY_VERIFY(messages()->error().contains(u"export"_s));
  }
};

ATTNSCOPE_GUI_TEST(DamagedRunTest)

}  // namespace attnscope::gui
#include "damaged_run_test.moc"
