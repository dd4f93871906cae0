// SPDX-License-Identifier: Apache-2.0
#include "app/gui/views/new_run_dialog.h"

#include <sys/stat.h>

#include <QCheckBox>
#include <QComboBox>
#include <QDesktopServices>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QPushButton>
#include <QSignalSpy>
#include <QToolButton>
#include <QUrl>

#include "app/gui/session/sweep_draft.h"
#include "app/gui/views/contender_chips.h"
#include "tests/gui/gui_test.h"

namespace attnscope::gui {

class NewRunDialogTest : public QObject {
  Q_OBJECT

  std::unique_ptr<NewRunDialog> dialog_;
  std::unique_ptr<QSignalSpy> started_;
  QString opened_;  // in the editor

  template <typename Widget>
  [[nodiscard]] Widget* find(const char* name) const {
    return dialog_->findChild<Widget*>(QLatin1String(name));
  }
  [[nodiscard]] QPushButton* start_button() const { return find<QPushButton>("start_run"); }
  void type_into(const char* name, const QString& text) const {
    auto* field = find<QLineEdit>(name);
    field->selectAll();
    QTest::keyClick(field, Qt::Key_Delete);
    QTest::keyClicks(field, text);
    QTRY_VERIFY(dialog_->is_checked());
  }
  void choose(const char* preset) const {
    dialog_->choose_preset(QLatin1String(preset));
    QTRY_VERIFY(dialog_->is_checked());
  }
  void click_pair(const QString& pattern, const QString& implementation) const {
    auto* chip = find<QToolButton>(qPrintable(pattern + u'/' + implementation));
    QVERIFY(chip != nullptr);
    chip->click();
    QTRY_VERIFY(dialog_->is_checked());
  }
  void add_pattern(const char* name) const {
    QList<QAction*> actions = find<QPushButton>("add_pattern")->menu()->actions();
    for (qsizetype i = 0; i < actions.size(); ++i) {
      if (actions[i]->text() == QLatin1String(name)) return actions[i]->trigger();
      if (actions[i]->menu()) actions.append(actions[i]->menu()->actions());
    }
    QFAIL(name);
  }
  /// As an editor saves: into the file, or another in its place.
  void save_file(const QByteArray& bytes, bool in_place) const {
    write_bytes(in_place ? opened_ : opened_ + u".new"_s, bytes);
    if (in_place) return;
    QVERIFY(QFile::remove(opened_));
    QVERIFY(QFile::rename(opened_ + u".new"_s, opened_));
  }
  void edit_as_file() {
    opened_.clear();
    QTest::mouseClick(find<QPushButton>("edit_file"), Qt::LeftButton);
    QVERIFY(!opened_.isEmpty());
  }
  [[nodiscard]] std::string text() const { return dialog_->checked().sweep_text; }
  [[nodiscard]] QString shown(const char* label) const { return find<QLabel>(label)->text(); }
  [[nodiscard]] bool shows(const char* label) const { return find<QLabel>(label)->isVisible(); }
  [[nodiscard]] bool offers(const QString& pair) const {
    return find<QToolButton>(qPrintable(pair)) != nullptr;
  }
  /// Return with Ctrl starts the run from every field.
  [[nodiscard]] bool starts_by_key(QWidget* widget) const {
    const qsizetype before = started_->count();
    QTest::keyClick(widget, Qt::Key_Return, Qt::ControlModifier);
    return started_->count() > before;
  }

 public Q_SLOTS:
  void open_in_editor(const QUrl& file) { opened_ = file.toLocalFile(); }

 private Q_SLOTS:

