// SPDX-License-Identifier: Apache-2.0
//
// The contenders of an answer, and their plot.
#include <QAbstractItemModelTester>
#include <QClipboard>
#include <QLabel>
#include <cmath>

#include "app/gui/charts/run_chart.h"
#include "app/gui/views/answer_fields.h"
#include "app/gui/views/answer_panel.h"
#include "tests/gui/gui_test.h"

namespace attnscope::gui {

using report::Advised;
using report::Standing;

Advised advised(const std::string& contender, double time_ms) {
  Advised advised;
  advised.contender = advised.name = contender;
  advised.standing = Standing::within_limits;
  advised.time_ns = report::Estimate{.value = time_ms * 1e6, .low = time_ms * 1e6, .high = 1e9};
  advised.sentence = contender + ": takes its time.";
  advised.remarks = {"It has a remark.", "And another."};
  return advised;
}

report::Advice advice() {
  report::Advice advice;
  advice.contenders = {advised("sparse/segment/4", 20), advised("full/dense", 100),
                       advised("full/sdpa", 0)};
  advice.contenders[0].to_baseline = {
      .ratio = 0.2, .low = 0.19, .high = 0.21, .verdict = statistics::Verdict::faster};
  advice.contenders[0].is_interpolated = true;
  advice.contenders[1].is_baseline = true;
  for (const std::size_t i : {0U, 1U})
    advice.contenders[i].published = report::PublishedNdcg{.ndcg10 = i == 0 ? 0.66 : 0.67,
                                                           .reference = {},
                                                           .task = "passages",
                                                           .source = {},
                                                           .note = {}};
  advice.contenders[2].standing = Standing::without_time;
  advice.contenders[2].time_ns.reset();
  advice.notes = {"Times are of one layer."};
  return advice;
}

class AnswerListTest : public QObject {
  Q_OBJECT

  std::unique_ptr<AnswerList> list_;
  std::unique_ptr<EffectivenessPlot> plot_;

  [[nodiscard]] QVariant row(int row, int role = Qt::DisplayRole) const {
    return list_->model()->index(row, 0).data(role);
  }
  [[nodiscard]] const charts::RunChart& chart() const { return *plot_->chart(); }

 private Q_SLOTS:

  void init() {
    list_ = std::make_unique<AnswerList>();
    list_->resize(900, 400);
    list_->show();
    list_->show_advice(advice());
    plot_ = std::make_unique<EffectivenessPlot>();
    plot_->show_advice(advice());
  }

  void FollowsTheRulesOfItemModels() {
    const QAbstractItemModelTester tester(list_->model());
    QCOMPARE(list_->model()->rowCount(), 4);
    QCOMPARE(list_->model()->rowCount(list_->model()->index(0, 0)), 0);
    list_->show_advice(std::nullopt);
    QCOMPARE(list_->model()->rowCount(), 0);
  }

  void NumbersContendersWithinTheLimits() {
    QCOMPARE(row(0).toString(), u"sparse/segment/4: takes its time."_s);
    QCOMPARE(row(0, Qt::AccessibleTextRole).toString(), u"1. sparse/segment/4: takes its time."_s);
    QCOMPARE(row(2, Qt::AccessibleTextRole).toString(), u"full/sdpa: takes its time."_s);
    QCOMPARE(row(3).toString(), u"Times are of one layer."_s);
  }

  void ShowsTheVerdictFirst() {
    report::Advice judged = advice();
    judged.leaders.of_all = report::Leader{.contender = 0, .runner_up = {}};
    const std::string verdict = report::headline_of(judged).sentence;
    QVERIFY(QString::fromStdString(verdict).startsWith(u"sparse/segment/4 is fast"_s));
    judged.notes.insert(judged.notes.begin(), verdict);
    list_->show_advice(judged);
    QCOMPARE(list_->model()->rowCount(), 5);
    QCOMPARE(row(0).toString(), QString::fromStdString(verdict));
    QCOMPARE(row(1, Qt::AccessibleTextRole).toString(), u"1. sparse/segment/4: takes its time."_s);
    QCOMPARE(row(4).toString(), u"Times are of one layer."_s);
  }

