// SPDX-License-Identifier: Apache-2.0
#include "app/gui/views/patterns_page.h"

#include <QAbstractButton>
#include <QLabel>
#include <QListView>
#include <QSlider>
#include <QSpinBox>
#include <cmath>

#include "app/gui/charts/mask_view.h"
#include "app/gui/views/message_bar.h"
#include "app/gui/views/pattern_costs.h"
#include "tests/gui/gui_test.h"

namespace attnscope::gui {

class PatternsPageTest : public QObject {
  Q_OBJECT

  QTemporaryDir folder_;
  std::unique_ptr<PatternsPage> page_;
  void choose_style(charts::MaskStyle style) const { page_->mask()->set_style(style); }
  void set_number(const char* name, int value) const {
    page_->findChild<QSpinBox*>(QLatin1String(name))->setValue(value);
  }

 private Q_SLOTS:

  void init() {
    page_ = std::make_unique<PatternsPage>();
    page_->resize(1200, 760);
    page_->show();
    QVERIFY(QTest::qWaitForWindowExposed(page_.get()));
  }
  void cleanup() { page_.reset(); }

  void HoveringOverAPair_SaysTheRuleThatDecidesIt() {
    set_number("query_tokens", 4);
    set_number("document_tokens", 40);
    choose_style(charts::MaskStyle::true_scale);
    // Document tokens 10 and 12, after [CLS] and four query tokens; w = 4.
    const QPoint near = page_->mask()->position_of(15, 17).toPoint();
    QTest::mouseMove(page_->mask(), near);
    QTRY_COMPARE(page_->explanation()->text(), page_->mask()->explain(15, 17));
    QVERIFY(page_->explanation()->text().contains(QStringLiteral("window")));
    const QPoint query_on_document = page_->mask()->position_of(2, 30).toPoint();
    QTest::mouseMove(page_->mask(), query_on_document);
    QTRY_COMPARE(page_->explanation()->text(), page_->mask()->explain(2, 30));
    QVERIFY(page_->explanation()->text() != page_->mask()->explain(15, 17));
  }

  void TheWindowSlider_WidensMaskAndCosts() {
    page_->window_slider()->setValue(0);
    QCOMPARE(page_->window(), std::optional(Window::of(0)));
    const double narrow = page_->costs()->density();
    page_->window_slider()->setValue(page_->window_slider()->maximum());
    QVERIFY(page_->window()->is_infinite());
    QVERIFY(page_->costs()->density() > narrow);
  }

  void FullAttention_HasNoWindowAndAllowsEveryPair() {
    page_->choose(QStringLiteral("full"));
    QVERIFY(!page_->window().has_value());
    QVERIFY(!page_->window_slider()->isEnabled());
    QVERIFY(std::abs(page_->costs()->density() - 1) < 1e-12);
  }

  void TheCosts_AreThoseOfThePlan() {
    page_->choose(QStringLiteral("sparse"));
    page_->window_slider()->setValue(1);
    set_number("query_tokens", 2);
    set_number("document_tokens", 5);
    // [CLS] sees 8; each query token 2; each document token 3 and its window, 13 in all at w = 1.
    const double pairs = 8 + 2 * 2 + 5 * 3 + 13;
    QVERIFY(std::abs(page_->costs()->density() - pairs / 64) < 1e-12);
  }

  void TheSentenceStride_BelongsToPatternsWithSentences() {
    auto* stride = page_->findChild<QSpinBox*>(QStringLiteral("sentence_stride"));
    page_->choose(QStringLiteral("sparse"));
    QVERIFY(!stride->isVisible());
    page_->choose(QStringLiteral("qds"));
    QVERIFY(stride->isVisible());
    QCOMPARE(stride->value(), 30);
    const double rare = page_->costs()->density();
    stride->setValue(3);
    QVERIFY(page_->costs()->density() > rare);
  }

  void APatternOfOnesOwn_OpensAndIsChosen() {
    const QString file = folder_.filePath(QStringLiteral("mine.json"));
    QFile out(file);
    QVERIFY(out.open(QIODevice::WriteOnly));
    out.write(R"({"name": "mine", "attends": {"document": {"document": "window"}}})");
    out.close();
    QVERIFY(page_->open_file(file).has_value());
    QCOMPARE(page_->pattern().name, std::string("mine"));
    QVERIFY(!page_->messages()->isVisible());
  }

  void AWrongPatternFile_IsSaidOnThePageAndChangesNothing() {
    const std::string before = page_->pattern().name;
    const QString file = folder_.filePath(QStringLiteral("wrong.json"));
    QFile out(file);
    QVERIFY(out.open(QIODevice::WriteOnly));
    out.write(R"({"name": "wrong", "atends": {}})");
    out.close();
    QVERIFY(!page_->open_file(file).has_value());
    QVERIFY(page_->messages()->isVisible());
    QVERIFY(page_->messages()->text().contains(QStringLiteral("atends")));
    QCOMPARE(page_->pattern().name, before);
  }

  void EmptyQueryAndDocument_AreDrawnWithoutAComplaint() {
    set_number("query_tokens", 0);
    set_number("document_tokens", 0);
    choose_style(charts::MaskStyle::true_scale);
    QVERIFY(page_->mask()->problem() != nullptr);
    QCOMPARE(page_->mask()->problem()->tokens(), std::int64_t{1});
  }

  void CountsAreSaidInFewDigits() {
    QCOMPARE(count_words(640), QStringLiteral("640"));
    QCOMPARE(count_words(12'340), QStringLiteral("12.3 k"));
    QCOMPARE(count_words(1.5e9), QStringLiteral("1.50 G"));
  }
};

}  // namespace attnscope::gui

ATTNSCOPE_GUI_TEST_MAIN(attnscope::gui::PatternsPageTest)
#include "patterns_page_test.moc"