  void init() {
    QDesktopServices::setUrlHandler(u"file"_s, this, "open_in_editor");
    dialog_ = std::make_unique<NewRunDialog>();
    dialog_->set_implementations({{u"dense"_s, u"products, softmax"_s},
                                  {u"sdpa"_s, {}},
                                  {u"sdpa-mask"_s, {}},
                                  {u"windowed"_s, {}},
                                  {u"segment"_s, {}}},
                                 {});
    started_ = std::make_unique<QSignalSpy>(dialog_.get(), &NewRunDialog::start_requested);
    dialog_->open();
    QVERIFY(QTest::qWaitForWindowExposed(dialog_.get()));
    QTRY_VERIFY(dialog_->is_checked());
  }
  void cleanup() {
    QDesktopServices::unsetUrlHandler(u"file"_s);
    dialog_.reset();
  }

  void StartsTheQuickPreset() {
    choose("quick");
    QVERIFY(shown("estimate").contains(u"heats"_s));
    QTest::mouseClick(start_button(), Qt::LeftButton);
    QCOMPARE(started_->count(), 1);
    QVERIFY(!dialog_->isVisible());
  }

  void ShowsWhyItCannotStart() {
    choose("quick");
    type_into("query_tokens", u"ten"_s);
    QVERIFY(!start_button()->isEnabled());
    const QString reason = shown("estimate");
    QVERIFY2(reason.startsWith(u"The run cannot start. "_s) && reason.contains(u"uery"_s),
             qPrintable(reason));
    QCOMPARE(start_button()->toolTip(), reason);
    type_into("query_tokens", u"10"_s);
    type_into("sequence_tokens", u"64:4"_s);
    QTRY_VERIFY(shows("sequence_tokens_problem"));
    QVERIFY(!start_button()->isEnabled());
    QVERIFY(!starts_by_key(find<QLineEdit>("sequence_tokens")));
    type_into("sequence_tokens", u"64:256:*2"_s);
    QVERIFY(!shows("sequence_tokens_problem"));
    QVERIFY(start_button()->isEnabled());
    QVERIFY(shown("estimate").startsWith(u"3 heats"_s));
  }

  void ReportsADesktopWithoutAnEditor() {
    choose("quick");
    edit_as_file();
    const QString message = shown("preset_saved");
    QVERIFY2(message.contains(opened_) && message.contains(u"If no editor opens"_s),
             qPrintable(message));
  }

  void DescribesPresets() {
    const auto* preset = find<QComboBox>("preset");
    QCOMPARE(preset->itemData(preset->findText(u"quick"_s), Qt::ToolTipRole).toString(),
             u"5 contenders at 64:4096:*2 tokens on cpu"_s);
  }

  void NamesProgramsWithContenders() {
    QSignalSpy named(dialog_.get(), &NewRunDialog::programs_named);
    auto* line = find<QLineEdit>("programs_path");
    line->setFocus();
    QTest::keyClicks(line, u"mine.py, ,flex"_s);
    QCOMPARE(named.count(), 0);
    QTest::keyClick(line, Qt::Key_Tab);
    QCOMPARE(named.count(), 1);
    QCOMPARE(named[0][0].toStringList(), QStringList({u"mine.py"_s, u"flex"_s}));
    line->setFocus();
    QTest::keyClick(line, Qt::Key_Return);
    QCOMPARE(started_->count(), 0);
    line->clear();
    QTest::mouseClick(start_button(), Qt::LeftButton);
    QCOMPARE(named.count(), 2);
    QVERIFY(named[1][0].toStringList().isEmpty());
  }

  void ResetsDoNotWait() {
    auto* now = find<QCheckBox>("now");
    QTest::mouseClick(now, Qt::LeftButton, {}, {8, now->height() / 2});
    for (const bool expected : {true, false}) {
      QTest::mouseClick(start_button(), Qt::LeftButton);
      QTRY_VERIFY(!started_->isEmpty());
      QCOMPARE(started_->takeFirst()[1].toBool(), expected);
      dialog_->show();
    }
  }

