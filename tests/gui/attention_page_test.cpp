// SPDX-License-Identifier: Apache-2.0
//
// Page Attention by mouse and by keyboard.
#include "app/gui/views/attention_page.h"

#include <QHeaderView>
#include <QSpinBox>
#include <QTabBar>
#include <QTabWidget>
#include <QTableWidget>
#include <QToolButton>
#include <cmath>

#include "app/gui/charts/run_chart.h"
#include "app/gui/views/attention_numbers.h"
#include "app/gui/views/attention_source.h"
#include "app/gui/views/file_dialogs.h"
#include "app/gui/views/token_text.h"
#include "engine/sweep/sweep.h"
#include "tests/gui/page_suite.h"
#include "tests/inspect/regions_file.h"

namespace attnscope::gui {

class AttentionPageTest : public PageSuite<AttentionPage> {
  Q_OBJECT

  [[nodiscard]] AttentionSession& session() const { return page_->session(); }
  [[nodiscard]] const HeadUnderPatterns& head() const { return session().head(); }
  [[nodiscard]] bool has(AttentionSide side) const { return head().side(side).summary != nullptr; }
  [[nodiscard]] charts::HeatView* map(AttentionSide side = AttentionSide::a) const {
    return page_->map(side);
  }
  [[nodiscard]] QPoint at(qint64 query, qint64 key) const {
    return map()->position_of(query, key).toPoint();
  }
  void open_dump(const char* name, const DumpParts& parts) const {
    page_->open_file(write(name, bytes_of(parts)));
  }
  void open_regions(const char* name, const tests::RegionsFile& regions) const {
    QVERIFY(regions.write(path(name).toStdString()));
    page_->open_file(path(name));
  }
  /// Waits for all three sides.
  void compare_with(const QString& title) const {
    choose_second(title);
    QTRY_VERIFY(has(AttentionSide::difference));
  }
  [[nodiscard]] RowWeights row_of_a(qint64 query) const {
    RowWeights weights;
    head().side(AttentionSide::a).weights->row(query, weights);
    return weights;
  }
  template <typename Numbers>
  [[nodiscard]] static bool sums_to_one(const Numbers& numbers) {
    double sum = 0;
    for (const auto each : numbers) sum += static_cast<double>(each);
    return std::abs(sum - 1) < 1e-5;
  }
  [[nodiscard]] QString explanation() const { return find<QLabel>("explanation")->text(); }
  void show_tab(const char* name) const {
    auto* tabs = find<QTabWidget>("number_tabs");
    tabs->setCurrentIndex(-1);
    for (int tab = 0; tab < tabs->count(); ++tab) {
      if (tabs->tabText(tab).remove(u'&') == QLatin1String(name)) tabs->setCurrentIndex(tab);
    }
  }
  void set_second_window(int tokens) const {
    page_->source()->second()->findChild<QSpinBox*>(u"window"_s)->setValue(tokens);
  }
  void choose_second(const QString& title) const { page_->source()->second()->choose(title); }

 private Q_SLOTS:

  void init() {
    show_page({1200, 760});
    QTRY_VERIFY(has(AttentionSide::a));
    QTRY_VERIFY(session().received().has_value());
    QTRY_VERIFY(map()->is_settled());
  }
  void cleanup() { page_.reset(); }

  void OpensTheExampleFirst() {
    QVERIFY(session().file().isEmpty());
    QVERIFY(find<QLabel>("dump_note")->text().contains(u"not a trained model"_s));
    QVERIFY(has(AttentionSide::a));
  }

  void PaintsEveryHead() {
    const QAbstractItemModel& heads = *find<HeadGrid>("heads")->model();
    for (int layer = 0; layer < heads.rowCount(); ++layer) {
      for (int number = 0; number < heads.columnCount(); ++number) {
        const QModelIndex cell = heads.index(layer, number);
        QTRY_VERIFY(!cell.data(Qt::DecorationRole).value<QImage>().isNull());
      }
    }
    const QModelIndex cell = heads.index(1, 2);
    QVERIFY(cell.data(Qt::ToolTipRole).toString().contains(u"%"_s));
    const auto light = cell.data(Qt::DecorationRole).value<QImage>();
    page_->setPalette(QPalette(Qt::black, Qt::black));
    QVERIFY(cell.data(Qt::DecorationRole).value<QImage>() != light);
  }

