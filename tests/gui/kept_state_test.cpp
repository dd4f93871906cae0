// SPDX-License-Identifier: Apache-2.0
//
// What a window shows again after it was closed: sizes, choices, the run, the pattern, the dump.
#include <QComboBox>
#include <QSettings>
#include <QSpinBox>
#include <QSplitter>
#include <QSplitterHandle>

#include "app/gui/main_window.h"
#include "app/gui/views/attention_page.h"
#include "app/gui/views/compare_page.h"
#include "app/gui/views/fields.h"
#include "app/gui/views/page.h"
#include "app/gui/views/patterns_page.h"
#include "app/gui/views/run_list_panel.h"
#include "app/gui/views/run_view.h"
#include "tests/gui/gui_test.h"
#include "tests/gui/run_fixture.h"

namespace attnscope::gui {

class KeptStateTest : public QObject {
  Q_OBJECT

  std::unique_ptr<QTemporaryDir> folder_;
  std::unique_ptr<MainWindow> window_;

  [[nodiscard]] std::filesystem::path database() const {
    return folder_->filePath(QStringLiteral("attnscope.db")).toStdString();
  }
  void open_window() {
    window_ = std::make_unique<MainWindow>(WindowOptions{.database = database()});
    window_->show();
    QVERIFY(QTest::qWaitForWindowExposed(window_.get()));
  }
  void restart() {
    window_->close();
    window_.reset();
    open_window();
  }
  [[nodiscard]] RunListPanel* list() const { return window_->compare()->run_list(); }
  [[nodiscard]] static std::unique_ptr<QSplitter> splitter() {
    auto made = std::make_unique<QSplitter>(Qt::Horizontal);
    made->setObjectName(QStringLiteral("two"));
    for (int i = 0; i < 2; ++i) made->addWidget(new QWidget);
    made->resize(400, 100);
    made->setSizes({200, 200});
    keep_sizes(*made);
    made->show();
    return made;
  }

 private Q_SLOTS:

  void init() {
    folder_ = std::make_unique<QTemporaryDir>();
    qputenv("ATTNSCOPE_PROGRAM", FAKE_ATTNSCOPE);
    QSettings().clear();
  }
  void cleanup() { window_.reset(); }

  void RestoresSizes() {
    const auto first = splitter();
    QVERIFY(QTest::qWaitForWindowExposed(first.get()));
    QSplitterHandle* handle = first->handle(1);
    const QPoint middle = handle->rect().center();
    QTest::mousePress(handle, Qt::LeftButton, {}, middle);
    QTest::mouseMove(handle, middle + QPoint(-80, 0));
    QTest::mouseRelease(handle, Qt::LeftButton, {}, middle + QPoint(-80, 0));
    QVERIFY(first->sizes().front() < 150);
    QCOMPARE(splitter()->sizes(), first->sizes());
  }

  void StoresOnlyChoicesOfTheUser() {
    const auto box = [] {
      auto made = std::make_unique<QComboBox>();
      made->setObjectName(QStringLiteral("three"));
      made->addItems({QStringLiteral("a"), QStringLiteral("b"), QStringLiteral("c")});
      keep_choice(*made);
      return made;
    };
    const auto first = box();
    first->setCurrentIndex(1);
    QCOMPARE(box()->currentIndex(), 0);
    first->setFocus();
    QTest::keyClick(first.get(), Qt::Key_Down);
    QCOMPARE(first->currentIndex(), 2);
    QCOMPARE(box()->currentIndex(), 2);
    QSettings().setValue(QStringLiteral("kept/three"), 7);  // of an earlier version
    QCOMPARE(box()->currentIndex(), 0);
  }

  void RestoresTheChosenRun() {
    QString older;
    {
      Store store = open_store(database());
      older = QString::fromStdString(add_done_run(store, "older", {64, 128}).uuid);
      QVERIFY(!add_done_run(store, "newer", {64, 128}).uuid.empty());
    }
    open_window();
    QTRY_VERIFY_WITH_TIMEOUT(!list()->chosen().isEmpty(), patience_ms);
    QVERIFY(list()->chosen() != older);
    list()->choose(older);
    restart();
    QTRY_COMPARE_WITH_TIMEOUT(list()->chosen(), older, patience_ms);
    const RunView* view = window_->compare()->run_view();
    QTRY_VERIFY_WITH_TIMEOUT(view->run() && view->run()->request.uuid == older, patience_ms);
  }

  void ShowsTheNewestRunInPlaceOfARemovedRun() {
    QSettings().setValue(QStringLiteral("compare/chosen"),
                         QVariantMap{{QStringLiteral("run"), QStringLiteral("gone")}});
    QString newest;
    {
      Store store = open_store(database());
      newest = QString::fromStdString(add_done_run(store, "here", {64, 128}).uuid);
    }
    open_window();
    QTRY_COMPARE_WITH_TIMEOUT(list()->chosen(), newest, patience_ms);
  }

