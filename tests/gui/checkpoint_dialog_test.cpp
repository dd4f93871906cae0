// SPDX-License-Identifier: Apache-2.0
//
// A checkpoint opened on page Attention: asked for by keyboard, computed by another process,
// refused in place, given up.
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

  [[nodiscard]] QString dump() const { return folder_.filePath(QStringLiteral("dump")); }
  [[nodiscard]] CheckpointDialog* dialog() const { return page_->findChild<CheckpointDialog*>(); }
  [[nodiscard]] QLineEdit* folder() const {
    return dialog()->findChild<QLineEdit*>(QStringLiteral("checkpoint_folder_path"));
  }
  [[nodiscard]] QLineEdit* query() const {
    return dialog()->findChild<QLineEdit*>(QStringLiteral("checkpoint_query"));
  }
  [[nodiscard]] QPlainTextEdit* document() const { return dialog()->findChild<QPlainTextEdit*>(); }
  [[nodiscard]] QPushButton* compute() const {
    return dialog()->findChild<QPushButton*>(QStringLiteral("compute"));
  }
  [[nodiscard]] QString problem() const { return dialog()->findChild<ProblemLabel*>()->text(); }
  void read_document(const QString& file) const {
    dialog()->findChild<QPushButton*>(QStringLiteral("document_file"))->click();
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
    folder()->setText(QStringLiteral("/models/mini"));
    query()->setText(text);
    document()->setPlainText(QStringLiteral("a tall tower"));
    return dialog();
  }
  /// What the program was asked, an argument a line.
  [[nodiscard]] QString requested() const {
    QFile file(dump() + QStringLiteral(".asked"));
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
    QCOMPARE(checkpoint_action()->shortcut(), QKeySequence(QStringLiteral("Ctrl+K")));
    QVERIFY(page_->findChild<QToolButton*>(QStringLiteral("open_checkpoint"))->isVisible());
  }

  void RequiresFolderAndQuery() {
    checkpoint_action()->trigger();
    QVERIFY(!compute()->isEnabled());
    folder()->setText(QStringLiteral("/models/mini"));
    QVERIFY(!compute()->isEnabled());
    query()->setText(QStringLiteral("how tall"));
    QVERIFY(compute()->isEnabled());
  }

  void OpensTheComputedDump() {
    open_with(QStringLiteral("how tall"));
    compute()->click();
    QTRY_VERIFY(page_->session().file().startsWith(CheckpointInspection::folder()));
    QTRY_VERIFY(dialog() == nullptr);
    QVERIFY(page_->session().file().endsWith(QStringLiteral("-mini.safetensors")));
    QVERIFY(requested().contains(QStringLiteral("--checkpoint=/models/mini\n--query=how tall\n")));
    QVERIFY(!requested().contains(QStringLiteral("--pattern")));
  }

  void PassesPatternAndWindow() {
    CheckpointDialog* asking = open_with(QStringLiteral("how tall"));
    asking->findChild<PatternPicker*>()->choose(QStringLiteral("Sparse asymmetric"));
    asking->findChild<QSpinBox*>(QStringLiteral("window"))->setValue(16);
    compute()->click();
    QTRY_VERIFY(dialog() == nullptr);
    QVERIFY(requested().contains(QStringLiteral("/pattern.json\n--window=16\n")));
  }

  void ShowsARefusal() {
    CheckpointDialog* asking = open_with(QStringLiteral("refused"));
    compute()->click();
    QTRY_VERIFY(problem().contains(QStringLiteral("no model's configuration")));
    QVERIFY(asking->isVisible());
    QVERIFY(compute()->isEnabled());
    folder()->setText(QStringLiteral("/models/other"));
    QVERIFY(problem().isEmpty());
  }

  void Cancels() {
    CheckpointDialog* asking = open_with(QStringLiteral("wait"));
    compute()->click();
    QVERIFY(asking->findChild<QProgressBar*>()->isVisible());
    QVERIFY(!compute()->isEnabled());
    QVERIFY(!folder()->isEnabled());
    asking->reject();
    QVERIFY(!asking->findChild<QProgressBar*>()->isVisibleTo(asking));
    QTRY_VERIFY(dialog() == nullptr);
    QVERIFY(page_->session().file().isEmpty());
  }

  void RestoresTheFields() {
    open_with(QStringLiteral("how tall"));
    compute()->click();
    QTRY_VERIFY(dialog() == nullptr);
    checkpoint_action()->trigger();
    QCOMPARE(folder()->text(), QStringLiteral("/models/mini"));
    QCOMPARE(query()->text(), QStringLiteral("how tall"));
    QCOMPARE(document()->toPlainText(), QStringLiteral("a tall tower"));
  }

  void ReadsADocumentFromAFile() {
    QFile file(folder_.filePath(QStringLiteral("page.txt")));
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write("a page");
    file.close();
    open_with(QStringLiteral("how tall"));
    read_document(file.fileName());
    QCOMPARE(document()->toPlainText(), QStringLiteral("a page"));
    read_document(folder_.filePath(QStringLiteral("none.txt")));
    QVERIFY(problem().contains(QStringLiteral("there is no document")));
  }

  void ComparesTwoPatternsOfPairs() {
    const QString file = write("differences.json", R"([
        {"run": "sparse-4", "query": "q1", "text": "how tall", "rbo": 0.5, "tau": null, "difference": -0.1,
         "moved": [{"document": "d1", "from": 1, "to": 7, "text": "a tower"},
                   {"document": "d2", "from": 2, "to": 1}]},
        {"run": "sparse-4", "query": "q2", "text": "how old", "rbo": 0.9, "tau": 1, "difference": 0,
         "moved": [{"document": "d3", "from": 0, "to": 2, "text": "a bridge"}]}])");
    CheckpointDialog* asking = open_with(QStringLiteral("any"));
    asking->open_comparison(file);
    auto* pairs = asking->findChild<QComboBox*>(QStringLiteral("checkpoint_pair"));
    QCOMPARE(pairs->count(), 2);  // one has no text
    QCOMPARE(pairs->itemText(0), QStringLiteral("sparse-4: query q1, document d1, rank 1>7"));
    QCOMPARE(query()->text(), QStringLiteral("how tall"));
    QCOMPARE(document()->toPlainText(), QStringLiteral("a tower"));
    pairs->setFocus();
    QTest::keyClick(pairs, Qt::Key_Down);
    QCOMPARE(query()->text(), QStringLiteral("how old"));
    QCOMPARE(document()->toPlainText(), QStringLiteral("a bridge"));
    asking->findChild<PatternPicker*>(QStringLiteral("checkpoint_compared"))
        ->choose(QStringLiteral("Sparse asymmetric"));
    compute()->click();
    QTRY_VERIFY(dialog() == nullptr);
    QTRY_VERIFY(page_->session().dump() != nullptr);
    QCOMPARE(page_->source()->second()->title(), QStringLiteral("Sparse asymmetric"));
    checkpoint_action()->trigger();
    pairs = dialog()->findChild<QComboBox*>(QStringLiteral("checkpoint_pair"));
    QCOMPARE(pairs->currentIndex(), 1);
  }

  void RefusesAComparisonWithoutTexts() {
    open_with(QStringLiteral("any"));
    dialog()->open_comparison(write("bare.json", R"([{"run": "a", "query": "q", "rbo": 1,
        "tau": null, "difference": null, "moved": []}])"));
    QVERIFY(problem().contains(QStringLiteral("--queries FILE --documents FILE")));
    dialog()->open_comparison(write("broken.json", "[{}]"));
    QVERIFY(problem().contains(QStringLiteral("broken.json, line 1")));
    QCOMPARE(query()->text(), QStringLiteral("any"));
  }

  void KeepsOnlyTheNewestDumps() {
    for (int i = 0; i < CheckpointInspection::most_dumps + 2; ++i) {
      open_with(QStringLiteral("how tall"));
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
