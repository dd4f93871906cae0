// SPDX-License-Identifier: Apache-2.0
//
// The runs on the left, by mouse and by keyboard, in the real window on a real store.
#include "app/gui/views/run_list_panel.h"

#include <QClipboard>
#include <QLabel>
#include <QLineEdit>
#include <QListView>
#include <QMenu>
#include <QMessageBox>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QSettings>
#include <QSignalSpy>
#include <QTabBar>
#include <QToolButton>
#include <algorithm>

#include "app/gui/main_window.h"
#include "app/gui/views/compare_page.h"
#include "app/gui/views/comparison_view.h"
#include "app/gui/views/page.h"
#include "app/gui/views/run_notes.h"
#include "app/gui/views/run_view.h"
#include "tests/gui/gui_test.h"
#include "tests/gui/run_fixture.h"

namespace attnscope::gui {

class RunListPanelTest : public QObject {
  Q_OBJECT

  std::unique_ptr<QTemporaryDir> folder_;
  std::unique_ptr<MainWindow> window_;

  [[nodiscard]] std::filesystem::path database() const {
    return folder_->filePath(QStringLiteral("attnscope.db")).toStdString();
  }
  [[nodiscard]] RunListPanel* panel() const { return window_->compare()->run_list(); }
  /// Three finished runs: alpha (1), beta (2), gamma (3).
  void open_window() {
    {
      Store store = open_store(database());
      for (const char* name : {"alpha", "beta", "gamma"})
        static_cast<void>(add_done_run(store, name, {64}));
    }
    window_ = std::make_unique<MainWindow>(WindowOptions{.database = database()});
    window_->resize(1280, 800);
    window_->show();
    QVERIFY(QTest::qWaitForWindowExposed(window_.get()));
    QTRY_COMPARE_WITH_TIMEOUT(panel()->list()->model()->rowCount(), 3, patience_ms);
  }
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
  [[nodiscard]] QPlainTextEdit* note_field() const {
    return panel()->findChild<QPlainTextEdit*>(QStringLiteral("run_note"));
  }
  [[nodiscard]] QListView* trash() const { return panel()->list(RunListPanel::trash_section); }
  [[nodiscard]] int count(RunsOf which) const {
    const Store store = open_store(database());
    const auto runs = store.run_list(which);
    return runs ? static_cast<int>(runs->size()) : -1;
  }

 private Q_SLOTS:

  void init() {
    folder_ = std::make_unique<QTemporaryDir>();
    qputenv("ATTNSCOPE_PROGRAM", FAKE_ATTNSCOPE);
    QSettings().clear();
  }
  void cleanup() { window_.reset(); }

  void RenamesByF2() {
    open_window();
    panel()->list()->setFocus();
    QTest::keyClick(panel()->list(), Qt::Key_F2);
    QLineEdit* editor = nullptr;
    QTRY_VERIFY((editor = panel()->list()->findChild<QLineEdit*>()) && editor->isVisible());
    QCOMPARE(editor->text(), QStringLiteral("gamma"));
    editor->selectAll();
    QTest::keyClicks(editor, QStringLiteral("for the paper"));
    QTest::keyClick(editor, Qt::Key_Return);
    QTRY_COMPARE_WITH_TIMEOUT(title(panel()->list(), 0), QStringLiteral("3  for the paper"),
                              patience_ms);
    const Store store = open_store(database());
    QCOMPARE(store.find_run("last")->name, std::string("for the paper"));
    QCOMPARE(store.find_run("last")->start.sweep_name, std::string("gamma"));
  }

  void RenamesNothingByAClick() {
    open_window();
    QListView* list = panel()->list();
    const QPoint row = list->visualRect(list->currentIndex()).center();
    const int before = QApplication::doubleClickInterval();
    QApplication::setDoubleClickInterval(0);  // after which a view begins to edit
    for (int i = 0; i < 2; ++i) {
      QTest::mouseClick(list->viewport(), Qt::LeftButton, {}, row);
      QCoreApplication::processEvents();
    }
    QApplication::setDoubleClickInterval(before);
    QVERIFY(list->findChild<QLineEdit*>() == nullptr);
  }

