// SPDX-License-Identifier: Apache-2.0
//
// Page Attention as a person drives it: by mouse, and by keyboard alone.
#include "app/gui/views/attention_page.h"

#include <QCheckBox>
#include <QClipboard>
#include <QComboBox>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QPointer>
#include <QPushButton>
#include <QSettings>
#include <QSpinBox>
#include <QTabBar>
#include <QTabWidget>
#include <QTableWidget>
#include <QToolButton>
#include <cmath>

#include "app/gui/charts/run_chart.h"
#include "app/gui/session/opened_files.h"
#include "app/gui/views/attention_numbers.h"
#include "app/gui/views/attention_source.h"
#include "app/gui/views/figure_dialog.h"
#include "app/gui/views/head_grid.h"
#include "app/gui/views/message_bar.h"
#include "app/gui/views/regions_view.h"
#include "app/gui/views/token_text.h"
#include "engine/sweep/sweep.h"
#include "tests/gui/gui_test.h"
#include "tests/inspect/dump_bytes.h"
#include "tests/inspect/regions_file.h"

namespace attnscope::gui {

class AttentionPageTest : public QObject {
  Q_OBJECT

  QTemporaryDir folder_;
  std::unique_ptr<AttentionPage> page_;

  [[nodiscard]] AttentionSession& session() const { return page_->session(); }
  [[nodiscard]] const HeadUnderPatterns& head() const { return session().head(); }
  [[nodiscard]] bool has(AttentionSide side) const { return head().side(side).summary != nullptr; }
  [[nodiscard]] charts::HeatView* map(AttentionSide side = AttentionSide::a) const {
    return page_->map(side);
  }
  [[nodiscard]] QPoint at(qint64 query, qint64 key) const {
    return map()->position_of(query, key).toPoint();
  }
  [[nodiscard]] QString written(const DumpParts& parts, const char* name) const {
    QFile file(folder_.filePath(QLatin1String(name)));
    const std::vector<std::byte> bytes = parts.bytes();
    if (!file.open(QIODevice::WriteOnly)) return {};
    file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<qint64>(bytes.size()));
    return file.fileName();
  }
  template <typename Widget>
  Widget* find(const char* name) const {
    return page_->findChild<Widget*>(QLatin1String(name));
  }
  [[nodiscard]] QString explanation() const { return find<QLabel>("explanation")->text(); }
  void show_tab(const char* name) const {
    auto* tabs = find<QTabWidget>("number_tabs");
    tabs->setCurrentIndex(-1);
    for (int tab = 0; tab < tabs->count(); ++tab) {
      if (tabs->tabText(tab).remove(QLatin1Char('&')) == QLatin1String(name))
        tabs->setCurrentIndex(tab);
    }
  }
  void set_second_window(int tokens) const {
    page_->source()->second()->findChild<QSpinBox*>(QStringLiteral("window"))->setValue(tokens);
  }
  void choose_second(const QString& title) const { page_->source()->second()->choose(title); }

 private Q_SLOTS:

  void init() {
    QSettings().clear();
    page_ = std::make_unique<AttentionPage>();
    page_->resize(1200, 760);
    page_->show();
    QVERIFY(QTest::qWaitForWindowExposed(page_.get()));
    QTRY_VERIFY(has(AttentionSide::a));
    QTRY_VERIFY(session().received().has_value());
    QTRY_VERIFY(map()->is_settled());
  }
  void cleanup() { page_.reset(); }

  void TheExample_OpensByItselfAndSaysWhatItIs() {
    QVERIFY(session().file().isEmpty());
    auto* note = page_->findChild<QLabel*>(QStringLiteral("dump_note"));
    QVERIFY(note->text().contains(QStringLiteral("not a trained model")));
    QVERIFY(has(AttentionSide::a));
  }

