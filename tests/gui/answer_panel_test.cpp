// SPDX-License-Identifier: Apache-2.0
//
// The answer above a run, by mouse and by keyboard: full attention takes 12 n^2 ns and 1.4 times
// that, sparse 7200 n ns, at lengths from 64 to 2048 tokens.

#include "app/gui/views/answer_panel.h"

#include <QClipboard>
#include <QComboBox>
#include <QDragEnterEvent>
#include <QDropEvent>
#include <QFileDialog>
#include <QLabel>
#include <QLineEdit>
#include <QMimeData>
#include <QPushButton>
#include <QSignalSpy>
#include <QToolButton>
#include <nlohmann/json.hpp>
#include <set>

#include "app/gui/charts/run_chart.h"
#include "app/gui/session/snapshot.h"
#include "app/gui/views/answer_fields.h"
#include "base/open_file.h"
#include "base/written_file.h"
#include "engine/sweep/sweep.h"
#include "tests/gui/gui_test.h"
#include "tests/gui/run_fixture.h"

namespace attnscope::gui {

class AnswerPanelTest : public StoreSuite {
  Q_OBJECT

  RunPointer run_, mixed_, empty_;
  std::unique_ptr<AnswerPanel> panel_;

  [[nodiscard]] QLineEdit* field(const char* name) const {
    return panel_->findChild<QLineEdit*>(QLatin1String(name));
  }
  [[nodiscard]] QLabel* label(const char* name) const {
    return panel_->findChild<QLabel*>(QLatin1String(name));
  }
  [[nodiscard]] QPushButton* question() const {
    return panel_->findChild<QPushButton*>(u"answer_question"_s);
  }
  [[nodiscard]] QToolButton* button(const char* name) const {
    return panel_->findChild<QToolButton*>(QLatin1String(name));
  }
  [[nodiscard]] QAction* action(const char* name) const {
    return panel_->findChild<QAction*>(QLatin1String(name));
  }
  /// The rows of the verdict precede the contenders.
  [[nodiscard]] int row_of(int contender) const {
    const auto verdict = report::headline_of(*panel_->advice()).sentences().size();
    return contender + static_cast<int>(verdict);
  }
  [[nodiscard]] QString sentence(int contender) const {
    return panel_->list()->model()->index(row_of(contender), 0).data().toString();
  }
  /// Replaces the text of a field.
  void type(const char* name, const QString& text) {
    QLineEdit* edit = field(name);
    edit->setFocus();
    edit->selectAll();
    QTest::keyClick(edit, Qt::Key_Delete);
    QTest::keyClicks(edit, text);
  }
  [[nodiscard]] bool heading_has(const char* words) const {
    return panel_->advice() && question()->text().contains(QString::fromUtf8(words));
  }
  /// Whether the panel accepts the file.
  [[nodiscard]] bool drop(const QString& file) const {
    QMimeData data;
    data.setUrls({QUrl::fromLocalFile(file)});
    QDragEnterEvent enter({10, 10}, Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
    QCoreApplication::sendEvent(panel_.get(), &enter);
    if (!enter.isAccepted()) return false;
    QDropEvent event({10, 10}, Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
    QCoreApplication::sendEvent(panel_.get(), &event);
    return true;
  }
  void choose_checkpoint(const QString& folder) const {
    auto* dialog = panel_->findChild<QFileDialog*>();
    QVERIFY(dialog != nullptr);
    Q_EMIT dialog->fileSelected(folder);
    delete dialog;
  }
  /// The path of a file with this text.
  [[nodiscard]] QString write(const char* name, const char* text) const {
    if (!write_file(path(name).toStdString(), text)) qFatal("%s was not written", name);
    return path(name);
  }

 private Q_SLOTS:

  void initTestCase() {
    qputenv("ATTNSCOPE_PROGRAM", FAKE_ATTNSCOPE);
    open();
    run_ = read(add_done_run(*store_, "made-up", {64, 128, 256, 512, 1024, 2048}));
    empty_ = read(begin_run_with(*store_, "empty", {}, 2));
    const RunId mixed = begin_run_with(*store_, "mixed", {64, 128}, 4);
    HeatResult half = made_up_heat(2, 64, three_contenders());
    half.point.dtype = DType::float16;
    QVERIFY(store_->add_heat(mixed, half).has_value());
    mixed_ = read(mixed, {.facet = "dtype"});
  }
  void init() {
    QSettings().clear();
    panel_ = std::make_unique<AnswerPanel>();
    panel_->resize(1000, 240);
    panel_->show();
    QVERIFY(QTest::qWaitForWindowExposed(panel_.get()));
    panel_->show_run(run_);
    QTRY_VERIFY(panel_->advice() != nullptr);
  }
  void cleanup() { panel_.reset(); }

  void RanksContendersInSentences() {
    panel_->resize(720, 200);
    QTRY_VERIFY(panel_->list()->height() >= 3 * panel_->fontMetrics().height());
    QCOMPARE(panel_->list()->model()->rowCount(), 5);  // the first is the verdict, the last a note
    const QString verdict = panel_->list()->model()->index(0, 0).data().toString();
    QVERIFY2(verdict.startsWith(u"Fastest that is equivalent to "_s), qPrintable(verdict));
    QVERIFY2(sentence(0).startsWith(u"full/dense: "_s), qPrintable(sentence(0)));
    QVERIFY2(sentence(1).contains(u"the time of full/dense"_s), qPrintable(sentence(1)));
  }

  void StartsFromTheSettingsOfTheRun() {
    QVERIFY(heading_has("sequences of 512 tokens"));
    QVERIFY(panel_->advice()->to_measure.empty());
    QVERIFY(!sentence(0).contains(u"≈"_s));
    const auto batch = static_cast<int>(report::documents_of(run_->table.rows.front()));
    QCOMPARE(field("candidates")->text(), QString::number(batch));
    panel_->show_run(mixed_);
    QTRY_VERIFY(heading_has("sequences of 128 tokens"));
    type("document_tokens", u"300"_s);
    panel_->show_run(run_);
    QTRY_VERIFY(heading_has("documents of 300 tokens"));
  }

  void AnswersAQuestionTypedByKeyboard() {
    panel_->list()->setFocus();
    QTest::keySequence(panel_->list(), QKeySequence(u"Ctrl+J"_s));
    QCOMPARE(QApplication::focusWidget(), field("document_tokens"));
    QTest::keyClicks(field("document_tokens"), u"2000"_s);
    QTRY_VERIFY(heading_has("documents of 2000 tokens"));
    QVERIFY2(sentence(0).startsWith(u"sparse/segment/4: "_s), qPrintable(sentence(0)));
    QTest::keyClick(field("document_tokens"), Qt::Key_Tab);     // the file button
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_Tab);  // what the lengths are of
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_Tab);
    QCOMPARE(QApplication::focusWidget(), field("candidates"));
    QTest::keySequence(field("candidates"), QKeySequence::SelectAll);
    QTest::keyClicks(field("candidates"), u"7"_s);
    QTRY_VERIFY(heading_has("7 candidates"));
  }

