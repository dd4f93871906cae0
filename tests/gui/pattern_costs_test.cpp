// SPDX-License-Identifier: Apache-2.0
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <algorithm>
#include <cmath>

#include "app/gui/models/pattern_counts.h"
#include "app/gui/models/rows_model.h"
#include "app/gui/session/text.h"
#include "engine/pattern/compile_plan.h"
#include "engine/report/table.h"
#include "engine/sweep/sweep.h"
#include "kernels/plan/counts.h"
#include "tests/gui/gui_test.h"

namespace attnscope::gui {

class PatternCostsTest : public QObject {
  Q_OBJECT

  const LayoutItem item_{.cls = 1, .query = 2, .documents = {5}};
  static charts::MaskSource sparse(std::int64_t window) {
    return {find_pattern("sparse").value(), Window::of(window)};
  }
  static charts::MaskSource full() { return {find_pattern("full").value(), std::nullopt}; }
  CountedPattern side(const charts::MaskSource& source) const {
    return {.title = u"side"_s,
            .counts = count_pattern(source, item_, 2, 8).value(),
            .implementations = {{u"dense"_s, {}, 4.0 * 8 * 2 * 64, 1, 1},
                                {u"sdpa"_s, u"it does not"_s, 0, 0, 0}}};
  }
  static CostRow row(const std::vector<CostRow>& rows, const char* title) {
    const auto found = std::ranges::find(rows, QString::fromUtf8(title), &CostRow::title);
    return found == rows.end() ? CostRow() : *found;
  }
  static Sweep sweep_made(const SweepRequest& request) {
    return parse_sweep(sweep_of(request).value().toStdString(), "made").value();
  }

 private Q_SLOTS:

  void CountsAsThePlanDoes() {
    // [CLS] attends to 8; each query token to 2; each document token to 3 and its window, 13 at w
    // = 1.
    const PatternCounts counts = count_pattern(sparse(1), item_, 2, 8).value();
    const double pairs = 8 + 2 * 2 + 5 * 3 + 13;
    QCOMPARE(counts.tokens, 8.0);
    QCOMPARE(counts.pairs, pairs);
    QCOMPARE(counts.density, pairs / 64);
    QCOMPARE(counts.flop, 4.0 * 8 * 2 * pairs);
    QCOMPARE(counts.full_flop, 4.0 * 8 * 2 * 64);
    QCOMPARE(counts.exponentials, 2 * pairs);
    QCOMPARE(counts.bytes, 4.0 * 8 * 8 * 2 * 4);
  }

  void CountsPairsOfHeadsInBlocks() {
    const AttentionPattern bigbird = find_pattern("bigbird").value();
    const LayoutItem item{.cls = 1, .query = 11, .documents = {1500}};
    const SequenceLayout layout = SequenceLayout::make({item}).value();
    const AttentionPlan plan = compile_plan(bigbird, std::nullopt, layout, 3).value();
    const PatternCounts counts = count_pattern({bigbird, std::nullopt}, item, 3, 16).value();
    QCOMPARE(counts.pairs * 3, static_cast<double>(count(plan).pairs));
    QCOMPARE(counts.bytes, least_bytes(plan, 16, DType::float32));
  }

  void ShowsTheRatioOfBToA() {
    std::vector<CostRow> rows = cost_rows(side(sparse(1)), std::nullopt, std::nullopt);
    QCOMPARE(row(rows, "Allowed pairs").a.text, u"40"_s);
    QCOMPARE(row(rows, "Machine limit").a.text, u"–"_s);
    rows = cost_rows(side(sparse(1)), side(full()), std::nullopt);
    QCOMPARE(row(rows, "Allowed pairs").b.text, u"64"_s);
    QCOMPARE(row(rows, "Allowed pairs").ratio.text, times_text(40.0 / 64));
    QCOMPARE(row(rows, "Tokens").ratio.text, times_text(1));
    // Executed over useful work, or the reason why there is none.
    QCOMPARE(row(rows, "dense over useful").a.text, times_text(64.0 / 40));
    QCOMPARE(row(rows, "dense over useful").b.text, times_text(1));
    QCOMPARE(row(rows, "sdpa over useful").a.text, u"–"_s);
    QCOMPARE(row(rows, "sdpa over useful").a.note, u"it does not"_s);
  }

