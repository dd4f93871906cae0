// SPDX-License-Identifier: Apache-2.0
#include "app/gui/views/new_run_drawer.h"

#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QSignalSpy>
#include <QTabWidget>
#include <QToolButton>

#include "app/gui/session/own_presets.h"
#include "app/gui/views/contender_chips.h"
#include "app/gui/views/sweep_form.h"
#include "tests/gui/gui_test.h"

namespace attnscope::gui {

class NewRunDrawerTest : public QObject {
  Q_OBJECT

  std::unique_ptr<QWidget> page_;
  NewRunDrawer* drawer_ = nullptr;

  template <typename Widget>
  [[nodiscard]] Widget* find(const char* name) const {
    return drawer_->findChild<Widget*>(QLatin1String(name));
  }
  void type_into(const char* name, const QString& text) const {
    auto* field = find<QLineEdit>(name);
    field->selectAll();
    QTest::keyClick(field, Qt::Key_Delete);
    QTest::keyClicks(field, text);
    QTRY_VERIFY(drawer_->is_checked());
  }
  void choose(const char* preset) const {
    drawer_->choose_preset(QLatin1String(preset));
    QTRY_VERIFY(drawer_->is_checked());
  }
  void click_pair(const QString& pattern, const QString& implementation) const {
    auto* chip = find<QToolButton>(qPrintable(pattern + QLatin1Char('/') + implementation));
    QVERIFY(chip != nullptr);
    chip->click();
    QTRY_VERIFY(drawer_->is_checked());
  }
  void add_pattern(const char* name) const {
    for (QAction* action : find<QPushButton>("add_pattern")->menu()->actions())
      if (action->text() == QLatin1String(name)) return action->trigger();
    QFAIL(name);
  }
  void type_file(const QString& text) const {
    auto* edit = find<QPlainTextEdit>("sweep_text");
    edit->setFocus();
    edit->selectAll();
    QTest::keyClick(edit, Qt::Key_Delete);
    for (const QString& line : text.split(QLatin1Char('\n'))) {
      QTest::keyClicks(edit, line);
      QTest::keyClick(edit, Qt::Key_Return);
    }
  }
  [[nodiscard]] std::string text() const { return drawer_->checked().sweep_text; }

 private Q_SLOTS:

  void init() {
    page_ = std::make_unique<QWidget>();
    page_->resize(1100, 760);
    drawer_ = new NewRunDrawer(page_.get());
    drawer_->set_implementations({{QStringLiteral("dense"), QStringLiteral("products, softmax")},
                                  {QStringLiteral("sdpa"), {}},
                                  {QStringLiteral("segment"), {}}},
                                 {});
    page_->show();
    QVERIFY(QTest::qWaitForWindowExposed(page_.get()));
    drawer_->open();
    QTRY_VERIFY(drawer_->is_checked());
  }
  void cleanup() { page_.reset(); }

  void TheQuickPreset_CanStartAsItIs() {
    choose("quick");
    QSignalSpy started(drawer_, &NewRunDrawer::start_asked);
    QVERIFY(find<QLabel>("estimate")->text().contains(QStringLiteral("heats")));
    QTest::mouseClick(find<QPushButton>("start_run"), Qt::LeftButton);
    QCOMPARE(started.count(), 1);
    QVERIFY(!drawer_->is_open());
  }

  void KeysAlone_FillTheFormAndStartIt() {
    QTRY_VERIFY(find<QComboBox>("preset")->hasFocus());
    auto* lengths = find<QLineEdit>("lengths");
    for (int i = 0; i < 30 && !lengths->hasFocus(); ++i)
      QTest::keyClick(QApplication::focusWidget(), Qt::Key_Tab);
    QVERIFY(lengths->hasFocus());
    lengths->selectAll();
    QTest::keyClicks(lengths, QStringLiteral("64, 128"));
    QSignalSpy started(drawer_, &NewRunDrawer::start_asked);
    // Right behind the last key, while that is still being checked.
    QTest::keyClick(lengths, Qt::Key_Return, Qt::ControlModifier);
    QTRY_COMPARE(started.count(), 1);
    QVERIFY(text().find("128") != std::string::npos);
    QVERIFY(!drawer_->is_open());
  }