  void ComparesTwoRunsByAButton() {
    open_window();
    QListView* list = panel()->list();
    auto* button = panel()->findChild<QPushButton*>(QStringLiteral("compare_the_two"));
    QVERIFY(!button->isVisible());
    QTest::mouseClick(list->viewport(), Qt::LeftButton, {},
                      list->visualRect(list->model()->index(0, 0)).center());
    QTest::mouseClick(list->viewport(), Qt::LeftButton, Qt::ControlModifier,
                      list->visualRect(list->model()->index(1, 0)).center());
    QVERIFY(button->isVisible());
    QTest::mouseClick(button, Qt::LeftButton);
    QTRY_VERIFY_WITH_TIMEOUT(window_->compare()->comparison_view()->isVisible(), patience_ms);
    QTest::mouseClick(list->viewport(), Qt::LeftButton, {},
                      list->visualRect(list->model()->index(0, 0)).center());
    QVERIFY(!button->isVisible());
  }

  void RestoresTheNameOfTheSweep() {
    open_window();
    {
      Store store = open_store(database());
      QVERIFY(store.describe_run(store.find_run("3")->id, {.name = "other"}));
    }
    QTRY_COMPARE_WITH_TIMEOUT(title(panel()->list(), 0), QStringLiteral("3  other"), patience_ms);
    QVERIFY(
        window_->runs().setData(window_->runs().index(0), QStringLiteral(" gamma "), Qt::EditRole));
    QTRY_COMPARE_WITH_TIMEOUT(title(panel()->list(), 0), QStringLiteral("3  gamma"), patience_ms);
    QCOMPARE(open_store(database()).find_run("3")->name, std::string());
  }

  void MovesRunsToTheTrashAndBack() {
    open_window();
    click(panel()->list(), 0);
    click(panel()->list(), 1, Qt::ControlModifier);
    QTest::keyClick(panel()->list(), Qt::Key_Delete);
    QTRY_COMPARE_WITH_TIMEOUT(panel()->list()->model()->rowCount(), 1, patience_ms);
    QCOMPARE(title(panel()->list(), 0), QStringLiteral("1  alpha"));
    QTRY_VERIFY(window_->compare()->messages()->text().contains(QStringLiteral("2 runs")));
    QCOMPARE(count(RunsOf::trash), 2);
    QPushButton* undo = window_->compare()->messages()->fix_button();
    QCOMPARE(undo->text(), QStringLiteral("Undo"));
    QVERIFY(undo->toolTip().contains(QStringLiteral("Ctrl+Z")));
    QTest::mouseClick(undo, Qt::LeftButton);
    QTRY_COMPARE_WITH_TIMEOUT(panel()->list()->model()->rowCount(), 3, patience_ms);
    QCOMPARE(count(RunsOf::trash), 0);
  }

  void RestoresARunFromTheTrashByKeys() {
    open_window();
    panel()->list()->setFocus();
    QTest::keyClick(panel()->list(), Qt::Key_Delete);
    QTRY_COMPARE_WITH_TIMEOUT(panel()->trash().rowCount(), 1, patience_ms);
    QTest::keyClick(window_.get(), Qt::Key_3, Qt::AltModifier);
    QTRY_VERIFY(trash()->isVisible() && trash()->hasFocus());
    QCOMPARE(title(trash(), 0), QStringLiteral("3  gamma"));
    QTRY_VERIFY(window_->compare()->place()->text().contains(QStringLiteral("trash")));
    const std::unique_ptr<QMenu> menu(panel()->make_menu());
    action(menu.get(), QStringLiteral("Restore"))->trigger();
    QTRY_COMPARE_WITH_TIMEOUT(panel()->trash().rowCount(), 0, patience_ms);
    QCOMPARE(count(RunsOf::list), 3);
    QTRY_VERIFY(panel()->findChild<QLabel*>(QStringLiteral("run_list_hint"))->isVisible());
  }

