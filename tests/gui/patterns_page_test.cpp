// SPDX-License-Identifier: Apache-2.0
#include "app/gui/views/patterns_page.h"

#include <QCheckBox>
#include <QClipboard>
#include <QComboBox>
#include <QFileDialog>
#include <QLabel>
#include <QLineEdit>
#include <QListView>
#include <QMessageBox>
#include <QPointer>
#include <QPushButton>
#include <QSignalSpy>
#include <QSlider>
#include <QSpinBox>
#include <QTableView>
#include <QToolButton>
#include <cmath>

#include "app/gui/charts/mask_view.h"
#include "app/gui/views/difference_legend.h"
#include "app/gui/views/figure_dialog.h"
#include "app/gui/views/message_bar.h"
#include "app/gui/views/pattern_costs.h"
#include "app/gui/views/pattern_matrix.h"
#include "app/gui/views/pattern_panel.h"
#include "app/gui/views/problem_label.h"
#include "app/gui/views/window_box.h"
#include "engine/sweep/sweep.h"
#include "tests/gui/gui_test.h"

namespace attnscope::gui {

class PatternsPageTest : public QObject {
  Q_OBJECT

  QTemporaryDir folder_;
  std::unique_ptr<PatternsPage> page_;

  template <typename Widget>
  Widget* find(const char* name) const {
    return page_->findChild<Widget*>(QLatin1String(name));
  }
  void set_number(const char* name, int value) const { find<QSpinBox>(name)->setValue(value); }
  void type(const char* name, const QString& text) const {
    auto* edit = find<QLineEdit>(name);
    edit->setFocus();
    edit->selectAll();
    QTest::keyClicks(edit, text);
    QTest::keyClick(edit, Qt::Key_Return);
  }
  QString problem(const char* name) const {
    const auto* label = find<ProblemLabel>(name);
    return label->isHidden() ? QString() : label->text();
  }
  QPoint cell(TokenGroup from, TokenGroup to) const {
    PatternMatrix* matrix = page_->panel()->matrix();
    const QModelIndex index = matrix->model()->index(static_cast<int>(from), static_cast<int>(to));
    return matrix->visualRect(index).center();
  }
  const GroupRule& rule(TokenGroup from, TokenGroup to) const {
    return page_->pattern().rule(from, to);
  }
  QString write(const char* name, const QByteArray& json) const {
    const QString file = folder_.filePath(QLatin1String(name));
    QFile out(file);
    if (out.open(QIODevice::WriteOnly)) out.write(json);
    return file;
  }
  /// The dialog asks; this answers as a person would.
  static void answer_file(QWidget* window, const QString& file) {
    QFileDialog* dialog = nullptr;
    QTRY_VERIFY((dialog = window->findChild<QFileDialog*>()) != nullptr);
    dialog->selectFile(file);
    QMetaObject::invokeMethod(dialog, "fileSelected", Q_ARG(QString, file));
    delete dialog;
  }

  void write_figure_to(const QString& file) {
    page_->export_figure();
    auto* dialog = page_->findChild<FigureDialog*>();
    dialog->findChild<QComboBox*>(QStringLiteral("format"))->setCurrentText(QStringLiteral("SVG"));
    dialog->findChild<QLineEdit*>(QStringLiteral("file"))->setText(file);
    dialog->write();
    dialog->findChild<QPushButton*>(QStringLiteral("replace_files"))->click();
    QTRY_VERIFY2(dialog->message().contains(QStringLiteral("is what is read")),
                 qPrintable(dialog->message()));
    delete dialog;
  }

 private Q_SLOTS:

  void initTestCase() { qputenv("ATTNSCOPE_PROGRAM", FAKE_ATTNSCOPE); }

  void init() {
    page_ = std::make_unique<PatternsPage>();
    page_->resize(1200, 760);
    page_->show();
    page_->activateWindow();
    QVERIFY(QTest::qWaitForWindowActive(page_.get()));
  }
  void cleanup() { page_.reset(); }

  void AFigure_DoesNotReplaceAPatternThatIsOpen() {
    const QString file =
        write("drawn.svg", QByteArray::fromStdString(pattern_json(find_pattern("full").value())));
    QVERIFY(page_->open_file(file));
    write_figure_to(file);
    page_->choose(QStringLiteral("sparse"));
    write_figure_to(file);
  }