  void CopiesSentenceAndRemarks() {
    const std::pair<int, const char*> copied[] = {
        {0, "1. sparse/segment/4: takes its time.\nIt has a remark.\nAnd another.\n"},
        {3, "Times are of one layer.\n"}};
    QVERIFY(QTest::qWaitForWindowExposed(list_.get()));
    list_->activateWindow();
    list_->setFocus();
    for (const auto& [at, text] : copied) {
      list_->setCurrentIndex(list_->model()->index(at, 0));
      QTest::keySequence(list_.get(), QKeySequence::Copy);
      QCOMPARE(QApplication::clipboard()->text(), QLatin1String(text));
    }
  }

  void KeepsTheOpenContenderInTheNextAnswer() {
    list_->setCurrentIndex(list_->model()->index(1, 0));
    report::Advice other = advice();
    std::swap(other.contenders[0], other.contenders[1]);
    list_->show_advice(other);
    QCOMPARE(list_->currentIndex().row(), 0);
  }

  void WrapsLinesAfterAHiddenResize() {
    report::Advice talkative = advice();
    for (report::Advised& advised : talkative.contenders) {
      for (int i = 0; i < 5; ++i) advised.sentence += " It repeats itself.";
    }
    list_->show_advice(talkative);
    const int wide = list_->visualRect(list_->model()->index(0, 0)).height();
    list_->hide();
    list_->resize(280, 400);
    list_->show();
    QTRY_VERIFY(list_->visualRect(list_->model()->index(0, 0)).height() > wide);
    for (int i = 1; i < list_->model()->rowCount(); ++i) {
      const QRect above = list_->visualRect(list_->model()->index(i - 1, 0));
      QVERIFY(!above.intersects(list_->visualRect(list_->model()->index(i, 0))));
    }
  }

  void PrefersMeasuredToPublishedEffectiveness() {
    report::Advice answer = advice();
    answer.contenders[0].published.reset();
    answer.contenders[0].measured = report::MeasuredEffectiveness{
        .measure = "RR@10",
        .mean = 0.4,
        .queries = 43,
        .run = "s.trec",
        .qrels = "qrels.txt",
        .baseline = "full/dense",
        .margin = 0.02,
        .alpha = 0.05,
        .tests = statistics::PairedTests{.n = 43, .equivalent = true}};
    plot_->show_advice(answer);
    const report::Figure& figure = chart().figure();
    QVERIFY(figure.y_label.starts_with("RR@10 (measured here"));
    QCOMPARE(figure.series[0].points.front().y, 0.4);
    QCOMPARE(figure.series[0].points.front().mark, std::string("†"));
    QCOMPARE(figure.series[1].points.front().mark, std::string("publ."));
    QVERIFY(figure.front.empty());  // of one measured value
    const auto* absent = plot_->findChild<QLabel*>(u"without_published"_s);
    QVERIFY(absent->text().contains(u"Neither measured nor published: 1 contender"_s));
  }

  void PlotsContendersWithTimeAndEffectiveness() {
    const report::Figure& figure = chart().figure();
    QCOMPARE(figure.series.size(), std::size_t{2});
    QCOMPARE(figure.series.front().points.front().x, 20.0);
    QCOMPARE(figure.series.front().points.front().y, 0.66);
    QCOMPARE(figure.series.front().points.front().label,
             std::string("≈ interpolated, published, not measured here, on the Pareto front"));
    QCOMPARE(figure.y_label, std::string("nDCG@10 over passages (published, not measured here)"));
    QCOMPARE(figure.x_label, std::string("ms for 100 documents"));
    const auto* absent = plot_->findChild<QLabel*>(u"without_published"_s);
    QCOMPARE(absent->text(), u"Not published: 1 contender"_s);
    QCOMPARE(absent->toolTip(), u"full/sdpa"_s);
    QCOMPARE(figure.front.size(), std::size_t{2});
    // Small differences stay small: the axis spans 0.04.
    const auto range = chart().y_range();
    QVERIFY(range && range->low < 0.66 && range->high > 0.67);
    QVERIFY(std::abs(range->high - range->low - 0.04) < 1e-9);
    report::Advice slow = advice();
    slow.contenders[1].time_ns->value = 20e9;
    plot_->show_advice(slow);
    QCOMPARE(chart().figure().x_label, std::string("s for 100 documents"));
    QCOMPARE(chart().figure().series.back().points.front().x, 20.0);
    plot_->show_advice({});
    QVERIFY(chart().figure().series.empty() && !chart().y_range());
  }
};

ATTNSCOPE_GUI_TEST(AnswerListTest)

}  // namespace attnscope::gui
#include "answer_list_test.moc"