  void ComparesRunsOfDrawnLengths() {
    const RunId run = begin_run_with(*store_, "drawn", {}, 3);
    int index = 0;
    for (const Stage stage : {Stage::online, Stage::whole}) {
      for (const std::int64_t most : {200, 2000}) {
        HeatResult heat = made_up_heat(index++, most + 13, three_contenders());
        heat.point.operation = Operation::model;
        heat.point.layers = 2;
        heat.point.feed_forward = 100;
        heat.point.document_lengths = {.median = 804, .p90 = 3267, .most = most};
        heat.point.stage = stage;
        for (Cell& cell : heat.cells) cell.contender.model = "tkl";
        if (stage == Stage::online) heat.cells.resize(1);
        QVERIFY(store_->add_heat(run, heat).has_value());
      }
    }
    const RunPointer drawn = read(run);
    QVERIFY2(drawn->problem.isEmpty(), qPrintable(drawn->problem));
    // Online has one of the three contenders.
    QCOMPARE(drawn->request.slice.values.at("stage"), std::string("whole"));
    for (const char* verdict : {"up to 200 words: full/dense is fastest (",
                                "up to 2000 words: sparse/segment/4 is fastest ("})
      QVERIFY2(drawn->verdict.contains(QLatin1String(verdict)), qPrintable(drawn->verdict));
    panel_->show_run(drawn);
    QTRY_VERIFY(label("answer_nothing")->isVisible());
    QTRY_VERIFY2(label("answer_nothing")->text().startsWith(u"Document lengths are drawn"_s),
                 qPrintable(label("answer_nothing")->text()));
    QVERIFY(!panel_->list()->isVisible());
  }