  void ConfirmsPermanentDeletion() {
    open_window();
    panel()->list()->setFocus();
    QTest::keyClick(panel()->list(), Qt::Key_Delete);
    QTRY_COMPARE_WITH_TIMEOUT(panel()->trash().rowCount(), 1, patience_ms);
    panel()->show_section(RunListPanel::trash_section);
    const auto question = [this] {
      const std::unique_ptr<QMenu> menu(panel()->make_menu());
      action(menu.get(), QStringLiteral("Delete permanently"))->trigger();
      return panel()->findChild<QMessageBox*>(QStringLiteral("remove_question"));
    };
    QMessageBox* box = question();
    QVERIFY(box != nullptr);
    box->reject();
    QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
    QCOMPARE(count(RunsOf::trash), 1);
    box = question();
    QVERIFY(box != nullptr);
    QTest::mouseClick(box->findChild<QPushButton*>(QStringLiteral("remove_for_good")),
                      Qt::LeftButton);
    QTRY_COMPARE_WITH_TIMEOUT(panel()->trash().rowCount(), 0, patience_ms);
    QCOMPARE(count(RunsOf::both), 2);
  }

  void EmptiesTheTrash() {
    open_window();
    panel()->list()->setFocus();
    panel()->list()->selectAll();
    QTest::keyClick(panel()->list(), Qt::Key_Delete);
    QTRY_COMPARE_WITH_TIMEOUT(panel()->trash().rowCount(), 3, patience_ms);
    panel()->show_section(RunListPanel::trash_section);
    QCOMPARE(panel()->sections()->tabText(RunListPanel::trash_section),
             QStringLiteral("Trash (3)"));
    const std::unique_ptr<QMenu> menu(panel()->make_menu());
    QAction* empty = action(menu.get(), QStringLiteral("Empty the trash"));
    QVERIFY(empty != nullptr);
    empty->trigger();
    auto* box = panel()->findChild<QMessageBox*>(QStringLiteral("remove_question"));
    QVERIFY(box != nullptr);
    QTest::mouseClick(box->findChild<QPushButton*>(QStringLiteral("remove_for_good")),
                      Qt::LeftButton);
    QTRY_COMPARE_WITH_TIMEOUT(panel()->trash().rowCount(), 0, patience_ms);
    QCOMPARE(count(RunsOf::both), 0);
  }

  void EditsTagsAndNote() {
    open_window();
    const std::unique_ptr<QMenu> menu(panel()->make_menu());
    action(menu.get(), QStringLiteral("Tags and note"))->trigger();
    QLineEdit* tags = panel()->notes()->tags();
    QTRY_VERIFY(tags->hasFocus());
    QTest::keyClicks(tags, QStringLiteral("laptop, quiet laptop"));
    QTest::keyClick(tags, Qt::Key_Return);
    QTRY_COMPARE_WITH_TIMEOUT(window_->runs().tags(), QStringList({"laptop", "quiet"}),
                              patience_ms);
    QTRY_COMPARE(tags->text(), QStringLiteral("laptop quiet"));
    QTest::keyClick(tags, Qt::Key_Tab);
    QPlainTextEdit* note = note_field();
    QTRY_VERIFY(note->hasFocus());
    QTest::keyClicks(note, QStringLiteral("with the lid closed"));
    // Another run is chosen: what was typed stays with the one it was typed for.
    click(panel()->list(), 1);
    panel()->list()->setFocus();
    QTRY_COMPARE_WITH_TIMEOUT(open_store(database()).find_run("3")->note,
                              std::string("with the lid closed"), patience_ms);
    QCOMPARE(open_store(database()).find_run("3")->tag, std::string("laptop quiet"));
    QVERIFY(note->toPlainText().isEmpty() && tags->text().isEmpty());
    QTRY_VERIFY(panel()
                    ->list()
                    ->model()
                    ->index(0, 0)
                    .data(Qt::ToolTipRole)
                    .toString()
                    .contains(QStringLiteral("with the lid closed")));
  }

