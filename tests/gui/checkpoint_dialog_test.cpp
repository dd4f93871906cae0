// SPDX-License-Identifier: Apache-2.0
//
// A checkpoint opened on page Attention: computed by another process, refused or cancelled.
#include "app/gui/views/checkpoint_dialog.h"

#include <QComboBox>
#include <QDir>
#include <QFileDialog>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QProgressBar>
#include <QPushButton>
#include <QSettings>
#include <QSpinBox>
#include <QToolButton>
#include <memory>

#include "app/gui/views/attention_page.h"
#include "app/gui/views/attention_source.h"
#include "app/gui/views/fields.h"
#include "tests/gui/gui_test.h"
#include "tests/inspect/dump_bytes.h"

namespace attnscope::gui {

class CheckpointDialogTest : public QObject {
  Q_OBJECT

  QTemporaryDir folder_;
  std::unique_ptr<AttentionPage> page_;

  [[nodiscard]] QString dump() const { return folder_.filePath(u"dump"_s); }
  [[nodiscard]] CheckpointDialog* dialog() const { return page_->findChild<CheckpointDialog*>(); }
  [[nodiscard]] QLineEdit* folder() const {
    return dialog()->findChild<QLineEdit*>(u"checkpoint_folder_path"_s);
  }
  [[nodiscard]] QLineEdit* query() const {
    return dialog()->findChild<QLineEdit*>(u"checkpoint_query"_s);
  }
  [[nodiscard]] QPlainTextEdit* document() const { return dialog()->findChild<QPlainTextEdit*>(); }
  [[nodiscard]] QPushButton* compute() const {
    return dialog()->findChild<QPushButton*>(u"compute"_s);
  }
  [[nodiscard]] QString problem() const { return dialog()->findChild<ProblemLabel*>()->text(); }
  void read_document(const QString& file) const {
    dialog()->findChild<QPushButton*>(u"document_file"_s)->click();
    auto* files = dialog()->findChild<QFileDialog*>();
    QVERIFY(files);
    QMetaObject::invokeMethod(files, "fileSelected", Q_ARG(QString, file));
    delete files;
  }
  [[nodiscard]] QString write(const char* name, const QByteArray& text) const {
    QFile file(folder_.filePath(QLatin1String(name)));
    if (!file.open(QIODevice::WriteOnly) || file.write(text) != text.size()) return {};
    return file.fileName();
  }
  QAction* checkpoint_action() const { return page_->page_actions().first().actions.first(); }
  /// The dialog, filled in.
  CheckpointDialog* open_with(const QString& text) const {
    checkpoint_action()->trigger();
    folder()->setText(u"/models/mini"_s);
    query()->setText(text);
    document()->setPlainText(u"a tall tower"_s);
    return dialog();
  }
  /// The arguments of the program, one per line.
  [[nodiscard]] QString requested() const {
    QFile file(dump() + u".arguments"_s);
    return file.open(QIODevice::ReadOnly) ? QString::fromUtf8(file.readAll()) : QString();
  }

 private Q_SLOTS:

  void initTestCase() {
    qputenv("ATTNSCOPE_PROGRAM", FAKE_ATTNSCOPE);
    qputenv("FAKE_DUMP", dump().toUtf8());
    QFile file(dump());
    const std::vector<std::byte> bytes = small_dump().bytes();
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<qint64>(bytes.size()));
  }
  void init() {
    QSettings().clear();
    page_ = std::make_unique<AttentionPage>();
    page_->resize(1200, 760);
    page_->show();
    QVERIFY(QTest::qWaitForWindowExposed(page_.get()));
    QTRY_VERIFY(page_->session().dump() != nullptr);
  }
  void cleanup() { page_.reset(); }

  void OpensByItsShortcut() {
    QTest::keyClick(page_.get(), Qt::Key_K, Qt::ControlModifier);
    QVERIFY(dialog() != nullptr);
    QCOMPARE(checkpoint_action()->shortcut(), QKeySequence(u"Ctrl+K"_s));
    QVERIFY(page_->findChild<QToolButton*>(u"open_checkpoint"_s)->isVisible());
  }

  void RequiresFolderAndQuery() {
    checkpoint_action()->trigger();
    QVERIFY(!compute()->isEnabled());
    folder()->setText(u"/models/mini"_s);
    QVERIFY(!compute()->isEnabled());
    query()->setText(u"how tall"_s);
    QVERIFY(compute()->isEnabled());
  }

  void OpensTheComputedDump() {
    open_with(u"how tall"_s);
    compute()->click();
    QTRY_VERIFY(page_->session().file().startsWith(CheckpointInspection::folder()));
    QTRY_VERIFY(dialog() == nullptr);
    QVERIFY(page_->session().file().endsWith(u"-mini.safetensors"_s));
    QVERIFY(requested().contains(u"--checkpoint=/models/mini\n--query=how tall\n"_s));
    QVERIFY(!requested().contains(u"--pattern"_s));
  }