  void Escape_ClosesAndKeepsWhatIsFilledIn() {
    QSignalSpy started(drawer_, &NewRunDrawer::start_asked);
    type_into("lengths", QStringLiteral("96"));
    QTest::keyClick(find<QLineEdit>("lengths"), Qt::Key_Escape);
    QVERIFY(!drawer_->is_open());
    QCOMPARE(started.count(), 0);
    drawer_->open();
    QCOMPARE(find<QLineEdit>("lengths")->text(), QStringLiteral("96"));
  }

  void ItStandsOverTheRightOfItsPageWhateverItsSize() {
    for (const QSize size : {QSize(1100, 760), QSize(700, 500), QSize(1500, 900)}) {
      page_->resize(size);
      QTRY_COMPARE(drawer_->geometry().right(), page_->width() - 1);
      QCOMPARE(drawer_->height(), page_->height());
      QVERIFY(drawer_->width() < page_->width());
    }
  }

  void AWrongRange_IsSaidWhileItIsTypedAndStopsTheStart() {
    type_into("lengths", QStringLiteral("64:4"));
    QTRY_VERIFY(find<QLabel>("lengths_problem")->isVisible());
    QVERIFY(!find<QPushButton>("start_run")->isEnabled());
    QSignalSpy started(drawer_, &NewRunDrawer::start_asked);
    QTest::keyClick(find<QLineEdit>("lengths"), Qt::Key_Return, Qt::ControlModifier);
    QCOMPARE(started.count(), 0);
    type_into("lengths", QStringLiteral("64:256:*2"));
    QVERIFY(!find<QLabel>("lengths_problem")->isVisible());
    QVERIFY(find<QPushButton>("start_run")->isEnabled());
    QVERIFY(find<QLabel>("estimate")->text().startsWith(QStringLiteral("3 heats")));
  }

  void AnEdit_TurnsThePresetIntoACustomSweep() {
    choose("quick");
    type_into("windows", QStringLiteral("8"));
    auto* preset = find<QComboBox>("preset");
    QCOMPARE(preset->currentIndex(), preset->count() - 1);
    QCOMPARE(find<QLineEdit>("sweep_name")->text(), QStringLiteral("custom"));
    choose("quick");
    QCOMPARE(find<QLineEdit>("windows")->text(), QStringLiteral("4, 64"));
  }

  void AChip_AddsAContenderAndTakesItAway() {
    const int before = drawer_->checked().cells;
    click_pair(QStringLiteral("sparse"), QStringLiteral("dense"));
    QVERIFY(drawer_->checked().ok());
    QVERIFY(drawer_->checked().cells > before);
    click_pair(QStringLiteral("sparse"), QStringLiteral("dense"));
    QCOMPARE(drawer_->checked().cells, before);
  }

  void AnotherPattern_GetsALineFromTheMenu() {
    choose("quick");
    QVERIFY(find<QToolButton>("longformer/segment") == nullptr);
    const int before = drawer_->checked().cells;
    add_pattern("longformer");
    QVERIFY(find<QToolButton>("longformer/dense")->hasFocus());
    click_pair(QStringLiteral("longformer"), QStringLiteral("segment"));
    QVERIFY(drawer_->checked().cells > before);
    choose("quick");
    QVERIFY(find<QToolButton>("longformer/segment") == nullptr);
  }

  void WhatCannotBeMeasured_IsCountedInOneLineThatSaysWhy() {
    choose("quick");
    Forecast forecast;
    for (const char* pattern : {"sparse", "longformer"}) {  // which has no line
      forecast.pairs[{QLatin1String(pattern), QStringLiteral("dense")}].reason =
          QStringLiteral("dense knows only full attention");
    }
    QVERIFY(!find<QToolButton>("more_contenders")->isVisible());
    drawer_->set_forecast(forecast);
    QVERIFY(find<QToolButton>("sparse/dense") == nullptr);
    auto* more = find<QToolButton>("more_contenders");
    QCOMPARE(more->text(), QStringLiteral("1 more that cannot run here"));
    auto* why = find<QLabel>("contender_reasons");
    QVERIFY(!why->isVisible());
    more->click();
    QVERIFY(why->isVisible());
    QCOMPARE(why->text(), QStringLiteral("sparse/dense: dense knows only full attention"));
    drawer_->set_forecast({});
    QVERIFY(find<QToolButton>("sparse/dense") != nullptr);
    QVERIFY(!more->isVisible());
  }