  void RevertsByEscape() {
    open_window();
    QLineEdit* tags = panel()->notes()->tags();
    QTRY_VERIFY(tags->isVisible());
    tags->setFocus();
    QTest::keyClicks(tags, QStringLiteral("wrong"));
    QTest::keyClick(tags, Qt::Key_Escape);
    QCOMPARE(tags->text(), QString());
    panel()->list()->setFocus();
    QVERIFY(panel()->notes()->store_edits());  // nothing is being stored
  }

  void DeletesTextInAField() {
    open_window();
    QTRY_VERIFY(panel()->notes()->isVisible());
    QLineEdit* tags = panel()->notes()->tags();
    tags->setFocus();
    QTest::keyClicks(tags, QStringLiteral("ab"));
    QTest::keyClick(tags, Qt::Key_Home);
    QTest::keyClick(tags, Qt::Key_Delete);
    QCOMPARE(tags->text(), QStringLiteral("b"));
    QPlainTextEdit* note = note_field();
    note->setFocus();
    QTest::keyClicks(note, QStringLiteral("ab"));
    QTest::keyClick(note, Qt::Key_Home);
    QTest::keyClick(note, Qt::Key_Delete);
    QCOMPARE(note->toPlainText(), QStringLiteral("b"));
    panel()->list()->setFocus();
    QTRY_COMPARE_WITH_TIMEOUT(open_store(database()).find_run("3")->note, std::string("b"),
                              patience_ms);
    QCOMPARE(count(RunsOf::trash), 0);
  }

  void DiscardsTextOfARemovedRun() {
    open_window();
    QPlainTextEdit* note = note_field();
    QTRY_VERIFY(note->isVisible());
    note->setFocus();
    QTest::keyClicks(note, QStringLiteral("mine"));
    {
      Store store = open_store(database());
      QVERIFY(store.put_in_trash({store.find_run("3")->id}));
    }
    QTRY_VERIFY_WITH_TIMEOUT(!note->hasFocus(), patience_ms);
    QTRY_COMPARE_WITH_TIMEOUT(open_store(database()).find_run("3")->note, std::string("mine"),
                              patience_ms);
    QVERIFY(note->toPlainText().isEmpty());
  }

  void TagsSeveralRuns() {
    open_window();
    {
      Store store = open_store(database());
      // In this order both tags are there when both runs have theirs, whenever the window looks.
      QVERIFY(store.describe_run(store.find_run("2")->id, {.tag = "shared"}));
      QVERIFY(store.describe_run(store.find_run("3")->id, {.tag = "own shared"}));
    }
    QTRY_COMPARE_WITH_TIMEOUT(window_->runs().tags(), QStringList({"own", "shared"}), patience_ms);
    click(panel()->list(), 0);
    click(panel()->list(), 1, Qt::ControlModifier);
    QLineEdit* tags = panel()->notes()->tags();
    QVERIFY(!note_field()->isVisible());
    QCOMPARE(tags->text(), QStringLiteral("shared"));
    tags->setFocus();
    tags->selectAll();
    QTest::keyClicks(tags, QStringLiteral("both"));
    QTest::keyClick(tags, Qt::Key_Return);
    QTRY_COMPARE_WITH_TIMEOUT(window_->runs().tags(), QStringList({"both", "own"}), patience_ms);
    {
      const Store store = open_store(database());
      QCOMPARE(store.find_run("3")->tag, std::string("own both"));
      QCOMPARE(store.find_run("2")->tag, std::string("both"));
      QCOMPARE(store.find_run("1")->tag, std::string());
    }
  }

  void ExplainsAnEmptyDatabase() {
    window_ = std::make_unique<MainWindow>(WindowOptions{.database = database()});
    window_->show();
    QTRY_VERIFY_WITH_TIMEOUT(window_->runs().is_known(), patience_ms);
    panel()->show_section(RunListPanel::runs_section);
    auto* button = panel()->findChild<QPushButton*>(QStringLiteral("first_run"));
    QTRY_VERIFY(button->isVisible());
    QVERIFY(panel()
                ->findChild<QLabel*>(QStringLiteral("run_list_hint"))
                ->text()
                .startsWith(QStringLiteral("No runs yet")));
    QSignalSpy wanted(panel(), &RunListPanel::new_run_wanted);
    QTest::mouseClick(button, Qt::LeftButton);
    QCOMPARE(wanted.count(), 1);
  }