  void StartsByReturn() {
    auto* lengths = find<QLineEdit>("sequence_tokens");
    type_into("sequence_tokens", u"64:4"_s);
    QTest::keyClick(lengths, Qt::Key_Return);
    QCOMPARE(started_->count(), 0);
    QVERIFY(dialog_->isVisible());
    // In a list of devices, Return opens the list.
    type_into("sequence_tokens", u"96"_s);
    find<QComboBox>("device_choice")->setFocus();
    QTest::keyClick(find<QComboBox>("device_choice"), Qt::Key_Return);
    QCOMPARE(started_->count(), 0);
    lengths->setFocus();
    QTest::keyClick(lengths, Qt::Key_Return);
    QTRY_COMPARE(started_->count(), 1);
    QVERIFY(!dialog_->isVisible());
    QVERIFY(own_presets().empty());
  }

  void StartsByKeyboard() {
    QTRY_VERIFY(find<QComboBox>("preset")->hasFocus());
    auto* lengths = find<QLineEdit>("sequence_tokens");
    for (int i = 0; i < 30 && !lengths->hasFocus(); ++i)
      QTest::keyClick(QApplication::focusWidget(), Qt::Key_Tab);
    QVERIFY(lengths->hasFocus());
    lengths->selectAll();
    QTest::keyClicks(lengths, u"64, 128"_s);
    // Directly after the last key, while the text is being checked.
    QTest::keyClick(lengths, Qt::Key_Return, Qt::ControlModifier);
    QTRY_COMPARE(started_->count(), 1);
    QVERIFY(text().find("128") != std::string::npos);
    QVERIFY(!dialog_->isVisible());
  }

  void KeepsTheFormAfterEscape() {
    type_into("sequence_tokens", u"96"_s);
    QTest::keyClick(find<QLineEdit>("sequence_tokens"), Qt::Key_Escape);
    QVERIFY(!dialog_->isVisible());
    QCOMPARE(started_->count(), 0);
    dialog_->open();
    QCOMPARE(find<QLineEdit>("sequence_tokens")->text(), u"96"_s);
  }

  void MarksAnEditedPreset() {
    choose("quick");
    type_into("windows", u"8"_s);
    auto* preset = find<QComboBox>("preset");
    QCOMPARE(preset->currentIndex(), preset->count() - 1);
    QCOMPARE(find<QLineEdit>("sweep_name")->text(), u"custom"_s);
    choose("quick");
    QCOMPARE(find<QLineEdit>("windows")->text(), u"4, 64"_s);
  }

  void TogglesContenders() {
    const int before = dialog_->checked().cells;
    click_pair(u"sparse"_s, u"dense"_s);
    QVERIFY(dialog_->checked().ok());
    QVERIFY(dialog_->checked().cells > before);
    click_pair(u"sparse"_s, u"dense"_s);
    QCOMPARE(dialog_->checked().cells, before);
  }

  void AddsAPattern() {
    choose("quick");
    QVERIFY(!offers(u"longformer/segment"_s));
    const int before = dialog_->checked().cells;
    add_pattern("longformer");
    QVERIFY(find<QToolButton>("longformer/dense")->hasFocus());
    click_pair(u"longformer"_s, u"segment"_s);
    QVERIFY(dialog_->checked().cells > before);
    choose("quick");
    QVERIFY(!offers(u"longformer/segment"_s));
  }

  void CountsUnavailableContenders() {
    choose("quick");
    Forecast forecast;
    for (const char* pattern : {"sparse", "longformer"}) {  // which has no line
      forecast.pairs[{QLatin1String(pattern), u"dense"_s}].reason =
          u"dense knows only full attention"_s;
    }
    QVERIFY(!find<QToolButton>("more_contenders")->isVisible());
    dialog_->set_forecast(forecast);
    QVERIFY(!offers(u"sparse/dense"_s));
    auto* more = find<QToolButton>("more_contenders");
    QCOMPARE(more->text(), u"1 more that cannot run here"_s);
    QVERIFY(!shows("contender_reasons"));
    more->click();
    QVERIFY(shows("contender_reasons"));
    QCOMPARE(shown("contender_reasons"), u"sparse/dense: dense knows only full attention"_s);
    dialog_->set_forecast({});
    QVERIFY(offers(u"sparse/dense"_s));
    QVERIFY(!more->isVisible());
  }