  void EveryHead_GetsAPicture() {
    const QAbstractItemModel& heads = *find<HeadGrid>("heads")->model();
    for (int layer = 0; layer < heads.rowCount(); ++layer) {
      for (int number = 0; number < heads.columnCount(); ++number) {
        const QModelIndex cell = heads.index(layer, number);
        QTRY_VERIFY(!cell.data(Qt::DecorationRole).value<QImage>().isNull());
      }
    }
    const QModelIndex cell = heads.index(1, 2);
    QVERIFY(cell.data(Qt::ToolTipRole).toString().contains(QStringLiteral("%")));
    const auto light = cell.data(Qt::DecorationRole).value<QImage>();
    page_->setPalette(QPalette(Qt::black, Qt::black));
    QVERIFY(cell.data(Qt::DecorationRole).value<QImage>() != light);
  }

  void MassFromGroupToGroup_IsOfTheGroupsThatHaveTokens() {
    const auto* table = find<QTableWidget>("group_mass");
    QCOMPARE(table->rowCount(), 3);
    QCOMPARE(table->horizontalHeaderItem(2)->text(), QStringLiteral("document"));
    QCOMPARE(
        table->item(1, 2)->text(),
        share_words(
            head().side(AttentionSide::a).summary->mass(TokenGroup::query, TokenGroup::document)));
    session().choose_head(1, 1);
    QVERIFY(!has(AttentionSide::a));
    QCOMPARE(table->item(1, 2)->text(), QStringLiteral("–"));
  }

  void AClickOnAPicture_ChoosesItsHead() {
    auto* grid = find<HeadGrid>("heads");
    const QRect cell = grid->visualRect(grid->model()->index(2, 1));
    QTest::mouseClick(grid->viewport(), Qt::LeftButton, {}, cell.center());
    QCOMPARE(head().layer, 2);
    QCOMPARE(head().head, 1);
    QTRY_VERIFY(has(AttentionSide::a));
    QCOMPARE(page_->findChild<QLabel*>(QStringLiteral("head_title"))->text(),
             QStringLiteral("Layer 2, head 1"));
  }

  void ArrowKeys_ChooseAmongTheHeads() {
    auto* grid = find<HeadGrid>("heads");
    grid->setFocus();
    QTest::keyClick(grid, Qt::Key_Right);
    QTest::keyClick(grid, Qt::Key_Down);
    QCOMPARE(head().layer, 1);
    QCOMPARE(head().head, 1);
    QTRY_VERIFY(has(AttentionSide::a));
  }

  void SwitchingHeadsQuickly_EndsWithTheLastOne() {
    for (int layer = 0; layer < 3; ++layer) {
      for (int number = 0; number < 4; ++number) session().choose_head(layer, number);
    }
    QVERIFY(!has(AttentionSide::a));
    QTRY_VERIFY(!session().is_busy());
    QCOMPARE(head().layer, 2);
    QCOMPARE(head().head, 3);
    const auto vectors = session().dump()->head(2, 3);
    QVERIFY(vectors.has_value());
    QVERIFY(has(AttentionSide::a));
  }

  void Tokens_StandAlongTheAxesOfALargeMap() {
    const QRectF labelled = map()->map_rect();
    const QRect alongside(
        QPoint(static_cast<int>(labelled.left()) - 60, static_cast<int>(labelled.top())),
        QSize(40, static_cast<int>(labelled.height())));
    const QImage with = map()->grab(alongside).toImage();
    map()->set_token_texts(nullptr);
    QVERIFY(map()->map_rect().height() > labelled.height());
    map()->set_token_texts(std::make_shared<const std::vector<std::string>>(
        static_cast<std::size_t>(map()->tokens()), std::string()));
    QCOMPARE(map()->map_rect(), labelled);
    QTRY_VERIFY(map()->is_settled());
    QVERIFY(map()->grab(alongside).toImage() != with);
  }

  void PointingAtAPair_SaysTokensAndWeight() {
    QTest::mouseMove(map(), at(3, 7));
    QTRY_VERIFY(explanation().contains(QStringLiteral("lighthouses")));
    RowWeights row;
    head().side(AttentionSide::a).weights->row(3, row);
    QVERIFY(explanation().contains(share_words(static_cast<double>(row.weights[7]))));
    const double score = head().side(AttentionSide::a).weights->score(3, 7);
    QVERIFY(explanation().contains(QStringLiteral("score %1").arg(QString::number(score, 'f', 2))));
  }