  void AcceptsDocumentAndSequenceLengths() {
    QTest::mouseClick(question(), Qt::LeftButton);
    auto* of = panel_->findChild<QComboBox*>(u"lengths_of"_s);
    type("document_tokens", u"512"_s);
    QTRY_VERIFY(heading_has("documents of 512 tokens"));
    of->setFocus();
    QTest::keyClick(of, Qt::Key_Down);
    QTRY_VERIFY(heading_has(", sequences of 512 tokens."));
    QVERIFY(panel_->advice()->to_measure.empty());
    const AnswerFields again;
    QVERIFY(again.requested() && again.requested()->question.of_sequences);
  }

  void AcceptsAListOrAFileOfLengthsAndShowsErrorsOfTheFile() {
    type("document_tokens", u"3x100, 400"_s);
    QTRY_VERIFY(
        heading_has("documents with the lengths of a sample of 4 (100 to 400 tokens, mean 175"));
    type("document_tokens", write("lengths.txt", "100\n# a comment\n200\n300\n"));
    QTRY_VERIFY(heading_has("documents with the lengths of a sample of 3"));
    type("document_tokens", write("lengths.txt", "100\nmany\n"));
    QTRY_VERIFY(label("answer_nothing")->text().contains(u"line 2"_s));
    QCOMPARE(label("document_tokens_problem")->text(), label("answer_nothing")->text());
    QVERIFY(panel_->advice() == nullptr);
    type("document_tokens", u"lengths-that-are-not-there.txt"_s);
    QTRY_VERIFY(
        label("document_tokens_problem")->text().startsWith(u"There is no file of lengths"_s));
  }

  void ChoosesAFileOfLengthsByMouse() {
    const QString file = write("lengths.txt", "100\n200\n");
    QTest::mouseClick(question(), Qt::LeftButton);
    QTest::mouseClick(button("lengths_file"), Qt::LeftButton);
    QFileDialog* dialog = nullptr;
    QTRY_VERIFY((dialog = panel_->findChild<QFileDialog*>()) != nullptr);
    Q_EMIT dialog->fileSelected(file);
    dialog->reject();
    QCOMPARE(field("document_tokens")->text(), file);
    QTRY_VERIFY(heading_has("documents with the lengths of a sample of 2"));
  }

  void CountsTheTokensOfDroppedPairs() {
    const QString pairs = write("pairs.tsv", "how tall\tIt is tall.\n");
    QVERIFY(drop(pairs));
    choose_checkpoint(u"/models/mini"_s);
    QTRY_VERIFY(heading_has("documents with the lengths of a sample of 2 (100 to 300 tokens"));
    QVERIFY(field("document_tokens")->text().endsWith(u"/pairs-mini.json"_s));
    QCOMPARE(QString::fromStdString(
                 read_text_file((pairs + u".arguments"_s).toStdString(), "question", 1 << 20)
                     .value_or("")),
             u"--checkpoint=/models/mini\n--pairs=%1\n--format=json\n"_s.arg(pairs));
    QSignalSpy failed(panel_.get(), &AnswerPanel::failed);
    QVERIFY(drop(pairs));
    choose_checkpoint(u"/models/refused"_s);
    QTRY_COMPARE(failed.size(), 1);
    QVERIFY(failed.front().front().toString().contains(u"no model's configuration"_s));
  }

  void AcceptsOnlyDroppedFilesOfLengths() {
    QVERIFY(drop(write("lengths.txt", "100\n200\n300\n")));
    QTRY_VERIFY(heading_has("documents with the lengths of a sample of 3"));
    QVERIFY(!drop(write("sweep.json", "{\"contenders\": []}")));
    QVERIFY(panel_->findChild<QFileDialog*>() == nullptr);
  }

  void ShowsInputErrors() {
    QTest::mouseClick(question(), Qt::LeftButton);
    const std::pair<const char*, const char*> wrong[] = {
        {"query_tokens", "-1"},  {"document_tokens", "12.5"}, {"document_tokens", "0"},
        {"document_tokens", ""}, {"candidates", "0"},         {"memory_mb", "much"},
        {"latency_ms", "0"}};
    for (const auto& [name, text] : wrong) {
      const QString right = field(name)->text();
      type(name, QLatin1String(text));
      const QByteArray problem = QByteArray(name) + "_problem";
      QVERIFY2(label(problem)->isVisible(), name);
      QVERIFY(label(problem)->text().endsWith(u'.'));
      QTRY_VERIFY(panel_->advice() == nullptr);
      QCOMPARE(label("answer_nothing")->text(), label(problem)->text());
      type(name, right);
      QVERIFY(!label(problem)->isVisible());
      QTRY_VERIFY(panel_->advice() != nullptr);
    }
  }

