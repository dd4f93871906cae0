// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/regions_view.h"

#include <QEvent>
#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>
#include <optional>
#include <utility>

#include "app/drawing/chart_style.h"
#include "app/drawing/regions_drawing.h"
#include "app/gui/session/text.h"
#include "app/gui/views/theme.h"

namespace attnscope::gui {

class RegionsView::Paper : public QWidget {
 public:
  Paper() { setMouseTracking(true); }

  void show_drawing(std::optional<charts::RegionsDrawing> drawing) {
    drawing_ = std::move(drawing);
    shown_.reset();
    update();
  }

 protected:
  void paintEvent(QPaintEvent* /*event*/) override {
    if (!drawing_) return;
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.translate(space::around.left(), space::around.top());
    drawing_->paint(painter, shown_);
  }
  /// The region under the mouse is highlighted at once in strip and text; its description is a tool
  /// tip.
  void mouseMoveEvent(QMouseEvent* event) override {
    show_region(drawing_ ? drawing_->region_at(on_drawing(event->position())) : std::nullopt);
  }
  void leaveEvent(QEvent* /*event*/) override { show_region(std::nullopt); }
  bool event(QEvent* event) override {
    if (event->type() != QEvent::ToolTip || !drawing_) return QWidget::event(event);
    const auto* help = static_cast<QHelpEvent*>(event);
    const QString reported = drawing_->words_at(on_drawing(help->pos()));
    if (reported.isEmpty()) {
      QToolTip::hideText();
    } else {
      QToolTip::showText(help->globalPos(), reported, this);
    }
    return true;
  }

 private:
  static QPointF on_drawing(QPointF point) {
    return point - QPointF(space::around.left(), space::around.top());
  }
  void show_region(std::optional<std::int64_t> region) {
    if (std::exchange(shown_, region) != region) update();
  }
  std::optional<charts::RegionsDrawing> drawing_;
  std::optional<std::int64_t> shown_;
};

RegionsView::RegionsView(QWidget* parent) : QScrollArea(parent), paper_(new Paper) {
  setFrameShape(QFrame::NoFrame);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setWidget(paper_);
  setWidgetResizable(false);
  setAccessibleName(tr("Regions of the document"));
}

void RegionsView::show_regions(RegionsPointer regions) {
  regions_ = std::move(regions);
  setAccessibleDescription(text());
  lay_out();
  ensureVisible(0, 0);
}

QString RegionsView::text() const {
  if (!regions_) return {};
  return words(regions_in_words(*regions_));
}

void RegionsView::lay_out() {
  if (!regions_) return paper_->show_drawing({});
  const double width =
      std::max(viewport()->width() - space::around.left() - space::around.right(), 100);
  charts::RegionsDrawing drawing(
      regions_,
      {.width = width, .em = charts::em_of(font()), .theme = charts::theme_of(palette())});
  paper_->resize(viewport()->width(), static_cast<int>(drawing.height()) + 1 + space::around.top() +
                                          space::around.bottom());
  QPalette ground = palette();
  ground.setColor(QPalette::Window, charts::colors_of(charts::theme_of(palette())).background);
  paper_->setPalette(ground);
  paper_->setAutoFillBackground(true);
  paper_->show_drawing(std::move(drawing));
}

void RegionsView::resizeEvent(QResizeEvent* event) {
  QScrollArea::resizeEvent(event);
  lay_out();
}

void RegionsView::changeEvent(QEvent* event) {
  QScrollArea::changeEvent(event);
  if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange) lay_out();
}

}  // namespace attnscope::gui