  void ByMouse_APatternIsChosenEditedAndUndone() {
    QListView* list = page_->pattern_list();
    const QModelIndex full = list->model()->index(0, 0);
    QTest::mouseClick(list->viewport(), Qt::LeftButton, {}, list->visualRect(full).center());
    QCOMPARE(page_->pattern().name, std::string("full"));
    PatternMatrix* matrix = page_->panel()->matrix();
    const QPoint query_document = cell(TokenGroup::query, TokenGroup::document);
    QTest::mouseClick(matrix->viewport(), Qt::LeftButton, {}, query_document);
    QCOMPARE(rule(TokenGroup::query, TokenGroup::document).kind, GroupRule::Kind::none);
    QVERIFY(page_->costs()->density() < 1);
    const QPoint documents = cell(TokenGroup::document, TokenGroup::document);
    QTest::mouseClick(matrix->viewport(), Qt::LeftButton, {}, documents);
    QCOMPARE(rule(TokenGroup::document, TokenGroup::document).kind, GroupRule::Kind::window);
    QVERIFY(page_->window_slider()->isEnabled());
    QCOMPARE(page_->pattern().name, std::string("full-edited"));
    auto* undo = find<QToolButton>("undo");
    QTest::mouseClick(undo, Qt::LeftButton);
    QTest::mouseClick(undo, Qt::LeftButton);
    QCOMPARE(page_->pattern().name, std::string("full"));
    QVERIFY(!undo->isEnabled());
    QTest::mouseClick(find<QToolButton>("redo"), Qt::LeftButton);
    QCOMPARE(rule(TokenGroup::query, TokenGroup::document).kind, GroupRule::Kind::none);
  }

  void ByKeyboardAlone_APatternIsChosenEditedComparedAndAsked() {
    page_->pattern_list()->setFocus();
    QTest::keyClick(page_->pattern_list(), Qt::Key_Home);
    QCOMPARE(page_->pattern().name, std::string("full"));
    PatternMatrix* matrix = page_->panel()->matrix();
    matrix->setFocus();
    matrix->setCurrentIndex(matrix->model()->index(0, 0));
    QTest::keyClick(matrix, Qt::Key_Down);
    QTest::keyClick(matrix, Qt::Key_Down);
    QTest::keyClick(matrix, Qt::Key_Right);
    QTest::keyClick(matrix, Qt::Key_1);
    QCOMPARE(rule(TokenGroup::document, TokenGroup::query).kind, GroupRule::Kind::none);
    QTest::keyClick(matrix, Qt::Key_2);
    QCOMPARE(rule(TokenGroup::document, TokenGroup::query).kind, GroupRule::Kind::whole);
    QTest::keyClick(matrix, Qt::Key_3);
    QVERIFY(!problem("matrix_problem").isEmpty());
    QTest::keyClick(matrix, Qt::Key_Right);
    QTest::keyClick(matrix, Qt::Key_3);
    QCOMPARE(rule(TokenGroup::document, TokenGroup::document).kind, GroupRule::Kind::window);
    QVERIFY(problem("matrix_problem").isEmpty());
    QTest::keyClick(matrix, Qt::Key_Space);
    QCOMPARE(rule(TokenGroup::document, TokenGroup::document).kind, GroupRule::Kind::none);
    QTest::keyClick(matrix, Qt::Key_Z, Qt::ControlModifier);
    QCOMPARE(rule(TokenGroup::document, TokenGroup::document).kind, GroupRule::Kind::window);
    QTest::keyClick(matrix, Qt::Key_Z, Qt::ControlModifier | Qt::ShiftModifier);
    QCOMPARE(rule(TokenGroup::document, TokenGroup::document).kind, GroupRule::Kind::none);
    QTest::keyClick(matrix, Qt::Key_D, Qt::ControlModifier);
    QVERIFY(page_->masks()->is_split());
    QVERIFY(page_->masks()->difference()->isVisible());
    page_->mask()->setFocus();
    QTest::keyClick(page_->mask(), Qt::Key_Down);
    QTest::keyClick(page_->mask(), Qt::Key_Down);
    QVERIFY(page_->mask()->pinned_pair().has_value());
    QCOMPARE(page_->masks()->difference()->pinned_pair(), page_->mask()->pinned_pair());
    QVERIFY(page_->explanation()->text().startsWith(QStringLiteral("A: ")));
    QTest::keyClick(page_->mask(), Qt::Key_D, Qt::ControlModifier);
    QVERIFY(!page_->masks()->is_split());
  }

