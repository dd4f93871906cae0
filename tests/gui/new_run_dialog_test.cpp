// SPDX-License-Identifier: Apache-2.0
#include "app/gui/views/new_run_dialog.h"

#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSignalSpy>
#include <QTableView>

#include "tests/gui/gui_test.h"

namespace attnscope::gui {

class NewRunDialogTest : public QObject {
  Q_OBJECT

  std::unique_ptr<NewRunDialog> dialog_;
  template <typename Widget>
  [[nodiscard]] Widget* find(const char* name) const {
    return dialog_->findChild<Widget*>(QLatin1String(name));
  }
  void type_into(const char* name, const QString& text) const {
    auto* field = find<QLineEdit>(name);
    field->selectAll();
    QTest::keyClick(field, Qt::Key_Delete);
    QTest::keyClicks(field, text);
  }
  void click_pair(const QString& pattern, const QString& implementation) const {
    auto* matrix = find<QTableView>("contenders");
    const auto* model = static_cast<ContenderMatrixModel*>(matrix->model());
    const QModelIndex cell = model->index_of(pattern, implementation);
    QVERIFY(cell.isValid());
    matrix->scrollTo(cell);
    QTest::mouseClick(matrix->viewport(), Qt::LeftButton, {}, matrix->visualRect(cell).center());
  }

 private Q_SLOTS:

  void init() {
    dialog_ = std::make_unique<NewRunDialog>();
    dialog_->set_implementations({{QStringLiteral("dense"), {}},
                                  {QStringLiteral("sdpa"), {}},
                                  {QStringLiteral("segment"), {}}},
                                 {});
    dialog_->show();
    QVERIFY(QTest::qWaitForWindowExposed(dialog_.get()));
  }
  void cleanup() { dialog_.reset(); }

  void TheQuickPreset_CanStartAsItIs() {
    dialog_->choose_preset(QStringLiteral("quick"));
    QSignalSpy started(dialog_.get(), &NewRunDialog::start_asked);
    QVERIFY(find<QLabel>("estimate")->text().contains(QStringLiteral("heats")));
    QTest::mouseClick(find<QPushButton>("start_run"), Qt::LeftButton);
    QCOMPARE(started.count(), 1);
    QVERIFY(!dialog_->isVisible());
  }

  void AWrongRange_IsSaidWhileItIsTypedAndStopsTheStart() {
    type_into("lengths", QStringLiteral("64:4"));
    QVERIFY(find<QLabel>("lengths_problem")->isVisible());
    QVERIFY(!find<QPushButton>("start_run")->isEnabled());
    type_into("lengths", QStringLiteral("64:256:*2"));
    QVERIFY(!find<QLabel>("lengths_problem")->isVisible());
    QVERIFY(find<QPushButton>("start_run")->isEnabled());
    QVERIFY(find<QLabel>("estimate")->text().startsWith(QStringLiteral("3 heats")));
  }

  void AnEdit_TurnsThePresetIntoACustomSweep() {
    dialog_->choose_preset(QStringLiteral("quick"));
    type_into("windows", QStringLiteral("8"));
    auto* preset = find<QComboBox>("preset");
    QCOMPARE(preset->currentIndex(), preset->count() - 1);
    QCOMPARE(find<QLineEdit>("sweep_name")->text(), QStringLiteral("custom"));
    dialog_->choose_preset(QStringLiteral("quick"));
    QCOMPARE(find<QLineEdit>("windows")->text(), QStringLiteral("4, 64"));
  }

  void AClickInTheMatrix_AddsAContender() {
    const int before = dialog_->checked().cells;
    click_pair(QStringLiteral("longformer"), QStringLiteral("segment"));
    QVERIFY(dialog_->checked().ok());
    QVERIFY(dialog_->checked().cells > before);
    click_pair(QStringLiteral("longformer"), QStringLiteral("segment"));
    QCOMPARE(dialog_->checked().cells, before);
  }

  void AnotherDirection_IsPartOfWhatStarts() {
    dialog_->choose_preset(QStringLiteral("quick"));
    auto* direction = find<QComboBox>("direction");
    QCOMPARE(direction->currentData().toString(), QStringLiteral("forward"));
    direction->setFocus();
    QTest::keyClick(direction, Qt::Key_Down);
    QVERIFY(dialog_->checked().ok());
    QVERIFY(dialog_->checked().sweep_text.find("forward-backward") != std::string::npos);
    auto* preset = find<QComboBox>("preset");
    QCOMPARE(preset->currentIndex(), preset->count() - 1);
  }

  void SeveralDocuments_ArePartOfWhatStarts() {
    dialog_->choose_preset(QStringLiteral("quick"));
    QCOMPARE(find<QLineEdit>("documents")->text(), QStringLiteral("1"));
    type_into("documents", QStringLiteral("4"));
    QVERIFY(dialog_->checked().ok());
    QVERIFY(dialog_->checked().sweep_text.find("\"documents\"") != std::string::npos);
    type_into("documents", QStringLiteral("none"));
    QVERIFY(find<QLabel>("documents_problem")->isVisible());
  }

  void AMissingWorker_IsSaidBesideTheContenders() {
    dialog_->set_implementations({}, QStringLiteral("attnscope-worker was not found."));
    auto* label = find<QLabel>("implementations_problem");
    QVERIFY(label->isVisible());
    QCOMPARE(label->text(), QStringLiteral("attnscope-worker was not found."));
  }
};

}  // namespace attnscope::gui

ATTNSCOPE_GUI_TEST_MAIN(attnscope::gui::NewRunDialogTest)
#include "new_run_dialog_test.moc"