  void FiltersByATag() {
    open_window();
    {
      Store store = open_store(database());
      QVERIFY(store.describe_run(store.find_run("2")->id, {.tag = "laptop"}));
    }
    QToolButton* tag = nullptr;
    QTRY_VERIFY_WITH_TIMEOUT(
        (tag = panel()->findChild<QToolButton*>(QStringLiteral("tag_laptop"))) && tag->isVisible(),
        patience_ms);
    QTest::mouseClick(tag, Qt::LeftButton);
    QCOMPARE(panel()->list()->model()->rowCount(), 1);
    QCOMPARE(title(panel()->list(), 0), QStringLiteral("2  beta"));
    tag->setFocus();
    QTest::keyClick(tag, Qt::Key_Space);
    QCOMPARE(panel()->list()->model()->rowCount(), 3);
  }

  void ElidesLongNamesAndTags() {
    open_window();
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
    QTRY_VERIFY_WITH_TIMEOUT(
        (tag = panel()->findChild<QToolButton*>(QStringLiteral("tag_tag199"))) != nullptr,
        patience_ms);
    // Another run and back, so that its name is read for the title, too.
    click(panel()->list(), 1);
    click(panel()->list(), 0);
    const RunView* view = window_->compare()->run_view();
    QTRY_VERIFY_WITH_TIMEOUT(view->run() && view->run()->table.run.name.size() == 300, patience_ms);
    QCoreApplication::processEvents();
    QVERIFY(window_->minimumSizeHint().width() <= std::max(before.width(), 1280));
    QVERIFY(window_->minimumSizeHint().height() <= std::max(before.height(), 800));
  }

