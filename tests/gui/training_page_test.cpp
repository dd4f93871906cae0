// SPDX-License-Identifier: Apache-2.0
//
// Page Training with running trainings.
#include "app/gui/views/training_page.h"

#include <QClipboard>
#include <QComboBox>
#include <QFileDialog>
#include <QLabel>
#include <QLineEdit>
#include <QPointer>
#include <QProcess>
#include <QPushButton>
#include <QSettings>
#include <QSignalSpy>
#include <QSpinBox>
#include <QTableView>
#include <QToolButton>
#include <memory>
#include <string>

#include "app/gui/charts/run_chart.h"
#include "app/gui/session/run_launcher.h"
#include "app/gui/views/figure_dialog.h"
#include "app/gui/views/file_dialogs.h"
#include "app/gui/views/page.h"
#include "engine/report/training_curve.h"
#include "tests/gui/gui_test.h"

namespace attnscope::gui {

class TrainingPageTest : public QObject {
  Q_OBJECT

  std::unique_ptr<QTemporaryDir> folder_;
  RunLauncher launcher_{{}};
  std::unique_ptr<TrainingPage> page_;

  [[nodiscard]] QString path(const char* name) const {
    return folder_->filePath(QLatin1String(name));
  }
  [[nodiscard]] QString file_of(const char* training) const {
    return path(training) + u'/' + QLatin1String("training.tsv");
  }
  /// Writes the steps from `first` to `last` of a training continued after `first - 1`; every
  /// fourth is validated.
  void train(const char* training, int first, int last) const {
    QDir().mkpath(path(training));
    auto curve = TrainingCurveFile::resume(file_of(training).toStdString(), first - 1);
    QVERIFY(curve.has_value());
    for (int step = first; step <= last; ++step) {
      TrainedStep trained{.step = step, .loss = 8.0 / step, .tokens = 100, .seconds = 0.5};
      if (step % 4 == 0) trained.ndcg = 0.5 - 0.25 / step;
      QVERIFY(curve->add(trained).has_value());
    }
  }
  [[nodiscard]] charts::RunChart* chart() const { return page_->chart(); }
  [[nodiscard]] std::size_t series() const { return chart()->figure().series.size(); }
  [[nodiscard]] std::size_t points(std::size_t panel = 0, std::size_t at = 0) const {
    const report::Figure& figure = chart()->figure(panel);
    return at < figure.series.size() ? figure.series[at].points.size() : 0;
  }
  [[nodiscard]] QString cell(int row, int column) const {
    return page_->table()->model()->index(row, column).data().toString();
  }
  [[nodiscard]] QAbstractButton* button(const char* name) const {
    return page_->findChild<QAbstractButton*>(QLatin1String(name));
  }
  [[nodiscard]] MessageBar* ended() const {
    return page_->findChild<MessageBar*>(u"training_ended"_s);
  }
  /// Types what is needed into the form, and starts.
  void start_training(const QString& triples, int steps) {
    QTest::mouseClick(button("new_training"), Qt::LeftButton);
    auto* dialog = page_->findChild<TrainingDialog*>();
    QVERIFY(dialog && dialog->isVisible());
    QVERIFY(!button("start_training")->isEnabled());
    for (const auto& [field, typed] : {std::pair("checkpoint_path", path("bert")),
                                       {"triples_path", triples},
                                       {"output_path", path("full")}}) {
      auto* line = dialog->findChild<QLineEdit*>(QLatin1String(field));
      line->clear();
      QTest::keyClicks(line, typed);
    }
    dialog->findChild<QSpinBox*>(u"steps"_s)->setValue(steps);
    QTest::mouseClick(button("start_training"), Qt::LeftButton);
    QVERIFY2(!button("start_training")->isEnabled(), "it is starting");
  }
  void show_page() {
    page_ = std::make_unique<TrainingPage>(&launcher_);
    page_->resize(1000, 650);
    page_->show();
    QVERIFY(QTest::qWaitForWindowExposed(page_.get()));
  }

 private Q_SLOTS:

  void init() {
    QSettings().clear();
    qputenv("ATTNSCOPE_PROGRAM", FAKE_ATTNSCOPE);
    folder_ = std::make_unique<QTemporaryDir>();
    show_page();
  }
  void cleanup() { page_.reset(); }

  void ExplainsAnEmptyPage() {
    QVERIFY(!page_->has_figure() && !page_->has_table());
    QVERIFY(!button("close_training")->isEnabled());
    QVERIFY(chart()->accessibleDescription().contains(u"Open the folder"_s));
  }