  void WarnsAboutAnUnavailableContender() {
    choose("quick");
    const PatternAndImplementation first = dialog_->contenders()->checked().front();
    Forecast forecast;
    forecast.pairs[first].reason = u"not on this device"_s;
    dialog_->set_forecast(forecast);
    QVERIFY(shows("impossible_contenders"));
    QVERIFY(shown("impossible_contenders").contains(u"not on this device"_s));
    QVERIFY(start_button()->isEnabled());
    // Unchecked, it is listed among the unavailable ones.
    click_pair(first.first, first.second);
    QTRY_VERIFY(!offers(first.first + u'/' + first.second));
    QVERIFY(!shows("impossible_contenders"));
  }

  void EstimatesMemory() {
    choose("quick");
    Forecast forecast;
    constexpr double mebibyte = 1 << 20;
    for (const PatternAndImplementation& pair : dialog_->contenders()->checked())
      forecast.pairs[pair].item_bytes = mebibyte;
    const PatternAndImplementation dense{u"full"_s, u"dense"_s};
    forecast.pairs[dense].item_bytes = 100 * mebibyte;
    forecast.pairs[dense].tokens = 2048;
    forecast.batch_max = 10;
    forecast.batch_bytes = 400 * mebibyte;
    dialog_->set_forecast(forecast);
    const QString estimate = shown("estimate");
    for (const auto& words : {u"memory"_s, u"full/dense"_s, u"2048"_s, u"up to"_s, u"about 419"_s})
      QVERIFY2(estimate.contains(words), qPrintable(estimate));
    QVERIFY(!shows("too_much"));
    forecast.pairs[dense].is_least = true;
    forecast.free_bytes = 200 * mebibyte;
    dialog_->set_forecast(forecast);
    QVERIFY(shown("estimate").contains(u"at least 21"_s));
    QCOMPARE(start_button()->text(), u"Start run"_s);

    forecast.free_bytes = 50 * mebibyte;
    forecast.pairs[dense].least_seconds = 86'400;
    dialog_->set_forecast(forecast);
    QVERIFY(shown("estimate").contains(u"more than 24 h"_s));
    const QString warned = shown("too_much");
    QVERIFY2(warned.startsWith(u"full/dense needs"_s), qPrintable(warned));
    QCOMPARE(start_button()->text(), u"Start run anyway"_s);
    QVERIFY(start_button()->isEnabled());
  }

  void RefusesAnUnknownImplementation() {
    QVERIFY(dialog_->begin_with(
        QStringLiteral(R"({"contenders": ["full/nope"], "sequence_tokens": 64})")));
    QTRY_VERIFY(dialog_->is_checked());
    QVERIFY(shown("contenders_problem").contains(u"full/nope"_s));
    QVERIFY(!start_button()->isEnabled());
  }

  void ChecksAdvancedAxes() {
    choose("quick");
    auto* heads = find<QLineEdit>("heads");
    QVERIFY(!heads->isVisible());
    QTest::mouseClick(find<QToolButton>("advanced"), Qt::LeftButton);
    QVERIFY(heads->isVisible());
    const int before = dialog_->checked().heats;
    type_into("heads", u"2, 4"_s);
    QVERIFY(dialog_->checked().ok());
    QCOMPARE(dialog_->checked().heats, 2 * before);
    dialog_->show_advanced(false);
    type_into("heads", u"none"_s);
    QTRY_VERIFY(shows("heads_problem"));
    QVERIFY(shown("heads_problem").startsWith(u"'heads'"_s));
    QVERIFY(!start_button()->isEnabled());
    type_into("heads", QString());
    QVERIFY(dialog_->checked().ok());
    type_into("stop_max_seconds", u"0.5"_s);
    QVERIFY(text().find("\"max_seconds\": 0.5") != std::string::npos);
  }

