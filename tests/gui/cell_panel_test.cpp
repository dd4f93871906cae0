// SPDX-License-Identifier: Apache-2.0
#include "app/gui/views/cell_panel.h"

#include <QClipboard>
#include <QLabel>
#include <QPushButton>
#include <set>

#include "app/gui/session/read_run.h"
#include "app/gui/views/sample_strip.h"
#include "tests/gui/gui_test.h"
#include "tests/gui/run_fixture.h"

namespace attnscope::gui {

class CellPanelTest : public QObject {
  Q_OBJECT

  QTemporaryDir folder_;
  std::unique_ptr<Store> store_;
  RunPointer run_;
  std::unique_ptr<CellPanel> panel_;

 private Q_SLOTS:

  void initTestCase() {
    const QString file = folder_.filePath(QStringLiteral("a.db"));
    store_ = std::make_unique<Store>(open_store(file.toStdString()));
    RunRequest request;
    request.uuid = QString::fromStdString(add_done_run(*store_, "made-up", {64, 8192}).uuid);
    run_ = read_run(*store_, request);
    QVERIFY(run_->problem.isEmpty());
  }
  void init() {
    panel_ = std::make_unique<CellPanel>();
    panel_->resize(300, 900);
    panel_->show();
    QVERIFY(QTest::qWaitForWindowExposed(panel_.get()));
  }
  void cleanup() { panel_.reset(); }

  void WithoutACell_ItSaysHowToChooseOne() {
    QVERIFY(panel_->text().contains(QStringLiteral("Choose one in the table")));
    QVERIFY(!panel_->samples()->isVisible());
    QVERIFY(panel_->command().isEmpty());
  }

  void AMeasuredCell_HasEverySection() {
    panel_->show_cell(run_, 2);
    const QString text = panel_->text();
    for (const char* part :
         {"sparse/segment/4", "64 tokens", "95 % interval", "10 in 2 placements of 1 process",
          "round by round", "While it was measured", "3.0e-07", "2.5e-06", "Requested", "Reserved",
          "Per document", "GFLOP, 1.95x", "Outliers: 0 of 10"})
      QVERIFY2(text.contains(QLatin1String(part)), part);
  }

  void ACellThatDidNotFit_SaysWhyAndHasNoTimes() {
    panel_->show_cell(run_, 3);
    const auto* status = panel_->findChild<QLabel*>(QStringLiteral("cell_status"));
    QVERIFY(status->isVisible());
    QVERIFY(status->text().startsWith(QStringLiteral("oom: needs 6.4 GB")));
    QVERIFY(!panel_->samples()->isVisible());
    QVERIFY(!panel_->text().contains(QStringLiteral("95 % interval")));
    QVERIFY(!panel_->command().isEmpty());
  }

  void ADamagedCell_ShowsNoValues() {
    auto damaged = std::make_shared<RunSnapshot>(*run_);
    damaged->table.rows[2].cell.damaged = true;
    panel_->show_cell(damaged, 2);
    QVERIFY(panel_->text().contains(QStringLiteral("damaged: its stored values")));
    QVERIFY(!panel_->text().contains(QStringLiteral("GFLOP")));
  }

  void TheCommand_IsCopied() {
    panel_->show_cell(run_, 2);
    QTest::mouseClick(panel_->findChild<QPushButton*>(QStringLiteral("copy_command")),
                      Qt::LeftButton);
    const QString command = QApplication::clipboard()->text();
    QVERIFY2(command.startsWith(QStringLiteral("attnscope run --again ")), qPrintable(command));
    QVERIFY(command.contains(QStringLiteral("contender=sparse/segment/4,contender=full/dense")));
    QVERIFY(command.contains(QStringLiteral("sequence_tokens=64")));
    QVERIFY(command.contains(QStringLiteral("--db ")));
  }

  void EverySample_IsADotInItsPlacementsColumn() {
    panel_->show_cell(run_, 2);
    const std::vector<SampleStrip::Dot> dots = panel_->samples()->dots();
    QCOMPARE(dots.size(), std::size_t{10});
    std::set<double> columns;
    for (const SampleStrip::Dot& dot : dots) {
      columns.insert(dot.position.x());
      QVERIFY(QRectF(panel_->samples()->rect()).contains(dot.position));
    }
    QCOMPARE(columns.size(), std::size_t{10});
    // Slower is higher.
    QVERIFY(dots[0].position.y() > dots[4].position.y());
  }

  void Outliers_AreRinged() {
    auto odd = std::make_shared<RunSnapshot>(*run_);
    odd->table.rows[2].cell.outliers[3] = true;
    panel_->show_cell(odd, 2);
    const auto dots = panel_->samples()->dots();
    QCOMPARE(std::count_if(dots.begin(), dots.end(), [](const auto& dot) { return dot.outlier; }),
             1);
  }

  void Samples_AreReadByMouseAndByKeyboard() {
    panel_->show_cell(run_, 2);
    SampleStrip* strip = panel_->samples();
    const QString first = strip->text_at(strip->dots().front().position);
    QVERIFY2(first.startsWith(QStringLiteral("Placement 1, round 1: ")), qPrintable(first));
    strip->setFocus();
    QTest::keyClick(strip, Qt::Key_Right);
    QCOMPARE(strip->current_text(), first);
    for (int i = 0; i < 20; ++i) QTest::keyClick(strip, Qt::Key_Right);
    QVERIFY(strip->current_text().startsWith(QStringLiteral("Placement 2, round 5: ")));
    QCOMPARE(strip->accessibleDescription(), strip->current_text());
  }

  void VeryManySamples_AreThinnedButKeepTheirOutliers() {
    auto many = std::make_shared<RunSnapshot>(*run_);
    report::Row& row = many->table.rows[2];
    const Sample sample = row.cell.cell.samples.front();
    row.cell.cell.samples.assign(100'000, sample);
    row.cell.outliers.assign(100'000, false);
    row.cell.outliers[77'777] = true;
    panel_->show_cell(many, 2);
    const auto dots = panel_->samples()->dots();
    QVERIFY(dots.size() < 5000);
    QVERIFY(std::any_of(dots.begin(), dots.end(), [](const auto& dot) { return dot.outlier; }));
  }
};

ATTNSCOPE_GUI_TEST(CellPanelTest)

}  // namespace attnscope::gui
#include "cell_panel_test.moc"
