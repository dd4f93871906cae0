// SPDX-License-Identifier: Apache-2.0
#include "app/gui/views/figure_dialog.h"

#include <QCheckBox>
#include <QComboBox>
#include <QDoubleSpinBox>
#include <QLineEdit>
#include <QMessageBox>
#include <QProcess>
#include <QPushButton>
#include <QSettings>
#include <QSignalSpy>

#include "app/drawing/mask_drawing.h"
#include "app/drawing/printable.h"
#include "engine/report/run_figures.h"
#include "tests/gui/gui_test.h"
#include "tests/gui/run_fixture.h"

namespace attnscope::gui {

class FigureDialogTest : public StoreSuite {
  Q_OBJECT

  std::unique_ptr<FigureDialog> dialog_;

  [[nodiscard]] QByteArray bytes(const char* name) const {
    QFile file(path(name));
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
  }
  [[nodiscard]] report::Table table() const {
    return report::make_table(*store_, *store_->find_run("last"), std::nullopt, {}).value();
  }
  [[nodiscard]] report::Figure figure() const {
    return report::make_figure(table(), report::XAxis::length, report::YAxis::time).value();
  }
  void open(charts::Printable what, charts::FigureOptions shown = {}) {
    dialog_ = std::make_unique<FigureDialog>(std::move(what), std::move(shown), u"figure"_s);
    dialog_->setAttribute(Qt::WA_DeleteOnClose, false);
    dialog_->show();
    QVERIFY(QTest::qWaitForWindowExposed(dialog_.get()));
  }
  template <typename Widget>
  [[nodiscard]] Widget* find(const char* name) const {
    return dialog_->findChild<Widget*>(QLatin1String(name));
  }
  void name_file(const char* name) { find<QLineEdit>("file")->setText(path(name)); }

 private Q_SLOTS:

  void initTestCase() {
    StoreSuite::open();
    QVERIFY(!add_done_run(*store_, "made-up", {64, 128, 8192}).uuid.empty());
  }
  void init() { QSettings().remove(u"figure"_s); }
  void cleanup() { dialog_.reset(); }

  void WritesTheSameBytesAsPlot() {
    charts::FigureOptions shown;
    shown.theme = charts::ChartTheme::dark;  // the window's, not the file's
    shown.contenders = table().contenders;
    shown.intervals = false;
    shown.ranges["Sequence length (tokens)"] = charts::AxisRange{64, 256};
    for (const char* format : {"pdf", "svg", "png"}) {
      open(charts::printable(figure()), shown);
      find<QComboBox>("format")->setCurrentText(QString::fromLatin1(format).toUpper());
      find<QComboBox>("venue")->setCurrentIndex(1);
      find<QDoubleSpinBox>("font")->setValue(7);
      find<QCheckBox>("caption")->setChecked(true);
      find<QCheckBox>("title")->setChecked(false);
      find<QCheckBox>("own_height")->setChecked(true);
      find<QDoubleSpinBox>("height")->setValue(90);
      find<QCheckBox>("csv")->setChecked(true);
      const bool svg = qstrcmp(format, "svg") == 0;
      QCOMPARE(find<QCheckBox>("tex")->isEnabled(), !svg);
      find<QCheckBox>("tex")->setChecked(true);
      for (const char* program : {"window", "plot"}) QDir(folder_->path()).mkpath(program);
      const QString name = u"f-%1.%1"_s.arg(QLatin1String(format));
      find<QLineEdit>("file")->setText(folder_->filePath(u"window/"_s + name));
      QSignalSpy written(dialog_.get(), &FigureDialog::written);
      QTest::mouseClick(find<QPushButton>("write"), Qt::LeftButton);
      QTRY_COMPARE(written.size(), 1);

      QStringList arguments{"plot",      "last",
                            "--db",      path("a.db"),
                            "--width",   "acm",
                            "--font-pt", "7",
                            "--caption", "--no-title",
                            "--height",  "90",
                            "--csv",     "--no-intervals",
                            "--range-x", "64:256",
                            "-o",        folder_->filePath(u"plot/"_s + name)};
      if (!svg) arguments.append("--tex");
      QProcess plot;
      plot.start(QStringLiteral(REAL_ATTNSCOPE), arguments);
      QVERIFY(plot.waitForFinished());
      QCOMPARE(plot.exitCode(), 0);
      const auto same = [&](const QString& ending) {
        const QString stem = u"/f-%1."_s.arg(QLatin1String(format)) + ending;
        const QByteArray ours = bytes(qPrintable(u"window"_s + stem));
        return !ours.isEmpty() && ours == bytes(qPrintable(u"plot"_s + stem));
      };
      QVERIFY2(same(QLatin1String(format)), format);
      QVERIFY2(same(u"csv"_s), format);
      QVERIFY2(svg || same(u"tex"_s), format);
    }
  }