  void DraggingAlongTheMarginOfRows_ShowsTheirMass() {
    const auto alongside = [&](qint64 row) {
      return QPoint(static_cast<int>(map()->row_margin().center().x()), at(row, 0).y());
    };
    QTest::mousePress(map(), Qt::LeftButton, {}, alongside(20));
    QTest::mouseMove(map(), alongside(24));
    QTest::mouseRelease(map(), Qt::LeftButton, {}, alongside(24));
    QCOMPARE(session().rows(), (std::vector<TokenRange>{{20, 25}}));
    QTRY_VERIFY(session().received().has_value());
    QCOMPARE(session().received()->rows, std::int64_t{5});
    QCOMPARE(find<QComboBox>("rows")->currentText(), QStringLiteral("Tokens 20 to 24"));
    QCOMPARE(find<TokenText>("token_text")->chosen(), std::optional(TokenRange{20, 25}));
    QTest::keyClick(map(), Qt::Key_Escape);
    QVERIFY(session().rows().empty());
  }

  void AClick_KeepsThePairAndShowsItsRow() {
    QTest::mouseClick(map(), Qt::LeftButton, {}, at(3, 7));
    QTest::mouseMove(map(), QPoint(2, 2));
    QTRY_VERIFY(explanation().contains(QStringLiteral("lighthouses")));
    QCOMPARE(session().rows(), (std::vector<TokenRange>{{3, 4}}));
    map()->setFocus();
    QTest::keyClick(map(), Qt::Key_Down);
    QCOMPARE(session().rows(), (std::vector<TokenRange>{{4, 5}}));
    QTest::keyClick(map(), Qt::Key_Escape);
    QVERIFY(session().rows().empty());
    QVERIFY(!map()->pinned_pair());
  }

  void AGroup_IsChosenFromTheList() {
    QComboBox* rows = find<QComboBox>("rows");
    const int query = rows->findText(QStringLiteral("query"));
    QVERIFY(query > 0);
    rows->setFocus();
    for (int i = 0; i < query; ++i) QTest::keyClick(rows, Qt::Key_Down);
    QTRY_VERIFY(session().received().has_value());
    QCOMPARE(session().received()->rows, std::int64_t{8});
    QCOMPARE(rows->currentIndex(), query);
  }

  void Tokens_AreChosenInTheTextByKeyboard() {
    show_tab("Text");
    TokenText* text = find<TokenText>("token_text");
    text->setFocus();
    QTest::keyClick(text, Qt::Key_Right);
    QTest::keyClick(text, Qt::Key_Right, Qt::ShiftModifier);
    QCOMPARE(session().rows(), (std::vector<TokenRange>{{1, 3}}));
    QTest::keyClick(text, Qt::Key_Escape);
    QVERIFY(session().rows().empty());
  }

  void AClickInTheText_ChoosesOneToken() {
    show_tab("Text");
    TokenText* text = find<TokenText>("token_text");
    QTest::mouseClick(text->viewport(), Qt::LeftButton, {},
                      text->visualRect(text->model()->index(4, 0)).center());
    QCOMPARE(session().rows(), (std::vector<TokenRange>{{4, 5}}));
    QTRY_VERIFY(session().received().has_value());
    double sum = 0;
    for (const double mass : session().received()->mass) sum += mass;
    QVERIFY(std::abs(sum - 1) < 1e-5);
  }

  void TheMostAttended_ComeFirst() {
    const QAbstractItemModel* listed = find<QTableView>("attended")->model();
    QVERIFY(listed->rowCount() > 10);
    double last = 1;
    for (int row = 0; row < listed->rowCount(); ++row) {
      const double mass = listed->index(row, 0).data(AttendedTokensModel::mass_role).toDouble();
      QVERIFY(mass <= last);
      last = mass;
    }
  }

