// SPDX-License-Identifier: Apache-2.0
//
// Opened, dropped and recent files; menus and their shortcuts; text size.
#include <QAbstractButton>
#include <QClipboard>
#include <QDialog>
#include <QDir>
#include <QDragEnterEvent>
#include <QDropEvent>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QMenuBar>
#include <QMimeData>
#include <QPushButton>
#include <QRegularExpression>
#include <QScreen>
#include <QShortcut>
#include <QSignalSpy>
#include <QTableView>
#include <QToolButton>
#include <map>
#include <set>

#include "app/gui/charts/run_chart.h"
#include "app/gui/session/text.h"
#include "app/gui/views/attention_page.h"
#include "app/gui/views/file_dialogs.h"
#include "app/gui/views/help_dialogs.h"
#include "app/gui/views/new_run_dialog.h"
#include "app/gui/views/patterns_page.h"
#include "app/gui/views/training_page.h"
#include "tests/gui/window_suite.h"

namespace attnscope::gui {

class WindowFilesTest : public WindowSuite {
  Q_OBJECT

  /// An exported run; its database is source.db.
  [[nodiscard]] QString exported(const char* name) const {
    Store store = open_store(path("source.db").toStdString());
    const RunId run = add_done_run(store, "travelled", {64, 128});
    const Status done = store.export_runs({run}, path(name).toStdString());
    if (!done) qFatal("%s", done.error().message.c_str());
    return path(name);
  }
  [[nodiscard]] static QString resource(const char* name) {
    return QStringLiteral(ATTNSCOPE_SOURCE_DIR "/resources/") + QLatin1String(name);
  }
  void drop(const QStringList& files) {
    QMimeData data;
    QList<QUrl> urls;
    for (const QString& file : files) urls.append(QUrl::fromLocalFile(file));
    data.setUrls(urls);
    QDragEnterEvent enter({10, 10}, Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
    QCoreApplication::sendEvent(window_.get(), &enter);
    QVERIFY(enter.isAccepted());
    QDropEvent event({10, 10}, Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
    QCoreApplication::sendEvent(window_.get(), &event);
  }
  static void collect(const QMenu& menu, QList<QAction*>& leaves) {
    for (QAction* action : menu.actions()) {
      if (action->menu()) {
        collect(*action->menu(), leaves);
      } else if (!action->isSeparator()) {
        leaves.append(action);
      }
    }
  }
  /// The actions of all menus.
  [[nodiscard]] QList<QAction*> menu_actions() const {
    QList<QAction*> leaves;
    for (const QAction* menu : window_->menuBar()->actions()) collect(*menu->menu(), leaves);
    return leaves;
  }
  [[nodiscard]] QWidget* shown(MainWindow::PageNumber number) const {
    switch (number) {
      case MainWindow::compare_page:
        return page();
      case MainWindow::patterns_page:
        return window_->patterns();
      case MainWindow::attention_page:
        return window_->attention();
      case MainWindow::training_page:
        return window_->training();
    }
    return nullptr;
  }

 private Q_SLOTS:
  void init() { reset(); }
  void cleanup() { window_.reset(); }

  void DeterminesTheKindOfAFile() {
    const auto kind = [](const QString& file) { return kind_of(file.toStdString()); };
    QCOMPARE(kind(resource("sweeps/quick.json")).value(), FileKind::sweep);
    QCOMPARE(kind(resource("patterns/sparse.json")).value(), FileKind::pattern);
    QCOMPARE(kind(exported("runs.attn")).value(), FileKind::exported_runs);
    QCOMPARE(kind(write("runs.attn.gz", "")).value(), FileKind::exported_runs);
    QCOMPARE(kind(path("source.db")).value(), FileKind::database);
    QCOMPARE(kind(write("dump.safetensors", "")).value(), FileKind::dump);
    QVERIFY(!kind(folder_->path()));
    QCOMPARE(kind(write("training.tsv", "")).value(), FileKind::training);
    QCOMPARE(kind(folder_->path()).value(), FileKind::training);
  }

  void RefusesOtherKindsOfFiles() {
    for (const auto& [name, text] :
         {std::pair{"empty.json", ""}, std::pair{"list.json", "[1, 2]"},
          std::pair{"other.json", "{\"name\": \"x\"}"}, std::pair{"picture.png", "PNG"}}) {
      const auto kind = kind_of(write(name, text).toStdString());
      QVERIFY(!kind);
      QVERIFY(qstring(kind.error().message).contains(QLatin1String(name)));
      QVERIFY(!qstring(kind.error().message).contains(u'\n'));
    }
    QVERIFY(qstring(kind_of(path("gone.json").toStdString()).error().message)
                .contains(u"there is no such file"_s));
  }

  void ListsRecentFilesNewestFirst() {
    const QString first = write("first.json", "{}"), second = write("second.json", "{}");
    for (const QString& file : {first, second, first}) remember_file(file, FileKind::sweep);
    QCOMPARE(recent_files(), (QStringList{first, second}));
    for (int i = 0; i < 20; ++i)
      remember_file(write(QByteArray::number(i).append(".json").constData(), "{}"),
                    FileKind::sweep);
    QCOMPARE(recent_files().size(), 10);
    forget_files();
    QVERIFY(recent_files().isEmpty());
  }

  void ListsARecentFileAgainOnceItsDriveIsMounted() {
    const QString stick = path("stick"), unmounted = path("unmounted");
    QVERIFY(QDir().mkpath(stick));
    const QString there = write("there.json", "{}"), away = write("stick/away.json", "{}");
    remember_file(away, FileKind::pattern);
    QVERIFY(QDir().rename(stick, unmounted));
    remember_file(there, FileKind::sweep);
    QCOMPARE(recent_files(), QStringList{there});
    QVERIFY(recent_files(FileKind::pattern).isEmpty());
    QVERIFY(QDir().rename(unmounted, stick));
    QCOMPARE(recent_files(), (QStringList{there, away}));
    QCOMPARE(recent_files(FileKind::pattern), QStringList{away});
  }

  void ListsRecentFilesOfAKindWithoutReadingThem() {
    const QString pattern = write("pattern.json", "{\"attends\": []}");
    remember_file(pattern, FileKind::pattern);
    remember_file(write("sweep.json", "{\"contenders\": []}"), FileKind::sweep);
    QVERIFY(QFile::remove(pattern));
    QVERIFY(QFile::copy(write("other.json", "not JSON"), pattern));
    QCOMPARE(recent_files(FileKind::pattern), QStringList{pattern});
  }

  void PlacesTheFirstWindowOnTheScreen() {
    window_ = std::make_unique<MainWindow>(WindowOptions{.database = database()});
    window_->show();
    QVERIFY(QTest::qWaitForWindowExposed(window_.get()));
    const QRect there = window_->screen()->availableGeometry();
    QVERIFY(there.contains(window_->frameGeometry().topLeft()));
    QVERIFY(window_->frameGeometry().bottom() <= there.bottom());
  }

  void OpensDroppedFiles() {
    open_window();
    QTRY_VERIFY(window_->runs().is_known());
    drop({exported("runs.attn.gz")});
    QTRY_COMPARE(window_->runs().rowCount(), 1);
    QTRY_VERIFY(messages()->text().startsWith(u"Imported 1 run, 0 already present"_s));
    drop({resource("patterns/qds.json")});
    QVERIFY(window_->patterns()->isVisible());
    QVERIFY(qstring(window_->patterns()->editor().pattern().name).startsWith(u"qds"_s));
    write("training.tsv",
          "step\tloss\tlearning_rate\tgradient_norm\ttokens\tseconds\tnDCG@10\n"
          "1\t0.5\t0.1\t1\t8\t0.1\t\n");
    drop({folder_->path()});
    QVERIFY(window_->training()->isVisible());
    QTRY_COMPARE(window_->training()->chart()->figure().series.size(), std::size_t{1});
    QTRY_COMPARE(recent_files().first(), path("training.tsv"));
  }

  void OpensADroppedSweep() {
    open_window();
    QTRY_VERIFY(window_->commands()->run_action()->isEnabled());
    drop({write("mine.json",
                R"({"name": "mine", "contenders": ["full/sdpa"], "query_tokens": 10,
                      "sequence_tokens": [96], "heads": 2, "head_dim": 16})")});
    auto* form = window_->findChild<NewRunDialog*>();
    QVERIFY(form && form->isVisible());
    QCOMPARE(find<QLineEdit>("sweep_name")->text(), u"mine"_s);
    QCOMPARE(find<QLineEdit>("sequence_tokens")->text(), u"96"_s);
    auto* start = find<QPushButton>("start_run");
    QTRY_VERIFY(form->is_checked() && start->isEnabled());
    drop({write("mine.json", R"({"contenders": )")});  // no JSON
    QVERIFY(!start->isEnabled());
  }

  void RefusesDroppedFiles() {
    open_window();
    QTRY_VERIFY(window_->commands()->run_action()->isEnabled());
    const QSignalSpy requested(window_.get(), &MainWindow::window_requested);
    const auto refuse = [this](const char* name, const QByteArray& text, const QString& message) {
      drop({write(name, text)});
      QTRY_VERIFY2(messages()->text().contains(message), name);
      QVERIFY2(recent_files().isEmpty(), name);
    };
    refuse("other.json", "{}", u"neither a sweep"_s);
    refuse("mine.json", R"({"contenders": ["full/sdpa"], "windows": "none"})", path("mine.json"));
    QVERIFY(window_->findChild<NewRunDialog*>() == nullptr);
    refuse("broken.attn", "no runs", path("broken.attn"));
    refuse("other.db", "SQLite format 3" + QByteArray(500, '\0'), path("other.db"));
    QCOMPARE(requested.count(), 0);
  }

  void OpensADatabaseInANewWindow() {
    open_window();
    const QSignalSpy requested(window_.get(), &MainWindow::window_requested);
    static_cast<void>(exported("runs.attn"));
    QVERIFY(window_->open_file(path("source.db")));
    QTRY_COMPARE(requested.count(), 1);
    QCOMPARE(qstring(requested[0][0].value<WindowOptions>().database.string()), path("source.db"));
    QCOMPARE(recent_files(), QStringList{path("source.db")});
  }

  void ImportsAnExportedRun() {
    open_window();
    QTRY_VERIFY(window_->runs().is_known());
    const QSignalSpy requested(window_.get(), &MainWindow::window_requested);
    const QString file = exported("runs.attn");
    window_->show_page(MainWindow::patterns_page);
    QVERIFY(window_->open_file(file));
    QTRY_COMPARE(recent_files(), QStringList{file});
    QCOMPARE(panel()->section(), RunListPanel::runs_section);
    QCOMPARE(panel()->chosen(), window_->runs().index(0).data(RunListModel::uuid_role).toString());
    QVERIFY(page()->isVisible());
    QCOMPARE(requested.count(), 0);
  }

  void OpensTheFileOfTheCommandLine() {
    open_window({.file = resource("patterns/qds.json").toStdString()});
    QTRY_VERIFY(window_->patterns()->isVisible());
  }

  void OpensANewRunByBothKeys() {
    open_window();
    QTRY_VERIFY(window_->commands()->run_action()->isEnabled());
    const auto listed = [this](const QString& text) {
      return std::ranges::count_if(menu_actions(), [&](const QAction* action) {
        return action->isVisible() && action->text().remove(u'&') == text;
      });
    };
    QCOMPARE(listed(u"New run…"_s), 1);
    QVERIFY(window_->commands()->run_action()->shortcuts().contains(QKeySequence("Ctrl+N")));
    window_->show_page(MainWindow::patterns_page);
    QCOMPARE(listed(u"New run…"_s), 1);
    QCOMPARE(listed(u"New run with this pattern…"_s), 1);
    QCOMPARE(window_->commands()->run_action()->shortcuts().size(), 1);
  }

  void UsesEveryKeyOnce() {
    open_window();
    for (const MainWindow::PageNumber number :
         {MainWindow::compare_page, MainWindow::patterns_page, MainWindow::attention_page,
          MainWindow::training_page}) {
      window_->show_page(number);
      const QWidget* page = shown(number);
      std::map<QString, std::set<const QObject*>> taken;  // an action may be in several places
      std::set<QString> of_parts;                         // of the page, while they have the focus
      const auto take = [&](const QKeySequence& keys, const QObject* who) {
        if (!keys.isEmpty()) taken[keys.toString()].insert(who);
      };
      const auto take_action = [&](const QAction* action) {
        if (action->shortcutContext() == Qt::WindowShortcut)
          return take(action->shortcut(), action);
        of_parts.insert(action->shortcut().toString());
      };
      for (const QAction* action : menu_actions()) take_action(action);
      for (const QAction* action : page->findChildren<QAction*>()) take_action(action);
      for (const QShortcut* shortcut : page->findChildren<QShortcut*>()) {
        if (shortcut->context() == Qt::WindowShortcut)
          take(shortcut->key(), shortcut);
        else
          of_parts.insert(shortcut->key().toString());
      }
      for (const auto* button : page->findChildren<QAbstractButton*>()) {
        const auto* tool = qobject_cast<const QToolButton*>(button);
        if (!tool || !tool->defaultAction()) take(button->shortcut(), button);
      }
      for (const QLabel* label : page->findChildren<QLabel*>()) {
        if (label->buddy()) take(QKeySequence::mnemonic(label->text()), label);
      }
      for (const QAction* menu : window_->menuBar()->actions())
        take(QKeySequence::mnemonic(menu->text()), menu);
      static const QRegularExpression letter(u"^Alt\\+[A-Z]$"_s);  // underlined
      QStringList to_learn(of_parts.begin(), of_parts.end());
      for (const auto& [keys, owners] : taken) {
        if (!letter.match(keys).hasMatch()) to_learn.append(keys);
      }
      // The keys of pages count once: Ctrl and the page's number.
      static const QRegularExpression further_page(u"^Ctrl\\+[2-9]$"_s);
      to_learn.removeIf([](const QString& keys) { return further_page.match(keys).hasMatch(); });
      // Letters are listed in the menu of a chart.
      to_learn.removeIf([](const QString& keys) { return keys.size() <= 1; });
      QVERIFY2(to_learn.size() <= 30, qPrintable(to_learn.join(u' ')));
      for (const auto& [keys, owners] : taken) {
        QVERIFY2(owners.size() == 1, qPrintable(u"%1 on page %2"_s.arg(keys).arg(number)));
        QVERIFY2(!of_parts.contains(keys), qPrintable(keys));
      }
    }
  }

  void ListsEveryShortcutInLargeText() {
    const LargeText large;
    open_window();
    QTest::keyClick(window_.get(), Qt::Key_F1);
    const QWidget* dialog = find<QDialog>("shortcuts");
    const QSize screen = dialog->screen()->availableSize();
    QVERIFY2(dialog->height() < screen.height() && dialog->width() < screen.width(),
             qPrintable(u"%1 x %2"_s.arg(dialog->width()).arg(dialog->height())));
    const auto* table = dialog->findChild<QTableView*>();
    const auto keys_of = [model = table->model()](const QString& what) {
      QStringList keys;
      for (int row = 0; row < model->rowCount(); ++row) {
        if (model->index(row, 1).data().toString() == what)
          keys.append(model->index(row, 2).data().toString());
      }
      return keys;
    };
    // Once, although the menu of the page contains it, too.
    QCOMPARE(keys_of(u"Rename"_s), QStringList("F2"));
    QCOMPARE(keys_of(u"Go to the table"_s), QStringList("Ctrl+T"));
    QCOMPARE(keys_of(u"Save the pattern"_s), QStringList("Ctrl+S"));
    QVERIFY(keys_of(u"New run…"_s).contains(u"Ctrl+N"_s));
  }

  void ListsTheActionsOfThePage() {
    open_window();
    const auto texts = [this] {
      QStringList found;
      for (const QAction* menu : window_->menuBar()->actions()) {
        if (menu->objectName() != page_menu_name || !menu->isVisible()) continue;
        for (const QAction* action : menu->menu()->actions()) found.append(action->text());
      }
      return found;
    };
    QVERIFY(texts().contains(u"Rename"_s));
    window_->show_page(MainWindow::patterns_page);
    QVERIFY(texts().contains(u"Save the pattern"_s));
    QVERIFY(!texts().contains(u"Rename"_s));
    window_->show_page(MainWindow::attention_page);
    QVERIFY(texts().contains(u"Open &checkpoint…"_s));
    QVERIFY(!texts().contains(u"Save the pattern"_s));
  }

  void RequestsANewWindowForLargerText() {
    open_window();
    const QSignalSpy requested(window_.get(), &MainWindow::window_requested);
    window_->show_page(MainWindow::patterns_page);
    window_->patterns()->editor().set_title("Mine");
    QVERIFY(window_->patterns()->has_unsaved());
    QTest::keyClick(window_.get(), Qt::Key_Plus, Qt::ControlModifier);
    QCOMPARE(requested.count(), 1);  // without a question: the next window keeps the edits
    QCOMPARE(stored_text_size(), 110);
    // The state for the next window is stored before this window closes.
    QCOMPARE(QSettings().value(u"window/page"_s).toInt(),
             static_cast<int>(MainWindow::patterns_page));
    QTest::keyClick(window_.get(), Qt::Key_Minus, Qt::ControlModifier);
    QCOMPARE(stored_text_size(), 100);
  }

  void ShowsVersionAndPapers() {
    open_window();
    show_about(path("mine.db").toStdString(), window_.get());
    const auto* dialog = find<QDialog>("about");
    QTest::mouseClick(dialog->findChild<QPushButton*>(u"copy_bibtex"_s), Qt::LeftButton);
    QVERIFY(QApplication::clipboard()->text().contains("schlatt-2024-sparse-cross-encoders"));
    QString all;
    for (const QLabel* label : dialog->findChildren<QLabel*>()) all += label->text();
    QVERIFY(all.contains(u"AttnScope 0."_s));
    QVERIFY(all.contains(u"SQLite 3."_s));
    QVERIFY(all.contains(path("mine.db")));
  }
};

ATTNSCOPE_GUI_TEST(WindowFilesTest)

}  // namespace attnscope::gui
#include "window_files_test.moc"
