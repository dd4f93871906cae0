// SPDX-License-Identifier: Apache-2.0
//
// A checkpoint opened on page Attention: asked for by keyboard, computed by another process,
// refused in place, given up.
#include "app/gui/views/checkpoint_dialog.h"

#include <QDir>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QSettings>
#include <QSpinBox>
#include <QToolButton>
#include <memory>

#include "app/gui/views/attention_page.h"
#include "app/gui/views/attention_source.h"
#include "app/gui/views/problem_label.h"
#include "tests/gui/gui_test.h"
#include "tests/inspect/dump_bytes.h"

namespace attnscope::gui {

class CheckpointDialogTest : public QObject {
  Q_OBJECT

  QTemporaryDir folder_;
  std::unique_ptr<AttentionPage> page_;

  [[nodiscard]] QString dump() const { return folder_.filePath(QStringLiteral("dump")); }
  [[nodiscard]] CheckpointDialog* dialog() const { return page_->findChild<CheckpointDialog*>(); }
  /// The dialog, filled in.
  CheckpointDialog* open_with(const QString& query) const {
    page_->checkpoint_action()->trigger();
    dialog()->folder()->setText(QStringLiteral("/models/mini"));
    dialog()->query()->setText(query);
    dialog()->document()->setPlainText(QStringLiteral("a tall tower"));
    return dialog();
  }
  /// What the program was asked, an argument a line.
  [[nodiscard]] QString asked() const {
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

  void ItsShortcutOpensTheDialog_AndStandsInTheListOfShortcuts() {
    QTest::keyClick(page_.get(), Qt::Key_K, Qt::ControlModifier);
    QVERIFY(dialog() != nullptr);
    QVERIFY(page_->page_actions().first().actions.contains(page_->checkpoint_action()));
    QVERIFY(page_->source()->checkpoint_button()->isVisible());
  }

  void WithoutFolderAndQuery_NothingCanBeComputed() {
    page_->checkpoint_action()->trigger();
    QVERIFY(!dialog()->compute_button()->isEnabled());
    dialog()->folder()->setText(QStringLiteral("/models/mini"));
    QVERIFY(!dialog()->compute_button()->isEnabled());
    dialog()->query()->setText(QStringLiteral("how tall"));
    QVERIFY(dialog()->compute_button()->isEnabled());
  }

  void WhatIsComputed_IsOpenedAsAnyDump() {
    CheckpointDialog* asking = open_with(QStringLiteral("how tall"));
    asking->compute_button()->click();
    QTRY_VERIFY(page_->session().file().startsWith(CheckpointInspection::folder()));
    QTRY_VERIFY(dialog() == nullptr);
    QVERIFY(page_->session().file().endsWith(QStringLiteral("-mini.safetensors")));
    QVERIFY(asked().contains(QStringLiteral("--checkpoint=/models/mini\n--query=how tall\n")));
    QVERIFY(!asked().contains(QStringLiteral("--pattern")));
  }

  void AChosenPattern_IsAskedForWithItsWindow() {
    CheckpointDialog* asking = open_with(QStringLiteral("how tall"));
    asking->pattern()->choose(QStringLiteral("Sparse asymmetric"));
    asking->pattern()->window()->setValue(16);
    asking->compute_button()->click();
    QTRY_VERIFY(dialog() == nullptr);
    QVERIFY(asked().contains(QStringLiteral("/pattern.json\n--window=16\n")));
  }

  void ARefusal_IsSaidInTheDialog_WhichStaysOpen() {
    CheckpointDialog* asking = open_with(QStringLiteral("refused"));
    asking->compute_button()->click();
    QTRY_VERIFY(asking->problem()->text().contains(QStringLiteral("no model's configuration")));
    QVERIFY(asking->isVisible());
    QVERIFY(asking->compute_button()->isEnabled());
    asking->folder()->setText(QStringLiteral("/models/other"));
    QVERIFY(asking->problem()->text().isEmpty());
  }

  void WhileItComputes_ItCanBeGivenUp() {
    CheckpointDialog* asking = open_with(QStringLiteral("wait"));
    asking->compute_button()->click();
    QVERIFY(asking->is_busy());
    QVERIFY(!asking->compute_button()->isEnabled());
    QVERIFY(!asking->folder()->isEnabled());
    asking->reject();
    QVERIFY(!asking->is_busy());
    QTRY_VERIFY(dialog() == nullptr);
    QVERIFY(page_->session().file().isEmpty());
  }

  void WhatWasTyped_IsThereTheNextTime() {
    open_with(QStringLiteral("how tall"))->compute_button()->click();
    QTRY_VERIFY(dialog() == nullptr);
    page_->checkpoint_action()->trigger();
    QCOMPARE(dialog()->folder()->text(), QStringLiteral("/models/mini"));
    QCOMPARE(dialog()->query()->text(), QStringLiteral("how tall"));
    QCOMPARE(dialog()->document()->toPlainText(), QStringLiteral("a tall tower"));
  }

  void ADocument_CanBeReadFromAFile() {
    QFile file(folder_.filePath(QStringLiteral("page.txt")));
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write("a page");
    file.close();
    CheckpointDialog* asking = open_with(QStringLiteral("how tall"));
    asking->read_document(file.fileName());
    QCOMPARE(asking->document()->toPlainText(), QStringLiteral("a page"));
    asking->read_document(folder_.filePath(QStringLiteral("none.txt")));
    QVERIFY(asking->problem()->text().contains(QStringLiteral("there is no document")));
  }

  void OnlyTheNewestDumpsAreKept() {
    for (int i = 0; i < CheckpointInspection::most_dumps + 2; ++i) {
      open_with(QStringLiteral("how tall"))->compute_button()->click();
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
