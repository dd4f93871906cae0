// SPDX-License-Identifier: Apache-2.0
#include "app/gui/models/advice_model.h"

#include <QAbstractItemModelTester>
#include <cmath>

#include "app/gui/models/effectiveness_figure.h"
#include "tests/gui/gui_test.h"

namespace attnscope::gui {

using report::Advised;
using report::Standing;

Advised advised(const std::string& contender, double time_ms) {
  Advised one;
  one.contender = one.name = contender;
  one.standing = Standing::within_limits;
  one.time_ns = report::Estimate{.value = time_ms * 1e6, .low = time_ms * 1e6, .high = 1e9};
  one.sentence = contender + ": takes its time.";
  one.remarks = {"It has a remark.", "And another."};
  return one;
}

report::Answer advice() {
  report::Answer advice;
  advice.question.emplace();
  advice.contenders = {advised("sparse/segment/4", 20), advised("full/dense", 100),
                       advised("full/sdpa", 0)};
  advice.contenders[0].to_baseline = {
      .ratio = 0.2, .low = 0.19, .high = 0.21, .verdict = statistics::Verdict::faster};
  advice.contenders[0].is_interpolated = true;
  advice.contenders[0].published =
      report::PublishedNdcg{.ndcg10 = 0.66, .task = "passages", .source = {}, .note = {}};
  advice.contenders[1].is_baseline = true;
  advice.contenders[1].published =
      report::PublishedNdcg{.ndcg10 = 0.67, .task = "passages", .source = {}, .note = {}};
  advice.contenders[2].standing = Standing::without_time;
  advice.contenders[2].time_ns.reset();
  advice.notes = {"Times are of one layer."};
  return advice;
}

class AdviceModelTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:

  void KeepsTheRulesOfItemModels() {
    AdviceModel model;
    const QAbstractItemModelTester tester(&model);
    QCOMPARE(model.rowCount(), 0);
    model.set_advice(advice());
    QCOMPARE(model.rowCount(), 4);
    QCOMPARE(model.rowCount(model.index(0)), 0);
    model.set_advice(std::nullopt);
    QCOMPARE(model.rowCount(), 0);
  }

  void ARow_TellsWhatIsDrawnOfAContender() {
    AdviceModel model;
    model.set_advice(advice());
    const QModelIndex best = model.index(0);
    QCOMPARE(best.data().toString(), QStringLiteral("sparse/segment/4: takes its time."));
    QCOMPARE(best.data(AdviceModel::place_role).toInt(), 1);
    QCOMPARE(best.data(AdviceModel::style_key_role).toString(), QStringLiteral("sparse/segment/4"));
    QCOMPARE(best.data(AdviceModel::verdict_words_role).toString(), QStringLiteral("faster"));
    QCOMPARE(best.data(AdviceModel::time_role).toDouble(), 20.0);
    QVERIFY(best.data(AdviceModel::interpolated_role).toBool());
    QCOMPARE(best.data(Qt::AccessibleTextRole).toString(),
             QStringLiteral("1. sparse/segment/4: takes its time."));
  }

  void TheBaselineAndWhatHasNoTime_HaveNoVerdict() {
    AdviceModel model;
    model.set_advice(advice());
    QVERIFY(!model.index(1).data(AdviceModel::verdict_role).isValid());
    QCOMPARE(model.index(1).data(AdviceModel::verdict_words_role).toString(),
             QStringLiteral("baseline"));
    QCOMPARE(model.index(2).data(AdviceModel::place_role).toInt(), 0);
    QCOMPARE(model.index(2).data(AdviceModel::verdict_words_role).toString(),
             QStringLiteral("no time"));
    QVERIFY(!model.index(2).data(AdviceModel::time_role).isValid());
  }

  void ANote_FollowsTheContenders() {
    AdviceModel model;
    model.set_advice(advice());
    const QModelIndex note = model.index(3);
    QVERIFY(note.data(AdviceModel::note_role).toBool());
    QCOMPARE(model.text_of(note), QStringLiteral("Times are of one layer.\n"));
    QVERIFY(!note.data(AdviceModel::style_key_role).isValid());
  }

  void WhatIsCopied_HasTheRemarks() {
    AdviceModel model;
    model.set_advice(advice());
    QCOMPARE(
        model.text_of(model.index_of(QStringLiteral("sparse/segment/4"))),
        QStringLiteral("1. sparse/segment/4: takes its time.\nIt has a remark.\nAnd another.\n"));
    QVERIFY(!model.index_of(QStringLiteral("unknown")).isValid());
  }

  void TheFigure_HasOnlyWhatHasATimeAndAPublishedNumber() {
    const report::Figure figure = effectiveness_figure(advice());
    QCOMPARE(figure.series.size(), std::size_t{2});
    QCOMPARE(figure.series.front().points.front().x, 20.0);
    QCOMPARE(figure.series.front().points.front().y, 0.66);
    QCOMPARE(figure.series.front().points.front().label, std::string("≈ interpolated"));
    QCOMPARE(figure.y_label, std::string("nDCG@10 over passages (published, not measured here)"));
    QCOMPARE(figure.x_label, std::string("ms for 100 documents"));
    QCOMPARE(without_published(advice()), QStringList{QStringLiteral("full/sdpa")});
    const report::Answer nothing;
    QVERIFY(effectiveness_figure(nothing).series.empty());
  }

  void LongTimes_AreInSeconds() {
    report::Answer slow = advice();
    slow.contenders[1].time_ns->value = 20e9;
    const report::Figure figure = effectiveness_figure(slow);
    QCOMPARE(figure.x_label, std::string("s for 100 documents"));
    QCOMPARE(figure.series.back().points.front().x, 20.0);
  }

  void SmallDifferences_AreSeenAndLookSmall() {
    const auto range = effectiveness_range(effectiveness_figure(advice()));
    QVERIFY(range.has_value());
    QVERIFY(range->low < 0.66 && range->high > 0.67);
    QVERIFY(std::abs(range->high - range->low - 0.04) < 1e-9);
    const report::Figure nothing;
    QVERIFY(!effectiveness_range(nothing).has_value());
  }
};

ATTNSCOPE_GUI_TEST(AdviceModelTest)

}  // namespace attnscope::gui
#include "advice_model_test.moc"
