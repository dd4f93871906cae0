// SPDX-License-Identifier: Apache-2.0
//
// Page Training with running trainings.
#include "app/gui/views/training_page.h"

#include <QDir>
#include <QProcess>
#include <QSignalSpy>
#include <QSpinBox>
#include <QTableView>
#include <QToolButton>
#include <string>

#include "app/gui/charts/run_chart.h"
#include "app/gui/session/run_launcher.h"
#include "app/gui/views/file_dialogs.h"
#include "engine/report/training_curve.h"
#include "tests/gui/page_suite.h"

namespace attnscope::gui {

class TrainingPageTest : public PageSuite<TrainingPage> {
  Q_OBJECT

  RunLauncher launcher_{{}};

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
    return find<QAbstractButton>(name);
  }
  [[nodiscard]] MessageBar* ended() const { return find<MessageBar>("training_ended"); }
  [[nodiscard]] TrainingDialog* dialog() const { return page_->findChild<TrainingDialog*>(); }
  [[nodiscard]] QString problem() const { return find<QLabel>("problem")->text(); }
  /// Types what is needed into the form, and starts.
  void start_training(const QString& triples, int steps) {
    click("new_training");
    QVERIFY(dialog() && dialog()->isVisible());
    QVERIFY(!button("start_training")->isEnabled());
    for (const auto& [field, typed] : {std::pair("checkpoint_path", path("bert")),
                                       {"triples_path", triples},
                                       {"output_path", path("full")}}) {
      auto* line = find<QLineEdit>(field);
      line->clear();
      QTest::keyClicks(line, typed);
    }
    find<QSpinBox>("steps")->setValue(steps);
    click("start_training");
    QVERIFY2(!button("start_training")->isEnabled(), "it is starting");
  }
  /// Opens one after the other, and waits until all are drawn.
  void open(const std::vector<const char*>& trainings) {
    for (const char* training : trainings) page_->open_file(path(training));
    QTRY_COMPARE(series(), trainings.size());
  }

 private Q_SLOTS:

  void init() {
    qputenv("ATTNSCOPE_PROGRAM", FAKE_ATTNSCOPE);
    folder_ = std::make_unique<QTemporaryDir>();
    show_page({1000, 650}, &launcher_);
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
    QTRY_VERIFY(dialog() == nullptr);
    const QList<QByteArray> all = read_bytes(path("full/arguments")).trimmed().split('\n');
    QCOMPARE(all, (QList<QByteArray>{"--margin-mse", "--steps=1000",
                                     "--checkpoint=" + path("bert").toUtf8(),
                                     "--triples=" + path("triples.tsv").toUtf8(),
                                     "--output=" + path("full").toUtf8()}));
    QTRY_VERIFY(button("stop_training")->isEnabled());
    click("stop_training");
    QTRY_VERIFY(ended()->text().contains(u"interrupted after step 3 of 1000"_s));
    QVERIFY(!button("stop_training")->isEnabled());
  }

  void ReportsAFailedTraining() {
    start_training(path("short.tsv"), 1000);
    QTRY_VERIFY(ended()->error().endsWith(u"full: short.tsv: ends after line 3"_s));
    QTRY_VERIFY(dialog() == nullptr);
    page_->messages()->show_info(u"Wrote a figure"_s);
    QVERIFY(ended()->isVisible() && ended()->findChild<QToolButton*>()->isVisible());
    click("new_training");  // with what was typed
    find<QLineEdit>("triples_path")->setText(path("triples.tsv"));
    click("start_training");
    QTRY_VERIFY(ended()->isHidden());
    launcher_.stop_training(path("full"));
    QTRY_VERIFY(ended()->isVisible());
  }

  void ReportsARefusedTraining() {
    start_training(path("wrong.tsv"), 10);
    QTRY_COMPARE(problem(), u"wrong.tsv: line 1 has no negative"_s);
    QVERIFY(button("start_training")->isEnabled());
    QVERIFY(!page_->has_table());
    dialog()->reject();
    QTRY_VERIFY(dialog() == nullptr);
    click("new_training");
    QCOMPARE(find<QLineEdit>("triples_path")->text(), path("wrong.tsv"));
  }

  void PassesTheFormToTheRealProgram() {
    qputenv("ATTNSCOPE_PROGRAM", REAL_ATTNSCOPE);
    start_training(path("triples.tsv"), 10);
    QTRY_VERIFY(problem().contains(path("bert")));
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
    click("open_training");
    answer_file(path("full"));
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
    click("close_training");
    QCOMPARE(series(), std::size_t{1});
    QCOMPARE(cell(0, 0), u"sparse"_s);
    QTest::keyClick(page_->table(), Qt::Key_W, Qt::ControlModifier);
    QCOMPARE(series(), std::size_t{0});
    QVERIFY(!page_->has_figure());
  }

  void RefusesAFileWithoutACurve() {
    page_->open_file(write("other.tsv", "a\tb\n"));
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
    open({"full", "sparse"});
    QDir(folder_->path()).mkpath(u"plot"_s);
    for (const char* format : {"pdf", "svg", "png"}) {
      chart()->setFocus();
      QTest::keyClick(chart(), Qt::Key_E);
      QVERIFY(page_->findChild<FigureDialog*>());
      const QString name = u"curves."_s + QLatin1String(format);
      const QPointer<FigureDialog> opened = figure_dialog(folder_->filePath(name));
      QSignalSpy written(page_.get(), &Page::succeeded);
      click("write");
      QTRY_COMPARE(written.size(), 1);
      QTRY_VERIFY(!opened);
      QProcess plot;
      plot.start(QStringLiteral(REAL_ATTNSCOPE), {u"plot"_s, u"--training"_s, path("full"),
                                                  path("sparse"), u"-o"_s, path("plot/") + name});
      QVERIFY(plot.waitForFinished());
      QVERIFY2(plot.exitCode() == 0, plot.readAllStandardError().constData());
      QVERIFY(read_bytes(folder_->filePath(name)).size() > 1000);
      QVERIFY2(read_bytes(folder_->filePath(name)) == read_bytes(path("plot/") + name), format);
    }
  }

  void CopiesTheTable() {
    train("full", 1, 8);
    page_->open_file(path("full"));
    QTRY_COMPARE(points(), std::size_t{8});
    page_->copy_table(report::TableFormat::csv);
    QVERIFY(
        copied().startsWith(u"training,steps,loss,ndcg10,best_ndcg10,best_step,tokens_per_second,"
                            "hours\r\n"
                            "full,8,"_s));
  }

  void RestoresTrainings() {
    train("full", 1, 8);
    train("sparse", 1, 6);
    open({"full", "sparse"});
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