  void RestoresPatternWindowAndLengths() {
    open_window();
    window_->show_page(MainWindow::patterns_page);
    PatternsPage* page = window_->patterns();
    page->choose(QStringLiteral("longformer"));
    page->editor().set_window(Window::of(16));
    page->editor().set_query(7);
    page->editor().set_documents({30, 40});
    restart();
    QTRY_VERIFY(window_->patterns()->isVisible());
    PatternEditor& editor = window_->patterns()->editor();
    QCOMPARE(editor.pattern().name, std::string("longformer"));
    QCOMPARE(editor.chosen_window().text(), std::string("16"));
    QCOMPARE(editor.item().query, std::int64_t{7});
    QCOMPARE(editor.item().documents, (std::vector<std::int64_t>{30, 40}));
    QVERIFY(!editor.undo_stack().canUndo());
  }

  void RestoresTheHead() {
    open_window();
    window_->show_page(MainWindow::attention_page);
    AttentionSession& session = window_->attention()->session();
    QTRY_VERIFY_WITH_TIMEOUT(session.dump() != nullptr, patience_ms);
    QVERIFY(session.dump()->info().heads > 1);
    session.choose_head(0, 1);
    restart();
    QTRY_VERIFY_WITH_TIMEOUT(window_->attention()->session().head().head == 1, patience_ms);
    QTRY_VERIFY_WITH_TIMEOUT(
        window_->attention()->session().head().side(AttentionSide::a).summary != nullptr,
        patience_ms);
  }

  void KeepsTheDumpAfterARefusedOne() {
    const auto kept = QStringLiteral(ATTNSCOPE_SOURCE_DIR "/resources/dumps/example.safetensors");
    QSettings().setValue(QStringLiteral("attention/chosen"),
                         QVariantMap{{QStringLiteral("file"), kept},
                                     {QStringLiteral("layer"), 0},
                                     {QStringLiteral("head"), 0}});
    open_window();
    QFile broken(folder_->filePath(QStringLiteral("broken.safetensors")));
    QVERIFY(broken.open(QIODevice::WriteOnly) && broken.write("no tensors") > 0);
    broken.close();
    QVERIFY(window_->open_file(broken.fileName()));
    AttentionPage* page = window_->attention();
    QTRY_COMPARE_WITH_TIMEOUT(page->session().file(), kept, patience_ms);
    QVERIFY(page->messages()->error().contains(QStringLiteral("broken.safetensors")));
    QCOMPARE(page->chosen().value(QStringLiteral("file")).toString(), kept);
  }

  void ForgetsADatabaseThatDoesNotOpen() {
    QSettings().setValue(QStringLiteral("window/database"), QStringLiteral("/mine.db"));
    QFile foreign(QString::fromStdString(database().string()));
    QVERIFY(foreign.open(QIODevice::WriteOnly) && foreign.write(QByteArray(8192, 'x')) > 0);
    foreign.close();
    open_window();
    QTRY_VERIFY_WITH_TIMEOUT(window_->compare()->messages()->isVisible(), patience_ms);
    window_->close();
    QCOMPARE(QSettings().value(QStringLiteral("window/database")).toString(),
             QStringLiteral("/mine.db"));
  }

  void ForgetsARunFileOfTheCommandLine() {
    const std::filesystem::path file = folder_->filePath(QStringLiteral("run.attn")).toStdString();
    {
      Store store = open_store(database());
      QVERIFY(store.export_runs({add_done_run(store, "made-up", {64})}, file));
    }
    window_ = std::make_unique<MainWindow>(WindowOptions{.database = file});
    QTRY_COMPARE_WITH_TIMEOUT(window_->runs().rowCount(), 1, patience_ms);
    window_->close();
    QVERIFY(!QSettings().contains(QStringLiteral("window/database")));
  }

  void StoresSettingsUnderTheNameOfTheProgram() {
    QVERIFY(QSettings().fileName().endsWith(QStringLiteral("/AttnScope/attnscope.conf")));
  }

  void IgnoresInvalidSettings() {
    QSettings().setValue(QStringLiteral("patterns/chosen"),
                         QVariantMap{{QStringLiteral("pattern"), QStringLiteral("nowhere")},
                                     {QStringLiteral("window"), QStringLiteral("-3")},
                                     {QStringLiteral("query"), -5},
                                     {QStringLiteral("documents"), QVariantList{0, -2}}});
    QSettings().setValue(QStringLiteral("attention/chosen"),
                         QVariantMap{{QStringLiteral("file"), QStringLiteral("/nowhere.json")},
                                     {QStringLiteral("layer"), 99},
                                     {QStringLiteral("head"), -4}});
    open_window();
    const PatternEditor& editor = window_->patterns()->editor();
    QCOMPARE(editor.pattern().name, std::string("sparse"));
    QVERIFY(editor.item().documents.front() > 0);
    window_->show_page(MainWindow::attention_page);
    QTRY_VERIFY_WITH_TIMEOUT(window_->attention()->session().dump() != nullptr, patience_ms);
    QCOMPARE(window_->attention()->session().head().layer, 0);
  }
};

ATTNSCOPE_GUI_TEST(KeptStateTest)

}  // namespace attnscope::gui
#include "kept_state_test.moc"