  void TheDocumentAlone_IsListedAndSetsTheScales() {
    session().choose_rows({{1, 9}});  // the query, which looks at itself
    QTRY_VERIFY(session().received().has_value());
    QComboBox* attended = find<QComboBox>("attended_group");
    const double all = page_->numbers()->tokens().scale().largest;
    const double map_of_all = map()->scale().largest;
    attended->setFocus();
    for (int i = 0; i < attended->findText(QStringLiteral("document")); ++i) {
      QTest::keyClick(attended, Qt::Key_Down);
    }
    QCOMPARE(attended->currentText(), QStringLiteral("document"));
    const QAbstractItemModel* listed = find<QTableView>("attended")->model();
    QVERIFY(listed->rowCount() > 10);
    double largest = 0;
    for (int row = 0; row < listed->rowCount(); ++row) {
      QCOMPARE(listed->index(row, AttendedTokensModel::group).data().toString(),
               QStringLiteral("document"));
      largest =
          std::max(largest, listed->index(row, 0).data(AttendedTokensModel::size_role).toDouble());
    }
    QCOMPARE(page_->numbers()->tokens().scale().largest, largest);
    QVERIFY(largest <= all);
    QVERIFY(map()->scale().largest <= map_of_all);
    QVERIFY(find<charts::RunChart>("profile")->figure().series.size() == 1);
  }

  void TheMeanOfALayersHeads_StandsBehindTheLast() {
    session().choose_head(2, session().dump()->info().heads);
    QTRY_VERIFY(has(AttentionSide::a));
    QVERIFY(page_->findChild<QLabel*>(QStringLiteral("head_title"))
                ->text()
                .contains(QStringLiteral("mean of 4 heads")));
    RowWeights mean, one;
    head().side(AttentionSide::a).weights->row(3, mean);
    double sum = 0;
    for (const float weight : mean.weights) sum += static_cast<double>(weight);
    QVERIFY(std::abs(sum - 1) < 1e-5);
    choose_second(QStringLiteral("Sparse asymmetric"));
    QTRY_VERIFY(head().kept.has_value());
  }

  void PatternsAndMaps_AreThereAgainOnAnotherPage() {
    choose_second(QStringLiteral("Longformer"));
    set_second_window(7);
    find<QComboBox>("shown")->setCurrentIndex(3);
    const QVariantMap kept = page_->chosen();
    AttentionPage next;
    next.restore(kept);
    next.show();
    QCOMPARE(next.source()->second()->title(), QStringLiteral("Longformer"));
    QCOMPARE(next.source()->second()->choice()->window, std::optional(Window::of(7)));
    QTRY_VERIFY(next.session().head().kept.has_value());
    QVERIFY(next.map(AttentionSide::difference)->isVisible());
    QVERIFY(!next.map(AttentionSide::a)->isVisible());
  }

  void WithLargeText_TheMapsKeepTheirRoom() {
    choose_second(QStringLiteral("Sparse asymmetric"));
    page_->resize(920, 560);  // of a window of 1000 x 650
    QFont large = page_->font();
    large.setPointSizeF(2 * large.pointSizeF());
    page_->setFont(large);
    QTRY_VERIFY(map()->is_settled());
    QVERIFY2(map()->map_rect().width() > 120,
             qPrintable(QString::number(map()->map_rect().width())));
    find<QComboBox>("shown")->setCurrentIndex(2);
    constexpr int next_to_the_rail = 857;  // of 1000, whose rail has large text, too
    QTRY_VERIFY(page_->minimumSizeHint().width() <= next_to_the_rail);
  }

  void ASecondPattern_StandsBesideTheFirst() {
    choose_second(QStringLiteral("Sparse asymmetric"));
    QVERIFY(map(AttentionSide::b)->isVisible());
    QVERIFY(!map(AttentionSide::difference)->isVisible());
    QTRY_VERIFY(has(AttentionSide::difference));
    show_tab("Groups");
    QVERIFY(find<QLabel>("kept")->isVisible());
    QVERIFY(head().kept->all < 1);
    // The sparse query does not see the document.
    QCOMPARE(head().side(AttentionSide::b).summary->mass(TokenGroup::query, TokenGroup::document),
             0.0);
    find<QComboBox>("shown")->setCurrentIndex(2);
    QVERIFY(map(AttentionSide::difference)->isVisible());
    QTRY_VERIFY(map(AttentionSide::difference)->is_settled());
    find<QComboBox>("side")->setFocus();
    QTest::keyClick(find<QComboBox>("side"), Qt::Key_End);
    QCOMPARE(session().side(), AttentionSide::difference);
    QTRY_VERIFY(session().received().has_value());
  }

