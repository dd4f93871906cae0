// SPDX-License-Identifier: Apache-2.0
//
// A checkpoint opened on page Attention: computed by another process, refused or cancelled.

#include <QDir>
#include <QPlainTextEdit>
#include <QProgressBar>
#include <QSpinBox>
#include <QToolButton>

#include "app/gui/views/attention_page.h"
#include "app/gui/views/attention_source.h"
#include "app/gui/views/fields.h"
#include "tests/gui/page_suite.h"

namespace attnscope::gui {

class CheckpointDialogTest : public PageSuite<AttentionPage> {
  Q_OBJECT

  [[nodiscard]] CheckpointDialog* dialog() const { return page_->findChild<CheckpointDialog*>(); }
  [[nodiscard]] QLineEdit* folder() const { return find<QLineEdit>("checkpoint_folder_path"); }
  [[nodiscard]] QLineEdit* query() const { return find<QLineEdit>("checkpoint_query"); }
  [[nodiscard]] QPlainTextEdit* document() const { return dialog()->findChild<QPlainTextEdit*>(); }
  [[nodiscard]] QPushButton* compute() const { return find<QPushButton>("compute"); }
  [[nodiscard]] QString problem() const { return dialog()->findChild<ProblemLabel*>()->text(); }
  void read_document(const QString& file) const {
    find<QPushButton>("document_file")->click();
    answer_file(file);
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
  /// Computes what the dialog asks for, until the dialog closes.
  void compute_dump() const {
    compute()->click();
    QTRY_VERIFY(dialog() == nullptr);
  }
  /// The arguments of the program, one per line.
  [[nodiscard]] QByteArray requested() const { return read_bytes(path("dump.arguments")); }

 private Q_SLOTS:

  void initTestCase() {
    qputenv("ATTNSCOPE_PROGRAM", FAKE_ATTNSCOPE);
    qputenv("FAKE_DUMP", write("dump", bytes_of(small_dump())).toUtf8());
  }
  void init() {
    show_page({1200, 760});
    QTRY_VERIFY(page_->session().dump() != nullptr);
  }
  void cleanup() { page_.reset(); }

  void OpensByItsShortcut() {
    QTest::keyClick(page_.get(), Qt::Key_K, Qt::ControlModifier);
    QVERIFY(dialog() != nullptr);
    QCOMPARE(checkpoint_action()->shortcut(), QKeySequence(u"Ctrl+K"_s));
    QVERIFY(find<QToolButton>("open_checkpoint")->isVisible());
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
    compute_dump();
    QTRY_VERIFY(page_->session().file().startsWith(CheckpointInspection::folder()));
    QVERIFY(page_->session().file().endsWith(u"-mini.safetensors"_s));
    QVERIFY(requested().contains("--checkpoint=/models/mini\n--query=how tall\n"));
    QVERIFY(!requested().contains("--pattern"));
    // The dialog opens again with the same fields.
    checkpoint_action()->trigger();
    QCOMPARE(folder()->text(), u"/models/mini"_s);
    QCOMPARE(query()->text(), u"how tall"_s);
    QCOMPARE(document()->toPlainText(), u"a tall tower"_s);
  }

  void PassesPatternAndWindow() {
    CheckpointDialog* opened = open_with(u"how tall"_s);
    opened->findChild<PatternPicker*>()->choose(u"Sparse asymmetric"_s);
    opened->findChild<QSpinBox*>(u"window"_s)->setValue(16);
    compute_dump();
    QVERIFY(requested().contains("/pattern.json\n--window=16\n"));
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

  void ReadsADocumentFromAFile() {
    open_with(u"how tall"_s);
    read_document(write("page.txt", "a page"));
    QCOMPARE(document()->toPlainText(), u"a page"_s);
    read_document(path("none.txt"));
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
    compute_dump();
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
      compute_dump();
    }
    const QDir kept(CheckpointInspection::folder());
    QCOMPARE(kept.entryList(QDir::Files).size(), CheckpointInspection::most_dumps);
    QVERIFY(QFile::exists(page_->session().file()));
  }
};

ATTNSCOPE_GUI_TEST(CheckpointDialogTest)

}  // namespace attnscope::gui
#include "checkpoint_dialog_test.moc"