  void OffersReRankers() {
    choose("quick");
    dialog_->show_advanced(true);
    dialog_->contenders()->set_checked({});
    type_into("operation", u"model"_s);
    add_pattern("sparse-without-kernel");
    add_pattern("full+cls-only-last-layer");
    click_pair(u"sparse-without-kernel"_s, u"segment"_s);
    click_pair(u"full+cls-only-last-layer"_s, u"sdpa"_s);
    type_into("layers", u"1, 2"_s);
    QTRY_VERIFY(shows("memory_order_problem"));
    type_into("memory_order", QString());
    type_into("batch_per_contender", u"true"_s);
    QVERIFY2(dialog_->checked().ok(), qPrintable(dialog_->checked().problem()));
    QVERIFY(text().find("\"sparse-without-kernel/segment\"") != std::string::npos);
    QVERIFY(text().find("\"per_contender\": true") != std::string::npos);
    type_into("cache", u"cold"_s);
    QTRY_VERIFY(shows("cache_problem"));
    QVERIFY(shown("cache_problem").contains(u"operation model"_s));
  }

  void OffersNamedValuesOfAnAxis() {
    choose("quick");
    dialog_->show_advanced(true);
    auto* direction = find<QComboBox>("direction_choice");
    QCOMPARE(direction->currentText(), u"forward"_s);
    direction->setFocus();
    QTest::keyClick(direction, Qt::Key_Down);
    QTest::keyClick(direction, Qt::Key_Down);
    QTRY_VERIFY(dialog_->is_checked());
    QVERIFY2(dialog_->checked().ok(), qPrintable(dialog_->checked().problem()));
    QVERIFY(text().find("forward-backward") != std::string::npos);
  }

  void StartsAnEditedFile() {
    choose("quick");
    edit_as_file();
    QCOMPARE(read_bytes(opened_).toStdString(), text());
    for (const bool in_place : {true, false, true}) {
      const QByteArray tokens = in_place ? "96" : "80";
      save_file(R"({"name": "typed", "contenders": ["full/sdpa"], "heads": 2,
                    "sequence_tokens": [)" +
                    tokens + "]}",
                in_place);
      QTRY_COMPARE(find<QLineEdit>("sequence_tokens")->text(), QString::fromLatin1(tokens));
    }
    QCOMPARE(find<QLineEdit>("sweep_name")->text(), u"typed"_s);
    QCOMPARE(find<QLineEdit>("heads")->text(), u"2"_s);
    // The newest saved text starts.
    save_file(R"({"name": "late", "contenders": ["full/sdpa"], "sequence_tokens": 64})", true);
    QTest::keyClick(dialog_.get(), Qt::Key_Return, Qt::ControlModifier);
    QTRY_COMPARE(started_->count(), 1);
    QVERIFY(text().starts_with(R"({"name": "late")"));
  }

  void RefusesAWrongFile() {
    choose("quick");
    const QString lengths = find<QLineEdit>("sequence_tokens")->text();
    edit_as_file();
    const QSize before = dialog_->size();
    const QByteArray wrong = "{\"name\": \"x\",\n\"haeds\": 2}";
    save_file(wrong, false);
    QTRY_VERIFY(shows("other_problem"));
    QCoreApplication::processEvents();  // lays it out
    QCOMPARE(dialog_->size(), before);
    const QWidget* start = start_button();
    QVERIFY(dialog_->rect().contains(QRect(start->mapTo(dialog_.get(), QPoint()), start->size())));
    QVERIFY2(shown("other_problem").contains(u"line 2"_s), qPrintable(shown("other_problem")));
    QVERIFY2(shown("other_problem").contains(u"heads"_s), qPrintable(shown("other_problem")));
    QVERIFY(!start_button()->isEnabled());
    QCOMPARE(find<QLineEdit>("sequence_tokens")->text(), lengths);
    QVERIFY(!starts_by_key(dialog_.get()));
    // The next edit of the form makes a valid sweep and leaves the file unchanged.
    type_into("sequence_tokens", u"128"_s);
    QTRY_VERIFY(start_button()->isEnabled());
    QVERIFY(!shows("other_problem"));
    QCOMPARE(read_bytes(opened_), wrong);
  }

