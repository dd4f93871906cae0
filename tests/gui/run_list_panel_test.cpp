// SPDX-License-Identifier: Apache-2.0
//
// The list of runs by mouse and by keyboard, in a window on a store.

#include <QClipboard>
#include <QLabel>
#include <QLineEdit>
#include <QListView>
#include <QMenu>
#include <QMessageBox>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QSignalSpy>
#include <QTabBar>
#include <QTableView>
#include <QToolButton>
#include <algorithm>

#include "app/gui/views/comparison_view.h"
#include "app/gui/views/run_notes.h"
#include "tests/gui/window_suite.h"

namespace attnscope::gui {

class RunListPanelTest : public WindowSuite {
  Q_OBJECT

  /// With three finished runs: alpha (1), beta (2), gamma (3).
  void open_with_runs() {
    add_runs({"alpha", "beta", "gamma"});
    open_window();
    QTRY_COMPARE(list()->model()->rowCount(), 3);
  }
  [[nodiscard]] QListView* list() const { return panel()->list(); }
  [[nodiscard]] QListView* trash() const { return panel()->list(RunListPanel::trash_section); }
  [[nodiscard]] QPlainTextEdit* note_field() const { return find<QPlainTextEdit>("run_note"); }
  [[nodiscard]] QLineEdit* tags() const { return panel()->notes()->tags(); }
  static QString title(const QListView* list, int row) {
    return list->model()->index(row, 0).data().toString();
  }
  static void click(QListView* list, int row, Qt::KeyboardModifiers keys = Qt::NoModifier) {
    const QRect place = list->visualRect(list->model()->index(row, 0));
    QTest::mouseClick(list->viewport(), Qt::LeftButton, keys, place.center());
  }
  static QAction* action(const QMenu* menu, const QString& start) {
    const QList<QAction*> actions = menu->actions();
    const auto found = std::find_if(actions.begin(), actions.end(), [&](const QAction* each) {
      return each->text().startsWith(start);
    });
    return found == actions.end() ? nullptr : *found;
  }
  void trigger(const QString& start) const {
    const std::unique_ptr<QMenu> menu(panel()->make_menu());
    QAction* found = action(menu.get(), start);
    QVERIFY2(found != nullptr, qPrintable(start));
    found->trigger();
  }
  static void replace_text(QWidget* field, const QString& text) {
    field->setFocus();
    QTest::keySequence(field, QKeySequence::SelectAll);
    QTest::keyClicks(field, text);
  }
  /// Moves the chosen or all runs to the trash by keyboard.
  void delete_runs(bool all = false) const {
    list()->setFocus();
    if (all) list()->selectAll();
    QTest::keyClick(list(), Qt::Key_Delete);
    QTRY_COMPARE(panel()->trash().rowCount(), all ? 3 : 1);
  }
  QMessageBox* ask_to_remove(const QString& action_text) const {
    trigger(action_text);
    return find<QMessageBox>("remove_question");
  }
  [[nodiscard]] int count(RunsOf which) const {
    const auto runs = open_store(database()).run_list(which);
    return runs ? static_cast<int>(runs->size()) : -1;
  }

 private Q_SLOTS:
  void init() { reset(); }
  void cleanup() { window_.reset(); }

  void RenamesByF2() {
    open_with_runs();
    list()->setFocus();
    QTest::keyClick(list(), Qt::Key_F2);
    QLineEdit* editor = nullptr;
    QTRY_VERIFY((editor = list()->findChild<QLineEdit*>()) && editor->isVisible());
    QCOMPARE(editor->text(), u"gamma"_s);
    editor->selectAll();
    QTest::keyClicks(editor, u"for the paper"_s);
    QTest::keyClick(editor, Qt::Key_Return);
    QTRY_COMPARE(title(list(), 0), u"3  for the paper"_s);
    QCOMPARE(stored_run("last").name, std::string("for the paper"));
    QCOMPARE(stored_run("last").start.sweep_name, std::string("gamma"));
    // The name of the sweep replaces the given name.
    QVERIFY(window_->runs().setData(window_->runs().index(0), u" gamma "_s, Qt::EditRole));
    QTRY_COMPARE(title(list(), 0), u"3  gamma"_s);
    QCOMPARE(stored_run("3").name, std::string());
  }

