// SPDX-License-Identifier: Apache-2.0
#include <QAbstractItemModelTester>
#include <QCheckBox>
#include <QSignalSpy>
#include <atomic>
#include <cmath>
#include <thread>

#include "app/gui/session/latest_job.h"
#include "app/gui/views/attention_source.h"
#include "app/gui/views/theme.h"
#include "app/gui/views/token_text.h"
#include "tests/gui/gui_test.h"
#include "tests/inspect/dump_bytes.h"

namespace attnscope::gui {

class AttentionModelsTest : public QObject {
  Q_OBJECT

  /// WCAG 2.1.
  static double contrast(const QColor& a, const QColor& b) {
    const auto luminance = [](const QColor& color) {
      const auto linear = [](double value) {
        return value <= 0.03928 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4);
      };
      return 0.2126 * linear(color.redF()) + 0.7152 * linear(color.greenF()) +
             0.0722 * linear(color.blueF());
    };
    const double of_a = luminance(a) + 0.05, of_b = luminance(b) + 0.05;
    return std::max(of_a, of_b) / std::min(of_a, of_b);
  }

  [[nodiscard]] static std::shared_ptr<const Dump> dump() {
    return std::make_shared<const Dump>(*small_dump().read());
  }

 private Q_SLOTS:

  void ListsLayersAsRowsAndHeadsAsColumns() {
    HeadGrid grid;
    grid.set_dump(dump());
    QCOMPARE(grid.rowCount(), 2);
    QCOMPARE(grid.columnCount(), 3);  // the mean is last
    QCOMPARE(grid.name_of(1, 2), u"layer 2, mean of 2 heads"_s);
    QCOMPARE(grid.verticalHeaderItem(1)->text(), u"2"_s);
    QCOMPARE(grid.name_of(1, 0), u"layer 2, head 0"_s);
    const auto summary = std::make_shared<HeadSummary>();
    summary->rows[0] = 1;
    summary->group_mass[0][1] = 0.5;
    summary->map = PooledMap({.rows = {0, 3}, .columns = {0, 3}, .height = 3, .width = 3});
    grid.set_summary(1, 0, summary);
    QCOMPARE(grid.item(1, 0)->data(Qt::DecorationRole).value<QImage>().size(), QSize(3, 3));
    QVERIFY(grid.item(1, 0)
                ->data(Qt::AccessibleTextRole)
                .toString()
                .contains(u"[CLS]: 50.0\u00a0% on query"_s));
    QVERIFY(!grid.item(0, 0)->data(Qt::DecorationRole).isValid());
  }

  void WrapsManyHeadsOfOneLayer() {
    DumpParts parts = small_dump();
    for (const char* part : {"q", "k", "v"}) {
      parts.tensors.erase(std::string("layer.2.") + part);
      parts.tensors[std::string("layer.0.") + part].shape = {12, 8, 1};
    }
    HeadGrid grid;
    grid.resize(160, 200);
    grid.show();
    grid.set_dump(std::make_shared<const Dump>(*parts.read()));
    QCOMPARE(grid.rowCount(), 3);  // 8 heads and their mean
    QCOMPARE(grid.verticalHeaderItem(1)->text(), u"3"_s);
    QVERIFY(grid.columnWidth(0) > 2 * grid.fontMetrics().height());
    QSignalSpy chosen(&grid, &HeadGrid::chosen);
    QTest::mouseClick(grid.viewport(), Qt::LeftButton, {},
                      grid.visualRect(grid.model()->index(2, 1)).center());
    QCOMPARE(chosen.size(), 1);
    QCOMPARE(chosen[0], (QVariantList{0, 7}));
    grid.resize(900, 200);
    QCOMPARE(grid.rowCount(), 1);
    QCOMPARE(grid.currentColumn(), 7);
    QCOMPARE(chosen.size(), 1);  // the same head is chosen
  }