  void ListsMassBetweenGroupsWithTokens() {
    const auto* table = find<QTableWidget>("group_mass");
    QCOMPARE(table->rowCount(), 3);
    QCOMPARE(table->horizontalHeaderItem(2)->text(), u"document"_s);
    QCOMPARE(
        table->item(1, 2)->text(),
        share_text(
            head().side(AttentionSide::a).summary->mass(TokenGroup::query, TokenGroup::document)));
    session().choose_head(1, 1);
    QVERIFY(!has(AttentionSide::a));
    QCOMPARE(table->item(1, 2)->text(), u"–"_s);
  }

  void ChoosesAHeadByMouse() {
    auto* grid = find<HeadGrid>("heads");
    const QRect cell = grid->visualRect(grid->model()->index(2, 1));
    QTest::mouseClick(grid->viewport(), Qt::LeftButton, {}, cell.center());
    QCOMPARE(head().layer, 2);
    QCOMPARE(head().head, 1);
    QTRY_VERIFY(has(AttentionSide::a));
    QCOMPARE(find<QLabel>("head_title")->text(), u"Layer 2, head 1"_s);
  }

  void ChoosesHeadsByArrowKeys() {
    auto* grid = find<HeadGrid>("heads");
    grid->setFocus();
    QTest::keyClick(grid, Qt::Key_Right);
    QTest::keyClick(grid, Qt::Key_Down);
    QCOMPARE(head().layer, 1);
    QCOMPARE(head().head, 1);
    QTRY_VERIFY(has(AttentionSide::a));
  }

  void ShowsTheLastOfManyHeads() {
    for (int layer = 0; layer < 3; ++layer) {
      for (int number = 0; number < 4; ++number) session().choose_head(layer, number);
    }
    QVERIFY(!has(AttentionSide::a));
    QTRY_VERIFY(!session().is_busy());
    QCOMPARE(head().layer, 2);
    QCOMPARE(head().head, 3);
    QVERIFY(has(AttentionSide::a));
  }