  void RenamesNothingByAClick() {
    open_with_runs();
    const QPoint row = list()->visualRect(list()->currentIndex()).center();
    const int before = QApplication::doubleClickInterval();
    QApplication::setDoubleClickInterval(0);  // after which a view begins to edit
    for (int i = 0; i < 2; ++i) {
      QTest::mouseClick(list()->viewport(), Qt::LeftButton, {}, row);
      QCoreApplication::processEvents();
    }
    QApplication::setDoubleClickInterval(before);
    QVERIFY(list()->findChild<QLineEdit*>() == nullptr);
  }

  void ComparesTwoRunsByButtonAndByKeys() {
    open_with_runs();
    auto* button = find<QPushButton>("compare_the_two");
    const ComparisonView* comparison = page()->comparison_view();
    QVERIFY(!button->isVisible());
    click(list(), 0);
    click(list(), 1, Qt::ControlModifier);
    QVERIFY(button->isVisible());
    QTest::mouseClick(button, Qt::LeftButton);
    QTRY_VERIFY(comparison->isVisible());
    QCOMPARE(find<QLabel>("comparison_title")->text(), u"B: 3 gamma against A: 2 beta"_s);
    QTest::keyClick(find<QToolButton>("comparison_back"), Qt::Key_Escape);
    QTRY_VERIFY(!comparison->isVisible());
    QVERIFY(view()->isVisible());
    click(list(), 0);
    click(list(), 1, Qt::ControlModifier);
    QTest::keyClick(list(), Qt::Key_D, Qt::ControlModifier);
    QTRY_VERIFY(comparison->isVisible());
    QCOMPARE(comparison->findChild<QTableView*>()->model()->rowCount(), 3);
    click(list(), 0);
    QVERIFY(!button->isVisible());
  }

  void MovesRunsToTheTrashAndBack() {
    open_with_runs();
    click(list(), 0);
    click(list(), 1, Qt::ControlModifier);
    QTest::keyClick(list(), Qt::Key_Delete);
    QTRY_COMPARE(list()->model()->rowCount(), 1);
    QCOMPARE(title(list(), 0), u"1  alpha"_s);
    QTRY_VERIFY(messages()->text().contains(u"2 runs"_s));
    QCOMPARE(count(RunsOf::trash), 2);
    QPushButton* undo = messages()->fix_button();
    QCOMPARE(undo->text(), u"Undo"_s);
    QVERIFY(undo->toolTip().contains(u"Ctrl+Z"_s));
    QTest::mouseClick(undo, Qt::LeftButton);
    QTRY_COMPARE(list()->model()->rowCount(), 3);
    QCOMPARE(count(RunsOf::trash), 0);
  }

  void RestoresARunFromTheTrashByKeys() {
    open_with_runs();
    delete_runs();
    QTest::keyClick(window_.get(), Qt::Key_3, Qt::AltModifier);
    QTRY_VERIFY(trash()->isVisible() && trash()->hasFocus());
    QCOMPARE(title(trash(), 0), u"3  gamma"_s);
    QTRY_VERIFY(page()->place()->text().contains(u"trash"_s));
    trigger(u"Restore"_s);
    QTRY_COMPARE(panel()->trash().rowCount(), 0);
    QCOMPARE(count(RunsOf::list), 3);
    QTRY_VERIFY(find<QLabel>("run_list_hint")->isVisible());
  }

  void ConfirmsPermanentDeletion() {
    open_with_runs();
    delete_runs();
    panel()->show_section(RunListPanel::trash_section);
    QMessageBox* box = ask_to_remove(u"Delete permanently"_s);
    QVERIFY(box != nullptr);
    box->reject();
    QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
    QCOMPARE(count(RunsOf::trash), 1);
    box = ask_to_remove(u"Delete permanently"_s);
    QVERIFY(box != nullptr);
    QTest::mouseClick(box->findChild<QPushButton*>(u"remove_for_good"_s), Qt::LeftButton);
    QTRY_COMPARE(panel()->trash().rowCount(), 0);
    QCOMPARE(count(RunsOf::both), 2);
  }

