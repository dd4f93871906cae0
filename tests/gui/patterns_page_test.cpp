// SPDX-License-Identifier: Apache-2.0
#include "app/gui/views/patterns_page.h"

#include <QListView>
#include <QMessageBox>
#include <QScrollBar>
#include <QSignalSpy>
#include <QSlider>
#include <QSpinBox>
#include <QTableView>
#include <QToolButton>

#include "app/gui/charts/map_view.h"
#include "app/gui/models/pattern_counts.h"
#include "app/gui/session/text.h"
#include "app/gui/views/fields.h"
#include "app/gui/views/pattern_matrix.h"
#include "app/gui/views/pattern_panel.h"
#include "engine/sweep/sweep.h"
#include "tests/gui/page_suite.h"

namespace attnscope::gui {

class PatternsPageTest : public PageSuite<PatternsPage> {
  Q_OBJECT

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
  /// The value of a row in the table of costs.
  QString cost(const QString& title) const {
    const QAbstractItemModel& table = *find<QTableView>("costs")->model();
    for (int row = 0; row < table.rowCount(); ++row) {
      if (table.index(row, 0).data().toString() == title)
        return table.index(row, 1).data().toString();
    }
    return {};
  }
  double density() const { return cost(u"Share of all pairs"_s).remove(u" %"_s).toDouble() / 100; }
  /// Every text of the table of costs fits, and the table fits into the side of the page.
  void verify_costs_are_whole() const {
    const auto* table = find<QTableView>("costs");
    const QWidget* costs = table->parentWidget();
    const auto* side = qobject_cast<SideArea*>(costs->parentWidget()->parentWidget());
    QVERIFY(side);
    QTRY_VERIFY(table->width() <= side->viewport()->width());
    const QAbstractItemModel& model = *table->model();
    QTRY_VERIFY(model.rowCount() > 8);
    for (int row = 0; row < model.rowCount(); ++row) {
      for (int column = 0; column < model.columnCount(); ++column) {
        const QModelIndex cell = model.index(row, column);
        const QRect room = table->visualRect(cell);
        const QRect text = table->fontMetrics().boundingRect(
            QRect(0, 0, room.width(), 10'000), Qt::TextWordWrap, cell.data().toString());
        QVERIFY2(text.width() <= room.width() && text.height() <= room.height() &&
                     room.right() <= table->viewport()->width() &&
                     room.bottom() <= table->viewport()->height(),
                 qPrintable(cell.data().toString()));
      }
    }
  }
  QPoint cell(TokenGroup from, TokenGroup to) const {
    PatternMatrix* matrix = find<PatternMatrix>("pattern_matrix");
    const QModelIndex index = matrix->model()->index(static_cast<int>(from), static_cast<int>(to));
    return matrix->visualRect(index).center();
  }
  const GroupRule& rule(TokenGroup from, TokenGroup to) const {
    return page_->editor().pattern().rule(from, to);
  }
  /// No row of the form is squeezed.
  void verify_form_is_whole() const {
    QCoreApplication::sendPostedEvents(nullptr, QEvent::LayoutRequest);  // as the loop would
    (void)page_->grab();  // painting lays out the rows
    for (const char* name : {"document_lengths", "heads", "head_dim", "has_blocks", "pattern_name",
                             "pattern_title", "pattern_description"}) {
      const auto* field = find<QWidget>(name);
      QVERIFY2(field->height() >= field->sizeHint().height(), name);
    }
  }

  [[nodiscard]] std::string name() const { return page_->editor().pattern().name; }
  [[nodiscard]] const std::vector<std::int64_t>& documents() const {
    return page_->editor().item().documents;
  }
  void let_query_attend_to_documents() const {
    QVERIFY(page_->editor().set_rule(TokenGroup::query, TokenGroup::document,
                                     {.kind = GroupRule::Kind::whole}));
  }
  /// The width on the screen of the first 30 tokens.
  [[nodiscard]] static double width_of_30(const charts::MaskView& mask) {
    return mask.position_of(30, 30).x() - mask.position_of(0, 0).x();
  }

 private Q_SLOTS:

  void initTestCase() { qputenv("ATTNSCOPE_PROGRAM", FAKE_ATTNSCOPE); }
  void init() { show_page({1200, 760}); }
  void cleanup() { page_.reset(); }

  void RefusesToReplaceAnOpenPattern() {
    const QString file =
        write("drawn.svg", QByteArray::fromStdString(pattern_json(find_pattern("full").value())));
    QVERIFY(page_->open_file(file));
    verify_replacement_is_refused(file);
    page_->choose(u"sparse"_s);
    verify_replacement_is_refused(file);
  }

  void KeepsTheHeightOfRows() {
    for (const char* pattern : {"bigbird", "chunks"}) {
      page_->choose(QLatin1String(pattern));
      verify_form_is_whole();
    }
    page_->editor().set_documents({1'000'000});
    QVERIFY(!problem("documents_problem").isEmpty());
    verify_form_is_whole();
    page_->editor().set_documents({100});
    page_->choose(u"sparse"_s);
    QVERIFY(page_->editor().set_rule(TokenGroup::sentence, TokenGroup::query,
                                     {.kind = GroupRule::Kind::whole}));
    verify_form_is_whole();
  }

  void EditsAPatternByMouse() {
    QListView* list = find<QListView>("patterns");
    const QModelIndex full = list->model()->index(0, 0);
    QTest::mouseClick(list->viewport(), Qt::LeftButton, {}, list->visualRect(full).center());
    QCOMPARE(name(), std::string("full"));
    const auto click_cell = [&](TokenGroup from, TokenGroup to) {
      QTest::mouseClick(find<PatternMatrix>("pattern_matrix")->viewport(), Qt::LeftButton, {},
                        cell(from, to));
    };
    click_cell(TokenGroup::query, TokenGroup::document);
    QCOMPARE(rule(TokenGroup::query, TokenGroup::document).kind, GroupRule::Kind::none);
    QTRY_VERIFY(density() < 1);
    click_cell(TokenGroup::document, TokenGroup::document);
    QCOMPARE(rule(TokenGroup::document, TokenGroup::document).kind, GroupRule::Kind::window);
    QVERIFY(find<QSlider>("window_slider")->isEnabled());
    QCOMPARE(name(), std::string("full-edited"));
    click("undo");
    click("undo");
    QCOMPARE(name(), std::string("full"));
    QVERIFY(!find<QToolButton>("undo")->isEnabled());
    click("redo");
    QCOMPARE(rule(TokenGroup::query, TokenGroup::document).kind, GroupRule::Kind::none);
  }

  void EditsAPatternByKeyboard() {
    find<QListView>("patterns")->setFocus();
    QTest::keyClick(find<QListView>("patterns"), Qt::Key_Home);
    QCOMPARE(name(), std::string("full"));
    PatternMatrix* matrix = find<PatternMatrix>("pattern_matrix");
    matrix->setFocus();
    matrix->setCurrentIndex(matrix->model()->index(0, 0));
    for (const Qt::Key key : {Qt::Key_Down, Qt::Key_Down, Qt::Key_Right})
      QTest::keyClick(matrix, key);
    const auto press = [&](TokenGroup to, GroupRule::Kind kind, Qt::Key key,
                           Qt::KeyboardModifiers modifiers = {}) {
      QTest::keyClick(matrix, key, modifiers);
      QCOMPARE(rule(TokenGroup::document, to).kind, kind);
    };
    press(TokenGroup::query, GroupRule::Kind::none, Qt::Key_1);
    press(TokenGroup::query, GroupRule::Kind::whole, Qt::Key_2);
    press(TokenGroup::query, GroupRule::Kind::whole, Qt::Key_3);
    QVERIFY(!problem("matrix_problem").isEmpty());
    QTest::keyClick(matrix, Qt::Key_Right);
    press(TokenGroup::document, GroupRule::Kind::window, Qt::Key_3);
    QVERIFY(problem("matrix_problem").isEmpty());
    press(TokenGroup::document, GroupRule::Kind::chunks, Qt::Key_Space);
    press(TokenGroup::document, GroupRule::Kind::none, Qt::Key_Space);
    press(TokenGroup::document, GroupRule::Kind::chunks, Qt::Key_Z, Qt::ControlModifier);
    press(TokenGroup::document, GroupRule::Kind::none, Qt::Key_Z,
          Qt::ControlModifier | Qt::ShiftModifier);
    QTest::keyClick(matrix, Qt::Key_D, Qt::ControlModifier);
    QVERIFY(page_->masks()->is_split());
    QVERIFY(find<charts::MaskView>("difference_mask")->isVisible());
    page_->mask()->setFocus();
    QTest::keyClick(page_->mask(), Qt::Key_Down);
    QTest::keyClick(page_->mask(), Qt::Key_Down);
    QVERIFY(page_->mask()->pinned_pair().has_value());
    QCOMPARE(find<charts::MaskView>("difference_mask")->pinned_pair(),
             page_->mask()->pinned_pair());
    QVERIFY(find<QLabel>("explanation")->text().startsWith(u"A: "_s));
    QTest::keyClick(page_->mask(), Qt::Key_D, Qt::ControlModifier);
    QVERIFY(!page_->masks()->is_split());
  }

  void ReachesEveryControlByTab() {
    find<QListView>("patterns")->setFocus();
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

  void ExportsMaskAndDifference() {
    QTRY_VERIFY(page_->has_figure());
    for (const bool difference : {false, true}) {
      page_->masks()->set_split(difference);
      export_figure(path(difference ? "both.svg" : "one.svg"));
      const QByteArray csv = read_bytes(path(difference ? "both.csv" : "one.csv"));
      QVERIFY(!csv.isEmpty());
      QCOMPARE(csv.startsWith("mask,"), difference);
    }
  }

  void WrapsNoUnits() {
    QCOMPARE(unbroken(u"window, |10-12| <= 4"_s),
             u"window, |\u206010\u2060-\u206012\u2060| <=\u00a04"_s);
    QCOMPARE(unbroken(u"sparse/segment, w = 4: 10 ms, 95 % sure"_s),
             u"sparse\u2060/\u2060segment, w\u00a0=\u00a04: 10\u00a0ms, 95\u00a0% sure"_s);
  }

  void ShowsTheRuleOfAHoveredPair() {
    set_number("query_tokens", 4);
    set_number("document_tokens", 40);
    page_->masks()->set_style(charts::MaskStyle::true_scale);
    charts::MaskView* mask = page_->mask();
    const auto* explanation = find<QLabel>("explanation");
    // Document tokens 10 and 12, after [CLS] and four query tokens; w = 4.
    const QPoint near = mask->position_of(15, 17).toPoint();
    QTest::mouseMove(mask, near);
    QTRY_COMPARE(explanation->text(), unbroken(mask->explain(15, 17)));
    QVERIFY(explanation->text().contains(u"window"_s));
    QTest::mouseMove(mask, mask->position_of(2, 30).toPoint());  // query to document
    QTRY_COMPARE(explanation->text(), unbroken(mask->explain(2, 30)));
    QTest::mouseClick(mask, Qt::LeftButton, {}, near);
    QTest::mouseMove(mask, QPoint(2, 2));
    QTRY_COMPARE(explanation->text(), unbroken(mask->explain(15, 17)));
  }

  void KeepsTypedDigitsInEveryLocale() {
    auto* tokens = find<QSpinBox>("document_tokens");
    for (const QLocale& locale : {QLocale(QLocale::English), QLocale(QLocale::German),
                                  QLocale(QLocale::French), QLocale::c()}) {
      tokens->setLocale(locale);
      for (const char* number : {"65536", "12345", "1000"}) {
        tokens->setFocus();
        tokens->selectAll();
        QTest::keyClicks(tokens, QLatin1String(number));
        QCOMPARE(tokens->text(), QLatin1String(number));
        QCOMPARE(tokens->value(), QByteArray(number).toInt());
      }
    }
    set_number("document_tokens", 40);
  }

  void SetsTheWindow() {
    auto* slider = find<QSlider>("window_slider");
    slider->setValue(0);
    QCOMPARE(page_->editor().window(), std::optional(Window::of(0)));
    const double narrow = density();
    slider->setValue(slider->maximum());
    QVERIFY(page_->editor().window()->is_infinite());
    QTRY_VERIFY(density() > narrow);
    auto* box = find<QSpinBox>("window_box");
    QCOMPARE(box->text(), u"inf"_s);
    box->setFocus();
    for (const auto& [typed, window] :
         {std::pair(u"37"_s, Window::of(37)), {u"inf"_s, Window::infinite()}}) {
      box->selectAll();
      QTest::keyClicks(box, typed);
      QCOMPARE(page_->editor().window(), std::optional(window));
    }
    page_->choose(u"full"_s);
    QVERIFY(!page_->editor().window().has_value());
    QVERIFY(!slider->isEnabled());
    QTRY_COMPARE(density(), 1.0);
  }

  void AcceptsNumbersAndLengthsOfDocuments() {
    set_number("document_tokens", 50);
    set_number("document_count", 3);
    QCOMPARE(documents(), (std::vector<std::int64_t>{50, 50, 50}));
    type("document_lengths", u"30, 2x10"_s);
    QCOMPARE(documents(), (std::vector<std::int64_t>{30, 10, 10}));
    QVERIFY(!find<QSpinBox>("document_tokens")->isEnabled());
    type("document_lengths", u"30, many"_s);
    QVERIFY(problem("documents_problem").contains(u"many"_s));
    QCOMPARE(documents().size(), std::size_t{3});
    type("document_lengths", u"30"_s);
    QVERIFY(problem("documents_problem").isEmpty());
    QCOMPARE(documents(), (std::vector<std::int64_t>{30}));
    set_number("document_tokens", 1'000'000);
    QVERIFY(problem("documents_problem").contains(u"1,000,000"_s));
    const auto* label = find<ProblemLabel>("documents_problem");
    QTRY_VERIFY(label->height() >= label->heightForWidth(label->width()));
  }

  void ShowsSentenceStartsForPatternsWithSentences() {
    auto* stride = find<QSpinBox>("sentence_stride");
    auto* mode = find<QComboBox>("sentences");
    page_->choose(u"sparse"_s);
    QVERIFY(!mode->isVisible());
    page_->choose(u"qds"_s);
    QVERIFY(stride->isVisible());
    QCOMPARE(stride->value(), 30);
    const double rare = density();
    stride->setValue(3);
    QTRY_VERIFY(density() > rare);
    const auto set_mode = [&](int index) {
      mode->setCurrentIndex(index);
      Q_EMIT mode->activated(index);
    };
    set_mode(2);
    QVERIFY(page_->editor().item().sentences_given);
    QCOMPARE(page_->editor().item().sentences[1], std::int64_t{3});
    type("sentence_starts", u"0, 40, 20"_s);
    QVERIFY(problem("sentences_problem").contains(u"20"_s));
    type("sentence_starts", u"0, 20, 40"_s);
    QCOMPARE(page_->editor().item().sentences, (std::vector<std::int64_t>{0, 20, 40}));
    set_number("document_tokens", 30);
    QVERIFY(!problem("sentences_problem").isEmpty());
    set_mode(0);
    QVERIFY(page_->editor().item().sentences.empty());
    QVERIFY(problem("sentences_problem").isEmpty());
  }

  void EditsBlocks() {
    QTest::mouseClick(find<QAbstractButton>("has_blocks"), Qt::LeftButton, {}, QPoint(8, 8));
    QVERIFY(page_->editor().pattern().blocks.has_value());
    set_number("block_length", 8);
    set_number("block_random", 2);
    set_number("block_seed", 9);
    QCOMPARE(*page_->editor().pattern().blocks, (BlockRule{.length = 8, .random = 2, .seed = 9}));
    QVERIFY(parse_pattern(pattern_json(page_->editor().pattern()), "own").has_value());
  }

  void ChecksTheName() {
    type("pattern_name", u"my pattern"_s);
    QVERIFY(!problem("name_problem").isEmpty());
    type("pattern_name", u"my-pattern"_s);
    QVERIFY(problem("name_problem").isEmpty());
    QCOMPARE(name(), std::string("my-pattern"));
    type("pattern_title", u"Mine"_s);
    QCOMPARE(page_->editor().pattern().title, std::string("Mine"));
  }

  void ShowsTheDifferenceOfTwoPatterns() {
    set_number("query_tokens", 2);
    set_number("document_tokens", 5);
    find<QSlider>("window_slider")->setValue(1);
    page_->masks()->compare_with(u"Full attention"_s);
    QCOMPARE(page_->masks()->compared_with(), u"Full attention"_s);
    QVERIFY(page_->masks()->is_split());  // by the choice
    QVERIFY(find<charts::MaskView>("difference_mask")->masks().b != nullptr);
    // 40 of the 64 pairs are allowed by the sparse pattern, all by full attention.
    QTRY_VERIFY(find<QLabel>("both")->text().contains(u"40 pairs"_s));
    QVERIFY(find<QLabel>("only_b")->text().contains(u"24 pairs"_s));
    QVERIFY(find<QLabel>("only_a")->text().contains(u"\n0 pairs"_s));
    QCOMPARE(find<QTableView>("costs")->model()->columnCount(), 4);
    verify_costs_are_whole();
    page_->masks()->compare_with({});
    QVERIFY(!page_->masks()->is_split());
    QCOMPARE(find<QTableView>("costs")->model()->columnCount(), 2);
  }

  void RestoresEditsUndoAndB() {
    let_query_attend_to_documents();
    page_->masks()->compare_with(u"Longformer"_s);
    const auto next = std::make_unique<PatternsPage>(page_->shared_editor());
    next->restore(page_->chosen());
    page_.reset();
    QCOMPARE(next->editor().pattern().name, std::string("sparse-edited"));
    QCOMPARE(next->masks()->compared_with(), u"Longformer"_s);
    QVERIFY(next->has_unsaved());
    next->editor().undo_stack().undo();
    QCOMPARE(next->editor().pattern().name, std::string("sparse"));
  }

  void ShowsMaskAndCostsInLargeText() {
    verify_costs_are_whole();
    use_large_text();
    QTRY_VERIFY(page_->mask()->is_settled());
    QVERIFY2(width_of_30(*page_->mask()) > 160,
             qPrintable(QString::number(width_of_30(*page_->mask()))));
    QTRY_VERIFY(page_->mask()->height() <= page_->mask()->parentWidget()->height());
    QVERIFY2(page_->minimumSizeHint().width() <= 1000, "a small window is enough");
    verify_costs_are_whole();
    page_->masks()->compare_with(u"Longformer"_s);
    verify_costs_are_whole();
  }

  void ShowsTwoMasksInLargeText() {
    page_->masks()->compare_with(u"Full attention"_s);
    use_large_text();
    for (const char* name : {"mask", "partner_mask", "difference_mask"}) {
      auto* view = find<charts::MaskView>(name);
      QTRY_VERIFY(view->problem() != nullptr);
      QVERIFY2(width_of_30(*view) > 100, qPrintable(QString::number(width_of_30(*view))));
    }
    for (const char* name : {"only_a", "only_b", "both"}) {
      const auto* label = find<QLabel>(name);
      QTRY_VERIFY(label->text().contains(u"pairs"_s));
      QTRY_VERIFY2(label->height() >= label->heightForWidth(label->width()), name);
    }
  }

  void ExplainsTerms() {
    page_->choose(u"bigbird"_s);
    QVERIFY(explained_terms("costs") > 12);
    const QAbstractItemModel& costs = *find<QTableView>("costs")->model();
    for (int row = 0; row < costs.rowCount(); ++row) {
      QVERIFY(!costs.index(row, 0).data(Qt::ToolTipRole).toString().isEmpty());
    }
  }

  void ComparesAnEditedPatternWithItsOriginal() {
    let_query_attend_to_documents();
    QCOMPARE(find<QComboBox>("partner")->itemText(1), u"Before the edits"_s);
    page_->masks()->compare_with(u"Before the edits"_s);
    QVERIFY(find<charts::MaskView>("difference_mask")->masks().b != nullptr);
    page_->editor().undo_stack().undo();
    QVERIFY(page_->masks()->compared_with().isEmpty());
  }

  void OpensAPatternAndRefusesAWrongFile() {
    const QString file =
        write("mine.json", R"({"name": "mine", "attends": {"document": {"document": "window"}}})");
    QVERIFY(page_->open_file(file).has_value());
    QCOMPARE(name(), std::string("mine"));
    QVERIFY(problem("open_problem").isEmpty());
    QVERIFY(!page_->open_file(write("wrong.json", R"({"name": "wrong", "atends": {}})")));
    QVERIFY(problem("open_problem").contains(u"atends"_s));
    QCOMPARE(name(), std::string("mine"));
  }

  void SavesAPattern() {
    const QString file = path("saved.json");
    page_->editor().set_title("Saved");
    QTest::keyClick(page_.get(), Qt::Key_S, Qt::ControlModifier);
    answer_file(file);
    QTRY_VERIFY(!page_->has_unsaved());
    QCOMPARE(find_pattern(file.toStdString()).value(), page_->editor().pattern());
    page_->editor().set_title("Saved again");
    QVERIFY(page_->has_unsaved());
    QTest::keyClick(page_.get(), Qt::Key_S, Qt::ControlModifier);
    QVERIFY(!page_->has_unsaved());
    QCOMPARE(find_pattern(file.toStdString()).value().title, std::string("Saved again"));
  }

  void ConfirmsDiscardingChanges() {
    bool settled = false;
    const auto discard = [&] {
      settled = false;
      page_->ask_about_unsaved([&settled] { settled = true; });
    };
    const auto answer = [&](QMessageBox::ButtonRole role) {
      discard();
      auto* box = find<QMessageBox>("unsaved");
      QVERIFY(box);
      for (QAbstractButton* button : box->buttons()) {
        if (box->buttonRole(button) == role) button->click();
      }
    };
    discard();
    QVERIFY(settled);
    page_->editor().set_title("Not saved");
    answer(QMessageBox::RejectRole);
    QVERIFY(!settled);
    QTRY_VERIFY(!page_->findChild<QMessageBox*>());
    answer(QMessageBox::DestructiveRole);
    QVERIFY(settled);
    QTRY_VERIFY(!page_->findChild<QMessageBox*>());
    answer(QMessageBox::AcceptRole);
    answer_file(path("kept.json"));
    QTRY_VERIFY(settled);
    QVERIFY(!page_->has_unsaved());
  }

  void OffersARunOfSupportingImplementations() {
    auto* button = find<QPushButton>("new_run");
    QTRY_VERIFY(button->isEnabled());
    QCOMPARE(find<QLabel>("new_run_note")->text(),
             u"2 implementations support it: dense, segment"_s);
    QVERIFY(button->text().remove(u'&').startsWith(u"New run"_s));
    QVERIFY(page_->run_text().startsWith(u"New run"_s));
    page_->editor().set_title("Own");  // makes a new pattern
    QTRY_VERIFY(button->isEnabled());
    QSignalSpy requested(page_.get(), &Page::run_requested);
    click("new_run");
    QCOMPARE(requested.size(), 1);
    const auto sweep = parse_sweep(requested[0][0].toString().toStdString(), "arguments");
    QVERIFY(sweep.has_value());
    QCOMPARE(sweep->heats[0].contenders.size(), std::size_t{3});
    QCOMPARE(sweep->heats[0].contenders[0].id(), std::string("sparse-edited/dense/4"));
  }

  void RequestsNothingDuringARun() {
    page_->set_measuring(true);
    page_->editor().set_query(3);
    QVERIFY(!find<QPushButton>("new_run")->isEnabled());
    QVERIFY(find<QLabel>("new_run_note")->text().contains(u"after the measurement"_s));
    QSignalSpy wanted(page_.get(), &PatternsPage::ceilings_wanted);
    page_->set_measuring(false);
    QCOMPARE(wanted.size(), 1);
    QTRY_VERIFY(find<QPushButton>("new_run")->isEnabled());
  }

  void ShowsTheLimitWithCeilings() {
    const auto* note = find<QLabel>("costs_note");
    QVERIFY(note->text().startsWith(u"Run a sweep once"_s));
    MachineCeilings machine;
    machine.rates.flop_per_second = 1e9;
    machine.from = u"run 1"_s;
    page_->set_machine(machine);
    QVERIFY(note->text().endsWith(u"the rates of run 1."_s));
    QTRY_VERIFY(cost(u"Machine limit"_s).endsWith(u"ms"_s));
  }

  void CopiesTheCosts() {
    QTRY_VERIFY(page_->has_table());
    page_->copy_table(report::TableFormat::markdown);
    QVERIFY(copied().startsWith(u"| A: Sparse asymmetric"_s));
  }

  void DrawsLargeAndEmptyItems() {
    page_->masks()->set_style(charts::MaskStyle::true_scale);
    set_number("document_tokens", 400'000);
    QTRY_VERIFY(page_->mask()->problem() && page_->mask()->problem()->tokens() == 400'012);
    QTRY_COMPARE(cost(u"Tokens"_s), count_text(400'012));
    set_number("query_tokens", 0);
    set_number("document_tokens", 0);
    QTRY_VERIFY(page_->mask()->problem() && page_->mask()->problem()->tokens() == 1);
  }

  void ScrollsOnlyTheMatrixSideways() {
    use_large_text();
    const auto* matrix = find<PatternMatrix>("pattern_matrix");
    const auto* side = qobject_cast<SideArea*>(
        find<PatternPanel>("pattern_panel")->parentWidget()->parentWidget());
    QVERIFY(side);
    QTRY_VERIFY(matrix->horizontalScrollBar()->maximum() > 0);
    QTRY_COMPARE(side->horizontalScrollBar()->maximum(), 0);
    QVERIFY(matrix->horizontalScrollBar()->geometry().bottom() <= matrix->height());
  }

  void FitsASmallWindow() {
    page_->masks()->set_split(true);
    page_->choose(u"qds"_s);
    const QSize needed = find<QWidget>("patterns_split")->minimumSizeHint();
    QVERIFY2(needed.width() <= 910, qPrintable(QString::number(needed.width())));
    QVERIFY2(needed.height() <= 480, qPrintable(QString::number(needed.height())));
    QVERIFY(page_->minimumSizeHint().width() <= 1000);
  }
};

ATTNSCOPE_GUI_TEST(PatternsPageTest)

}  // namespace attnscope::gui
#include "patterns_page_test.moc"