  void LabelsTheAxesOfALargeMapWithTokens() {
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

  void ShowsTokensAndWeightOfAHoveredPair() {
    QTest::mouseMove(map(), at(3, 7));
    QTRY_VERIFY(explanation().contains(u"lighthouses"_s));
    QVERIFY(explanation().contains(share_text(static_cast<double>(row_of_a(3).weights[7]))));
    const double score = head().side(AttentionSide::a).weights->score(3, 7);
    QVERIFY(explanation().contains(u"score %1"_s.arg(QString::number(score, 'f', 2))));
  }

  void ShowsTheMassOfDraggedRows() {
    const auto alongside = [&](qint64 row) {
      return QPoint(static_cast<int>(map()->row_margin().center().x()), at(row, 0).y());
    };
    QTest::mousePress(map(), Qt::LeftButton, {}, alongside(20));
    QTest::mouseMove(map(), alongside(24));
    QTest::mouseRelease(map(), Qt::LeftButton, {}, alongside(24));
    QCOMPARE(session().rows(), (std::vector<TokenRange>{{20, 25}}));
    QTRY_VERIFY(session().received().has_value());
    QCOMPARE(session().received()->rows, std::int64_t{5});
    QCOMPARE(find<QComboBox>("rows")->currentText(), u"Tokens 20 to 24"_s);
    QCOMPARE(find<TokenText>("token_text")->chosen(), std::optional(TokenRange{20, 25}));
    QTest::keyClick(map(), Qt::Key_Escape);
    QVERIFY(session().rows().empty());
  }

  void SelectsAPairByMouse() {
    QTest::mouseClick(map(), Qt::LeftButton, {}, at(3, 7));
    QTest::mouseMove(map(), QPoint(2, 2));
    QTRY_VERIFY(explanation().contains(u"lighthouses"_s));
    QCOMPARE(session().rows(), (std::vector<TokenRange>{{3, 4}}));
    map()->setFocus();
    QTest::keyClick(map(), Qt::Key_Down);
    QCOMPARE(session().rows(), (std::vector<TokenRange>{{4, 5}}));
    QTest::keyClick(map(), Qt::Key_Escape);
    QVERIFY(session().rows().empty());
    QVERIFY(!map()->pinned_pair());
  }

  void ChoosesAGroupFromTheList() {
    QComboBox* rows = find<QComboBox>("rows");
    const int query = rows->findText(u"query"_s);
    QVERIFY(query > 0);
    rows->setFocus();
    for (int i = 0; i < query; ++i) QTest::keyClick(rows, Qt::Key_Down);
    QTRY_VERIFY(session().received().has_value());
    QCOMPARE(session().received()->rows, std::int64_t{8});
    QCOMPARE(rows->currentIndex(), query);
  }

  void SelectsTokensByKeyboard() {
    show_tab("Text");
    TokenText* text = find<TokenText>("token_text");
    text->setFocus();
    QTest::keyClick(text, Qt::Key_Right);
    QTest::keyClick(text, Qt::Key_Right, Qt::ShiftModifier);
    QCOMPARE(session().rows(), (std::vector<TokenRange>{{1, 3}}));
    QTest::keyClick(text, Qt::Key_Escape);
    QVERIFY(session().rows().empty());
  }

  void SelectsATokenByMouse() {
    show_tab("Text");
    TokenText* text = find<TokenText>("token_text");
    QTest::mouseClick(text->viewport(), Qt::LeftButton, {},
                      text->visualRect(text->model()->index(4, 0)).center());
    QCOMPARE(session().rows(), (std::vector<TokenRange>{{4, 5}}));
    QTRY_VERIFY(session().received().has_value());
    QVERIFY(sums_to_one(session().received()->mass));
  }

  void SortsAttendedTokens() {
    const QAbstractItemModel& listed = *find<QTableView>("attended")->model();
    QVERIFY(listed.rowCount() > 10);
    std::vector<double> masses;
    for (int at = 0; at < listed.rowCount(); ++at)
      masses.push_back(listed.index(at, 0).data(AttendedTokensModel::mass_role).toDouble());
    QVERIFY(std::ranges::is_sorted(masses, std::greater()));
  }

  void ListsAndScalesTheDocumentAlone() {
    session().choose_rows({{1, 9}});  // the query
    QTRY_VERIFY(session().received().has_value());
    QComboBox* attended = find<QComboBox>("attended_group");
    const double all = page_->numbers()->tokens().scale().largest;
    const double map_of_all = map()->scale().largest;
    attended->setFocus();
    for (int i = 0; i < attended->findText(u"document"_s); ++i) {
      QTest::keyClick(attended, Qt::Key_Down);
    }
    QCOMPARE(attended->currentText(), u"document"_s);
    const QAbstractItemModel* listed = find<QTableView>("attended")->model();
    QVERIFY(listed->rowCount() > 10);
    double largest = 0;
    for (int row = 0; row < listed->rowCount(); ++row) {
      QCOMPARE(listed->index(row, AttendedTokensModel::group).data().toString(), u"document"_s);
      largest =
          std::max(largest, listed->index(row, 0).data(AttendedTokensModel::size_role).toDouble());
    }
    QCOMPARE(page_->numbers()->tokens().scale().largest, largest);
    QVERIFY(largest <= all);
    QVERIFY(map()->scale().largest <= map_of_all);
    QVERIFY(find<charts::RunChart>("profile")->figure().series.size() == 1);
  }

  void ShowsTheMeanOfALayerLast() {
    session().choose_head(2, session().dump()->info().heads);
    QTRY_VERIFY(has(AttentionSide::a));
    QVERIFY(find<QLabel>("head_title")->text().contains(u"mean of 4 heads"_s));
    QVERIFY(sums_to_one(row_of_a(3).weights));
    choose_second(u"Sparse asymmetric"_s);
    QTRY_VERIFY(head().kept.has_value());
  }

  void RestoresPatternsAndMaps() {
    choose_second(u"Longformer"_s);
    set_second_window(7);
    find<QComboBox>("shown")->setCurrentIndex(3);
    const QVariantMap kept = page_->chosen();
    AttentionPage next;
    next.restore(kept);
    next.show();
    QCOMPARE(next.source()->second()->title(), u"Longformer"_s);
    QCOMPARE(next.source()->second()->choice()->window, std::optional(Window::of(7)));
    QTRY_VERIFY(next.session().head().kept.has_value());
    QVERIFY(next.map(AttentionSide::difference)->isVisible());
    QVERIFY(!next.map(AttentionSide::a)->isVisible());
  }

  void KeepsTheSizeOfMapsInLargeText() {
    choose_second(u"Sparse asymmetric"_s);
    use_large_text();
    QTRY_VERIFY(map()->is_settled());
    QVERIFY2(map()->map_rect().width() > 120,
             qPrintable(QString::number(map()->map_rect().width())));
    find<QComboBox>("shown")->setCurrentIndex(2);
    constexpr int next_to_the_rail = 857;  // of 1000, whose rail has large text, too
    QTRY_VERIFY(page_->minimumSizeHint().width() <= next_to_the_rail);
  }

  void ShowsTwoPatterns() {
    choose_second(u"Sparse asymmetric"_s);
    QVERIFY(map(AttentionSide::b)->isVisible());
    QVERIFY(!map(AttentionSide::difference)->isVisible());
    QTRY_VERIFY(has(AttentionSide::difference));
    show_tab("Groups");
    QVERIFY(find<QLabel>("kept")->isVisible());
    QVERIFY(head().kept->all < 1);
    // The sparse query does not attend to the document.
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

  void AppliesTheWindowOfB() {
    choose_second(u"Sparse asymmetric"_s);
    QTRY_VERIFY(head().kept.has_value());
    const double narrow = head().kept->all;
    set_second_window(30);
    QTRY_VERIFY(head().kept.has_value());
    QVERIFY(head().kept->all > narrow);
  }

  void ShowsOneMapWithoutB() {
    compare_with(u"Full attention"_s);
    choose_second({});
    QVERIFY(!map(AttentionSide::b)->isVisible());
    QCOMPARE(session().side(), AttentionSide::a);
    QVERIFY(page_->source()->second()->title().isEmpty());
  }

  void ZoomsBothMaps() {
    choose_second(u"Sparse asymmetric"_s);
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

  void ChangesColoursByTheLogSwitch() {
    const QImage before = map()->cells();
    find<QCheckBox>("log")->click();
    QTRY_VERIFY(map()->is_settled() && map()->cells() != before);
    QVERIFY(map()->scale().logarithmic);
  }

  void OpensAndRemembersADump() {
    open_dump("mine.safetensors", small_dump());
    QTRY_COMPARE(session().file(), path("mine.safetensors"));
    QCOMPARE(recent_files(FileKind::dump), QStringList{session().file()});
    QTRY_VERIFY(has(AttentionSide::a));
    QCOMPARE(map()->tokens(), qint64{12});
  }

  void KeepsTheDumpAfterABrokenOne() {
    const DumpPointer before = session().dump();
    DumpParts parts = small_dump();
    parts.tensors.erase("layer.0.k");
    open_dump("broken.safetensors", parts);
    QTRY_VERIFY(page_->messages()->isVisible());
    QVERIFY(page_->messages()->error().contains(u"layer.0.k"_s));
    QVERIFY(session().file().isEmpty() && recent_files().isEmpty());
    QCOMPARE(session().dump(), before);
    QVERIFY(has(AttentionSide::a));
    QTRY_VERIFY(map()->is_settled());
    QCOMPARE(map()->tokens(), qint64{93});
  }

  void ExplainsAHeadWithNan() {
    DumpParts parts = small_dump();
    parts.tensors["layer.0.q"].values[0] = NAN;
    open_dump("nan.safetensors", parts);
    QTRY_COMPARE(map()->tokens(), qint64{0});
    QTRY_VERIFY(map()->accessibleDescription().contains(u"nan at token 0"_s));
    session().choose_head(1, 0);
    QTRY_VERIFY(has(AttentionSide::a));
  }

  void CopiesTheTable() {
    QVERIFY(page_->has_table());
    show_tab("Groups");
    page_->copy_table(report::TableFormat::csv);
    const QStringList lines = copied().split(u'\n', Qt::SkipEmptyParts);
    QCOMPARE(lines.size(), 1 + 3 * 3);
    QVERIFY(lines[0].startsWith(u"from,to,"_s));
    std::vector<double> of_query;
    for (const QString& line : lines) {
      if (line.startsWith(u"query,"_s)) of_query.push_back(line.section(u',', 2, 2).toDouble());
    }
    QVERIFY(sums_to_one(of_query));
  }

  void ShowsPositionsInANarrowList() {
    const QTableView* table = find<QTableView>("attended");
    const QHeaderView& columns = *table->horizontalHeader();
    QVERIFY(!table->isColumnHidden(AttendedTokensModel::group));
    double_text(*page_);
    QTRY_VERIFY(table->isColumnHidden(AttendedTokensModel::group));
    const auto ends = [&](int column) {
      return columns.sectionViewportPosition(column) + columns.sectionSize(column);
    };
    QTRY_VERIFY(ends(AttendedTokensModel::position) <= table->viewport()->width());
    QVERIFY(columns.sectionSize(AttendedTokensModel::token) > table->fontMetrics().height());
  }

  void CopiesEveryTokenOfTheList() {
    QTableView* table = find<QTableView>("attended");
    table->setFocus();
    QTest::keyClick(table, Qt::Key_C, Qt::ControlModifier);
    QCOMPARE(copied().count(u'\n'), 1 + static_cast<int>(map()->tokens()));
    QVERIFY(copied().contains(u"lighthouse\tdocument\t"_s));
  }

  void WritesTheFigureInEveryFormat() {
    compare_with(u"Sparse asymmetric"_s);
    QVERIFY(page_->has_figure());
    page_->export_figure();
    QVERIFY(
        !page_->findChild<FigureDialog*>()->findChild<QCheckBox*>(u"own_height"_s)->isVisible());
    export_figure(path("figure.pdf"));
    QVERIFY(QFileInfo(path("figure.pdf")).size() > 2000);
    QVERIFY(read_bytes(path("figure.csv")).contains("document"));
    const charts::Printable what = charts::printable(page_->figure());
    const auto written = [&](const char* name, const charts::FigureOptions& options = {}) {
      return charts::write_printable(what, path(name).toStdString(), options);
    };
    for (const char* name : {"form.svg", "form.png"}) {
      const auto done = written(name);
      QVERIFY2(done.has_value(), done ? "" : done.error().message.c_str());
      QVERIFY(QFileInfo(path(name)).size() > 2000);
    }
    QVERIFY(!written("figure.txt").has_value());
    const auto refused = written("narrow.pdf", {.width_mm = 30, .font_pt = 40});
    QVERIFY(!refused.has_value());
    QVERIFY(refused.error().message.find("do not fit into 30 mm") != std::string::npos);
  }

  void RefusesToReplaceTheDump() {
    const QString file = write(
        "dump.svg",
        read_bytes(QStringLiteral(ATTNSCOPE_SOURCE_DIR "/resources/dumps/example.safetensors")));
    session().open(file);
    QTRY_VERIFY(session().file() == file && page_->has_figure());
    verify_replacement_is_refused(file);
  }

  void OffersARunOfTheProblem() {
    choose_second(u"Sparse asymmetric"_s);
    QSignalSpy requested(page_.get(), &Page::run_requested);
    page_->run();
    QCOMPARE(requested.size(), 1);
    const std::string text = requested.at(0).at(0).toString().toStdString();
    const auto sweep = parse_sweep(text, "sweep");
    QVERIFY2(sweep.has_value(), sweep ? "" : sweep.error().message.c_str());
    QVERIFY(text.find("\"sparse/segment\"") != std::string::npos);
    QVERIFY(text.find("\"heads\": 4") != std::string::npos);
    QVERIFY(page_->run_text().startsWith(u"New run"_s));
  }

  void ExplainsTerms() {
    QCOMPARE(explained_terms(), 5);  // A, B, heads, rows, attended tokens
  }

  void ShowsEveryTabInLargeText() {
    use_large_text();
    const QTabBar* tabs = find<QTabWidget>("number_tabs")->tabBar();
    const QWidget* page = page_->numbers();
    QTRY_VERIFY(tabs->tabRect(tabs->count() - 1).right() < page->width());
    QTRY_VERIFY(page->width() <= page->parentWidget()->width());
    for (const auto* arrow : tabs->findChildren<QToolButton*>()) QVERIFY(!arrow->isVisible());
  }

  void ShowsRegionsUntilADumpIsOpened() {
    open_regions("regions.safetensors", {});
    QTRY_VERIFY(session().regions() != nullptr);
    QVERIFY(page_->regions()->isVisible());
    QVERIFY(!map()->isVisible());
    QVERIFY(!page_->source()->heads()->isVisible());
    QVERIFY(page_->regions()->text().contains(u"words 41 to 70, score -1.000"_s));
    QVERIFY(page_->regions()->text().contains(u"tall near cosine 1 (+1.500)"_s));
    QVERIFY(page_->has_figure());
    QVERIFY(!page_->has_table());
    QCOMPARE(page_->chosen().value(u"file"_s).toString(), path("regions.safetensors"));
    session().open_example();
    QTRY_VERIFY(map()->isVisible());
    QVERIFY(!page_->regions()->isVisible());
    QVERIFY(page_->source()->heads()->isVisible());
  }

  void RefusesADamagedFileOfRegions() {
    tests::RegionsFile regions;
    regions.counted[0] = 1000;
    open_regions("damaged.safetensors", regions);
    QTRY_VERIFY(page_->messages()->error().contains(u"names the region 1000"_s));
    QVERIFY(!session().regions());
  }
};

ATTNSCOPE_GUI_TEST(AttentionPageTest)

}  // namespace attnscope::gui
#include "attention_page_test.moc"