  void TabReachesEveryControl() {
    page_->pattern_list()->setFocus();
    QSet<QWidget*> reached;
    for (int i = 0; i < 60; ++i) {
      reached.insert(QApplication::focusWidget());
      QTest::keyClick(QApplication::focusWidget(), Qt::Key_Tab);
    }
    for (const char* name : {"pattern_matrix", "window_slider", "window_box", "query_tokens",
                             "document_tokens", "document_count", "document_lengths",
                             "pattern_name", "mask", "partner", "costs", "heads"}) {
      QVERIFY2(reached.contains(find<QWidget>(name)), name);
      QVERIFY2(!find<QWidget>(name)->toolTip().isEmpty() ||
                   !find<QWidget>(name)->accessibleName().isEmpty(),
               name);
    }
  }

  void TheMaskAndTheDifference_AreExportedByTheDialogOfEveryFigure() {
    QTRY_VERIFY(page_->has_figure());
    QTemporaryDir folder;
    for (const bool difference : {false, true}) {
      page_->masks()->set_split(difference);
      page_->export_figure();
      QPointer<FigureDialog> dialog = page_->findChild<FigureDialog*>();
      QVERIFY(dialog != nullptr);
      dialog->findChild<QCheckBox*>(QStringLiteral("csv"))->setChecked(true);
      const QString name = difference ? QStringLiteral("both") : QStringLiteral("one");
      dialog->findChild<QLineEdit*>(QStringLiteral("file"))
          ->setText(folder.filePath(name + QStringLiteral(".svg")));
      QTest::mouseClick(dialog->findChild<QPushButton*>(QStringLiteral("write")), Qt::LeftButton);
      QTRY_VERIFY(page_->messages()->text().contains(name + QStringLiteral(".svg")));
      QFile csv(folder.filePath(name + QStringLiteral(".csv")));
      QVERIFY(csv.open(QIODevice::ReadOnly));
      QCOMPARE(csv.readLine().startsWith("mask,"), difference);
      QTRY_VERIFY(dialog.isNull());
    }
  }

  void HoveringOverAPair_SaysTheRuleThatDecidesIt() {
    set_number("query_tokens", 4);
    set_number("document_tokens", 40);
    page_->masks()->set_style(charts::MaskStyle::true_scale);
    // Document tokens 10 and 12, after [CLS] and four query tokens; w = 4.
    const QPoint near = page_->mask()->position_of(15, 17).toPoint();
    QTest::mouseMove(page_->mask(), near);
    QTRY_COMPARE(page_->explanation()->text(), page_->mask()->explain(15, 17));
    QVERIFY(page_->explanation()->text().contains(QStringLiteral("window")));
    const QPoint query_on_document = page_->mask()->position_of(2, 30).toPoint();
    QTest::mouseMove(page_->mask(), query_on_document);
    QTRY_COMPARE(page_->explanation()->text(), page_->mask()->explain(2, 30));
    QTest::mouseClick(page_->mask(), Qt::LeftButton, {}, near);
    QTest::mouseMove(page_->mask(), QPoint(2, 2));
    QTRY_COMPARE(page_->explanation()->text(), page_->mask()->explain(15, 17));
  }

  void TheWindow_IsSetBySliderAndByNumber() {
    page_->window_slider()->setValue(0);
    QCOMPARE(page_->window(), std::optional(Window::of(0)));
    const double narrow = page_->costs()->density();
    page_->window_slider()->setValue(page_->window_slider()->maximum());
    QVERIFY(page_->window()->is_infinite());
    QVERIFY(page_->costs()->density() > narrow);
    WindowBox* box = page_->panel()->window_box();
    QVERIFY(box->window().is_infinite());
    box->setFocus();
    box->selectAll();
    QTest::keyClicks(box, QStringLiteral("37"));
    QCOMPARE(page_->window(), std::optional(Window::of(37)));
    box->selectAll();
    QTest::keyClicks(box, QStringLiteral("inf"));
    QVERIFY(page_->window()->is_infinite());
  }

  void FullAttention_HasNoWindowAndAllowsEveryPair() {
    page_->choose(QStringLiteral("full"));
    QVERIFY(!page_->window().has_value());
    QVERIFY(!page_->window_slider()->isEnabled());
    QVERIFY(std::abs(page_->costs()->density() - 1) < 1e-12);
  }