  void EmptiesTheTrash() {
    open_with_runs();
    delete_runs(/*all=*/true);
    panel()->show_section(RunListPanel::trash_section);
    QCOMPARE(panel()->sections()->tabText(RunListPanel::trash_section), u"Trash (3)"_s);
    const QMessageBox* box = ask_to_remove(u"Empty the trash"_s);
    QVERIFY(box != nullptr);
    QTest::mouseClick(box->findChild<QPushButton*>(u"remove_for_good"_s), Qt::LeftButton);
    QTRY_COMPARE(panel()->trash().rowCount(), 0);
    QCOMPARE(count(RunsOf::both), 0);
  }

  void EditsTagsAndNote() {
    open_with_runs();
    trigger(u"Tags and note"_s);
    QTRY_VERIFY(tags()->hasFocus());
    QTest::keyClicks(tags(), u"laptop, quiet laptop"_s);
    QTest::keyClick(tags(), Qt::Key_Return);
    QTRY_COMPARE(window_->runs().tags(), QStringList({"laptop", "quiet"}));
    QTRY_COMPARE(tags()->text(), u"laptop quiet"_s);
    QTest::keyClick(tags(), Qt::Key_Tab);
    QTRY_VERIFY(note_field()->hasFocus());
    QTest::keyClicks(note_field(), u"with the lid closed"_s);
    // After another run is chosen, the text is stored with the run it was typed for.
    click(list(), 1);
    list()->setFocus();
    QTRY_COMPARE(stored_run("3").note, std::string("with the lid closed"));
    QCOMPARE(stored_run("3").tag, std::string("laptop quiet"));
    QVERIFY(note_field()->toPlainText().isEmpty() && tags()->text().isEmpty());
    const auto tip = [this] {
      return list()->model()->index(0, 0).data(Qt::ToolTipRole).toString();
    };
    QTRY_VERIFY(tip().contains(u"with the lid closed"_s));
  }

  void RevertsByEscapeAndDeletesTextNotRuns() {
    open_with_runs();
    QTRY_VERIFY(tags()->isVisible());
    tags()->setFocus();
    QTest::keyClicks(tags(), u"ab"_s);
    QTest::keyClick(tags(), Qt::Key_Home);
    QTest::keyClick(tags(), Qt::Key_Delete);
    QCOMPARE(tags()->text(), u"b"_s);
    QTest::keyClick(tags(), Qt::Key_Escape);
    QCOMPARE(tags()->text(), QString());
    list()->setFocus();
    QVERIFY(panel()->notes()->store_edits());  // nothing is being stored
    note_field()->setFocus();
    QTest::keyClicks(note_field(), u"ab"_s);
    QTest::keyClick(note_field(), Qt::Key_Home);
    QTest::keyClick(note_field(), Qt::Key_Delete);
    list()->setFocus();
    QTRY_COMPARE(stored_run("3").note, std::string("b"));
    QCOMPARE(count(RunsOf::trash), 0);
  }

  void DiscardsTextOfARemovedRun() {
    open_with_runs();
    QTRY_VERIFY(note_field()->isVisible());
    note_field()->setFocus();
    QTest::keyClicks(note_field(), u"mine"_s);
    {
      Store store = open_store(database());
      QVERIFY(store.put_in_trash({store.find_run("3")->id}));
    }
    QTRY_VERIFY(!note_field()->hasFocus());
    QTRY_COMPARE(stored_run("3").note, std::string("mine"));
    QVERIFY(note_field()->toPlainText().isEmpty());
  }