  void TheWindowOfB_ChangesItsWeights() {
    choose_second(QStringLiteral("Sparse asymmetric"));
    QTRY_VERIFY(head().kept.has_value());
    const double narrow = head().kept->all;
    set_second_window(30);
    QTRY_VERIFY(head().kept.has_value());
    QVERIFY(head().kept->all > narrow);
  }

  void GivingUpB_LeavesOneMap() {
    choose_second(QStringLiteral("Full attention"));
    QTRY_VERIFY(has(AttentionSide::difference));
    choose_second({});
    QVERIFY(!map(AttentionSide::b)->isVisible());
    QCOMPARE(session().side(), AttentionSide::a);
    QVERIFY(page_->source()->second()->title().isEmpty());
  }

  void ZoomingOneMap_ZoomsTheOther() {
    choose_second(QStringLiteral("Sparse asymmetric"));
    QTRY_VERIFY(has(AttentionSide::b) && map()->is_settled());
    map()->setFocus();
    QTest::keyClick(map(), Qt::Key_Plus);
    QVERIFY(map()->focus().tokens > 0);
    QCOMPARE(map(AttentionSide::b)->focus(), map()->focus());
    const double middle = map()->focus().column.tokens;
    QTest::keyClick(map(), Qt::Key_Right, Qt::ControlModifier);
    QVERIFY(map()->focus().column.tokens > middle);
    QTest::keyClick(map(), Qt::Key_0);
    QCOMPARE(map(AttentionSide::b)->focus(), charts::MapFocus());
  }

  void TheLogSwitch_ChangesTheColours() {
    const QImage before = map()->cells();
    find<QCheckBox>("log")->click();
    QTRY_VERIFY(map()->is_settled() && map()->cells() != before);
    QVERIFY(map()->scale().logarithmic);
  }

  void ADumpOfOnesOwn_IsOpenedAndRemembered() {
    const QString file = written(small_dump(), "mine.safetensors");
    page_->open_file(file);
    QTRY_COMPARE(session().file(), file);
    QCOMPARE(recent_files(FileKind::dump), QStringList{file});
    QTRY_VERIFY(has(AttentionSide::a));
    QCOMPARE(map()->tokens(), qint64{12});
  }

  void ABrokenDump_IsSaidOnThePageAndChangesNothing() {
    DumpParts parts = small_dump();
    parts.tensors.erase("layer.0.k");
    page_->open_file(written(parts, "broken.safetensors"));
    QTRY_VERIFY(page_->messages()->isVisible());
    QVERIFY(page_->messages()->error().contains(QStringLiteral("layer.0.k")));
    QVERIFY(session().file().isEmpty());
    QVERIFY(has(AttentionSide::a));
    QTRY_VERIFY(map()->is_settled());
    QCOMPARE(map()->tokens(), qint64{93});
  }

  void AHeadWithNaN_IsSaidInThePlaceOfItsMap() {
    DumpParts parts = small_dump();
    parts.tensors["layer.0.q"].values[0] = NAN;
    page_->open_file(written(parts, "nan.safetensors"));
    QTRY_COMPARE(map()->tokens(), qint64{0});
    QTRY_VERIFY(map()->accessibleDescription().contains(QStringLiteral("nan at token 0")));
    session().choose_head(1, 0);
    QTRY_VERIFY(has(AttentionSide::a));
  }

  void TheTable_IsCopiedInTheFormAskedFor() {
    QVERIFY(page_->has_table());
    show_tab("Groups");
    page_->copy_table(report::TableFormat::csv);
    const QStringList lines =
        QApplication::clipboard()->text().split(QLatin1Char('\n'), Qt::SkipEmptyParts);
    QCOMPARE(lines.size(), 1 + 3 * 3);
    QVERIFY(lines[0].startsWith(QStringLiteral("from,to,")));
    double query = 0;
    for (const QString& line : lines) {
      const QStringList fields = line.split(QLatin1Char(','));
      if (fields[0] == QLatin1String("query")) query += fields[2].toDouble();
    }
    QVERIFY(std::abs(query - 1) < 1e-5);
  }