  void ShowsTheSlowestRate() {
    MachineCeilings machine;
    machine.rates.flop_per_second = 1e3;
    machine.rates.exponentials_per_second = 1e9;
    machine.rates.copy = {{1 << 20, 1e9}};
    const PatternCounts counts = count_pattern(sparse(1), item_, 2, 8).value();
    const PatternLimit limit = limit_of(counts, machine);
    QVERIFY(std::abs(limit.ms - counts.flop) < 1e-9 * counts.flop);
    QCOMPARE(limit.by, u"arithmetic"_s);
    const std::vector<CostRow> rows = cost_rows(side(sparse(1)), std::nullopt, machine);
    QCOMPARE(row(rows, "Machine limit").a.text, qstring(report::format_time(limit.ms * 1e6)));
  }

  void CopiesTheTableInEveryFormat() {
    const std::vector<CostRow> costs = cost_rows(side(sparse(1)), side(full()), std::nullopt);
    const QString corner = u"A_1, B"_s;
    const report::Sheet sheet = sheet_of(costs, corner, true);
    const QStringList lines =
        clipboard_text(sheet, report::TableFormat::text).split(u'\n', Qt::SkipEmptyParts);
    QCOMPARE(lines.size(), std::ssize(costs) + 1);
    for (const QString& line : lines) QCOMPARE(line.count(u'\t'), 3);
    QVERIFY(clipboard_text(sheet, report::TableFormat::csv).startsWith(u"\"A_1, B\",A,B"_s));
    QVERIFY(clipboard_text(sheet, report::TableFormat::latex).contains(u"A\\_1, B & A"_s));
    const QJsonArray rows =
        QJsonDocument::fromJson(clipboard_text(sheet, report::TableFormat::json).toUtf8()).array();
    QCOMPARE(rows.size(), std::ssize(costs));
    QCOMPARE(rows[1].toObject()[u"A"_s].toString(), u"40"_s);
  }

  void SweepsEveryImplementationAndFullAttention() {
    const Sweep sweep = sweep_made({.name = "made",
                                    .sources = {sparse(4)},
                                    .item = {.cls = 1, .query = 11, .documents = {500}},
                                    .implementations = {u"segment"_s, u"windowed"_s}});
    QCOMPARE(sweep.heats.size(), std::size_t{4});
    QCOMPARE(sweep.heats[2].point.sequence_tokens, std::int64_t{512});
    QCOMPARE(sweep.heats[3].point.sequence_tokens, std::int64_t{1024});
    QCOMPARE(sweep.heats[0].point.query_tokens, std::int64_t{10});
    std::vector<std::string> ids;
    for (const Contender& contender : sweep.heats[0].contenders) ids.push_back(contender.id());
    QCOMPARE(ids, (std::vector<std::string>{"sparse/segment/4", "sparse/windowed/4", "full/sdpa"}));
    const Sweep only_full = sweep_made(
        {.name = "made", .sources = {full()}, .item = item_, .implementations = {u"sdpa"_s}});
    QCOMPARE(only_full.heats[0].contenders.size(), std::size_t{1});
  }

  void SweepsACustomPattern() {
    charts::MaskSource own = sparse(4);
    own.pattern.attends[1][2].kind = GroupRule::Kind::whole;  // still under the shipped name
    const Sweep sweep = sweep_made({.name = "made",
                                    .sources = {own},
                                    .item = {.cls = 1, .query = 3, .documents = {40, 40}},
                                    .implementations = {u"segment"_s}});
    const Contender& contender = sweep.heats[0].contenders[0];
    QCOMPARE(contender.pattern, std::string("sparse-own"));
    QCOMPARE(sweep.heats[0].point.documents, std::int64_t{2});
    QCOMPARE(parse_pattern(contender.pattern_json, "kept").value().attends, own.pattern.attends);
  }

  void RefusesWhatASweepCannotExpress() {
    charts::MaskSource qds{find_pattern("qds").value(), Window::of(4)};
    LayoutItem listed{.cls = 1, .query = 3, .documents = {40}};
    listed.sentences = {0, 7};
    listed.sentences_given = true;
    const auto by_hand = sweep_of(
        {.name = "made", .sources = {qds}, .item = listed, .implementations = {u"segment"_s}});
    QVERIFY(!by_hand);
    QVERIFY(by_hand.error().message.find("every") != std::string::npos);
    QVERIFY(!sweep_of({.name = "made", .sources = {qds}, .item = item_, .implementations = {}}));
  }

  void RoundsCounts() {
    QCOMPARE(count_text(640), u"640"_s);
    QCOMPARE(count_text(12'340), u"12.3 k"_s);
    QCOMPARE(count_text(1.5e9), u"1.50 G"_s);
    QCOMPARE(times_text(1.236), u"1.24×"_s);
    QCOMPARE(times_text(2860.4), u"2860×"_s);
  }
};

ATTNSCOPE_GUI_TEST(PatternCostsTest)

}  // namespace attnscope::gui
#include "pattern_costs_test.moc"