  void AChosenContenderThatCannotBeMeasured_IsSaidBeforeTheStart() {
    choose("quick");
    const PatternAndImplementation first = drawer_->form()->contenders()->checked().front();
    Forecast forecast;
    forecast.pairs[first].reason = QStringLiteral("not on this device");
    drawer_->set_forecast(forecast);
    QVERIFY(find<QLabel>("impossible_contenders")->isVisible());
    QVERIFY(find<QLabel>("impossible_contenders")
                ->text()
                .contains(QStringLiteral("not on this device")));
    QVERIFY(find<QPushButton>("start_run")->isEnabled());
    // Without it, it is one of those that cannot be had.
    click_pair(first.first, first.second);
    QTRY_VERIFY(find<QToolButton>(qPrintable(first.first + QLatin1Char('/') + first.second)) ==
                nullptr);
    QVERIFY(!find<QLabel>("impossible_contenders")->isVisible());
  }

  void TheEstimate_SaysTheMemoryAndWhoNeedsIt() {
    choose("quick");
    Forecast forecast;
    constexpr double mebibyte = 1 << 20;
    for (const PatternAndImplementation& pair : drawer_->form()->contenders()->checked())
      forecast.pairs[pair].item_bytes = mebibyte;
    const PatternAndImplementation dense{QStringLiteral("full"), QStringLiteral("dense")};
    forecast.pairs[dense].item_bytes = 100 * mebibyte;
    forecast.largest_tokens = 2048;
    forecast.batch_max = 10;
    forecast.batch_bytes = 400 * mebibyte;
    drawer_->set_forecast(forecast);
    const QString estimate = find<QLabel>("estimate")->text();
    QVERIFY2(estimate.contains(QStringLiteral("memory")), qPrintable(estimate));
    QVERIFY2(estimate.contains(QStringLiteral("full/dense")), qPrintable(estimate));
    QVERIFY2(estimate.contains(QStringLiteral("2048")), qPrintable(estimate));
  }

  void OtherAxes_AreBehindAdvancedAndSaidThereWhenWrong() {
    choose("quick");
    auto* heads = find<QLineEdit>("heads");
    QVERIFY(!heads->isVisible());
    QTest::mouseClick(find<QToolButton>("advanced"), Qt::LeftButton);
    QVERIFY(heads->isVisible());
    const int before = drawer_->checked().heats;
    type_into("heads", QStringLiteral("2, 4"));
    QVERIFY(drawer_->checked().ok());
    QCOMPARE(drawer_->checked().heats, 2 * before);
    drawer_->form()->show_advanced(false);
    type_into("heads", QStringLiteral("none"));
    QTRY_VERIFY(find<QLabel>("heads_problem")->isVisible());
    QVERIFY(find<QLabel>("heads_problem")->text().startsWith(QStringLiteral("'heads'")));
    QVERIFY(!find<QPushButton>("start_run")->isEnabled());
    type_into("heads", QString());
    QVERIFY(drawer_->checked().ok());
    type_into("stop_max_seconds", QStringLiteral("0.5"));
    QVERIFY(text().find("\"max_seconds\": 0.5") != std::string::npos);
  }