  void ListsAttendedTokensInOrder() {
    AttendedTokensModel model;
    const QAbstractItemModelTester tester(&model);
    std::vector<double> mass(12, 0.0);
    mass[5] = 0.25;
    mass[1] = 0.75;
    model.set_dump(dump());
    model.set_mass(mass, std::nullopt, false, false);
    QCOMPARE(model.rowCount(), 12);
    QCOMPARE(model.index(1, AttendedTokensModel::token).data().toString(), u"what"_s);
    QCOMPARE(model.index(1, AttendedTokensModel::group).data().toString(), u"query"_s);
    QCOMPARE(model.index(5, AttendedTokensModel::position).data().toString(), u"5"_s);
    QCOMPARE(model.index(5, AttendedTokensModel::mass).data().toString(), u"25.0\u00a0%"_s);
    QVERIFY(!model.index(2, 0).data(AttendedTokensModel::listed_role).toBool());
    QCOMPARE(model.scale().largest, 0.75);
    model.set_mass(mass, TokenGroup::document, false, false);
    QVERIFY(!model.index(1, 0).data(AttendedTokensModel::mass_role).isValid());
    QCOMPARE(model.scale().largest, 0.25);
  }

  void StartsWordsAtTokensWithASpace() {
    DumpParts parts = small_dump();
    parts.metadata["tokens"] =
        R"(["<s>"," tall"," to","wer","</s>","</s>"," the"," ","é","\\xC3","!","</s>"])";
    AttendedTokensModel model;
    model.set_dump(std::make_shared<const Dump>(*parts.read()));
    QStringList texts;
    QString joined;
    for (int row = 0; row < model.rowCount(); ++row) {
      texts << model.index(row, 0).data(AttendedTokensModel::text_role).toString();
      joined += model.index(row, 0).data(AttendedTokensModel::joined_role).toBool() ? u'+' : u'-';
    }
    QCOMPARE(texts.join(u','), u"<s>,tall,to,wer,</s>,</s>,the,·,é,\\xC3,!,</s>"_s);
    QCOMPARE(joined, u"---+----+++-"_s);
  }

  void ContrastsTextWithEveryBackground() {
    for (int hue = 0; hue < 360; hue += 15) {
      for (int lightness = 0; lightness <= 255; lightness += 5) {
        const QColor ground = QColor::fromHsl(hue, 200, lightness);
        QVERIFY2(contrast(text_on(ground), ground) >= 4.5, qPrintable(ground.name()));
      }
    }
  }

  void ContrastsCheckBoxesInBothThemes() {
    for (const Theme theme : {Theme::dark, Theme::light}) {
      apply_theme(theme);
      QCheckBox box;
      box.resize(box.sizeHint());
      const QImage image = box.grab().toImage();
      const QColor ground = box.palette().color(QPalette::Window);
      double most = 0;
      for (int y = 0; y < image.height(); ++y) {
        most = std::max(most, contrast(image.pixelColor(image.width() / 2, y), ground));
      }
      QVERIFY2(most >= (theme == Theme::dark ? 3 : 1.5), qPrintable(QString::number(most)));
    }
  }

  void RoundsShares() {
    QCOMPARE(share_text(0.1234), u"12.3\u00a0%"_s);
    QCOMPARE(share_text(0), u"0\u00a0%"_s);
    QCOMPARE(share_text(0.0001), u"<\u00a00.1\u00a0%"_s);
    QCOMPARE(share_text(-0.04), u"−4.0\u00a0%"_s);
  }

  void DeliversOnlyTheLastJob() {
    LatestJob job;
    QSignalSpy finished(&job, &LatestJob::finished);
    std::vector<int> answers;
    for (int i = 0; i < 20; ++i) {
      job.start([i, &answers](const LatestJob::Token& token) {
        token.deliver([i, &answers] { answers.push_back(i); });
      });
    }
    QTRY_COMPARE(finished.size(), 1);
    QCOMPARE(answers, std::vector<int>{19});
    QVERIFY(!job.is_busy());
  }

  void CancelsADroppedJob() {
    LatestJob job;
    std::atomic<bool> began = false;
    std::atomic<bool> saw_it = false;
    bool answered = false;
    job.start([&](const LatestJob::Token& token) {
      began = true;
      while (!token.superseded()) std::this_thread::yield();
      saw_it = true;
      token.deliver([&] { answered = true; });
    });
    QTRY_VERIFY(began);
    job.drop();
    QTRY_VERIFY(saw_it);
    bool next = false;
    job.start([&](const LatestJob::Token& token) { token.deliver([&] { next = true; }); });
    QTRY_VERIFY(next);
    QVERIFY(!answered);
  }
};

ATTNSCOPE_GUI_TEST(AttentionModelsTest)

}  // namespace attnscope::gui
#include "attention_models_test.moc"