  void StartsDrawsAndStopsATraining() {
    start_training(path("triples.tsv"), 1000);
    QTRY_COMPARE(points(), std::size_t{3});
    QTRY_VERIFY(page_->findChild<TrainingDialog*>() == nullptr);
    QFile requested(path("full") + u"/arguments"_s);
    QVERIFY(requested.open(QIODevice::ReadOnly));
    const QList<QByteArray> all = requested.readAll().trimmed().split('\n');
    QCOMPARE(all, (QList<QByteArray>{"--margin-mse", "--steps=1000",
                                     "--checkpoint=" + path("bert").toUtf8(),
                                     "--triples=" + path("triples.tsv").toUtf8(),
                                     "--output=" + path("full").toUtf8()}));
    QTRY_VERIFY(button("stop_training")->isEnabled());
    QTest::mouseClick(button("stop_training"), Qt::LeftButton);
    QTRY_VERIFY(ended()->text().contains(u"interrupted after step 3 of 1000"_s));
    QVERIFY(!button("stop_training")->isEnabled());
  }

  void ReportsAFailedTraining() {
    start_training(path("short.tsv"), 1000);
    QTRY_VERIFY(ended()->error().endsWith(u"full: short.tsv: ends after line 3"_s));
    QTRY_VERIFY(page_->findChild<TrainingDialog*>() == nullptr);
    page_->messages()->show_info(u"Wrote a figure"_s);
    QVERIFY(ended()->isVisible() && ended()->findChild<QToolButton*>()->isVisible());
    QTest::mouseClick(button("new_training"), Qt::LeftButton);  // with what was typed
    page_->findChild<QLineEdit*>(u"triples_path"_s)->setText(path("triples.tsv"));
    QTest::mouseClick(button("start_training"), Qt::LeftButton);
    QTRY_VERIFY(ended()->isHidden());
    launcher_.stop_training(path("full"));
    QTRY_VERIFY(ended()->isVisible());
  }

  void ReportsARefusedTraining() {
    start_training(path("wrong.tsv"), 10);
    auto* problem = page_->findChild<QLabel*>(u"problem"_s);
    QTRY_COMPARE(problem->text(), u"wrong.tsv: line 1 has no negative"_s);
    QVERIFY(button("start_training")->isEnabled());
    QVERIFY(!page_->has_table());
    page_->findChild<TrainingDialog*>()->reject();
    QTRY_VERIFY(page_->findChild<TrainingDialog*>() == nullptr);
    QTest::mouseClick(button("new_training"), Qt::LeftButton);
    QCOMPARE(page_->findChild<QLineEdit*>(u"triples_path"_s)->text(), path("wrong.tsv"));
  }

  void PassesTheFormToTheRealProgram() {
    qputenv("ATTNSCOPE_PROGRAM", REAL_ATTNSCOPE);
    start_training(path("triples.tsv"), 10);
    auto* problem = page_->findChild<QLabel*>(u"problem"_s);
    QTRY_VERIFY(problem->text().contains(path("bert")));
  }

  void WaitsForTheFirstStep() {
    train("full", 1, 0);
    page_->open_file(path("full"));
    QTRY_COMPARE(series(), std::size_t{1});
    QVERIFY(!page_->has_figure());
    train("full", 1, 1);
    QTRY_COMPARE(points(), std::size_t{1});
    QVERIFY(page_->has_figure());
  }

  void ShowsLossAndValidation() {
    train("full", 1, 8);
    QTest::mouseClick(button("open_training"), Qt::LeftButton);
    auto* dialog = page_->findChild<QFileDialog*>();
    QVERIFY(dialog != nullptr);
    Q_EMIT dialog->fileSelected(path("full"));
    dialog->close();
    QTRY_COMPARE(points(), std::size_t{8});
    QCOMPARE(chart()->facets().panels.size(), std::size_t{2});
    QCOMPARE(points(1), std::size_t{2});
    QCOMPARE(cell(0, 0), u"full"_s);
    QCOMPARE(cell(0, 1), u"8"_s);
    QCOMPARE(cell(0, 6), u"200"_s);
    QCOMPARE(recent_files(), QStringList{file_of("full")});
  }

  void DrawsNewStepsAndKeepsTheZoom() {
    train("full", 1, 20);
    page_->open_file(path("full"));
    QTRY_COMPARE(points(), std::size_t{20});
    chart()->setFocus();
    QTest::keyClick(chart(), Qt::Key_Plus);
    QVERIFY(chart()->is_zoomed());
    const auto zoomed = chart()->x_range();
    page_->table()->selectRow(0);
    train("full", 21, 30);
    QTRY_COMPARE(points(), std::size_t{30});
    QCOMPARE(chart()->x_range(), zoomed);
    QCOMPARE(page_->table()->selectionModel()->selectedRows().size(), 1);
    QCOMPARE(cell(0, 1), u"30"_s);
    train("full", 11, 12);  // killed, and continued after step 10
    QTRY_COMPARE(points(), std::size_t{12});
    page_->hide();
    train("full", 13, 14);
    page_->show();
    QTRY_COMPARE(points(), std::size_t{14});
  }