  void RanksContendersAboveALimitLast() {
    type("document_tokens", u"512"_s);
    type("candidates", u"100"_s);
    type("latency_ms", u"350"_s);
    QTRY_VERIFY(sentence(1).contains(u"is too slow (the limit is 350 ms)"_s));
    const QModelIndex last = panel_->list()->model()->index(row_of(1), 0);
    QCOMPARE(last.data(Qt::AccessibleTextRole), last.data());
    type("memory_mb", u"0.5"_s);
    QTRY_VERIFY(sentence(2).contains(u"does not fit"_s));
  }

  void MarksInterpolatedLengthsAndOffersToMeasureThem() {
    QSignalSpy requested(panel_.get(), &AnswerPanel::measure_requested);
    auto* measure = button("measure_exactly_button");
    QVERIFY(!measure->isEnabled());  // the answer is at a measured length
    measure->click();
    QCOMPARE(requested.size(), 0);
    type("document_tokens", u"600"_s);
    QTRY_VERIFY(sentence(0).contains(u"≈"_s));
    QVERIFY(measure->isEnabled());
    const auto tokens = panel_->advice()->to_measure.front();
    QCOMPARE(measure->text(), u"Measure %1 tokens"_s.arg(tokens));
    QTest::mouseClick(measure, Qt::LeftButton);
    QCOMPARE(requested.size(), 1);
    const auto sweep = nlohmann::json::parse(requested.front().front().toString().toStdString());
    QCOMPARE(sweep["sequence_tokens"].get<std::vector<std::int64_t>>(), std::vector{tokens});
  }

  void MeasuresTheMissingLengthsWithTheSweepOfTheRun() {
    const auto quick = load_sweep("quick");
    NewRun planned = new_run("quick", 1);
    planned.sweep_text = quick.value_or(Sweep{}).text;
    const auto begun = store_->begin_run(planned);
    QVERIFY(begun && store_->add_heat(*begun, made_up_heat(0, 1024, three_contenders())));
    panel_->show_run(read(*begun));
    type("document_tokens", u"300, 700"_s);
    QTRY_VERIFY(heading_has("documents with the lengths of a sample of 2"));
    QSignalSpy requested(panel_.get(), &AnswerPanel::measure_requested);
    button("measure_exactly_button")->click();
    QCOMPARE(requested.size(), 1);
    const auto sweep =
        parse_sweep(requested.front().front().toString().toStdString(), "what is to be measured");
    QVERIFY2(sweep.has_value(), sweep ? "" : sweep.error().message.c_str());
    std::vector<std::int64_t> lengths;
    for (const Heat& heat : sweep->heats) lengths.push_back(heat.point.sequence_tokens);
    QCOMPARE(lengths.size(), std::size_t{2});
    QCOMPARE(lengths, panel_->advice()->to_measure);
  }

  void OpensRemarksByKeyboardAndCopiesThem() {
    AnswerList* list = panel_->list();
    list->setFocus();
    list->setCurrentIndex(list->model()->index(row_of(0), 0));
    QTest::keyClick(list, Qt::Key_Down);
    QCOMPARE(list->currentIndex().row(), row_of(1));
    QTRY_VERIFY(list->visualRect(list->currentIndex()).height() >
                list->visualRect(list->model()->index(row_of(0), 0)).height() +
                    list->fontMetrics().height());
    QTest::keySequence(list, QKeySequence::Copy);
    const QStringList lines = QApplication::clipboard()->text().split(u'\n');
    QVERIFY2(lines[0].startsWith(u"2. "_s + sentence(1)), qPrintable(lines[0]));
    QVERIFY(lines.size() > 2);
    const QString open = sentence(1).section(u':', 0, 0);
    type("document_tokens", u"2000"_s);
    QTRY_VERIFY(heading_has("2000 tokens"));
    QVERIFY(list->currentIndex().data().toString().startsWith(open));
  }