  void PassesPatternAndWindow() {
    CheckpointDialog* opened = open_with(u"how tall"_s);
    opened->findChild<PatternPicker*>()->choose(u"Sparse asymmetric"_s);
    opened->findChild<QSpinBox*>(u"window"_s)->setValue(16);
    compute()->click();
    QTRY_VERIFY(dialog() == nullptr);
    QVERIFY(requested().contains(u"/pattern.json\n--window=16\n"_s));
  }

  void ShowsARefusal() {
    CheckpointDialog* opened = open_with(u"refused"_s);
    compute()->click();
    QTRY_VERIFY(problem().contains(u"no model's configuration"_s));
    QVERIFY(opened->isVisible());
    QVERIFY(compute()->isEnabled());
    folder()->setText(u"/models/other"_s);
    QVERIFY(problem().isEmpty());
  }

  void Cancels() {
    CheckpointDialog* opened = open_with(u"wait"_s);
    compute()->click();
    QVERIFY(opened->findChild<QProgressBar*>()->isVisible());
    QVERIFY(!compute()->isEnabled());
    QVERIFY(!folder()->isEnabled());
    opened->reject();
    QVERIFY(!opened->findChild<QProgressBar*>()->isVisibleTo(opened));
    QTRY_VERIFY(dialog() == nullptr);
    QVERIFY(page_->session().file().isEmpty());
  }

  void RestoresTheFields() {
    open_with(u"how tall"_s);
    compute()->click();
    QTRY_VERIFY(dialog() == nullptr);
    checkpoint_action()->trigger();
    QCOMPARE(folder()->text(), u"/models/mini"_s);
    QCOMPARE(query()->text(), u"how tall"_s);
    QCOMPARE(document()->toPlainText(), u"a tall tower"_s);
  }

  void ReadsADocumentFromAFile() {
    QFile file(folder_.filePath(u"page.txt"_s));
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write("a page");
    file.close();
    open_with(u"how tall"_s);
    read_document(file.fileName());
    QCOMPARE(document()->toPlainText(), u"a page"_s);
    read_document(folder_.filePath(u"none.txt"_s));
    QVERIFY(problem().contains(u"there is no document"_s));
  }

  void ComparesTwoPatternsOfPairs() {
    const QString file = write("differences.json", R"([
        {"run": "sparse-4", "query": "q1", "text": "how tall", "rbo": 0.5, "tau": null, "difference": -0.1,
         "moved": [{"document": "d1", "from": 1, "to": 7, "text": "a tower"},
                   {"document": "d2", "from": 2, "to": 1}]},
        {"run": "sparse-4", "query": "q2", "text": "how old", "rbo": 0.9, "tau": 1, "difference": 0,
         "moved": [{"document": "d3", "from": 0, "to": 2, "text": "a bridge"}]}])");
    CheckpointDialog* opened = open_with(u"any"_s);
    opened->open_comparison(file);
    auto* pairs = opened->findChild<QComboBox*>(u"checkpoint_pair"_s);
    QCOMPARE(pairs->count(), 2);  // one has no text
    QCOMPARE(pairs->itemText(0), u"sparse-4: query q1, document d1, rank 1>7"_s);
    QCOMPARE(query()->text(), u"how tall"_s);
    QCOMPARE(document()->toPlainText(), u"a tower"_s);
    pairs->setFocus();
    QTest::keyClick(pairs, Qt::Key_Down);
    QCOMPARE(query()->text(), u"how old"_s);
    QCOMPARE(document()->toPlainText(), u"a bridge"_s);
    opened->findChild<PatternPicker*>(u"checkpoint_compared"_s)->choose(u"Sparse asymmetric"_s);
    compute()->click();
    QTRY_VERIFY(dialog() == nullptr);
    QTRY_VERIFY(page_->session().dump() != nullptr);
    QCOMPARE(page_->source()->second()->title(), u"Sparse asymmetric"_s);
    checkpoint_action()->trigger();
    pairs = dialog()->findChild<QComboBox*>(u"checkpoint_pair"_s);
    QCOMPARE(pairs->currentIndex(), 1);
  }

  void RefusesAComparisonWithoutTexts() {
    open_with(u"any"_s);
    dialog()->open_comparison(write("bare.json", R"([{"run": "a", "query": "q", "rbo": 1,
        "tau": null, "difference": null, "moved": []}])"));
    QVERIFY(problem().contains(u"--queries FILE --documents FILE"_s));
    dialog()->open_comparison(write("broken.json", "[{}]"));
    QVERIFY(problem().contains(u"broken.json, line 1"_s));
    QCOMPARE(query()->text(), u"any"_s);
  }

  void KeepsOnlyTheNewestDumps() {
    for (int i = 0; i < CheckpointInspection::most_dumps + 2; ++i) {
      open_with(u"how tall"_s);
      compute()->click();
      QTRY_VERIFY(dialog() == nullptr);
    }
    const QDir kept(CheckpointInspection::folder());
    QCOMPARE(kept.entryList(QDir::Files).size(), CheckpointInspection::most_dumps);
    QVERIFY(QFile::exists(page_->session().file()));
  }
};

ATTNSCOPE_GUI_TEST(CheckpointDialogTest)

}  // namespace attnscope::gui
#include "checkpoint_dialog_test.moc"