  void HidesAndClosesTrainings() {
    train("full", 1, 8);
    train("sparse", 1, 6);
    page_->open_file(path("full"));
    page_->open_file(file_of("sparse"));
    page_->open_file(path("full"));  // which is open
    QTRY_COMPARE(series(), std::size_t{2});
    QCOMPARE(chart()->facets().title, std::string("2 trainings"));
    const QRectF entry = chart()->page().legend()[1].rect;
    QTest::mouseClick(chart(), Qt::LeftButton, {}, entry.center().toPoint());
    QCOMPARE(chart()->shown_facets().panels[0].series.size(), std::size_t{1});
    page_->table()->selectRow(0);
    QTest::mouseClick(button("close_training"), Qt::LeftButton);
    QCOMPARE(series(), std::size_t{1});
    QCOMPARE(cell(0, 0), u"sparse"_s);
    QTest::keyClick(page_->table(), Qt::Key_W, Qt::ControlModifier);
    QCOMPARE(series(), std::size_t{0});
    QVERIFY(!page_->has_figure());
  }

  void RefusesAFileWithoutACurve() {
    QFile other(path("other.tsv"));
    QVERIFY(other.open(QIODevice::WriteOnly));
    other.write("a\tb\n");
    other.close();
    page_->open_file(other.fileName());
    QTRY_VERIFY(page_->messages()->error().contains(u"is not a training curve"_s));
    QCOMPARE(series(), std::size_t{0});
    QVERIFY(recent_files().isEmpty());
    train("full", 1, 8);
    page_->open_file(path("full"));
    QTRY_COMPARE(points(), std::size_t{8});
    page_->messages()->clear();
    QVERIFY(QDir(path("full")).removeRecursively());
    QTRY_VERIFY(page_->messages()->error().contains(file_of("full")));
    QCOMPARE(points(), std::size_t{8});
    train("full", 1, 3);
    QTRY_COMPARE(points(), std::size_t{3});
  }

  void WritesTheSameBytesAsPlot() {
    train("full", 1, 60);
    train("sparse", 1, 50);
    page_->open_file(path("full"));
    page_->open_file(path("sparse"));
    QTRY_COMPARE(series(), std::size_t{2});
    QDir(folder_->path()).mkpath(u"plot"_s);
    for (const char* format : {"pdf", "svg", "png"}) {
      chart()->setFocus();
      QTest::keyClick(chart(), Qt::Key_E);
      const QPointer<FigureDialog> dialog = page_->findChild<FigureDialog*>();
      QVERIFY(dialog != nullptr);
      const QString name = u"curves."_s + QLatin1String(format);
      dialog->findChild<QComboBox*>(u"format"_s)
          ->setCurrentText(QString::fromLatin1(format).toUpper());
      dialog->findChild<QLineEdit*>(u"file"_s)->setText(folder_->filePath(name));
      QSignalSpy written(page_.get(), &Page::succeeded);
      QTest::mouseClick(dialog->findChild<QPushButton*>(u"write"_s), Qt::LeftButton);
      QTRY_COMPARE(written.size(), 1);
      QTRY_VERIFY(!dialog);
      QProcess plot;
      plot.start(QStringLiteral(REAL_ATTNSCOPE), {u"plot"_s, u"--training"_s, path("full"),
                                                  path("sparse"), u"-o"_s, path("plot/") + name});
      QVERIFY(plot.waitForFinished());
      QVERIFY2(plot.exitCode() == 0, plot.readAllStandardError().constData());
      const auto bytes = [](const QString& file_name) {
        QFile file(file_name);
        return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
      };
      QVERIFY(bytes(folder_->filePath(name)).size() > 1000);
      QVERIFY2(bytes(folder_->filePath(name)) == bytes(path("plot/") + name), format);
    }
  }

  void CopiesTheTable() {
    train("full", 1, 8);
    page_->open_file(path("full"));
    QTRY_COMPARE(points(), std::size_t{8});
    page_->copy_table(report::TableFormat::csv);
    QVERIFY(QGuiApplication::clipboard()->text().startsWith(
        u"training,steps,loss,ndcg10,best_ndcg10,best_step,tokens_per_second,"
        "hours\r\n"
        "full,8,"_s));
  }

  void RestoresTrainings() {
    train("full", 1, 8);
    train("sparse", 1, 6);
    page_->open_file(path("full"));
    page_->open_file(path("sparse"));
    QTRY_COMPARE(series(), std::size_t{2});
    const QVariantMap chosen = page_->chosen();
    QVERIFY(QDir(path("sparse")).removeRecursively());
    page_ = std::make_unique<TrainingPage>(&launcher_);
    page_->restore(chosen);
    QCOMPARE(page_->chosen(), chosen);  // while the page is hidden
    page_->show();
    QTRY_COMPARE(points(), std::size_t{8});
    QCOMPARE(series(), std::size_t{1});
    QVERIFY(page_->messages()->error().isEmpty());
  }
};

ATTNSCOPE_GUI_TEST(TrainingPageTest)

}  // namespace attnscope::gui
#include "training_page_test.moc"