  void SeveralDocuments_AreGivenByNumberOrByLengths() {
    set_number("document_tokens", 50);
    set_number("document_count", 3);
    QCOMPARE(page_->item().documents, (std::vector<std::int64_t>{50, 50, 50}));
    type("document_lengths", QStringLiteral("30, 2x10"));
    QCOMPARE(page_->item().documents, (std::vector<std::int64_t>{30, 10, 10}));
    QVERIFY(!find<QSpinBox>("document_tokens")->isEnabled());
    type("document_lengths", QStringLiteral("30, many"));
    QVERIFY(problem("documents_problem").contains(QStringLiteral("many")));
    QCOMPARE(page_->item().documents.size(), std::size_t{3});
    type("document_lengths", QStringLiteral("30"));
    QVERIFY(problem("documents_problem").isEmpty());
    QCOMPARE(page_->item().documents, (std::vector<std::int64_t>{30}));
    set_number("document_tokens", 1'000'000);
    QVERIFY(problem("documents_problem").contains(QStringLiteral("1,000,000")));
  }

  void SentenceStarts_BelongToPatternsWithSentences() {
    auto* stride = find<QSpinBox>("sentence_stride");
    auto* mode = find<QComboBox>("sentences");
    page_->choose(QStringLiteral("sparse"));
    QVERIFY(!mode->isVisible());
    page_->choose(QStringLiteral("qds"));
    QVERIFY(stride->isVisible());
    QCOMPARE(stride->value(), 30);
    const double rare = page_->costs()->density();
    stride->setValue(3);
    QVERIFY(page_->costs()->density() > rare);
    const auto set_mode = [&](int index) {
      mode->setCurrentIndex(index);
      Q_EMIT mode->activated(index);
    };
    set_mode(2);
    QVERIFY(page_->item().sentences_given);
    QCOMPARE(page_->item().sentences[1], std::int64_t{3});
    type("sentence_starts", QStringLiteral("0, 40, 20"));
    QVERIFY(problem("sentences_problem").contains(QStringLiteral("20")));
    type("sentence_starts", QStringLiteral("0, 20, 40"));
    QCOMPARE(page_->item().sentences, (std::vector<std::int64_t>{0, 20, 40}));
    set_number("document_tokens", 30);
    QVERIFY(!problem("sentences_problem").isEmpty());
    set_mode(0);
    QVERIFY(page_->item().sentences.empty());
    QVERIFY(problem("sentences_problem").isEmpty());
  }

  void Blocks_AreSwitchedOnAndNumbered() {
    QTest::mouseClick(find<QAbstractButton>("has_blocks"), Qt::LeftButton, {}, QPoint(8, 8));
    QVERIFY(page_->pattern().blocks.has_value());
    set_number("block_length", 8);
    set_number("block_random", 2);
    set_number("block_seed", 9);
    QCOMPARE(*page_->pattern().blocks, (BlockRule{.length = 8, .random = 2, .seed = 9}));
    QVERIFY(parse_pattern(pattern_json(page_->pattern()), "own").has_value());
  }

  void AName_IsCheckedBesideItsField() {
    type("pattern_name", QStringLiteral("my pattern"));
    QVERIFY(!problem("name_problem").isEmpty());
    type("pattern_name", QStringLiteral("my-pattern"));
    QVERIFY(problem("name_problem").isEmpty());
    QCOMPARE(page_->pattern().name, std::string("my-pattern"));
    type("pattern_title", QStringLiteral("Mine"));
    QCOMPARE(page_->pattern().title, std::string("Mine"));
  }

  void SideBySide_ShowsTheDifferenceAndItsPairs() {
    set_number("query_tokens", 2);
    set_number("document_tokens", 5);
    page_->window_slider()->setValue(1);
    page_->compare_with(QStringLiteral("Full attention"));
    QCOMPARE(page_->compared_with(), QStringLiteral("Full attention"));
    QVERIFY(page_->masks()->is_split());  // a choice alone shows something
    QVERIFY(page_->masks()->difference()->other() != nullptr);
    // 40 of the 64 pairs are allowed by the sparse pattern, all by full attention.
    const auto words = [&](charts::DifferencePart part) {
      return page_->masks()->legend()->text(part);
    };
    QTRY_VERIFY(words(charts::DifferencePart::both).contains(QStringLiteral("40 pairs")));
    QVERIFY(words(charts::DifferencePart::only_b).contains(QStringLiteral("24 pairs")));
    QVERIFY(words(charts::DifferencePart::only_a).contains(QStringLiteral("\n0 pairs")));
    QCOMPARE(page_->costs()->model().columnCount(), 3);
    page_->compare_with({});
    QVERIFY(!page_->masks()->is_split());
    QCOMPARE(page_->costs()->model().columnCount(), 1);
  }