  void TheList_SaysWhereATokenIs_HoweverNarrowItIs() {
    const QTableView* table = find<QTableView>("attended");
    const QHeaderView& columns = *table->horizontalHeader();
    QVERIFY(!table->isColumnHidden(AttendedTokensModel::group));
    QFont large = page_->font();
    large.setPointSizeF(2 * large.pointSizeF());
    page_->setFont(large);
    QTRY_VERIFY(table->isColumnHidden(AttendedTokensModel::group));
    const auto ends = [&](int column) {
      return columns.sectionViewportPosition(column) + columns.sectionSize(column);
    };
    QTRY_VERIFY(ends(AttendedTokensModel::position) <= table->viewport()->width());
    QVERIFY(columns.sectionSize(AttendedTokensModel::token) > table->fontMetrics().height());
  }

  void CopyInTheList_TakesEveryToken() {
    QTableView* table = find<QTableView>("attended");
    table->setFocus();
    QTest::keyClick(table, Qt::Key_C, Qt::ControlModifier);
    const QString copied = QApplication::clipboard()->text();
    QCOMPARE(copied.count(QLatin1Char('\n')), 1 + static_cast<int>(map()->tokens()));
    QVERIFY(copied.contains(QStringLiteral("lighthouse\tdocument\t")));
  }

  void TheFigure_IsWrittenInEveryForm() {
    choose_second(QStringLiteral("Sparse asymmetric"));
    QTRY_VERIFY(has(AttentionSide::difference));
    QVERIFY(page_->has_figure());
    page_->export_figure();
    QPointer<FigureDialog> dialog = page_->findChild<FigureDialog*>();
    QVERIFY(dialog != nullptr);
    QVERIFY(!dialog->findChild<QCheckBox*>(QStringLiteral("own_height"))->isVisible());
    dialog->findChild<QCheckBox*>(QStringLiteral("csv"))->setChecked(true);
    const QString file = folder_.filePath(QStringLiteral("figure.pdf"));
    dialog->findChild<QLineEdit*>(QStringLiteral("file"))->setText(file);
    QTest::mouseClick(dialog->findChild<QPushButton*>(QStringLiteral("write")), Qt::LeftButton);
    QTRY_VERIFY(page_->messages()->text().contains(QStringLiteral("figure.pdf")));
    QVERIFY(QFileInfo(file).size() > 2000);
    QFile csv(folder_.filePath(QStringLiteral("figure.csv")));
    QVERIFY(csv.open(QIODevice::ReadOnly));
    QVERIFY(csv.readAll().contains("document"));
    QTRY_VERIFY(dialog.isNull());
  }

  void TheFigure_DoesNotReplaceTheDump() {
    const QString file = folder_.filePath(QStringLiteral("dump.svg"));
    QVERIFY(QFile::copy(QStringLiteral(ATTNSCOPE_SOURCE_DIR "/resources/dumps/example.safetensors"),
                        file));
    session().open(file);
    QTRY_VERIFY(session().file() == file && page_->has_figure());
    page_->export_figure();
    auto* dialog = page_->findChild<FigureDialog*>();
    dialog->findChild<QComboBox*>(QStringLiteral("format"))->setCurrentText(QStringLiteral("SVG"));
    dialog->findChild<QLineEdit*>(QStringLiteral("file"))->setText(file);
    dialog->write();
    dialog->findChild<QPushButton*>(QStringLiteral("replace_files"))->click();
    QTRY_VERIFY2(dialog->message().contains(QStringLiteral("is an input of this command")),
                 qPrintable(dialog->message()));
    delete dialog;
  }

  void TheFigure_ComesInEveryForm_AndInNoOther() {
    choose_second(QStringLiteral("Sparse asymmetric"));
    QTRY_VERIFY(has(AttentionSide::difference));
    const charts::Printable what = charts::printable(page_->figure());
    for (const char* extension : {"svg", "png"}) {
      const QString file = folder_.filePath(QStringLiteral("form.") + QLatin1String(extension));
      const auto written = charts::write_printable(what, file.toStdString(), {});
      QVERIFY2(written.has_value(), written ? "" : written.error().message.c_str());
      QVERIFY(QFileInfo(file).size() > 2000);
    }
    const std::string other = folder_.filePath(QStringLiteral("figure.txt")).toStdString();
    QVERIFY(!charts::write_printable(what, other, {}).has_value());
    charts::FigureOptions narrow;
    narrow.width_mm = 30;
    narrow.font_pt = 40;
    const auto refused = charts::write_printable(
        what, folder_.filePath(QStringLiteral("narrow.pdf")).toStdString(), narrow);
    QVERIFY(!refused.has_value());
    QVERIFY(refused.error().message.find("do not fit 30 mm") != std::string::npos);
  }

