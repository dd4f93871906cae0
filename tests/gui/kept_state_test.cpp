// SPDX-License-Identifier: Apache-2.0
//
// The state that the next window restores: sizes, choices, run, pattern and dump.
#include <QComboBox>
#include <QSpinBox>
#include <QSplitter>
#include <QSplitterHandle>

#include "app/gui/views/attention_page.h"
#include "app/gui/views/fields.h"
#include "app/gui/views/patterns_page.h"
#include "tests/gui/window_suite.h"

namespace attnscope::gui {

class KeptStateTest : public WindowSuite {
  Q_OBJECT

  [[nodiscard]] static std::unique_ptr<QSplitter> splitter() {
    auto made = std::make_unique<QSplitter>(Qt::Horizontal);
    made->setObjectName(u"two"_s);
    for (int i = 0; i < 2; ++i) made->addWidget(new QWidget);
    made->resize(400, 100);
    made->setSizes({200, 200});
    keep_sizes(*made);
    made->show();
    return made;
  }

 private Q_SLOTS:
  void init() { reset(); }
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
      made->setObjectName(u"three"_s);
      made->addItems({u"a"_s, u"b"_s, u"c"_s});
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
    QSettings().setValue(u"kept/three"_s, 7);  // of an earlier version
    QCOMPARE(box()->currentIndex(), 0);
  }

  void RestoresTheChosenRun() {
    const QString older = QString::fromStdString(add_runs({"older"}).uuid);
    add_runs({"newer"});
    open_window();
    QTRY_VERIFY(!panel()->chosen().isEmpty());
    QVERIFY(panel()->chosen() != older);
    panel()->choose(older);
    restart();
    QTRY_COMPARE(panel()->chosen(), older);
    QTRY_VERIFY(view()->run() && view()->run()->request.uuid == older);
  }

  void ShowsTheNewestRunInPlaceOfARemovedRun() {
    QSettings().setValue(u"compare/chosen"_s, QVariantMap{{u"run"_s, u"gone"_s}});
    const QString newest = QString::fromStdString(add_runs({"here"}).uuid);
    open_window();
    QTRY_COMPARE(panel()->chosen(), newest);
  }

  void RestoresPageBaselineAndPattern() {
    open_window();
    window_->show_page(MainWindow::patterns_page);
    window_->patterns()->choose(u"longformer"_s);
    PatternEditor& before = window_->patterns()->editor();
    before.set_window(Window::of(16));
    before.set_query(7);
    before.set_documents({30, 40});
    view()->set_preferred_baseline(u"full/sdpa"_s);
    restart();
    QCOMPARE(view()->preferred_baseline(), u"full/sdpa"_s);
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
    QTRY_VERIFY(session.dump() != nullptr);
    QVERIFY(session.dump()->info().heads > 1);
    session.choose_head(0, 1);
    restart();
    QTRY_VERIFY(window_->attention()->session().head().head == 1);
    QTRY_VERIFY(window_->attention()->session().head().side(AttentionSide::a).summary != nullptr);
  }

  void KeepsTheDumpAfterARefusedOne() {
    const auto kept = QStringLiteral(ATTNSCOPE_SOURCE_DIR "/resources/dumps/example.safetensors");
    QSettings().setValue(u"attention/chosen"_s,
                         QVariantMap{{u"file"_s, kept}, {u"layer"_s, 0}, {u"head"_s, 0}});
    open_window();
    QVERIFY(window_->open_file(write("broken.safetensors", "no tensors")));
    AttentionPage* attention = window_->attention();
    QTRY_COMPARE(attention->session().file(), kept);
    QVERIFY(attention->messages()->error().contains(u"broken.safetensors"_s));
    QCOMPARE(attention->chosen().value(u"file"_s).toString(), kept);
  }

  void ForgetsADatabaseThatDoesNotOpen() {
    QSettings().setValue(u"window/database"_s, u"/mine.db"_s);
    write("attnscope.db", QByteArray(8192, 'x'));
    open_window();
    QTRY_VERIFY(messages()->isVisible());
    window_->close();
    QCOMPARE(QSettings().value(u"window/database"_s).toString(), u"/mine.db"_s);
  }

  void ForgetsARunFileOfTheCommandLine() {
    const std::filesystem::path file = path("run.attn").toStdString();
    const RunId run = add_runs({"made-up"});
    QVERIFY(open_store(database()).export_runs({run}, file));
    open_window({.database = file});
    QTRY_COMPARE(window_->runs().rowCount(), 1);
    window_->close();
    QVERIFY(!QSettings().contains(u"window/database"_s));
  }

  void StoresSettingsUnderTheNameOfTheProgram() {
    QVERIFY(QSettings().fileName().endsWith(u"/AttnScope/attnscope.conf"_s));
  }

  void IgnoresInvalidSettings() {
    QSettings().setValue(u"patterns/chosen"_s, QVariantMap{{u"pattern"_s, u"nowhere"_s},
                                                           {u"window"_s, u"-3"_s},
                                                           {u"query"_s, -5},
                                                           {u"documents"_s, QVariantList{0, -2}}});
    QSettings().setValue(
        u"attention/chosen"_s,
        QVariantMap{{u"file"_s, u"/nowhere.json"_s}, {u"layer"_s, 99}, {u"head"_s, -4}});
    open_window();
    const PatternEditor& editor = window_->patterns()->editor();
    QCOMPARE(editor.pattern().name, std::string("sparse"));
    QVERIFY(editor.item().documents.front() > 0);
    window_->show_page(MainWindow::attention_page);
    QTRY_VERIFY(window_->attention()->session().dump() != nullptr);
    QCOMPARE(window_->attention()->session().head().layer, 0);
  }
};

ATTNSCOPE_GUI_TEST(KeptStateTest)

}  // namespace attnscope::gui
#include "kept_state_test.moc"