  void TagsSeveralRuns() {
    open_with_runs();
    // The window lists both tags only after both runs are described.
    describe_run("2", {.tag = "shared"});
    describe_run("3", {.tag = "own shared"});
    QTRY_COMPARE(window_->runs().tags(), QStringList({"own", "shared"}));
    click(list(), 0);
    click(list(), 1, Qt::ControlModifier);
    QVERIFY(!note_field()->isVisible());
    QCOMPARE(tags()->text(), u"shared"_s);
    replace_text(tags(), u"both"_s);
    QTest::keyClick(tags(), Qt::Key_Return);
    QTRY_COMPARE(window_->runs().tags(), QStringList({"both", "own"}));
    QCOMPARE(stored_run("3").tag, std::string("own both"));
    QCOMPARE(stored_run("2").tag, std::string("both"));
    QCOMPARE(stored_run("1").tag, std::string());
  }

  void ExplainsAnEmptyDatabase() {
    open_window();
    QTRY_VERIFY(window_->runs().is_known());
    panel()->show_section(RunListPanel::runs_section);
    auto* button = find<QPushButton>("first_run");
    QTRY_VERIFY(button->isVisible());
    QVERIFY(find<QLabel>("run_list_hint")->text().startsWith(u"No runs yet"_s));
    QSignalSpy wanted(panel(), &RunListPanel::new_run_wanted);
    QTest::mouseClick(button, Qt::LeftButton);
    QCOMPARE(wanted.count(), 1);
  }

  void FiltersByATag() {
    open_with_runs();
    describe_run("2", {.tag = "laptop"});
    QToolButton* tag = nullptr;
    QTRY_VERIFY((tag = find<QToolButton>("tag_laptop")) && tag->isVisible());
    QTest::mouseClick(tag, Qt::LeftButton);
    QCOMPARE(list()->model()->rowCount(), 1);
    QCOMPARE(title(list(), 0), u"2  beta"_s);
    tag->setFocus();
    QTest::keyClick(tag, Qt::Key_Space);
    QCOMPARE(list()->model()->rowCount(), 3);
  }

  void ElidesLongNamesAndTags() {
    open_with_runs();
    const QSize before = window_->minimumSizeHint();
    {
      Store store = open_store(database());
      std::string tags;
      for (int i = 0; i < 200; ++i) tags += "tag" + std::to_string(i) + ' ';
      tags += std::string(300, 't');
      QVERIFY(store.describe_run(store.find_run("3")->id,
                                 {.name = std::string(300, 'n'), .tag = tags}));
    }
    QToolButton* tag = nullptr;
    QTRY_VERIFY((tag = find<QToolButton>("tag_tag199")) != nullptr);
    // Another run and back, so that the title is read again.
    click(list(), 1);
    click(list(), 0);
    QTRY_VERIFY(view()->run() && view()->run()->table.run.name.size() == 300);
    QCoreApplication::processEvents();
    QVERIFY(window_->minimumSizeHint().width() <= std::max(before.width(), 1280));
    QVERIFY(window_->minimumSizeHint().height() <= std::max(before.height(), 800));
  }