  void EditsUndoAndB_GoOnInThePageOfTheNextWindow() {
    QVERIFY(page_->editor().set_rule(TokenGroup::query, TokenGroup::document,
                                     {.kind = GroupRule::Kind::whole}));
    page_->compare_with(QStringLiteral("Longformer"));
    const auto next = std::make_unique<PatternsPage>(page_->shared_editor());
    next->restore(page_->chosen());
    page_.reset();
    QCOMPARE(next->pattern().name, std::string("sparse-edited"));
    QCOMPARE(next->compared_with(), QStringLiteral("Longformer"));
    QVERIFY(next->has_unsaved());
    next->editor().undo_stack().undo();
    QCOMPARE(next->pattern().name, std::string("sparse"));
  }

  void WithLargeText_TheMaskKeepsItsRoom() {
    page_->resize(920, 560);  // of a window of 1000 x 650
    QFont large = page_->font();
    large.setPointSizeF(2 * large.pointSizeF());
    page_->setFont(large);
    QTRY_VERIFY(page_->mask()->is_settled());
    const auto side = page_->mask()->position_of(30, 30).x() - page_->mask()->position_of(0, 0).x();
    QVERIFY2(side > 160, qPrintable(QString::number(side)));
  }

  void AnEditedPattern_IsComparedWithWhatItWas() {
    QVERIFY(page_->editor().set_rule(TokenGroup::query, TokenGroup::document,
                                     {.kind = GroupRule::Kind::whole}));
    QCOMPARE(page_->masks()->partner_picker()->itemText(1), QStringLiteral("Before the edits"));
    page_->compare_with(QStringLiteral("Before the edits"));
    QVERIFY(page_->masks()->difference()->other() != nullptr);
    page_->editor().undo_stack().undo();
    QVERIFY(page_->compared_with().isEmpty());
  }

  void APatternOfOnesOwn_OpensAndIsChosen() {
    const QString file =
        write("mine.json", R"({"name": "mine", "attends": {"document": {"document": "window"}}})");
    QVERIFY(page_->open_file(file).has_value());
    QCOMPARE(page_->pattern().name, std::string("mine"));
    QVERIFY(problem("open_problem").isEmpty());
  }

  void AWrongPatternFile_IsSaidBesideTheListAndChangesNothing() {
    const std::string before = page_->pattern().name;
    const QString file = write("wrong.json", R"({"name": "wrong", "atends": {}})");
    QVERIFY(!page_->open_file(file).has_value());
    QVERIFY(problem("open_problem").contains(QStringLiteral("atends")));
    QCOMPARE(page_->pattern().name, before);
  }

  void Save_WritesWhatOpensAgain() {
    const QString file = folder_.filePath(QStringLiteral("saved.json"));
    page_->editor().set_title("Saved");
    QTest::keyClick(page_.get(), Qt::Key_S, Qt::ControlModifier);
    answer_file(page_.get(), file);
    QTRY_VERIFY(!page_->has_unsaved());
    QCOMPARE(find_pattern(file.toStdString()).value(), page_->pattern());
    page_->editor().set_title("Saved again");
    QVERIFY(page_->has_unsaved());
    QTest::keyClick(page_.get(), Qt::Key_S, Qt::ControlModifier);
    QVERIFY(!page_->has_unsaved());
    QCOMPARE(find_pattern(file.toStdString()).value().title, std::string("Saved again"));
  }

  void ChangesThatAreNotSaved_AreAskedAbout() {
    bool settled = false;
    const auto ask = [&] { page_->settle_unsaved([&settled] { settled = true; }); };
    ask();
    QVERIFY(settled);
    settled = false;
    page_->editor().set_title("Not saved");
    const auto press = [&](QMessageBox::ButtonRole role) {
      auto* box = page_->findChild<QMessageBox*>(QStringLiteral("unsaved"));
      QVERIFY(box);
      for (QAbstractButton* button : box->buttons()) {
        if (box->buttonRole(button) == role) return button->click();
      }
    };
    ask();
    press(QMessageBox::RejectRole);
    QVERIFY(!settled);
    QTRY_VERIFY(!page_->findChild<QMessageBox*>());
    ask();
    press(QMessageBox::DestructiveRole);
    QVERIFY(settled);
    settled = false;
    QTRY_VERIFY(!page_->findChild<QMessageBox*>());
    ask();
    press(QMessageBox::AcceptRole);
    answer_file(page_.get(), folder_.filePath(QStringLiteral("kept.json")));
    QTRY_VERIFY(settled);
    QVERIFY(!page_->has_unsaved());
  }

