// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/regions_view.h"

#include <QEvent>
#include <QHelpEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>
#include <optional>
#include <utility>

#include "app/gui/charts/figure_font.h"
#include "app/gui/charts/regions_drawing.h"
#include "app/gui/session/text.h"
#include "app/gui/views/theme.h"

namespace attnscope::gui {

class RegionsView::Paper : public QWidget {
 public:
  using QWidget::QWidget;

  void show_drawing(std::optional<charts::RegionsDrawing> drawing) {
    drawing_ = std::move(drawing);
    update();
  }

 protected:
  void paintEvent(QPaintEvent* /*event*/) override {
    if (!drawing_) return;
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.translate(space::around.left(), space::around.top());
    drawing_->paint(painter);
  }
  bool event(QEvent* event) override {
    if (event->type() != QEvent::ToolTip || !drawing_) return QWidget::event(event);
    const auto* help = static_cast<QHelpEvent*>(event);
    const QString told =
        drawing_->words_at(help->pos() - QPointF(space::around.left(), space::around.top()));
    if (told.isEmpty()) {
      QToolTip::hideText();
    } else {
      QToolTip::showText(help->globalPos(), told, this);
    }
    return true;
  }

 private:
  std::optional<charts::RegionsDrawing> drawing_;
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
  QStringList parts;
  for (const RegionPeak& peak : regions_->peaks) {
    constexpr std::size_t named = 6;
    parts.append(tr("Words %1 to %2, score %3: %4")
                     .arg(peak.words.begin + 1)
                     .arg(peak.words.end)
                     .arg(peak.score, 0, 'g', 4)
                     .arg(words(shares_in_words(*regions_, peak, named))));
  }
  if (const std::string left_out = left_out_in_words(*regions_); !left_out.empty())
    parts.append(words(left_out));
  return parts.join(QLatin1Char('\n'));
}

void RegionsView::lay_out() {
  if (!regions_) return paper_->show_drawing({});
  const double width =
      std::max(viewport()->width() - space::around.left() - space::around.right(), 100);
  charts::RegionsDrawing drawing(
      regions_, {.width = width, .em = charts::em_of(*this), .theme = charts::theme_of(palette())});
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