  void TruncatesALongNote() {
    open_with_runs();
    note_field()->setFocus();
    QApplication::clipboard()->setText(QString(200'000, u'x'));
    QTest::keySequence(note_field(), QKeySequence::Paste);
    auto* sentence = find<QLabel>("note_length");
    QTRY_VERIFY(sentence->isVisible() && sentence->text().contains(u"10,000"_s));
    list()->setFocus();
    QTRY_COMPARE(stored_run("3").note.size(), 10'000U);
  }

  void MarksCharactersThatTurnTheDirection() {
    open_with_runs();
    describe_run("3", {.name = "a\u202eb", .tag = "x\u2066y", .note = "n\x07"});
    QTRY_COMPARE(title(list(), 0), u"3  a\ufffdb"_s);
    QCOMPARE(window_->runs().tags(), QStringList(u"x\ufffdy"_s));
    QCOMPARE(note_field()->toPlainText(), u"n\ufffd"_s);
  }

  void KeepsTagsOfAnotherProgram() {
    open_with_runs();
    tags()->setFocus();
    QTest::keyClicks(tags(), u"mine"_s);
    describe_run("3", {.tag = "theirs"});
    QTRY_COMPARE(window_->runs().tags(), QStringList({"theirs"}));
    QTest::keyClick(tags(), Qt::Key_Return);
    QTRY_COMPARE(window_->runs().tags(), QStringList({"mine", "theirs"}));
  }

  void KeepsTagsThatAreTooLong() {
    open_with_runs();
    std::string many;
    for (int i = 0; i < 300; ++i) many += "tag" + std::to_string(i) + ' ';
    many.pop_back();
    describe_run("3", {.tag = many});
    QTRY_COMPARE(tags()->text().toStdString(), many);
    tags()->setFocus();
    QTest::keyClick(tags(), Qt::Key_Backspace);
    QTest::keyClick(tags(), Qt::Key_Return);
    QCOMPARE(tags()->text().toStdString(), many);
    QVERIFY(!tags()->isModified());
  }

  void StoresTheNoteAtTheEnd() {
    open_with_runs();
    note_field()->setFocus();
    QTest::keyClicks(note_field(), u"typed to the end"_s);
    window_->close();
    QTRY_VERIFY(!window_->isVisible());
    QCOMPARE(stored_run("3").note, std::string("typed to the end"));
  }

  void SearchesNameTagDeviceDateAndNote() {
    open_with_runs();
    describe_run("2", {.name = "second", .tag = "laptop", .note = "noisy fan"});
    QTRY_COMPARE(title(list(), 1), u"2  second"_s);
    const auto found = [this](const char* text) {
      panel()->search()->setText(QLatin1String(text));
      return list()->model()->rowCount();
    };
    QCOMPARE(found("FAN laptop"), 1);
    QCOMPARE(found("beta"), 1);
    QCOMPARE(found("made-up processor"), 3);
    QCOMPARE(found("laptop gamma"), 0);
    const QByteArray year = QByteArray::number(QDate::currentDate().year());
    QCOMPARE(found(year.constData()), 3);
    QVERIFY(found("nowhere") == 0 && find<QLabel>("run_list_hint")->isVisible());
    QCOMPARE(found(""), 3);
  }

  void ShowsKeysInTheMenu() {
    open_with_runs();
    const std::unique_ptr<QMenu> menu(panel()->make_menu());
    const std::pair<const char*, const char*> expected[] = {
        {"Measure again", ""},        {"Rename", "F2"},         {"Tags and note", ""},
        {"Move to the trash", "Del"}, {"Export run", "Ctrl+E"}, {"Import runs", ""}};
    for (const auto& [text, keys] : expected) {
      const QAction* found = action(menu.get(), QLatin1String(text));
      QVERIFY2(found != nullptr, text);
      QVERIFY2(found->shortcut().toString() == QLatin1String(keys) ||
                   found->text().endsWith(QLatin1String(keys)),
               text);
    }
    QTest::mouseClick(panel()->more_button(), Qt::LeftButton);
    auto* shown = qobject_cast<QMenu*>(QApplication::activePopupWidget());
    QVERIFY(shown != nullptr);
    QVERIFY(action(shown, u"Rename"_s) != nullptr);
    shown->close();
  }

  void ExportsTheSelectedRuns() {
    open_with_runs();
    click(list(), 0);
    click(list(), 2, Qt::ShiftModifier);
    disconnect(panel(), &RunListPanel::export_requested, nullptr, nullptr);
    QSignalSpy requested(panel(), &RunListPanel::export_requested);
    trigger(u"Export 3 runs"_s);
    QCOMPARE(requested.count(), 1);
    QCOMPARE(requested.constFirst().constFirst().toStringList().size(), 3);
  }

  void RefusesToRemoveALiveRun() {
    Store store = open_store(database());
    static_cast<void>(begin_run_with(store, "live", {64}, 3));
    open_window();
    QTRY_COMPARE(list()->model()->rowCount(), 1);
    list()->setFocus();
    QTest::keyClick(list(), Qt::Key_Delete);
    QTRY_VERIFY(messages()->text().contains(u"is being measured"_s));
    QCOMPARE(count(RunsOf::trash), 0);
  }
};

ATTNSCOPE_GUI_TEST(RunListPanelTest)

}  // namespace attnscope::gui
#include "run_list_panel_test.moc"