  void WholeModels_AreAnOperationWhoseContendersAreModels() {
    choose("quick");
    drawer_->form()->show_advanced(true);
    drawer_->form()->contenders()->set_checked({});
    type_into("operation", QStringLiteral("model"));
    add_pattern("sparse-without-kernel");
    add_pattern("full+cls-only-last-layer");
    click_pair(QStringLiteral("sparse-without-kernel"), QStringLiteral("segment"));
    click_pair(QStringLiteral("full+cls-only-last-layer"), QStringLiteral("sdpa"));
    type_into("layers", QStringLiteral("1, 2"));
    QTRY_VERIFY(find<QLabel>("memory_order_problem")->isVisible());
    type_into("memory_order", QString());
    type_into("batch_per_contender", QStringLiteral("true"));
    QVERIFY2(drawer_->checked().ok(), qPrintable(drawer_->checked().problem()));
    QVERIFY(text().find("\"sparse-without-kernel/segment\"") != std::string::npos);
    QVERIFY(text().find("\"per_contender\": true") != std::string::npos);
    type_into("cache", QStringLiteral("cold"));
    QTRY_VERIFY(find<QLabel>("cache_problem")->isVisible());
    QVERIFY(find<QLabel>("cache_problem")->text().contains(QStringLiteral("operation model")));
  }

  void AnotherDirection_IsPartOfWhatStarts() {
    choose("quick");
    drawer_->form()->show_advanced(true);
    auto* direction = find<QComboBox>("direction");
    QCOMPARE(direction->currentData().toString(), QStringLiteral("forward"));
    direction->setFocus();
    QTest::keyClick(direction, Qt::Key_Down);
    QTRY_VERIFY(drawer_->is_checked());
    QVERIFY(drawer_->checked().ok());
    QVERIFY(text().find("forward-backward") != std::string::npos);
  }

  void SeveralDocuments_ArePartOfWhatStarts() {
    choose("quick");
    QCOMPARE(find<QLineEdit>("documents")->text(), QStringLiteral("1"));
    type_into("documents", QStringLiteral("4"));
    QVERIFY(drawer_->checked().ok());
    QVERIFY(text().find("\"documents\"") != std::string::npos);
    type_into("documents", QStringLiteral("none"));
    QTRY_VERIFY(find<QLabel>("documents_problem")->isVisible());
  }

  void TheFile_ShowsWhatTheFormHolds() {
    choose("quick");
    QCOMPARE(find<QPlainTextEdit>("sweep_text")->toPlainText().toStdString(), text());
    type_into("lengths", QStringLiteral("320"));
    QTRY_VERIFY(find<QPlainTextEdit>("sweep_text")->toPlainText().contains(QStringLiteral("320")));
  }

  void ATypedFile_FillsTheFormAndStartsByKey() {
    drawer_->show_file(true);
    type_file(QStringLiteral(
        R"({"name": "typed", "contenders": ["full/sdpa"], "sequence_tokens": [96], "heads": 2})"));
    QTRY_COMPARE(find<QLineEdit>("lengths")->text(), QStringLiteral("96"));
    QCOMPARE(find<QLineEdit>("sweep_name")->text(), QStringLiteral("typed"));
    QCOMPARE(find<QLineEdit>("heads")->text(), QStringLiteral("2"));
    QSignalSpy started(drawer_, &NewRunDrawer::start_asked);
    QTest::keyClick(find<QPlainTextEdit>("sweep_text"), Qt::Key_Return, Qt::ControlModifier);
    QTRY_COMPARE(started.count(), 1);
    QVERIFY(text().starts_with(R"({"name": "typed")"));
  }

  void AWrongFile_IsSaidWithItsLineAndCannotStart() {
    choose("quick");
    const QString lengths = find<QLineEdit>("lengths")->text();
    drawer_->show_file(true);
    type_file(QStringLiteral("{\"name\": \"x\",\n\"haeds\": 2}"));
    auto* problem = find<QLabel>("sweep_text_problem");
    QTRY_VERIFY(problem->isVisible());
    QVERIFY2(problem->text().contains(QStringLiteral("line 2")), qPrintable(problem->text()));
    QVERIFY2(problem->text().contains(QStringLiteral("heads")), qPrintable(problem->text()));
    QCOMPARE(find<QPlainTextEdit>("sweep_text")->extraSelections().size(), 1);
    QVERIFY(!find<QPushButton>("start_run")->isEnabled());
    QCOMPARE(find<QLineEdit>("lengths")->text(), lengths);
    // The form's next edit makes it whole again, and undo brings the typed file back.
    drawer_->show_file(false);
    type_into("lengths", QStringLiteral("128"));
    QTRY_VERIFY(find<QPushButton>("start_run")->isEnabled());
    QVERIFY(!problem->isVisibleTo(problem->parentWidget()));
    find<QPlainTextEdit>("sweep_text")->undo();
    QVERIFY(find<QPlainTextEdit>("sweep_text")->toPlainText().contains(QStringLiteral("haeds")));
  }

