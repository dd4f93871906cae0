// SPDX-License-Identifier: Apache-2.0
//
// A flipped bit in the database, as the window shows it: as damage, never as a value.

#include <QClipboard>
#include <QComboBox>
#include <QFile>
#include <QLabel>
#include <QSettings>
#include <QTableView>
#include <bit>
#include <cmath>

#include "app/gui/charts/run_chart.h"
#include "app/gui/main_window.h"
#include "app/gui/views/compare_page.h"
#include "app/gui/views/page.h"
#include "app/gui/views/run_table.h"
#include "app/gui/views/run_view.h"
#include "tests/gui/gui_test.h"
#include "tests/gui/run_fixture.h"

namespace attnscope::gui {

class DamagedRunTest : public QObject {
  Q_OBJECT

  std::unique_ptr<QTemporaryDir> folder_;
  std::unique_ptr<MainWindow> window_;

  [[nodiscard]] QString database() const { return folder_->filePath(QStringLiteral("a.db")); }

  /// Every place of `before` in the file becomes `after`; how many there were.
  qsizetype replace(const QByteArray& before, const QByteArray& after) const {
    QFile file(database());
    if (!file.open(QIODevice::ReadWrite)) return 0;
    QByteArray bytes = file.readAll();
    const qsizetype count = bytes.count(before);
    bytes.replace(before, after);
    file.seek(0);
    return file.write(bytes) == bytes.size() ? count : 0;
  }
  void open_window() {
    window_ = std::make_unique<MainWindow>(WindowOptions{.database = database().toStdString()});
    window_->resize(1280, 800);
    window_->show();
    QTRY_VERIFY_WITH_TIMEOUT(view()->run() && !view()->run()->table.rows.empty(), patience_ms);
  }
  [[nodiscard]] RunView* view() const { return window_->compare()->run_view(); }
  [[nodiscard]] QString labels() const {
    QStringList texts;
    for (const QLabel* label : view()->findChildren<QLabel*>()) texts.append(label->text());
    return texts.join(QLatin1Char('\n'));
  }
  [[nodiscard]] QModelIndex pivot(int row, int column) const {
    return view()->run_table()->view()->model()->index(row, column);
  }

 private Q_SLOTS:

  void init() {
    folder_ = std::make_unique<QTemporaryDir>();
    QSettings().clear();
  }
  void cleanup() { window_.reset(); }

  void HidesTheValueOfADamagedCell() {
    constexpr int row = 4;  // full/sdpa at 128 tokens
    double time_ns = 0;
    {
      Store store = open_store(database().toStdString());
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
    QCOMPARE(pivot(1, 2).data().toString(), QStringLiteral("damaged"));
    QVERIFY(
        pivot(1, 2).data(Qt::ToolTipRole).toString().contains(QStringLiteral("attnscope export")));
    QVERIFY(!pivot(0, 2).data().toString().contains(QStringLiteral("damaged")));

    for (const std::size_t panel : {0U, 1U}) {
      const charts::RunChart* chart = view()->chart();
      const report::Series& series = chart->figure(panel).series.at(1);
      QCOMPARE(series.points.size(), std::size_t{1});
      QCOMPARE(series.rail.size(), std::size_t{1});
      QCOMPARE(chart->drawing(panel).rail_lanes().front().label, QStringLiteral("damaged"));
      QVERIFY(chart->drawing(panel).series().at(1).rail.front().text.contains(
          QStringLiteral("do not match their fingerprint")));
    }
    QVERIFY(labels().contains(QStringLiteral("1 damaged cell")));

    view()->copy_table(report::TableFormat::text);
    QVERIFY(QApplication::clipboard()->text().contains(QStringLiteral("damaged")));
  }

  void MarksARunWithADamagedStart() {
    {
      Store store = open_store(database().toStdString());
      (void)add_done_run(store, "made-up", {64});
    }
    QVERIFY(replace("made-up processor", "made-up qrocessor") > 0);
    open_window();
    QVERIFY(labels().contains(QStringLiteral("damaged, done")));
    const MessageBar* messages = window_->compare()->messages();
    QTRY_VERIFY_WITH_TIMEOUT(messages->error().contains(QStringLiteral("export")), patience_ms);
  }
};

ATTNSCOPE_GUI_TEST(DamagedRunTest)

}  // namespace attnscope::gui
#include "damaged_run_test.moc"