  void Run_BenchmarksTheProblemOfTheDump() {
    choose_second(QStringLiteral("Sparse asymmetric"));
    QSignalSpy requested(page_.get(), &Page::run_requested);
    page_->run();
    QCOMPARE(requested.size(), 1);
    const std::string text = requested.at(0).at(0).toString().toStdString();
    const auto sweep = parse_sweep(text, "sweep");
    QVERIFY2(sweep.has_value(), sweep ? "" : sweep.error().message.c_str());
    QVERIFY(text.find("\"sparse/segment\"") != std::string::npos);
    QVERIFY(text.find("\"heads\": 4") != std::string::npos);
    QVERIFY(page_->run_words().startsWith(QStringLiteral("New run")));
  }

  void WordsOfTheField_AreExplainedWhereTheyStand() {
    int explained = 0;
    for (const QLabel* label : page_->findChildren<QLabel*>()) {
      if (!label->buddy()) continue;
      QVERIFY2(!label->toolTip().isEmpty(), qPrintable(label->text()));
      QCOMPARE(label->accessibleDescription(), label->toolTip());
      ++explained;
    }
    QCOMPARE(explained, 5);  // A, B, heads, rows, attended tokens
  }

  void WithLargeTextInASmallWindow_EveryTabOfTheNumbersIsInSight() {
    page_->resize(920, 560);  // of a window of 1000 x 650
    QFont large = page_->font();
    large.setPointSizeF(2 * large.pointSizeF());
    page_->setFont(large);
    const QTabBar* tabs = find<QTabWidget>("number_tabs")->tabBar();
    const QWidget* page = page_->numbers();
    QTRY_VERIFY(tabs->tabRect(tabs->count() - 1).right() < page->width());
    QTRY_VERIFY(page->width() <= page->parentWidget()->width());
    for (const auto* arrow : tabs->findChildren<QToolButton*>()) QVERIFY(!arrow->isVisible());
  }

  void RegionsOfADocument_TakeTheMapsPlaceUntilADumpIsOpened() {
    const tests::RegionsFile regions;
    const QString file = folder_.filePath(QStringLiteral("regions.safetensors"));
    QVERIFY(regions.write(file.toStdString()));
    page_->open_file(file);
    QTRY_VERIFY(session().regions() != nullptr);
    QVERIFY(page_->regions()->isVisible());
    QVERIFY(!map()->isVisible());
    QVERIFY(!page_->source()->heads()->isVisible());
    QVERIFY(page_->regions()->text().contains(QStringLiteral("words 41 to 70, score -1.000")));
    QVERIFY(page_->regions()->text().contains(QStringLiteral("tall near cosine 1 (+1.500)")));
    QVERIFY(page_->has_figure());
    QVERIFY(!page_->has_table());
    QCOMPARE(page_->chosen().value(QStringLiteral("file")).toString(), file);
    session().open_example();
    QTRY_VERIFY(map()->isVisible());
    QVERIFY(!page_->regions()->isVisible());
    QVERIFY(page_->source()->heads()->isVisible());
  }

  void ADamagedFileOfRegions_IsToldAndNothingIsShown() {
    tests::RegionsFile regions;
    regions.counted[0] = 1000;
    const QString file = folder_.filePath(QStringLiteral("damaged.safetensors"));
    QVERIFY(regions.write(file.toStdString()));
    page_->open_file(file);
    QTRY_VERIFY(page_->messages()->error().contains(QStringLiteral("names the region 1000")));
    QVERIFY(!session().regions());
  }
};

ATTNSCOPE_GUI_TEST(AttentionPageTest)

}  // namespace attnscope::gui
#include "attention_page_test.moc"