  void ASweepIsKeptAsAPresetAndFoundAgain() {
    choose("quick");
    QTest::mouseClick(find<QPushButton>("save_preset"), Qt::LeftButton);
    QVERIFY(find<QLabel>("preset_problem")->text().contains(QStringLiteral("ships")));
    type_into("lengths", QStringLiteral("72"));
    type_into("sweep_name", QStringLiteral("mine"));
    QTest::keyClick(find<QLineEdit>("sweep_name"), Qt::Key_K,
                    Qt::ControlModifier | Qt::ShiftModifier);
    QTRY_VERIFY(find<QLabel>("preset_saved")->isVisible());
    QCOMPARE(find<QComboBox>("preset")->currentText(), QStringLiteral("mine"));
    const std::string kept = text();

    auto* later = new NewRunDrawer(page_.get());
    later->choose_preset(QStringLiteral("mine"));
    QTRY_VERIFY(later->is_checked());
    QCOMPARE(later->checked().sweep_text, kept);

    type_into("lengths", QStringLiteral("80"));
    type_into("sweep_name", QStringLiteral("mine"));
    QTest::mouseClick(find<QPushButton>("save_preset"), Qt::LeftButton);
    QVERIFY(find<QLabel>("preset_problem")->text().contains(QStringLiteral("again")));
    QTest::mouseClick(find<QPushButton>("save_preset"), Qt::LeftButton);
    QVERIFY(own_presets().front().text.find("80") != std::string::npos);
  }

  void GivenLengths_StandInTheForm() {
    choose("quick");
    drawer_->set_lengths({174, 512});
    QTRY_VERIFY(drawer_->is_checked());
    QCOMPARE(find<QLineEdit>("lengths")->text(), QStringLiteral("174, 512"));
    QCOMPARE(drawer_->checked().heats, 2);
  }

  void DevicesThatAreNotThere_CannotBeChosen() {
    drawer_->set_devices({{QStringLiteral("cpu"), QStringLiteral("a processor"), true, {}},
                          {QStringLiteral("cuda"), {}, false, QStringLiteral("no driver")}});
    auto* device = find<QComboBox>("sweep_device");
    QCOMPARE(device->currentData().toString(), QStringLiteral("cpu"));
    const int cuda = device->findData(QStringLiteral("cuda"));
    QVERIFY(device->itemText(cuda).contains(QStringLiteral("no driver")));
    QVERIFY(!device->model()->flags(device->model()->index(cuda, 0)).testFlag(Qt::ItemIsEnabled));
  }

  void AMissingWorker_IsSaidBesideTheContenders() {
    drawer_->set_implementations({}, QStringLiteral("attnscope-worker was not found."));
    auto* label = find<QLabel>("implementations_problem");
    QVERIFY(label->isVisible());
    QCOMPARE(label->text(), QStringLiteral("attnscope-worker was not found."));
  }

  void WhatIsNoSweep_ChangesNothingAndLeavesNothingToStart() {
    choose("quick");
    QVERIFY(!drawer_->begin_with(QStringLiteral("{\"name\": 3}")));
    QVERIFY(find<QLabel>("other_problem")->isVisible());
    QCOMPARE(find<QLineEdit>("sweep_name")->text(), QStringLiteral("quick"));
    QVERIFY(!find<QPushButton>("start_run")->isEnabled());
    choose("quick");
    QVERIFY(find<QPushButton>("start_run")->isEnabled());
  }
};

ATTNSCOPE_GUI_TEST(NewRunDrawerTest)

}  // namespace attnscope::gui
#include "new_run_drawer_test.moc"