  void RefusesAnUnreadableFile() {
    choose("quick");
    edit_as_file();
    const auto refused = [&] {
      return !starts_by_key(dialog_.get()) && shows("other_problem") &&
             !start_button()->isEnabled();
    };
    const QByteArray sweep = R"({"name": "x", "contenders": ["full/sdpa"], "sequence_tokens": 64})";
    save_file(sweep + QByteArray(2 << 20, ' '), true);
    QVERIFY(refused());
    save_file(sweep, true);
    QTRY_VERIFY(start_button()->isEnabled());
    QVERIFY(QFile::remove(opened_));
    QCOMPARE(::mkfifo(opened_.toLocal8Bit().constData(), 0600), 0);
    QVERIFY(refused());
    QVERIFY(QFile::remove(opened_));
    QVERIFY(refused());
    save_file(sweep, true);
    QTRY_VERIFY(start_button()->isEnabled());
  }

  void SavesAPreset() {
    choose("quick");
    QTest::mouseClick(find<QPushButton>("save_preset"), Qt::LeftButton);
    QVERIFY(shown("preset_problem").contains(u"built-in"_s));
    type_into("sequence_tokens", u"72"_s);
    type_into("sweep_name", u"mine"_s);
    QTest::keyClick(find<QLineEdit>("sweep_name"), Qt::Key_K,
                    Qt::ControlModifier | Qt::ShiftModifier);
    QTRY_VERIFY(shows("preset_saved"));
    QCOMPARE(find<QComboBox>("preset")->currentText(), u"mine"_s);
    const std::string kept = text();

    NewRunDialog later;
    later.choose_preset(u"mine"_s);
    QTRY_VERIFY(later.is_checked());
    QCOMPARE(later.checked().sweep_text, kept);

    type_into("sequence_tokens", u"80"_s);
    type_into("sweep_name", u"mine"_s);
    QTest::mouseClick(find<QPushButton>("save_preset"), Qt::LeftButton);
    QVERIFY(shown("preset_problem").contains(u"again"_s));
    QTest::mouseClick(find<QPushButton>("save_preset"), Qt::LeftButton);
    QVERIFY(own_presets().front().text.find("80") != std::string::npos);
  }

  void DisablesMissingDevices() {
    dialog_->set_devices(
        {{u"cpu"_s, u"a processor"_s, true, {}}, {u"cuda"_s, {}, false, u"no driver"_s}});
    auto* device = find<QComboBox>("device_choice");
    QCOMPARE(device->currentData().toString(), u"cpu"_s);
    const int cuda = device->findData(u"cuda"_s);
    QVERIFY(device->itemText(cuda).contains(u"no driver"_s));
    QVERIFY(!device->model()->flags(device->model()->index(cuda, 0)).testFlag(Qt::ItemIsEnabled));
  }

  void ReportsAMissingWorker() {
    dialog_->set_implementations({}, u"attnscope-worker was not found."_s);
    QVERIFY(shows("implementations_problem"));
    QCOMPARE(shown("implementations_problem"), u"attnscope-worker was not found."_s);
  }

  void RefusesAFileThatIsNoSweep() {
    choose("quick");
    QVERIFY(!dialog_->begin_with(u"{\"name\": 3}"_s));
    QVERIFY(shows("other_problem"));
    QCOMPARE(find<QLineEdit>("sweep_name")->text(), u"quick"_s);
    QVERIFY(!start_button()->isEnabled());
    choose("quick");
    QVERIFY(start_button()->isEnabled());
  }
};

ATTNSCOPE_GUI_TEST(NewRunDialogTest)

}  // namespace attnscope::gui
#include "new_run_dialog_test.moc"