  void TruncatesALongNote() {
    open_window();
    QPlainTextEdit* note = note_field();
    note->setFocus();
    QApplication::clipboard()->setText(QString(200'000, QLatin1Char('x')));
    QTest::keySequence(note, QKeySequence::Paste);
    auto* sentence = panel()->findChild<QLabel*>(QStringLiteral("note_length"));
    QTRY_VERIFY(sentence->isVisible() && sentence->text().contains(QStringLiteral("10,000")));
    panel()->list()->setFocus();
    QTRY_COMPARE_WITH_TIMEOUT(open_store(database()).find_run("3")->note.size(), 10'000U,
                              patience_ms);
  }

  void MarksCharactersThatTurnTheDirection() {
    open_window();
    {
      Store store = open_store(database());
      QVERIFY(store.describe_run(store.find_run("3")->id,
                                 {.name = "a\u202eb", .tag = "x\u2066y", .note = "n\x07"}));
    }
    QTRY_COMPARE_WITH_TIMEOUT(title(panel()->list(), 0), QStringLiteral("3  a\ufffdb"),
                              patience_ms);
    QCOMPARE(window_->runs().tags(), QStringList(QStringLiteral("x\ufffdy")));
    QCOMPARE(note_field()->toPlainText(), QStringLiteral("n\ufffd"));
  }

  void KeepsTagsOfAnotherProgram() {
    open_window();
    QLineEdit* tags = panel()->notes()->tags();
    tags->setFocus();
    QTest::keyClicks(tags, QStringLiteral("mine"));
    {
      Store store = open_store(database());
      QVERIFY(store.describe_run(store.find_run("3")->id, {.tag = "theirs"}));
    }
    QTRY_COMPARE_WITH_TIMEOUT(window_->runs().tags(), QStringList({"theirs"}), patience_ms);
    QTest::keyClick(tags, Qt::Key_Return);
    QTRY_COMPARE_WITH_TIMEOUT(window_->runs().tags(), QStringList({"mine", "theirs"}), patience_ms);
  }

  void KeepsTagsThatAreTooLong() {
    open_window();
    std::string many;
    for (int i = 0; i < 300; ++i) many += "tag" + std::to_string(i) + ' ';
    many.pop_back();
    {
      Store store = open_store(database());
      QVERIFY(store.describe_run(store.find_run("3")->id, {.tag = many}));
    }
    QLineEdit* tags = panel()->notes()->tags();
    QTRY_COMPARE_WITH_TIMEOUT(tags->text().toStdString(), many, patience_ms);
    tags->setFocus();
    QTest::keyClick(tags, Qt::Key_Backspace);
    QTest::keyClick(tags, Qt::Key_Return);
    QCOMPARE(tags->text().toStdString(), many);
    QVERIFY(!tags->isModified());
  }

  void StoresTheNoteAtTheEnd() {
    open_window();
    note_field()->setFocus();
    QTest::keyClicks(note_field(), QStringLiteral("typed to the end"));
    window_->close();
    QTRY_VERIFY_WITH_TIMEOUT(!window_->isVisible(), patience_ms);
    QCOMPARE(open_store(database()).find_run("3")->note, std::string("typed to the end"));
  }

  void SearchesNameTagDeviceDateAndNote() {
    open_window();
    {
      Store store = open_store(database());
      QVERIFY(store.describe_run(store.find_run("2")->id,
                                 {.name = "second", .tag = "laptop", .note = "noisy fan"}));
    }
    QTRY_COMPARE_WITH_TIMEOUT(title(panel()->list(), 1), QStringLiteral("2  second"), patience_ms);
    const auto found = [this](const char* text) {
      panel()->search()->setText(QLatin1String(text));
      return panel()->list()->model()->rowCount();
    };
    QCOMPARE(found("FAN laptop"), 1);
    QCOMPARE(found("beta"), 1);
    QCOMPARE(found("made-up processor"), 3);
    QCOMPARE(found("laptop gamma"), 0);
    const QByteArray year = QByteArray::number(QDate::currentDate().year());
    QCOMPARE(found(year.constData()), 3);
    QVERIFY(found("nowhere") == 0 &&
            panel()->findChild<QLabel*>(QStringLiteral("run_list_hint"))->isVisible());
    QCOMPARE(found(""), 3);
  }

  void ShowsKeysInTheMenu() {
    open_window();
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
    QVERIFY(action(shown, QStringLiteral("Rename")) != nullptr);
    shown->close();
  }

  void ExportsTheSelectedRuns() {
    open_window();
    click(panel()->list(), 0);
    click(panel()->list(), 2, Qt::ShiftModifier);
    const std::unique_ptr<QMenu> menu(panel()->make_menu());
    QAction* exported = action(menu.get(), QStringLiteral("Export 3 runs"));
    QVERIFY(exported != nullptr);
    disconnect(panel(), &RunListPanel::export_requested, nullptr, nullptr);
    QSignalSpy requested(panel(), &RunListPanel::export_requested);
    exported->trigger();
    QCOMPARE(requested.count(), 1);
    QCOMPARE(requested.constFirst().constFirst().toStringList().size(), 3);
  }

  void RefusesToRemoveALiveRun() {
    {
      Store store = open_store(database());
      static_cast<void>(begin_run_with(store, "live", {64}, 3));
    }
    window_ = std::make_unique<MainWindow>(WindowOptions{.database = database()});
    window_->show();
    QTRY_COMPARE_WITH_TIMEOUT(panel()->list()->model()->rowCount(), 1, patience_ms);
    panel()->list()->setFocus();
    QTest::keyClick(panel()->list(), Qt::Key_Delete);
    QTRY_VERIFY_WITH_TIMEOUT(
        window_->compare()->messages()->text().contains(QStringLiteral("is being measured")),
        patience_ms);
    QCOMPARE(count(RunsOf::trash), 0);
  }
};

ATTNSCOPE_GUI_TEST(RunListPanelTest)

}  // namespace attnscope::gui
#include "run_list_panel_test.moc"