  void PreviewsThePageUnlessItIsTooLow() {
    open(charts::printable(figure()));
    QTRY_VERIFY(!dialog_->preview()->image().isNull());
    find<QCheckBox>("own_height")->setChecked(true);
    find<QDoubleSpinBox>("height")->setValue(122);
    QTRY_VERIFY(dialog_->message().contains(u"122.0 × 122.0 mm"_s));
    const QSize size = dialog_->preview()->image().size();
    QVERIFY(std::abs(size.width() - size.height()) <= 1);
    find<QDoubleSpinBox>("height")->setValue(20);
    QTRY_VERIFY(dialog_->message().contains(u"use at least"_s));
  }

  void ConfirmsReplacingExistingFiles() {
    open(charts::printable(figure()));
    name_file("old.pdf");
    find<QCheckBox>("csv")->setChecked(true);
    for (const char* name : {"old.pdf", "old.csv"}) {
      QFile file(path(name));
      QVERIFY(file.open(QIODevice::WriteOnly));
      file.write("old");
    }
    dialog_->write();
    auto* question = dialog_->findChild<QMessageBox*>(u"replace"_s);
    QVERIFY(question);
    QVERIFY(question->text().contains(u"old.pdf"_s));
    QVERIFY(question->text().contains(u"old.csv"_s));
    question->reject();
    QCOMPARE(bytes("old.pdf"), QByteArray("old"));
    QTRY_VERIFY(!dialog_->findChild<QMessageBox*>(u"replace"_s));
    dialog_->write();
    question = dialog_->findChild<QMessageBox*>(u"replace"_s);
    QVERIFY(question);
    QSignalSpy written(dialog_.get(), &FigureDialog::written);
    QTest::mouseClick(question->findChild<QPushButton*>(u"replace_files"_s), Qt::LeftButton);
    QTRY_COMPARE(written.size(), 1);
    QVERIFY(written[0][0].toString().contains(path("old.csv")));
    QVERIFY(bytes("old.pdf").startsWith("%PDF"));
  }

  void StaysOpenAfterAWriteError() {
    open(charts::printable(figure()));
    name_file("no/such/f.pdf");
    QTest::keyClick(dialog_.get(), Qt::Key_Return);
    QTRY_VERIFY2(dialog_->message().contains(u"cannot be written"_s),
                 qPrintable(dialog_->message()));
    QVERIFY(dialog_->isVisible());
  }

  void RefusesToReplaceTheDatabase() {
    (void)open_store(path("runs.svg").toStdString());
    const QByteArray before = bytes("runs.svg");
    open(charts::printable(figure()));
    find<QComboBox>("format")->setCurrentText(u"SVG"_s);
    name_file("runs.svg");
    dialog_->write();
    find<QPushButton>("replace_files")->click();
    QTRY_VERIFY2(dialog_->message().contains(u"is a database"_s), qPrintable(dialog_->message()));
    QCOMPARE(bytes("runs.svg"), before);
  }

  void RestoresTheChoices() {
    open(charts::printable(figure()));
    find<QComboBox>("venue")->setCurrentIndex(3);
    find<QDoubleSpinBox>("width")->setValue(101.5);
    find<QComboBox>("format")->setCurrentText(u"SVG"_s);
    find<QCheckBox>("csv")->setChecked(true);
    QTest::keyClick(dialog_.get(), Qt::Key_Escape);
    open(charts::printable(figure()));
    QCOMPARE(dialog_->options().width_mm, 101.5);
    QVERIFY(dialog_->options().csv);
    QVERIFY(dialog_->file().endsWith(u".svg"_s));
  }

  void ExportsMasksAndPanels() {
    const auto pattern = find_pattern("full");
    QVERIFY(pattern.has_value());
    LayoutItem item;
    item.query = 3;
    item.documents = {4};
    open(charts::printable(charts::MaskSubject{
        .source = {*pattern, {}}, .item = item, .style = charts::MaskStyle::schematic}));
    QVERIFY(!find<QCheckBox>("own_height")->isVisible());
    QVERIFY(!find<QCheckBox>("caption")->isVisible());
    QTRY_VERIFY(!dialog_->preview()->image().isNull());
    const auto facets = report::make_facets(table(), report::XAxis::length,
                                            {report::YAxis::time, report::YAxis::memory}, "");
    QVERIFY(facets.has_value());
    open(charts::printable(*facets));
    QTRY_VERIFY(!dialog_->preview()->image().isNull());
  }

  void ReachesEveryControlByTab() {
    open(charts::printable(figure()));
    const std::set<QWidget*> reached = reached_by_tab(find<QComboBox>("venue"));
    for (const char* name : {"own_height", "font", "title", "caption", "format", "csv", "tex",
                             "file", "browse", "write"})
      QVERIFY2(reached.contains(find<QWidget>(name)), name);
  }
};

ATTNSCOPE_GUI_TEST(FigureDialogTest)

}  // namespace attnscope::gui
#include "figure_dialog_test.moc"