  void CopiesAndSavesTheAnswer() {
    action("copy_answer")->trigger();
    const QString text = QApplication::clipboard()->text();
    QVERIFY(text.contains(u"1. full/dense: "_s));
    QVERIFY(text.contains(u"made-up processor"_s));
    QSignalSpy message(panel_.get(), &AnswerPanel::succeeded);
    const auto save_as = [&](const QString& file) {
      action("save_answer")->trigger();
      QFileDialog* dialog = nullptr;
      QTRY_VERIFY((dialog = panel_->findChild<QFileDialog*>()) != nullptr);
      Q_EMIT dialog->fileSelected(file);
      dialog->reject();
      QTRY_VERIFY(panel_->findChild<QFileDialog*>() == nullptr);
    };
    QSignalSpy refused(panel_.get(), &AnswerPanel::failed);
    save_as(path("answer.doc"));
    QCOMPARE(refused.size(), 1);
    QVERIFY(refused.front().front().toString().contains(u".json"_s));
    save_as(path("answer.JSON"));
    QCOMPARE(message.size(), 1);
    const auto json = nlohmann::json::parse(
        read_text_file(path("answer.JSON").toStdString(), "answer", 1 << 20).value_or(""));
    QCOMPARE(json.at(0).at("contenders").size(), std::size_t{3});
  }

  void LabelsTheEffectiveness() {
    const charts::RunChart* chart = panel_->plot()->chart();
    QCOMPARE(chart->figure().series.size(), std::size_t{3});
    QVERIFY(chart->accessibleName().contains(u"published, not measured here"_s));
    QVERIFY(chart->y_range() && chart->y_range()->low > 0.1);
    QVERIFY(!label("without_published")->isVisible());
    type("document_tokens", u"5000"_s);  // longer than the paper's documents
    QTRY_VERIFY(chart->figure().series.empty());
  }

  void RestoresTheQuestion() {
    type("document_tokens", u"300"_s);
    type("latency_ms", u"90"_s);
    const AnswerFields again;
    QCOMPARE(again.documents()->text(), u"300"_s);
    QVERIFY(again.requested() && again.requested()->question.latency_ns == 90e6);
  }

  void ExplainsARunWithoutAFinishedHeat() {
    panel_->show_run(empty_);
    QVERIFY(panel_->advice() == nullptr);
    QVERIFY(label("answer_nothing")->isVisible());
    QVERIFY(label("answer_nothing")->text().contains(u"first heat"_s));
    QVERIFY(!action("copy_answer")->isEnabled());
    QVERIFY(!action("save_answer")->isEnabled());
    panel_->show_run(nullptr);
    QVERIFY(label("answer_nothing")->text().contains(u"Ctrl+N"_s));
  }

  void AnswersForOneSetting() {
    panel_->show_run(mixed_);
    auto* settings = panel_->findChild<QComboBox*>(u"answer_setting"_s);
    QTRY_VERIFY(settings->isVisible() && settings->count() == 2);
    QVERIFY2(settings->itemText(1).contains(u"float16"_s), qPrintable(settings->itemText(1)));
    settings->setFocus();
    QTest::keyClick(settings, Qt::Key_Down);
    QCOMPARE(panel_->advice()->point.dtype, DType::float16);
  }

  void NamesEveryControlAndReachesItByTab() {
    type("document_tokens", u"600"_s);
    QTRY_VERIFY(button("measure_exactly_button")->isEnabled());
    std::set<QWidget*> reached = reached_by_tab(question());
    QVERIFY(reached.contains(panel_->list()));
    QVERIFY(reached.contains(panel_->plot()->chart()));
    QVERIFY(reached.contains(button("measure_exactly_button")));
    QTest::keyClick(question(), Qt::Key_Space);
    reached.merge(reached_by_tab(QApplication::focusWidget()));
    for (const char* name :
         {"query_tokens", "document_tokens", "candidates", "memory_mb", "latency_ms"})
      QVERIFY2(reached.contains(field(name)), name);
    QVERIFY(reached.contains(button("lengths_file")));
    for (const QWidget* widget : reached)
      QVERIFY2(is_named(widget), qPrintable(widget->objectName()));
  }
};

ATTNSCOPE_GUI_TEST(AnswerPanelTest)

}  // namespace attnscope::gui
#include "answer_panel_test.moc"