  void TheImplementations_AreAskedAndTheBenchmarkHasThem() {
    auto* button = page_->benchmark_button();
    QTRY_VERIFY(button->isEnabled());
    QCOMPARE(page_->costs()->implementations(),
             (QStringList{QStringLiteral("dense"), QStringLiteral("segment")}));
    page_->editor().set_title("Own");  // its own pattern from now on
    QTRY_VERIFY(button->isEnabled());
    QSignalSpy asked(page_.get(), &Page::run_asked);
    QTest::mouseClick(button, Qt::LeftButton);
    QCOMPARE(asked.size(), 1);
    const auto sweep = parse_sweep(asked[0][0].toString().toStdString(), "asked");
    QVERIFY(sweep.has_value());
    QCOMPARE(sweep->heats[0].contenders.size(), std::size_t{3});
    QCOMPARE(sweep->heats[0].contenders[0].id(), std::string("sparse-edited/dense/4"));
  }

  void WhileARunIsMeasured_NobodyIsAsked() {
    page_->set_measuring(true);
    page_->editor().set_query(3);
    QVERIFY(!page_->benchmark_button()->isEnabled());
    QVERIFY(page_->costs()->implementations().isEmpty());
    QVERIFY(find<QLabel>("benchmark_note")
                ->text()
                .contains(QStringLiteral("when the measurement is over")));
    QSignalSpy wanted(page_.get(), &PatternsPage::ceilings_wanted);
    page_->set_measuring(false);
    QCOMPARE(wanted.size(), 1);
    QTRY_VERIFY(page_->benchmark_button()->isEnabled());
  }

  void TheLimit_NeedsARunsCeilings() {
    QVERIFY(page_->costs()->note()->isVisible());
    MachineCeilings machine;
    machine.rates.flop_per_second = 1e9;
    machine.from = QStringLiteral("run 1");
    page_->set_machine(machine);
    QVERIFY(!page_->costs()->note()->isVisible());
    const QString limit = page_->costs()
                              ->model()
                              .index(PatternCostsModel::limit, PatternCostsModel::a_column)
                              .data()
                              .toString();
    QVERIFY(limit.endsWith(QStringLiteral("ms")));
  }

  void TheCosts_AreCopiedAsATable() {
    QVERIFY(page_->has_table());
    page_->copy_table(report::TableFormat::markdown);
    QVERIFY(QApplication::clipboard()->text().startsWith(QStringLiteral("| A: Sparse asymmetric")));
  }

  void ALargeItem_IsCountedAndDrawnInTheEnd() {
    page_->masks()->set_style(charts::MaskStyle::true_scale);
    set_number("document_tokens", 400'000);
    QTRY_VERIFY_WITH_TIMEOUT(
        page_->mask()->problem() && page_->mask()->problem()->tokens() == 400'012, patience_ms);
    const auto counted = [&] {
      return page_->costs()->model().side_a().counts.value_or(PatternCounts{}).tokens;
    };
    QTRY_VERIFY_WITH_TIMEOUT(counted() == 400'012, patience_ms);
  }

  void EmptyQueryAndDocument_AreDrawnWithoutAComplaint() {
    set_number("query_tokens", 0);
    set_number("document_tokens", 0);
    page_->masks()->set_style(charts::MaskStyle::true_scale);
    QVERIFY(page_->mask()->problem() != nullptr);
    QCOMPARE(page_->mask()->problem()->tokens(), std::int64_t{1});
  }

  void ASmallWindow_IsEnough() {
    page_->masks()->set_split(true);
    page_->choose(QStringLiteral("qds"));
    const QSize needed = find<QWidget>("patterns_split")->minimumSizeHint();
    QVERIFY2(needed.width() <= 910, qPrintable(QString::number(needed.width())));
    QVERIFY2(needed.height() <= 480, qPrintable(QString::number(needed.height())));
    QVERIFY(page_->minimumSizeHint().width() <= 1000);
  }
};

ATTNSCOPE_GUI_TEST(PatternsPageTest)

}  // namespace attnscope::gui
#include "patterns_page_test.moc"
