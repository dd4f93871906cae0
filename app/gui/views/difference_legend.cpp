// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/difference_legend.h"

#include <QGridLayout>
#include <QLabel>
#include <QPainter>

#include "app/gui/charts/mask_colors.h"
#include "app/gui/models/pattern_counts.h"
#include "app/gui/views/theme.h"

namespace attnscope::gui {
namespace {

using charts::DifferencePart;

class Swatch : public QWidget {
 public:
  explicit Swatch(DifferencePart part) : part_(part) {
    const int side = fontMetrics().height();
    setFixedSize(2 * side, side);
  }

 protected:
  void paintEvent(QPaintEvent* /*event*/) override {
    const charts::ChartTheme theme = charts::theme_of(palette());
    QPainter painter(this);
    painter.fillRect(rect(), charts::difference_color(part_, theme));
    const int way = charts::hatch_of(part_);
    if (way == 0) return;
    painter.setRenderHint(QPainter::Antialiasing);
    QColor line = charts::colors_of(theme).background;
    line.setAlphaF(0.5F);
    painter.setPen(QPen(line, 1.2));
    const int step = 6;
    for (int at = -height(); at < width() + height(); at += step) {
      if (way > 0) {
        painter.drawLine(at, height(), at + height(), 0);
      } else {
        painter.drawLine(at, 0, at + height(), height());
      }
    }
  }

 private:
  DifferencePart part_;
};

}  // namespace

DifferenceLegend::DifferenceLegend(QWidget* parent) : QWidget(parent) {
  setObjectName(QStringLiteral("difference_legend"));
  setAccessibleName(tr("Legend of the difference"));
  auto* grid = new QGridLayout(this);
  grid->setContentsMargins(space::gap, space::gap, space::gap, space::gap);
  for (std::size_t p = 0; p < labels_.size(); ++p) {
    labels_[p] = new QLabel;
    labels_[p]->setWordWrap(true);
    labels_[p]->setTextFormat(Qt::PlainText);
    const int row = static_cast<int>(p);
    grid->addWidget(new Swatch(static_cast<DifferencePart>(p)), row, 0, Qt::AlignTop);
    grid->addWidget(labels_[p], row, 1);
  }
  grid->setColumnStretch(1, 1);
  grid->setRowStretch(static_cast<int>(labels_.size()), 1);
}

void DifferenceLegend::set_counts(const std::optional<charts::DifferenceCounts>& counts,
                                  const QString& otherwise) {
  counts_ = counts;
  otherwise_ = otherwise;
  refresh();
}

void DifferenceLegend::refresh() {
  const QString names[] = {tr("only A"), tr("only B"), tr("both")};
  for (std::size_t p = 0; p < labels_.size(); ++p) {
    const QString count =
        counts_ ? (*counts_)[p] == 1
                      ? tr("1 pair")
                      : tr("%1 pairs").arg(count_words(static_cast<double>((*counts_)[p])))
                : otherwise_;
    labels_[p]->setText(QStringLiteral("%1\n%2").arg(names[p], count));
  }
}

QString DifferenceLegend::text(DifferencePart part) const {
  return labels_[static_cast<std::size_t>(part)]->text();
}

}  // namespace attnscope::gui
